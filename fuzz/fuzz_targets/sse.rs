//! See `crates/core/src/fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    pentimento_core::fuzz::run("sse", data);
});
