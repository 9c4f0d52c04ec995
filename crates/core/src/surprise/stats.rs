//! How often tokens and pairs of tokens stand in the traffic: counts over a fair sample of it.
//!
//! The sample takes about equally many calls of each tenant, so that one tenant with half of the
//! log does not decide what is common, and an n-gram counts once an exchange, so that repeats
//! within it do not. Cells of fixed number hold a count and a set of tenants; both only grow by
//! operations that commute, so the counts do not depend on threads or order. Colliding n-grams
//! share cells: counts may be too high, never too low, and text weighs too little, never too much.
//!
//! The probability of a token after its neighbour is smoothed: with `c` the number of exchanges
//! that hold an n-gram and `N` the number of those counted,
//! `P1(w) = (c(w) + 1/2) / (N + 1)` and `P2(w | h) = (c(h w) + B P1(w)) / (c(h) + B)`, `B` = 5. The
//! characters of scripts without spaces get a third order of the same form. A token that no other
//! exchange holds costs at least what spelling it costs.

use super::log2::log2_millibits;
use super::units::{longer, mixed, segment_of};
use crate::operator::{TextOperator, TextView};
use crate::overlap::{Field, Subject};
use crate::text::Tokens;
use hashbrown::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bits of a cell that hold the count; the rest is a set of tenants.
const COUNT_BITS: u32 = 24;
/// Tenants that a cell tells apart; others share a place.
const TENANT_PLACES: u32 = 64 - COUNT_BITS;
/// With fewer tenants, text that only the parties to a span hold may still be common speech.
const FEW_TENANTS: u32 = 8;
/// Weight of the shorter context, in exchanges.
const BACKING: u64 = 5;
/// Fixed-point one of probabilities.
const ONE_BITS: u32 = 48;
/// Most exchanges counted of a call: its records at gateway and engine, its choices.
const PER_CALL: usize = 2;
/// Blocks that are counted of a long text, evenly spaced.
const BLOCKS: usize = 8;
/// Most that one token can weigh: a long random string is as rare as one needs.
const MOST_MILLIBITS: u32 = 200_000;
/// Cost of a character of an unknown token: a digit, a letter among digits, another letter. Rounded
/// from log2 10, log2 26 and the entropy of letters within words of natural language.
const SPELL: [u32; 3] = [3_322, 4_700, 1_500];

/// Most that a token weighs which what stands before it gives away.
pub(super) const FORESEEN: u32 = 1_000;
/// Tokens between a number and the next of a list.
const LIST_STEP: usize = 8;

/// Bounds of the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatsLimits {
    /// Bytes of memory for the cells.
    pub memory_bytes: usize,
    /// Calls in the sample.
    pub calls: usize,
    /// Tokens counted of one text.
    pub tokens_per_text: usize,
}

impl Default for StatsLimits {
    fn default() -> StatsLimits {
        StatsLimits {
            memory_bytes: 32 << 20,
            calls: 8_192,
            tokens_per_text: 2_048,
        }
    }
}

/// Counts tokens in one pass. There is nothing to absorb: all threads add to the same cells.
pub struct TokenCount {
    /// Per exchange the place of its tenant in a cell; [`TENANT_PLACES`] if it is not counted.
    places: Vec<u8>,
    tokens_per_text: usize,
    texts: AtomicU32,
    cells: Vec<AtomicU64>,
    per_call: HashMap<u32, u32>,
    tenants: u32,
    done: bool,
}

/// Whose holding of a text does not make it common: the parties to a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaveOut {
    /// Their exchanges within the sample.
    texts: u32,
    /// Places of their tenants.
    tenants: u64,
    /// As many other tenants may be parties too.
    strangers: u32,
}

/// Counts over the sample.
pub struct TokenStats {
    pub(super) cells: Vec<u64>,
    texts: u32,
    tenants: u32,
    per_call: HashMap<u32, u32>,
}

fn place_of(tenant: u32) -> u8 {
    (tenant % TENANT_PLACES) as u8
}

/// The two cells of an n-gram.
fn cells_of(key: u64, cells: usize) -> [usize; 2] {
    let half = cells / 2;
    let first = mixed(key) as usize & (half - 1);
    let second = (mixed(key.rotate_left(29) ^ 0x5851_f42d_4c95_7f2d) as usize) & (half - 1);
    [first, half + second]
}

/// Which calls are counted: about equally many of each tenant, chosen by a hash of what their
/// records are called, so that neither order nor neighbours matter.
fn sample(subjects: &[Subject], calls: usize) -> Vec<u32> {
    let mut first: HashMap<u32, (u32, u32)> = HashMap::new();
    for s in subjects {
        if let Some(tenant) = s.tenant {
            let known = first.entry(s.call).or_insert((s.id_rank, tenant));
            *known = (*known).min((s.id_rank, tenant));
        }
    }
    let mut by_tenant: Vec<(u32, u64, u32, u32)> = first
        .into_iter()
        .map(|(call, (rank, tenant))| {
            let hash = xxh3_64_with_seed(&rank.to_le_bytes(), 0x7065_6e74);
            (tenant, hash, rank, call)
        })
        .collect();
    by_tenant.sort_unstable();
    let sizes: Vec<usize> = by_tenant
        .chunk_by(|a, b| a.0 == b.0)
        .map(<[_]>::len)
        .collect();
    let total = |each: usize| sizes.iter().map(|&s| s.min(each)).sum::<usize>();
    let (mut low, mut high) = (0, calls + 1);
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if total(middle) <= calls {
            low = middle;
        } else {
            high = middle;
        }
    }
    // More tenants than calls: one call of some.
    let each = low.max(1);
    let mut chosen: Vec<(u64, u32)> = by_tenant
        .chunk_by(|a, b| a.0 == b.0)
        .flat_map(|of| of[..of.len().min(each)].iter().map(|c| (c.1, c.3)))
        .collect();
    chosen.sort_unstable();
    chosen.truncate(calls);
    chosen.into_iter().map(|c| c.1).collect()
}

impl TokenCount {
    /// A count over the exchanges of a case.
    pub fn new(subjects: &[Subject], limits: StatsLimits) -> TokenCount {
        let calls = sample(subjects, limits.calls);
        let mut of_call: HashMap<u32, Vec<usize>> =
            calls.iter().map(|&call| (call, Vec::new())).collect();
        for (x, s) in subjects.iter().enumerate() {
            if s.tenant.is_some()
                && let Some(of) = of_call.get_mut(&s.call)
            {
                of.push(x);
            }
        }
        let mut places = vec![TENANT_PLACES as u8; subjects.len()];
        let mut per_call = HashMap::new();
        let mut tenants = Vec::new();
        for call in calls {
            let mut of = of_call.remove(&call).unwrap_or_default();
            of.sort_unstable_by_key(|&x| {
                let s = &subjects[x];
                (s.role, s.t_start, s.choice, s.id_rank)
            });
            of.truncate(PER_CALL);
            for &x in &of {
                if let Some(tenant) = subjects[x].tenant {
                    places[x] = place_of(tenant);
                    tenants.push(tenant);
                }
            }
            per_call.insert(call, of.len() as u32);
        }
        let exchanges = tenants.len();
        tenants.sort_unstable();
        tenants.dedup();
        // About a thousand distinct n-grams an exchange; few exchanges need few cells.
        let most = (limits.memory_bytes / size_of::<AtomicU64>()).max(2);
        let most = 1 << most.ilog2();
        let cells = (exchanges * 1024)
            .next_power_of_two()
            .max(1 << 16)
            .min(most);
        TokenCount {
            places,
            tokens_per_text: limits.tokens_per_text.max(BLOCKS),
            texts: AtomicU32::new(0),
            cells: (0..cells).map(|_| AtomicU64::new(0)).collect(),
            per_call,
            tenants: tenants.len() as u32,
            done: false,
        }
    }

    /// The counts.
    pub fn finish(self) -> TokenStats {
        TokenStats {
            cells: self.cells.into_iter().map(AtomicU64::into_inner).collect(),
            texts: self.texts.into_inner(),
            tenants: self.tenants,
            per_call: self.per_call,
        }
    }

    fn keys(&self, tokens: &Tokens, keys: &mut Vec<u64>) {
        let blocks = if tokens.len() > self.tokens_per_text {
            BLOCKS
        } else {
            1
        };
        let length = self.tokens_per_text.min(tokens.len()) / blocks;
        for block in 0..blocks {
            let from = tokens.len() / blocks * block;
            let mut barriers = tokens.barriers.partition_point(|b| (b.at as usize) < from);
            let mut since = 0;
            for at in from..from + length {
                if tokens
                    .barriers
                    .get(barriers)
                    .is_some_and(|b| b.at as usize <= at)
                {
                    barriers += 1;
                    since = 0;
                }
                grams(tokens, at, since, |_, key| keys.push(key));
                since += 1;
            }
        }
    }
}

/// The n-grams that end at a token with `since` tokens before it: their orders and keys.
fn grams(tokens: &Tokens, at: usize, since: usize, mut each: impl FnMut(usize, u64)) {
    let hash = tokens.hash[at];
    each(1, hash);
    if since >= 1 {
        let before = tokens.hash[at - 1];
        each(2, longer(before, hash));
        if since >= 2 && tokens.weight[at] == 1 {
            each(3, longer(longer(tokens.hash[at - 2], before), hash));
        }
    }
}

impl TextOperator for TokenCount {
    type Partial = ();

    fn next_pass(&self) -> Option<&'static str> {
        (!self.done).then_some("count")
    }

    fn wants(&self, exchange: u32) -> bool {
        u32::from(self.places[exchange as usize]) < TENANT_PLACES
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, (): &mut ()) {
        if !self.wants(exchange) {
            return;
        }
        let mut keys = Vec::new();
        for field in Field::ALL {
            if let Some(tokens) = texts.tokens(field) {
                self.keys(tokens, &mut keys);
            }
        }
        if keys.is_empty() {
            return;
        }
        keys.sort_unstable();
        keys.dedup();
        self.texts.fetch_add(1, Ordering::Relaxed);
        let tenant = 1 << (COUNT_BITS + u32::from(self.places[exchange as usize]));
        for key in keys {
            for cell in cells_of(key, self.cells.len()) {
                // A full count must not run into the set of tenants.
                let full = (1 << COUNT_BITS) - 1;
                let add = |c: u64| Some((c | tenant) + u64::from(c & full != full));
                let done = self.cells[cell].fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
                debug_assert!(done.is_ok());
            }
        }
    }

    fn absorb(&mut self, (): ()) {}

    fn end_pass(&mut self) {
        self.done = true;
    }
}

impl TokenStats {
    /// Exchanges counted.
    pub fn texts(&self) -> u32 {
        self.texts
    }

    /// How unlikely it is that an exchange of the sample holds an n-gram, in millibits.
    pub(crate) fn rarity(&self, key: u64, leave: &LeaveOut) -> u32 {
        let texts = self.texts.saturating_sub(leave.texts);
        let count = self.count(key, leave).min(texts);
        log2_millibits(2 * u64::from(texts) + 2) - log2_millibits(2 * u64::from(count) + 1)
    }

    /// What to leave out for a span: the exchanges of some calls, and what some tenants hold alone.
    pub fn leave_out(
        &self,
        calls: impl IntoIterator<Item = u32>,
        tenants: impl IntoIterator<Item = u32>,
    ) -> LeaveOut {
        let mut out = LeaveOut::default();
        for call in calls {
            out.texts += self.per_call.get(&call).copied().unwrap_or(0);
        }
        for tenant in tenants {
            out.tenants |= 1 << place_of(tenant);
        }
        out
    }

    /// What to leave out where one party is known and the other may be any one tenant.
    pub fn leave_one_out(&self, tenant: u32) -> LeaveOut {
        LeaveOut {
            texts: 2,
            tenants: 1 << place_of(tenant),
            strangers: 1,
        }
    }

    /// Exchanges of the sample that hold a token beside those left out.
    pub fn count_of(&self, token: u64, leave: &LeaveOut) -> u32 {
        self.count(token, leave)
    }

    /// Exchanges that hold an n-gram beside those left out.
    pub(super) fn count(&self, key: u64, leave: &LeaveOut) -> u32 {
        let cells = cells_of(key, self.cells.len()).map(|c| self.cells[c]);
        let tenants = (cells[0] & cells[1]) >> COUNT_BITS;
        let others = (tenants & !leave.tenants).count_ones();
        if others <= leave.strangers && self.tenants >= FEW_TENANTS {
            return 0;
        }
        let count = cells
            .map(|c| (c & ((1 << COUNT_BITS) - 1)) as u32)
            .into_iter()
            .min();
        count.unwrap_or(0).saturating_sub(leave.texts)
    }

    /// The surprise at a token after its neighbours on the left, in thousandths of a bit.
    pub fn millibits(&self, tokens: &Tokens, at: usize, leave: &LeaveOut) -> u32 {
        let since = (at - segment_of(tokens, at)).min(2);
        let before = if since >= 1 {
            self.count(tokens.hash[at - 1], leave)
        } else {
            0
        };
        self.weigh(tokens, at, (since, before), leave).0
    }

    /// The surprise at every token of a text.
    pub fn all_millibits(&self, tokens: &Tokens, leave: &LeaveOut) -> Vec<u32> {
        let mut out = Vec::with_capacity(tokens.len());
        for pair in tokens.barriers.windows(2) {
            let (first, last) = (pair[0].at as usize, pair[1].at as usize);
            let mut before = 0;
            for at in first..last {
                let (bits, count) = self.weigh(tokens, at, ((at - first).min(2), before), leave);
                before = count;
                out.push(bits);
            }
        }
        out
    }

    /// The surprise at a token with so many before it, and its count; `before` is the count of the
    /// last one before it.
    fn weigh(
        &self,
        tokens: &Tokens,
        at: usize,
        (since, before): (usize, u32),
        leave: &LeaveOut,
    ) -> (u32, u32) {
        let mut counts = [0u32; 4];
        grams(tokens, at, since, |order, key| {
            counts[order] = self.count(key, leave);
        });
        let texts = u64::from(self.texts.saturating_sub(leave.texts));
        let one = 1u64 << ONE_BITS;
        let backed = |context: u32, whole: u32, shorter: u64| {
            // A fixed-point probability times BACKING stays below 2^51; counts below 2^24 make
            // the sum fit 128 bits, and nearly always 64.
            let sum = (u128::from(whole) << ONE_BITS) + u128::from(BACKING * shorter);
            let by = u64::from(context) + BACKING;
            let p = u64::try_from(sum).map_or_else(|_| (sum / u128::from(by)) as u64, |s| s / by);
            p.min(one)
        };
        let odd = (2 * u128::from(counts[1]) + 1) << (ONE_BITS - 1);
        let mut p = ((odd / u128::from(texts + 1)) as u64).min(one);
        if since >= 1 {
            p = backed(before, counts[2], p);
        }
        if since >= 2 && tokens.weight[at] == 1 {
            let context = longer(tokens.hash[at - 2], tokens.hash[at - 1]);
            p = backed(self.count(context, leave), counts[3], p);
        }
        let mut bits = (ONE_BITS * 1000).saturating_sub(log2_millibits(p));
        if counts[1] == 0 {
            bits = bits.max(spelled(tokens.folded(at)).min(MOST_MILLIBITS));
        }
        if counts_on(tokens, at) {
            bits = bits.min(FORESEEN);
        }
        (bits, counts[1])
    }
}

/// Whether a token is a number or a letter that follows the last one before it, as in a list.
fn counts_on(tokens: &Tokens, at: usize) -> bool {
    let place = |t: usize| -> Option<(bool, u64)> {
        match tokens.folded(t) {
            [letter @ b'a'..=b'z'] => Some((true, u64::from(*letter))),
            digits if digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) => {
                let value = std::str::from_utf8(digits).ok()?.parse().ok()?;
                Some((false, value))
            }
            _ => None,
        }
    };
    let Some((letter, value)) = place(at) else {
        return false;
    };
    let mut before = (at.saturating_sub(LIST_STEP)..at).rev().filter_map(place);
    before
        .find(|b| b.0 == letter)
        .is_some_and(|b| value == b.1 + 1)
}

/// What spelling a token costs.
fn spelled(folded: &[u8]) -> u32 {
    let text = std::str::from_utf8(folded).unwrap_or_default();
    let digits = text.chars().filter(|c| c.is_numeric()).count() as u32;
    let letters = text.chars().count() as u32 - digits;
    let letter = if digits > 0 { SPELL[1] } else { SPELL[2] };
    digits
        .saturating_mul(SPELL[0])
        .saturating_add(letters.saturating_mul(letter))
}
