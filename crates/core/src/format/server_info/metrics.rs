//! Prometheus: the text of `/metrics`, and the answer of a range query over it.

use super::super::json::Json;
use super::super::{DecodeContext, LogFormat, time};
use super::with_json;
use crate::engine::{CapacityFacts, EngineEvent, EventKind, node_of};
use crate::exchange::{Exchange, RecordKind, RejectReason, Role, TimeMicros, TimeZoneSource};

/// The format; see the module.
pub struct Metrics;

/// Labels of a sample that are looked at, at most.
const MAX_LABELS: usize = 64;

impl LogFormat for Metrics {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let record = record.trim_ascii();
        if record.starts_with(b"{") {
            return if is_range(record) { 95 } else { 0 };
        }
        let ours = [&b"sglang:"[..], b"sglang_", b"vllm:", b"vllm_"];
        let help = record.starts_with(b"# HELP ") || record.starts_with(b"# TYPE ");
        if ours.iter().any(|name| record.starts_with(name)) && sample(record).is_some() {
            90
        } else if help {
            40
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
        let record = record.trim_ascii();
        if record.starts_with(b"{") {
            let known = is_range(record);
            return known
                .then_some(RecordKind::Event)
                .ok_or(RejectReason::UnknownShape);
        }
        if record.starts_with(b"#") {
            return Ok(RecordKind::Other);
        }
        let sample = sample(record).ok_or(RejectReason::UnknownShape)?;
        Ok(if sample.event().is_some() {
            RecordKind::Event
        } else {
            RecordKind::Other
        })
    }

    fn events(&self, record: &[u8], context: &DecodeContext<'_>, out: &mut Vec<EngineEvent>) {
        let record = record.trim_ascii();
        if record.starts_with(b"{") {
            range_events(record, context.source_name, out);
        } else if let Some(sample) = sample(record) {
            let event = sample.event().map(|mut event| {
                event.node = event.node.or_else(|| node_of(context.source_name));
                event
            });
            out.extend(event);
        }
    }
}

/// Reads one line of `/metrics` that tells of capacity.
pub fn read_gauge(line: &[u8]) -> Option<EngineEvent> {
    sample(line.trim_ascii())?.event()
}

/// One sample.
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
    time: Option<TimeMicros>,
}

fn sample(record: &[u8]) -> Option<Sample> {
    let text = std::str::from_utf8(record).ok()?;
    let name_end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))?;
    let (name, mut rest) = text.split_at(name_end);
    let mut labels = Vec::new();
    if let Some(mut inside) = rest.strip_prefix('{') {
        loop {
            inside = inside.trim_start_matches([',', ' ']);
            if let Some(after) = inside.strip_prefix('}') {
                rest = after;
                break;
            }
            if labels.len() >= MAX_LABELS {
                return None;
            }
            let (key, after) = inside.split_once("=\"")?;
            let (value, after) = label_value(after)?;
            labels.push((key.trim().to_owned(), value));
            inside = after;
        }
    }
    let mut words = rest.split_ascii_whitespace();
    let value: f64 = words.next()?.parse().ok()?;
    // The moment, in milliseconds, stands there only in stored samples.
    let time = words
        .next()
        .and_then(|w| w.parse::<i64>().ok()?.checked_mul(1000));
    (!name.is_empty() && words.next().is_none()).then(|| Sample {
        name: name.to_owned(),
        labels,
        value,
        time,
    })
}

/// A label's value up to its quote, and what stands behind that.
fn label_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            c => value.push(c),
        }
    }
    None
}

/// What a gauge's value is.
enum Gauge {
    Pool,
    Window,
    Page,
    Blocks,
}

fn gauge(name: &str) -> Option<(Gauge, &'static str)> {
    // Exporters replace the colon, which only recording rules may have.
    let behind = |engine: &str| name.strip_prefix(engine)?.strip_prefix([':', '_']);
    match (behind("sglang"), behind("vllm")) {
        (Some("max_total_num_tokens"), _) => Some((Gauge::Pool, "sglang")),
        (Some("context_len"), _) => Some((Gauge::Window, "sglang")),
        (Some("page_size"), _) => Some((Gauge::Page, "sglang")),
        (_, Some("cache_config_info")) => Some((Gauge::Blocks, "vllm")),
        _ => None,
    }
}

impl Sample {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
            .filter(|v| !v.is_empty())
    }

    /// The event of a gauge that tells of capacity.
    fn event(&self) -> Option<EngineEvent> {
        let (gauge, engine) = gauge(&self.name)?;
        // Pools are far below 2^53: a float holds them exactly.
        let whole = self.value.is_finite() && (1.0..9.0e15).contains(&self.value);
        let value = self.value as i64;
        let number = |key: &str| self.label(key)?.parse::<i64>().ok().filter(|n| *n > 0);
        let mut facts = CapacityFacts {
            model: self.label("model_name").map(str::to_owned),
            ..CapacityFacts::default()
        };
        match gauge {
            Gauge::Pool if whole => facts.pool_tokens = Some(value),
            Gauge::Window if whole => facts.window_tokens = Some(value),
            Gauge::Page if whole => facts.page_tokens = Some(value),
            Gauge::Blocks => {
                let page = number("block_size")?;
                facts.page_tokens = Some(page);
                facts.pool_tokens = Some(number("num_gpu_blocks")?.checked_mul(page)?);
            }
            _ => return None,
        }
        let mut event = EngineEvent::new(
            EventKind::CapacityGauge,
            engine,
            format!("gauge {}", self.name.replacen(':', " ", 1)),
        );
        (event.n1, event.n2, event.n3) =
            (facts.pool_tokens, facts.window_tokens, facts.page_tokens);
        event.role = match self.label("engine_type") {
            Some("prefill") => Some(Role::Prefill),
            Some("decode") => Some(Role::Decode),
            Some("unified" | "null") => Some(Role::Unified),
            _ => None,
        };
        facts.mode = match event.role {
            Some(Role::Prefill | Role::Decode) => Some("disaggregated"),
            Some(Role::Unified) => Some("unified"),
            _ => None,
        };
        // An address names the node only where nothing better does.
        let host = |address: &str| address.rsplit_once(':').map_or(address, |a| a.0).to_owned();
        event.node = self
            .label("pod")
            .or_else(|| self.label("node"))
            .map(str::to_owned)
            .or_else(|| self.label("instance").map(host));
        event.t = self.time;
        event.t_zone = match self.time {
            Some(_) => TimeZoneSource::Utc,
            None => TimeZoneSource::Unknown,
        };
        event.capacity = Some(Box::new(facts));
        Some(event)
    }
}

fn is_range(record: &[u8]) -> bool {
    with_json(record, |json| {
        let matrix = json.at(&["data", "resultType"]).and_then(Json::as_str);
        matches!(matrix, Some("matrix" | "vector")).then_some(())
    })
    .is_some()
}

/// The steps of every series: a value that stays says nothing new.
fn range_events(record: &[u8], source_name: &str, out: &mut Vec<EngineEvent>) {
    let events = with_json(record, |json| {
        let mut events = Vec::new();
        for series in json
            .at(&["data", "result"])
            .map(Json::items)
            .unwrap_or_default()
        {
            series_events(series, source_name, &mut events);
        }
        Some(events)
    });
    out.extend(events.unwrap_or_default());
}

fn series_events(series: &Json<'_>, source_name: &str, out: &mut Vec<EngineEvent>) {
    let Some(metric) = series.get("metric") else {
        return;
    };
    let labels: Vec<(String, String)> = metric
        .entries()
        .iter()
        .take(MAX_LABELS)
        .filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned())))
        .collect();
    let Some(name) = metric.str_of("__name__").map(str::to_owned) else {
        return;
    };
    let mut sample = Sample {
        name,
        labels,
        value: 0.0,
        time: None,
    };
    let mut last = None;
    let many = series.get("values").map(Json::items).unwrap_or_default();
    let single = series.get("value");
    for pair in many.iter().chain(single) {
        let (Some(at), Some(value)) = (pair.items().first(), pair.items().get(1)) else {
            continue;
        };
        let Some(value) = value.as_str().and_then(|v| v.parse::<f64>().ok()) else {
            continue;
        };
        if last == Some(value.to_bits()) {
            continue;
        }
        last = Some(value.to_bits());
        sample.value = value;
        sample.time = time::from_seconds(at);
        if let Some(mut event) = sample.event() {
            event.node = event.node.or_else(|| node_of(source_name));
            out.push(event);
        }
    }
}
