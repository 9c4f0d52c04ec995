//! Lines in the spellings of the releases, and what they must be read as.

use super::EventKind::*;
use super::*;
use jiff::tz::TimeZone;

fn read(line: &str) -> Option<EngineEvent> {
    read_line(line.as_bytes(), Some(&TimeZone::UTC), "glm-prefill-1.log")
}

/// Kind, request, room, the three numbers.
type Row<'a> = (
    &'a str,
    EventKind,
    Option<&'a str>,
    Option<&'a str>,
    [Option<i64>; 3],
);

const NO: Option<i64> = None;

const ROWS: &[Row<'static>] = &[
    (
        "max_total_num_tokens=681280, chunked_prefill_size=8192, max_prefill_tokens=16384, \
            max_running_requests=128, context_len=1048576, available_gpu_mem=3.21 GB",
        Startup,
        None,
        None,
        [Some(681_280), Some(1_048_576), Some(128)],
    ),
    (
        "max_total_num_tokens=681280, chunked_prefill_size=None, max_prefill_tokens=16384, \
            max_running_requests=128, context_len=1048576",
        Startup,
        None,
        None,
        [Some(681_280), Some(1_048_576), Some(128)],
    ),
    (
        "KV Cache is allocated. #tokens: 400000, K size: 1.00 GB, V size: 1.00 GB",
        PoolAllocated,
        None,
        None,
        [Some(400_000), NO, NO],
    ),
    (
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 400000, KV size: 1.00 GB",
        PoolAllocated,
        None,
        None,
        [Some(400_000), NO, NO],
    ),
    (
        "KV pool holds 681280 tokens, fewer than --context-length 1048576. One full-length \
            request cannot fit, so long requests will be refused or truncated at serving time.",
        PoolBelowWindow,
        None,
        None,
        [Some(681_280), Some(1_048_576), NO],
    ),
    (
        "Prefill batch. #new-seq: 1, #new-token: 1, #cached-token: 0, token usage: 0.31, \
            #running-req: 0, #queue-req: 0, ",
        PrefillBatch,
        None,
        None,
        [Some(1), Some(1), Some(0)],
    ),
    (
        "Prefill batch [812], #new-seq: 3, #new-token: 8192, #cached-token: 64, full token \
            usage: 0.31, swa token usage: 0.02, #running-req: 0, #queue-req: 2, #bootstrap-req: \
            0, #inflight-req: 1, input throughput (token/s): 9000.12",
        PrefillBatch,
        None,
        None,
        [Some(3), Some(8192), Some(64)],
    ),
    (
        "Decode batch, #running-req: 12, #full token: 90000, full token usage: 0.31, accept \
            len: 3.41, accept rate: 0.85, pre-allocated usage: 0.10, #prealloc-req: 0, \
            #transfer-req: 1, #retracted-req: 0, cuda graph: True, gen throughput (token/s): \
            800.01, #queue-req: 0",
        DecodeBatch,
        None,
        None,
        [Some(12), Some(90_000), Some(3410)],
    ),
    (
        "Input length (684000 tokens) exceeds the maximum allowed length (681274 tokens). Use a \
            shorter input or enable --allow-auto-truncate., self.rid='9f0c'",
        LengthRejected,
        Some("9f0c"),
        None,
        [Some(684_000), Some(681_274), NO],
    ),
    (
        "Request length is longer than the KV cache pool size or the max context length. \
            Truncated. len(req.origin_input_ids)=684000, max_req_input_len=681274.",
        PromptTruncated,
        None,
        None,
        [Some(684_000), Some(681_274), NO],
    ),
    (
        "Multimodal prompt is too long after expanding multimodal tokens. After expanding \
            len(req.origin_input_ids_unpadded)=20 => 700000 >= 681274., self.rid='m1'",
        MultimodalRejected,
        Some("m1"),
        None,
        [Some(700_000), Some(681_274), NO],
    ),
    (
        "Grammar preprocessing timed out: req.grammar_key=('json', '{\"title\": \"the patient \
            was seen by doctor\"}'), self.rid='g1'",
        GrammarTimeout,
        Some("g1"),
        None,
        [NO; 3],
    ),
    (
        "Failed to compile json grammar: the patient was seen by doctor, self.rid='g2'",
        GrammarRejected,
        Some("g2"),
        None,
        [NO; 3],
    ),
    (
        "Invalid request: session id s-1 does not exist, self.rid='s1'",
        SessionRejected,
        Some("s1"),
        None,
        [NO; 3],
    ),
    (
        "req.logprob_start_len=9 is higher than the number of input tokens \
            len(req.origin_input_ids)=4. Please use a smaller logprob_start_len., self.rid='p1'",
        ParameterRejected,
        Some("p1"),
        None,
        [NO; 3],
    ),
    (
        "Something new that the patient was seen by doctor, self.rid='o1'",
        OtherRejected,
        Some("o1"),
        None,
        [NO; 3],
    ),
    (
        "Request abc exceeds the maximum number of tokens: 700000 > 681280",
        PoolExceeded,
        Some("abc"),
        None,
        [Some(700_000), Some(681_280), NO],
    ),
    (
        "Request prompt exceeds the KV memory budget: input_len=700000., self.rid='b1'",
        PoolExceeded,
        Some("b1"),
        None,
        [Some(700_000), NO, NO],
    ),
    (
        "Prefill transfer failed for request rank=0 req.rid='x' \
            req.bootstrap_room=9223372036854775807 with exception \
            KVTransferError(bootstrap_room=9223372036854775807): Aborted by AbortReq.",
        PrefillTransferFailed,
        Some("x"),
        Some("9223372036854775807"),
        [NO; 3],
    ),
    (
        "Decode transfer failed for request rank=3 decode_req.req.rid='y' \
            decode_req.req.bootstrap_room=12",
        DecodeTransferFailed,
        Some("y"),
        Some("12"),
        [NO; 3],
    ),
    (
        "Decode handshake failed for request rank=3 decode_req.req.rid='y' \
            decode_req.req.bootstrap_room=None",
        DecodeHandshakeFailed,
        Some("y"),
        None,
        [NO; 3],
    ),
    (
        "Context corruption detected: Request r9 (bootstrap_room=77) received metadata from \
            bootstrap_room=78. Metadata buffer index: 3. This indicates metadata buffer index \
            collision.",
        ContextCorruption,
        Some("r9"),
        Some("77"),
        [Some(78), NO, NO],
    ),
    (
        "Metadata unexpectedly not ready after readiness gate: request r9, bootstrap_room=77, \
            metadata_buffer_index=3",
        MetadataNotReady,
        Some("r9"),
        Some("77"),
        [NO; 3],
    ),
    (
        "KV checksum mismatch req=r9 bootstrap_room=77 expected=0x1f got=0x2f",
        KvChecksumMismatch,
        Some("r9"),
        Some("77"),
        [NO; 3],
    ),
    (
        "KV checksum mismatch on a peer rank req=r9 bootstrap_room=77",
        KvChecksumMismatch,
        Some("r9"),
        Some("77"),
        [NO; 3],
    ),
    (
        "kv_canary violation: launch_tag=decode fail_reason=token slot_idx=5120 position=31 \
            stored_token=-1 expected_token=99 stored_chain_hash=0x1 expected_aux=0x2",
        KvCanaryViolation,
        None,
        None,
        [Some(5120), Some(31), NO],
    ),
    (
        "Request is disconnected from the client side (type 1). Abort request obj.rid='z'",
        ClientDisconnected,
        Some("z"),
        None,
        [NO; 3],
    ),
    (
        "Abort transfer queue request. decode_req.req.rid='q'",
        Aborted,
        Some("q"),
        None,
        [NO; 3],
    ),
    (
        "Received output for rid='q' but the state was deleted in TokenizerManager.",
        StateDeleted,
        Some("q"),
        None,
        [NO; 3],
    ),
    (
        "KV cache pool is full. Retract requests. #retracted_reqs: 4, #new_tokens_gained: 512, \
            #new_token_ratio: 0.1 -> 0.2",
        Retracted,
        None,
        None,
        [Some(4), NO, NO],
    ),
    (
        "Req Time Stats(rid=a, b, bootstrap_room=5120033876543210987, input len=1, output \
            len=1, type=prefill): bootstrap_queue_duration(1ms)",
        ReqTimeStats,
        Some("a, b"),
        Some("5120033876543210987"),
        [Some(1), NO, Some(1)],
    ),
    (
        "Req Time Stats(rid=a, input len=12, output len=9, type=unified): queue_duration=1ms",
        ReqTimeStats,
        Some("a"),
        None,
        [Some(12), NO, Some(9)],
    ),
    (
        "ReqTimeStats(rid=a, bootstrap_room=7, input_len=684000, cached_input_len=64, \
            output_len=51, attempts=1, type=decode): x",
        ReqTimeStats,
        Some("a"),
        Some("7"),
        [Some(684_000), Some(64), Some(51)],
    ),
];

#[test]
fn lines_of_sglang() {
    for &(message, kind, rid, room, numbers) in ROWS {
        let line = format!("[2026-09-01 08:30:05 DP1 TP0] {message}");
        let event = read(&line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(event.kind, kind, "{line}");
        assert_eq!(event.engine_request_id.as_deref(), rid, "{line}");
        assert_eq!(event.bootstrap_room.as_deref(), room, "{line}");
        assert_eq!([event.n1, event.n2, event.n3], numbers, "{line}");
        assert_eq!(event.t, Some(1_788_251_405_000_000));
        assert_eq!(event.rank.as_deref(), Some("DP1 TP0"));
        assert_eq!(event.node.as_deref(), Some("glm-prefill-1"));
        assert!(!event.message.contains("patient"), "{}", event.message);
        // The same without its prefix, in colours, and with milliseconds.
        for line in [
            message.to_owned(),
            format!("\u{1b}[32m[2026-09-01 08:30:05 DP1 TP0]\u{1b}[0m {message}"),
            format!("[2026-09-01 08:30:05.000] {message}"),
        ] {
            assert_eq!(read(&line).map(|e| e.kind), Some(kind), "{line}");
        }
    }
}

#[test]
fn roles_and_bytes() {
    let line = "ReqTimeStats(rid=a, bootstrap_room=7, input_len=1, cached_input_len=0, \
        output_len=1, attempts=1, type=prefill): bootstrap=1ms, transfer_speed=0.10 GB/s, \
        transfer_total=4.50 MB";
    let event = read(line).unwrap();
    assert_eq!(event.moved_bytes, Some(4_718_592));
    assert_eq!(event.role, Some(Role::Prefill));
    let old = "Req Time Stats(rid=a, bootstrap_room=7, input len=1, output len=1, type=decode): \
        transfer_speed=0.10GB/s, transfer_total=4.50MB, #retries=0";
    let event = read_line(old.as_bytes(), None, "x.log").unwrap();
    assert_eq!(event.moved_bytes, Some(4_718_592));
    assert_eq!((event.role, event.t), (Some(Role::Decode), None));
}

#[test]
fn launch_arguments_in_both_spellings() {
    let old = "server_args=ServerArgs(model_path='/models/GLM-5.3', \
        tokenizer_path='/models/GLM-5.3', served_model_name='zai-org/GLM-5.3', \
        context_length=None, page_size=64, chunked_prefill_size=8192, \
        disaggregation_mode='prefill', disaggregation_bootstrap_port=8998, \
        allow_auto_truncate=False, api_key='sk-secret', enable_hierarchical_cache=True, \
        log_requests_level=2)";
    let new = "server_args={'model_path': '/models/GLM-5.3', 'served_model_name': \
        'zai-org/GLM-5.3', 'context_length': None, 'page_size': 64, 'chunked_prefill_size': \
        8192, 'disaggregation_mode': 'prefill', 'allow_auto_truncate': False, 'api_key': \
        'sk-secret', 'enable_hierarchical_cache': True, 'log_requests_level': 2}";
    for line in [old, new] {
        let event = read(line).unwrap();
        assert_eq!((event.n1, event.n2), (Some(64), None));
        assert_eq!(event.role, Some(Role::Prefill));
        let facts = event.capacity.unwrap();
        assert_eq!(facts.model.as_deref(), Some("zai-org/GLM-5.3"));
        assert_eq!(facts.mode, Some("disaggregated"));
        let flag = |name| {
            facts
                .flags
                .iter()
                .find(|f| f.0 == name)
                .map(|f| f.1.as_str())
        };
        assert_eq!(flag("allow_auto_truncate"), Some("false"), "{line}");
        assert_eq!(flag("enable_hierarchical_cache"), Some("true"));
        assert_eq!(flag("log_requests_level"), Some("2"));
        assert!(facts.flags.iter().all(|(_, v)| !v.contains("secret")));
    }
}

#[test]
fn lines_of_vllm() {
    let cases = [
        (
            "(EngineCore_0 pid=7) INFO 09-11 08:30:05 [kv_cache_utils.py:900] GPU KV cache \
                size: 1,234,567 tokens, Maximum concurrency for 131,072 tokens per request: \
                9.42x",
            EventKind::PoolAllocated,
            [Some(1_234_567), Some(131_072)],
        ),
        (
            "INFO 09-11 08:30:05 [kv_cache_utils.py:900] GPU KV cache size: 35,712 tokens",
            EventKind::PoolAllocated,
            [Some(35_712), None],
        ),
        (
            "INFO 02-17 14:05:34 kv_cache_utils.py:190] Maximum concurrency for 32,768 tokens \
                per request: 1.09x",
            EventKind::PoolAllocated,
            [None, Some(32_768)],
        ),
        (
            "INFO 09-11 08:30:05 [core.py:70] Initializing a V1 LLM engine (v0.33.0) with \
                config: model='Qwen/Qwen3', max_seq_len=131072, tensor_parallel_size=8, \
                pipeline_parallel_size=2, enable_prefix_caching=True",
            EventKind::ServerArgs,
            [None, Some(131_072)],
        ),
        (
            "WARNING 09-11 08:30:05 [nixl.py:70] Potentially invalid KV blocks for unrecognized \
                request cmpl-1 were retrieved by a decode worker. They may have expired.",
            EventKind::StaleBlocks,
            [None, None],
        ),
        (
            "WARNING 09-11 08:30:05 [nixl.py:70] Releasing expired KV blocks for request cmpl-1 \
                which were retrieved by 0 decode worker(s) within 480 seconds.",
            EventKind::ExpiredBlocks,
            [Some(0), Some(480)],
        ),
        (
            "INFO 09-11 08:30:05 [async_llm.py:70] Request chatcmpl-7 aborted.",
            EventKind::Aborted,
            [None, None],
        ),
    ];
    for (line, kind, [n1, n2]) in cases {
        let event = read(line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!((event.kind, event.n1, event.n2), (kind, n1, n2), "{line}");
        assert_eq!((event.engine, event.t), ("vllm", None));
    }
    let launched = read(cases[3].0).unwrap().capacity.unwrap();
    assert_eq!(launched.version.as_deref(), Some("0.33.0"));
    assert_eq!(launched.model.as_deref(), Some("Qwen/Qwen3"));
}

#[test]
fn other_lines_are_no_events() {
    for line in [
        "",
        "[2026-09-01 08:30:05] INFO:     10.0.0.9:51234 - \"POST /generate HTTP/1.1\" 200 OK",
        "[2026-09-01 08:30:05] The server is fired up and ready to roll!",
        "Input length (",
        "Prefill batch, #new-seq: ",
        "ReqTimeStats(rid=",
        "max_total_num_tokens=99999999999999999999, context_len=1",
        "KVTransferError",
        "Request is late",
        "This model's maximum context length is a secret",
    ] {
        let event = read(line);
        let none = event
            .as_ref()
            .is_none_or(|e| e.kind == EventKind::WindowExceeded);
        assert!(none && event.is_none_or(|e| e.n2.is_none()), "{line}");
    }
}

#[test]
fn nodes_by_file_name() {
    for (name, node) in [
        ("glm-prefill-1.log", Some("glm-prefill-1")),
        ("glm-prefill-1_0.log", Some("glm-prefill-1")),
        ("glm-prefill-1.stdout.log.gz", Some("glm-prefill-1")),
        ("server_info.glm-prefill-1.json", Some("glm-prefill-1")),
        ("server_info-glm-prefill-1.json", Some("glm-prefill-1")),
        ("glm-decode-2-metrics.prom", Some("glm-decode-2")),
        ("sglang-decode-2.log", Some("decode-2")),
        ("decode-2.log.2026-09-01_08", Some("decode-2")),
        ("stdout.log", None),
        ("server_info.json", None),
        ("sglang_0.log", None),
        ("2026-09-01.log", None),
        ("", None),
    ] {
        assert_eq!(node_of(name).as_deref(), node, "{name}");
    }
}

mod soup {
    use super::super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,80}", cut in any::<prop::sample::Index>()) {
            let _ = read_line(text.as_bytes(), None, &text);
            let _ = node_of(&text);
            let line = super::ROWS[cut.index(super::ROWS.len())].0;
            let at = cut.index(line.len() + 1);
            let (head, tail) = line.as_bytes().split_at(at);
            let spliced = [head, text.as_bytes(), tail].concat();
            let _ = read_line(&spliced, None, "x");
        }
    }
}
