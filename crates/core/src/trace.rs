//! Whose text is this: runs of tokens that a text shares with a snippet.

use crate::exchange::FieldText;
use crate::overlap::WINDOW_WEIGHT;
use crate::overlap::windows::{equal, for_each};
use crate::text::{Tokens, tokenize};
use hashbrown::HashMap;

/// Places of the snippet kept for one window. A snippet that repeats itself more often gives the
/// same runs from its first places, and a hostile one costs no more than this.
const PLACES: usize = 32;

/// A snippet to look for.
pub struct Trace {
    snippet: Tokens,
    places: HashMap<u64, Vec<u32>>,
    least_weight: u32,
}

/// A run that a text shares with the snippet; positions are bytes of the decoded texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRun {
    /// First byte in the text.
    pub start: u32,
    /// One past the last byte in the text.
    pub end: u32,
    /// First byte in the snippet.
    pub snippet_start: u32,
    /// One past the last byte in the snippet.
    pub snippet_end: u32,
    /// Tokens of the run.
    pub tokens: u32,
}

impl Trace {
    /// Looks for runs of at least `least_words` words (2 characters of CJK or Thai count as one;
    /// never fewer than 6 words). `None` if the snippet is shorter than that.
    pub fn new(snippet: &FieldText, least_words: u32) -> Option<Trace> {
        let mut tokens = Tokens::default();
        tokenize(snippet, &mut tokens);
        let least_weight = least_words.saturating_mul(2).max(WINDOW_WEIGHT);
        let mut places: HashMap<u64, Vec<u32>> = HashMap::new();
        for_each(&tokens, |window| {
            let list = places.entry(window.hash).or_default();
            if list.len() < PLACES {
                list.push(window.from);
            }
        });
        let total: u32 = tokens.weight.iter().map(|&w| u32::from(w)).sum();
        (total >= least_weight && !places.is_empty()).then_some(Trace {
            snippet: tokens,
            places,
            least_weight,
        })
    }

    /// Tokens of the snippet.
    pub fn tokens(&self) -> usize {
        self.snippet.len()
    }

    /// Appends the maximal runs of a text, none inside another, by their place in it.
    pub fn runs(&self, text: &Tokens, out: &mut Vec<TraceRun>) {
        // One past the last token of the furthest run, and the diagonal it lies on.
        let mut reached = 0usize;
        for_each(text, |window| {
            let from = window.from as usize;
            let Some(places) = self.places.get(&window.hash) else {
                return;
            };
            let ends = text.barriers.partition_point(|b| b.at as usize <= from);
            let end = text
                .barriers
                .get(ends)
                .map_or(text.len(), |b| b.at as usize);
            let mut best = (0usize, 0usize);
            for &place in places {
                let place = place as usize;
                // The run began at an earlier token of both.
                let inside = from > 0
                    && place > 0
                    && reached > from
                    && self.snippet.folded(place - 1) == text.folded(from - 1);
                if inside {
                    continue;
                }
                let length = self.length(text, (from, end), place);
                if length > best.0 {
                    best = (length, place);
                }
            }
            let (length, place) = best;
            if from + length <= reached || self.weight(place, length) < self.least_weight {
                return;
            }
            reached = from + length;
            out.push(TraceRun {
                start: text.start[from],
                end: text.end[from + length - 1],
                snippet_start: self.snippet.start[place],
                snippet_end: self.snippet.end[place + length - 1],
                tokens: length as u32,
            });
        });
    }

    /// Tokens that agree from a place of the text and one of the snippet on.
    fn length(&self, text: &Tokens, (from, end): (usize, usize), place: usize) -> usize {
        let next = self
            .snippet
            .barriers
            .partition_point(|b| b.at as usize <= place);
        let last = self
            .snippet
            .barriers
            .get(next)
            .map_or(self.snippet.len(), |b| b.at as usize);
        let most = (end - from).min(last - place);
        (0..most)
            .take_while(|&k| {
                self.snippet.hash[place + k] == text.hash[from + k]
                    && equal(&self.snippet, place + k, text, from + k, 1)
            })
            .count()
    }

    fn weight(&self, place: usize, length: usize) -> u32 {
        self.snippet.weight[place..place + length]
            .iter()
            .map(|&w| u32::from(w))
            .sum()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test it says where it failed")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(snippet: &str, text: &str, least: u32) -> Vec<TraceRun> {
        let trace = Trace::new(&FieldText::of(snippet), least).unwrap();
        let mut tokens = Tokens::default();
        tokenize(&FieldText::of(text), &mut tokens);
        let mut out = Vec::new();
        trace.runs(&tokens, &mut out);
        out
    }

    #[test]
    fn runs_are_found_whatever_the_case_and_spacing() {
        let snippet = "the Red fox jumps over one lazy dog today";
        for (text, tokens) in [
            ("x the red FOX  jumps\nover one lazy dog today y", Some(9)),
            ("red fox jumps over one lazy dog today", Some(8)),
            ("fox jumps over one lazy dog today", None),
            ("the red fox jumps over two lazy dogs today", None),
        ] {
            let found = runs(snippet, text, 8);
            assert_eq!(found.first().map(|r| r.tokens), tokens, "{text}");
        }
        let found = runs(snippet, "ab the red fox jumps over one lazy dog", 8);
        assert_eq!((found[0].start, found[0].end), (3, 38));
        assert_eq!((found[0].snippet_start, found[0].snippet_end), (0, 35));
    }

    #[test]
    fn characters_without_spaces_count_half() {
        let snippet = "株式会社の契約は来月末日に終わります";
        assert_eq!(runs(snippet, snippet, 8).len(), 1);
        assert!(Trace::new(&FieldText::of("株式会社の契約"), 8).is_none());
    }

    #[test]
    fn one_repeated_word_gives_one_run() {
        let word = "ha ".repeat(5_000);
        let found = runs(&word, &word, 8);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].tokens, 5_000);
    }

    /// All maximal runs by comparing every pair of places, those inside another dropped.
    fn naive(snippet: &Tokens, text: &Tokens, least: u32) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for i in 0..text.len() {
            for j in 0..snippet.len() {
                let same = |i: usize, j: usize| snippet.folded(j) == text.folded(i);
                if i > 0 && j > 0 && same(i - 1, j - 1) {
                    continue;
                }
                let most = (text.len() - i).min(snippet.len() - j);
                let length = (0..most).take_while(|&k| same(i + k, j + k)).count();
                if 2 * length as u32 >= 2 * least && length > 0 {
                    all.push((text.start[i], text.end[i + length - 1]));
                }
            }
        }
        all.sort_by_key(|&(s, e)| (s, std::cmp::Reverse(e)));
        let mut kept: Vec<(u32, u32)> = Vec::new();
        for (s, e) in all {
            if kept.last().is_none_or(|last| e > last.1) {
                kept.push((s, e));
            }
        }
        kept
    }

    proptest! {
        #[test]
        fn equals_the_naive_search(
            snippet in prop::collection::vec(0u8..3, 8..30),
            text in prop::collection::vec(0u8..3, 0..60),
        ) {
            let join = |v: &[u8]| {
                v.iter().map(|w| ["aa", "bb", "cc"][*w as usize]).collect::<Vec<_>>().join(" ")
            };
            let (snippet, text) = (join(&snippet), join(&text));
            let found: Vec<(u32, u32)> =
                runs(&snippet, &text, 8).iter().map(|r| (r.start, r.end)).collect();
            let (mut a, mut b) = (Tokens::default(), Tokens::default());
            tokenize(&FieldText::of(snippet), &mut a);
            tokenize(&FieldText::of(text), &mut b);
            prop_assert_eq!(found, naive(&a, &b, 8));
        }
    }
}
