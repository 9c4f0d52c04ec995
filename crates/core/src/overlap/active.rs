//! The passages of a judged text that another tenant's text may hold, with their surroundings.

use super::discover::Passage;
use super::windows::{Scanner, WindowIndex, for_each};
use crate::text::Tokens;

/// The suspicious passages of one judged text: each between two barriers.
pub(super) struct Active {
    /// Number of the judged text.
    pub text: u32,
    /// Tokens of the passages; positions are those of the whole text.
    pub tokens: Tokens,
    /// Tokens that the prompt of the same record explains.
    pub own: Vec<bool>,
    /// Windows, by first token, that stand in the prompt of the same record.
    pub own_window: Vec<bool>,
}

impl Active {
    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.tokens.bytes() + self.own.capacity() + self.own_window.capacity()
    }
}

/// Takes the passages of a text; `None` if the own prompt leaves too little of them unexplained.
pub(super) fn activate(
    text: u32,
    tokens: &Tokens,
    passages: &[Passage],
    store_weight: u32,
    prompt: Option<&Tokens>,
    scanner: &mut Scanner,
) -> Option<Active> {
    let mut kept = Tokens::default();
    for &(from, to) in passages {
        let end = tokens.len() as u32;
        kept.push_range(tokens, from.min(end) as usize, to.min(end) as usize);
    }
    let mut active = Active {
        text,
        own: vec![false; kept.len()],
        own_window: vec![false; kept.len()],
        tokens: kept,
    };
    if let Some(prompt) = prompt {
        mark_own(&mut active, prompt, scanner);
    }
    prune(active, store_weight)
}

fn mark_own(active: &mut Active, prompt: &Tokens, scanner: &mut Scanner) {
    let tokens = &active.tokens;
    let mut index = WindowIndex::new(tokens.len());
    let mut ids = Vec::with_capacity(tokens.len());
    for_each(tokens, |w| {
        ids.push((w, index.insert(|_| tokens, 0, &w)));
    });
    let mut stands = vec![false; index.len()];
    index.each_known(
        |_| tokens,
        prompt,
        scanner,
        |_, id| stands[id as usize] = true,
    );
    // Windows come in order of both ends, so each token is marked once.
    let mut marked = 0;
    for (w, id) in ids {
        if stands[id as usize] {
            let (from, to) = (w.from as usize, w.to as usize);
            active.own_window[from] = true;
            active.own[from.max(marked)..to].fill(true);
            marked = to;
        }
    }
}

/// Drops passages whose unexplained part is too small for any row.
fn prune(active: Active, store_weight: u32) -> Option<Active> {
    let mut out = Active {
        text: active.text,
        tokens: Tokens::default(),
        own: Vec::new(),
        own_window: Vec::new(),
    };
    for (from, to) in heavy_segments(&active.tokens, &active.own, store_weight) {
        out.tokens.push_range(&active.tokens, from, to);
        out.own.extend_from_slice(&active.own[from..to]);
        out.own_window
            .extend_from_slice(&active.own_window[from..to]);
    }
    if out.tokens.is_empty() {
        return None;
    }
    out.tokens.shrink();
    Some(out)
}

/// The segments between barriers whose unexplained tokens weigh enough for a row.
pub(super) fn heavy_segments(
    tokens: &Tokens,
    explained: &[bool],
    store_weight: u32,
) -> Vec<(usize, usize)> {
    tokens
        .barriers
        .windows(2)
        .map(|pair| (pair[0].at as usize, pair[1].at as usize))
        .filter(|&(from, to)| {
            let novel: u32 = (from..to)
                .filter(|&t| !explained[t])
                .map(|t| u32::from(tokens.weight[t]))
                .sum();
            novel >= store_weight
        })
        .collect()
}
