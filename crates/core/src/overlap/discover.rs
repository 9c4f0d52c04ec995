//! Looks every text up in the index of judged texts, and marks the runs that another tenant's text
//! shares with them.
//!
//! Marks come from equal hashes and from anchors too crowded to look at each place, so there may be
//! too many; there are never too few. That the prompt of the same record holds a run is the other
//! way round: it counts only where the tokens themselves are equal.

use super::anchors::{Anchors, Stand};
use super::judged::Judged;
use super::sequence::{self, BREAK, weight};
use super::types::{Field, Subject, WINDOW_WEIGHT};
use super::view::TextView;
use super::windows::equal;
use crate::text::Tokens;

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Buffers {
    sequence: Vec<u32>,
    hashes: Vec<u64>,
    candidates: Vec<u32>,
    /// Crowded anchors in the prompt, and a token with which each begins.
    crowds: Vec<(u32, u32)>,
    /// Diagonals on which runs were followed, and how far in the source.
    followed: [(i64, usize); FOLLOWED],
    next: usize,
}

const FOLLOWED: usize = 16;

/// An exchange whose texts are looked up.
pub(super) struct Source<'a> {
    pub exchange: u32,
    pub subject: &'a Subject,
    pub tenant: u32,
    pub t_start: i64,
}

/// A passage of a judged text: first token and end.
pub(super) type Passage = (u32, u32);

impl Anchors {
    /// Looks the texts of one exchange up.
    pub(super) fn scan(
        &self,
        source: &Source<'_>,
        texts: &mut TextView<'_>,
        judged: &[Judged],
        run_weight: u32,
        buffers: &mut Buffers,
    ) {
        buffers.crowds.clear();
        for field in Field::ALL {
            texts.load(field);
        }
        for field in Field::ALL {
            if let Some(tokens) = texts.loaded(field) {
                let lookup = Lookup {
                    anchors: self,
                    source,
                    texts,
                    judged,
                    run_weight,
                    tokens,
                    prompt: field == Field::Prompt,
                };
                lookup.text(buffers);
            }
        }
        self.mark_own_crowds(source, texts, judged, &mut buffers.crowds);
    }

    fn mark_own_crowds(
        &self,
        source: &Source<'_>,
        texts: &TextView<'_>,
        judged: &[Judged],
        crowds: &mut Vec<(u32, u32)>,
    ) {
        let Some(prompt) = texts.loaded(Field::Prompt).filter(|_| !crowds.is_empty()) else {
            return;
        };
        crowds.sort_unstable();
        crowds.dedup_by_key(|c| c.0);
        let first = judged.partition_point(|j| j.exchange < source.exchange);
        let own = judged[first..].iter().enumerate();
        for (nth, facts) in own.take_while(|(_, j)| j.exchange == source.exchange) {
            let Some((from, to)) = self.range_of((first + nth) as u32) else {
                continue;
            };
            let Some(tokens) = texts.loaded(facts.field) else {
                continue;
            };
            let begin = self.crowds.partition_point(|c| (c.at as usize) < from);
            for place in self.crowds[begin..]
                .iter()
                .take_while(|c| (c.at as usize) < to)
            {
                let Ok(found) = crowds.binary_search_by_key(&place.crowd, |c| c.0) else {
                    continue;
                };
                let at = place.at as usize;
                let length = self.length_at(at);
                let token = token_index(tokens, at - from);
                let stands = crowds[found].1 as usize;
                // The anchor of the prompt has this length too if the hashes tell the truth.
                if stands + length <= prompt.len() && equal(tokens, token, prompt, stands, length) {
                    self.own.set(at, at + length);
                }
            }
        }
    }

    /// The passages with enough weight that is shared and not in the own prompt, with their
    /// surroundings, by text. To be called once all texts were looked up.
    pub(super) fn passages(&self, store_weight: u32) -> Vec<(u32, Vec<Passage>)> {
        self.mark_crowds();
        let mut out = Vec::new();
        for (text, from, to) in self.texts() {
            if self.shared.any(from, to) {
                let mut passages = Vec::new();
                let mut breaks = 0;
                sequence::stretches(&self.sequence[from..to], |first, stretch| {
                    self.of_stretch(from + first, stretch, store_weight, |a, b| {
                        passages.push(((first + a - breaks) as u32, (first + b - breaks) as u32));
                    });
                    breaks += 1;
                });
                if !passages.is_empty() {
                    out.push((text, passages));
                }
            }
        }
        out
    }

    /// Marked runs that lie in each other's surroundings stay together: a run that the end of a
    /// passage cut would look like a shorter one.
    fn of_stretch(
        &self,
        base: usize,
        stretch: &[u32],
        store_weight: u32,
        mut each: impl FnMut(usize, usize),
    ) {
        let mut passage: Option<(usize, usize)> = None;
        let mut close = |cluster: Option<(usize, usize, bool)>, end: bool| {
            if let Some((first, last, true)) = cluster {
                let (from, to) = (before(stretch, first), behind(stretch, last));
                passage = match passage {
                    Some((begin, before)) if from <= before => Some((begin, to)),
                    other => {
                        if let Some((from, to)) = other {
                            each(from, to);
                        }
                        Some((from, to))
                    }
                };
            }
            if let Some((from, to)) = passage.filter(|_| end) {
                each(from, to);
            }
        };
        let mut cluster: Option<(usize, usize, bool)> = None;
        let mut at = 0;
        while at < stretch.len() {
            if !self.shared.get(base + at) {
                at += 1;
                continue;
            }
            let first = at;
            let mut novel = 0;
            while at < stretch.len() && self.shared.get(base + at) {
                if !self.own.get(base + at) {
                    novel += weight(stretch[at]);
                }
                at += 1;
            }
            let heavy = novel >= store_weight;
            cluster = match cluster {
                Some((begin, end, other))
                    if behind(stretch, end) > first || before(stretch, first) < end =>
                {
                    Some((begin, at, other | heavy))
                }
                other => {
                    close(other, false);
                    Some((first, at, heavy))
                }
            };
        }
        close(cluster, true);
    }
}

/// What windows over a token reach, and more to see where a run ends.
const REACH: u32 = WINDOW_WEIGHT + 2;

/// Where the surroundings of a run begin.
fn before(stretch: &[u32], mut from: usize) -> usize {
    let mut heavy = 0;
    while from > 0 && heavy < REACH {
        from -= 1;
        heavy += weight(stretch[from]);
    }
    from
}

/// Where the surroundings of a run end.
fn behind(stretch: &[u32], mut to: usize) -> usize {
    let mut heavy = 0;
    while to < stretch.len() && heavy < REACH {
        heavy += weight(stretch[to]);
        to += 1;
    }
    to
}

/// The token at a place of a text's sequence.
fn token_index(tokens: &Tokens, place: usize) -> usize {
    let (mut low, mut high) = (0, tokens.barriers.len());
    while high - low > 1 {
        let middle = (low + high) / 2;
        if tokens.barriers[middle].at as usize + middle <= place {
            low = middle;
        } else {
            high = middle;
        }
    }
    place - low
}

/// One text that is looked up.
struct Lookup<'a, 'b> {
    anchors: &'a Anchors,
    source: &'a Source<'a>,
    texts: &'a TextView<'b>,
    judged: &'a [Judged],
    run_weight: u32,
    tokens: &'a Tokens,
    prompt: bool,
}

impl Lookup<'_, '_> {
    fn text(&self, buffers: &mut Buffers) {
        buffers.sequence.clear();
        buffers.followed = [(i64::MIN, 0); FOLLOWED];
        sequence::append(self.tokens, &mut buffers.sequence);
        let source = std::mem::take(&mut buffers.sequence);
        let mut breaks = 0;
        sequence::stretches(&source, |first, stretch| {
            let mut hashes = std::mem::take(&mut buffers.hashes);
            let mut candidates = std::mem::take(&mut buffers.candidates);
            sequence::hashes(stretch, self.run_weight, &mut hashes);
            self.anchors.candidates(&hashes, &mut candidates);
            let mut next = 0;
            for &candidate in &candidates {
                let at = first + candidate as usize;
                if at < next {
                    continue;
                }
                for stand in self.anchors.stands(hashes[candidate as usize]) {
                    match stand {
                        Stand::At(place) => {
                            let place = place as usize;
                            let ahead = self.anchors.alone(place, &source[at..]);
                            self.meet(&source, (at, at - breaks), (place, ahead), buffers);
                            next = at + ahead;
                        }
                        Stand::Crowded(crowd) => {
                            self.anchors.note(crowd, self.source.tenant);
                            if self.prompt {
                                buffers.crowds.push((crowd, (at - breaks) as u32));
                            }
                        }
                    }
                }
            }
            (buffers.hashes, buffers.candidates) = (hashes, candidates);
            breaks += 1;
        });
        buffers.sequence = source;
    }

    /// The source has the hash of the anchor at `place` at its place `at`, which is its token
    /// `token`. The `ahead` anchors from there on need no look: marks are made for all of them.
    fn meet(
        &self,
        source: &[u32],
        (at, token): (usize, usize),
        (place, ahead): (usize, usize),
        buffers: &mut Buffers,
    ) {
        let last = place + ahead.saturating_sub(1);
        let sequence = &self.anchors.sequence;
        let mut end = last + self.anchors.length_at(last);
        // A half-word may be left behind the last anchor in a run.
        end += usize::from(sequence[end] != BREAK && weight(sequence[end]) == 1);
        let (text, begin) = self.anchors.text_at(place as u32);
        let facts = &self.judged[text as usize];
        if facts.exchange == self.source.exchange {
            if self.prompt {
                self.meet_own(token, (place, end), begin as usize, facts.field);
            }
            return;
        }
        let Source {
            subject,
            tenant,
            t_start,
            ..
        } = *self.source;
        if !facts.admits(tenant, subject.call, t_start) {
            return;
        }
        let diagonal = place as i64 - at as i64;
        if buffers.followed.iter().any(|f| f.0 == diagonal && at < f.1) {
            return;
        }
        if self.anchors.shared.all(place, end) {
            return;
        }
        let pairs = source[at..].iter().zip(&sequence[place..]);
        let behind = pairs.take_while(|(a, b)| a == b && **a != BREAK).count();
        let pairs = source[..at]
            .iter()
            .rev()
            .zip(sequence[..place].iter().rev());
        let before = pairs.take_while(|(a, b)| a == b && **a != BREAK).count();
        let (from, to) = (place - before, place + behind);
        let mut heavy = 0;
        let enough = sequence[from..to].iter().any(|&s| {
            heavy += weight(s);
            heavy >= self.run_weight
        });
        if enough {
            self.anchors.shared.set(from, to);
        }
        buffers.followed[buffers.next] = (diagonal, at + behind);
        buffers.next = (buffers.next + 1) % FOLLOWED;
    }

    /// The prompt of the judged text's record may hold its anchors up to a place.
    fn meet_own(&self, token: usize, (place, end): (usize, usize), begin: usize, field: Field) {
        let anchors = self.anchors;
        if anchors.own.all(place, end) {
            return;
        }
        let Some(answer) = self.texts.loaded(field) else {
            return;
        };
        let same = token_index(answer, place - begin);
        let (from, to) = common(self.tokens, token, answer, same);
        let heavy: u32 = (same - from..same + to)
            .map(|t| u32::from(answer.weight[t]))
            .sum();
        if heavy >= WINDOW_WEIGHT {
            anchors.own.set(place - from, place + to);
        }
    }
}

/// How many tokens before and from a place on are equal in two texts, up to the next barriers.
fn common(a: &Tokens, i: usize, b: &Tokens, j: usize) -> (usize, usize) {
    let around = |tokens: &Tokens, at: usize| {
        let behind = tokens.barriers.partition_point(|b| b.at as usize <= at);
        let first = behind.checked_sub(1).map_or(0, |n| tokens.barriers[n].at);
        let last = tokens
            .barriers
            .get(behind)
            .map_or(tokens.len() as u32, |b| b.at);
        (first as usize, last as usize)
    };
    let ((a_first, a_last), (b_first, b_last)) = (around(a, i), around(b, j));
    let before = (1..=(i - a_first).min(j - b_first))
        .take_while(|&k| a.folded(i - k) == b.folded(j - k))
        .count();
    let behind = (0..(a_last - i).min(b_last - j))
        .take_while(|&k| a.folded(i + k) == b.folded(j + k))
        .count();
    (before, behind)
}
