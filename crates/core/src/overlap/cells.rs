//! Who held a window first, in bounded memory.
//!
//! Judged texts look back from different times. A window's time line is cut at each of these
//! times; the piece between two cuts is a *cell*. A cell keeps the first occurrences of the
//! tenants that came first in it, as many as there is room for, and is exact up to its *floor*,
//! the first occurrence that found no room. A question that needs more is asked again with more
//! room. Everything here is a minimum over occurrences, so their order does not matter.

use crate::exchange::TimeMicros;
use hashbrown::HashSet;

/// Order of occurrences: start, prompt before answer, time by which the text existed.
pub(super) type Key = (TimeMicros, bool, TimeMicros);

const NEVER: Key = (TimeMicros::MAX, true, TimeMicros::MAX);

/// One exchange of a tenant that holds a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub window: u32,
    pub tenant: u32,
    pub call: u32,
    pub key: Key,
}

#[derive(Clone, Copy)]
struct Occurrence {
    key: Key,
    call: u32,
}

/// First occurrence of a tenant, and the first one in another call than that.
#[derive(Clone, Copy)]
struct First {
    tenant: u32,
    first: Occurrence,
    other: Occurrence,
}

/// Bytes of one tenant in a cell.
pub(super) const TENANT_BYTES: usize = size_of::<First>();

/// A piece of the time line of one window.
pub(super) struct Cell {
    /// Where it begins.
    pub from: TimeMicros,
    firsts: Vec<First>,
    floor: Key,
    /// First prompts of two tenants: of the one that was first, and of the first other one.
    prompts: [(TimeMicros, u32); 2],
}

impl Cell {
    pub(super) fn new(from: TimeMicros) -> Cell {
        Cell {
            from,
            firsts: Vec::new(),
            floor: NEVER,
            prompts: [(TimeMicros::MAX, u32::MAX); 2],
        }
    }

    /// Whether an event would change the cell.
    pub(super) fn would_change(&self, event: &Event) -> bool {
        if !event.key.1 && self.improves_prompts(event) {
            return true;
        }
        if event.key >= self.floor {
            return false;
        }
        match self.firsts.iter().find(|f| f.tenant == event.tenant) {
            None => true,
            Some(f) if f.first.call == event.call => event.key < f.first.key,
            Some(f) => event.key < f.other.key,
        }
    }

    fn improves_prompts(&self, event: &Event) -> bool {
        let [first, second] = self.prompts;
        event.key.0 < first.0 || (event.key.0 < second.0 && event.tenant != first.1)
    }

    /// Adds an event; keeps at most `room` tenants.
    pub(super) fn add(&mut self, event: &Event, room: usize) {
        if !event.key.1 && self.improves_prompts(event) {
            let new = (event.key.0, event.tenant);
            if new.1 == self.prompts[0].1 {
                self.prompts[0] = new;
            } else if new.0 < self.prompts[0].0 {
                self.prompts[1] = self.prompts[0];
                self.prompts[0] = new;
            } else {
                self.prompts[1] = new;
            }
        }
        if event.key >= self.floor {
            return;
        }
        let new = Occurrence {
            key: event.key,
            call: event.call,
        };
        if let Some(f) = self.firsts.iter_mut().find(|f| f.tenant == event.tenant) {
            if f.first.call == new.call {
                f.first.key = f.first.key.min(new.key);
            } else if new.key < f.first.key {
                f.other = f.first;
                f.first = new;
            } else if new.key < f.other.key {
                f.other = new;
            }
            return;
        }
        self.firsts.push(First {
            tenant: event.tenant,
            first: new,
            other: Occurrence {
                key: NEVER,
                call: u32::MAX,
            },
        });
        if self.firsts.len() > room {
            self.evict();
        }
    }

    fn evict(&mut self) {
        let last = (0..self.firsts.len())
            .max_by_key(|&i| (self.firsts[i].first.key, self.firsts[i].tenant));
        if let Some(last) = last {
            let gone = self.firsts.swap_remove(last);
            self.floor = self.floor.min(gone.first.key);
        }
    }
}

/// What is known of a window, seen from one judged text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// More room is needed.
    Undecided,
    /// It explains the tokens under it.
    Explained,
    /// It does not; these other tenants carry it independently (ascending).
    Carriers(Box<[u32]>),
}

/// A judged text, as far as cells are asked about it.
pub(super) struct Asker {
    pub tenant: u32,
    pub call: u32,
    pub t1: TimeMicros,
    pub from: TimeMicros,
    pub to: TimeMicros,
    pub max_tenants: usize,
}

/// Asks the cells of one window.
pub(super) fn ask(cells: &[Cell], asker: &Asker) -> Answer {
    let cells = &cells[cells.partition_point(|c| c.from < asker.from)..];
    let mut seen: HashSet<u32> = HashSet::new();
    let mut carriers: Vec<u32> = Vec::new();
    for cell in cells.iter().take_while(|c| c.from <= asker.to) {
        for f in &cell.firsts {
            // Answers of the own call explain nothing; its prompts were dealt with before.
            let at = if f.first.call == asker.call {
                f.other.key
            } else {
                f.first.key
            };
            if at >= cell.floor || at == NEVER || at.0 > asker.to || !seen.insert(f.tenant) {
                continue;
            }
            if f.tenant == asker.tenant {
                if at.0 <= asker.t1 && independent(cells, asker, f.tenant, at) {
                    return Answer::Explained;
                }
            } else if independent(cells, asker, f.tenant, at) {
                carriers.push(f.tenant);
                if carriers.len() > asker.max_tenants {
                    return Answer::Explained;
                }
            }
        }
        if cell.floor.0 <= asker.to && cell.floor != NEVER {
            return Answer::Undecided;
        }
    }
    carriers.sort_unstable();
    Answer::Carriers(carriers.into())
}

/// Whether a first occurrence owes nothing to another tenant's prompt.
fn independent(cells: &[Cell], asker: &Asker, tenant: u32, (_, answer, existed): Key) -> bool {
    let until = existed.min(asker.to);
    !answer
        || !cells.iter().take_while(|c| c.from <= until).any(|c| {
            c.prompts
                .iter()
                .any(|&(t, other)| other != tenant && other != u32::MAX && t <= until)
        })
}
