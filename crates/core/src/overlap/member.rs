//! A suspicious text and what is known of its windows, until that decides which of its tokens are
//! explained.

use super::active::{Active, heavy_segments};
use super::cells::{Answer, Asker};
use super::judged::Judged;
use super::windows::{NONE, Window, for_each};
use crate::text::Tokens;

/// A suspicious text whose windows are decided.
pub(super) struct Decided {
    /// Number of the judged text.
    pub text: u32,
    /// Tokens of its passages.
    pub tokens: Tokens,
    /// Which tokens are explained.
    pub explained: Vec<bool>,
    /// Windows over unexplained tokens, ascending, with the tenants that carry them.
    pub novel: Vec<(Window, Box<[u32]>)>,
}

/// A suspicious text in work.
pub(super) struct Member {
    pub active: Active,
    pub facts: Judged,
    /// Number of the window at each token.
    pub windows: Vec<u32>,
    /// Distinct windows, ascending, and what is known of them.
    pub distinct: Vec<u32>,
    pub answers: Vec<Answer>,
}

impl Member {
    pub(super) fn new(active: Active, facts: Judged, windows: Vec<u32>) -> Member {
        let mut distinct: Vec<u32> = windows.iter().copied().filter(|&w| w != NONE).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut answers = vec![Answer::Undecided; distinct.len()];
        for (at, window) in windows.iter().enumerate() {
            if active.own_window[at]
                && let Ok(place) = distinct.binary_search(window)
            {
                answers[place] = Answer::Explained;
            }
        }
        Member {
            active,
            facts,
            windows,
            distinct,
            answers,
        }
    }

    pub(super) fn asker(&self, max_tenants: usize) -> Asker {
        Asker {
            tenant: self.facts.tenant,
            call: self.facts.call,
            t0: self.facts.t0,
            from: self.facts.from,
            to: self.facts.to,
            max_tenants,
        }
    }

    fn answer(&self, token: u32) -> Option<&Answer> {
        let place = self.distinct.binary_search(&self.windows[token as usize]);
        place.ok().map(|p| &self.answers[p])
    }

    /// Visits once each token under a window of some kind.
    fn mark(&self, tokens: &Tokens, kind: impl Fn(&Answer) -> bool, mut each: impl FnMut(usize)) {
        let mut marked = 0;
        for_each(tokens, |w| {
            if self.answer(w.from).is_some_and(&kind) {
                ((w.from as usize).max(marked)..w.to as usize).for_each(&mut each);
                marked = w.to as usize;
            }
        });
    }

    pub(super) fn decide(mut self, store_weight: u32) -> Option<Decided> {
        let mut explained = std::mem::take(&mut self.active.own);
        let tokens = std::mem::take(&mut self.active.tokens);
        // What an answer brought from elsewhere stays foreign in the next answer, its edges too.
        let mut owed = vec![false; explained.len()];
        self.mark(
            &tokens,
            |a| matches!(a, Answer::Owed(_)),
            |t| owed[t] = true,
        );
        self.mark(
            &tokens,
            |a| matches!(a, Answer::Explained),
            |t| explained[t] = true,
        );
        self.mark(
            &tokens,
            |a| matches!(a, Answer::Answered(_)),
            |t| explained[t] |= !owed[t],
        );
        if heavy_segments(&tokens, &explained, store_weight).is_empty() {
            return None;
        }
        let mut novel = Vec::new();
        for_each(&tokens, |w| {
            if explained[w.from as usize..w.to as usize].iter().all(|e| *e) {
                return;
            }
            if let Some(carriers) = self.answer(w.from).and_then(Answer::carriers) {
                novel.push((w, carriers.into()));
            }
        });
        Some(Decided {
            text: self.active.text,
            tokens,
            explained,
            novel,
        })
    }
}
