//! Archives as other people's tools write them, whole and damaged.

use super::list::MOST_ENTRIES;
use super::*;
use crate::pipeline::discover::Input;
use crate::pipeline::open::open;
use crate::pipeline::scan::ScanSettings;
use pentimento_core::exchange::RejectReason;
use std::io::Write;
use std::path::Path;

type Files<'a> = &'a [(&'a str, &'a [u8])];

fn tarred(files: Files<'_>) -> Vec<u8> {
    let mut builder = ::tar::Builder::new(Vec::new());
    for (name, body) in files {
        let mut header = ::tar::Header::new_ustar();
        header.set_size(body.len() as u64);
        builder
            .append_data(&mut header, name, *body)
            .expect("memory");
    }
    builder.into_inner().expect("memory")
}

fn zipped(files: Files<'_>) -> Vec<u8> {
    packer::zip(files, false)
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    e.write_all(bytes).expect("memory");
    e.finish().expect("memory")
}

fn settings(max_ratio: u64) -> ScanSettings {
    ScanSettings {
        max_record_bytes: 1 << 20,
        unpacking: Unpacking {
            max_ratio,
            scratch: None,
            stash: Stash::default(),
        },
        zone: None,
        year: None,
        keys: None,
        bodies: std::sync::Arc::new(crate::pipeline::bodies::BodyObjects::among(
            &[],
            1 << 20,
            Unpacking {
                max_ratio,
                scratch: None,
                stash: Stash::default(),
            },
        )),
        sources: Default::default(),
        block_bytes: 1 << 20,
        blocks_in_flight: 1,
        stdin_copy: PathBuf::new(),
    }
}

/// Writes an archive and lists it; without the archive itself.
fn listed(folder: &Path, bytes: &[u8], settings: &ScanSettings) -> (Input, Vec<Input>) {
    let path = folder.join("logs.bin");
    std::fs::write(&path, bytes).expect("a temporary file");
    let found = list(&Place::File(path), "A", &settings.unpacking).expect("an archive");
    let mut found = found.into_iter();
    (found.next().expect("the archive"), found.collect())
}

/// What a file holds, or why that cannot be read.
fn content(input: &Input, settings: &ScanSettings) -> Result<String, RejectReason> {
    let mut opened = open(&input.place, settings, true)?;
    let mut text = String::new();
    opened
        .reader
        .read_to_string(&mut text)
        .map_err(|e| crate::pipeline::scan::break_reason(e.kind()))?;
    Ok(text)
}

fn kind_and_trouble(archive: &Input) -> (Kind, Option<RejectReason>) {
    match &archive.place {
        Place::Archive { kind, trouble, .. } => (*kind, trouble.map(|t| t.reason)),
        place => panic!("{place:?}"),
    }
}

fn text(number: usize) -> String {
    format!("line of file {number}\n").repeat(100 * (number + 1))
}

#[test]
fn files_of_every_sort_of_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts: Vec<String> = (0..5).map(text).collect();
    let packed = gzipped(texts[4].as_bytes());
    let files: Vec<(&str, &[u8])> = vec![
        ("a.jsonl", texts[0].as_bytes()),
        ("./sub/b.jsonl", texts[1].as_bytes()),
        (".hidden", b"not read"),
        ("c.jsonl", texts[2].as_bytes()),
        ("d.jsonl.gz", &packed),
    ];
    let names = ["A!a.jsonl", "A!sub/b.jsonl", "A!c.jsonl", "A!d.jsonl.gz"];
    let expected = [&texts[0], &texts[1], &texts[2], &texts[4]];
    let tar = tarred(&files);
    let archives = [
        (Kind::Zip, zipped(&files)),
        (Kind::Tar, gzipped(&tar)),
        (Kind::Tar, zstd::encode_all(&tar[..], 1).expect("memory")),
        (Kind::Tar, tar),
    ];
    for (expected_kind, bytes) in &archives {
        let settings = settings(1000);
        let (archive, inputs) = listed(folder.path(), bytes, &settings);
        assert_eq!(kind_and_trouble(&archive), (*expected_kind, None));
        let shown: Vec<&str> = inputs.iter().map(|i| i.display.as_str()).collect();
        assert_eq!(shown, names);
        let order = (0..4).chain((0..4).rev()).chain([2, 2, 0, 3]);
        for n in order {
            let found = content(&inputs[n], &settings);
            assert_eq!(found.as_ref(), Ok(expected[n]), "{expected_kind:?} {n}");
        }
        assert_eq!(inputs[1].file_name(), "b.jsonl");
    }
}

#[test]
fn archives_in_archives_one_level_deep() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts: Vec<String> = (0..4).map(text).collect();
    let inner: Vec<(&str, &[u8])> = vec![("x", texts[0].as_bytes()), ("y", texts[1].as_bytes())];
    let (tar, zip) = (tarred(&inner), zipped(&inner));
    let tar_gz = gzipped(&tar);
    let deep = zipped(&[("deeper.zip", &zip), ("z", texts[3].as_bytes())]);
    let outer: Vec<(&str, &[u8])> = vec![
        ("1.tar", &tar),
        ("2.tgz", &tar_gz),
        ("plain", texts[2].as_bytes()),
        ("3.zip", &zip),
        ("4.zip", &deep),
    ];
    let names = [
        "A!1.tar!x",
        "A!1.tar!y",
        "A!2.tgz!x",
        "A!2.tgz!y",
        "A!plain",
        "A!3.zip!x",
        "A!3.zip!y",
        "A!4.zip!deeper.zip",
        "A!4.zip!z",
    ];
    let which = [0, 1, 0, 1, 2, 0, 1, 9, 3];
    for bytes in [tarred(&outer), gzipped(&tarred(&outer)), zipped(&outer)] {
        let settings = settings(1000);
        let (_, inputs) = listed(folder.path(), &bytes, &settings);
        let shown: Vec<&str> = inputs.iter().map(|i| i.display.as_str()).collect();
        assert_eq!(shown, names);
        for n in (0..9).chain((0..9).rev()) {
            let expected = texts.get(which[n]).ok_or(RejectReason::DepthLimit);
            assert_eq!(
                content(&inputs[n], &settings).as_ref(),
                expected.as_ref().map(|t| *t),
                "{n}"
            );
        }
    }
}

#[test]
fn what_is_read_in_order_is_unpacked_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts: Vec<String> = (0..30).map(text).collect();
    let names: Vec<String> = (0..30).map(|n| n.to_string()).collect();
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .zip(&texts)
        .map(|(n, t)| (n.as_str(), t.as_bytes()))
        .collect();
    let settings = settings(1000);
    let (archive, inputs) = listed(folder.path(), &gzipped(&tarred(&files)), &settings);
    let Place::Archive { of, .. } = &archive.place else {
        panic!("{archive:?}");
    };
    let key = Key::new(of, &[]);
    let mut last = 0;
    for (input, text) in inputs.iter().zip(&texts) {
        assert_eq!(content(input, &settings).as_ref(), Ok(text));
        // The stream stands behind the file that was read, and is read on for the next one.
        let Some(Kept::Read { reader, at }) = settings.unpacking.stash.take(&key) else {
            panic!("nothing is kept");
        };
        assert!(at > last);
        last = at;
        settings
            .unpacking
            .stash
            .put(key.clone(), Kept::Read { reader, at });
    }
}

#[test]
fn damage_and_bombs_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = text(20);
    let files: Files<'_> = &[("a", one.as_bytes()), ("b", one.as_bytes())];
    let trouble = |input: &Input| kind_and_trouble(input).1;
    let settings = settings(1000);
    let tar = tarred(files);
    let (archive, inputs) = listed(folder.path(), &tar[..tar.len() / 2], &settings);
    assert_eq!(trouble(&archive), Some(RejectReason::Truncated));
    let read: Vec<bool> = inputs
        .iter()
        .map(|i| content(i, &settings).is_ok())
        .collect();
    assert!(read.contains(&false) || inputs.len() < 2, "{read:?}");
    let packed = gzipped(&tar);
    let (archive, _) = listed(folder.path(), &packed[..packed.len() - 9], &settings);
    assert!(trouble(&archive).is_some());
    let zip = zipped(files);
    let (archive, inputs) = listed(folder.path(), &zip[..zip.len() - 3], &settings);
    assert_eq!(
        (trouble(&archive), inputs.len()),
        (Some(RejectReason::Truncated), 0)
    );
    let mut wrong = zip.clone();
    let at = memchr::memmem::find(&wrong, one.as_bytes()).expect("the stored file");
    wrong[at] ^= 1;
    let (_, inputs) = listed(folder.path(), &wrong, &settings);
    assert!(content(&inputs[0], &settings).is_ok());
    let second = content(&inputs[1], &settings).map(|text| text.len());
    assert_eq!(second, Err(RejectReason::CorruptStream));
}

#[test]
fn bombs_are_stopped_by_ratio() {
    let folder = tempfile::tempdir().expect("a folder");
    let zeros = vec![0u8; 80 << 20];
    let settings = settings(10);
    let bomb = zipped(&[("bomb", &zeros)]);
    let (_, inputs) = listed(folder.path(), &bomb, &settings);
    assert_eq!(
        content(&inputs[0], &settings),
        Err(RejectReason::RatioLimit)
    );
    let inner = gzipped(&tarred(&[("bomb", &zeros), ("a", b"x")]));
    let (archive, _) = listed(folder.path(), &inner, &settings);
    let ratio = RejectReason::RatioLimit;
    assert_eq!(kind_and_trouble(&archive).1, Some(ratio));
    let (_, inputs) = listed(folder.path(), &zipped(&[("inner.tgz", &inner)]), &settings);
    let refused = |i: &Input| matches!(&i.place, Place::Refused(t) if t.reason == ratio);
    assert!(inputs.iter().any(refused), "{inputs:?}");
}

#[test]
fn too_many_entries_end_the_listing_aloud() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut tar = Vec::new();
    let one = tarred(&[("e", b"")]);
    for _ in 0..=MOST_ENTRIES {
        tar.extend_from_slice(&one[..512]);
    }
    tar.extend_from_slice(&[0; 1024]);
    let (archive, inputs) = listed(folder.path(), &tar, &settings(1000));
    assert_eq!(inputs.len(), MOST_ENTRIES);
    let limit = RejectReason::EntryLimit;
    assert_eq!(kind_and_trouble(&archive).1, Some(limit));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        at in 0usize..4000, byte: u8, cut in 0usize..4000, packed: bool
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let files: Files<'_> = &[("a", b"one\ntwo\n"), ("b", &[b'x'; 700])];
        let mut bytes = if packed { zipped(files) } else { tarred(files) };
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(length - cut % (length / 2));
        let path = folder.path().join("a");
        std::fs::write(&path, &bytes).expect("a temporary file");
        let settings = settings(1000);
        for input in list(&Place::File(path), "A", &settings.unpacking).unwrap_or_default() {
            let _ = content(&input, &settings);
        }
    }
}
