//! The nodes of the stories that engines tell, and what they print when they come up.

use super::plan::{BASE, DECODE_POOL, FIXED_POOL, MINUTE, POOL, WINDOW};
use super::testimony::{Out, Story};

/// Tokens a page.
pub(super) const PAGE: i64 = 64;

/// Nodes that a call is served by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fleet {
    /// Prefill below the window, without the fix.
    Exposed,
    /// The same pool behind the fixed engine, which refuses.
    Fixed,
    /// Prefill with a pool above the window.
    Large,
    /// One process that does both.
    Both,
}

impl Fleet {
    pub(super) const ALL: [Fleet; 4] = [Fleet::Exposed, Fleet::Fixed, Fleet::Large, Fleet::Both];

    /// Node and log of prefill, and log of decode where there is one.
    pub(super) fn nodes(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Fleet::Exposed => (
                "glm-prefill-1",
                "logs/glm-prefill-1.log",
                Some("logs/glm-decode-1.log"),
            ),
            Fleet::Fixed => (
                "glm-fixed-prefill-1",
                "logs/glm-fixed-prefill-1.log",
                Some("logs/glm-fixed-decode-1.log"),
            ),
            Fleet::Large => (
                "glm-large-prefill-1",
                "logs/glm-large-prefill-1.log",
                Some("logs/glm-large-decode-1.log"),
            ),
            Fleet::Both => ("glm-mono-1", "logs/glm-mono-1.log", None),
        }
    }

    fn pool(self) -> i64 {
        match self {
            Fleet::Exposed | Fleet::Fixed => POOL,
            Fleet::Large | Fleet::Both => FIXED_POOL,
        }
    }
}

/// What the nodes print when they come up; no configuration names their pools.
pub(super) fn start_up(story: Story, out: &mut Out<'_>) {
    let fleets = match story {
        Story::MixedFleet => &Fleet::ALL[..],
        _ => &Fleet::ALL[..1],
    };
    for fleet in fleets {
        let (_, prefill, decode) = fleet.nodes();
        let pool = match story {
            Story::HealthyWeek => FIXED_POOL,
            _ => fleet.pool(),
        };
        let role = if decode.is_some() { "prefill" } else { "null" };
        start(out, prefill, role, pool);
        if let Some(decode) = decode {
            start(out, decode, "decode", DECODE_POOL);
        }
    }
    if story == Story::Incident {
        scrapes(out);
    }
}

fn start(out: &mut Out<'_>, file: &'static str, role: &str, pool: i64) {
    let args = format!(
        "server_args=ServerArgs(model_path='/models/glm', served_model_name='glm-5.3', \
         context_length=None, page_size={PAGE}, disaggregation_mode='{role}', \
         allow_auto_truncate=False, enable_request_time_stats_logging=True)"
    );
    out.engine(BASE, file, "", &args);
    let up = format!(
        "max_total_num_tokens={pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, \
         max_running_requests=128, context_len={WINDOW}, available_gpu_mem=9.11 GB"
    );
    out.engine(BASE + MINUTE, file, " TP0", &up);
}

/// The pools as a monitoring system scraped them: an answer of a range query, one line.
fn scrapes(out: &mut Out<'_>) {
    for (role, instance, pool) in [
        ("prefill", "glm-prefill-1:30000", POOL),
        ("decode", "glm-decode-1:30000", DECODE_POOL),
    ] {
        let at = |minutes: i64| (BASE + minutes * MINUTE) / 1_000_000;
        let series = |name: &str, value: i64| {
            format!(
                "{{\"metric\":{{\"__name__\":\"sglang:{name}\",\"engine_type\":\"{role}\",\
                 \"instance\":\"{instance}\",\"model_name\":\"glm-5.3\"}},\"values\":\
                 [[{},\"{value}\"],[{},\"{value}\"]]}}",
                at(2),
                at(62)
            )
        };
        let line = format!(
            "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{},{}]}}}}",
            series("max_total_num_tokens", pool),
            series("context_len", WINDOW)
        );
        out.push(BASE + 62 * MINUTE, "logs/pools.json", line);
    }
}
