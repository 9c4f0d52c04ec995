//! The texts to judge: what the first pass keeps of each, and which stand for others.

use super::sequence;
use super::types::{Field, JudgedText, Settings, Subject, existed};
use crate::exchange::{Role, TimeMicros};
use crate::text::Tokens;
use xxhash_rust::xxh3::xxh3_128;

/// A judged text and the facts of its exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    pub exchange: u32,
    pub field: Field,
    pub tenant: u32,
    pub call: u32,
    /// Start, and end or else start.
    pub t0: TimeMicros,
    pub t1: TimeMicros,
    /// First and last time that counts.
    pub from: TimeMicros,
    pub to: TimeMicros,
    /// Shortest runs that can make a row.
    pub anchors: u32,
    pub tokens: u32,
}

impl Judged {
    /// Whether a text of another exchange may be a source.
    pub(super) fn admits(&self, tenant: u32, call: u32, t_start: TimeMicros) -> bool {
        self.tenant != tenant && self.call != call && self.from <= t_start && t_start <= self.to
    }
}

/// What the first pass keeps of a text that may be judged.
pub(super) struct Found {
    pub exchange: u32,
    pub field: Field,
    /// Hash of the token sequence.
    pub content: u128,
    pub tokens: u32,
    pub anchors: u32,
    pub sequence: Option<Box<[u32]>>,
}

/// Buffers for making [`Found`].
#[derive(Default)]
pub(super) struct Finder {
    folded: Vec<u8>,
    sequence: Vec<u32>,
    hashes: Vec<u64>,
}

impl Finder {
    pub(super) fn found(
        &mut self,
        exchange: u32,
        field: Field,
        tokens: &Tokens,
        run_weight: u32,
    ) -> Found {
        self.folded.clear();
        for token in 0..tokens.len() {
            self.folded.extend_from_slice(tokens.folded(token));
            // No token holds a byte that UTF-8 does not use.
            self.folded.push(0xff);
        }
        self.sequence.clear();
        sequence::append(tokens, &mut self.sequence);
        let mut anchors = 0;
        let hashes = &mut self.hashes;
        sequence::stretches(&self.sequence, |_, stretch| {
            sequence::hashes(stretch, run_weight, hashes);
            anchors += hashes.len() as u32;
        });
        Found {
            exchange,
            field,
            content: xxh3_128(&self.folded),
            tokens: tokens.len() as u32,
            anchors,
            sequence: Some(self.sequence.as_slice().into()),
        }
    }
}

/// The texts to judge, by exchange and field.
#[derive(Default)]
pub(super) struct Texts {
    /// All texts that were looked at.
    pub listed: Vec<JudgedText>,
    /// The distinct ones of each call.
    pub judged: Vec<Judged>,
    /// Their sequences, where memory allowed to keep them.
    pub sequences: Vec<Option<Box<[u32]>>>,
}

impl Texts {
    /// Chooses the exchange that stands for each distinct text of a call.
    pub(super) fn choose(
        mut found: Vec<Found>,
        subjects: &[Subject],
        settings: &Settings,
    ) -> Texts {
        let mut out = Texts::default();
        // Nothing stands before the first exchange: texts that look back further look alike.
        let earliest = subjects.iter().filter_map(|s| s.t_start).min();
        let group = |f: &Found| {
            let s = &subjects[f.exchange as usize];
            (s.call, s.choice, f.field, f.content)
        };
        let rank = |f: &Found| {
            let s = &subjects[f.exchange as usize];
            let role = Role::ALL.iter().position(|r| *r == s.role);
            (role, s.t_start, s.id_rank)
        };
        found.sort_unstable_by_key(|f| (group(f), rank(f)));
        let mut chosen: Vec<(Judged, Option<Box<[u32]>>)> = Vec::new();
        for members in found.chunk_by_mut(|a, b| group(a) == group(b)) {
            let first = members[0].exchange;
            out.listed.extend(members.iter().map(|f| JudgedText {
                exchange: f.exchange,
                field: f.field,
                first,
                tokens: f.tokens,
            }));
            let s = &subjects[first as usize];
            if let (Some(tenant), Some(t0)) = (s.tenant, s.t_start) {
                let t1 = existed(s, t0);
                let (from, to) = settings.range(s, t0, t1);
                let judged = Judged {
                    exchange: first,
                    field: members[0].field,
                    tenant,
                    call: s.call,
                    t0,
                    t1,
                    from: earliest.map_or(from, |e| from.max(e)),
                    to,
                    anchors: members[0].anchors,
                    tokens: members[0].tokens,
                };
                chosen.push((judged, members[0].sequence.take()));
            }
        }
        drop(found);
        out.listed.sort_unstable_by_key(|j| (j.exchange, j.field));
        chosen.sort_unstable_by_key(|(j, _)| (j.exchange, j.field));
        (out.judged, out.sequences) = chosen.into_iter().unzip();
        out
    }

    /// Numbers of the judged texts of an exchange.
    pub(super) fn of(&self, exchange: u32) -> std::ops::Range<usize> {
        let first = self.judged.partition_point(|j| j.exchange < exchange);
        let count = self.judged[first..]
            .iter()
            .take_while(|j| j.exchange == exchange)
            .count();
        first..first + count
    }
}
