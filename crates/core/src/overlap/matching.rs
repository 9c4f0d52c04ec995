//! Measures the shared runs of the texts that remain, and makes rows of them.

use super::automaton::{Automaton, ROOT};
use super::judged::Judged;
use super::member::Decided;
use super::rows::{RowMaker, is_cut};
use super::types::{Field, Row, Settings, Subject};
use super::view::TextView;
use super::windows::{NONE, Scanner, WindowIndex, for_each};
use crate::text::Tokens;
use hashbrown::HashMap;
use xxhash_rust::xxh3::Xxh3;

/// Where a run stands in a source, ordered as sources are preferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub t_start: i64,
    pub id_rank: u32,
    pub field: Field,
    /// Token behind the run.
    pub to: u32,
    pub exchange: u32,
    pub bytes: (u32, u32),
    pub at_cut: bool,
}

/// The longest run of a state in a tenant's texts, and its first place.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub length: u32,
    pub place: Place,
}

impl Run {
    /// A longer run wins, of equal ones the first place.
    fn merge(&mut self, other: Run) {
        if other.length > self.length || (other.length == self.length && other.place < self.place) {
            *self = other;
        }
    }
}

/// Text of the step, tenant, state.
pub(super) type RunKey = (u32, u32, u32);

/// Text of the step, tenant, hash of a stretch.
type SeenKey = (u32, u32, u128);

/// Where a stretch stands: as [`Place`], by its first token.
type SeenPlace = (i64, u32, Field, u32);

/// Stretches to remember; without memory of them the work is done again, to no effect.
const SEEN: usize = 1 << 20;

/// What scanning finds for this step.
#[derive(Default)]
pub(super) struct MatchPart {
    seen: HashMap<SeenKey, SeenPlace>,
    runs: Vec<(RunKey, Run)>,
    scanner: Scanner,
}

/// A judged text of the step.
pub(super) struct Member {
    pub decided: Decided,
    pub facts: Judged,
    pub automaton: Automaton,
}

/// The step for one group of texts.
pub(super) struct Matching {
    members: Vec<Member>,
    index: WindowIndex,
    /// Per window the texts in which it lies over unexplained tokens.
    novel: Vec<Vec<u32>>,
    runs: HashMap<RunKey, Run>,
    /// First places of the stretches that were read.
    seen: HashMap<SeenKey, SeenPlace>,
    /// Least tokens of a run that can make a row.
    least: u32,
    range: (i64, i64),
}

/// A stretch of a source text that only known windows make up, for one judged text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stretch {
    member: u32,
    from: u32,
    to: u32,
    /// Hash of its tokens.
    content: u128,
}

impl Stretch {
    fn hash(tokens: &Tokens, from: u32, to: u32) -> u128 {
        let mut hasher = Xxh3::new();
        for token in from..to {
            hasher.update(tokens.folded(token as usize));
            // No token holds a byte that UTF-8 does not use.
            hasher.update(&[0xff]);
        }
        hasher.digest128()
    }
}

impl Matching {
    pub(super) fn new(decided: Vec<Decided>, judged: &[Judged], store_weight: u32) -> Matching {
        let tokens: usize = decided.iter().map(|d| d.tokens.len()).sum();
        let mut index = WindowIndex::new(tokens);
        let mut novel: Vec<Vec<u32>> = Vec::new();
        let mut range = (i64::MAX, i64::MIN);
        for (at, d) in decided.iter().enumerate() {
            let text = |t: u32| &decided[t as usize].tokens;
            for_each(&d.tokens, |w| {
                index.insert(text, at as u32, &w);
            });
            novel.resize_with(index.len(), Vec::new);
            for (w, _) in &d.novel {
                let texts = &mut novel[index.find(text, &d.tokens, w) as usize];
                if texts.last() != Some(&(at as u32)) {
                    texts.push(at as u32);
                }
            }
            let facts = &judged[d.text as usize];
            range = (range.0.min(facts.from), range.1.max(facts.to));
        }
        let members = decided
            .into_iter()
            .map(|decided| Member {
                facts: judged[decided.text as usize],
                automaton: Automaton::new(&decided.tokens),
                decided,
            })
            .collect();
        Matching {
            members,
            index,
            novel,
            runs: HashMap::new(),
            seen: HashMap::new(),
            least: store_weight.div_ceil(2),
            range,
        }
    }

    /// Whether the pass needs an exchange.
    pub(super) fn wants(&self, subject: &Subject) -> bool {
        let (from, to) = self.range;
        subject.tenant.is_some() && subject.t_start.is_some_and(|t| from <= t && t <= to)
    }

    pub(super) fn scan(
        &self,
        exchange: u32,
        subject: &Subject,
        texts: &mut TextView<'_>,
        out: &mut MatchPart,
    ) {
        let (Some(tenant), Some(t_start)) = (subject.tenant, subject.t_start) else {
            return;
        };
        for field in Field::ALL {
            let Some(tokens) = texts.tokens(field) else {
                continue;
            };
            let mut stretches = self.stretches(subject, tenant, t_start, tokens, &mut out.scanner);
            // A stretch that was read at an earlier place has nothing new to say.
            stretches.retain(|s| {
                let key = (s.member, tenant, s.content);
                let place = (t_start, subject.id_rank, field, s.from);
                let is_new = |known: Option<&SeenPlace>| known.is_none_or(|&k| place < k);
                let new = is_new(self.seen.get(&key)) && is_new(out.seen.get(&key));
                if new {
                    out.seen.insert(key, place);
                }
                new
            });
            for group in stretches.chunk_by(|a, b| a.member == b.member) {
                let place = Place {
                    t_start,
                    id_rank: subject.id_rank,
                    field,
                    to: 0,
                    exchange,
                    bytes: (0, 0),
                    at_cut: false,
                };
                self.runs_of(group, tokens, tenant, place, out);
            }
        }
    }

    /// Stretches by text, ascending.
    fn stretches(
        &self,
        subject: &Subject,
        tenant: u32,
        t_start: i64,
        tokens: &Tokens,
        scanner: &mut Scanner,
    ) -> Vec<Stretch> {
        let text = |t: u32| &self.members[t as usize].decided.tokens;
        let mut out = Vec::new();
        let mut texts: Vec<u32> = Vec::new();
        let mut stretch: Option<(u32, u32, u32)> = None;
        let mut close = |stretch: Option<(u32, u32, u32)>, texts: &mut Vec<u32>| {
            let Some((from, _, to)) = stretch else {
                return;
            };
            let segment = tokens.barriers.partition_point(|b| b.at <= from);
            // The last half-word of a run may lie behind its last window.
            let to = (to + 2).min(tokens.barriers[segment].at);
            if to - from < self.least {
                texts.clear();
                return;
            }
            texts.sort_unstable();
            texts.dedup();
            texts.retain(|&member| {
                let facts = &self.members[member as usize].facts;
                facts.tenant != tenant
                    && facts.call != subject.call
                    && facts.from <= t_start
                    && t_start <= facts.to
            });
            if texts.is_empty() {
                return;
            }
            let content = Stretch::hash(tokens, from, to);
            out.extend(texts.drain(..).map(|member| Stretch {
                member,
                from,
                to,
                content,
            }));
        };
        self.index.each_known(text, tokens, scanner, |w, id| {
            stretch = match stretch {
                Some((from, last, _)) if last + 1 == w.from => Some((from, w.from, w.to)),
                before => {
                    close(before, &mut texts);
                    Some((w.from, w.from, w.to))
                }
            };
            let novel = &self.novel[id as usize];
            if !texts.ends_with(novel) {
                texts.extend_from_slice(novel);
            }
        });
        close(stretch, &mut texts);
        out.sort_unstable();
        out
    }

    /// Reads the stretches of one source text through the automaton of one judged text.
    fn runs_of(
        &self,
        group: &[Stretch],
        tokens: &Tokens,
        tenant: u32,
        place: Place,
        out: &mut MatchPart,
    ) {
        let member = &self.members[group[0].member as usize];
        let automaton = &member.automaton;
        let mut found: HashMap<u32, (u32, u32, bool)> = HashMap::new();
        for stretch in group {
            let to = stretch.to;
            let id = |token: u32| {
                if token < to {
                    automaton.find(&member.decided.tokens, tokens, token as usize)
                } else {
                    NONE
                }
            };
            let (mut at, mut next) = ((ROOT, 0), id(stretch.from));
            for token in stretch.from..to {
                at = automaton.step(at, next);
                next = id(token + 1);
                let (mut state, mut length) = at;
                // Shorter suffixes stand here too. Those of a state that was reached before have
                // an earlier place. What always goes on with the same token in the judged text,
                // and does so here, lies inside a longer run.
                while length >= self.least {
                    let run = found.entry(state).or_insert((0, 0, false));
                    if run.0 >= length {
                        break;
                    }
                    let inside = next != NONE && automaton.always_followed_by(state, next);
                    *run = (length, token + 1, !inside);
                    state = automaton.link(state);
                    length = automaton.length(state);
                }
            }
        }
        let mut found: Vec<_> = found.into_iter().filter(|(_, run)| run.2).collect();
        found.sort_unstable();
        for (state, (length, to, _)) in found {
            let from = to - length;
            let run = Run {
                length,
                place: Place {
                    to,
                    bytes: (tokens.start[from as usize], tokens.end[to as usize - 1]),
                    at_cut: is_cut(tokens, from) || is_cut(tokens, to),
                    ..place
                },
            };
            let key = (group[0].member, tenant, state);
            let known = self.runs.get(&key);
            if known.is_none_or(|k| {
                run.length > k.length || (run.length == k.length && run.place < k.place)
            }) {
                out.runs.push((key, run));
            }
        }
    }

    pub(super) fn absorb(&mut self, part: MatchPart) {
        for (key, run) in part.runs {
            self.runs
                .entry(key)
                .and_modify(|known| known.merge(run))
                .or_insert(run);
        }
        let mut seen: Vec<(SeenKey, SeenPlace)> = part.seen.into_iter().collect();
        seen.sort_unstable();
        for (key, place) in seen {
            if self.seen.len() < SEEN || self.seen.contains_key(&key) {
                let known = self.seen.entry(key).or_insert(place);
                *known = place.min(*known);
            }
        }
    }

    /// The rows of the group, in no order that matters.
    pub(super) fn rows(self, subjects: &[Subject], settings: &Settings, rows: &mut Vec<Row>) {
        let mut runs: Vec<(RunKey, Run)> = self.runs.into_iter().collect();
        runs.sort_unstable_by_key(|r| r.0);
        for of_member in runs.chunk_by(|a, b| a.0.0 == b.0.0) {
            let maker = RowMaker::new(&self.members[of_member[0].0.0 as usize], subjects, settings);
            for of_tenant in of_member.chunk_by(|a, b| a.0.1 == b.0.1) {
                maker.make(of_tenant[0].0.1, of_tenant, rows);
            }
        }
    }
}
