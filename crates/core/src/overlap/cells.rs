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

/// Tenants whose first prompts a cell keeps.
const PROMPTS: usize = 4;

/// A piece of the time line of one window.
pub(super) struct Cell {
    /// Where it begins.
    pub from: TimeMicros,
    firsts: Vec<First>,
    floor: Key,
    /// First prompts of the tenants that had one first; unused places are `NEVER`.
    prompts: [(TimeMicros, u32); PROMPTS],
    /// First prompt of a tenant that found no place among them.
    prompt_floor: TimeMicros,
}

impl Cell {
    pub(super) fn new(from: TimeMicros) -> Cell {
        Cell {
            from,
            firsts: Vec::new(),
            floor: NEVER,
            prompts: [(NEVER.0, u32::MAX); PROMPTS],
            prompt_floor: NEVER.0,
        }
    }

    /// Whether nothing was added.
    pub(super) fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// Whether an event would change the cell.
    pub(super) fn would_change(&self, event: &Event) -> bool {
        if self.improves_prompts(event) {
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
        let (time, answer, _) = event.key;
        !answer
            && time < self.prompt_floor
            && !self
                .prompts
                .iter()
                .any(|&(t, tenant)| tenant == event.tenant && t <= time)
    }

    fn add_prompt(&mut self, event: &Event) {
        let new = (event.key.0, event.tenant);
        let place = self.prompts.iter().position(|p| p.1 == event.tenant);
        let worst = (0..PROMPTS).max_by_key(|&p| self.prompts[p]).unwrap_or(0);
        match place {
            Some(place) => self.prompts[place] = new,
            None => {
                // The place of the last one, which is free while there is room.
                let gone = self.prompts[worst].max(new);
                self.prompts[worst] = self.prompts[worst].min(new);
                self.prompt_floor = self.prompt_floor.min(gone.0);
            }
        }
    }

    /// Adds an event; keeps at most `room` tenants.
    pub(super) fn add(&mut self, event: &Event, room: usize) {
        if self.improves_prompts(event) {
            self.add_prompt(event);
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
    /// The own tenant first met it in an answer that owed it to nobody: it explains the tokens
    /// under it that no [`Answer::Owed`] window holds. Other carriers as below.
    Answered(Box<[u32]>),
    /// The own tenant first met it in an answer, after another tenant's prompt. Other carriers as
    /// below.
    Owed(Box<[u32]>),
    /// The own tenant does not carry it; these other tenants do independently (ascending).
    Carriers(Box<[u32]>),
}

impl Answer {
    /// The other tenants that carry the window; `None` where that was not asked.
    pub(super) fn carriers(&self) -> Option<&[u32]> {
        match self {
            Answer::Undecided | Answer::Explained => None,
            Answer::Answered(c) | Answer::Owed(c) | Answer::Carriers(c) => Some(c),
        }
    }
}

/// A judged text, as far as cells are asked about it.
pub(super) struct Asker {
    pub tenant: u32,
    pub call: u32,
    /// Start of its request: what the tenant sends later may quote the answer as it streams in.
    pub t0: TimeMicros,
    pub from: TimeMicros,
    pub to: TimeMicros,
    pub max_tenants: usize,
}

/// Tenants met on the way through cells: a list while it is short.
#[derive(Default)]
struct Seen {
    list: Vec<u32>,
    set: HashSet<u32>,
}

impl Seen {
    fn holds(&self, tenant: u32) -> bool {
        self.list.contains(&tenant) || self.set.contains(&tenant)
    }

    /// `false` if it was there.
    fn add(&mut self, tenant: u32) -> bool {
        if self.list.contains(&tenant) {
            false
        } else if self.list.len() < 32 {
            self.list.push(tenant);
            true
        } else {
            self.set.insert(tenant)
        }
    }

    fn len(&self) -> usize {
        self.list.len() + self.set.len()
    }
}

/// The cells of one window that hold anything, in order of time.
pub(super) struct Line<'a> {
    cells: Vec<&'a Cell>,
    /// Number of tenants in all of them, where they have dropped none.
    tenants: usize,
}

impl<'a> Line<'a> {
    pub(super) fn new(cells: &'a [Cell]) -> Line<'a> {
        let cells: Vec<&Cell> = cells.iter().filter(|c| !c.is_empty()).collect();
        let mut seen = Seen::default();
        for first in cells.iter().flat_map(|c| &c.firsts) {
            seen.add(first.tenant);
        }
        let whole = cells.iter().all(|c| c.floor == NEVER);
        Line {
            tenants: if whole { seen.len() } else { usize::MAX },
            cells,
        }
    }

    /// What the window means for one judged text.
    pub(super) fn ask(&self, asker: &Asker) -> Answer {
        let cells = &self.cells[self.cells.partition_point(|c| c.from < asker.from)..];
        let mut seen = Seen::default();
        let mut carriers: Vec<u32> = Vec::new();
        let mut own: fn(Box<[u32]>) -> Answer = Answer::Carriers;
        for (at, cell) in cells.iter().enumerate() {
            if cell.from > asker.to || seen.len() >= self.tenants {
                break;
            }
            for f in &cell.firsts {
                // Answers of the own call explain nothing; its prompts were dealt with before.
                let at = if f.first.call == asker.call {
                    f.other.key
                } else {
                    f.first.key
                };
                if at >= cell.floor || at == NEVER || at.0 > asker.to || !seen.add(f.tenant) {
                    continue;
                }
                if f.tenant == asker.tenant {
                    if at.0 > asker.t0 {
                        continue;
                    }
                    own = match independent(cells, asker, f.tenant, at) {
                        true if !at.1 => return Answer::Explained,
                        true => Answer::Answered,
                        false => Answer::Owed,
                    };
                } else if independent(cells, asker, f.tenant, at) {
                    carriers.push(f.tenant);
                    if carriers.len() > asker.max_tenants {
                        return Answer::Explained;
                    }
                }
            }
            if cell.floor != NEVER && cell.floor.0 <= asker.to {
                if !seen.holds(asker.tenant) || !rest_owes(cells, at, asker, &seen) {
                    return Answer::Undecided;
                }
                break;
            }
        }
        carriers.sort_unstable();
        own(carriers.into())
    }
}

/// Whether no tenant that comes first at the floor of cell `at` or later can be independent: some
/// prompt was there before, so that their answers owe it, and none of them has a prompt.
fn rest_owes(cells: &[&Cell], at: usize, asker: &Asker, seen: &Seen) -> bool {
    let floor = cells[at].floor.0;
    let prompt_before = cells[..=at]
        .iter()
        .any(|c| c.prompts.iter().any(|p| p.1 != u32::MAX && p.0 <= floor));
    prompt_before
        && cells[at..]
            .iter()
            .take_while(|c| c.from <= asker.to)
            .all(|c| {
                c.prompt_floor > asker.to
                    && c.prompts
                        .iter()
                        .all(|&(t, tenant)| t > asker.to || seen.holds(tenant))
            })
}

/// Whether a first occurrence owes nothing to another tenant's prompt.
fn independent(cells: &[&Cell], asker: &Asker, tenant: u32, (_, answer, existed): Key) -> bool {
    let until = existed.min(asker.to);
    !answer
        || !cells.iter().take_while(|c| c.from <= until).any(|c| {
            c.prompts
                .iter()
                .any(|&(t, other)| other != tenant && other != u32::MAX && t <= until)
        })
}
