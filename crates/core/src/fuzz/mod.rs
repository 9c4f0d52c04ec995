//! Fuzz targets: what must hold for any bytes.
//!
//! A target takes bytes and panics where a promise is broken. It is run by libFuzzer (`fuzz/`),
//! and by the tests of this package over the stored corpora. Panics name no text: inputs are files.

mod formats;
mod input;
mod parsers;
mod searches;
#[cfg(test)]
mod tests;
mod texts;

/// A target takes any bytes and panics where something is wrong.
pub type Target = fn(&[u8]);

/// All targets, by name: `fuzz/fuzz_targets/NAME.rs`, `fuzz/corpus/NAME/`.
pub const TARGETS: &[(&str, Target)] = &[
    ("formats_engines", formats::engines),
    ("formats_gateways", formats::gateways),
    ("formats_clouds", formats::clouds),
    ("formats_sets", formats::sets),
    ("frame", formats::frame),
    ("json", parsers::json),
    ("body", parsers::body),
    ("sse", parsers::sse),
    ("python", parsers::python),
    ("engine", parsers::engine),
    ("files", parsers::files),
    ("tokenize", texts::tokens),
    ("canary", texts::canary),
    ("overlap", searches::overlap),
    ("identifiers", searches::identifiers),
    ("probe", searches::probe),
    ("duplicate", searches::duplicate),
    ("health", searches::health),
];

/// Runs a target by its name; `false` if there is none of that name.
pub fn run(name: &str, data: &[u8]) -> bool {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    if let Some((_, target)) = found {
        target(data);
    }
    found.is_some()
}
