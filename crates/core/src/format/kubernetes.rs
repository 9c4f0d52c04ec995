//! What a cluster says of its engines: pods and workloads as JSON (`kubectl get pods -o json`) and
//! the values of a Helm release (`helm get values -o json`).
//!
//! The launch arguments state window, page size and mode, seldom the pool. A pod says since when
//! they are in force; a workload or a release does not.

use super::json::{Json, decode_lenient};
use super::{DecodeContext, LogFormat, envelope};
use crate::engine::{CapacityFacts, EngineEvent, EventKind};
use crate::exchange::{Exchange, RecordKind, RejectReason, Role, TimeMicros, TimeZoneSource};

/// The format; see the module.
pub struct Kubernetes;

/// Deeper values are not looked at.
const MAX_DEPTH: u32 = 32;

/// Engines of one document that are read, at most.
const MAX_EVENTS: usize = 4096;

/// Kinds of documents whose pods may be engines; a list holds them in `items`.
const KINDS: [&str; 10] = [
    "Pod",
    "PodList",
    "List",
    "Deployment",
    "DeploymentList",
    "StatefulSet",
    "StatefulSetList",
    "LeaderWorkerSet",
    "DaemonSet",
    "ReplicaSet",
];

/// Where charts keep arguments of a process.
const ARGUMENT_KEYS: [&str; 7] = [
    "args",
    "command",
    "extraArgs",
    "engineArgs",
    "serverArgs",
    "launchCommand",
    "extra_args",
];

/// Settings whose value says what can leak or what logs show.
const FLAGS: [&str; 12] = [
    "allow_auto_truncate",
    "chunked_prefill_size",
    "disaggregation_decode_enable_radix_cache",
    "disaggregation_mode",
    "disaggregation_transfer_backend",
    "dp_size",
    "enable_hierarchical_cache",
    "enable_lmcache",
    "log_requests",
    "log_requests_level",
    "pp_size",
    "tp_size",
];

impl LogFormat for Kubernetes {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        if !record.trim_ascii_start().starts_with(b"{") {
            return 0;
        }
        let keys = envelope::keys_with(record, "\"kind\"");
        let has = |key: &str| keys.iter().any(|k| k == key);
        if has("apiVersion") && has("kind") && (has("items") || has("spec")) {
            return 95;
        }
        let engine = envelope::holds(record, "sglang") || envelope::holds(record, "vllm");
        if engine && envelope::holds(record, "\"--") && !read(record).is_empty() {
            60
        } else {
            0
        }
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &DecodeContext<'_>,
        _out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        if !read(record).is_empty() {
            return Ok(RecordKind::Event);
        }
        let keys = envelope::keys_with(record, "\"kind\"");
        match keys.iter().any(|key| key == "apiVersion") {
            true => Ok(RecordKind::Other),
            false => Err(RejectReason::UnknownShape),
        }
    }

    fn events(&self, record: &[u8], _context: &DecodeContext<'_>, out: &mut Vec<EngineEvent>) {
        out.append(&mut read(record));
    }
}

fn read(record: &[u8]) -> Vec<EngineEvent> {
    let found = decode_lenient(record, |text| {
        let document = Json::parse(text)?;
        let mut out = Vec::new();
        match document.str_of("kind") {
            Some(kind) if KINDS.contains(&kind) => match document.some("items") {
                Some(items) => items.items().iter().for_each(|item| object(item, &mut out)),
                None => object(&document, &mut out),
            },
            Some(_) if document.has("apiVersion") => {}
            _ => values(&document, MAX_DEPTH, &mut out),
        }
        Ok(out)
    });
    found.unwrap_or_default()
}

/// A pod, or what makes pods.
fn object(object: &Json<'_>, out: &mut Vec<EngineEvent>) {
    let pod = object.str_of("kind").is_none_or(|kind| kind == "Pod");
    let name = object.at(&["metadata", "name"]).and_then(Json::as_str);
    let template: [&[&str]; 3] = [
        &["spec"],
        &["spec", "template", "spec"],
        &["spec", "leaderWorkerTemplate", "workerTemplate", "spec"],
    ];
    let specs = template.iter().filter_map(|path| object.at(path));
    for container in specs
        .filter_map(|spec| spec.some("containers"))
        .flat_map(Json::items)
    {
        let words: Vec<String> = ["command", "args"]
            .iter()
            .filter_map(|key| container.some(key))
            .flat_map(words)
            .collect();
        let image = container.str_of("image");
        let Some(mut event) = launch(&words, image) else {
            continue;
        };
        if pod {
            event.node = name.map(str::to_owned);
            event.t = started(object, container.str_of("name"));
            event.t_zone = match event.t {
                Some(_) => TimeZoneSource::Utc,
                None => TimeZoneSource::Unknown,
            };
        }
        push(event, out);
    }
}

/// What names neither node nor model would hold for everything: it is told, and sets no capacity.
fn push(mut event: EngineEvent, out: &mut Vec<EngineEvent>) {
    let model = event.capacity.as_ref().and_then(|c| c.model.as_ref());
    if event.node.is_none() && model.is_none() {
        event.capacity = None;
    }
    if out.len() < MAX_EVENTS {
        out.push(event);
    }
}

/// When the container, else the pod, was started.
fn started(pod: &Json<'_>, container: Option<&str>) -> Option<TimeMicros> {
    let statuses = pod.at(&["status", "containerStatuses"]);
    let own = statuses
        .map(Json::items)
        .unwrap_or_default()
        .iter()
        .find(|status| status.str_of("name") == container);
    let running = own.and_then(|status| status.at(&["state", "running", "startedAt"]));
    envelope::utc(running.or_else(|| pod.at(&["status", "startTime"])))
}

/// Looks for arguments of engines in a chart's values.
fn values(value: &Json<'_>, depth: u32, out: &mut Vec<EngineEvent>) {
    if depth == 0 || out.len() >= MAX_EVENTS {
        return;
    }
    for (key, inner) in value.entries() {
        if ARGUMENT_KEYS.contains(&&**key) {
            let image = value.some("image");
            let image = image.and_then(|i| i.as_str().or_else(|| i.str_of("repository")));
            if let Some(event) = launch(&words(inner), image) {
                push(event, out);
            }
        } else {
            values(inner, depth - 1, out);
        }
    }
    for item in value.items() {
        values(item, depth - 1, out);
    }
}

/// The words of a command, given as a list or as one text. A shell's script is one of the list.
fn words(command: &Json<'_>) -> Vec<String> {
    let texts: Vec<&str> = match command {
        Json::Str(text) => vec![text],
        list => list.items().iter().filter_map(Json::as_str).collect(),
    };
    let mut out = Vec::new();
    for text in texts {
        if text.contains(char::is_whitespace) && text.contains("--") {
            let parts = text.split(|c: char| c.is_whitespace() || c == '\\');
            out.extend(parts.filter(|p| !p.is_empty()).map(unquoted));
        } else {
            out.push(unquoted(text));
        }
    }
    out
}

fn unquoted(word: &str) -> String {
    word.trim_matches(['"', '\'']).to_owned()
}

/// The arguments of one process.
struct Arguments<'a>(&'a [String]);

impl<'a> Arguments<'a> {
    /// The value of `--name VALUE` or `--name=VALUE`; the empty text where the flag stands alone.
    fn get(&self, name: &str) -> Option<&'a str> {
        let at = |word: &str| {
            let word = word.strip_prefix("--")?;
            let (key, value) = match word.split_once('=') {
                Some((key, value)) => (key, Some(value.len())),
                None => (word, None),
            };
            (key.replace('_', "-") == name).then_some(value)
        };
        // The last one counts, as argument parsers have it.
        let (place, inline) = self
            .0
            .iter()
            .enumerate()
            .rev()
            .find_map(|(place, word)| Some((place, at(word)?)))?;
        let word = self.0.get(place)?;
        match inline {
            Some(length) => word.get(word.len() - length..),
            None => Some(
                self.0
                    .get(place + 1)
                    .filter(|next| !next.starts_with("--"))
                    .map_or("", String::as_str),
            ),
        }
    }

    fn count(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok().filter(|n| *n > 0)
    }

    fn name(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        (!value.is_empty() && value.len() <= 256).then(|| value.to_owned())
    }
}

/// What the arguments of an engine say; `None` for any other process.
fn launch(words: &[String], image: Option<&str>) -> Option<EngineEvent> {
    let arguments = Arguments(words);
    let named = |engine: &str| {
        words.iter().any(|word| word.contains(engine))
            || image.is_some_and(|image| image.contains(engine))
    };
    let told = ["context-length", "max-model-len", "page-size", "block-size"];
    let engine = match (named("sglang"), named("vllm")) {
        (true, _) => "sglang",
        (_, true) => "vllm",
        _ => return None,
    };
    let served = words.iter().any(|word| {
        word.contains("launch_server") || word == "serve" || word.contains("api_server")
    });
    if !served && !told.iter().any(|name| arguments.get(name).is_some()) {
        return None;
    }
    Some(match engine {
        "sglang" => sglang(&arguments, image),
        _ => vllm(&arguments, image),
    })
}

fn sglang(arguments: &Arguments<'_>, image: Option<&str>) -> EngineEvent {
    let role = arguments.get("disaggregation-mode");
    let facts = CapacityFacts {
        model: arguments
            .name("served-model-name")
            .or_else(|| arguments.name("model-path"))
            .or_else(|| arguments.name("model")),
        version: image.and_then(version),
        mode: Some(match role {
            Some("prefill" | "decode") => "disaggregated",
            _ => "unified",
        }),
        pool_tokens: arguments.count("max-total-tokens"),
        window_tokens: arguments.count("context-length"),
        page_tokens: arguments.count("page-size"),
        flags: flags(arguments),
    };
    event("sglang", role, facts)
}

fn vllm(arguments: &Arguments<'_>, image: Option<&str>) -> EngineEvent {
    let role = arguments.get("kv-transfer-config").and_then(|config| {
        let config = Json::parse(config).ok()?;
        match config.str_of("kv_role")? {
            "kv_producer" => Some("prefill"),
            "kv_consumer" => Some("decode"),
            _ => None,
        }
    });
    let page = arguments.count("block-size");
    let blocks = arguments.count("num-gpu-blocks-override");
    let place = arguments.0.iter().position(|word| word == "serve");
    let positional = place
        .and_then(|at| arguments.0.get(at + 1))
        .filter(|word| !word.starts_with('-'))
        .cloned();
    let facts = CapacityFacts {
        model: arguments
            .name("served-model-name")
            .or_else(|| arguments.name("model"))
            .or(positional),
        version: image.and_then(version),
        mode: role.map(|_| "disaggregated"),
        pool_tokens: blocks.zip(page).and_then(|(n, size)| n.checked_mul(size)),
        window_tokens: arguments.count("max-model-len"),
        page_tokens: page,
        flags: flags(arguments),
    };
    event("vllm", role, facts)
}

fn event(engine: &'static str, role: Option<&str>, facts: CapacityFacts) -> EngineEvent {
    let say = |n: Option<i64>| n.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    let message = format!(
        "specified with a window of {} and a page size of {}",
        say(facts.window_tokens),
        say(facts.page_tokens)
    );
    let mut event = EngineEvent::new(EventKind::PodSpec, engine, message);
    (event.n1, event.n2) = (facts.page_tokens, facts.window_tokens);
    event.n3 = facts.pool_tokens;
    event.role = match role {
        Some("prefill") => Some(Role::Prefill),
        Some("decode") => Some(Role::Decode),
        _ => None,
    };
    event.capacity = Some(Box::new(facts));
    event
}

fn flags(arguments: &Arguments<'_>) -> Vec<(&'static str, String)> {
    let plain = |text: &str| {
        text.len() <= 40
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    };
    let value = |name: &str| match arguments.get(&name.replace('_', "-"))? {
        "" => Some("true".to_owned()),
        text => plain(text).then(|| text.to_ascii_lowercase()),
    };
    let found = FLAGS.iter().map(|name| (*name, value(name)));
    found.filter_map(|(name, v)| Some((name, v?))).collect()
}

/// The version in an image's tag: `…/sglang:v0.5.11-cu126` → `0.5.11`.
fn version(image: &str) -> Option<String> {
    let tag = image.rsplit('/').next()?.split_once(':')?.1;
    let tag = tag.split('@').next()?.trim_start_matches('v');
    let number = tag.split('-').next()?;
    let digits = number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.');
    digits.then(|| number.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<String> {
        words(&Json::Str(line.into()))
    }

    #[test]
    fn flags_in_both_spellings() {
        let line = arguments("x --page-size 64 --context_length=1048576 --page-size 128 --flag");
        let read = Arguments(&line);
        assert_eq!(read.count("page-size"), Some(128));
        assert_eq!(read.count("context-length"), Some(1_048_576));
        assert_eq!(read.get("flag"), Some(""));
        assert_eq!(read.get("none"), None);
    }

    #[test]
    fn launches_of_both_engines() {
        for (line, image, expected) in [
            (
                "python -m sglang.launch_server --context-length 1048576 --page-size 64 \
                 --disaggregation-mode decode",
                "lmsysorg/sglang:v0.5.11-cu126",
                Some((Some(1_048_576), None, Some(Role::Decode), Some("0.5.11"))),
            ),
            (
                "vllm serve some/model --max-model-len 4096 --block-size 16 \
                 --num-gpu-blocks-override 100",
                "vllm/vllm-openai:latest",
                Some((Some(4096), Some(1600), None, None)),
            ),
            ("nginx --context-length 5", "nginx:1.27", None),
            ("echo sglang --help", "busybox:1", None),
        ] {
            let found = launch(&arguments(line), Some(image)).map(|event| {
                let facts = event.capacity.unwrap();
                let version = facts.version.clone();
                (facts.window_tokens, facts.pool_tokens, event.role, version)
            });
            let expected = expected.map(|(w, p, r, v)| (w, p, r, v.map(str::to_owned)));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn a_text_that_talks_of_engines_is_no_release() {
        for record in [
            r#"{"note":"python -m sglang.launch_server --context-length 5"}"#,
            r#"{"prompt":["--context-length","sglang"],"x":1}"#,
            r#"{"kind":"ConfigMap","apiVersion":"v1","data":{"args":"sglang --page-size 1"}}"#,
        ] {
            assert_eq!(read(record.as_bytes()).len(), 0, "{record}");
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(60), "}".repeat(60));
        assert_eq!(read(deep.as_bytes()).len(), 0);
    }
}
