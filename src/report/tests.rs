//! Tests of the formats together: golden files, hostile values, caps, wording.

mod hostile;
mod sample;
mod wordings;

use super::RENDERERS;
use std::path::PathBuf;

fn golden_path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/report")
        .join(file)
}

/// `UPDATE_GOLDEN=1` writes the files instead of comparing.
#[test]
fn formats_match_their_golden_files() {
    let report = sample::sample(&str::to_owned).finish();
    for format in RENDERERS {
        let got = format.render(&report).unwrap();
        let path = golden_path(format.file_name());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &got).unwrap();
        }
        let want = std::fs::read_to_string(&path).unwrap();
        let got = String::from_utf8(got).unwrap();
        let differs = got
            .lines()
            .zip(want.lines())
            .position(|(got, want)| got != want);
        assert!(
            got == want,
            "{} differs first at line {differs:?}",
            path.display()
        );
    }
}

#[test]
fn every_format_has_its_own_file() {
    let names: std::collections::BTreeSet<_> = RENDERERS.iter().map(|f| f.file_name()).collect();
    assert_eq!(names.len(), RENDERERS.len());
}
