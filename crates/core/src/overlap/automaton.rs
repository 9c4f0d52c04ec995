//! A suffix automaton over the tokens of one text: finds the longest run that ends at each token of
//! another text in time linear in both, also where both are one word repeated.

use super::windows::ByHash;
use crate::text::Tokens;
use hashbrown::HashMap;

const NONE: u32 = u32::MAX;

/// The state of the empty run.
pub(super) const ROOT: u32 = 0;

struct State {
    length: u32,
    link: u32,
    first_edge: u32,
}

struct Edge {
    token: u32,
    to: u32,
    next: u32,
}

/// The automaton of one text.
pub(super) struct Automaton {
    states: Vec<State>,
    edges: Vec<Edge>,
    by_token: HashMap<(u32, u32), u32>,
    ids: ByHash<u32>,
    /// Per token number: a token that it stands for, and another number of equal hash.
    standing: Vec<(u32, u32)>,
    /// State of the run that ends with each token and is as long as possible.
    ends: Vec<u32>,
    /// Per state the places of the text at which its runs end.
    counts: Vec<u32>,
    /// States but the root, by length.
    by_length: Vec<u32>,
}

impl Automaton {
    /// Bytes it needs for each token, about.
    pub(super) const BYTES_EACH: usize = 240;

    /// The automaton of a text; no run crosses a barrier.
    pub(super) fn new(tokens: &Tokens) -> Automaton {
        let mut out = Automaton {
            states: vec![State {
                length: 0,
                link: NONE,
                first_edge: NONE,
            }],
            edges: Vec::new(),
            by_token: HashMap::new(),
            ids: ByHash::default(),
            standing: Vec::new(),
            ends: Vec::with_capacity(tokens.len()),
            counts: Vec::new(),
            by_length: Vec::new(),
        };
        let mut last = ROOT;
        // Numbers of barriers count down from the top: no token has them.
        let mut sentinel = NONE;
        for pair in tokens.barriers.windows(2) {
            for at in pair[0].at as usize..pair[1].at as usize {
                let id = out.number(tokens, at);
                last = out.extend(last, id);
                out.ends.push(last);
            }
            sentinel -= 1;
            last = out.extend(last, sentinel);
        }
        out.count();
        out
    }

    fn count(&mut self) {
        let mut by_length: Vec<u32> = (1..self.states.len() as u32).collect();
        by_length.sort_unstable_by_key(|&s| self.length(s));
        self.counts = vec![0; self.states.len()];
        for &end in &self.ends {
            self.counts[end as usize] += 1;
        }
        for &state in by_length.iter().rev() {
            let link = self.link(state) as usize;
            self.counts[link] += self.counts[state as usize];
        }
        self.by_length = by_length;
    }

    fn number(&mut self, tokens: &Tokens, at: usize) -> u32 {
        let found = self.find(tokens, tokens, at);
        if found != NONE {
            return found;
        }
        let id = self.standing.len() as u32;
        let next = self.ids.insert(tokens.hash[at], id).unwrap_or(NONE);
        self.standing.push((at as u32, next));
        id
    }

    /// The number of a token of another text; without an equal one, a number that nothing has.
    pub(super) fn find(&self, tokens: &Tokens, other: &Tokens, at: usize) -> u32 {
        let mut id = self.ids.get(&other.hash[at]).copied().unwrap_or(NONE);
        while id != NONE {
            let (standing, next) = self.standing[id as usize];
            if tokens.folded(standing as usize) == other.folded(at) {
                break;
            }
            id = next;
        }
        id
    }

    fn edge(&self, state: u32, token: u32) -> Option<u32> {
        self.by_token.get(&(state, token)).copied()
    }

    fn add_edge(&mut self, state: u32, token: u32, to: u32) {
        let edge = self.edges.len() as u32;
        let next = std::mem::replace(&mut self.states[state as usize].first_edge, edge);
        self.edges.push(Edge { token, to, next });
        self.by_token.insert((state, token), edge);
    }

    fn add_state(&mut self, length: u32, link: u32) -> u32 {
        self.states.push(State {
            length,
            link,
            first_edge: NONE,
        });
        self.states.len() as u32 - 1
    }

    fn extend(&mut self, last: u32, token: u32) -> u32 {
        let new = self.add_state(self.length(last) + 1, ROOT);
        let mut from = last;
        while from != NONE && self.edge(from, token).is_none() {
            self.add_edge(from, token, new);
            from = self.link(from);
        }
        let Some(edge) = (from != NONE).then(|| self.edge(from, token)).flatten() else {
            return new;
        };
        let target = self.edges[edge as usize].to;
        if self.length(from) + 1 == self.length(target) {
            self.states[new as usize].link = target;
            return new;
        }
        let clone = self.add_state(self.length(from) + 1, self.link(target));
        let mut copy = self.states[target as usize].first_edge;
        while copy != NONE {
            let Edge { token, to, next } = self.edges[copy as usize];
            self.add_edge(clone, token, to);
            copy = next;
        }
        while from != NONE {
            match self.edge(from, token) {
                Some(edge) if self.edges[edge as usize].to == target => {
                    self.edges[edge as usize].to = clone;
                    from = self.link(from);
                }
                _ => break,
            }
        }
        self.states[target as usize].link = clone;
        self.states[new as usize].link = clone;
        new
    }

    /// Length of the longest run of a state.
    pub(super) fn length(&self, state: u32) -> u32 {
        self.states[state as usize].length
    }

    /// The state of the longest suffix that is of another state.
    pub(super) fn link(&self, state: u32) -> u32 {
        self.states[state as usize].link
    }

    /// Number of states.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// State of the longest run that ends with each token of the text.
    pub(super) fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// States but the root, shorter ones first.
    pub(super) fn by_length(&self) -> &[u32] {
        &self.by_length
    }

    /// Reads one token, by its number, of another text: from the state and length of the run that
    /// ended before it to those of the longest run that ends with it.
    pub(super) fn step(&self, (mut state, mut length): (u32, u32), id: u32) -> (u32, u32) {
        if id == NONE {
            return (ROOT, 0);
        }
        loop {
            if let Some(edge) = self.edge(state, id) {
                return (self.edges[edge as usize].to, length + 1);
            }
            if state == ROOT {
                return (ROOT, 0);
            }
            state = self.link(state);
            length = self.length(state);
        }
    }

    /// Whether a token follows the runs of a state at every place of the text.
    pub(super) fn always_followed_by(&self, state: u32, id: u32) -> bool {
        self.edge(state, id).is_some_and(|edge| {
            let to = self.edges[edge as usize].to;
            self.counts[to as usize] == self.counts[state as usize]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::FieldText;
    use proptest::prelude::*;

    fn tokens(text: &str) -> Tokens {
        let mut out = Tokens::default();
        crate::text::tokenize(&FieldText::of(text), &mut out);
        out
    }

    proptest! {
        #[test]
        fn finds_the_longest_run_at_each_token(a in "[abc]{0,30}", b in "[abcd]{0,30}") {
            let spaced = |s: &str| s.chars().map(|c| format!("{c} ")).collect::<String>();
            let (a_tokens, b_tokens) = (tokens(&spaced(&a)), tokens(&spaced(&b)));
            let automaton = Automaton::new(&a_tokens);
            let mut at = (ROOT, 0);
            for end in 0..b.len() {
                at = automaton.step(at, automaton.find(&a_tokens, &b_tokens, end));
                let longest = (0..=end + 1).find(|&from| a.contains(&b[from..=end])).unwrap();
                prop_assert_eq!(at.1 as usize, end + 1 - longest);
                prop_assert!(at.1 <= automaton.length(at.0));
                prop_assert!(at.0 == ROOT || at.1 > automaton.length(automaton.link(at.0)));
            }
        }
    }
}
