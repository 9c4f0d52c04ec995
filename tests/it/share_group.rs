//! Text that came from memory which the answer cannot have shared proves less.

use crate::kit::{Lab, exchange, only, with, words};
use serde_json::json;

const CONFIG: &str = r#"
[[deployment]]
model = "m"
name = "large"
node = "d1"
engine = "sglang"
mode = "disaggregated"
pool_tokens = 800
window_tokens = 4000
valid_from = "2026-08-01T00:00:00Z"
valid_to = "2026-09-01T08:30:00Z"

[[deployment]]
model = "m"
name = "large"
node = "d1"
engine = "sglang"
mode = "disaggregated"
pool_tokens = 800
window_tokens = 4000
valid_from = "2026-09-01T08:30:00Z"

[[deployment]]
model = "m"
name = "large"
node = "d2"
engine = "sglang"
mode = "disaggregated"
pool_tokens = 800
window_tokens = 4000
"#;

#[test]
fn only_memory_that_could_be_shared_confirms() {
    for (source_node, source_time, grade, same, turnovers) in [
        (json!("d1"), "08:40:00", "confirmed", Some(true), Some(1.3)),
        // Prefill nodes and offload tiers serve several decode nodes.
        (json!("d2"), "08:40:00", "confirmed", Some(false), None),
        // The node was started anew in between.
        (json!("d1"), "08:00:00", "probable", Some(false), None),
        (json!(null), "08:40:00", "confirmed", None, None),
    ] {
        let lab = Lab::new();
        lab.write("pentimento.toml", CONFIG);
        let secret = words(7, 30);
        let owner = exchange("owner", "acme", source_time, &secret, &words(11, 20));
        let between = exchange(
            "between",
            "crux",
            "08:50:00",
            &words(15, 20),
            &words(16, 20),
        );
        let leak = exchange("leak", "bolt", "09:00:00", &words(12, 20), &secret);
        let at = |record, node| with(record, json!({"deployment": "large", "node": node}));
        lab.log(
            "gateway.jsonl",
            &[
                at(owner, source_node.clone()),
                at(between, json!("d1")),
                at(leak, json!("d1")),
            ],
        );
        let audit = lab.audit(&["--fail-on", "never"]);
        let name = format!("{source_node} {source_time}");
        assert_eq!(audit.verdict("leak").grade, grade, "{name}");
        let row = only(audit.overlaps().into_iter());
        assert_eq!(
            (row.same_share_group, row.turnovers),
            (same, turnovers),
            "{name}"
        );
    }
}

/// Older than the look-back of a day: what a process served may still lie in its memory, however
/// long ago; of a node whose process is not known nobody can say so.
#[test]
fn a_process_is_looked_at_since_it_was_started() {
    let lab = Lab::new();
    lab.write("pentimento.toml", CONFIG);
    let mut records = Vec::new();
    for (n, node) in [(0, json!("d1")), (1, json!("d2"))] {
        let secret = words(70 + n, 30);
        let name = |of: &str| format!("{of}-{n}");
        let owner = exchange(&name("owner"), "acme", "08:00:00", &secret, &words(11, 20));
        let owner = with(
            owner,
            json!({"t_start": "2026-08-20T08:00:00Z", "t_end": "2026-08-20T08:00:02Z"}),
        );
        let leak = exchange(
            &name("leak"),
            "bolt",
            "08:20:00",
            &words(80 + n, 20),
            &secret,
        );
        let at = |record| with(record, json!({"deployment": "large", "node": node}));
        records.extend([at(owner), at(leak)]);
    }
    lab.log("gateway.jsonl", &records);
    let audit = lab.audit(&["--fail-on", "never"]);
    let row = only(audit.overlaps().into_iter());
    assert_eq!(row.exchange_id, audit.exchange("leak-0").exchange_id);
    assert_eq!(audit.verdict("leak-0").grade, "confirmed");
}
