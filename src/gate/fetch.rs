//! Files and addresses read for the gate, with patience while a node starts.

use super::{Kind, Statement};
use crate::clock::Stopwatch;
use anyhow::{Context, Result};
use pentimento_core::engine::node_of;
use std::path::Path;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Longest answer or file that is read whole: engines answer in kilobytes, logs may be long.
const MAX_BODY_BYTES: u64 = 256 << 20;

/// First pause between two attempts; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Addresses of SGLang, the newer one first, and of vLLM.
const INFO_PATHS: [&str; 3] = ["/server_info", "/get_server_info", "/v1/models"];

/// How addresses are asked.
pub struct Fetcher {
    agent: Agent,
    bearer: Option<String>,
    wait: Duration,
    watch: Stopwatch,
}

/// Settings of a fetcher.
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// Longest time of one attempt.
    pub timeout: Duration,
    /// How long a node may take to come up.
    pub wait: Duration,
    /// Token for the `Authorization` header.
    pub bearer: Option<String>,
    /// Certificates (PEM) that are trusted in place of the public ones.
    pub ca_pem: Option<Vec<u8>>,
}

/// Why an attempt failed.
struct Attempt {
    /// Whether waiting may help.
    again: bool,
    why: String,
}

/// Whether a place is an address.
pub fn is_address(place: &str) -> bool {
    place.starts_with("http://") || place.starts_with("https://")
}

impl Fetcher {
    /// A fetcher; its patience starts now.
    ///
    /// # Errors
    /// Where the certificates cannot be read.
    pub fn new(settings: FetchSettings) -> Result<Fetcher> {
        let mut tls = TlsConfig::builder();
        if let Some(pem) = &settings.ca_pem {
            tls = tls.root_certs(RootCerts::from(certificates(pem)?));
        }
        let agent = Agent::config_builder()
            .timeout_global(Some(settings.timeout))
            // A token must not follow a redirect, and a gate asks the node it was told to ask.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .tls_config(tls.build())
            .user_agent(concat!("pentimento/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Fetcher {
            agent,
            bearer: settings.bearer,
            wait: settings.wait,
            watch: Stopwatch::start(),
        })
    }

    /// Reads a file or an address.
    ///
    /// # Errors
    /// Where it cannot be read, or not in time.
    pub fn statement(&self, kind: Kind, place: &str) -> Result<Statement> {
        if !is_address(place) {
            let bytes = read_file(Path::new(place))?;
            let name = Path::new(place).file_name().map(|n| n.to_string_lossy());
            let node = name.and_then(|n| node_of(&n));
            return Ok(Statement {
                kind,
                place: place.to_owned(),
                node: node.unwrap_or_else(|| place.to_owned()),
                bytes,
            });
        }
        let mut pause = FIRST_PAUSE;
        loop {
            match self.ask(kind, place) {
                Ok(bytes) => {
                    return Ok(Statement {
                        kind,
                        place: place.to_owned(),
                        node: host(place).to_owned(),
                        bytes,
                    });
                }
                Err(failed) => {
                    let left = self.wait.saturating_sub(self.watch.elapsed());
                    if !failed.again || left.is_zero() {
                        anyhow::bail!("`{place}`: {}", failed.why);
                    }
                    std::thread::sleep(pause.min(left));
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn ask(&self, kind: Kind, place: &str) -> Result<Vec<u8>, Attempt> {
        let bare = path(place).trim_matches('/').is_empty();
        let base = place.trim_end_matches('/');
        match kind {
            Kind::ServerInfo if bare => {
                let mut last = None;
                for path in INFO_PATHS {
                    match self.get(&format!("{base}{path}")) {
                        Ok(bytes) => return Ok(bytes),
                        // Only the absence of one path leads to the next.
                        Err((Some(404 | 405), failed)) => last = Some(failed),
                        Err((_, failed)) => return Err(failed),
                    }
                }
                Err(last.unwrap_or(Attempt {
                    again: false,
                    why: "no path".to_owned(),
                }))
            }
            Kind::Metrics if bare => self.get(&format!("{base}/metrics")).map_err(|e| e.1),
            _ => self.get(place).map_err(|e| e.1),
        }
    }

    fn get(&self, address: &str) -> Result<Vec<u8>, (Option<u16>, Attempt)> {
        let mut request = self.agent.get(address);
        if let Some(token) = &self.bearer {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let failed =
            |status: Option<u16>, again: bool, why: String| (status, Attempt { again, why });
        let mut response = request
            .call()
            .map_err(|e| failed(None, comes_up(&e), describe(&e)))?;
        let status = response.status().as_u16();
        if status != 200 {
            // A path may be missing, and the service unavailable, until the engine is up.
            let again = matches!(status, 404 | 408 | 425 | 429 | 500..=599);
            return Err(failed(
                Some(status),
                again,
                format!("answered with status {status}"),
            ));
        }
        response
            .body_mut()
            .with_config()
            .limit(MAX_BODY_BYTES)
            .read_to_vec()
            .map_err(|e| failed(None, comes_up(&e), describe(&e)))
    }
}

/// Whether waiting may help.
fn comes_up(error: &ureq::Error) -> bool {
    use ureq::Error::{ConnectionFailed, HostNotFound, Io, Timeout};
    match error {
        // A certificate that is not trusted will not be in a minute.
        Io(e) => e.kind() != std::io::ErrorKind::InvalidData,
        Timeout(_) | HostNotFound | ConnectionFailed => true,
        _ => false,
    }
}

/// The error without anything of the request in it.
fn describe(error: &ureq::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(200).collect()
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.context("not PEM")? {
            found.push(certificate);
        }
    }
    anyhow::ensure!(!found.is_empty(), "no certificate in it");
    Ok(found)
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file =
        std::fs::File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    file.take(MAX_BODY_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    anyhow::ensure!(
        bytes.len() as u64 <= MAX_BODY_BYTES,
        "`{}` is longer than {MAX_BODY_BYTES} bytes",
        path.display()
    );
    Ok(bytes)
}

/// Host and port of an address, without user and password.
fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |a| a.1);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.rsplit_once('@').map_or(authority, |a| a.1)
}

/// What stands behind host and port.
fn path(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |a| a.1);
    rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_parts() {
        for (address, of, behind) in [
            ("http://p1:30000", "p1:30000", ""),
            ("https://user:word@p1/server_info", "p1", "/server_info"),
            ("http://[::1]:9/x?y=/z", "[::1]:9", "/x?y=/z"),
        ] {
            assert!(is_address(address));
            assert_eq!((host(address), path(address)), (of, behind));
        }
        assert!(!is_address("info.json"));
    }

    #[test]
    fn certificates_are_needed_where_promised() {
        assert!(certificates(b"nothing").is_err());
    }
}
