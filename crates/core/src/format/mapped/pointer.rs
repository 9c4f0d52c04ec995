//! Where a value stands in a record: a JSON pointer (RFC 6901), or the name of a key or column.

use crate::exchange::{Exchange, ExtraField};
use crate::format::body::{NESTED_JSON_LEVELS, extra_field};
use crate::format::json::Json;
use std::collections::BTreeMap;

/// Steps that a pointer may have; the walk over unused fields goes no deeper.
const MAX_STEPS: usize = 16;

/// A place in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    steps: Vec<String>,
}

impl Pointer {
    /// Reads a pointer. What does not begin with `/` is one key as it stands, so that a CSV column
    /// or a key with dots needs no escapes.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str) -> Result<Pointer, String> {
        if text.is_empty() {
            return Err("an empty pointer is the whole record, expected e.g. /usage/total".into());
        }
        let Some(path) = text.strip_prefix('/') else {
            return Ok(Pointer {
                steps: vec![text.to_owned()],
            });
        };
        let steps: Vec<String> = path
            .split('/')
            .map(unescaped)
            .collect::<Option<_>>()
            .ok_or(format!(
                "`{text}` is no JSON pointer: behind ~ stands 0 (for ~) or 1 (for /)"
            ))?;
        if steps.len() > MAX_STEPS {
            return Err(format!("`{text}` has more than {MAX_STEPS} steps"));
        }
        Ok(Pointer { steps })
    }

    /// The pointer in its full spelling.
    pub fn spelled(&self) -> String {
        let escaped = |step: &String| step.replace('~', "~0").replace('/', "~1");
        let steps = self.steps.iter().map(|step| format!("/{}", escaped(step)));
        steps.collect()
    }

    /// The last step.
    pub fn name(&self) -> &str {
        self.steps.last().map_or("", String::as_str)
    }

    /// The value there, `null` reading as absent.
    pub fn find<'r, 'j>(&self, record: &'r Json<'j>) -> Option<&'r Json<'j>> {
        let found = self.steps.iter().try_fold(record, |node, step| match node {
            Json::Array(items) => items.get(step.parse::<usize>().ok()?),
            node => node.get(step),
        });
        found.filter(|v| !matches!(v, Json::Null))
    }

    /// Opens JSON texts on the way to the value, so that [`find`](Pointer::find) can step into
    /// them.
    pub fn unfold(&self, record: &mut Json<'_>) {
        let mut node = record;
        let mut opened = 0;
        for step in &self.steps {
            if let Json::Str(text) = node {
                opened += 1;
                let nested = text.trim_start().starts_with(['{', '[']);
                if !nested || opened > NESTED_JSON_LEVELS {
                    return;
                }
                let Ok(parsed) = Json::parse(text).map(Json::into_owned) else {
                    return;
                };
                *node = parsed;
            }
            let next = match node {
                Json::Array(items) => step.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
                Json::Object(entries) => {
                    let found = entries.iter_mut().rev().find(|(key, _)| key == step);
                    found.map(|(_, value)| value)
                }
                _ => None,
            };
            let Some(next) = next else { return };
            node = next;
        }
    }
}

fn unescaped(step: &str) -> Option<String> {
    let bad = step.split('~').skip(1).any(|s| !s.starts_with(['0', '1']));
    (!bad).then(|| step.replace("~1", "/").replace("~0", "~"))
}

/// The places that a mapping reads, as a tree of keys.
#[derive(Clone, Debug, Default)]
pub struct Places {
    below: BTreeMap<String, Places>,
    read: bool,
}

impl Places {
    /// Adds a place.
    pub fn insert(&mut self, pointer: &Pointer) {
        let mut node = self;
        for step in &pointer.steps {
            node = node.below.entry(step.clone()).or_default();
        }
        node.read = true;
    }

    /// Keeps all fields of a record that no place covers. Goes as deep as pointers do.
    pub fn extras(&self, record: &Json<'_>, exchange: &mut Exchange) {
        self.walk(record, "", &mut exchange.extra);
    }

    fn walk(&self, node: &Json<'_>, path: &str, out: &mut Vec<ExtraField>) {
        for (key, value) in node.entries() {
            let full = if path.is_empty() {
                key.to_string()
            } else {
                format!("{path}.{key}")
            };
            match self.below.get(key.as_ref()) {
                Some(places) if places.read => {}
                Some(places) if matches!(value, Json::Object(_)) => {
                    places.walk(value, &full, out);
                }
                _ if matches!(value, Json::Null) => {}
                _ => out.push(extra_field(&full, value)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers() {
        let text =
            r#"{"a":{"b":[1,{"c":"x"}],"d/e":2,"~":3},"a.b":4,"s":"{\"t\":\"[7]\"}","n":null}"#;
        for (pointer, expected) in [
            ("/a/b/0", Some("1")),
            ("/a/b/1/c", Some("\"x\"")),
            ("/a/d~1e", Some("2")),
            ("/a/~0", Some("3")),
            ("a.b", Some("4")),
            ("/s/t/0", Some("7")),
            ("/a/b/2", None),
            ("/a/b/x", None),
            ("/n", None),
            ("/a/b/0/x", None),
        ] {
            let mut record = Json::parse(text).unwrap();
            let place = Pointer::parse(pointer).unwrap();
            place.unfold(&mut record);
            let found = place.find(&record).map(Json::to_text);
            assert_eq!(found.as_deref(), expected, "{pointer}");
            assert_eq!(Pointer::parse(&place.spelled()).unwrap(), place);
        }
        for bad in ["", "/a~2", "/~", &"/a".repeat(17)] {
            assert!(Pointer::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_not_read_is_extra() {
        let mut places = Places::default();
        for pointer in ["/a/b", "/c", "/d/e/f"] {
            places.insert(&Pointer::parse(pointer).unwrap());
        }
        let record = r#"{"a":{"b":1,"x":2},"c":{"y":3},"d":{"e":[4]},"z":5,"n":null}"#;
        let mut exchange = Exchange::default();
        places.extras(&Json::parse(record).unwrap(), &mut exchange);
        let keys: Vec<&str> = exchange.extra.iter().map(|e| e.key.as_str()).collect();
        assert_eq!(keys, ["a.x", "d.e", "z"]);
    }
}
