//! The truth about the responses of interest.

use super::json::Object;
use super::plan::{Call, Kind, Plan, excluded, tenant_name};
use super::records::request_id;
use super::texts::leaked;

/// The label of a response of interest; nothing for everyday traffic.
pub(super) fn label(plan: &Plan, call: &Call, prompt_tokens: i64) -> Option<(bool, Vec<u8>)> {
    let kind = match call.kind {
        Kind::Ordinary | Kind::PublicPaste(_) | Kind::Refused => return None,
        Kind::Leak(_) => "",
        Kind::OverLimit => "over_limit_no_text",
        Kind::NearLimit => "near_limit",
        Kind::AfterFix => "after_fix",
        Kind::SecondHand(_) => "second_hand",
        Kind::SystemQuote(..) => "shared_system_prompt",
        Kind::Again(_, true) => "gateway_cache",
        Kind::Again(_, false) => "retry",
        Kind::OwnQuote => "own_prompt_quote",
        Kind::PublicQuote(_) => "public_text",
        Kind::Memory(_) => "own_history",
    };
    let mut out = Object::new();
    out.text("request_id", &request_id(call));
    let leak = match call.kind {
        Kind::Leak(leak) => Some(leak),
        _ => None,
    };
    out.text("label", if leak.is_some() { "leak" } else { "benign" });
    let (_, half_words) = leaked(plan, call);
    match leak {
        None => out.text("kind", kind),
        Some(leak) if leak.repeated => out.text("kind", "repeated_page"),
        Some(leak) if leak.from_response => out.text("kind", "from_response"),
        Some(_) if half_words <= 32 => out.text("kind", "short_span"),
        Some(_) if half_words > 240 => out.text("kind", "long_span"),
        Some(_) => out.text("kind", "middle_span"),
    };
    out.text("tenant", tenant_name(call.tenant));
    match leak.map(|l| &plan.calls[l.source]) {
        Some(source) => out
            .text("source_tenant", tenant_name(source.tenant))
            .text("source_request_id", &request_id(source))
            .text("source_lang", source.lang.code()),
        None => out
            .raw("source_tenant", "null")
            .raw("source_request_id", "null")
            .raw("source_lang", "null"),
    };
    match excluded(call.tenant) {
        Some(reason) => out.text("excluded", reason),
        None => out.raw("excluded", "null"),
    };
    // A word is two half-words: a character of a script without spaces counts half.
    out.number("span_words", i64::from(half_words / 2))
        .number("prompt_tokens", prompt_tokens);
    Some((leak.is_some(), out.end()))
}
