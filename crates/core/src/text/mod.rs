//! Text as tokens: what two texts are compared on.
//!
//! A text is split into tokens that do not depend on case, width, composed or decomposed letters,
//! or on being JSON-encoded twice. A word weighs two half-words, a character of a script written
//! without spaces weighs one.

mod chars;
mod hash;
pub mod language;
mod masks;
mod skim;
mod tokenize;
mod tokens;
#[cfg(any(test, feature = "fuzz"))]
#[allow(
    clippy::unwrap_used,
    reason = "a definition on made-up input, never in the program"
)]
pub(crate) mod twin;

#[cfg(any(test, feature = "fuzz"))]
pub(crate) use hash::KEPT;
pub use hash::hash as token_hash;
pub(crate) use skim::Skim;
pub use tokenize::tokenize;
pub use tokens::{Barrier, Tokens};

/// The Unicode version of the tables that decide normalisation, letters and scripts.
///
/// Changing it can change tokens, hence evidence: it belongs into the notes of a release.
pub const UNICODE_VERSION: (u8, u8, u8) = (18, 0, 0);

/// The Unicode version of the grapheme-cluster tables, used only inside runs of Thai, Lao, Khmer
/// and Myanmar. The crate lags one version behind the others.
pub const GRAPHEME_VERSION: (u8, u8, u8) = (17, 0, 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unicode_tables_agree() {
        let (a, b, c) = UNICODE_VERSION;
        let wide = (u64::from(a), u64::from(b), u64::from(c));
        assert_eq!(unicode_normalization::UNICODE_VERSION, UNICODE_VERSION);
        assert_eq!(unicode_properties::UNICODE_VERSION, wide);
        assert_eq!(unicode_script::UNICODE_VERSION, wide);
        let (a, b, c) = GRAPHEME_VERSION;
        let wide = (u64::from(a), u64::from(b), u64::from(c));
        assert_eq!(unicode_segmentation::UNICODE_VERSION, wide);
        // icu_casemap names no version in code. U+1C89 folds since 16, U+A7CE since 17.
        let mapper = icu_casemap::CaseMapper::new();
        assert_eq!(mapper.simple_fold('\u{1c89}'), '\u{1c8a}');
        assert_eq!(mapper.simple_fold('\u{a7ce}'), '\u{a7cf}');
    }
}
