//! The languages of the generated traffic and what they are made of.
//!
//! In a pattern `{n}` is a noun, `{a}` an adjective, `{v}` a verb, `{x}` an invented name, `{#}` a
//! number and `{c}` a code. Names, numbers and codes stand at most a few words apart, so that two
//! texts of different tenants never share eight words by chance.

use super::words_east::{JA, KO, TH, ZH};
use super::words_west::{DE, EN, ES, FR, RU};

/// A language of the generated traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lang {
    /// English.
    En,
    /// German.
    De,
    /// French.
    Fr,
    /// Spanish.
    Es,
    /// Chinese.
    Zh,
    /// Japanese.
    Ja,
    /// Korean.
    Ko,
    /// Russian.
    Ru,
    /// Thai.
    Th,
}

/// The script of invented names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Latin syllables.
    Latin,
    /// Cyrillic syllables.
    Cyrillic,
    /// Han characters.
    Han,
    /// Katakana.
    Kana,
    /// Hangul syllables.
    Hangul,
    /// Thai syllables.
    Thai,
}

/// What a language is made of.
pub(super) struct Vocabulary {
    /// Two-letter code of the labels.
    pub(super) code: &'static str,
    /// Script of names.
    pub(super) names: Names,
    /// Between two sentences.
    pub(super) gap: &'static str,
    /// Sentence patterns.
    pub(super) patterns: &'static [&'static str],
    /// Nouns.
    pub(super) nouns: &'static [&'static str],
    /// Adjectives.
    pub(super) adjectives: &'static [&'static str],
    /// Verbs.
    pub(super) verbs: &'static [&'static str],
    /// What a user asks before the text (at most four words).
    pub(super) asks: &'static [&'static str],
    /// How an answer opens (at most four words).
    pub(super) openings: &'static [&'static str],
}

impl Lang {
    /// The two-letter code.
    pub(super) fn code(self) -> &'static str {
        self.vocabulary().code
    }

    /// The lists of this language.
    pub(super) fn vocabulary(self) -> &'static Vocabulary {
        match self {
            Lang::En => &EN,
            Lang::De => &DE,
            Lang::Fr => &FR,
            Lang::Es => &ES,
            Lang::Zh => &ZH,
            Lang::Ja => &JA,
            Lang::Ko => &KO,
            Lang::Ru => &RU,
            Lang::Th => &TH,
        }
    }
}

/// System prompts that many tenants share, word for word.
pub(super) const SYSTEM_PROMPTS: [&str; 4] = [
    "You are the office helper of a mid-sized company. Keep to what the given papers say, name the \
     page you rely on, and write amounts with their currency. When a figure is missing, say which \
     one and stop there instead of guessing it.",
    "Act as a careful reviewer of source code. List faults first, from the gravest to the mildest, \
     then questions, then praise. Never rewrite a whole file; show the smallest change that cures \
     the fault and explain in one line why it does.",
    "Answer customers in the language they write in. Stay polite and short, never promise a date \
     that the ticket does not hold, and hand over to a person as soon as money, health or a legal \
     matter is touched.",
    "Turn meeting notes into tasks. Each task has an owner, a due day and one sentence. Drop small \
     talk, keep decisions in their own list, and mark with a star whatever the notes leave open.",
];
