//! Which tenant a value of a log means: the mapping file of `[tenants] map`.

use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;

/// A mapping file: one `source value,tenant` (or tab separated) a line; `#` starts a comment.
///
/// # Errors
/// A file that cannot be read, a line that is no pair, a value with two tenants.
pub fn read_map(path: &Path) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path)?;
    let mut map = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (value, tenant) = line.rsplit_once(['\t', ',']).ok_or_else(|| {
            anyhow::anyhow!("line {}: expected `source value,tenant`", number + 1)
        })?;
        let (value, tenant) = (value.trim(), tenant.trim());
        anyhow::ensure!(
            !value.is_empty() && !tenant.is_empty(),
            "line {}: expected `source value,tenant`",
            number + 1
        );
        if let Some(other) = map.insert(value.to_string(), tenant.to_string()) {
            anyhow::ensure!(
                other == tenant,
                "line {}: the value of this line is mapped to two tenants",
                number + 1
            );
        }
    }
    Ok(map)
}
