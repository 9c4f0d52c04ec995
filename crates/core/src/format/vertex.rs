//! Request and response logging of Google Vertex AI, as rows exported from BigQuery.

use super::body::{self, Request, Response, push_candidate, push_correlation};
use super::json::{Fault, Json};
use super::{DecodeContext, LogFormat, envelope, labels};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role,
};

/// The format; see the module.
pub struct Vertex;

const READ: [&str; 11] = [
    "endpoint",
    "deployed_model_id",
    "logging_time",
    "request_id",
    "model",
    "model_version",
    "full_request",
    "full_response",
    "request_payload",
    "response_payload",
    "metadata",
];

impl LogFormat for Vertex {
    fn name(&self) -> &'static str {
        "vertex"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let keys = envelope::keys_with(record, "logging_time");
        let has = |key: &str| keys.iter().any(|k| k == key);
        let body = has("full_request") || has("full_response") || has("request_payload");
        if has("logging_time") && body { 97 } else { 0 }
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        envelope::decode(record, out, decode_row)
    }
}

fn decode_row(row: &Json<'_>) -> Result<Vec<Exchange>, Fault> {
    let bodies = [
        "full_request",
        "full_response",
        "request_payload",
        "response_payload",
    ];
    if !row.has("logging_time") || !bodies.iter().any(|key| row.has(key)) {
        return Err(RejectReason::UnknownShape.into());
    }
    let mut base = Exchange {
        role: Some(Role::Gateway),
        request_id: row.some("request_id").and_then(Json::as_id),
        model_raw: envelope::text(row, &["model", "deployed_model_id"]),
        deployment: envelope::text(row, &["endpoint"]),
        ..Exchange::default()
    };
    base.unique_id = base.request_id.is_some();
    push_correlation(
        &mut base,
        CorrelationKind::GatewayLogId,
        row.some("request_id"),
    );
    let metadata = row.some("metadata");
    let packed = metadata.and_then(envelope::unpacked);
    let metadata = packed.as_ref().or(metadata);
    labels::push(
        &mut base,
        metadata.and_then(|m| m.any(&["labels", "request_labels"])),
    );
    let project = row.str_of("endpoint").and_then(project_of);
    push_candidate(
        &mut base.tenant_candidates,
        "cloud_project",
        project.as_ref(),
    );
    envelope::extras(&mut base, row, &READ);
    let request = match row.any(&["full_request", "request_payload"]) {
        Some(body) => asked(body, &mut base),
        None => Request::default(),
    };
    let response = match row.any(&["full_response", "response_payload"]) {
        Some(body) => answered(body),
        None => Response::default(),
    };
    // Rows are written behind the answer; some answers say when they were begun.
    let logged = envelope::utc(row.some("logging_time"));
    let begun = response.created.filter(|t| logged.is_none_or(|l| *t <= l));
    base.t_start = begun.or(logged);
    base.t_end = logged;
    let answers = response
        .choices
        .iter()
        .any(|choice| choice.finish.is_none());
    if answers && response.error.is_none() {
        base.outcome = Outcome::Ok;
    }
    Ok(body::expand(base, request, response)?)
}

/// `projects/NAME/…`
fn project_of(endpoint: &str) -> Option<Json<'static>> {
    let mut names = endpoint.split('/');
    names.find(|name| *name == "projects")?;
    names.next().map(|name| Json::Str(name.to_owned().into()))
}

// JSON columns come as objects or as strings; payload columns are lists of strings.
fn asked(column: &Json<'_>, base: &mut Exchange) -> Request {
    let payloads = match column {
        Json::Array(items) if items.iter().all(|i| i.as_str().is_some()) => &items[..],
        other => std::slice::from_ref(other),
    };
    let mut request = Request::default();
    for payload in payloads {
        let inner = envelope::unpacked(payload);
        let body = inner.as_ref().unwrap_or(payload);
        labels::push(base, body.some("labels"));
        for body in instances(body) {
            let one = Request::read(body);
            request.modalities.insert(one.modalities);
            request.model = request.model.or(one.model);
            request.candidates.extend(one.candidates);
            request.correlation.extend(one.correlation);
            if request.state == ContentState::Absent || one.state != ContentState::Full {
                request.state = one.state;
            }
            request.prompts.extend(one.prompts);
        }
    }
    request
}

/// Models of one's own get a list of instances.
fn instances<'a>(body: &'a Json<'a>) -> &'a [Json<'a>] {
    match body.some("instances") {
        Some(Json::Array(items)) if !items.is_empty() => items,
        _ => std::slice::from_ref(body),
    }
}

fn answered(column: &Json<'_>) -> Response {
    let payloads: Vec<Json<'_>> = match column {
        Json::Array(items) => items.iter().filter_map(envelope::unpacked).collect(),
        other => envelope::unpacked(other).into_iter().collect(),
    };
    let body = match payloads.as_slice() {
        [] => return predicted(column),
        [one] => return predicted(one),
        _ => Json::Array(payloads),
    };
    Response::read(&body)
}

/// Answers of a model of one's own: a list of texts or bodies.
fn predicted(body: &Json<'_>) -> Response {
    match body.some("predictions") {
        Some(Json::Array(items)) if items.len() == 1 => Response::read(&items[0]),
        Some(Json::Array(items)) => {
            let choice = |item: &Json<'_>| {
                let text = match item {
                    Json::Str(text) => text.to_string(),
                    other => other.to_text(),
                };
                Json::Object(vec![("text".into(), Json::Str(text.into()))])
            };
            let list = items.iter().map(choice).collect();
            Response::read(&Json::Object(vec![("choices".into(), Json::Array(list))]))
        }
        Some(other) => Response::read(other),
        None => Response::read(body),
    }
}
