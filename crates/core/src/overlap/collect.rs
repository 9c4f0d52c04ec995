//! Collects who held the windows of suspicious passages, and decides which tokens that explains.

use super::active::Active;
use super::cells::{Answer, Cell, Event, Line, TENANT_BYTES};
use super::judged::Judged;
use super::member::{Decided, Member};
use super::prefilter::{Places, Prefilter};
use super::types::{Field, Settings, Subject, WINDOW_WEIGHT, existed};
use super::view::TextView;
use super::windows::{NONE, Scanner, WindowIndex, for_each};
use crate::text::Tokens;
use hashbrown::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// Owner of a window that suspicious texts of more than one tenant hold.
const SEVERAL: u32 = u32::MAX;

/// Estimated bytes of a cell while few tenants hold its window.
const CELL_BYTES: usize = 300;

/// What scanning finds for this step.
#[derive(Default)]
pub(super) struct CollectPart {
    events: Vec<Event>,
    /// Judged text (by its place in the step) and window that stands in a prompt of its call.
    own: Vec<(u32, u32)>,
    /// Exchanges that hold any window, and those that may hold a run long enough for a row.
    holders: Vec<u32>,
    sources: Vec<u32>,
    scanner: Scanner,
    places: Places,
}

/// The step for one group of suspicious texts.
pub(super) struct Collect {
    members: Vec<Member>,
    by_call: HashMap<u32, Vec<u32>>,
    index: WindowIndex,
    /// Where there are few windows: what shows that a text holds none.
    prefilter: Option<Prefilter>,
    /// Per window its first cell; one more at the end.
    first_cell: Vec<u32>,
    cells: Vec<Cell>,
    /// Per window the tenant of the texts that hold it, or [`SEVERAL`].
    owners: Vec<u32>,
    /// Per window the last time that counts for any text.
    last: Vec<i64>,
    /// Per window the exchanges that hold it, once it is known.
    held: Vec<AtomicU32>,
    /// Windows that this pass collects.
    open: Vec<bool>,
    /// Windows still to collect with the present room, and those that need more.
    queue: Vec<u32>,
    again: Vec<u32>,
    room: usize,
    first_round: bool,
    budget: usize,
    max_tenants: usize,
    /// First and last time that counts for any text.
    range: (i64, i64),
    /// Exchanges that hold any window, by number, and those that may hold a run that makes a row.
    holders: Vec<bool>,
    sources: Vec<bool>,
    /// Windows one behind another in the least such run.
    least_run: u32,
}

impl Collect {
    pub(super) fn new(
        active: Vec<Active>,
        judged: &[Judged],
        exchanges: usize,
        settings: &Settings,
        (budget, room, few): (usize, usize, usize),
    ) -> Collect {
        let tokens: usize = active.iter().map(|a| a.tokens.len()).sum();
        let mut index = WindowIndex::new(tokens);
        let mut windows: Vec<Vec<u32>> = Vec::with_capacity(active.len());
        for (at, a) in active.iter().enumerate() {
            let mut ids = vec![NONE; a.tokens.len()];
            for_each(&a.tokens, |w| {
                let text = |t: u32| &active[t as usize].tokens;
                ids[w.from as usize] = index.insert(text, at as u32, &w);
            });
            windows.push(ids);
        }
        let prefilter =
            (index.len() <= few).then(|| Prefilter::new(active.iter().map(|a| &a.tokens), tokens));
        let mut by_call: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut range = (i64::MAX, i64::MIN);
        let mut members = Vec::with_capacity(active.len());
        for (active, windows) in active.into_iter().zip(windows) {
            let facts = judged[active.text as usize];
            range = (range.0.min(facts.from), range.1.max(facts.to));
            by_call
                .entry(facts.call)
                .or_default()
                .push(members.len() as u32);
            members.push(Member::new(active, facts, windows));
        }
        let mut out = Collect {
            members,
            by_call,
            first_cell: Vec::new(),
            cells: Vec::new(),
            owners: Vec::new(),
            last: vec![i64::MIN; index.len()],
            held: (0..index.len()).map(|_| AtomicU32::new(0)).collect(),
            open: vec![false; index.len()],
            index,
            prefilter,
            queue: Vec::new(),
            again: Vec::new(),
            room,
            first_round: true,
            budget,
            max_tenants: settings.max_tenants as usize,
            range,
            holders: vec![false; exchanges],
            sources: vec![false; exchanges],
            least_run: least_run(settings.store_weight),
        };
        out.note_owners();
        out.cut_cells();
        out.open_next();
        out
    }

    fn note_owners(&mut self) {
        let mut owners = vec![None; self.index.len()];
        for m in &self.members {
            for &window in &m.distinct {
                let owner = &mut owners[window as usize];
                *owner = match *owner {
                    None => Some(m.facts.tenant),
                    Some(known) if known == m.facts.tenant => Some(known),
                    Some(_) => Some(SEVERAL),
                };
            }
        }
        self.owners = owners.into_iter().map(|o| o.unwrap_or(SEVERAL)).collect();
    }

    fn cut_cells(&mut self) {
        let mut cuts: Vec<(u32, i64)> = Vec::new();
        for m in &self.members {
            for (&window, answer) in m.distinct.iter().zip(&m.answers) {
                if *answer == Answer::Undecided {
                    cuts.push((window, m.facts.from));
                    let last = &mut self.last[window as usize];
                    *last = m.facts.to.max(*last);
                }
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        let mut cuts = cuts.into_iter().peekable();
        for window in 0..self.index.len() as u32 {
            self.first_cell.push(self.cells.len() as u32);
            while let Some((_, from)) = cuts.next_if(|c| c.0 == window) {
                self.cells.push(Cell::new(from));
            }
            if self.first_cell.last().copied() != Some(self.cells.len() as u32) {
                self.queue.push(window);
            }
        }
        self.first_cell.push(self.cells.len() as u32);
    }

    fn cells_of(&self, window: u32) -> std::ops::Range<usize> {
        let at = window as usize;
        self.first_cell[at] as usize..self.first_cell[at + 1] as usize
    }

    /// Opens as many windows as the budget allows; `false` if none is left.
    fn open_next(&mut self) -> bool {
        if self.queue.is_empty() {
            self.queue = std::mem::take(&mut self.again);
            self.room = self.room.saturating_mul(16);
        }
        let each = if self.first_round {
            CELL_BYTES
        } else {
            self.room.saturating_mul(TENANT_BYTES)
        };
        let mut used = 0usize;
        let mut count = 0;
        for &window in &self.queue {
            let cells = self.cells_of(window).len();
            let most = match self.held[window as usize].load(Ordering::Relaxed) {
                0 => usize::MAX,
                held => (held as usize).saturating_mul(TENANT_BYTES),
            };
            used = used.saturating_add(cells.saturating_mul(each).min(most));
            if count > 0 && used > self.budget {
                break;
            }
            count += 1;
            self.open[window as usize] = true;
        }
        self.queue.drain(..count);
        count > 0
    }

    /// Whether the pass needs an exchange.
    pub(super) fn wants(&self, exchange: u32, subject: &Subject) -> bool {
        if self.first_round {
            self.carries(subject) || self.by_call.contains_key(&subject.call)
        } else {
            self.holders[exchange as usize] && self.carries(subject)
        }
    }

    fn carries(&self, subject: &Subject) -> bool {
        let (from, to) = self.range;
        subject.tenant.is_some() && subject.t_start.is_some_and(|t| from <= t && t <= to)
    }

    pub(super) fn scan(
        &self,
        exchange: u32,
        subject: &Subject,
        texts: &mut TextView<'_>,
        out: &mut CollectPart,
    ) {
        let mut prompt = Vec::new();
        let tenant = subject.tenant;
        let mut long = self.windows_in(texts, (Field::Prompt, tenant), out, &mut prompt);
        if self.first_round {
            for &at in self.by_call.get(&subject.call).into_iter().flatten() {
                let distinct = &self.members[at as usize].distinct;
                let held = prompt.iter().filter(|w| distinct.binary_search(w).is_ok());
                out.own.extend(held.map(|&w| (at, w)));
            }
        }
        if !self.carries(subject) {
            return;
        }
        let mut answer = Vec::new();
        for field in Field::ANSWERS {
            long |= self.windows_in(texts, (field, tenant), out, &mut answer);
        }
        if !prompt.is_empty() || !answer.is_empty() {
            out.holders.push(exchange);
        }
        if long {
            out.sources.push(exchange);
        }
        answer.retain(|w| prompt.binary_search(w).is_err());
        if self.first_round {
            for &window in prompt.iter().chain(&answer) {
                self.held[window as usize].fetch_add(1, Ordering::Relaxed);
            }
        }
        let (Some(tenant), Some(start)) = (subject.tenant, subject.t_start) else {
            return;
        };
        let prompts = prompt.iter().map(|&w| (w, (start, false, start)));
        let ends = (start, true, existed(subject, start));
        for (window, key) in prompts.chain(answer.iter().map(|&w| (w, ends))) {
            let event = Event {
                window,
                tenant,
                call: subject.call,
                key,
            };
            if self
                .cell_at(&event)
                .is_some_and(|c| self.cells[c].would_change(&event))
            {
                out.events.push(event);
            }
        }
    }

    /// Adds the known windows of a tenant's text; leaves the list ascending and without repeats.
    /// Whether a run of them may be long enough for a row: all of its windows then stand in a text
    /// of another tenant.
    fn windows_in(
        &self,
        texts: &mut TextView<'_>,
        (field, tenant): (Field, Option<u32>),
        part: &mut CollectPart,
        out: &mut Vec<u32>,
    ) -> bool {
        let member = |t: u32| &self.members[t as usize].active.tokens;
        let scanner = &mut part.scanner;
        let mut long = false;
        let mut look = |tokens: &Tokens| {
            let (mut next, mut run) = (NONE, 0);
            self.index
                .each_known(member, tokens, scanner, |window, id| {
                    if tenant != Some(self.owners[id as usize]) {
                        run = if window.from == next { run + 1 } else { 1 };
                        next = window.from + 1;
                    }
                    long |= run >= self.least_run;
                    if out.last() != Some(&id) {
                        out.push(id);
                    }
                });
        };
        match (&self.prefilter, texts.fields().get(field).0) {
            // Tokens that others have made need not be looked for.
            (Some(prefilter), Some(text)) if texts.loaded(field).is_none() => {
                prefilter.each_place(text, &mut part.places, look);
            }
            _ => {
                if let Some(tokens) = texts.tokens(field) {
                    look(tokens);
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        long
    }

    /// The cell that an event falls into, if its window is collected.
    fn cell_at(&self, event: &Event) -> Option<usize> {
        let time = event.key.0;
        if !self.open[event.window as usize] || time > self.last[event.window as usize] {
            return None;
        }
        let range = self.cells_of(event.window);
        let cells = &self.cells[range.clone()];
        let at = cells.partition_point(|c| c.from <= time);
        (at > 0).then(|| range.start + at - 1)
    }

    pub(super) fn absorb(&mut self, part: CollectPart) {
        for event in &part.events {
            if let Some(cell) = self.cell_at(event) {
                self.cells[cell].add(event, self.room);
            }
        }
        for (at, window) in part.own {
            let member = &mut self.members[at as usize];
            if let Ok(place) = member.distinct.binary_search(&window) {
                member.answers[place] = Answer::Explained;
            }
        }
        for exchange in part.holders {
            self.holders[exchange as usize] = true;
        }
        for exchange in part.sources {
            self.sources[exchange as usize] = true;
        }
    }

    /// Decides what can be decided; `true` if another pass is needed.
    pub(super) fn end_pass(&mut self) -> bool {
        let mut questions: Vec<(u32, u32, u32)> = Vec::new();
        for (member, m) in self.members.iter().enumerate() {
            for (place, window) in m.distinct.iter().enumerate() {
                if m.answers[place] == Answer::Undecided && self.open[*window as usize] {
                    questions.push((*window, member as u32, place as u32));
                }
            }
        }
        questions.sort_unstable();
        let mut undecided = vec![false; self.open.len()];
        for group in questions.chunk_by(|a, b| a.0 == b.0) {
            let window = group[0].0;
            let line = Line::new(&self.cells[self.cells_of(window)]);
            for &(_, member, place) in group {
                let m = &mut self.members[member as usize];
                let answer = line.ask(&m.asker(self.max_tenants));
                undecided[window as usize] |= answer == Answer::Undecided;
                m.answers[place as usize] = answer;
            }
        }
        for (window, undecided) in undecided.into_iter().enumerate() {
            if std::mem::take(&mut self.open[window]) {
                for cell in self.cells_of(window as u32) {
                    self.cells[cell] = Cell::new(self.cells[cell].from);
                }
                if undecided {
                    self.again.push(window as u32);
                }
            }
        }
        self.first_round = false;
        self.open_next()
    }

    /// The texts that keep enough unexplained tokens for a row, and the exchanges that may hold
    /// their sources.
    pub(super) fn finish(self, store_weight: u32) -> (Vec<Decided>, Vec<bool>) {
        let decided = self
            .members
            .into_iter()
            .filter_map(|m| m.decide(store_weight))
            .collect();
        (decided, self.sources)
    }
}

/// Windows one behind another in a run of some weight, at least: the first weighs 13 half-words at
/// most, each further token 2.
fn least_run(weight: u32) -> u32 {
    1 + weight.saturating_sub(WINDOW_WEIGHT + 1).div_ceil(2)
}
