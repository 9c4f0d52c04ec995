//! Logs in object stores: `s3://`, `gs://` and `az://`, with the credentials that the tools of each
//! store take from the environment. Nothing here runs, and no connection is opened, unless such an
//! address is given.
//!
//! Objects are listed in the order of their keys and pinned by their entity tag, so that all passes
//! read the same bytes. They are read in ranges; a range that fails is asked for again, and one
//! that never comes is an error at its offset, not the end of the object.

mod ranges;

use super::bytes::SharedBytes;
use super::discover::{Input, Place};
use crate::outcome::{FailureKind, failure};
use anyhow::Result;
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig, path};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Requests that fail are sent again so often, with pauses that double from a tenth of a second.
const RETRIES: usize = 5;
/// Longest pause.
const MOST_PAUSE: Duration = Duration::from_secs(5);
/// No request is sent again after so long.
const RETRY_TIME: Duration = Duration::from_secs(60);

/// An object: where it is, and which version of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// The store: `s3://BUCKET`.
    pub store: String,
    /// The key in it.
    pub key: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its entity tag, where the store gives one.
    pub tag: Option<String>,
}

/// Whether an argument is an address in an object store.
pub fn is_address(argument: &str) -> bool {
    ["s3://", "gs://", "az://"]
        .iter()
        .any(|scheme| argument.starts_with(scheme))
}

/// The objects that an address names: one object, all below a prefix that ends with `/` (or is no
/// object), or all that fit a glob; by key. Hidden ones are left out, as in folders.
///
/// # Errors
/// Usage failures: an address that is none, a store that cannot be asked.
pub fn find(address: &str) -> Result<Vec<Input>> {
    let unasked = |why: String| {
        failure(
            FailureKind::Usage,
            format!("cannot list `{address}`: {why}; check the address and the credentials"),
        )
    };
    let (store, key) = split(address).ok_or_else(|| {
        failure(
            FailureKind::Usage,
            format!("`{address}` names no bucket, expected e.g. s3://bucket/logs/"),
        )
    })?;
    let client = client(store).map_err(|e| unasked(e.to_string()))?;
    let found = listed(&client, key).map_err(|e| unasked(e.to_string()))?;
    let inputs = found.into_iter().map(|meta| Input {
        display: format!("{store}/{}", meta.location),
        place: Place::Object(Object {
            store: store.to_owned(),
            key: meta.location.to_string(),
            size: meta.size,
            tag: meta.e_tag,
        }),
    });
    Ok(inputs.collect())
}

/// Opens an object.
///
/// # Errors
/// Where its store cannot be set up.
pub fn open(object: &Object) -> io::Result<SharedBytes> {
    let unusable = |e| io::Error::new(io::ErrorKind::NotConnected, e);
    let client = client(&object.store).map_err(unusable)?;
    let path = parsed(&object.key).map_err(unusable)?;
    Ok(Arc::new(ranges::Ranges::new(client, path, object)))
}

/// Store and key of an address.
fn split(address: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = address.split_once("://")?;
    let bucket = rest.split('/').next().filter(|b| !b.is_empty())?;
    let end = scheme.len() + "://".len() + bucket.len();
    Some((&address[..end], address[end..].trim_start_matches('/')))
}

/// A store and what runs its requests.
#[derive(Clone)]
struct Client {
    store: Arc<dyn ObjectStore>,
    runtime: Arc<Runtime>,
}

/// Clients by store, for the whole run: connections are kept.
#[derive(Default)]
struct Clients {
    runtime: Option<Arc<Runtime>>,
    stores: BTreeMap<String, Arc<dyn ObjectStore>>,
}

static CLIENTS: Mutex<Clients> = Mutex::new(Clients {
    runtime: None,
    stores: BTreeMap::new(),
});

fn client(store: &str) -> object_store::Result<Client> {
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = match &clients.runtime {
        Some(runtime) => runtime.clone(),
        None => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .map_err(|e| object_store::Error::Generic {
                    store: "runtime",
                    source: Box::new(e),
                })?;
            clients.runtime.insert(Arc::new(runtime)).clone()
        }
    };
    let client = match clients.stores.get(store) {
        Some(client) => client.clone(),
        None => {
            let client = connect(store)?;
            clients.stores.insert(store.to_owned(), client.clone());
            client
        }
    };
    Ok(Client {
        store: client,
        runtime,
    })
}

fn connect(store: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
    let retry = RetryConfig {
        backoff: BackoffConfig {
            max_backoff: MOST_PAUSE,
            ..BackoffConfig::default()
        },
        max_retries: RETRIES,
        retry_timeout: RETRY_TIME,
    };
    let client: Arc<dyn ObjectStore> = if store.starts_with("s3:") {
        let builder = AmazonS3Builder::from_env().with_url(store);
        Arc::new(builder.with_retry(retry).build()?)
    } else if store.starts_with("gs:") {
        let builder = GoogleCloudStorageBuilder::from_env().with_url(store);
        Arc::new(builder.with_retry(retry).build()?)
    } else {
        let builder = MicrosoftAzureBuilder::from_env().with_url(store);
        Arc::new(builder.with_retry(retry).build()?)
    };
    Ok(client)
}

fn listed(client: &Client, key: &str) -> object_store::Result<Vec<ObjectMeta>> {
    let glob_at = key.find(['*', '?', '[']);
    if glob_at.is_none() && !key.is_empty() && !key.ends_with('/') {
        let path = parsed(key)?;
        match client.runtime.block_on(client.store.head(&path)) {
            Err(object_store::Error::NotFound { .. }) => {}
            found => return found.map(|meta| vec![meta]),
        }
    }
    let folder = match glob_at {
        Some(at) => key[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
        None => key.trim_end_matches('/'),
    };
    let prefix = parsed(folder)?;
    let stream = client.store.list(Some(&prefix));
    let mut found: Vec<ObjectMeta> = client.runtime.block_on(stream.try_collect())?;
    found.sort_by(|a, b| a.location.as_ref().cmp(b.location.as_ref()));
    let pattern = match glob_at {
        Some(_) => Some(glob::Pattern::new(key).map_err(|e| generic(e.to_string()))?),
        None => None,
    };
    let markers = markers(&found);
    let wanted = |meta: &ObjectMeta| {
        let below = meta
            .location
            .as_ref()
            .get(folder.len()..)
            .unwrap_or_default();
        let hidden = below.split('/').any(|part| part.starts_with('.'));
        let fits = pattern.as_ref().is_none_or(|p| {
            p.matches_with(
                meta.location.as_ref(),
                glob::MatchOptions {
                    require_literal_separator: true,
                    ..glob::MatchOptions::new()
                },
            )
        });
        !hidden && fits
    };
    let found = found.into_iter().zip(markers);
    Ok(found
        .filter(|(meta, marker)| !marker && wanted(meta))
        .map(|(meta, _)| meta)
        .collect())
}

/// Which objects only stand for a folder: empty, with others below them.
fn markers(sorted: &[ObjectMeta]) -> Vec<bool> {
    let below = |folder: &ObjectMeta| {
        let prefix = format!("{}/", folder.location);
        let next = sorted.partition_point(|m| m.location.as_ref() < prefix.as_str());
        let next = sorted.get(next);
        next.is_some_and(|m| m.location.as_ref().starts_with(&prefix))
    };
    sorted.iter().map(|m| m.size == 0 && below(m)).collect()
}

fn parsed(key: &str) -> object_store::Result<Path> {
    Path::parse(key).map_err(|source: path::Error| object_store::Error::InvalidPath { source })
}

fn generic(why: String) -> object_store::Error {
    object_store::Error::Generic {
        store: "glob",
        source: why.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::PutPayload;
    use object_store::memory::InMemory;

    fn client_with(keys: &[(&str, &str)]) -> Client {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime");
        let store = InMemory::new();
        for (key, body) in keys {
            let payload = PutPayload::from((*body).as_bytes().to_vec());
            let path = Path::from(*key);
            runtime.block_on(store.put(&path, payload)).expect("memory");
        }
        Client {
            store: Arc::new(store),
            runtime: Arc::new(runtime),
        }
    }

    #[test]
    fn addresses() {
        let cases = [
            ("s3://b/logs/a.gz", Some(("s3://b", "logs/a.gz"))),
            ("gs://b", Some(("gs://b", ""))),
            ("az://c//x", Some(("az://c", "x"))),
            ("s3:///x", None),
        ];
        for (address, expected) in cases {
            assert_eq!(split(address), expected, "{address}");
        }
        assert!(is_address("s3://x") && !is_address("file:///x") && !is_address("s3"));
    }

    #[test]
    fn objects_by_key_prefix_and_glob() {
        let client = client_with(&[
            ("logs/b.jsonl", "b"),
            ("logs/a.jsonl", "a"),
            ("logs/sub", ""),
            ("logs/sub/c.log", "c"),
            ("logs/.hidden", "h"),
            ("logs2/d.jsonl", "d"),
            ("logs/empty", ""),
        ]);
        let cases: [(&str, &[&str]); 7] = [
            ("logs/a.jsonl", &["logs/a.jsonl"]),
            (
                "logs",
                &[
                    "logs/a.jsonl",
                    "logs/b.jsonl",
                    "logs/empty",
                    "logs/sub/c.log",
                ],
            ),
            (
                "logs/",
                &[
                    "logs/a.jsonl",
                    "logs/b.jsonl",
                    "logs/empty",
                    "logs/sub/c.log",
                ],
            ),
            ("logs/*.jsonl", &["logs/a.jsonl", "logs/b.jsonl"]),
            (
                "**/*.jsonl",
                &["logs/a.jsonl", "logs/b.jsonl", "logs2/d.jsonl"],
            ),
            ("log?2/*", &["logs2/d.jsonl"]),
            ("none/", &[]),
        ];
        for (key, expected) in cases {
            let found = listed(&client, key).expect("memory");
            let keys: Vec<&str> = found.iter().map(|m| m.location.as_ref()).collect();
            assert_eq!(keys, expected, "{key}");
        }
    }
}
