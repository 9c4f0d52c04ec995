//! Public sets of conversations as JSON: ShareGPT, WildChat and LMSYS-Chat.
//!
//! Each answer of a conversation is an exchange whose prompt is all that came before it; the
//! answers are numbered as choices of the record. The sets name no status and count no tokens.

use super::body::{add_correlation, extra_field, finish, push_candidate};
use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat, markers, native, time};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, FieldText, Modalities, Outcome, RecordKind,
    RejectReason, Role, TimeZoneSource,
};

/// ShareGPT: `conversations` of `from` and `value`.
pub struct ShareGpt;

/// WildChat: `conversation_hash` and `conversation`, with hashed addresses and times.
pub struct WildChat;

/// LMSYS-Chat: `conversation_id` and `conversation`, names replaced.
pub struct Lmsys;

/// Turns that a conversation may have.
const MAX_TURNS: usize = 4096;

/// Bytes of prompts that the answers of one conversation may copy.
const MAX_COPIED_BYTES: usize = 64 << 20;

/// What tells the sets apart.
struct Spelling {
    turns: &'static str,
    speaker: &'static str,
    text: &'static str,
    id: &'static str,
}

const SHARE_GPT: Spelling = Spelling {
    turns: "conversations",
    speaker: "from",
    text: "value",
    id: "id",
};
const WILD_CHAT: Spelling = Spelling {
    turns: "conversation",
    speaker: "role",
    text: "content",
    id: "conversation_hash",
};
const LMSYS: Spelling = Spelling {
    turns: "conversation",
    speaker: "role",
    text: "content",
    id: "conversation_id",
};

impl Spelling {
    fn sniff(&self, record: &[u8]) -> u8 {
        let Ok(keys) = decode_lenient(record, native::keys_of) else {
            return 0;
        };
        let has = |key: &str| keys.iter().any(|k| k == key);
        match (has(self.turns), has(self.id)) {
            (true, true) => 100,
            (true, false) if self.turns == "conversations" => 60,
            _ => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let mut found = decode_lenient(record, |text| self.explode(&Json::parse(text)?, context))?;
        if found.is_empty() {
            // Nobody answered.
            return Ok(RecordKind::Other);
        }
        out.append(&mut found);
        Ok(RecordKind::Exchange)
    }

    fn explode(
        &self,
        record: &Json<'_>,
        context: &DecodeContext<'_>,
    ) -> Result<Vec<Exchange>, Fault> {
        let Some(turns @ Json::Array(_)) = record.some(self.turns) else {
            return Err(RejectReason::UnknownShape.into());
        };
        if turns.items().len() > MAX_TURNS {
            return Err(RejectReason::InvalidField.into());
        }
        let base = self.base(record, context)?;
        let mut out = Vec::new();
        let mut before = FieldText::default();
        // The later parts of a conversation go on from what stands in the earlier ones.
        let mut complete = match part_of(record.some(self.id).and_then(Json::as_str)) {
            Some((_, part)) if part > 0 => ContentState::Stateful,
            _ => ContentState::Full,
        };
        let mut copied = 0usize;
        for turn in turns.items() {
            let text = turn.str_of(self.text).unwrap_or_default();
            let speaker = turn.str_of(self.speaker).unwrap_or_default();
            let answers = matches!(speaker, "gpt" | "assistant" | "chatgpt" | "bard" | "bing");
            if answers {
                let mut exchange = base.clone();
                exchange.choice = out.len() as u32;
                copied = copied.saturating_add(before.text.len());
                let nothing = before.text.is_empty() && complete == ContentState::Full;
                exchange.prompt_state = if nothing {
                    ContentState::Absent
                } else if copied <= MAX_COPIED_BYTES {
                    exchange.prompt = Some(before.clone());
                    complete
                } else {
                    // It is in the answers before this one; so many copies would fill the memory.
                    ContentState::External
                };
                answer(turn, text, &mut exchange, context)?;
                out.push(exchange);
            } else {
                // The sets have turns that nobody kept.
                if turn.str_of(self.text).is_none() && complete == ContentState::Full {
                    complete = ContentState::Truncated;
                }
            }
            before.push_part(text);
        }
        Ok(out)
    }

    fn base(
        &self,
        record: &Json<'_>,
        context: &DecodeContext<'_>,
    ) -> Result<Exchange, RejectReason> {
        let mut base = Exchange {
            role: Some(Role::Client),
            model_raw: record.str_of("model").map(str::to_owned),
            t_zone: TimeZoneSource::Unknown,
            ..Exchange::default()
        };
        let id = record.some(self.id).and_then(Json::as_id);
        base.unique_id = id.is_some();
        if let Some(id) = id {
            let whole = part_of(Some(&id)).map_or(id.as_str(), |(name, _)| name);
            let whole = whole.to_owned();
            add_correlation(&mut base, CorrelationKind::ConversationId, whole);
            base.request_id = Some(id);
        }
        if let Some(stamp) = record.some("timestamp") {
            // Set by the end of the conversation; turns have their own in later releases.
            (base.t_start, base.t_zone) = time::read(stamp, context.zone)?;
        }
        let address = record.some("hashed_ip");
        let nested = record.some(self.turns).map(Json::items).unwrap_or_default();
        let address = address.or_else(|| nested.iter().find_map(|turn| turn.some("hashed_ip")));
        push_candidate(&mut base.tenant_candidates, "ip", address);
        for key in ["language", "country", "redacted", "toxic"] {
            if let Some(value) = record.some(key) {
                base.extra.push(extra_field(key, value));
            }
        }
        Ok(base)
    }
}

/// Name and number of a part: ShareGPT cut long conversations into `NAME_0`, `NAME_1`, …
fn part_of(id: Option<&str>) -> Option<(&str, u32)> {
    let (name, part) = id?.rsplit_once('_')?;
    Some((name, part.parse().ok()?))
}

fn answer(
    turn: &Json<'_>,
    text: &str,
    exchange: &mut Exchange,
    context: &DecodeContext<'_>,
) -> Result<(), RejectReason> {
    if let Some(stamp) = turn.some("timestamp") {
        let (at, zone) = time::read(stamp, context.zone)?;
        if at.is_some() {
            (exchange.t_start, exchange.t_zone) = (at, zone);
        }
    }
    let mut field = FieldText::of(text);
    let marked = markers::seal(&mut field);
    exchange.response_state = marked.unwrap_or(ContentState::Full);
    exchange.response = Some(field);
    exchange.modalities.insert(Modalities::TEXT);
    exchange.outcome = Outcome::Ok;
    if let Some(prompt) = &mut exchange.prompt
        && let (Some(state), ContentState::Full) = (markers::seal(prompt), exchange.prompt_state)
    {
        exchange.prompt_state = state;
    }
    let usage = turn.some("usage").map(super::body::Usage::read);
    if let Some(usage) = usage {
        exchange.prompt_tokens = usage.prompt;
        exchange.completion_tokens = usage.completion;
        exchange.cached_tokens = usage.cached;
        exchange.tokens_source = Some("provider");
    }
    finish(exchange);
    Ok(())
}

/// The three sets differ only in their spelling.
macro_rules! chat_set {
    ($format:ident, $name:literal, $spelling:expr) => {
        impl LogFormat for $format {
            fn name(&self) -> &'static str {
                $name
            }

            fn sniff(&self, record: &[u8]) -> u8 {
                $spelling.sniff(record)
            }

            fn decode(
                &self,
                record: &[u8],
                context: &DecodeContext<'_>,
                out: &mut Vec<Exchange>,
            ) -> Result<RecordKind, RejectReason> {
                $spelling.decode(record, context, out)
            }
        }
    };
}

chat_set!(ShareGpt, "sharegpt", SHARE_GPT);
chat_set!(WildChat, "wildchat", WILD_CHAT);
chat_set!(Lmsys, "lmsys", LMSYS);
