//! Identifiers: values in answers that another tenant's traffic held before.
//!
//! One rare value (an account, a key, an address, a serial number) tells more than a sentence. A
//! first pass takes identifiers from the judged answers; a second one looks for these values in
//! all texts. What comes out are facts: where the value stands, who wrote it first of their own
//! accord, how much it tells. Whether that is a leak is for rules to say.
//!
//! * **Patterns** are data (`patterns/*.toml`). Beside them, anything random counts.
//! * **Values** are compared by the letters and digits of their tokens, so that case, spaces,
//!   dashes and width make no difference. Values themselves are not kept: a keyed hash and a mask.
//! * **Carriers** are those of the overlap search: a tenant that first met the value in an answer,
//!   after another one had sent it, is a victim and carries nothing.

mod bits;
mod carriers;
mod checksum;
mod extract;
mod lookup;
mod pattern;
mod search;
#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "fuzz"))]
#[allow(
    clippy::unwrap_used,
    reason = "a definition on made-up input, never in the program"
)]
pub(crate) mod twin;
mod types;
mod value;
mod windows;

pub use pattern::{Kind, PatternError, Patterns};
pub use search::{Identifiers, Partial};
pub use types::{Outcome, Row, Stats};
