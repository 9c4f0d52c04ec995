//! HTTP archives (HAR) of proxies and browsers: the calls of models among their entries.

use super::body::{self, Request, Response, push_correlation};
use super::json::{Fault, Json};
use super::{DecodeContext, LogFormat, envelope, labels};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, RecordKind, RejectReason, Role, TimeZoneSource,
};

/// The format; see the module.
pub struct Har;

impl LogFormat for Har {
    fn name(&self) -> &'static str {
        "har"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let keys = envelope::keys_with(record, "\"startedDateTime\"");
        if keys.iter().any(|k| k == "log") {
            95
        } else {
            0
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        envelope::decode(record, out, |archive| {
            let Some(entries @ Json::Array(_)) = archive.at(&["log", "entries"]) else {
                return Err(RejectReason::UnknownShape.into());
            };
            let mut found = Vec::new();
            for item in entries.items() {
                envelope::append(&mut found, entry(item, context)?);
            }
            Ok(found)
        })
    }
}

/// The exchange of an entry; none where it is no call of a model.
fn entry(entry: &Json<'_>, context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    let sent = entry
        .at(&["request", "postData", "text"])
        .and_then(Json::as_str);
    let asked = sent.and_then(|text| {
        let body = Json::parse(text.trim()).ok()?;
        let keys = ["messages", "prompt", "input", "contents"];
        keys.iter()
            .any(|key| body.has(key))
            .then(|| Request::read(&body))
    });
    let Some(request) = asked else {
        return Ok(Vec::new());
    };
    let mut base = Exchange {
        role: Some(Role::Client),
        http_status: envelope::status(entry.at(&["response", "status"])),
        ..Exchange::default()
    };
    // What follows the `?` may hold a key.
    let url = entry.at(&["request", "url"]).and_then(Json::as_str);
    base.deployment = url.and_then(|url| url.split('?').next()).map(str::to_owned);
    let mut zone = TimeZoneSource::Utc;
    base.t_start = envelope::zoned(entry.some("startedDateTime"), context, &mut zone);
    base.t_zone = zone;
    base.t_end = envelope::after(base.t_start, entry.some("time"));
    for side in ["request", "response"] {
        labels::push_headers(&mut base, entry.at(&[side, "headers"]));
    }
    let named = base.correlation.iter();
    let mut named = named.filter(|c| c.kind == CorrelationKind::XRequestId);
    base.request_id = named.next().map(|c| c.value.clone());
    push_correlation(&mut base, CorrelationKind::GatewayLogId, entry.some("_id"));
    let response = answered(entry.at(&["response", "content"]));
    Ok(body::expand(base, request, response)?)
}

/// The content of a response; bytes that are no text are in base 64.
fn answered(content: Option<&Json<'_>>) -> Response {
    let Some(content) = content else {
        return Response::default();
    };
    let text = content.str_of("text").unwrap_or_default();
    let decoded = match content.str_of("encoding") {
        Some("base64") => base64(text).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        _ => Some(text.to_owned()),
    };
    match decoded {
        Some(text) if !text.is_empty() => Response::read(&Json::Str(text.into())),
        // The archive was written without contents.
        _ => Response {
            state: ContentState::Absent,
            ..Response::default()
        },
    }
}

/// Decodes base 64 of the usual alphabet; blanks between the letters are skipped.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in text.bytes().filter(|b| !b.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_table() {
        for (text, expected) in [
            ("", Some(&b""[..])),
            ("aGk=", Some(b"hi")),
            ("aG\nkh", Some(b"hi!")),
            ("+/8A", Some(b"\xfb\xff\x00")),
            ("a?", None),
        ] {
            assert_eq!(base64(text).as_deref(), expected, "{text}");
        }
    }
}
