//! Request bodies: chat, completions, responses and messages.

use super::content::Gathered;
use super::{NESTED_JSON_LEVELS, push_candidate, salvage};
use crate::exchange::{
    ContentState, Correlation, CorrelationKind, FieldText, Modalities, TenantCandidate,
};
use crate::format::json::Json;
use crate::format::markers;

/// What a request body says.
#[derive(Clone, Default)]
pub struct Request {
    /// One text a prompt; only the legacy completions have several.
    pub prompts: Vec<FieldText>,
    /// How much of them is here.
    pub state: ContentState,
    /// What they are made of.
    pub modalities: Modalities,
    /// Model asked for.
    pub model: Option<String>,
    /// Fields that could name the tenant.
    pub candidates: Vec<TenantCandidate>,
    /// Conversation ids; they never link.
    pub correlation: Vec<Correlation>,
}

impl Request {
    /// Reads a body: an object, a list of messages, a plain text, or JSON in a string.
    pub fn read(body: &Json<'_>) -> Request {
        let mut request = Request::read_nested(body, 0);
        request.seal();
        request
    }

    fn seal(&mut self) {
        for prompt in &mut self.prompts {
            let marked = markers::seal(prompt);
            if let (Some(state), ContentState::Full) = (marked, self.state) {
                self.state = state;
            }
        }
    }

    /// A prompt that is a list of messages.
    pub fn of_messages(messages: &Json<'_>) -> Request {
        let mut gathered = Gathered::prompt();
        gathered.has_content = true;
        gathered.messages(messages);
        let mut request = Request::default();
        request.take(gathered);
        request.seal();
        request
    }

    /// A prompt that is a plain text, whatever it looks like.
    pub fn of_text(text: &str) -> Request {
        Request::of_owned(text.to_owned())
    }

    /// As [`of_text`](Request::of_text), without a copy.
    pub fn of_owned(text: String) -> Request {
        let prompt = FieldText::of(text);
        let mut request = Request {
            state: ContentState::Full,
            ..Request::default()
        };
        if !prompt.text.is_empty() {
            request.modalities.insert(Modalities::TEXT);
        }
        request.prompts.push(prompt);
        request.seal();
        request
    }

    fn read_nested(body: &Json<'_>, level: u8) -> Request {
        let mut request = Request::default();
        match body {
            Json::Str(text) => {
                let open = text.trim_start();
                let parsed = Json::parse(open);
                if level < NESTED_JSON_LEVELS
                    && open.starts_with(['{', '[', '"'])
                    && let Ok(inner) = &parsed
                    && looks_like_request(inner, level)
                {
                    return Request::read_nested(inner, level + 1);
                }
                if parsed.is_err_and(|e| e.is_eof()) && markers::is_cut_body(open) {
                    return salvage::request(text);
                }
                let mut gathered = Gathered::prompt();
                gathered.text(text);
                request.take(gathered);
            }
            Json::Array(items) if !items.is_empty() => request.prompt_value(body),
            Json::Object(_) => request.read_object(body, level),
            _ => {}
        }
        request
    }

    fn read_object(&mut self, body: &Json<'_>, level: u8) {
        let own = ["messages", "prompt", "input", "contents"];
        let wraps = !own.iter().any(|key| body.has(key));
        if wraps
            && level < NESTED_JSON_LEVELS
            && let Some(inner) = body.some("body")
        {
            *self = Request::read_nested(inner, level + 1);
            return;
        }
        self.model = body.str_of("model").map(str::to_owned);
        for key in ["safety_identifier", "user"] {
            push_candidate(&mut self.candidates, "user", body.some(key));
        }
        push_candidate(
            &mut self.candidates,
            "user",
            body.at(&["metadata", "user_id"]),
        );
        let mut gathered = Gathered::prompt();
        let system = [
            "system",
            "instructions",
            "systemInstruction",
            "system_instruction",
        ];
        for text in system.iter().filter_map(|key| body.some(key)) {
            gathered.content(text.some("parts").unwrap_or(text));
        }
        if let Some(messages) = body.any(&["messages", "contents"]) {
            gathered.has_content = true;
            gathered.messages(messages);
        }
        match body.some("input") {
            Some(Json::Array(items)) if items.iter().all(|i| matches!(i, Json::U64(_))) => {
                self.state = ContentState::IdsOnly;
            }
            Some(input) => gathered.messages(input),
            None => {}
        }
        self.clouds(body, &mut gathered);
        // Chat templates write the tools into the prompt as JSON: they are text of the tenant too.
        for tool in body
            .any(&["tools", "functions"])
            .map(Json::items)
            .unwrap_or_default()
        {
            gathered.modalities.insert(Modalities::TOOL);
            gathered.text(&tool.some("function").unwrap_or(tool).to_text());
        }
        self.take(gathered);
        if let Some(prompt) = body.some("prompt") {
            self.prompt_value(prompt);
        }
        self.conversation(body);
    }

    /// The names that single models of the clouds have for a prompt and its tools.
    fn clouds(&mut self, body: &Json<'_>, gathered: &mut Gathered) {
        if body.has("messages") || body.has("input") || body.has("prompt") {
            // `message` and `inputText` may then be anything.
        } else if let Some(text) = body.str_of("inputText") {
            gathered.text(text);
        } else if let Some(text) = body.str_of("message") {
            for turn in body
                .get("chat_history")
                .map(Json::items)
                .unwrap_or_default()
            {
                turn.any(&["message", "content"])
                    .into_iter()
                    .for_each(|t| gathered.content(t));
            }
            gathered.text(text);
        }
        for tool in body
            .at(&["toolConfig", "tools"])
            .map(Json::items)
            .unwrap_or_default()
        {
            if let Some(spec) = tool.some("toolSpec") {
                gathered.modalities.insert(Modalities::TOOL);
                gathered.text(&spec.to_text());
            }
        }
    }

    /// Earlier turns of a conversation, or a cached beginning of the prompt, that the provider
    /// keeps are not in the record.
    fn conversation(&mut self, body: &Json<'_>) {
        let conversation = body.any(&["conversation", "thread_id"]);
        let keys = [
            "previous_response_id",
            "cachedContent",
            "cached_content",
            "assistant_id",
        ];
        if conversation.is_none() && body.any(&keys).is_none() {
            return;
        }
        if self.state != ContentState::IdsOnly {
            self.state = ContentState::Stateful;
        }
        let id = conversation.and_then(|c| c.as_id().or_else(|| c.get("id")?.as_id()));
        if let Some(value) = id {
            self.correlation.push(Correlation {
                kind: CorrelationKind::ConversationId,
                value,
            });
        }
    }

    /// `prompt` of the legacy completions, or a bare list: texts, ids, lists of ids, messages.
    pub fn prompt_value(&mut self, prompt: &Json<'_>) {
        match prompt {
            Json::Array(items) if items.iter().any(|i| matches!(i, Json::Object(_))) => {
                let mut gathered = Gathered::prompt();
                gathered.messages(prompt);
                self.take(gathered);
            }
            Json::Array(items) if items.iter().any(|i| matches!(i, Json::Str(_))) => {
                for text in items.iter().filter_map(Json::as_str) {
                    self.push_prompt(text);
                }
            }
            Json::Array(items) if !items.is_empty() && self.prompts.is_empty() => {
                self.state = ContentState::IdsOnly;
            }
            Json::Str(text) => self.push_prompt(text),
            _ => {}
        }
    }

    fn push_prompt(&mut self, text: &str) {
        self.prompts.push(FieldText::of(text));
        self.modalities.insert(Modalities::TEXT);
        self.state = ContentState::Full;
    }

    fn take(&mut self, gathered: Gathered) {
        self.modalities.insert(gathered.modalities);
        if gathered.has_content || !gathered.text.text.is_empty() {
            self.prompts.push(gathered.text);
            self.state = ContentState::Full;
        }
    }
}

fn looks_like_request(json: &Json<'_>, level: u8) -> bool {
    match json {
        Json::Object(_) => {
            let keys = [
                "messages",
                "prompt",
                "input",
                "body",
                "contents",
                "inputText",
            ];
            keys.iter().any(|key| json.has(key))
        }
        Json::Array(items) => {
            let keys = ["role", "content", "parts"];
            let message = |item: &Json<'_>| keys.iter().any(|key| item.has(key));
            !items.is_empty() && items.iter().all(message)
        }
        // JSON in JSON in JSON: what counts is the innermost.
        Json::Str(text) if level + 1 < NESTED_JSON_LEVELS => {
            Json::parse(text).is_ok_and(|inner| looks_like_request(&inner, level + 1))
        }
        _ => false,
    }
}
