//! Writes the incident: calls in order of time, engine lines as they fall due, labels, settings.

use super::engine::EngineLine;
use super::labels::label;
use super::plan::excluded;
use super::records::{day, render};
use super::{Scale, SimulateError, SimulateOptions, SimulateSummary, Sink, config, schedule};
use crate::exchange::TimeMicros;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Prompt bytes after which long prompts are cut also at full scale: the logs stay below 4 GB.
const FULL_BYTES: u64 = 3_500_000_000;

/// An engine line that is not due yet: time, sequence (for a total order), file, line.
type Pending = (TimeMicros, u64, String, Vec<u8>);

struct Writer<'a> {
    sink: &'a mut dyn Sink,
    summary: SimulateSummary,
    pending: BinaryHeap<Reverse<Pending>>,
    sequence: u64,
}

impl Writer<'_> {
    fn log(&mut self, file: &str, line: &[u8]) -> Result<(), SimulateError> {
        self.summary.log_lines += 1;
        self.summary.log_bytes += line.len() as u64 + 1;
        Ok(self.sink.line(file, line)?)
    }

    fn wait(&mut self, line: EngineLine, stdout: bool) {
        self.sequence += 1;
        let file = match (stdout, line.node) {
            (true, node) => format!("logs/stdout/{node}.log"),
            (false, node) => format!("logs/{node}_0.log"),
        };
        self.pending
            .push(Reverse((line.time, self.sequence, file, line.line)));
    }

    fn flush(&mut self, until: TimeMicros) -> Result<(), SimulateError> {
        while self.pending.peek().is_some_and(|next| next.0.0 <= until) {
            if let Some(Reverse((_, _, file, line))) = self.pending.pop() {
                self.log(&file, &line)?;
            }
        }
        Ok(())
    }
}

/// Writes logs, labels and settings; with `stdout` also what the engines print.
pub(super) fn write(
    options: &SimulateOptions,
    stdout: bool,
    sink: &mut dyn Sink,
) -> Result<SimulateSummary, SimulateError> {
    for line in config::lines() {
        sink.line("pentimento.toml", line.as_bytes())?;
    }
    let plan = schedule::plan(options);
    let mut out = Writer {
        sink,
        summary: SimulateSummary::default(),
        pending: BinaryHeap::new(),
        sequence: 0,
    };
    let started = if stdout {
        config::started()
    } else {
        Vec::new()
    };
    for line in started {
        out.wait(line, true);
    }
    let mut full_bytes = 0;
    for &id in &plan.order {
        let call = &plan.calls[id];
        out.flush(call.start)?;
        let rendered = render(&plan, call);
        let mut in_full = call.tokens == 0;
        if call.tokens > 0 && options.scale == Scale::Full {
            full_bytes += rendered.full_bytes();
            in_full = full_bytes <= FULL_BYTES;
        }
        let file = format!("logs/gateway-{}.jsonl", day(call.start));
        out.log(&file, &rendered.gateway(in_full))?;
        out.summary.gateway_records += 1;
        for line in rendered.engines() {
            out.wait(line, false);
        }
        if stdout {
            for line in rendered.stdout() {
                out.wait(line, true);
            }
        }
        if let Some((leak, line)) = label(&plan, call, rendered.prompt_tokens) {
            out.sink.line("labels.jsonl", &line)?;
            match (leak, excluded(call.tenant)) {
                (true, None) => out.summary.leaks += 1,
                (true, Some(_)) => out.summary.excluded_leaks += 1,
                (false, _) => out.summary.benign += 1,
            }
        }
    }
    out.flush(TimeMicros::MAX)?;
    Ok(out.summary)
}
