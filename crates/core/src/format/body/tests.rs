//! Tables of bodies: what each provider's shapes must read as.

use super::*;

fn parse(text: &str) -> Json<'_> {
    Json::parse(text).unwrap()
}

fn check_requests(cases: &[(&str, ContentState, &[&str])]) {
    for (body, state, prompts) in cases {
        let request = Request::read(&parse(body));
        let texts: Vec<&str> = request.prompts.iter().map(|p| p.text.as_str()).collect();
        assert_eq!(
            (request.state, texts.as_slice()),
            (*state, *prompts),
            "{body}"
        );
    }
}

#[test]
fn requests_of_one_part() {
    use ContentState::*;
    check_requests(&[
        (
            r#"{"messages":[{"role":"user","content":"hi"}]}"#,
            Full,
            &["hi"],
        ),
        (r#"{"messages":[]}"#, Full, &[""]),
        (r#"{"model":"m"}"#, Absent, &[]),
        ("null", Absent, &[]),
        (r#""plain""#, Full, &["plain"]),
        (r#"{"prompt":"one"}"#, Full, &["one"]),
        (r#"{"prompt":["one","two"]}"#, Full, &["one", "two"]),
        (r#"{"prompt":[1,2,3]}"#, IdsOnly, &[]),
        (r#"{"prompt":[[1,2],[3]]}"#, IdsOnly, &[]),
        (
            r#"{"input":"hi","instructions":"be kind"}"#,
            Full,
            &["be kind\nhi"],
        ),
        (
            r#"{"input":"hi","previous_response_id":"r"}"#,
            Stateful,
            &["hi"],
        ),
        (
            r#"{"input":"hi","conversation":{"id":"c"}}"#,
            Stateful,
            &["hi"],
        ),
    ]);
}

#[test]
fn requests_of_the_clouds() {
    use ContentState::*;
    check_requests(&[
        (
            r#"{"contents":[{"role":"user","parts":[{"text":"a"},{"fileData":{"mimeType":"audio/x"}}]}],"systemInstruction":{"parts":[{"text":"s"}]}}"#,
            Full,
            &["s\na"],
        ),
        (
            r#"{"contents":[{"parts":[{"text":"a"}]}],"cachedContent":"c"}"#,
            Stateful,
            &["a"],
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"guardContent":{"text":{"text":"g"}}},{"document":{"name":"n","source":{"text":"d"}}},{"cachePoint":{}}]}]}"#,
            Full,
            &["g\nd"],
        ),
        (r#"{"inputText":"t"}"#, Full, &["t"]),
        (
            r#"{"message":"m","chat_history":[{"message":"h"}]}"#,
            Full,
            &["h\nm"],
        ),
        (
            r#"{"thread_id":"t","messages":[{"role":"user","content":"m"}]}"#,
            Stateful,
            &["m"],
        ),
        (
            r#"[{"role":"user","parts":[{"type":"text","content":"p"},{"type":"tool_call_response","result":"r"}]}]"#,
            Full,
            &["p\nr"],
        ),
        (
            r#""{\"contents\":[{\"parts\":[{\"text\":\"cut he""#,
            Truncated,
            &["cut he"],
        ),
    ]);
}

#[test]
fn responses_of_the_clouds() {
    for (body, text, finish, counts) in [
        (
            r#"{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"t","thought":true}]},"finishReason":"MAX_TOKENS"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"thoughtsTokenCount":3}}"#,
            "a",
            Some("length"),
            (Some(1), Some(5)),
        ),
        (
            r#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}]"#,
            "ab",
            Some("stop"),
            (Some(1), Some(2)),
        ),
        (
            r#"{"output":{"message":{"content":[{"text":"a"}]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":2}}"#,
            "a",
            Some("tool_calls"),
            (Some(1), Some(2)),
        ),
        (
            r#"{"results":[{"outputText":"a","completionReason":"LENGTH","tokenCount":2}],"inputTextTokenCount":1}"#,
            "a",
            Some("length"),
            (Some(1), Some(2)),
        ),
        (
            r#"[{"generation":"a","stop_reason":null},{"generation":"b","stop_reason":"length"}]"#,
            "ab",
            Some("length"),
            (None, None),
        ),
        (
            r#"{"outputs":[{"text":"a","stop_reason":"stop"}]}"#,
            "a",
            Some("stop"),
            (None, None),
        ),
        (
            r#"{"result":{"response":"a","usage":{"prompt_tokens":1,"completion_tokens":2}},"success":true}"#,
            "a",
            None,
            (Some(1), Some(2)),
        ),
        (
            r#""data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\"}]},\"finishReason\":\"SAFETY\"}]}\n\n""#,
            "ab",
            Some("content_filter"),
            (None, None),
        ),
        // An answer of the model's own that looks a little like one of those.
        (
            r#""{\"candidates\":[\"Ada\"],\"results\":[]}""#,
            r#"{"candidates":["Ada"],"results":[]}"#,
            None,
            (None, None),
        ),
    ] {
        let response = Response::read(&parse(body));
        let [choice] = response.choices.as_slice() else {
            panic!("one choice: {body}");
        };
        assert_eq!(choice.response.as_ref().unwrap().text, text, "{body}");
        assert_eq!(choice.finish.as_deref(), finish, "{body}");
        let usage = (response.usage.prompt, response.usage.completion);
        assert_eq!(usage, counts, "{body}");
    }
}

#[test]
fn a_cached_answer_does_not_link() {
    for (cache_hit, ids) in [(Some(true), 0), (Some(false), 1), (None, 1)] {
        let base = Exchange {
            cache_hit,
            ..Exchange::default()
        };
        let response = Response::read(&parse(r#"{"id":"r","choices":[]}"#));
        let out = expand(base, Request::default(), response).unwrap();
        assert_eq!(out[0].correlation.len(), ids);
    }
}

#[test]
fn requests_of_several_parts() {
    use ContentState::*;
    check_requests(&[
        (
            r#"{"input":[{"type":"function_call_output","call_id":"c","output":"42"}]}"#,
            Full,
            &["42"],
        ),
        (
            r#"{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","data":"doc"}},{"type":"text","text":"q"}]}]}"#,
            Full,
            &["s\ndoc\nq"],
        ),
        (
            r#"{"messages":[{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"out"}]}"#,
            Full,
            &["f\n{}\nout"],
        ),
        (
            r#"{"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f"}}]}"#,
            Full,
            &["q\n{\"name\":\"f\"}"],
        ),
        (
            r#""{\"messages\":[{\"role\":\"user\",\"content\":\"deep\"}]}""#,
            Full,
            &["deep"],
        ),
        (
            r#"{"method":"POST","body":{"prompt":"wrapped"}}"#,
            Full,
            &["wrapped"],
        ),
        (r#""{\"question\":1}""#, Full, &["{\"question\":1}"]),
        (
            r#""{\"messages\":[{\"role\":\"user\",\"content\":\"cut of""#,
            Truncated,
            &["cut of"],
        ),
    ]);
}

#[test]
fn nested_json_is_followed_three_times_and_no_further() {
    let mut body = r#"{"prompt":"inside"}"#.to_owned();
    for level in 1..=5 {
        body = serde_json::to_string(&body).unwrap();
        let request = Request::read(&parse(&body));
        let found = request.prompts[0].text == "inside";
        assert_eq!(found, level <= NESTED_JSON_LEVELS, "level {level}");
    }
}

/// Response, reasoning and tool text of the first choice.
fn texts(body: &str) -> (Response, [Option<String>; 3]) {
    let response = Response::read(&parse(body));
    let choice = response.choices.first().cloned().unwrap_or_default();
    let fields = [choice.response, choice.reasoning, choice.tool];
    (response, fields.map(|field| field.map(|f| f.text)))
}

#[test]
fn responses() {
    for (body, expected) in [
        (
            r#"{"choices":[{"message":{"content":"a"}}]}"#,
            [Some("a"), None, None],
        ),
        (
            r#"{"choices":[{"message":{"content":null,"refusal":"no"}}]}"#,
            [Some("no"), None, None],
        ),
        (
            r#"{"choices":[{"message":{"content":"a","reasoning":"b"}}]}"#,
            [Some("a"), Some("b"), None],
        ),
        (
            r#"{"choices":[{"text":"legacy"}]}"#,
            [Some("legacy"), None, None],
        ),
        (
            r#"{"choices":[{"message":{"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}}]}"#,
            [Some("x\ny"), None, None],
        ),
        (
            r#"{"type":"message","content":[{"type":"tool_use","name":"f","input":{"b":1,"a":2}}]}"#,
            [Some(""), None, Some("f\n{\"b\":1,\"a\":2}")],
        ),
        (
            r#"{"object":"response","output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"r"}]},{"type":"message","content":[{"type":"output_text","text":"o"}]}]}"#,
            [Some("o"), Some("r"), None],
        ),
        (
            r#"{"role":"assistant","content":"bare"}"#,
            [Some("bare"), None, None],
        ),
        (r#""just text""#, [Some("just text"), None, None]),
        (r#""{\"a\":1}""#, [Some("{\"a\":1}"), None, None]),
        (r#""[1,2]""#, [Some("[1,2]"), None, None]),
        (r#""data is: none""#, [Some("data is: none"), None, None]),
        (
            r#"{"body":{"choices":[{"message":{"content":"in"}}]},"status":200}"#,
            [Some("in"), None, None],
        ),
        (
            r#"{"text":"engine's own","meta_info":{}}"#,
            [Some("engine's own"), None, None],
        ),
    ] {
        let (_, found) = texts(body);
        let expected = expected.map(|text| text.map(str::to_owned));
        assert_eq!(found, expected, "{body}");
    }
}

#[test]
fn errors_in_place_of_an_answer() {
    for (body, error) in [
        (r#"{"error":{"message":"m","code":400}}"#, Some(Some(400))),
        (r#"{"error":{"message":"m","code":"bad"}}"#, Some(None)),
        (
            r#"{"object":"error","message":"m","code":413}"#,
            Some(Some(413)),
        ),
        (
            r#"{"type":"error","error":{"type":"overloaded_error"}}"#,
            Some(None),
        ),
        (r#"{"error":"gone"}"#, Some(None)),
        (r#"{"error":null,"choices":[]}"#, None),
        (r#""{\"error\":{\"message\":\"m\"}}""#, Some(None)),
    ] {
        let (response, found) = texts(body);
        assert_eq!(response.error.map(|e| e.status), error, "{body}");
        assert_eq!(found, [None, None, None], "{body}");
        assert_eq!(response.state, ContentState::Absent, "{body}");
    }
}

#[test]
fn streams() {
    let chunk =
        |text: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#);
    let (a, b) = (chunk("a"), chunk("b"));
    for (stream, expected, state) in [
        (
            format!("data: {a}\n\ndata: {b}\n\ndata: [DONE]\n\n"),
            "ab",
            ContentState::Full,
        ),
        (
            format!("data:{a}\r\n\r\n: ping\r\n\r\ndata:{b}"),
            "ab",
            ContentState::Full,
        ),
        (format!("data: {a}\ndata: {b}\n"), "ab", ContentState::Full),
        (
            format!("event: x\nid: 1\ndata: {a}\n\n"),
            "a",
            ContentState::Full,
        ),
        (
            format!("data: {a}\n\ndata: {{\"choices\":[\ndata: {b}\n\n"),
            "ab",
            ContentState::Truncated,
        ),
        (
            format!("data: {a}\n\ndata: {{\"cho"),
            "a",
            ContentState::Truncated,
        ),
        (format!("{a}\n{b}"), "ab", ContentState::Full),
        (format!("{a}{b}{{\"cho"), "ab", ContentState::Truncated),
        (format!("[{a},{b}]"), "ab", ContentState::Full),
    ] {
        let text = Json::Str(stream.as_str().into());
        let response = Response::read(&text);
        let found = response.choices[0].response.as_ref().unwrap();
        assert_eq!(
            (found.text.as_str(), response.state),
            (expected, state),
            "{stream}"
        );
    }
}

#[test]
fn choices_share_a_prompt_within_bounds() {
    let base = Exchange::default();
    let choices = |count: usize| {
        let items = vec![r#"{"message":{"content":"x"}}"#; count].join(",");
        Response::read(&parse(&format!("{{\"choices\":[{items}]}}")))
    };
    let prompt = |text: &str| Request::of_text(text);
    let out = expand(base.clone(), prompt("p"), choices(3)).unwrap();
    assert_eq!(out.iter().map(|e| e.choice).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(out.iter().all(|e| e.prompt.is_some()));
    let long = "p ".repeat(MAX_COPIED_BYTES / 2000);
    let out = expand(base.clone(), prompt(&long), choices(1500)).unwrap();
    assert_eq!(out.iter().filter(|e| e.prompt.is_some()).count(), 1);
    assert_eq!(out[1].prompt_state, ContentState::External);
    let many = expand(base, prompt("p"), choices(MAX_CHOICES + 1));
    assert_eq!(many, Err(RejectReason::InvalidField));
}
