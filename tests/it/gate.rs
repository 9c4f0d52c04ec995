//! The gate against a real HTTP server, files, and an engine's output.

use crate::kit::{Lab, program, stderr, stdout};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the server says to a path: status and body.
type Answer = dyn Fn(&str, Option<&str>, usize) -> (u16, String) + Send + Sync;

/// Serves until the test ends; gives the address and the number of requests so far.
fn serve(answer: Arc<Answer>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            let path = first.split(' ').nth(1).unwrap_or("").to_owned();
            let mut token = None;
            for line in lines.map_while(Result::ok) {
                if line.is_empty() {
                    break;
                }
                if let Some((name, value)) = line.split_once(": ")
                    && name.eq_ignore_ascii_case("authorization")
                {
                    token = Some(value.to_owned());
                }
            }
            let nth = count.fetch_add(1, Ordering::SeqCst);
            let (status, body) = answer(&path, token.as_deref(), nth);
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    (address, asked)
}

fn info(role: &str, pool: i64, window: Value) -> String {
    json!({
        "model_path": "/models/glm", "served_model_name": "glm", "page_size": 64,
        "disaggregation_mode": role, "context_length": window, "version": "0.5.19",
        "max_total_num_tokens": pool, "max_req_input_len": pool.min(1_048_576) - 6,
        "internal_states": [{"memory_usage": {"token_capacity": pool}}],
        "api_key": "not for logs",
    })
    .to_string()
}

fn gate(arguments: &[&str]) -> (i32, Value) {
    let done = program()
        .arg("gate")
        .args(arguments)
        .env("GATE_TOKEN", "open-sesame")
        .output()
        .unwrap();
    let text = stdout(&done);
    assert_eq!(text.lines().count(), 1, "{text}{}", stderr(&done));
    assert!(
        !text.contains("open-sesame") && !text.contains("not for logs"),
        "{text}"
    );
    let verdict: Value = serde_json::from_str(&text).unwrap();
    let code = done.status.code().unwrap();
    assert_eq!(verdict["exit"], code, "{text}");
    (code, verdict)
}

#[test]
fn running_engines_are_asked() {
    let (small, _) = serve(Arc::new(|path, _, _| match path {
        "/server_info" => (200, info("prefill", 681_280, json!(1_048_576))),
        _ => (404, String::new()),
    }));
    let (large, _) = serve(Arc::new(|path, _, _| match path {
        // An older engine knows the older path only.
        "/get_server_info" => (200, info("decode", 1_310_720, json!(1_048_576))),
        _ => (404, String::new()),
    }));
    let (code, verdict) = gate(&["--server-info", &small, "--server-info", &large]);
    assert_eq!((code, verdict["verdict"].as_str()), (3, Some("fail")));
    assert_eq!(verdict["nodes"][0]["pool_tokens"], 681_280);
    assert_eq!(verdict["nodes"][0]["reject_at_tokens"], 681_274);
    assert_eq!(verdict["nodes"][1]["role"], "decode");
    assert_eq!(verdict["failures"].as_array().unwrap().len(), 1);
    let known = verdict["nodes"][0]["advisories"].as_array().unwrap();
    assert!(
        known
            .iter()
            .any(|a| a["id"] == "PEN-SGL-001" && a["matches"] == "affected")
    );
    let (code, verdict) = gate(&["--server-info", &large]);
    assert_eq!((code, verdict["verdict"].as_str()), (0, Some("pass")));
    // Another window, ratio, version or severity may close it.
    for (flags, expected) in [
        (["--window", "1310720"], 0),
        (["--window", "1310721"], 3),
        (["--min-ratio", "1.25"], 0),
        (["--min-ratio", "1.251"], 3),
        (["--engine-min-version", "0.5.19"], 0),
        (["--engine-min-version", "0.5.20"], 3),
        (["--fail-on-advisory", "high"], 3),
    ] {
        let (code, _) = gate(&[&["--server-info", &large][..], &flags].concat());
        assert_eq!(code, expected, "{flags:?}");
    }
}

#[test]
fn what_cannot_be_read_fails_closed() {
    let (silent, _) = serve(Arc::new(|_, _, _| (200, "{\"status\":\"ready\"}".into())));
    let (unknown, _) = serve(Arc::new(|_, _, _| {
        (200, info("prefill", 681_280, Value::Null))
    }));
    let (moved, _) = serve(Arc::new(|_, _, _| (302, String::new())));
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let nobody = format!("http://{free}");
    let lab = Lab::new();
    lab.write("empty.json", "");
    let empty = lab.text("empty.json");
    for place in [
        &silent,
        &unknown,
        &moved,
        &nobody,
        &empty,
        &"missing.json".to_owned(),
    ] {
        let (code, verdict) = gate(&["--server-info", place]);
        assert_eq!(
            (code, verdict["verdict"].as_str()),
            (2, Some("unreadable")),
            "{place}"
        );
    }
    // The window is stated by the user, where the engine does not.
    assert_eq!(gate(&["--server-info", &unknown, "--window", "1000"]).0, 0);
    let done = program().args(["gate"]).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
}

#[test]
fn a_node_that_starts_is_waited_for() {
    let (late, asked) = serve(Arc::new(|path, _, nth| match (path, nth) {
        (_, 0) => (503, String::new()),
        ("/server_info", _) => (200, info("prefill", 2_040_000, json!(1_048_576))),
        _ => (404, String::new()),
    }));
    assert_eq!(gate(&["--server-info", &late, "--wait", "30s"]).0, 0);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // A refusal does not get better by waiting.
    let (closed, asked) = serve(Arc::new(|_, _, _| (401, String::new())));
    assert_eq!(gate(&["--server-info", &closed, "--wait", "30s"]).0, 2);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn the_token_comes_from_the_environment() {
    let (guarded, _) = serve(Arc::new(|path, token, _| match (path, token) {
        ("/server_info", Some("Bearer open-sesame")) => {
            (200, info("prefill", 2_040_000, json!(1_048_576)))
        }
        _ => (401, String::new()),
    }));
    assert_eq!(gate(&["--server-info", &guarded]).0, 2);
    assert_eq!(
        gate(&["--server-info", &guarded, "--bearer-env", "GATE_TOKEN"]).0,
        0
    );
}

#[test]
fn metrics_of_both_engines() {
    let (sglang, _) = serve(Arc::new(|path, _, _| match path {
        "/metrics" => (
            200,
            "# TYPE sglang:context_len gauge\n\
             sglang:context_len{engine_type=\"prefill\",model_name=\"glm\"} 1.048576e+06\n\
             sglang:max_total_num_tokens{engine_type=\"prefill\",model_name=\"glm\"} 681280.0\n"
                .into(),
        ),
        _ => (404, String::new()),
    }));
    let (code, verdict) = gate(&["--metrics", &sglang]);
    assert_eq!(code, 3);
    assert_eq!(verdict["nodes"][0]["role"], "prefill");
    // vLLM states the window in its list of models and the pool in its metrics.
    let (vllm, _) = serve(Arc::new(|path, _, _| match path {
        "/v1/models" => (
            200,
            json!({"data": [{"id": "q", "max_model_len": 131_072}]}).to_string(),
        ),
        "/metrics" => (
            200,
            "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"77160\"} 1.0\n".into(),
        ),
        _ => (404, String::new()),
    }));
    let (code, verdict) = gate(&["--server-info", &vllm, "--metrics", &vllm]);
    assert_eq!(code, 0, "{verdict}");
    assert_eq!(verdict["nodes"][0]["pool_tokens"], 1_234_560);
    assert_eq!(gate(&["--server-info", &vllm]).0, 2);
}

#[test]
fn the_last_start_in_a_log_counts_and_policies_bind() {
    let lab = Lab::new();
    let up = |time: &str, pool: i64| {
        format!(
            "[2026-09-01 {time}] server_args=ServerArgs(page_size=64, \
             disaggregation_mode='prefill', allow_auto_truncate=True)\n\
             [2026-09-01 {time} TP0] max_total_num_tokens={pool}, chunked_prefill_size=8192, \
             max_prefill_tokens=16384, max_running_requests=128, context_len=1048576\n"
        )
    };
    lab.write(
        "p1.log",
        up("10:00:00", 681_280) + &up("11:00:00", 2_040_000),
    );
    let log = lab.text("p1.log");
    let (code, verdict) = gate(&["--engine-log", &log]);
    assert_eq!(code, 0, "{verdict}");
    assert_eq!(verdict["nodes"][0]["node"], "p1");
    lab.write(
        "policy.toml",
        "[[rule]]\nrole = \"prefill\"\nforbid = { allow_auto_truncate = true }\n",
    );
    let policy = lab.text("policy.toml");
    assert_eq!(gate(&["--engine-log", &log, "--policy", &policy]).0, 3);
    lab.write("policy.toml", "[[rule]]\nmin_pool = 3\n");
    let done = program()
        .args(["gate", "--engine-log", &log, "--policy", &policy])
        .output();
    assert_eq!(done.unwrap().status.code(), Some(2));
    lab.write("p2.log", up("12:00:00", 681_280));
    assert_eq!(
        gate(&["--engine-log", &log, "--engine-log", &lab.text("p2.log")]).0,
        3
    );
}
