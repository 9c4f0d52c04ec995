//! Does an answer belong to its question? Each answer is compared with its own prompt and with the
//! exchanges of other tenants that were recent or in flight, and the best explanation is named.
//!
//! An answer is seen as the set of its rarest terms. A text explains a term that it holds; how much
//! that says follows from how rare the term is among answers, and from how often a prompt of that
//! length hands such a term on to its own answer. Both are counted in the log itself, so that a
//! prompt of a million words, which holds nearly every term, explains next to nothing. A candidate
//! is another tenant's exchange: its prompt, and the answer that it was given.
//!
//! What chance alone gives is measured as well: every answer is put before exchanges that cannot
//! be its source, because they began after it had ended or lie before the look-back. The margins
//! found there are the distribution from which `p_value` is read.

mod calibrate;
mod gain;
mod index;
mod operator;
mod signature;
mod terms;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin;
mod types;

pub(crate) use gain::millibits;
pub use operator::{Attribution, Partial};
pub use types::{
    Assessment, AttributionLimits, AttributionSettings, AttributionSubject, METHOD, Outcome, Row,
};
