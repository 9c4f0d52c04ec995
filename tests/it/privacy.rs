//! The case must not become a second breach: rare words are planted wherever a log may hold text,
//! and nothing of a case may hold four of them in a row.

use crate::kit::{Audit, Lab, exchange, only, pentimento, rows, stdout, with, words};
use pentimento_store::rows::TextRow;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Five rare words, and the field they stand in.
struct Planted {
    place: String,
    words: Vec<String>,
    /// It is a prompt or a response, which `texts` keeps on demand.
    kept: bool,
}

#[derive(Default)]
struct Garden {
    planted: Vec<Planted>,
}

impl Garden {
    fn plant(&mut self, place: &str, kept: bool) -> String {
        let text = words(200 + self.planted.len() as u32, 5);
        self.planted.push(Planted {
            place: place.to_owned(),
            words: text.split(' ').map(str::to_owned).collect(),
            kept,
        });
        text
    }

    /// A prompt or response.
    fn text(&mut self, place: &str) -> String {
        self.plant(place, true)
    }

    /// Anything else.
    fn other(&mut self, place: &str) -> String {
        self.plant(place, false)
    }

    /// The fields of which a text holds four words in a row, whatever stands between them.
    fn seen_in(&self, bytes: &[u8]) -> Vec<&str> {
        let text = String::from_utf8_lossy(bytes).to_lowercase();
        let plain: Vec<&str> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .collect();
        let plain = plain.join(" ");
        let run = |p: &&Planted| p.words.windows(4).any(|w| plain.contains(&w.join(" ")));
        self.planted
            .iter()
            .filter(run)
            .map(|p| p.place.as_str())
            .collect()
    }
}

fn native(g: &mut Garden) -> Vec<Value> {
    let arguments = json!({"q": g.text("native call")}).to_string();
    let base = exchange("n-1", "acme", "08:00:00", "x", "y");
    let mut record = with(
        base,
        json!({
            "messages": [
                {"role": "system", "content": g.text("native system")},
                {"role": "user", "content": [{"type": "text", "text": g.text("native part")}]},
                {"role": "assistant", "content": g.text("native assistant"), "tool_calls": [
                    {"id": "t", "type": "function", "function":
                        {"name": "f", "arguments": arguments}}]},
                {"role": "tool", "content": g.text("native tool result")},
            ],
            "response": g.text("native response"),
            "reasoning": g.text("native reasoning"),
            "note": g.other("native unknown field"),
            "deep": {"a": [{"b": g.other("native nested field")}]},
            "outcome": g.other("native outcome"),
            "role": g.other("native role"),
            "modalities": [g.other("native modality")],
            "tokens_source": g.other("native tokens source"),
            "error": {"message": g.other("native error")},
            "metadata": {"m": g.other("native metadata")},
        }),
    );
    let key = g.other("native unknown key");
    record[key] = json!(1);
    let prompt = exchange("n-2", "bolt", "08:01:00", "x", "y");
    let prompt = with(
        prompt,
        json!({
            "messages": null, "prompt": g.text("native prompt"), "finish_reason": g.other("finish"),
        }),
    );
    // Refused records must not leave their text in a reason.
    let wrong = exchange("n-3", "bolt", "08:02:00", &g.other("rejected prompt"), "y");
    let wrong = with(wrong, json!({"prompt_tokens": g.other("rejected count")}));
    let time = exchange("n-4", "bolt", "08:03:00", "x", "y");
    let time = with(time, json!({"t_start": g.other("rejected time")}));
    vec![record, prompt, wrong, time]
}

fn openai(g: &mut Garden) -> Vec<Value> {
    let chat = json!({
        "id": "o-1", "user_id": "acme", "timestamp": "2026-09-01T08:10:00Z", "status": 200,
        "note": g.other("openai unknown field"),
        "headers": {"x-note": g.other("openai header beside")},
        "request": {
            "model": "m",
            "headers": {"x-note": g.other("openai header")},
            "metadata": {"topic": g.other("openai metadata")},
            "tools": [{"type": "function", "function":
                {"name": "f", "description": g.text("openai tool description")}}],
            "messages": [
                {"role": "system", "content": g.text("openai system")},
                {"role": "user", "content": [{"type": "text", "text": g.text("openai part")}]},
            ]},
        "response": {
            "id": "chatcmpl-1", "model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": 9},
            "service_note": g.other("openai response field"),
            "choices": [{"index": 0, "finish_reason": "stop", "message": {
                "role": "assistant", "content": g.text("openai response"),
                "reasoning_content": g.text("openai reasoning"),
                "refusal": g.other("openai refusal"),
                "tool_calls": [{"id": "t", "type": "function", "function":
                    {"name": "f", "arguments": json!({"q": g.text("openai call")}).to_string()}}],
            }}]},
    });
    let failed = json!({
        "id": "o-2", "user_id": "bolt", "timestamp": "2026-09-01T08:11:00Z", "status": 500,
        "request": {"model": "m", "messages": [{"role": "user", "content": g.text("failed prompt")}]},
        "response": {"error": {"message": g.other("openai error"), "type": "server_error",
            "code": g.other("openai error code")}},
    });
    let chunk = |text: &str| {
        let chunk = json!({"id": "chatcmpl-3", "model": "m", "choices": [
            {"index": 0, "delta": {"content": text}}]});
        format!("data: {chunk}\n\n")
    };
    let streamed = json!({
        "id": "o-3", "user_id": "crux", "timestamp": "2026-09-01T08:12:00Z", "status": 200,
        "request": {"model": "m", "stream": true, "messages":
            [{"role": "user", "content": g.text("streamed prompt")}]},
        "response": chunk(&g.text("streamed response")) + "data: [DONE]\n\n",
    });
    vec![chat, failed, streamed]
}

fn sglang(g: &mut Garden) -> Vec<Value> {
    let finished = json!({
        "timestamp": "2026-09-01T08:20:02.000000", "event": "request.finished", "rid": "s-1",
        "extra": g.other("sglang unknown field"),
        "headers": {"x-tenant-id": "acme", "x-note": g.other("sglang header"),
            "user-agent": g.other("sglang user agent"),
            "authorization": format!("Bearer {}", g.other("sglang authorization"))},
        "obj": {"rid": "s-1", "text": g.text("sglang prompt"),
            "sampling_params": {"stop": [g.other("sglang stop")]},
            "custom_labels": {"note": g.other("sglang label")}},
        "out": {"text": g.text("sglang response"), "meta_info": {
            "id": "s-1", "finish_reason": {"type": "stop", "matched": g.other("sglang matched")},
            "prompt_tokens": 9, "completion_tokens": 9, "e2e_latency": 1.5,
            "note": g.other("sglang meta")}},
    });
    let aborted = json!({
        "timestamp": "2026-09-01T08:21:02.000000", "event": "request.finished", "rid": "s-2",
        "headers": {"x-tenant-id": "bolt"},
        "obj": {"rid": "s-2", "text": g.text("aborted prompt")},
        "out": {"text": "", "meta_info": {"id": "s-2", "finish_reason": {"type": "abort",
            "message": g.other("sglang abort"), "status_code": 400},
            "prompt_tokens": 9, "completion_tokens": 0, "e2e_latency": 1.5}},
    });
    let received = json!({
        "timestamp": "2026-09-01T08:22:02.000000", "event": "request.received", "rid": "s-3",
        "headers": {"x-tenant-id": "bolt"},
        "obj": {"rid": "s-3", "text": g.text("half prompt")},
    });
    let other = json!({
        "timestamp": "2026-09-01T08:23:02.000000", "event": "request.received.openai",
        "obj": {"messages": [{"role": "user", "content": g.other("openai event")}]},
    });
    vec![finished, aborted, received, other]
}

fn litellm(g: &mut Garden) -> Vec<Value> {
    let ok = json!({
        "id": "chatcmpl-9", "litellm_call_id": "l-1", "call_type": "acompletion",
        "status": "success", "model": "m", "startTime": 1_788_250_000.5,
        "endTime": 1_788_250_002.5, "completionStartTime": 1_788_250_001.5,
        "prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18,
        "metadata": {"user_api_key_team_id": "acme",
            "requester_metadata": {"note": g.other("litellm requester")},
            "spend_logs_metadata": {"note": g.other("litellm spend")}},
        "model_parameters": {"stop": g.other("litellm stop")},
        "request_tags": [g.other("litellm tag")],
        "messages": [{"role": "system", "content": g.text("litellm system")},
            {"role": "user", "content": g.text("litellm prompt")}],
        "response": {"id": "chatcmpl-9", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": g.text("litellm response"),
                "reasoning_content": g.text("litellm reasoning")}}]},
    });
    let failed = json!({
        "id": "chatcmpl-10", "litellm_call_id": "l-2", "call_type": "acompletion",
        "status": "failure", "model": "m", "startTime": 1_788_250_010.5,
        "endTime": 1_788_250_012.5, "metadata": {"user_api_key_team_id": "bolt"},
        "messages": [{"role": "user", "content": g.text("litellm failed prompt")}],
        "response": {}, "error_str": g.other("litellm error text"),
        "error_information": {"error_code": "500", "error_class": "InternalServerError",
            "error_message": g.other("litellm error"), "traceback": g.other("litellm trace")},
    });
    vec![ok, failed]
}

/// Logs of every format with planted words, and a leak, so that findings and reports have rows.
fn planted() -> (Lab, Garden) {
    let lab = Lab::new();
    let mut g = Garden::default();
    lab.log("native.jsonl", &native(&mut g));
    lab.log("openai.jsonl", &openai(&mut g));
    lab.log("engine_0.log", &sglang(&mut g));
    lab.log("litellm.jsonl", &litellm(&mut g));
    let passage: Vec<String> = (0..8).map(|n| g.text(&format!("passage {n}"))).collect();
    let passage = passage.join(" ");
    let source = exchange("source", "acme", "06:00:00", &passage, "done");
    let own = g.text("own prompt of the leak");
    let leak = exchange("leak", "bolt", "06:30:00", &own, &passage);
    lab.log("leak.jsonl", &[source, leak]);
    let broken = format!(
        "{{\"request_id\":\"b\",\"response\":\"{}\n",
        g.other("broken line")
    );
    lab.write("logs/broken.jsonl", broken + &g.other("no json at all"));
    let config = "[time]\nassume_timezone = \"UTC\"\n\
        [tenants]\npriority = [\"tenant\", \"team\", \"header:x-tenant-id\", \"user\"]\n";
    lab.write("pentimento.toml", config);
    (lab, g)
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        found.push(folder.clone());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

/// Looks for planted words in everything but the logs and the table `texts`.
fn search(lab: &Lab, g: &Garden, audit: &Audit) {
    let clean = |what: &str, bytes: &[u8]| {
        let seen = g.seen_in(bytes);
        assert!(seen.is_empty(), "{what} holds the words of {seen:?}");
    };
    clean("stdout", &audit.output.stdout);
    clean("stderr", &audit.output.stderr);
    let tables: Vec<String> = fs::read_dir(audit.case.join("tables"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "texts")
        .collect();
    assert!(tables.len() >= 7, "{tables:?}");
    for table in tables {
        let sql = format!("SELECT * FROM {table}");
        let case = lab.text("case");
        let dump = pentimento(&["sql", "--case", &case, "-c", &sql, "--format", "jsonl"]);
        assert!(dump.status.success());
        clean(&table, &dump.stdout);
    }
    for path in all_files(&audit.case) {
        let texts = path.components().any(|c| c.as_os_str() == "texts");
        if !texts && path.is_file() {
            clean(path.to_str().unwrap(), &fs::read(&path).unwrap());
        }
    }
    clean("the key", &fs::read(lab.path("case.key")).unwrap());
}

#[test]
fn no_file_of_a_case_and_no_message_holds_four_words_of_the_logs() {
    let (lab, g) = planted();
    let audit = lab.audit(&["--progress", "plain"]).ends_with(3);
    // The search below must have something to search.
    let read = audit.exchanges();
    for format in ["native", "openai", "sglang_json", "litellm"] {
        assert!(read.iter().any(|e| e.source_format == format), "{format}");
    }
    assert_eq!(audit.verdict("leak").grade, "probable");
    assert!(audit.rejects().len() >= 4, "{:?}", audit.rejects());
    search(&lab, &g, &audit);
    assert!(!audit.case.join("tables/texts").exists());
}

#[test]
fn texts_are_kept_on_demand_in_one_place_and_read_with_a_reason() {
    let (lab, g) = planted();
    let audit = lab.audit(&["--keep-text"]).ends_with(3);
    search(&lab, &g, &audit);
    let texts: Vec<TextRow> = rows(&audit.case);
    let all: Vec<&str> = texts.iter().map(|t| t.text.0.as_str()).collect();
    let kept = g.seen_in(all.join("\n").as_bytes());
    let missing: Vec<&str> = g
        .planted
        .iter()
        .filter(|p| p.kept && !kept.contains(&p.place.as_str()))
        .map(|p| p.place.as_str())
        .collect();
    assert!(missing.is_empty(), "texts lacks {missing:?}");
    let case = lab.text("case");
    let sql = "SELECT exchange_id, field, \"text\" FROM texts";
    let plain = pentimento(&["sql", "--case", &case, "-c", sql]);
    assert_eq!(plain.status.code(), Some(2));
    assert!(g.seen_in(&plain.stdout).is_empty() && g.seen_in(&plain.stderr).is_empty());
    let before = fs::read_to_string(audit.case.join("custody.jsonl")).unwrap();
    let ask = [
        "sql", "--case", &case, "-c", sql, "--format", "jsonl", "--reveal", "--reason", "ticket 7",
    ];
    let shown = pentimento(&ask);
    assert!(!g.seen_in(&shown.stdout).is_empty());
    assert_eq!(stdout(&shown).lines().count(), texts.len());
    let after = fs::read_to_string(audit.case.join("custody.jsonl")).unwrap();
    let line = only(after.strip_prefix(&before).unwrap().lines());
    let line: Value = serde_json::from_str(line).unwrap();
    assert!(line.to_string().contains("ticket 7"), "{line}");
    assert!(g.seen_in(after.as_bytes()).is_empty());
}

#[test]
fn folders_and_files_are_for_their_owner_alone() {
    let (lab, _) = planted();
    let audit = lab.audit(&["--keep-text"]).ends_with(3);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for path in all_files(&audit.case) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
    assert_eq!(mode(&lab.path("case.key")), 0o600);
}
