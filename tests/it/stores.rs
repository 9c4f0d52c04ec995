//! Logs in an object store, against a server that speaks enough of S3: listed page by page, read in
//! ranges, and failing in the ways that stores do.

use crate::kit::{Lab, clean, exchange, lines, program, rows, stderr, words};
use pentimento_store::rows::{ExchangeRow, RejectRow, SourceRow};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};

/// What becomes of a read of an object.
#[derive(Clone, Copy)]
enum Fault {
    None,
    /// An error of this status.
    Status(u16),
    /// The connection ends in the middle of the body.
    Cut,
    /// The object is another one by now.
    Changed,
}

/// Which reads fail: key and number of the read of it, from 1.
type Faults = fn(&str, usize) -> Fault;

/// Keys of a page of a listing.
const PAGE: usize = 300;

struct Bucket {
    objects: BTreeMap<String, Vec<u8>>,
    faults: Faults,
    /// Reads by key: first and last byte of each.
    reads: Mutex<BTreeMap<String, Vec<(usize, usize)>>>,
    pages: Mutex<usize>,
}

/// A bucket `logs` on this machine.
struct Server {
    bucket: Arc<Bucket>,
    port: u16,
}

impl Server {
    fn start(objects: BTreeMap<String, Vec<u8>>, faults: Faults) -> Server {
        let bucket = Arc::new(Bucket {
            objects,
            faults,
            reads: Mutex::default(),
            pages: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = bucket.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let bucket = served.clone();
                std::thread::spawn(move || bucket.serve(stream));
            }
        });
        Server { bucket, port }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        program()
            .args(arguments)
            .env("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.port))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "eu-test-1")
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("NO_PROXY", "127.0.0.1")
            .output()
            .unwrap()
    }

    fn reads(&self, key: &str) -> Vec<(usize, usize)> {
        let reads = self.bucket.reads.lock().unwrap();
        reads.get(key).cloned().unwrap_or_default()
    }
}

impl Bucket {
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        loop {
            let mut request = String::new();
            if reader.read_line(&mut request).unwrap_or(0) == 0 {
                return;
            }
            let mut headers = BTreeMap::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                let Some((name, value)) = line.trim_end().split_once(": ") else {
                    break;
                };
                headers.insert(name.to_lowercase(), value.to_owned());
            }
            let mut parts = request.split(' ');
            let (method, target) = (parts.next().unwrap(), parts.next().unwrap());
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            let key = path
                .strip_prefix("/logs")
                .unwrap_or("")
                .trim_start_matches('/');
            let open = if query.contains("list-type=2") {
                self.list(&mut stream, query)
            } else {
                self.object(&mut stream, method, key, &headers)
            };
            if !open {
                return;
            }
        }
    }

    fn list(&self, stream: &mut TcpStream, query: &str) -> bool {
        *self.pages.lock().unwrap() += 1;
        let value = |name: &str| {
            let found = query.split('&').find_map(|p| p.strip_prefix(name));
            found.unwrap_or("").replace("%2F", "/")
        };
        let (prefix, after) = (value("prefix="), value("continuation-token="));
        let fits = |key: &&String| key.starts_with(&prefix) && **key > after;
        let keys: Vec<&String> = self.objects.keys().filter(fits).collect();
        let mut body = String::from("<ListBucketResult><Name>logs</Name>");
        for key in keys.iter().take(PAGE) {
            body += &format!(
                "<Contents><Key>{key}</Key><LastModified>2026-09-01T00:00:00.000Z</LastModified>\
                 <ETag>\"v1\"</ETag><Size>{}</Size></Contents>",
                self.objects[*key].len()
            );
        }
        let more = keys.len() > PAGE;
        if more {
            let last = keys[PAGE - 1];
            body += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
        }
        body += &format!("<IsTruncated>{more}</IsTruncated></ListBucketResult>");
        respond(stream, "200 OK", &[], body.as_bytes(), body.len())
    }

    fn object(
        &self,
        stream: &mut TcpStream,
        method: &str,
        key: &str,
        headers: &BTreeMap<String, String>,
    ) -> bool {
        let Some(body) = self.objects.get(key) else {
            return respond(stream, "404 Not Found", &[], b"", 0);
        };
        let range = headers.get("range").and_then(|r| {
            let (first, last) = r.strip_prefix("bytes=")?.split_once('-')?;
            Some((first.parse().ok()?, last.parse().ok()?))
        });
        let (first, last): (usize, usize) = range.unwrap_or((0, body.len().max(1) - 1));
        let last = last.min(body.len().max(1) - 1);
        let head = [
            "ETag: \"v1\"".to_owned(),
            "Last-Modified: Tue, 01 Sep 2026 00:00:00 GMT".to_owned(),
            format!("Content-Range: bytes {first}-{last}/{}", body.len()),
        ];
        if method == "HEAD" {
            return respond(stream, "200 OK", &head[..2], b"", body.len());
        }
        let number = {
            let mut reads = self.reads.lock().unwrap();
            let reads = reads.entry(key.to_owned()).or_default();
            reads.push((first, last));
            reads.len()
        };
        let part = body.get(first..=last).unwrap_or_default();
        match (self.faults)(key, number) {
            Fault::None => respond(stream, "206 Partial Content", &head, part, part.len()),
            Fault::Status(status) => respond(stream, &format!("{status} Error"), &[], b"", 0),
            Fault::Cut => {
                let half = &part[..part.len() / 2];
                respond(stream, "206 Partial Content", &head, half, part.len());
                false
            }
            Fault::Changed => {
                assert_eq!(headers.get("if-match").map(String::as_str), Some("\"v1\""));
                respond(stream, "412 Precondition Failed", &[], b"", 0)
            }
        }
    }
}

/// Answers; whether the connection stays open.
fn respond(
    stream: &mut TcpStream,
    status: &str,
    headers: &[String],
    body: &[u8],
    length: usize,
) -> bool {
    let mut answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n");
    for header in headers {
        answer += &format!("{header}\r\n");
    }
    answer += "\r\n";
    let sent = stream.write_all(answer.as_bytes()).is_ok() && stream.write_all(body).is_ok();
    sent && stream.flush().is_ok()
}

fn record(number: usize, length: usize) -> Vec<u8> {
    let time = format!("{:02}:{:02}:00", number / 60 % 24, number % 60);
    let seed = 2 * number as u32 + 1;
    let (prompt, answer) = (words(seed, length), words(seed + 1, 20));
    let id = format!("r-{number}");
    lines(&[exchange(
        &id,
        ["acme", "bolt"][number % 2],
        &time,
        &prompt,
        &answer,
    )])
}

fn ids(case: &std::path::Path) -> Vec<String> {
    let rows = rows::<ExchangeRow>(case);
    rows.into_iter().map(|e| e.exchange_id).collect()
}

fn no_fault(_: &str, _: usize) -> Fault {
    Fault::None
}

#[test]
fn a_thousand_small_objects_come_in_the_order_of_their_keys() {
    let mut objects = BTreeMap::new();
    for number in 0..1000 {
        objects.insert(format!("day/{number:04}.jsonl"), record(number, 10));
    }
    objects.insert("day/.hidden".to_owned(), b"not read".to_vec());
    objects.insert("other/x.jsonl".to_owned(), record(5000, 10));
    let server = Server::start(objects, no_fault);
    let lab = Lab::bare();
    let done = server.run(&["ingest", "s3://logs/day/", "--case", &lab.text("case")]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let sources = rows::<SourceRow>(&lab.path("case"));
    let paths: Vec<&str> = sources.iter().map(|s| s.path.as_str()).collect();
    let expected: Vec<String> = (0..1000)
        .map(|n| format!("s3://logs/day/{n:04}.jsonl"))
        .collect();
    assert_eq!(paths, expected);
    assert!(
        sources
            .iter()
            .all(|s| s.records_exchange == 1 && s.sha256.is_some())
    );
    assert_eq!(*server.bucket.pages.lock().unwrap(), 4);
    let globbed = server.run(&["over-limit", "s3://logs/*/000?.jsonl", "--limit", "9"]);
    assert!(
        stderr(&globbed).contains("10 records read"),
        "{}",
        stderr(&globbed)
    );
    let none = server.run(&["over-limit", "s3://logs/none/", "--limit", "9"]);
    assert_eq!(none.status.code(), Some(5), "{}", stderr(&none));
}

/// Fails often, but never the same read for good.
fn flaky(_: &str, number: usize) -> Fault {
    match number % 4 {
        0 => Fault::Status(503),
        2 => Fault::Cut,
        _ => Fault::None,
    }
}

#[test]
fn a_large_object_is_read_in_ranges_and_survives_a_flaky_store() {
    let large: Vec<u8> = (0..600).flat_map(|n| record(n, 3_000)).collect();
    assert!(large.len() > 24 << 20, "{}", large.len());
    let lab = Lab::bare();
    lab.write("large.jsonl", &large);
    let objects = BTreeMap::from([("large.jsonl".to_owned(), large.clone())]);
    let server = Server::start(objects, flaky);
    for (log, case) in [
        ("s3://logs/large.jsonl", "there"),
        (&lab.text("large.jsonl"), "here"),
    ] {
        let done = server.run(&["ingest", log, "--case", &lab.text(case)]);
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    }
    assert_eq!(ids(&lab.path("there")), ids(&lab.path("here")));
    let digest = |case: &str| rows::<SourceRow>(&lab.path(case)).remove(0).sha256;
    assert!(digest("there").is_some());
    assert_eq!(digest("there"), digest("here"));
    let reads = server.reads("large.jsonl");
    assert!(
        reads.iter().all(|(first, last)| last - first < 8 << 20),
        "{reads:?}"
    );
    assert!(reads.len() > 6, "{reads:?}");
}

/// One object is refused, and one fails for good behind its first range.
fn broken(key: &str, number: usize) -> Fault {
    match key {
        "refused.jsonl" => Fault::Status(403),
        "half.jsonl" if number > 2 => Fault::Status(500),
        "changing.jsonl" if number > 2 => Fault::Changed,
        _ => Fault::None,
    }
}

#[test]
fn a_store_that_fails_never_makes_a_shorter_log_that_looks_whole() {
    let half: Vec<u8> = (0..40).flat_map(|n| record(n, 3_000)).collect();
    let objects = BTreeMap::from([
        ("half.jsonl".to_owned(), half.clone()),
        ("changing.jsonl".to_owned(), lines(&clean(60))),
        ("refused.jsonl".to_owned(), lines(&clean(60))),
    ]);
    let server = Server::start(objects, broken);
    let lab = Lab::bare();
    lab.write("good.jsonl", lines(&clean(300)));
    let case = lab.text("half");
    let done = server.run(&["ingest", "s3://logs/half.jsonl", "--case", &case]);
    assert_eq!(done.status.code(), Some(4), "{}", stderr(&done));
    let source = rows::<SourceRow>(&lab.path("half")).remove(0);
    assert_eq!(source.status, "unreadable");
    assert!(
        source.records_exchange > 0 && source.records_exchange < 40,
        "{source:?}"
    );
    let reject = rows::<RejectRow>(&lab.path("half")).remove(0);
    assert_eq!(reject.reason.as_str(), "unreadable");
    assert!(
        reject.offset > 0 && (reject.offset as usize) < half.len(),
        "{reject:?}"
    );
    // One reject among hundreds of records, but nobody knows how many more there are.
    let (good, case) = (lab.text("good.jsonl"), lab.text("refused"));
    let audit = ["audit", &good, "s3://logs/refused.jsonl", "--case", &case];
    let done = server.run(&audit);
    assert_eq!(done.status.code(), Some(4), "{}", stderr(&done));
    let last = stderr(&done).lines().last().unwrap_or_default().to_owned();
    assert!(
        last.contains("1 sources could not be read to their end"),
        "{last}"
    );
    // Another object under the same key is noticed in the second pass.
    let case = lab.text("changing");
    let done = server.run(&["audit", "s3://logs/changing.jsonl", "--case", &case]);
    assert_eq!(done.status.code(), Some(6), "{}", stderr(&done));
    assert!(!lab.path("changing/case.json").exists());
}
