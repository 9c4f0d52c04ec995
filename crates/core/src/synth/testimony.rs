//! Scenarios told by the engines alone: a gateway's log without any text, and what prefill and
//! decode print. Nothing in them can be found by comparing texts.

use super::json::Object;
use super::plan::{
    BASE, DECODE_POOL, FIXED_POOL, LIMIT, MINUTE, POOL, TENANTS, WINDOW, tenant_name,
};
use super::rng::{Rng, mix};
use super::{SimulateError, SimulateOptions, SimulateSummary, Sink};
use crate::exchange::TimeMicros;

/// What goes wrong, if anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Story {
    /// Prompts over the pool, the gateway logs the room.
    Incident,
    /// The same, and the gateway lost the room.
    LostRooms,
    /// Short prompts whose grammar was late on prefill only.
    GrammarTimeouts,
    /// The same traffic on engines with large pools and the fix.
    HealthyWeek,
    /// Writes that were under way when their request was broken off land in a bystander's pages.
    LateWrites,
}

/// Everyday calls, and long ones that a node below its limit answers as it should.
const EVERYDAY: i64 = 400;
/// Long healthy calls.
const LONG: i64 = 24;
/// One of so many refusals is printed: the line is written by one rank only.
const PRINTED: u64 = 3;
/// Cache of one token, bytes: whole pages are moved.
const TOKEN_BYTES: i64 = 73_728;
/// Tokens a page.
const PAGE: i64 = 64;

/// One call.
struct Call {
    start: TimeMicros,
    tokens: i64,
    completion: i64,
    tenant: usize,
    /// Prefill handed over a stub.
    stub: bool,
    seed: u64,
    /// Prompt and answer, where the gateway keeps them.
    text: Option<(String, String)>,
    /// Broken off by the client, after so many microseconds.
    broken_off: Option<TimeMicros>,
    /// Shows the text of the call of this seed and tenant.
    shows: Option<(u64, usize)>,
}

/// So many invented words; different seeds share none to speak of.
fn words(seed: u64, count: usize) -> String {
    let mut rng = Rng::new(seed, 42);
    let syllables = [
        "ba", "ko", "mi", "ru", "te", "za", "vo", "ne", "li", "pu", "sha", "dor",
    ];
    let mut out = String::new();
    for n in 0..count {
        if n > 0 {
            out.push(' ');
        }
        for _ in 0..5 {
            out.push_str(rng.pick(&syllables));
        }
    }
    out
}

struct Out<'a> {
    sink: &'a mut dyn Sink,
    summary: SimulateSummary,
    lines: Vec<(TimeMicros, u64, &'static str, Vec<u8>)>,
}

impl Out<'_> {
    fn push(&mut self, time: TimeMicros, file: &'static str, line: impl Into<Vec<u8>>) {
        let sequence = self.lines.len() as u64;
        self.lines.push((time, sequence, file, line.into()));
    }

    /// A line of an engine, behind its prefix.
    fn engine(&mut self, time: TimeMicros, file: &'static str, rank: &str, message: &str) {
        let stamp = stamp(time).replace('T', " ");
        let seconds = stamp.get(..19).unwrap_or(&stamp).to_owned();
        self.push(time, file, format!("[{seconds}{rank}] {message}"));
    }

    fn flush(&mut self) -> Result<(), SimulateError> {
        self.lines.sort();
        for (_, _, file, line) in std::mem::take(&mut self.lines) {
            self.summary.log_lines += 1;
            self.summary.log_bytes += line.len() as u64 + 1;
            self.sink.line(file, &line)?;
        }
        Ok(())
    }
}

const GATEWAY: &str = "logs/gateway.jsonl";
const PREFILL: &str = "logs/glm-prefill-1.log";
const DECODE: &str = "logs/glm-decode-1.log";

fn stamp(time: TimeMicros) -> String {
    super::records::naive(time)
}

/// Writes a story.
pub(super) fn write(
    story: Story,
    options: &SimulateOptions,
    sink: &mut dyn Sink,
) -> Result<SimulateSummary, SimulateError> {
    for line in ["[time]", "assume_timezone = \"UTC\""] {
        sink.line("pentimento.toml", line.as_bytes())?;
    }
    let mut out = Out {
        sink,
        summary: SimulateSummary::default(),
        lines: Vec::new(),
    };
    start_up(story, &mut out);
    let calls = calls(story, options);
    for (nth, call) in calls.iter().enumerate() {
        tell(story, nth as u64, call, &mut out);
        out.summary.gateway_records += 1;
        let leak = call.stub || call.shows.is_some();
        if leak || call.tokens > 100_000 {
            let line = label(story, call);
            out.sink.line("labels.jsonl", &line)?;
            if leak {
                out.summary.leaks += 1;
            } else {
                out.summary.benign += 1;
            }
        }
    }
    out.flush()?;
    Ok(out.summary)
}

/// What both nodes print when they come up; no configuration names their pools.
fn start_up(story: Story, out: &mut Out<'_>) {
    let healthy = story == Story::HealthyWeek;
    let pool = if healthy { FIXED_POOL } else { POOL };
    for (file, role, pool) in [(PREFILL, "prefill", pool), (DECODE, "decode", DECODE_POOL)] {
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
}

fn calls(story: Story, options: &SimulateOptions) -> Vec<Call> {
    let mut rng = Rng::new(mix(options.seed), 40);
    let leaks = i64::from(options.leaks);
    if story == Story::LateWrites {
        return late_writes(&mut rng, leaks);
    }
    let over = |rng: &mut Rng| LIMIT + rng.between(0, WINDOW - 20 - LIMIT);
    let mut out = Vec::new();
    let mut add = |rng: &mut Rng, place: i64, count: i64, tokens: i64, stub: bool| {
        // A week, one call somewhere in each equal part.
        let step = 7 * 24 * 60 * MINUTE / count.max(1);
        let start = BASE + 10 * MINUTE + place * step + rng.between(0, (step / 2).max(1));
        out.push(Call {
            start,
            tokens,
            completion: rng.between(20, 900),
            tenant: rng.size(0, TENANTS.len() - 1),
            stub,
            seed: rng.next(),
            text: None,
            broken_off: None,
            shows: None,
        });
    };
    for n in 0..EVERYDAY {
        let tokens = rng.between(300, 24_000);
        add(&mut rng, n, EVERYDAY, tokens, false);
    }
    for n in 0..LONG {
        let tokens = match story {
            Story::HealthyWeek => over(&mut rng),
            _ => LIMIT - 1 - n * n * 611,
        };
        add(&mut rng, n, LONG, tokens, false);
    }
    for n in 0..leaks {
        let (tokens, stub) = match story {
            Story::Incident | Story::LostRooms => (over(&mut rng), true),
            Story::GrammarTimeouts => (rng.between(900, 24_000), true),
            Story::HealthyWeek | Story::LateWrites => (over(&mut rng), false),
        };
        add(&mut rng, n, leaks, tokens, stub);
    }
    out
}

/// Calls of ordinary length with their texts; of some, a part comes out at a bystander.
fn late_writes(rng: &mut Rng, leaks: i64) -> Vec<Call> {
    let mut out = Vec::new();
    let call = |rng: &mut Rng, start: TimeMicros, tenant: usize| {
        let seed = rng.next();
        Call {
            start,
            tokens: rng.between(300, 900),
            completion: rng.between(60, 200),
            tenant,
            stub: false,
            seed,
            text: Some((words(seed, 70), words(mix(seed), 40))),
            broken_off: None,
            shows: None,
        }
    };
    let any = |rng: &mut Rng| rng.size(0, TENANTS.len() - 1);
    let week = 7 * 24 * 60 * MINUTE;
    for n in 0..EVERYDAY {
        let start = BASE + 10 * MINUTE + n * (week / EVERYDAY) + rng.between(0, 10 * MINUTE);
        let tenant = any(rng);
        out.push(call(rng, start, tenant));
    }
    for n in 0..leaks {
        let start = BASE + 20 * MINUTE + n * (week / leaks.max(1)) + rng.between(0, MINUTE);
        let owner = any(rng);
        let mut lost = call(rng, start, owner);
        let after = rng.between(300_000, 2_000_000);
        lost.broken_off = Some(after);
        let bystander = (owner + rng.size(1, TENANTS.len() - 1)) % TENANTS.len();
        let wait = after + rng.between(1_000_000, 50_000_000);
        let mut victim = call(rng, start + wait, bystander);
        victim.shows = Some((lost.seed, owner));
        if let (Some((owned, _)), Some((_, answer))) = (&lost.text, &mut victim.text) {
            let foreign: Vec<&str> = owned.split(' ').skip(20).take(30).collect();
            *answer = format!("{answer} {}", foreign.join(" "));
        }
        out.push(lost);
        out.push(victim);
    }
    out
}

/// What all logs say of one call.
fn tell(story: Story, nth: u64, call: &Call, out: &mut Out<'_>) {
    let mut rng = Rng::new(call.seed, 41);
    let room = (rng.next() >> 1).max(1);
    let (prefill_rid, decode_rid) = (rng.next(), rng.next());
    let computed = if call.stub { 1 } else { call.tokens };
    let first = call.start
        + if call.stub {
            rng.between(400_000, 1_900_000)
        } else {
            rng.between(120_000, 900_000) + call.tokens * 1_000 / 14
        };
    let end = first + call.completion * rng.between(12_000, 19_000);
    if call.stub && nth.is_multiple_of(PRINTED) {
        let message = match story {
            Story::GrammarTimeouts => format!(
                "Grammar preprocessing timed out: req.grammar_key=('json', '{{}}'), \
                 self.rid='{prefill_rid:016x}'"
            ),
            _ => format!(
                "Input length ({} tokens) exceeds the maximum allowed length ({LIMIT} tokens). \
                 Use a shorter input or enable --allow-auto-truncate., \
                 self.rid='{prefill_rid:016x}'",
                call.tokens
            ),
        };
        out.engine(call.start + 50_000, PREFILL, " TP0", &message);
    }
    if let Some(after) = call.broken_off {
        let message = format!(
            "Decode transfer failed for request rank=0 decode_req.req.rid='{decode_rid:016x}' \
             decode_req.req.bootstrap_room={room} with exception \
             KVTransferError(bootstrap_room={room}): Aborted by AbortReq."
        );
        out.engine(call.start + after, DECODE, " TP0", &message);
        let line = gateway(story, call, room, call.start + after, call.start + after);
        out.push(call.start, GATEWAY, line);
        return;
    }
    let pages = (computed + PAGE - 1) / PAGE;
    let megabytes = pages * PAGE * TOKEN_BYTES * 100 / (1 << 20);
    let sent = format!(
        "ReqTimeStats(rid={prefill_rid:016x}, bootstrap_room={room}, input_len={computed}, \
         cached_input_len=0, output_len=1, attempts=1, type=prefill): bootstrap=1.00ms, \
         transfer_speed=11.00 GB/s, transfer_total={}.{:02} MB",
        megabytes / 100,
        megabytes % 100
    );
    out.engine(first, PREFILL, " TP0", &sent);
    // Both spellings are in use side by side while a fleet is updated.
    let received = if nth.is_multiple_of(2) {
        format!(
            "ReqTimeStats(rid={decode_rid:016x}, bootstrap_room={room}, input_len={}, \
             cached_input_len=0, output_len={}, attempts=1, type=decode): prealloc=1.00ms",
            call.tokens, call.completion
        )
    } else {
        format!(
            "Req Time Stats(rid={decode_rid:016x}, bootstrap_room={room}, input len={}, \
             output len={}, type=decode): prealloc=1.00ms",
            call.tokens, call.completion
        )
    };
    out.engine(end, DECODE, " TP0", &received);
    let line = gateway(story, call, room, first, end);
    out.push(call.start, GATEWAY, line);
}

fn request_id(call: &Call) -> String {
    format!("gw-{:016x}", mix(call.seed))
}

fn gateway(story: Story, call: &Call, room: u64, first: TimeMicros, end: TimeMicros) -> Vec<u8> {
    let utc = |time| format!("{}Z", stamp(time).get(..23).unwrap_or_default());
    if call.broken_off.is_some() {
        let mut line = Object::new();
        line.text("request_id", &request_id(call))
            .text("tenant", tenant_name(call.tenant))
            .text("model", "glm-5.3")
            .text("role", "gateway")
            .text("t_start", &utc(call.start))
            .text("t_end", &utc(end))
            .number("http_status", 499)
            .text("outcome", "aborted")
            .number("prompt_tokens", call.tokens)
            .text("bootstrap_room", &room.to_string());
        if let Some((prompt, _)) = &call.text {
            line.text("prompt", prompt);
        }
        return line.end();
    }
    let mut line = Object::new();
    line.text("request_id", &request_id(call))
        .text("tenant", tenant_name(call.tenant))
        .text("model", "glm-5.3")
        .text("role", "gateway")
        .text("t_start", &utc(call.start))
        .text("t_first_token", &utc(first))
        .text("t_end", &utc(end))
        .number("http_status", 200)
        .text("finish_reason", "stop")
        .number("prompt_tokens", call.tokens)
        .number("completion_tokens", call.completion)
        .number("cached_tokens", 0);
    if story != Story::LostRooms {
        line.text("bootstrap_room", &room.to_string());
    }
    if let Some((prompt, answer)) = &call.text {
        line.text("prompt", prompt).text("response", answer);
    }
    line.end()
}

fn label(story: Story, call: &Call) -> Vec<u8> {
    let kind = match (story, call.stub) {
        (Story::HealthyWeek, _) => "long_on_a_fixed_engine",
        (Story::LateWrites, _) => "late_write",
        (_, false) => "near_limit",
        (Story::GrammarTimeouts, true) => "grammar_timeout",
        (_, true) => "over_limit",
    };
    let mut line = Object::new();
    line.text("request_id", &request_id(call))
        .text(
            "label",
            if call.stub || call.shows.is_some() {
                "leak"
            } else {
                "benign"
            },
        )
        .text("kind", kind)
        .text("tenant", tenant_name(call.tenant))
        .raw("excluded", "null")
        .number("prompt_tokens", call.tokens);
    match call.shows {
        Some((seed, owner)) => line
            .text("source_tenant", tenant_name(owner))
            .text("source_request_id", &format!("gw-{:016x}", mix(seed))),
        None => line
            .raw("source_tenant", "null")
            .raw("source_request_id", "null"),
    };
    line.end()
}
