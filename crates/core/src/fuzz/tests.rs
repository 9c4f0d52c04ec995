//! The stored corpora through their targets, and inputs that once did harm by name.

use super::formats::{CLOUDS, ENGINES, GATEWAYS, SETS};
use super::*;
use crate::format::table;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Targets that live beside the corpora, since they need more than this package.
const ELSEWHERE: [&str; 1] = ["decompress"];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

#[test]
fn every_format_is_fuzzed_in_one_family() {
    let families = [ENGINES, GATEWAYS, CLOUDS, SETS];
    let mut fuzzed: Vec<&str> = families.concat();
    let mut known: Vec<&str> = table().iter().map(|f| f.name()).collect();
    fuzzed.sort_unstable();
    known.sort_unstable();
    assert_eq!(
        fuzzed, known,
        "add a new format to its family in fuzz/formats.rs"
    );
}

#[test]
fn every_target_has_a_corpus_and_holds_on_it() {
    let mut folders: BTreeSet<String> = fs::read_dir(corpus())
        .expect("the folder of corpora")
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in ELSEWHERE {
        folders.remove(name);
    }
    let names: BTreeSet<String> = TARGETS.iter().map(|(n, _)| (*n).to_owned()).collect();
    assert_eq!(folders, names, "one folder of inputs for each target");
    for (name, target) in TARGETS {
        let mut inputs: Vec<PathBuf> = fs::read_dir(corpus().join(name))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "no inputs for {name}");
        for path in inputs {
            let data = fs::read(&path).unwrap();
            let held = std::panic::catch_unwind(|| target(&data)).is_ok();
            assert!(held, "{} breaks a promise, see above", path.display());
        }
    }
}

#[test]
fn targets_bear_the_smallest_inputs() {
    for (name, target) in TARGETS {
        target(&[]);
        for byte in 0..=255 {
            target(&[byte]);
        }
        assert!(run(name, &[]));
    }
    assert!(!run("no such target", &[]));
}
