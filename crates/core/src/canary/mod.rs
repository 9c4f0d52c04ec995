//! Canaries: markers that nobody can guess, made for one tenant and looked for in the answers of
//! all others.
//!
//! A tenant's canary in another tenant's answer is proof, whatever the prompt was: no model knows
//! it and no other text holds it. [`mint`] derives markers from a secret and says in which prompts
//! to send them; [`Scanner`] finds them whole or in large pieces, in any case and spacing, reversed
//! or encoded; [`CanarySearch`] reads the judged answers of a log.

mod encode;
mod keys;
mod scan;
mod search;

pub use keys::{CanaryKeys, Form, KeyFileError, Marker, Prompt, mint};
pub use scan::{Hit, Scanner, Writing};
pub use search::{CanarySearch, Partial, Row};
