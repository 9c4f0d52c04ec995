//! The cast of the incident: tenants, nodes, and what each call of the fortnight is.

use super::rng::{Rng, mix};
use super::words::Lang;
use crate::exchange::TimeMicros;

/// 2026-08-27T00:00:00Z, the day the model went live.
pub(super) const BASE: TimeMicros = 1_787_788_800_000_000;
/// One minute.
pub(super) const MINUTE: TimeMicros = 60_000_000;
/// One day.
pub(super) const DAY: TimeMicros = 24 * 60 * MINUTE;

/// KV pool of the exposed prefill nodes, tokens.
pub(super) const POOL: i64 = 681_280;
/// From this length on a prefill node with that pool rejects: `min(window, pool) - 6`.
pub(super) const LIMIT: i64 = POOL - 6;
/// Context window, tokens.
pub(super) const WINDOW: i64 = 1_048_576;
/// KV pool of the decode nodes, tokens.
pub(super) const DECODE_POOL: i64 = 1_310_720;
/// KV pool of the prefill nodes after the fix, tokens.
pub(super) const FIXED_POOL: i64 = 2_040_000;

/// Names of the prefill nodes.
pub(super) const PREFILL: [&str; 3] = ["glm-prefill-1", "glm-prefill-2", "glm-prefill-3"];
/// Names of the decode nodes.
pub(super) const DECODE: [&str; 4] = [
    "glm-decode-1",
    "glm-decode-2",
    "glm-decode-3",
    "glm-decode-4",
];
/// A node that does both.
pub(super) const UNIFIED: &str = "glm-mono-1";
/// A prefill node with the fixed engine.
pub(super) const PATCHED: &str = "glm-patched-1";

/// Ordinary tenants and the languages they write.
pub(super) const TENANTS: [(&str, &[Lang]); 16] = [
    ("lumen-freight", &[Lang::En]),
    ("alder-clinic", &[Lang::En, Lang::De]),
    ("northpier-bank", &[Lang::En]),
    ("tulip-insure", &[Lang::De]),
    ("castello-legal", &[Lang::Fr, Lang::En]),
    ("orchid-hotels", &[Lang::Fr]),
    ("quarzo-energy", &[Lang::Es]),
    ("beacon-schools", &[Lang::Es, Lang::En]),
    ("hailan-parts", &[Lang::Zh]),
    ("yunhe-retail", &[Lang::Zh, Lang::En]),
    ("mirai-robotics", &[Lang::Ja]),
    ("hanbit-games", &[Lang::Ko]),
    ("volga-steel", &[Lang::Ru]),
    ("siam-trade", &[Lang::Th]),
    ("atlas-metrics", &[Lang::En]),
    ("juniper-labs", &[Lang::En, Lang::Ja]),
];
/// Accounts of the operator and of the reporting researchers, with why they are counted apart.
pub(super) const EXCLUDED: [(&str, &str); 4] = [
    ("platform-qa", "internal"),
    ("platform-sre", "internal"),
    ("research-account-a", "researcher"),
    ("research-account-b", "researcher"),
];

/// An index into [`TENANTS`], then [`EXCLUDED`].
pub(super) type Tenant = usize;

/// The first of the excluded tenants.
pub(super) const FIRST_EXCLUDED: Tenant = TENANTS.len();

/// The tenant's name in the logs.
pub(super) fn tenant_name(tenant: Tenant) -> &'static str {
    TENANTS.get(tenant).map_or_else(
        || EXCLUDED.get(tenant - TENANTS.len()).map_or("", |e| e.0),
        |t| t.0,
    )
}

/// Why the tenant is counted apart.
pub(super) fn excluded(tenant: Tenant) -> Option<&'static str> {
    EXCLUDED
        .get(tenant.checked_sub(TENANTS.len())?)
        .map(|e| e.1)
}

/// Which nodes served a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// Another model: only the gateway logs it.
    GatewayOnly,
    /// A prefill and a decode node, by index.
    Disaggregated { prefill: usize, decode: usize },
    /// The node that does both.
    Unified,
    /// The prefill node with the fixed engine.
    Patched,
}

/// An index into [`Plan::calls`].
pub(super) type CallId = usize;

/// What shows in a leaking response.
#[derive(Clone, Copy)]
pub(super) struct Leak {
    /// Whose text.
    pub(super) source: CallId,
    /// From the source's response, not its prompt.
    pub(super) from_response: bool,
    /// Wished length in half-words.
    pub(super) half_words: u32,
    /// The text comes out mid-answer among own-looking sentences (0), alone (1), after them (2).
    pub(super) blend: u8,
    /// One of the answers of the page that seven tenants got.
    pub(super) repeated: bool,
}

/// What a call is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Everyday traffic.
    Ordinary,
    /// Shows foreign text.
    Leak(Leak),
    /// Over the limit, answered, nothing foreign in it.
    OverLimit,
    /// A long prompt just below the limit.
    NearLimit,
    /// A long prompt after the fix.
    AfterFix,
    /// Refused with 400.
    Refused,
    /// The tenant goes on about a leaked answer.
    SecondHand(CallId),
    /// The answer quotes a system prompt that many tenants share.
    SystemQuote(usize),
    /// The same prompt and answer again: a retry of the tenant, or a hit in the gateway's cache.
    Again(CallId, bool),
    /// The answer quotes the own prompt.
    OwnQuote,
    /// The prompt pastes a public text.
    PublicPaste(u64),
    /// The answer quotes a public text that many others pasted.
    PublicQuote(u64),
    /// The answer quotes what the tenant wrote in an earlier call.
    Memory(CallId),
}

/// One call of a client.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// Ids and the answer come from here.
    pub(super) seed: u64,
    /// The prompt comes from here: equal for retries.
    pub(super) prompt_seed: u64,
    /// Who calls.
    pub(super) tenant: Tenant,
    /// When.
    pub(super) start: TimeMicros,
    /// In which language.
    pub(super) lang: Lang,
    /// Index of a shared system prompt.
    pub(super) system: Option<usize>,
    /// Half-words of the pasted text.
    pub(super) half_words: u32,
    /// Prompt tokens of long prompts; 0: as many as the text has.
    pub(super) tokens: i64,
    /// Which nodes.
    pub(super) route: Route,
    /// What it is.
    pub(super) kind: Kind,
}

impl Call {
    /// A stream of numbers of this call's own.
    pub(super) fn rng(&self, stream: u64) -> Rng {
        Rng::new(self.seed, stream)
    }

    /// A stream of numbers of its prompt.
    pub(super) fn prompt_rng(&self, stream: u64) -> Rng {
        Rng::new(self.prompt_seed, stream)
    }

    /// Whether the prefill node swapped the prompt for a stub.
    pub(super) fn stubbed(&self) -> bool {
        matches!(self.kind, Kind::Leak(_) | Kind::OverLimit)
    }
}

/// All calls, and their order in time.
pub(super) struct Plan {
    /// In the order in which they were thought of.
    pub(super) calls: Vec<Call>,
    /// By start.
    pub(super) order: Vec<CallId>,
    /// Seed of texts that belong to no call.
    pub(super) seed: u64,
}

impl Plan {
    /// An empty plan.
    pub(super) fn new(seed: u64) -> Plan {
        Plan {
            calls: Vec::new(),
            order: Vec::new(),
            seed,
        }
    }

    /// Adds an everyday call; the caller changes what is special about it.
    pub(super) fn add(&mut self, rng: &mut Rng, tenant: Tenant, start: TimeMicros) -> CallId {
        let id = self.calls.len();
        let seed = mix(self.seed ^ mix(id as u64));
        let langs = TENANTS.get(tenant).map_or(&[Lang::En][..], |t| t.1);
        self.calls.push(Call {
            seed,
            prompt_seed: seed,
            tenant,
            start: start + rng.between(0, 999_999),
            lang: rng.pick(langs),
            system: rng.chance(45).then(|| rng.size(0, 3)),
            half_words: rng.size(140, 640) as u32,
            tokens: 0,
            route: Route::Disaggregated {
                prefill: rng.size(0, PREFILL.len() - 1),
                decode: rng.size(0, DECODE.len() - 1),
            },
            kind: Kind::Ordinary,
        });
        id
    }

    /// Adds a long call.
    pub(super) fn add_long(
        &mut self,
        rng: &mut Rng,
        tenant: Tenant,
        start: TimeMicros,
        tokens: i64,
        kind: Kind,
    ) -> CallId {
        let id = self.add(rng, tenant, start);
        self.calls[id].tokens = tokens;
        self.calls[id].kind = kind;
        id
    }

    /// Puts the calls in order of time.
    pub(super) fn sort(&mut self) {
        self.order = (0..self.calls.len()).collect();
        self.order.sort_by_key(|&id| (self.calls[id].start, id));
    }
}
