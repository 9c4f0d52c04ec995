//! Which field of a record feeds which column: each field is taken away in turn, and what the
//! decoder then no longer says came from it.

use super::sample::Sample;
use crate::exchange::{Exchange, RecordKind};
use crate::format::columns::COLUMNS;
use crate::format::json::Json;
use crate::format::{DecodeContext, LogFormat};

/// Fields that are looked at in one record.
const MAX_FIELDS: usize = 256;

/// Fields nested deeper are looked at as one.
const MAX_DEPTH: usize = 12;

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Where it stands, as a JSON pointer; items of lists are `*`.
    pub path: String,
    /// Columns that change without it.
    pub columns: Vec<&'static str>,
    /// Without it the record is none.
    pub needed: bool,
}

/// A way into a tree.
type Path = Vec<usize>;

/// The fields of a record in their order, those that feed nothing included. Nothing for a line, for
/// a record that is no exchange, and for one too long to be looked at.
pub fn origins(
    format: &dyn LogFormat,
    sample: &Sample<'_>,
    context: &DecodeContext<'_>,
) -> Vec<Origin> {
    let context = DecodeContext {
        header: sample.header,
        ..*context
    };
    let read = |record: &[u8]| {
        let mut out = Vec::new();
        let kind = format.decode(record, &context, &mut out).ok()?;
        (kind == RecordKind::Exchange).then_some(out)
    };
    let (Some(parted), Some(whole)) = (sample.part(), read(sample.record)) else {
        return Vec::new();
    };
    let mut leaves = Vec::new();
    walk(&parted.tree, &mut Vec::new(), &mut leaves);
    let mut found: Vec<Origin> = Vec::new();
    for leaf in leaves {
        let mut tree = parted.tree.borrowed();
        let Some(node) = enter(&mut tree, &leaf) else {
            continue;
        };
        *node = Json::Null;
        let without = read(parted.with(&tree).as_bytes());
        let columns = without.as_deref().map(|other| differing(&whole, other));
        let origin = Origin {
            path: spelled(&parted.tree, &leaf),
            needed: columns.is_none(),
            columns: columns.unwrap_or_default(),
        };
        // Items of one list are one field.
        match found.iter_mut().find(|o| o.path == origin.path) {
            None => found.push(origin),
            Some(known) => {
                known.needed |= origin.needed;
                let fresh: Vec<&str> = origin.columns;
                let mut fresh: Vec<_> = fresh
                    .into_iter()
                    .filter(|c| !known.columns.contains(c))
                    .collect();
                known.columns.append(&mut fresh);
            }
        }
    }
    found
}

/// The field without which a record that is refused would be read.
pub(super) fn origins_of_faults(
    format: &dyn LogFormat,
    sample: &Sample<'_>,
    context: &DecodeContext<'_>,
) -> Option<String> {
    let parted = sample.part()?;
    let mut leaves = Vec::new();
    walk(&parted.tree, &mut Vec::new(), &mut leaves);
    leaves.into_iter().find_map(|leaf| {
        let mut tree = parted.tree.borrowed();
        *enter(&mut tree, &leaf)? = Json::Null;
        let without = parted.with(&tree);
        let read = format.decode(without.as_bytes(), context, &mut Vec::new());
        read.is_ok().then(|| spelled(&parted.tree, &leaf))
    })
}

fn differing(whole: &[Exchange], other: &[Exchange]) -> Vec<&'static str> {
    let differs = |value: for<'e> fn(&'e Exchange) -> Option<std::borrow::Cow<'e, str>>| {
        let count = whole.len() != other.len();
        count || whole.iter().zip(other).any(|(a, b)| value(a) != value(b))
    };
    let columns = COLUMNS.iter().filter(|column| differs(column.value));
    columns.map(|column| column.name).collect()
}

/// The leaves of a tree: scalars, empty values, and what is nested too deep.
fn walk(node: &Json<'_>, path: &mut Path, out: &mut Vec<Path>) {
    let children: Vec<&Json<'_>> = match node {
        Json::Object(entries) => entries.iter().map(|(_, value)| value).collect(),
        Json::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    if out.len() >= MAX_FIELDS {
        return;
    }
    if children.is_empty() || path.len() >= MAX_DEPTH {
        if !path.is_empty() && !matches!(node, Json::Null) {
            out.push(path.clone());
        }
        return;
    }
    for (index, child) in children.into_iter().enumerate() {
        path.push(index);
        walk(child, path, out);
        path.pop();
    }
}

fn enter<'t, 'j>(tree: &'t mut Json<'j>, path: &[usize]) -> Option<&'t mut Json<'j>> {
    path.iter().try_fold(tree, |node, index| match node {
        Json::Object(entries) => entries.get_mut(*index).map(|(_, value)| value),
        Json::Array(items) => items.get_mut(*index),
        _ => None,
    })
}

fn spelled(tree: &Json<'_>, path: &[usize]) -> String {
    let mut node = tree;
    let mut out = String::new();
    for index in path {
        out.push('/');
        let next = match node {
            Json::Object(entries) => entries.get(*index).map(|(key, value)| {
                out.push_str(&key.replace('~', "~0").replace('/', "~1"));
                value
            }),
            Json::Array(items) => {
                out.push('*');
                items.get(*index)
            }
            _ => None,
        };
        let Some(next) = next else { break };
        node = next;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::by_name;

    fn shown(format: &str, record: &str, header: Option<&str>) -> Vec<String> {
        let sample = Sample {
            record: record.as_bytes(),
            header: header.map(str::as_bytes),
        };
        let format = by_name(format).expect("a format");
        let all = origins(format, &sample, &DecodeContext::default());
        let show = |o: &Origin| {
            let needed = if o.needed { "!" } else { "" };
            format!("{}{needed} {}", o.path, o.columns.join(","))
        };
        all.iter().map(show).collect()
    }

    #[test]
    fn fields_feed_columns() {
        let record = r#"{"request_id":"r","tenant":"t","x":{"y":[1,2]},"model":"m",
            "messages":[{"role":"user","content":"one"},{"role":"user","content":"two"}]}"#;
        assert_eq!(
            shown("native", record, None),
            [
                "/request_id request_id,linking_ids",
                "/tenant tenant_candidates",
                "/x/y/* ",
                "/model model",
                "/messages/*/role ",
                "/messages/*/content prompt",
            ]
        );
        let line = r#"{"prompt":"p"}"#;
        assert_eq!(
            shown("native", line, None),
            ["/prompt prompt_state,modalities,prompt"]
        );
        assert!(shown("native", r#"{"prompt":7}"#, None).is_empty());
        assert!(shown("native", "soup", None).is_empty());
    }

    #[test]
    fn cells_feed_columns() {
        let header = "request_id,call_type,startTime,model,spend";
        let row = "\"r\",acompletion,2026-09-01T08:30:05Z,m,1";
        let found = shown("litellm_csv", row, Some(header));
        assert!(
            found.contains(&"/startTime t_start".to_owned()),
            "{found:?}"
        );
        assert!(found.contains(&"/model model".to_owned()), "{found:?}");
    }
}
