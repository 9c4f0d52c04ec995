//! Who held a value, and when: the occurrences that can decide something, and what they decide.

use super::pattern::Patterns;
use super::types::{Judged, Row, mask};
use crate::exchange::TimeMicros;
use crate::overlap::{Field, Settings, Subject};

/// One exchange that holds a value in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub value: u32,
    /// Piece of the value's time line: judged answers that look back to different times see
    /// different pieces, and each sees pieces as a whole.
    pub cell: u32,
    pub tenant: u32,
    pub call: u32,
    pub exchange: u32,
    /// Rank of the exchange.
    pub rank: u32,
    /// Start of the exchange.
    pub time: TimeMicros,
    /// Time by which the text existed.
    pub existed: TimeMicros,
    pub field: Field,
    pub start: u32,
    pub end: u32,
}

impl Event {
    fn is_answer(&self) -> bool {
        self.field != Field::Prompt
    }

    /// Earlier first, prompts before answers; total.
    fn key(&self) -> (TimeMicros, bool, TimeMicros, u32, Field, u32) {
        let answer = self.is_answer();
        let existed = if answer { self.existed } else { self.time };
        (
            self.time, answer, existed, self.rank, self.field, self.start,
        )
    }
}

/// Occurrences, thinned out: of each tenant in each cell the first ones of two calls, and the
/// first prompts of two calls. What is dropped can decide nothing, so the order does not matter.
#[derive(Default)]
pub(super) struct Events {
    list: Vec<Event>,
    thin: usize,
}

impl Events {
    pub(super) fn push(&mut self, event: Event) {
        self.list.push(event);
        if self.list.len() >= 2 * self.thin + 4096 {
            self.thin_out();
        }
    }

    pub(super) fn append(&mut self, other: Events) {
        for event in other.list {
            self.push(event);
        }
    }

    /// Drops values that are left to a later pass.
    pub(super) fn keep_below(&mut self, value: u32) {
        self.list.retain(|e| e.value < value);
    }

    pub(super) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Event>()
    }

    /// Number of occurrences, once thinned out.
    pub(super) fn thin_out(&mut self) -> usize {
        let group = |e: &Event| (e.value, e.cell, e.tenant);
        self.list.sort_unstable_by_key(|e| (group(e), e.key()));
        self.list.dedup();
        let mut kept = 0;
        let mut at = 0;
        while at < self.list.len() {
            let now = group(&self.list[at]);
            let (mut calls, mut prompts) = (Two::default(), Two::default());
            while at < self.list.len() && group(&self.list[at]) == now {
                let event = self.list[at];
                at += 1;
                let first = calls.admits(event.call);
                let prompt = !event.is_answer() && prompts.admits(event.call);
                if first || prompt {
                    self.list[kept] = event;
                    kept += 1;
                }
            }
        }
        self.list.truncate(kept);
        self.thin = kept;
        kept
    }

    /// Drops all values from the middle one on and returns it; `None` if there is one value only.
    pub(super) fn halve(&mut self) -> Option<u32> {
        let first = self.list.first()?.value;
        let middle = self.list[self.list.len() / 2].value;
        let bound = if middle > first {
            middle
        } else {
            self.list.iter().map(|e| e.value).find(|v| *v > first)?
        };
        self.list.retain(|e| e.value < bound);
        self.list.shrink_to_fit();
        self.thin = self.list.len();
        Some(bound)
    }

    /// Occurrences by value, each value's by tenant and time.
    pub(super) fn finish(mut self) -> Vec<Event> {
        self.thin_out();
        self.list
            .sort_unstable_by_key(|e| (e.value, e.tenant, e.key()));
        self.list
    }
}

/// The first two different calls.
#[derive(Default)]
struct Two([Option<u32>; 2]);

impl Two {
    fn admits(&mut self, call: u32) -> bool {
        if self.0.contains(&Some(call)) {
            return false;
        }
        match self.0.iter_mut().find(|c| c.is_none()) {
            Some(free) => {
                *free = Some(call);
                true
            }
            None => false,
        }
    }
}

/// What a judged identifier needs to become a row.
pub(super) struct Context<'a> {
    pub subjects: &'a [Subject],
    pub settings: &'a Settings,
    pub patterns: &'static Patterns,
}

impl Context<'_> {
    /// The row of a judged identifier; `None` if no other tenant held the value. `events` are
    /// those of its value, by tenant and time.
    pub(super) fn row(&self, judged: &Judged, events: &[Event], own_prompt: bool) -> Option<Row> {
        let counts =
            |e: &&Event| judged.from <= e.time && e.time <= judged.to && e.call != judged.call;
        let by_tenant = || events.chunk_by(|a, b| a.tenant == b.tenant);
        // The two earliest first prompts, of different tenants.
        let mut prompts = [(TimeMicros::MAX, u32::MAX); 2];
        for group in by_tenant() {
            let first = group.iter().filter(counts).find(|e| !e.is_answer());
            if let Some(e) = first {
                let new = (e.time, e.tenant);
                if new < prompts[0] {
                    prompts = [new, prompts[0]];
                } else if new < prompts[1] {
                    prompts[1] = new;
                }
            }
        }
        // Owes nothing to another tenant's prompt.
        let independent = |e: &Event| {
            let other = usize::from(prompts[0].1 == e.tenant);
            let (time, tenant) = prompts[other];
            !e.is_answer() || tenant == u32::MAX || time > e.existed
        };
        let (mut carriers, mut in_own_history) = (0, false);
        let mut source: Option<(bool, &Event)> = None;
        for group in by_tenant() {
            let Some(first) = group.iter().find(counts) else {
                continue;
            };
            let carries = independent(first);
            if first.tenant == judged.tenant {
                in_own_history = carries && first.time <= judged.t1;
                continue;
            }
            carriers += u32::from(carries);
            if source.is_none_or(|(c, e)| (!carries, first.key()) < (!c, e.key())) {
                source = Some((carries, first));
            }
        }
        let (source_carries, source) = source?;
        let subject = &self.subjects[source.exchange as usize];
        let found = &judged.found;
        Some(Row {
            exchange: found.exchange,
            source_exchange: source.exchange,
            tenant: judged.tenant,
            source_tenant: source.tenant,
            field: found.field,
            source_field: source.field,
            kind: self.patterns.kind(found.pattern),
            pattern: self.patterns.id(found.pattern),
            value_hmac: found.hmac,
            masked: mask(found),
            value_bits: found.bits,
            checked: self.patterns.has_check_digit(found.pattern),
            response_start: found.start,
            response_end: found.end,
            source_start: source.start,
            source_end: source.end,
            in_own_prompt: own_prompt,
            in_own_history,
            carriers,
            source_carries,
            lag_ms: judged.t0.saturating_sub(source.time).div_euclid(1000),
            order: self.settings.order(subject, judged.t0, judged.t1),
        })
    }
}
