//! Logged HTTP headers as tenant candidates.

use super::body::push_candidate;
use super::json::Json;
use crate::exchange::TenantCandidate;

/// Headers with such a word in their name hold credentials.
const SECRET_WORDS: [&str; 6] = [
    "authorization",
    "api-key",
    "apikey",
    "cookie",
    "token",
    "secret",
];

/// Adds `header:NAME`; of a credential only a hash, which tells tenants apart as well and opens
/// nothing.
pub fn push_header(candidates: &mut Vec<TenantCandidate>, name: &str, value: &Json<'_>) {
    let kind = format!("header:{name}");
    let Some(text) = value.as_id() else { return };
    let shown = if SECRET_WORDS.iter().any(|word| name.contains(word)) {
        let hash = blake3::hash(text.as_bytes()).to_hex();
        hash.get(..16).unwrap_or_default().to_owned()
    } else {
        text
    };
    push_candidate(candidates, &kind, Some(&Json::Str(shown.into())));
}
