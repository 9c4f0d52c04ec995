//! Log formats: bytes of one record → exchanges, or the reason why not.
//!
//! A format is one file and one line in [`table`]. [`frame`] cuts the stream, [`body`] reads what
//! formats share (request and response bodies); neither knows who calls it. Nothing here merges,
//! links or drops records: that needs more than one of them.

pub mod azure_apim;
pub mod azure_openai;
pub mod azure_trace;
pub mod batch;
pub mod bedrock;
pub mod body;
pub mod burst_gpt;
pub mod chat_sets;
pub mod cloudflare;
pub mod csv;
pub mod csv_rows;
pub mod dynamo;
pub mod engine_log;
mod envelope;
pub mod envoy;
pub mod frame;
pub mod har;
mod headers;
pub mod helicone;
pub mod json;
pub mod kong;
pub mod kubernetes;
mod labels;
pub mod langfuse;
pub mod litellm;
pub mod markers;
pub mod mooncake;
pub mod native;
pub mod openai;
pub mod otlp;
pub mod pickle;
pub mod portkey;
pub(crate) mod python;
pub mod ray_serve;
mod reader;
pub(crate) mod repair;
pub mod sealed;
pub mod server_info;
pub mod sglang;
mod stray;
mod thin;
pub mod time;
pub mod usage_export;
pub mod vertex;
pub mod vllm;

use crate::engine::EngineEvent;
use crate::exchange::{Exchange, RecordKind, RejectReason};
use jiff::tz::TimeZone;
use std::fmt;
use thiserror::Error;

/// Records that [`sniff_source`] looks at, at most.
const SNIFF_RECORDS: usize = 64;

/// Bytes that [`sniff_source`] looks at before it stops taking further records.
const SNIFF_BYTES: usize = 16 << 20;

/// What a decoder knows beside the record.
#[derive(Clone, Copy, Default)]
pub struct DecodeContext<'a> {
    /// Declared zone of naive times; without it such times are dropped.
    pub zone: Option<&'a TimeZone>,
    /// Declared year of times that are written without one; such times are dropped where neither
    /// it nor the file name gives a year.
    pub year: Option<i16>,
    /// Header of the source, where it is CSV.
    pub header: Option<&'a [u8]>,
    /// File name of the source, without folders.
    pub source_name: &'a str,
    /// Private keys of encrypted bodies.
    pub keys: Option<&'a sealed::BodyKeys>,
    /// Bodies that lie beside the log as objects of their own.
    pub bodies: Option<&'a dyn Bodies>,
}

/// Bodies that records point at.
pub trait Bodies: Sync {
    /// The text of the object that a record names by its address; `None` where it is not at hand.
    fn text(&self, address: &str) -> Option<String>;
}

/// Which texts of a record its reader has use for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// All of them.
    #[default]
    All,
    /// The answer: response, reasoning and tool calls.
    Answer,
    /// The prompt.
    Prompt,
    /// None: counts, times and ids will do.
    Facts,
}

/// One log format.
pub trait LogFormat: Sync + Send {
    /// The name in `source_format`.
    fn name(&self) -> &'static str;

    /// How sure this one record is of this format: 0 (not at all) to 100.
    fn sniff(&self, record: &[u8]) -> u8;

    /// Appends the exchanges of a record. An error makes the record a reject; `out` is then as
    /// it was.
    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason>;

    /// Appends the engine events of a record that `decode` called an event.
    fn events(&self, record: &[u8], context: &DecodeContext<'_>, out: &mut Vec<EngineEvent>) {
        let _ = (record, context, out);
    }

    /// Whether a call may lie in several records, which are then to be put together by
    /// [`row_key`](LogFormat::row_key) before they are decoded.
    fn joins_rows(&self) -> bool {
        false
    }

    /// The call that a record belongs to and its place in it; `None` where it stands alone.
    fn row_key(&self, record: &[u8], context: &DecodeContext<'_>) -> Option<frame::RowKey> {
        let _ = (record, context);
        None
    }

    /// As [`decode`](LogFormat::decode), for a record that was decoded before, by someone who needs
    /// some of its texts only. What is not wanted may be missing from the exchanges, with all that
    /// follows from it; their number, their order, and the wanted texts with their states are the
    /// same.
    fn decode_again(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        wanted: Wanted,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let _ = wanted;
        self.decode(record, context, out)
    }
}

impl fmt::Debug for dyn LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// All formats; where two are equally sure, the earlier one is taken.
pub fn table() -> &'static [&'static dyn LogFormat] {
    &[
        &native::Native,
        &sglang::SglangJson,
        &sglang::SglangText,
        &sglang::SglangMetrics,
        &sglang::SglangDump,
        &vllm::VllmText,
        &vllm::VllmJson,
        &litellm::Litellm,
        &otlp::Otlp,
        &batch::Batch,
        &cloudflare::Cloudflare,
        &bedrock::Bedrock,
        &azure_apim::AzureApim,
        &azure_openai::AzureOpenAi,
        &kong::Kong,
        &langfuse::Langfuse,
        &helicone::Helicone,
        &portkey::Portkey,
        &vertex::Vertex,
        &har::Har,
        &openai::OpenAi,
        &csv_rows::LITELLM,
        &csv_rows::HELICONE,
        &csv_rows::LANGFUSE,
        &envoy::Envoy,
        &dynamo::Dynamo,
        &ray_serve::RayServe,
        &mooncake::Mooncake,
        &azure_trace::AzureTrace,
        &burst_gpt::BurstGpt,
        &chat_sets::ShareGpt,
        &chat_sets::WildChat,
        &chat_sets::Lmsys,
        &engine_log::EngineLog,
        &server_info::ServerInfo,
        &server_info::Metrics,
        &kubernetes::Kubernetes,
        &usage_export::UsageExport,
    ]
}

/// The format of a name.
pub fn by_name(name: &str) -> Option<&'static dyn LogFormat> {
    table().iter().copied().find(|format| format.name() == name)
}

/// Why no format was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SniffFailure {
    /// The source holds no record.
    #[error("no record to tell the format from")]
    Empty,
    /// No format knows any of the first records.
    #[error("none of the first {0} records is of a known format")]
    Unknown(usize),
}

/// Lets the first records of a source vote for its format; records that no format knows have no
/// vote.
pub fn sniff_source(first_records: &[&[u8]]) -> Result<&'static dyn LogFormat, SniffFailure> {
    let mut votes = vec![0u32; table().len()];
    let mut bytes = 0;
    let mut seen = 0;
    for record in first_records.iter().take(SNIFF_RECORDS) {
        for (vote, format) in votes.iter_mut().zip(table()) {
            *vote += u32::from(format.sniff(record).min(100));
        }
        seen += 1;
        bytes += record.len();
        if bytes > SNIFF_BYTES {
            break;
        }
    }
    if seen == 0 {
        return Err(SniffFailure::Empty);
    }
    let mut best = (0, None);
    for (vote, format) in votes.into_iter().zip(table()) {
        if vote > best.0 {
            best = (vote, Some(*format));
        }
    }
    best.1.ok_or(SniffFailure::Unknown(seen))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logs of engines and public traces.
    const ENGINE_SIDE: &[(&str, &str)] = &[
        (
            "[2026-09-11 08:30:05 TP0] server_args=ServerArgs(model_path='m')",
            "engine_log",
        ),
        (
            r#"{"request_parameters":"{}","finish_reason":null,"prompt_tokens":1}"#,
            "sglang_metrics",
        ),
        (
            "INFO 09-11 08:30:05 [a.py:1] Received request r: prompt: 'p', params: S()",
            "vllm_text",
        ),
        (
            "(E pid=7) INFO 09-11 08:30:05 [core.py:1] Ready",
            "vllm_text",
        ),
        (
            r#"{"asctime":"x","levelname":"INFO","name":"vllm.x","processName":"m","message":"m"}"#,
            "vllm_json",
        ),
        (
            r#"{"levelname":"INFO","message":"m","deployment":"d","replica":"r"}"#,
            "ray_serve",
        ),
        (
            "INFO 2026-09-11 08:30:09,500 proxy 10.0.0.2 r -- POST /v1/x 200 1.0ms",
            "ray_serve",
        ),
        (
            r#"{"start_time":"x","response_code":200,"gen_ai.request.model":"m"}"#,
            "envoy_ai_gateway",
        ),
        (
            r#"{"schema":"dynamo.request.trace.v1","event_type":"x","event_time_unix_ms":1}"#,
            "dynamo",
        ),
        (
            r#"{"schema_version":1,"request_id":"a","requested_streaming":true,"request":{},"response":{}}"#,
            "dynamo",
        ),
        (
            r#"{"timestamp":1,"input_length":1,"output_length":1,"hash_ids":[]}"#,
            "mooncake",
        ),
        ("TIMESTAMP,ContextTokens,GeneratedTokens", "azure_trace"),
        ("2023-11-16 18:15:46.6805900,374,44", "azure_trace"),
        ("45,ChatGPT,1087,230,1317,Conversation log", "burst_gpt"),
        (r#"{"id":"x_0","conversations":[]}"#, "sharegpt"),
        (
            r#"{"conversation_hash":"c","conversation":[],"model":"m","timestamp":"t"}"#,
            "wildchat",
        ),
        (
            r#"{"conversation_id":"c","conversation":[],"model":"m"}"#,
            "lmsys",
        ),
    ];

    #[test]
    fn engine_side_formats_are_told_by_one_record() {
        for (record, expected) in ENGINE_SIDE {
            let found = sniff_source(&[record.as_bytes()]).unwrap().name();
            assert_eq!(found, *expected, "{record}");
        }
    }

    #[test]
    fn formats_are_told_by_their_records() {
        let junk = "{\"cut\": ";
        for (records, expected) in [
            (
                &[r#"{"request_id":"r","tenant":"t","prompt":"p","response":"r"}"#][..],
                "native",
            ),
            (&[r#"{"prompt":"p","response":"r"}"#], "native"),
            (
                &[r#"{"request_id":"r","prompt_tokens":1,"completion_tokens":2}"#],
                "native",
            ),
            (
                &[
                    junk,
                    junk,
                    r#"{"request_id":"r","messages":[],"t_start":1}"#,
                ],
                "native",
            ),
            (
                &[r#"{"request":{},"response":{},"tenant":"t","request_id":"r"}"#],
                "openai",
            ),
            (
                &[r#"{"prompt":"p","completion":"c","request_id":"r","tenant":"t"}"#],
                "openai",
            ),
            (&[r#"{"input":"p","output":"c"}"#], "openai"),
            (
                &[r#"{"id":"r","user":"u","prompt":"p","response":"c"}"#],
                "openai",
            ),
            (&[r#"{"messages":[],"choices":[]}"#], "openai"),
            (
                &[r#"[2026-09-11 08:30:05] {"event":"request.finished","obj":{}}"#],
                "sglang_json",
            ),
            (
                &["[2026-09-11 08:30:05] Finish: obj=GenerateReqInput(rid='1')"],
                "sglang_text",
            ),
            (
                &[r#"{"litellm_call_id":"l","call_type":"a","startTime":1}"#],
                "litellm",
            ),
            (
                &[r#"{"litellm_call_id":"l","tenant":"t","t_start":1,"prompt":"p"}"#],
                "native",
            ),
        ] {
            let records: Vec<&[u8]> = records.iter().map(|r| r.as_bytes()).collect();
            assert_eq!(
                sniff_source(&records).unwrap().name(),
                expected,
                "{records:?}"
            );
        }
        assert_eq!(sniff_source(&[]).unwrap_err(), SniffFailure::Empty);
        let failure = sniff_source(&[b"soup", junk.as_bytes()]).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "none of the first 2 records is of a known format"
        );
    }

    const GATEWAYS: &[(&str, &str)] = &[
        (
            r#"{"log":{"entries":[{"startedDateTime":"t","request":{},"response":{}}]}}"#,
            "har",
        ),
        (
            r#"{"result":[{"tokens_in":1}],"result_info":{},"success":true}"#,
            "cloudflare",
        ),
        (
            r#"{"id":"o","trace_id":"t","type":"SPAN","start_time":"s","input":"i","output":"o","usage_details":{}}"#,
            "langfuse",
        ),
        (
            r#"{"request_id":"r","request_created_at":"c","response_status":200,"request_body":{}}"#,
            "helicone",
        ),
        (
            r#"{"timestamp":1,"model":"m","request_body":{},"response_body":{},"tokens_in":1}"#,
            "openai",
        ),
        (
            r#"{"started_at":1,"latencies":{},"request":{},"response":{}}"#,
            "kong",
        ),
        (
            r#"{"id":"t","timestamp":"x","project_id":"p","session_id":"s","bookmarked":false,"input":"i","output":"o"}"#,
            "langfuse",
        ),
        (
            r#"{"records":[{"category":"RequestResponse","properties":"{}"}]}"#,
            "azure_openai",
        ),
        (r#"{"resourceSpans":[]}"#, "otlp"),
        (r#"{"resourceLogs":[]}"#, "otlp"),
        (
            r#"{"custom_id":"c","method":"POST","url":"/v1/responses","body":{}}"#,
            "batch",
        ),
        (
            r#"{"id":"b","custom_id":"c","response":null,"error":{}}"#,
            "batch",
        ),
        (r#"{"custom_id":"c","result":{"type":"expired"}}"#, "batch"),
        (
            r#"{"custom_id":"c","request":{},"response":{},"error":null}"#,
            "openai",
        ),
        (
            r#"{"Gateway":"g","Endpoint":"e","RequestBody":{},"ResponseBody":{}}"#,
            "cloudflare",
        ),
        (
            r#"{"id":"l","tokens_in":1,"tokens_out":1,"provider":"p","model":"m"}"#,
            "cloudflare",
        ),
        (
            r#"{"schemaType":"ModelInvocationLog","input":{},"output":{}}"#,
            "bedrock",
        ),
        (r#"[{"type":"message_start"},{"type":"ping"}]"#, "bedrock"),
        (
            r#"{"category":"RequestResponse","operationName":"o","properties":"{}"}"#,
            "azure_openai",
        ),
        (
            r#"{"started_at":1,"request":{},"response":{},"ai":{}}"#,
            "kong",
        ),
        (
            r#"{"started_at":1,"request":{},"response":{},"tenant":"t"}"#,
            "openai",
        ),
        (
            r#"{"request":{},"response":{},"ai_model":"m","req_units":1,"res_units":1}"#,
            "portkey",
        ),
        (
            r#"{"logging_time":"t","request_id":"1","full_request":{},"full_response":{}}"#,
            "vertex",
        ),
    ];

    #[test]
    fn gateways_and_clouds_are_told_by_their_records() {
        for (record, expected) in GATEWAYS {
            let format = sniff_source(&[record.as_bytes()]).unwrap();
            assert_eq!(format.name(), *expected, "{record}");
        }
    }
}
