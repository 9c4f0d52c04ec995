//! Pentimento's own JSONL: one exchange a line, keys named as the columns of `exchanges`.

mod keys;

pub(super) use keys::keys_of;

use super::body::{self, Request, Response};
use super::json::{Fault, Json, Text, decode_lenient};
use super::reader::Reader;
use super::{DecodeContext, LogFormat, Wanted, thin, time};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, ExtraField, Modalities, Outcome, RecordKind,
    RejectReason, Role, TenantCandidate, TimeZoneSource,
};
use keys::{ID_KEYS, OWN_KEYS, TEXT_KEYS, known_key};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The format; see the module.
pub struct Native;

impl LogFormat for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let Ok(keys) = decode_lenient(record, keys_of) else {
            return 0;
        };
        let count = |known: &[&str]| keys.iter().filter(|k| known.contains(&k.as_str())).count();
        let pair = [
            "request",
            "req",
            "request_body",
            "body",
            "event",
            "obj",
            "choices",
            "completion",
            "output",
            "response_body",
        ];
        let foreign = count(&pair);
        match (count(&TEXT_KEYS), count(&OWN_KEYS)) {
            _ if foreign > 0 => 10,
            (1.., 2..) => 90,
            (1.., 1) => 70,
            (0, 3..) => 70,
            (2.., 0) => 40,
            (1, 0) | (0, 1..) => 15,
            _ => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        self.decode_again(record, context, Wanted::All, out)
    }

    fn decode_again(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        wanted: Wanted,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let thin = match wanted {
            Wanted::Facts => thin::without(record, says_nothing_else),
            _ => None,
        };
        let record = thin.as_deref().unwrap_or(record);
        let mut exchanges = decode_lenient(record, |text| {
            let fields = Fields::read(text, wanted)?;
            Ok(fields.exchanges(context)?)
        })?;
        out.append(&mut exchanges);
        Ok(RecordKind::Exchange)
    }
}

/// The known fields of a record, and the raw text of the others.
#[derive(Default)]
struct Fields<'a> {
    known: Vec<(&'static str, Json<'a>)>,
    extra: Vec<ExtraField>,
}

impl<'a> Fields<'a> {
    fn read(text: &'a str, wanted: Wanted) -> Result<Fields<'a>, Fault> {
        if let Some(fields) = Fields::read_fast(text, wanted) {
            return Ok(fields);
        }
        if !text.trim_start().starts_with('{') {
            serde_json::from_str::<serde::de::IgnoredAny>(text)?;
            return Err(RejectReason::UnknownShape.into());
        }
        let mut from = serde_json::Deserializer::from_str(text);
        let fields = from.deserialize_map(FieldsVisitor)?;
        from.end()?;
        Ok(fields)
    }

    fn read_fast(text: &'a str, wanted: Wanted) -> Option<Fields<'a>> {
        let mut fields = Fields::default();
        let mut reader = Reader::new(text);
        reader.object(|reader, key| {
            match known_key(&key) {
                Some(known) if is_left_out(known, wanted) => {
                    reader.skip()?;
                    fields.known.push((known, Json::Null));
                }
                Some(known) => fields.known.push((known, reader.value()?)),
                None => fields.extra.push(extra_of(key, reader.skip()?)),
            }
            Some(())
        })?;
        reader.at_end().then_some(fields)
    }

    /// The value of a known key; `null` reads as absent.
    fn get(&self, key: &str) -> Option<&Json<'a>> {
        let found = self.known.iter().rev().find(|(k, _)| *k == key);
        found.map(|(_, v)| v).filter(|v| !matches!(v, Json::Null))
    }

    /// Takes the value of a known key out; what is absent reads as `null`.
    fn take(&mut self, key: &str) -> Json<'a> {
        let found = self.known.iter_mut().rev().find(|(k, _)| *k == key);
        found.map_or(Json::Null, |(_, v)| std::mem::replace(v, Json::Null))
    }

    /// Reads a value, refusing one of a wrong type.
    fn read_as<T>(
        &self,
        key: &str,
        read: impl Fn(&Json<'a>) -> Option<T>,
    ) -> Result<Option<T>, RejectReason> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => read(value).map(Some).ok_or(RejectReason::InvalidField),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, RejectReason> {
        // An empty name is no name, and no error either.
        let blank = |v: &&Json<'a>| v.as_str().is_none_or(|text| !text.trim().is_empty());
        match self.get(key).filter(blank) {
            None => Ok(None),
            Some(value) => value.as_id().map(Some).ok_or(RejectReason::InvalidField),
        }
    }

    /// A word of a fixed list. Another word is kept among the extra fields: to lose the record
    /// for it would lose evidence. (Not so for the states: a wrong one could clear an answer.)
    fn word<T>(
        &mut self,
        key: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, RejectReason> {
        let word = self.read_as(key, |v| v.as_str().map(str::to_owned))?;
        let parsed = word.as_deref().and_then(parse);
        if parsed.is_none() && word.is_some() {
            let value = self.get(key).map(|value| body::extra_field(key, value));
            self.extra.extend(value);
        }
        Ok(parsed)
    }

    fn count(&self, key: &str) -> Result<Option<i64>, RejectReason> {
        self.read_as(key, |v| v.as_i64().filter(|n| *n >= 0))
    }

    fn exchanges(mut self, context: &DecodeContext<'_>) -> Result<Vec<Exchange>, RejectReason> {
        if self.known.is_empty() {
            return Err(RejectReason::UnknownShape);
        }
        let mut base = Exchange {
            request_id: self.text("request_id")?,
            role: self.word("role", Role::parse)?,
            model_raw: self.text("model")?.or(self.text("model_raw")?),
            deployment: self.text("deployment")?,
            node: self.text("node")?,
            engine: self.text("engine")?.map(|e| e.to_lowercase()),
            engine_version: self.text("engine_version")?,
            http_status: self.status()?,
            finish_reason: self.finish_reason()?,
            prompt_tokens: self.count("prompt_tokens")?,
            completion_tokens: self.count("completion_tokens")?,
            cached_tokens: self.count("cached_tokens")?,
            choice: self
                .read_as("choice", |v| u32::try_from(v.as_i64()?).ok())?
                .unwrap_or(0),
            spec_accept_length: self.read_as("spec_accept_length", Json::as_f64)?,
            cache_hit: self.read_as("cache_hit", Json::as_bool)?,
            outcome: self.word("outcome", parse_outcome)?.unwrap_or_default(),
            prompt_state: self.state("prompt_state")?,
            response_state: self.state("response_state")?,
            ..Exchange::default()
        };
        base.unique_id = base.request_id.is_some();
        base.tokens_source = self.tokens_source(&base)?;
        self.times(&mut base, context)?;
        self.tenants(&mut base)?;
        self.ids(&mut base)?;
        for name in self.get("modalities").map(Json::items).unwrap_or_default() {
            base.modalities
                .insert(Modalities::parse(name.as_str().unwrap_or_default()));
        }
        base.extra = std::mem::take(&mut self.extra);
        let request = self.request()?;
        body::expand(base, request, self.response()?)
    }

    fn status(&self) -> Result<Option<u16>, RejectReason> {
        let read = |key| {
            self.read_as(key, |v: &Json<'a>| {
                u16::try_from(v.as_i64()?).ok().filter(|s| *s < 1000)
            })
        };
        let status = match read("http_status")? {
            Some(status) => Some(status),
            // The alias is a common word; what is no number there is no status.
            None => read("status").unwrap_or(None),
        };
        // 0 is what clients write where no answer came.
        Ok(status.filter(|s| *s > 0))
    }

    fn finish_reason(&self) -> Result<Option<String>, RejectReason> {
        let reason = self.read_as("finish_reason", |v| {
            v.as_str()
                .or_else(|| v.str_of("type"))
                .map(body::finish_reason)
        })?;
        Ok(reason.flatten())
    }

    fn state(&self, key: &str) -> Result<ContentState, RejectReason> {
        let state = self.read_as(key, |v| ContentState::parse(v.as_str()?))?;
        Ok(state.unwrap_or_default())
    }

    fn tokens_source(&mut self, base: &Exchange) -> Result<Option<&'static str>, RejectReason> {
        let known = ["engine", "provider", "gateway", "none"];
        let named = self.word("tokens_source", |name| {
            known.into_iter().find(|k| *k == name)
        })?;
        let counted = base.prompt_tokens.or(base.completion_tokens).is_some();
        Ok(match named {
            Some("none") => None,
            Some(name) => Some(name),
            None if !counted => None,
            None => match base.role {
                Some(Role::Unified | Role::Decode | Role::Prefill) => Some("engine"),
                _ => Some("gateway"),
            },
        })
    }

    fn times(&self, base: &mut Exchange, context: &DecodeContext<'_>) -> Result<(), RejectReason> {
        let mut zones = [TimeZoneSource::Utc; 3];
        let keys = [["t_start", "timestamp"], ["t_end"; 2], ["t_first_token"; 2]];
        let slots = [&mut base.t_start, &mut base.t_end, &mut base.t_first_token];
        for ((slot, names), zone) in slots.into_iter().zip(keys).zip(&mut zones) {
            let value = self.get(names[0]).or_else(|| self.get(names[1]));
            if let Some(value) = value {
                (*slot, *zone) = time::read(value, context.zone)?;
            }
        }
        // The least certain zone speaks for the record.
        let rank = |zone: &TimeZoneSource| match zone {
            TimeZoneSource::Utc => 0,
            TimeZoneSource::Offset => 1,
            TimeZoneSource::Assumed => 2,
            TimeZoneSource::Relative => 3,
            TimeZoneSource::Unknown => 4,
        };
        base.t_zone = zones.into_iter().max_by_key(rank).unwrap_or_default();
        Ok(())
    }

    fn tenants(&self, base: &mut Exchange) -> Result<(), RejectReason> {
        if let Some(value) = self.text("tenant")? {
            let kind = self
                .text("tenant_kind")?
                .unwrap_or_else(|| "tenant".to_owned());
            base.tenant_candidates.push(TenantCandidate { kind, value });
        }
        if let Some(list) = self.get("tenant_candidates") {
            if !matches!(list, Json::Array(_)) {
                return Err(RejectReason::InvalidField);
            }
            for item in list.items() {
                let kind = item.str_of("kind").ok_or(RejectReason::InvalidField)?;
                body::push_candidate(&mut base.tenant_candidates, kind, item.some("value"));
            }
        }
        Ok(())
    }

    fn ids(&self, base: &mut Exchange) -> Result<(), RejectReason> {
        if let Some(id) = base.request_id.clone() {
            body::add_correlation(base, CorrelationKind::GatewayLogId, id);
        }
        for (key, kind) in ID_KEYS {
            if let Some(value) = self.text(key)? {
                body::add_correlation(base, kind, value);
            }
        }
        for item in self.get("correlation").map(Json::items).unwrap_or_default() {
            let named = |kind: &CorrelationKind| item.str_of("kind") == Some(kind.as_str());
            let kind = CorrelationKind::ALL.into_iter().find(named);
            let kind = kind.ok_or(RejectReason::InvalidField)?;
            body::push_correlation(base, kind, item.some("value"));
        }
        Ok(())
    }

    fn request(&mut self) -> Result<Request, RejectReason> {
        if let Some(messages) = self.get("messages") {
            return match messages {
                Json::Array(_) | Json::Object(_) => Ok(Request::of_messages(messages)),
                Json::Str(_) => Ok(Request::read(messages)),
                _ => Err(RejectReason::InvalidField),
            };
        }
        match self.take("prompt") {
            Json::Null => Ok(Request::default()),
            Json::Str(text) => Ok(Request::of_owned(text.into_owned())),
            list @ Json::Array(_) => Ok(Request::read(&list)),
            _ => Err(RejectReason::InvalidField),
        }
    }

    fn response(&self) -> Result<Response, RejectReason> {
        let mut response = match self.get("response") {
            None => Response::default(),
            Some(body @ (Json::Str(_) | Json::Object(_) | Json::Array(_))) => Response::read(body),
            Some(_) => return Err(RejectReason::InvalidField),
        };
        let texts = [self.get("reasoning"), self.get("tool")];
        if texts.iter().any(Option::is_some) {
            response.add_texts(texts[0], texts[1]);
        }
        Ok(response)
    }
}

/// Whether a value is text and nothing but text: a response may also be a body, with counts, or a
/// stream of chunks, also inside a string.
fn says_nothing_else(key: &[u8], value: &[u8]) -> bool {
    match key {
        b"prompt" | b"messages" | b"reasoning" | b"tool" => true,
        b"response" => {
            let body = ["data", "event", "id", "retry"];
            value.strip_prefix(b"\"").is_some_and(|text| {
                text.first().is_some_and(u8::is_ascii_alphanumeric)
                    && !body.iter().any(|word| text.starts_with(word.as_bytes()))
            })
        }
        _ => false,
    }
}

/// Whether the text of a key is of no use to the caller.
fn is_left_out(key: &str, wanted: Wanted) -> bool {
    match wanted {
        // What `Facts` can do without is gone by now.
        Wanted::All | Wanted::Facts => false,
        Wanted::Answer => matches!(key, "messages" | "prompt"),
        // The response may hold choices, each of which is an exchange.
        Wanted::Prompt => matches!(key, "reasoning" | "tool"),
    }
}

fn extra_of(key: Cow<'_, str>, raw: &str) -> ExtraField {
    ExtraField {
        key: key.into_owned(),
        json_type: raw_type(raw),
        raw: raw.as_bytes().to_vec(),
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Fields::default();
        while let Some(Text(key)) = map.next_key()? {
            match known_key(&key) {
                Some(known) => fields.known.push((known, map.next_value()?)),
                None => {
                    let raw: &'de RawValue = map.next_value()?;
                    fields.extra.push(extra_of(key, raw.get()));
                }
            }
        }
        Ok(fields)
    }
}

fn raw_type(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'"') => "string",
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b't' | b'f') => "bool",
        Some(b'n') => "null",
        _ => "number",
    }
}

fn parse_outcome(name: &str) -> Option<Outcome> {
    use Outcome::*;
    [Ok, Error, Aborted, Rejected, Unknown]
        .into_iter()
        .find(|o| o.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_again_is_the_same() {
        let context = DecodeContext::default();
        for record in [
            r#"{"request_id":"r","tenant":"t","prompt":"one\ntwo","response":"x"}"#,
            r#"{"prompt":"p","response":"a ...[truncated]","reasoning":"why","tool":"f"}"#,
            r#"{"messages":[{"role":"user","content":"p"}],"reasoning":"why"}"#,
            r#"{"prompt":"half \ud83d","response":{"choices":[{"text":"a"},{"text":"b"}]}}"#,
            r#"{"prompt":"p","response":"data: {\"choices\":[{\"index\":0,\"delta\":{}}]}"}"#,
            r#"{"prompt":"p","response":{"usage":{"prompt_tokens":7},"choices":[]}}"#,
            r#"{"prompt":7}"#,
        ] {
            let read = |wanted| {
                let mut out = Vec::new();
                let kind = Native.decode_again(record.as_bytes(), &context, wanted, &mut out);
                kind.map(|_| out)
            };
            let Ok(all) = read(Wanted::All) else { continue };
            let facts = read(Wanted::Facts).unwrap();
            assert_eq!(all.len(), facts.len(), "{record}");
            for (all, facts) in all.iter().zip(&facts) {
                let numbers = |e: &Exchange| (e.request_id.clone(), e.prompt_tokens, e.choice);
                assert_eq!(numbers(all), numbers(facts), "{record}");
                assert!(facts.prompt.is_none(), "{record}");
            }
            let answer = read(Wanted::Answer).unwrap();
            let prompt = read(Wanted::Prompt).unwrap();
            assert_eq!(
                (all.len(), all.len()),
                (answer.len(), prompt.len()),
                "{record}"
            );
            for ((all, answer), prompt) in all.iter().zip(&answer).zip(&prompt) {
                let texts =
                    |e: &Exchange| (e.response.clone(), e.reasoning.clone(), e.tool.clone());
                assert_eq!(texts(all), texts(answer), "{record}");
                assert_eq!(all.response_state, answer.response_state, "{record}");
                assert_eq!(all.prompt, prompt.prompt, "{record}");
                assert_eq!(all.prompt_state, prompt.prompt_state, "{record}");
                assert!(
                    answer.prompt.is_none() && prompt.reasoning.is_none(),
                    "{record}"
                );
            }
        }
    }
}
