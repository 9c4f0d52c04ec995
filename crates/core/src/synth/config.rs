//! `pentimento.toml` of the incident: what the operator knows about nodes, names and tenants.

use super::engine::{EngineLine, stdout_line};
use super::plan::{
    BASE, DAY, DECODE, DECODE_POOL, EXCLUDED, FIXED_POOL, MINUTE, PATCHED, POOL, PREFILL, UNIFIED,
    WINDOW,
};
use super::records::{MODEL, OTHER_MODEL};
use crate::exchange::TimeMicros;

/// When the model went live.
const LIVE: &str = "2026-08-27T00:00:00Z";
/// When it was switched off.
const OFF: &str = "2026-09-09T14:00:00Z";
/// When it came back on larger prefill pools.
const BACK: &str = "2026-09-09T19:40:00Z";
/// The same as a time.
const RESTORED: TimeMicros = BASE + 13 * DAY + (19 * 60 + 40) * MINUTE;

#[derive(Clone, Copy)]
struct Epoch<'a> {
    model: &'a str,
    name: &'a str,
    node: &'a str,
    role: &'a str,
    valid: (&'a str, Option<&'a str>),
    window: i64,
    pool: i64,
    version: &'a str,
    mode: &'a str,
}

/// The lines of the file.
pub(super) fn lines() -> Vec<String> {
    let mut out = vec![
        "# Nodes, names and tenants of the generated incident.".to_owned(),
        String::new(),
        "[time]".to_owned(),
        "assume_timezone = \"UTC\"".to_owned(),
        String::new(),
        "[models]".to_owned(),
        format!("\"{MODEL}\" = [\"zai-org/GLM-5.3\", \"openai/glm-5.3\"]"),
        String::new(),
        "[tenants]".to_owned(),
        format!("internal = [{}]", accounts("internal")),
        format!("researchers = [{}]", accounts("researcher")),
    ];
    for (name, from, to) in [
        ("exposed", Some(LIVE), Some(OFF)),
        ("off", Some(OFF), Some(BACK)),
        ("restored", Some(BACK), None),
    ] {
        out.extend([
            String::new(),
            "[[phase]]".to_owned(),
            format!("name = \"{name}\""),
        ]);
        out.extend(from.map(|time| format!("from = \"{time}\"")));
        out.extend(to.map(|time| format!("to = \"{time}\"")));
    }
    for epoch in epochs() {
        out.push(String::new());
        out.push("[[deployment]]".to_owned());
        let mut text = |key: &str, value: &str| out.push(format!("{key} = \"{value}\""));
        text("model", epoch.model);
        text("name", epoch.name);
        if !epoch.node.is_empty() {
            text("node", epoch.node);
        }
        text("role", epoch.role);
        text("valid_from", epoch.valid.0);
        if let Some(to) = epoch.valid.1 {
            text("valid_to", to);
        }
        text("engine", "sglang");
        text("engine_version", epoch.version);
        text("mode", epoch.mode);
        out.push(format!("window_tokens = {}", epoch.window));
        out.push(format!("pool_tokens = {}", epoch.pool));
        out.push("page_tokens = 64".to_owned());
    }
    out
}

/// What each process of the engines prints when it comes up.
pub(super) fn started() -> Vec<EngineLine> {
    let mut out = Vec::new();
    for epoch in epochs().iter().filter(|e| !e.node.is_empty()) {
        let time = if epoch.valid.0 == BACK {
            RESTORED
        } else {
            BASE
        };
        let mode = if epoch.role == "unified" {
            "null"
        } else {
            epoch.role
        };
        let args = format!(
            "server_args=ServerArgs(model_path='/models/glm', served_model_name='{MODEL}', \
             context_length=None, page_size=64, disaggregation_mode='{mode}', \
             allow_auto_truncate=False, enable_request_time_stats_logging=True)"
        );
        let up = format!(
            "max_total_num_tokens={}, chunked_prefill_size=8192, max_prefill_tokens=16384, \
             max_running_requests=128, context_len={}, available_gpu_mem=9.11 GB",
            epoch.pool, epoch.window
        );
        for (rank, text) in [("", args), (" TP0", up)] {
            out.push(EngineLine {
                time,
                node: epoch.node,
                line: stdout_line(time, rank, &text),
            });
        }
    }
    out
}

fn accounts(reason: &str) -> String {
    let names: Vec<String> = EXCLUDED
        .iter()
        .filter(|e| e.1 == reason)
        .map(|e| format!("\"{}\"", e.0))
        .collect();
    names.join(", ")
}

fn epochs() -> Vec<Epoch<'static>> {
    let base = Epoch {
        model: MODEL,
        name: "glm-53-eu",
        node: "",
        role: "prefill",
        valid: (LIVE, Some(OFF)),
        window: WINDOW,
        pool: POOL,
        version: "0.5.18",
        mode: "pd",
    };
    let mut out = Vec::new();
    for node in PREFILL {
        out.push(Epoch { node, ..base });
        out.push(Epoch {
            node,
            valid: (BACK, None),
            pool: FIXED_POOL,
            version: "0.5.18+patched",
            ..base
        });
    }
    for node in DECODE {
        out.push(Epoch {
            node,
            role: "decode",
            valid: (LIVE, None),
            pool: DECODE_POOL,
            ..base
        });
    }
    out.push(Epoch {
        name: "glm-53-mono",
        node: UNIFIED,
        role: "unified",
        mode: "unified",
        ..base
    });
    out.push(Epoch {
        name: "glm-53-canary",
        node: PATCHED,
        version: "0.5.20",
        ..base
    });
    out.push(Epoch {
        model: OTHER_MODEL,
        name: "courier-eu",
        role: "unified",
        valid: (LIVE, None),
        window: 131_072,
        pool: 400_000,
        mode: "unified",
        ..base
    });
    out
}
