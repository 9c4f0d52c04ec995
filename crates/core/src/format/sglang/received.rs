//! `request.received.openai`: the body that the client sent, before template and tokens.
//!
//! The engine gives it no id of its own. Where the body or a header names the request (a router
//! writes the bootstrap room into it, clients may send `rid` or `x-request-id`), it is the first
//! half of that exchange. Elsewhere only the order of lines would join them, and that is a guess.

use super::item::{ELLIPSIS, Item, cut_middle};
use crate::exchange::{BorderKind, ContentState, Exchange, FieldText, RecordKind, RejectReason};
use crate::format::body::{self, Request, Response};
use crate::format::json::Json;
use crate::format::{DecodeContext, markers, time};

/// Decodes a record of this event.
pub(super) fn decode(
    record: &Json<'_>,
    stamp: time::ReadTime,
    context: &DecodeContext<'_>,
) -> Result<(RecordKind, Vec<Exchange>), RejectReason> {
    let Some(obj @ Json::Object(_)) = record.some("obj") else {
        return Err(RejectReason::InvalidField);
    };
    let item = Item {
        record,
        obj,
        out: None,
        index: 0,
        half: true,
        batch: false,
    };
    let mut base = item.exchange(stamp, context)?;
    if !base.correlation.iter().any(|c| c.kind.links()) {
        return Ok((RecordKind::Other, Vec::new()));
    }
    base.unique_id = true;
    if base.prompt_state == ContentState::IdsOnly {
        base.prompt_state = ContentState::Absent;
    }
    let redacted = base.prompt_state == ContentState::Redacted;
    base.response_state = ContentState::Absent;
    base.prompt = None;
    // The body is the engine's second copy of what the finished record lists field by field.
    base.extra.clear();
    let mut request = Request::read(obj);
    if redacted {
        request.prompts.clear();
    }
    for prompt in &mut request.prompts {
        if seal_cuts(prompt) && request.state == ContentState::Full {
            request.state = ContentState::Truncated;
        }
    }
    let exchanges = body::expand(base, request, Response::default())?;
    Ok((RecordKind::Exchange, exchanges))
}

/// Turns the middles that level 2 left out of single parts into cuts; whether there were any.
fn seal_cuts(prompt: &mut FieldText) -> bool {
    let mut cuts = Vec::new();
    let mut start = 0;
    let borders = prompt.borders.iter();
    let ends = borders
        .filter(|b| b.kind == BorderKind::Message)
        .map(|b| (b.start, b.end))
        .chain([(prompt.text.len(), prompt.text.len())]);
    for (end, next) in ends {
        let part = prompt.text.get(start..end).unwrap_or_default();
        // A list that was cut holds the dots as an item of its own.
        let at = if part == ELLIPSIS {
            Some(0)
        } else {
            cut_middle(part)
        };
        cuts.extend(at.map(|at| start + at..start + at + ELLIPSIS.len()));
        start = next;
    }
    let any = !cuts.is_empty();
    cuts.into_iter().for_each(|cut| markers::cut(prompt, cut));
    any
}
