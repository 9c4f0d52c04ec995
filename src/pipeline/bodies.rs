//! Large bodies that a log keeps as objects of their own, beside the records that point at them.
//!
//! Bedrock writes bodies above 100 KB to `…/data/{uuid}_input.json.gz` and `…_output.json.gz`,
//! OpenTelemetry's uploads are `{uuid}_inputs.json`, `{uuid}_outputs.json` and
//! `{uuid}_system_instruction.json`. Such an object is a source, with its digest, but its records
//! are no calls: it is read where a record names it.

use super::discover::{Input, Place};
use super::open::open;
use pentimento_core::exchange::{Exchange, RecordKind, RejectReason};
use pentimento_core::format::{Bodies, DecodeContext, LogFormat};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Length of a UUID in its usual spelling.
const UUID_CHARS: usize = 36;

/// The objects among some inputs, by file name.
#[derive(Debug, Default)]
pub struct BodyObjects {
    /// `None` where two have one name: which of them is meant is not known.
    by_name: BTreeMap<String, Option<PathBuf>>,
    max_bytes: u64,
    max_ratio: u64,
}

impl BodyObjects {
    /// Finds the objects among inputs; longer ones than `max_bytes` are not read.
    pub fn among(inputs: &[Input], max_bytes: u64, max_ratio: u64) -> BodyObjects {
        let mut by_name = BTreeMap::new();
        for input in inputs.iter().filter(|input| is_body(input)) {
            if let Place::File(path) = &input.place
                && let Some(name) = path.file_name().and_then(|name| name.to_str())
            {
                by_name
                    .entry(name.to_owned())
                    .and_modify(|found| *found = None)
                    .or_insert_with(|| Some(path.clone()));
            }
        }
        BodyObjects {
            by_name,
            max_bytes,
            max_ratio,
        }
    }
}

impl Bodies for BodyObjects {
    fn text(&self, address: &str) -> Option<String> {
        let name = address.rsplit('/').next()?;
        // A copy may have been unpacked.
        let plain = name.strip_suffix(".gz").unwrap_or(name);
        let path = [name, plain]
            .iter()
            .find_map(|name| self.by_name.get(*name)?.as_ref())?;
        let opened = open(path, self.max_ratio, false).ok()?;
        let mut bytes = Vec::new();
        let limit = self.max_bytes.saturating_add(1);
        opened.reader.take(limit).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > self.max_bytes {
            return None;
        }
        let lossy =
            |e: std::string::FromUtf8Error| String::from_utf8_lossy(e.as_bytes()).into_owned();
        Some(String::from_utf8(bytes).unwrap_or_else(lossy))
    }
}

/// Whether an input is such an object, by its name: a UUID and what it is of that call; Bedrock's
/// in a folder `data`.
pub fn is_body(input: &Input) -> bool {
    let Place::File(path) = &input.place else {
        return false;
    };
    is_body_path(path)
}

fn is_body_path(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(folder), Some(name)) = (folder, name) else {
        return false;
    };
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let stem = |ends: &[&str]| {
        let found = ends.iter().find_map(|end| name.strip_suffix(end));
        found.map(str::to_owned)
    };
    let bedrock = stem(&["_input.json", "_output.json"]).filter(|_| folder == "data");
    let uploads = ["_inputs.json", "_outputs.json", "_system_instruction.json"];
    let uuid = |stem: String| {
        stem.len() == UUID_CHARS && stem.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
    };
    bedrock.or_else(|| stem(&uploads)).is_some_and(uuid)
}

/// The format of such an object: known, and no call.
pub struct BodyObject;

impl LogFormat for BodyObject {
    fn name(&self) -> &'static str {
        "body_object"
    }

    fn sniff(&self, _record: &[u8]) -> u8 {
        0
    }

    fn decode(
        &self,
        _record: &[u8],
        _context: &DecodeContext<'_>,
        _out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        Ok(RecordKind::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "7f0c2a44-0000-4000-8000-00000000000a";

    #[test]
    fn only_such_names_in_such_folders() {
        for (path, expected) in [
            (format!("logs/data/{UUID}_input.json.gz"), true),
            (format!("data/{UUID}_output.json"), true),
            (format!("logs/{UUID}_output.json"), false),
            (format!("uploads/{UUID}_inputs.json"), true),
            (format!("uploads/{UUID}_system_instruction.json"), true),
            ("uploads/my_inputs.json".to_owned(), false),
            ("data/chat_input.json".to_owned(), false),
            (format!("data/{UUID}.json"), false),
            (format!("data/{UUID}_input.jsonl"), false),
        ] {
            assert_eq!(is_body_path(Path::new(&path)), expected, "{path}");
        }
    }

    #[test]
    fn objects_are_found_by_name_unless_two_have_it() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut inputs = Vec::new();
        for (folder, name, text) in [
            ("a", "_input.json", "asked"),
            ("a", "_output.json", "one"),
            ("b", "_output.json", "other"),
        ] {
            let path = dir.path().join(folder).join("data");
            std::fs::create_dir_all(&path).expect("mkdir");
            let path = path.join(format!("{UUID}{name}"));
            std::fs::write(&path, text).expect("write");
            inputs.push(Input {
                display: path.display().to_string(),
                place: Place::File(path),
            });
        }
        let objects = BodyObjects::among(&inputs, 5, 10);
        let text = |end: &str| objects.text(&format!("s3://bucket/x/data/{UUID}{end}"));
        assert_eq!(text("_input.json.gz").as_deref(), Some("asked"));
        assert_eq!(text("_output.json"), None);
        assert_eq!(objects.text("s3://bucket/data/none_input.json"), None);
        let short = BodyObjects::among(&inputs, 4, 10);
        assert_eq!(short.text(&format!("{UUID}_input.json")), None);
    }
}
