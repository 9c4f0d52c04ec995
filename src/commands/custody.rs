//! Lines of the custody log, and what a case that cannot be written means for the exit code.

use crate::clock::now_rfc3339;
use crate::config::Config;
use crate::outcome::{FailureKind, failure};
use anyhow::Result;
use pentimento_store::StoreError;
use pentimento_store::case::CaseFolder;
use pentimento_store::custody::{Act, ChainHead};

/// Which private keys open bodies, for the custody log: by fingerprint only.
pub fn key_detail(config: &Config) -> Option<(&'static str, String)> {
    let prints = config.keys.as_ref()?.fingerprints();
    Some(("public_key_sha256", prints.join(" ")))
}

/// Writes one line of the custody log.
///
/// # Errors
/// Where the case cannot be written.
pub fn add_custody(
    case: &CaseFolder,
    action: &str,
    reason: Option<&str>,
    detail: &[(&str, String)],
) -> Result<ChainHead> {
    let act = Act {
        time: now_rfc3339(),
        action: action.to_string(),
        actor: None,
        reason: reason.map(str::to_string),
        detail: detail
            .iter()
            .map(|(k, v)| ((*k).to_string(), v.clone()))
            .collect(),
    };
    case.add_custody(&act).map_err(store_failure)
}

/// Store errors with the exit code that the contract gives them.
pub fn store_failure(error: StoreError) -> anyhow::Error {
    let kind = match &error {
        StoreError::Busy { .. } => FailureKind::Busy,
        StoreError::Finished { .. }
        | StoreError::NotACase { .. }
        | StoreError::NoCase { .. }
        | StoreError::Key { .. } => FailureKind::Usage,
        StoreError::Manifest { .. } | StoreError::Custody { .. } => FailureKind::Integrity,
        _ if error.is_disk_full() => FailureKind::Limit,
        _ => return anyhow::Error::new(error),
    };
    failure(kind, error.to_string())
}
