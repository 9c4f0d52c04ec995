//! Scenarios told by the engines alone: a gateway's log without any text, and what prefill and
//! decode print. Nothing in them can be found by comparing texts.

use super::fleet::{Fleet, PAGE, start_up};
use super::json::Object;
use super::mixups::{late_writes, offload};
use super::plan::{BASE, LIMIT, MINUTE, TENANTS, WINDOW, tenant_name};
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
    /// Short prompts whose picture could not be read on prefill only.
    FailedImages,
    /// Exposed nodes beside fixed ones, larger ones and one that does both.
    MixedFleet,
    /// An offload tier gives back the blocks of another conversation.
    OffloadMixup,
}

/// Everyday calls, and long ones that a node below its limit answers as it should.
pub(super) const EVERYDAY: i64 = 400;
/// Long healthy calls.
const LONG: i64 = 24;
/// One of so many refusals is printed: the line is written by one rank only.
const PRINTED: u64 = 3;
/// Cache of one token, bytes: whole pages are moved.
const TOKEN_BYTES: i64 = 73_728;
/// One call.
pub(super) struct Call {
    pub(super) start: TimeMicros,
    pub(super) tokens: i64,
    /// Tokens that the cache is said to have held.
    pub(super) cached: i64,
    pub(super) completion: i64,
    pub(super) tenant: usize,
    /// Prefill handed over a stub.
    pub(super) stub: bool,
    /// Who served it.
    pub(super) fleet: Fleet,
    pub(super) seed: u64,
    /// Prompt and answer, where the gateway keeps them.
    pub(super) text: Option<(String, String)>,
    /// Broken off by the client, after so many microseconds.
    pub(super) broken_off: Option<TimeMicros>,
    /// Shows the text of the call of this seed and tenant.
    pub(super) shows: Option<(u64, usize)>,
}

impl Call {
    /// The fixed engine told the client that the prompt is too long.
    fn refused(&self) -> bool {
        self.fleet == Fleet::Fixed && self.tokens >= LIMIT
    }
}

/// Where a story goes: lines are put in order of time at its end.
pub(super) struct Out<'a> {
    sink: &'a mut dyn Sink,
    summary: SimulateSummary,
    lines: Vec<(TimeMicros, u64, &'static str, Vec<u8>)>,
}

impl Out<'_> {
    pub(super) fn push(&mut self, time: TimeMicros, file: &'static str, line: impl Into<Vec<u8>>) {
        let sequence = self.lines.len() as u64;
        self.lines.push((time, sequence, file, line.into()));
    }

    /// A line of an engine, behind its prefix.
    pub(super) fn engine(
        &mut self,
        time: TimeMicros,
        file: &'static str,
        rank: &str,
        message: &str,
    ) {
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

fn calls(story: Story, options: &SimulateOptions) -> Vec<Call> {
    let mut rng = Rng::new(mix(options.seed), 40);
    let leaks = i64::from(options.leaks);
    match story {
        Story::LateWrites => return late_writes(&mut rng, leaks),
        Story::OffloadMixup => return offload(&mut rng, leaks),
        _ => {}
    }
    let over = |rng: &mut Rng| LIMIT + rng.between(0, WINDOW - 20 - LIMIT);
    let mut out = Vec::new();
    let mut add = |rng: &mut Rng, place: (i64, i64), tokens: i64, stub: bool, fleet: Fleet| {
        let (place, count) = place;
        // A week, one call somewhere in each equal part.
        let step = 7 * 24 * 60 * MINUTE / count.max(1);
        let start = BASE + 10 * MINUTE + place * step + rng.between(0, (step / 2).max(1));
        out.push(Call {
            start,
            tokens,
            cached: 0,
            completion: rng.between(20, 900),
            tenant: rng.size(0, TENANTS.len() - 1),
            stub,
            fleet,
            seed: rng.next(),
            text: None,
            broken_off: None,
            shows: None,
        });
    };
    let fleets = match story {
        Story::MixedFleet => &Fleet::ALL[..],
        _ => &Fleet::ALL[..1],
    };
    for n in 0..EVERYDAY {
        let tokens = rng.between(300, 24_000);
        let fleet = fleets[n as usize % fleets.len()];
        add(&mut rng, (n, EVERYDAY), tokens, false, fleet);
    }
    for n in 0..LONG {
        let tokens = match story {
            Story::HealthyWeek => over(&mut rng),
            _ => LIMIT - 1 - n * n * 611,
        };
        let fleet = fleets[n as usize % fleets.len()];
        add(&mut rng, (n, LONG), tokens, false, fleet);
    }
    for n in 0..leaks {
        let (tokens, stub) = match story {
            Story::GrammarTimeouts | Story::FailedImages => (rng.between(900, 24_000), true),
            Story::HealthyWeek => (over(&mut rng), false),
            _ => (over(&mut rng), true),
        };
        add(&mut rng, (n, leaks), tokens, stub, Fleet::Exposed);
        // The same long prompts go to nodes that cannot leak.
        for fleet in fleets.iter().skip(1) {
            let tokens = over(&mut rng);
            add(&mut rng, (n, leaks), tokens, false, *fleet);
        }
    }
    out
}

/// What all logs say of one call.
fn tell(story: Story, nth: u64, call: &Call, out: &mut Out<'_>) {
    let mut rng = Rng::new(call.seed, 41);
    let room = (rng.next() >> 1).max(1);
    let (prefill_rid, decode_rid) = (rng.next(), rng.next());
    let first = call.start
        + if call.stub {
            rng.between(400_000, 1_900_000)
        } else {
            rng.between(120_000, 900_000) + call.tokens * 1_000 / 14
        };
    let end = first + call.completion * rng.between(12_000, 19_000);
    let (_, prefill, decode) = call.fleet.nodes();
    if (call.stub || call.refused()) && nth.is_multiple_of(PRINTED) {
        let message = match story {
            Story::FailedImages => format!(
                "Multimodal processing failed: the picture could not be read, \
                 self.rid='{prefill_rid:016x}'"
            ),
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
        out.engine(call.start + 50_000, prefill, " TP0", &message);
    }
    if call.refused() {
        let line = gateway(story, call, room, call.start, call.start + 80_000);
        out.push(call.start, GATEWAY, line);
        return;
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
    if let Some(decode) = decode {
        accounts(
            nth,
            call,
            (room, prefill_rid, decode_rid),
            (first, end),
            (prefill, decode),
            out,
        );
    }
    let line = gateway(story, call, room, first, end);
    out.push(call.start, GATEWAY, line);
}

/// What both nodes say of a request when it is done.
fn accounts(
    nth: u64,
    call: &Call,
    (room, prefill_rid, decode_rid): (u64, u64, u64),
    (first, end): (TimeMicros, TimeMicros),
    (prefill, decode): (&'static str, &'static str),
    out: &mut Out<'_>,
) {
    let computed = if call.stub { 1 } else { call.tokens };
    let pages = (computed + PAGE - 1) / PAGE;
    let megabytes = pages * PAGE * TOKEN_BYTES * 100 / (1 << 20);
    let sent = format!(
        "ReqTimeStats(rid={prefill_rid:016x}, bootstrap_room={room}, input_len={computed}, \
         cached_input_len=0, output_len=1, attempts=1, type=prefill): bootstrap=1.00ms, \
         transfer_speed=11.00 GB/s, transfer_total={}.{:02} MB",
        megabytes / 100,
        megabytes % 100
    );
    out.engine(first, prefill, " TP0", &sent);
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
    out.engine(end, decode, " TP0", &received);
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
    if story == Story::MixedFleet {
        line.text("node", call.fleet.nodes().0);
    }
    if call.refused() {
        line.text("request_id", &request_id(call))
            .text("tenant", tenant_name(call.tenant))
            .text("model", "glm-5.3")
            .text("role", "gateway")
            .text("t_start", &utc(call.start))
            .text("t_end", &utc(end))
            .number("http_status", 400)
            .text("outcome", "rejected")
            .number("prompt_tokens", call.tokens);
        return line.end();
    }
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
        .number("cached_tokens", call.cached);
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
        (Story::OffloadMixup, _) => "offload_mixup",
        (Story::MixedFleet, false) if call.tokens >= LIMIT => match call.fleet {
            Fleet::Fixed => "refused_by_a_fixed_engine",
            Fleet::Both => "one_process",
            _ => "large_pool",
        },
        (_, false) => "near_limit",
        (Story::FailedImages, true) => "failed_image",
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
