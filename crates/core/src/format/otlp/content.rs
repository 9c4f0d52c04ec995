//! Where a span or an event keeps its texts: the conventions, the newest first.

use super::Unit;
use super::attributes::{Attributes, Parsed, parsed};
use super::flat::{message, tree};
use crate::exchange::ContentState;
use crate::format::Bodies;
use crate::format::body::{Request, Response};
use crate::format::json::Json;
use crate::format::markers;
use std::borrow::Cow;

/// A body with these entries.
fn object<'a>(entries: Vec<(&'static str, Json<'a>)>) -> Json<'a> {
    let named = entries.into_iter().map(|(k, v)| (Cow::Borrowed(k), v));
    Json::Object(named.collect())
}

/// The prompt of a call.
pub fn request(unit: &Unit<'_>, bodies: Option<&dyn Bodies>) -> Request {
    let read = structured_request(unit)
        .or_else(|| told_request(unit))
        .or_else(|| flat_request(unit))
        .or_else(|| plain_request(unit))
        .or_else(|| stored_request(unit, bodies));
    if let Some(request) = read.filter(|r| !r.prompts.is_empty()) {
        return request;
    }
    let mut request = Request::default();
    if unit.get("gen_ai.input.messages_ref").is_some() {
        request.state = ContentState::External;
    }
    request
}

/// The answer of a call.
pub fn response(unit: &Unit<'_>, bodies: Option<&dyn Bodies>) -> Response {
    let read = structured_response(unit)
        .or_else(|| told_response(unit))
        .or_else(|| flat_response(unit))
        .or_else(|| plain_response(unit))
        .or_else(|| stored_response(unit, bodies));
    let known = |r: &Response| !r.choices.is_empty() || r.error.is_some();
    if let Some(response) = read.filter(known) {
        return response;
    }
    let mut response = Response::default();
    if unit.get("gen_ai.output.messages_ref").is_some() {
        response.state = ContentState::External;
    }
    response
}

/// Current: messages as structures, or as JSON in a string.
fn structured_request(unit: &Unit<'_>) -> Option<Request> {
    let keys = [
        ("system", "gen_ai.system_instructions"),
        ("messages", "gen_ai.input.messages"),
        ("tools", "gen_ai.tool.definitions"),
    ];
    let mut entries = Vec::new();
    let mut cut = false;
    for (key, attribute) in keys {
        if let Some(value) = unit.get(attribute) {
            let read = parsed(value);
            cut |= read.cut;
            entries.push((key, read.json));
        }
    }
    if !entries.iter().any(|(key, _)| *key != "tools") {
        return None;
    }
    Some(cut_request(Request::read(&object(entries)), cut))
}

fn structured_response(unit: &Unit<'_>) -> Option<Response> {
    let read = parsed(unit.get("gen_ai.output.messages")?);
    Some(cut_response(choices(&read.json), read.cut))
}

/// The text of the object that an attribute points at, where it is at hand.
fn stored(unit: &Unit<'_>, attribute: &str, bodies: Option<&dyn Bodies>) -> Option<String> {
    bodies?.text(unit.get(attribute)?.as_str()?)
}

/// Messages that were uploaded elsewhere. Instructions may lie in an object of their own: without
/// that the prompt is not whole.
fn stored_request(unit: &Unit<'_>, bodies: Option<&dyn Bodies>) -> Option<Request> {
    let text = stored(unit, "gen_ai.input.messages_ref", bodies)?;
    let messages = Json::parse(text.trim()).ok()?;
    let attribute = "gen_ai.system_instructions_ref";
    let system = stored(unit, attribute, bodies);
    let system = system
        .as_deref()
        .and_then(|text| Json::parse(text.trim()).ok());
    let missing = unit.get(attribute).is_some() && system.is_none();
    let mut entries = Vec::new();
    entries.extend(system.map(|system| ("system", system)));
    entries.push(("messages", messages));
    let mut request = Request::read(&object(entries));
    if missing && request.state == ContentState::Full {
        request.state = ContentState::Truncated;
    }
    Some(request)
}

fn stored_response(unit: &Unit<'_>, bodies: Option<&dyn Bodies>) -> Option<Response> {
    let text = stored(unit, "gen_ai.output.messages_ref", bodies)?;
    Some(choices(&Json::parse(text.trim()).ok()?))
}

/// A list of output messages, each a choice.
fn choices(messages: &Json<'_>) -> Response {
    if messages.as_str().is_some() {
        return Response::read(messages);
    }
    let choice = |m| {
        let finish = Json::some(m, "finish_reason").map_or(Json::Null, Json::borrowed);
        object(vec![
            ("message", Json::borrowed(m)),
            ("finish_reason", finish),
        ])
    };
    let list = messages.items().iter().map(choice).collect();
    Response::read(&object(vec![("choices", Json::Array(list))]))
}

/// Older: one event a message.
fn told_request(unit: &Unit<'_>) -> Option<Request> {
    if unit.messages.is_empty() {
        return None;
    }
    let list = Json::Array(unit.messages.iter().map(Json::borrowed).collect());
    Some(Request::of_messages(&list))
}

fn told_response(unit: &Unit<'_>) -> Option<Response> {
    if unit.choices.is_empty() {
        return None;
    }
    let list = Json::Array(unit.choices.iter().map(Json::borrowed).collect());
    Some(Response::read(&object(vec![("choices", list)])))
}

/// One attribute a field of a message: Traceloop and OpenInference.
fn flat_request(unit: &Unit<'_>) -> Option<Request> {
    let own = unit.sources.first()?;
    for prefix in ["gen_ai.prompt.", "llm.input_messages."] {
        let list = tree(own, prefix);
        if !list.items().is_empty() {
            let list = Json::Array(list.items().iter().map(message).collect());
            let tools = tools(own);
            return Some(Request::read(&object(vec![
                ("messages", list),
                ("tools", tools),
            ])));
        }
    }
    let prompts = tree(own, "llm.prompts.");
    let texts: Vec<Json<'_>> = prompts
        .items()
        .iter()
        .filter_map(|p| p.at(&["prompt", "text"]))
        .map(Json::borrowed)
        .collect();
    (!texts.is_empty()).then(|| Request::read(&object(vec![("prompt", Json::Array(texts))])))
}

/// The tools offered: OpenInference writes one schema an index, as JSON.
fn tools<'a>(own: &Attributes<'a>) -> Json<'a> {
    let list = tree(own, "llm.tools.");
    let schema = |item: &Json<'_>| {
        let schema = item.at(&["tool", "json_schema"])?;
        Some(parsed(schema.borrowed()).json.into_owned())
    };
    Json::Array(list.items().iter().filter_map(schema).collect())
}

fn flat_response(unit: &Unit<'_>) -> Option<Response> {
    let own = unit.sources.first()?;
    for prefix in ["gen_ai.completion.", "llm.output_messages."] {
        let list = tree(own, prefix);
        if !list.items().is_empty() {
            return Some(choices(&Json::Array(
                list.items().iter().map(message).collect(),
            )));
        }
    }
    let texts = tree(own, "llm.choices.");
    let choice = |item: &Json<'_>| {
        let text = item.at(&["completion", "text"])?.as_str()?.to_owned();
        Some(object(vec![("text", Json::Str(text.into()))]))
    };
    let list: Vec<Json<'_>> = texts.items().iter().filter_map(choice).collect();
    (!list.is_empty()).then(|| Response::read(&object(vec![("choices", Json::Array(list))])))
}

/// One string for all: JSON of the provider's own shape, or text.
fn plain_request(unit: &Unit<'_>) -> Option<Request> {
    let keys = [
        "gen_ai.prompt_json",
        "gen_ai.prompt",
        "input.value",
        "traceloop.entity.input",
    ];
    let Parsed { json, cut } = parsed(keys.iter().find_map(|key| unit.get(key))?);
    // Traceloop wraps the arguments of what it traced.
    let inner = json.some("inputs").or_else(|| json.some("kwargs"));
    Some(cut_request(Request::read(inner.unwrap_or(&json)), cut))
}

fn plain_response(unit: &Unit<'_>) -> Option<Response> {
    let keys = [
        "gen_ai.completion_json",
        "gen_ai.completion",
        "output.value",
        "traceloop.entity.output",
    ];
    let Parsed { json, cut } = parsed(keys.iter().find_map(|key| unit.get(key))?);
    let inner = json.some("outputs").unwrap_or(&json);
    // An answer that is JSON of the model's own making stays the text that it is.
    let mut read = Response::read(inner);
    if read.choices.is_empty() && read.error.is_none() {
        read = Response::of_text(&inner.to_text());
    }
    Some(cut_response(read, cut))
}

fn cut_request(mut request: Request, cut: bool) -> Request {
    if cut {
        request.state = ContentState::Truncated;
        request.prompts.iter_mut().for_each(markers::cut_end);
    }
    request
}

fn cut_response(mut response: Response, cut: bool) -> Response {
    if cut {
        response.state = ContentState::Truncated;
        if let Some(last) = response.choices.last_mut() {
            let fields = [&mut last.response, &mut last.reasoning, &mut last.tool];
            fields.into_iter().flatten().for_each(markers::cut_end);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::super::Otlp;
    use super::*;
    use crate::format::{DecodeContext, LogFormat};

    /// Objects by the end of their address.
    struct Few(&'static [(&'static str, &'static str)]);

    impl Bodies for Few {
        fn text(&self, address: &str) -> Option<String> {
            let found = self.0.iter().find(|(end, _)| address.ends_with(end));
            found.map(|(_, text)| (*text).to_owned())
        }
    }

    #[test]
    fn uploaded_messages_are_read_where_they_are_at_hand() {
        use ContentState::{External, Full, Truncated};
        let refs = ["input.messages", "output.messages", "system_instructions"];
        let attributes = refs.map(|name| {
            format!(
                r#"{{"key":"gen_ai.{name}_ref","value":{{"stringValue":"s3://b/{name}.json"}}}}"#
            )
        });
        let record = format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"t","spanId":"s","name":"chat","attributes":[{{"key":"gen_ai.operation.name","value":{{"stringValue":"chat"}}}},{}]}}]}}]}}]}}"#,
            attributes.join(",")
        );
        let asked = (
            "input.messages.json",
            r#"[{"role":"user","parts":[{"type":"text","content":"how many"}]}]"#,
        );
        let answered = (
            "output.messages.json",
            r#"[{"role":"assistant","parts":[{"type":"text","content":"forty"}],"finish_reason":"stop"}]"#,
        );
        let system = (
            "system_instructions.json",
            r#"[{"type":"text","content":"be short"}]"#,
        );
        let decode = |objects: &'static [(&'static str, &'static str)]| {
            let bodies = Few(objects);
            let context = DecodeContext {
                bodies: Some(&bodies),
                ..DecodeContext::default()
            };
            let mut out = Vec::new();
            Otlp.decode(record.as_bytes(), &context, &mut out).unwrap();
            let found = out.remove(0);
            let text = |f: Option<crate::exchange::FieldText>| f.map_or(String::new(), |f| f.text);
            let states = (found.prompt_state, found.response_state);
            (states, text(found.prompt), text(found.response))
        };
        let all: &'static [_] = Box::leak(Box::new([asked, answered, system]));
        let (states, prompt, response) = decode(all);
        assert_eq!(states, (Full, Full));
        assert_eq!(
            (prompt.as_str(), response.as_str()),
            ("be short\nhow many", "forty")
        );
        assert_eq!(decode(&all[..1]).0, (Truncated, External));
        assert_eq!(decode(&[]).0, (External, External));
    }
}
