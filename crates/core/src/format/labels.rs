//! Labels that users give their calls: metadata, properties and tags, read as tenant candidates.
//!
//! What a label is called is the user's choice. A name that can mean only one thing becomes that
//! kind; any other stays `label:NAME`, so that a configuration can still choose it.

use super::body::{add_correlation, push_candidate};
use super::json::Json;
use crate::exchange::{CorrelationKind, Exchange, TenantCandidate};

/// Labels of one record that are looked at; no product allows more.
const MAX_LABELS: usize = 64;

/// Longest value that can be a name, in bytes; longer ones are text.
const MAX_VALUE_BYTES: usize = 256;

/// Labels of such names hold what must not be kept.
const SECRETS: [&str; 5] = ["key", "token", "secret", "password", "authorization"];

/// The kind of tenant that a label's name means, if it can mean only one.
pub fn kind_of(name: &str) -> Option<&'static str> {
    let name = name
        .trim()
        .to_ascii_lowercase()
        .replace(['-', '.', ' '], "_");
    let name = name.strip_prefix("x_").unwrap_or(&name);
    let name = name.strip_suffix("_id").unwrap_or(name);
    Some(match name {
        "tenant" | "tenantid" | "customer" | "customerid" => "tenant",
        "account" | "accountid" => "account",
        "organization" | "organisation" | "org" | "orgid" => "organization",
        "workspace" | "workspaceid" => "workspace",
        "subscription" => "subscription",
        "team" | "teamid" => "team",
        "project" | "projectid" => "project",
        "api_key_hash" | "key_hash" => "api_key_hash",
        "user" | "userid" | "_user" | "username" | "user_name" | "user_email" => "user",
        "end_user" | "enduser" => "end_user",
        "session" | "sessionid" => "session",
        _ => return None,
    })
}

/// Adds the labels of an object, of a list of `{key, value}`, or of either as JSON in a string.
pub fn push(base: &mut Exchange, labels: Option<&Json<'_>>) {
    match labels {
        Some(Json::Object(entries)) => {
            for (name, value) in entries.iter().take(MAX_LABELS) {
                push_one(base, name, value);
            }
        }
        Some(Json::Array(items)) => {
            for item in items.iter().take(MAX_LABELS) {
                let name = item.any(&["key", "name"]).and_then(Json::as_str);
                if let (Some(name), Some(value)) = (name, item.some("value")) {
                    push_one(base, name, value);
                }
            }
        }
        Some(Json::Str(text)) if text.trim_start().starts_with(['{', '[']) => {
            if let Ok(inner @ (Json::Object(_) | Json::Array(_))) = Json::parse(text) {
                push(base, Some(&inner));
            }
        }
        _ => {}
    }
}

/// Adds one label.
pub fn push_one(base: &mut Exchange, name: &str, value: &Json<'_>) {
    let Some(id) = value.as_id().filter(|id| id.len() <= MAX_VALUE_BYTES) else {
        return;
    };
    let lower = name.to_ascii_lowercase();
    let known = kind_of(name);
    if known.is_none() && SECRETS.iter().any(|word| lower.contains(word)) {
        return;
    }
    match lower.as_str() {
        "x-request-id" | "x_request_id" => {
            return add_correlation(base, CorrelationKind::XRequestId, id);
        }
        "trace_id" | "traceid" | "trace-id" => {
            return add_correlation(base, CorrelationKind::TraceId, id);
        }
        "session_id" | "session-id" | "sessionid" | "session.id" => {
            add_correlation(base, CorrelationKind::SessionId, id.clone());
        }
        "conversation_id" | "conversation-id" | "thread_id" | "chat_id" => {
            return add_correlation(base, CorrelationKind::ConversationId, id);
        }
        _ => {}
    }
    match known {
        Some(kind) => push_candidate(&mut base.tenant_candidates, kind, Some(value)),
        None => {
            let candidate = TenantCandidate {
                kind: format!("label:{name}"),
                value: id,
            };
            if base.tenant_candidates.len() < MAX_LABELS
                && !base.tenant_candidates.contains(&candidate)
            {
                base.tenant_candidates.push(candidate);
            }
        }
    }
}

/// Adds what HTTP headers say of request and tenant; all other headers are left alone.
pub fn push_headers(base: &mut Exchange, headers: Option<&Json<'_>>) {
    let listed = headers.map(Json::items).unwrap_or_default().iter();
    let listed = listed.filter_map(|h| Some((h.str_of("name")?, h.some("value")?)));
    let keyed = headers.map(Json::entries).unwrap_or_default().iter();
    for (name, value) in keyed.map(|(k, v)| (&**k, v)).chain(listed) {
        let value = value.items().first().unwrap_or(value);
        match name.to_ascii_lowercase().as_str() {
            "x-request-id" => {
                if let Some(id) = value.as_id() {
                    add_correlation(base, CorrelationKind::XRequestId, id);
                }
            }
            "openai-organization" => {
                push_candidate(&mut base.tenant_candidates, "organization", Some(value));
            }
            "openai-project" => {
                push_candidate(&mut base.tenant_candidates, "project", Some(value));
            }
            name @ ("x-tenant-id"
            | "x-tenant"
            | "x-customer-id"
            | "x-account-id"
            | "x-org-id"
            | "x-organization-id"
            | "x-consumer-username"
            | "x-consumer-custom-id"
            | "x-smg-routing-key") => {
                let kind = format!("header:{name}");
                push_candidate(&mut base.tenant_candidates, &kind, Some(value));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(labels: &str) -> Vec<(String, String)> {
        let mut base = Exchange::default();
        push(&mut base, Some(&Json::parse(labels).unwrap()));
        let found = base.tenant_candidates.into_iter();
        found.map(|c| (c.kind, c.value)).collect()
    }

    #[test]
    fn table() {
        for (labels, expected) in [
            (
                r#"{"user_id":"u1","team":"a"}"#,
                vec![("user", "u1"), ("team", "a")],
            ),
            (r#""{\"Tenant-Id\":7}""#, vec![("tenant", "7")]),
            (
                r#"[{"key":"org","value":"o"}]"#,
                vec![("organization", "o")],
            ),
            (r#"{"colour":"red"}"#, vec![("label:colour", "red")]),
            (r#"{"x-request-id":"r","nested":{},"flag":true}"#, vec![]),
            (r#"{"api_key":"sk-1","Auth-Token":"t"}"#, vec![]),
            (r#""no labels""#, vec![]),
        ] {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .collect();
            assert_eq!(candidates(labels), expected, "{labels}");
        }
    }
}
