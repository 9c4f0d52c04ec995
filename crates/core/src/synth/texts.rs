//! Prompts and answers of a call, made again from its seeds whenever they are needed.

use super::plan::{Call, Kind, Plan};
use super::prose::{fill, passage, stretch};
use super::rng::Rng;
use super::words::{Lang, SYSTEM_PROMPTS};

/// Bytes of the ends of a long prompt that are always made: enough for what any logger keeps.
const HEAD_BYTES: usize = 3_900;
const TAIL_BYTES: usize = 4_800;
/// Bytes of prompt text per ten tokens.
const BYTES_PER_TEN_TOKENS: i64 = 42;

/// The text of one turn.
pub(super) enum Body {
    /// All of it.
    Whole(String),
    /// A long prompt: its ends and the bytes between them.
    Long {
        head: String,
        middle: usize,
        tail: String,
    },
}

/// What the client sent.
pub(super) struct Prompt {
    /// System message.
    pub(super) system: Option<&'static str>,
    /// Role and text of the turns.
    pub(super) turns: Vec<(&'static str, Body)>,
}

impl Prompt {
    /// Prompt tokens by the length of the text.
    pub(super) fn tokens(&self) -> i64 {
        let turns: usize = self
            .turns
            .iter()
            .map(|(_, body)| match body {
                Body::Whole(text) => text.len(),
                Body::Long { head, middle, tail } => head.len() + middle + tail.len(),
            })
            .sum();
        let system = self.system.map_or(0, str::len);
        (turns + system) as i64 * 10 / BYTES_PER_TEN_TOKENS + 9
    }
}

/// The pasted text of a call: nobody else has it.
fn document(call: &Call) -> String {
    passage(&mut call.prompt_rng(1), call.lang, call.half_words)
}

/// A text that stands in public somewhere.
fn public(plan: &Plan, text: u64) -> String {
    let langs = [Lang::En, Lang::De, Lang::Es];
    let lang = langs[text as usize % langs.len()];
    passage(&mut Rng::new(plan.seed, 1_000 + text), lang, 150)
}

/// What the client sent.
pub(super) fn prompt(plan: &Plan, call: &Call) -> Prompt {
    let words = call.lang.vocabulary();
    let mut rng = call.prompt_rng(2);
    let ask = rng.pick(words.asks);
    let mut turns = Vec::new();
    if call.tokens > 0 {
        turns.push(("user", long(call, ask)));
    } else if let Kind::SecondHand(leak) = call.kind {
        let question = passage(&mut rng, call.lang, 24);
        turns.push(("user", Body::Whole(format!("{ask}: {question}"))));
        let answer = response(plan, &plan.calls[leak]);
        turns.push(("assistant", Body::Whole(answer)));
        let more = passage(&mut rng, call.lang, 30);
        turns.push(("user", Body::Whole(more)));
    } else {
        if rng.chance(15) {
            let earlier = passage(&mut rng, call.lang, 24);
            turns.push(("user", Body::Whole(earlier)));
            let answer = passage(&mut rng, call.lang, 40);
            turns.push(("assistant", Body::Whole(answer)));
        }
        let mut text = format!("{ask}:\n\n");
        if let Kind::PublicPaste(number) = call.kind {
            text.push_str(&public(plan, number));
            text.push_str("\n\n");
        }
        text.push_str(&document(call));
        turns.push(("user", Body::Whole(text)));
    }
    Prompt {
        system: call.system.map(|i| SYSTEM_PROMPTS[i]),
        turns,
    }
}

fn long(call: &Call, ask: &str) -> Body {
    let mut head = format!("{ask}:\n\n");
    fill(&mut call.prompt_rng(3), call.lang, HEAD_BYTES, &mut head);
    let mut tail = String::new();
    fill(&mut call.prompt_rng(5), call.lang, TAIL_BYTES, &mut tail);
    let all = (call.tokens * BYTES_PER_TEN_TOKENS / 10) as usize;
    Body::Long {
        middle: all.saturating_sub(head.len() + tail.len()),
        head,
        tail,
    }
}

/// The whole of a long prompt, in one buffer.
pub(super) fn in_full(call: &Call, head: &str, middle: usize, tail: &str) -> String {
    let mut out = String::with_capacity(head.len() + middle + tail.len() + 512);
    out.push_str(head);
    out.push('\n');
    fill(&mut call.prompt_rng(4), call.lang, middle, &mut out);
    out.push('\n');
    out.push_str(tail);
    out
}

/// The part of an answer that is nobody else's.
fn own_words(call: &Call) -> String {
    let mut rng = call.rng(10);
    let half_words = rng.size(70, 230) as u32;
    passage(&mut rng, call.lang, half_words)
}

/// The foreign text in a leaking answer, and its half-words.
pub(super) fn leaked(plan: &Plan, call: &Call) -> (String, u32) {
    let Kind::Leak(leak) = call.kind else {
        return (String::new(), 0);
    };
    let source = &plan.calls[leak.source];
    let text = if leak.from_response {
        own_words(source)
    } else {
        document(source)
    };
    let (span, weight) = stretch(&mut call.rng(11), &text, leak.half_words);
    (span.to_owned(), weight)
}

/// What the client got; empty for a refusal.
pub(super) fn response(plan: &Plan, call: &Call) -> String {
    let words = call.lang.vocabulary();
    let mut rng = call.rng(12);
    let opening = rng.pick(words.openings);
    let colon = if words.gap.is_empty() { "" } else { ": " };
    let start = format!("{opening}{colon}");
    let quote_length = rng.size(40, 110) as u32;
    let quoted = match call.kind {
        Kind::Refused => return String::new(),
        Kind::Again(of, _) => return response(plan, &plan.calls[of]),
        Kind::Leak(leak) => {
            let (span, _) = leaked(plan, call);
            let before = passage(&mut rng, call.lang, 36);
            let after = passage(&mut rng, call.lang, 44);
            return match leak.blend {
                0 => format!("{start}{before}\n\n{span}\n\n{after}"),
                1 => span,
                _ => format!("{start}{before} {span}"),
            };
        }
        Kind::OverLimit | Kind::NearLimit | Kind::AfterFix => None,
        Kind::SecondHand(leak) => {
            let (span, _) = leaked(plan, &plan.calls[leak]);
            Some(stretch(&mut rng, &span, quote_length).0.to_owned())
        }
        Kind::SystemQuote(system) => Some(SYSTEM_PROMPTS[system].to_owned()),
        Kind::PublicQuote(text) => Some(
            stretch(&mut rng, &public(plan, text), quote_length)
                .0
                .to_owned(),
        ),
        Kind::Memory(of) => {
            let text = document(&plan.calls[of]);
            Some(stretch(&mut rng, &text, quote_length).0.to_owned())
        }
        Kind::OwnQuote => Some(
            stretch(&mut rng, &document(call), quote_length)
                .0
                .to_owned(),
        ),
        Kind::Ordinary | Kind::PublicPaste(_) => rng.chance(30).then(|| {
            stretch(&mut rng, &document(call), quote_length)
                .0
                .to_owned()
        }),
    };
    let own = own_words(call);
    match quoted {
        Some(text) => format!("{start}{own}\n\n> {text}"),
        None => format!("{start}{own}"),
    }
}
