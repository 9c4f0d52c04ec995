//! Which tenants wrote a key first, and whether that explains it in an answer.
//!
//! A key that no other tenant holds by the end of the answer has no source. It is explained if its
//! tenant had it in a prompt by then, or in an earlier answer that owes it to nobody; if more than
//! so many other tenants have it in prompts; or if so many have it in answers and nobody had it in
//! a prompt: then the model says it. Only the first tenants of each side are kept: with more, the
//! key is common anyway.

use super::index::Text;

/// First tenants kept of each side.
const KEPT: usize = 12;

/// A key that a tenant's text holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// Number of the key.
    pub number: u32,
    /// It stands in an answer only.
    pub answer: bool,
    /// Start of the exchange.
    pub time: i64,
    pub tenant: u32,
    pub call: u32,
}

/// The first tenants of one side: time, tenant, call; ascending.
type First = Vec<(i64, u32, u32)>;

#[derive(Clone, Default)]
struct Sides([First; 2]);

/// The first tenants of all keys.
#[derive(Default)]
pub(super) struct Carriers(Vec<Sides>);

/// Whether an event makes a list another, and where its tenant stands in it.
fn changes(list: &First, event: &Event) -> Option<Option<usize>> {
    let new = (event.time, event.tenant, event.call);
    match list.iter().position(|c| c.1 == event.tenant) {
        Some(at) => (new < list[at]).then_some(Some(at)),
        None => (list.len() < KEPT || list.last().is_some_and(|l| new < *l)).then_some(None),
    }
}

impl Carriers {
    pub(super) fn new(keys: usize) -> Carriers {
        Carriers(vec![Sides::default(); keys])
    }

    pub(super) fn would_change(&self, event: &Event) -> bool {
        let list = &self.0[event.number as usize].0[usize::from(event.answer)];
        changes(list, event).is_some()
    }

    /// Adds an event; the result does not depend on the order of events.
    pub(super) fn add(&mut self, event: &Event) {
        let list = &mut self.0[event.number as usize].0[usize::from(event.answer)];
        if let Some(at) = changes(list, event) {
            if let Some(at) = at {
                list.remove(at);
            }
            list.push((event.time, event.tenant, event.call));
            list.sort_unstable();
            list.truncate(KEPT);
        }
    }

    /// Whether a key of a judged text is explained or has no source.
    pub(super) fn explain(&self, number: u32, text: &Text, max_tenants: usize) -> bool {
        let [prompts, answers] = &self.0[number as usize].0;
        let by = |list: &First, last: i64| list.iter().take_while(|c| c.0 <= last).count();
        let prompts = &prompts[..by(prompts, text.t1)];
        let answers = &answers[..by(answers, text.t1)];
        let others = |list: &[(i64, u32, u32)]| list.iter().filter(|c| c.1 != text.tenant).count();
        if prompts.iter().any(|c| c.1 == text.tenant) || others(prompts) > max_tenants {
            return true;
        }
        if prompts.is_empty() && others(answers) > max_tenants {
            return true;
        }
        if others(prompts) + others(answers) == 0 {
            return true;
        }
        let own = answers.iter().find(|c| c.1 == text.tenant);
        own.is_some_and(|own| {
            own.2 != text.call && own.0 < text.t0 && prompts.iter().all(|p| p.0 > own.0)
        })
    }
}
