//! Messages that were flattened into one attribute a leaf: `PREFIX.0.message.content`.

use super::attributes::{Attributes, parsed, plain};
use crate::format::json::Json;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Names between dots that are told apart; no convention has so many.
const MAX_LEVELS: usize = 12;

/// A part of a key; indices come first and in the order of numbers.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    Index(u32),
    Name(&'a str),
}

enum Node<'a> {
    Leaf(Json<'a>),
    Branch(BTreeMap<Key<'a>, Node<'a>>),
}

/// The tree of all attributes below a prefix; an empty list where there is none.
pub fn tree<'a>(attributes: &Attributes<'a>, prefix: &str) -> Json<'a> {
    let mut root = Node::Branch(BTreeMap::new());
    for (path, value) in attributes.below(prefix) {
        let mut node = &mut root;
        for name in path.splitn(MAX_LEVELS, '.') {
            let key = match name.parse() {
                Ok(index) => Key::Index(index),
                Err(_) => Key::Name(name),
            };
            if let Node::Leaf(_) = node {
                *node = Node::Branch(BTreeMap::new());
            }
            let Node::Branch(children) = node else { break };
            node = children
                .entry(key)
                .or_insert_with(|| Node::Leaf(Json::Null));
        }
        if let Node::Leaf(leaf) = node {
            *leaf = plain(value);
        }
    }
    json(root)
}

fn json(node: Node<'_>) -> Json<'_> {
    let children = match node {
        Node::Leaf(leaf) => return leaf,
        Node::Branch(children) => children,
    };
    if children.keys().all(|key| matches!(key, Key::Index(_))) {
        return Json::Array(children.into_values().map(json).collect());
    }
    let named = children.into_iter().map(|(key, value)| {
        let name = match key {
            Key::Name(name) => Cow::Borrowed(name),
            Key::Index(index) => Cow::Owned(index.to_string()),
        };
        (name, json(value))
    });
    Json::Object(named.collect())
}

/// A flattened message as a message of a chat body.
pub fn message<'a>(item: &'a Json<'a>) -> Json<'a> {
    let inner = item.some("message").unwrap_or(item);
    let mut out: Vec<(Cow<'_, str>, Json<'_>)> = Vec::new();
    for key in ["role", "finish_reason"] {
        if let Some(text) = inner.str_of(key) {
            out.push((key.into(), Json::Str(text.into())));
        }
    }
    if let Some(parts) = inner.some("contents") {
        let part = |item: &'a Json<'a>| item.some("message_content").unwrap_or(item).borrowed();
        let parts = parts.items().iter().map(part).collect();
        out.push(("content".into(), Json::Array(parts)));
    } else if let Some(text) = inner.str_of("content") {
        out.push(("content".into(), content(text)));
    }
    let calls = inner
        .some("tool_calls")
        .map(Json::items)
        .unwrap_or_default();
    if !calls.is_empty() {
        let call = |item: &'a Json<'a>| item.some("tool_call").unwrap_or(item).borrowed();
        let calls = calls.iter().map(call).collect();
        out.push(("tool_calls".into(), Json::Array(calls)));
    }
    Json::Object(out)
}

/// A content that may be a list of parts as JSON.
fn content(text: &str) -> Json<'_> {
    let typed = |part: &Json<'_>| part.has("type");
    if text.starts_with("[{") {
        let read = parsed(Json::Str(text.into()));
        if !read.json.items().is_empty() && read.json.items().iter().all(typed) {
            return read.json;
        }
    }
    Json::Str(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_in_the_order_of_numbers() {
        let text = r#"{"p.10.a":"ten","p.9.a":"nine","p.9.b.0":1,"q":2,"p.x":true}"#;
        let source = Json::parse(text).unwrap();
        let attributes = Attributes::read(Some(&source));
        let tree = tree(&attributes, "p.");
        assert_eq!(
            tree.to_text(),
            r#"{"9":{"a":"nine","b":[1]},"10":{"a":"ten"},"x":true}"#
        );
        let deep = format!(r#"{{"p.{}":1}}"#, "a.".repeat(50_000));
        let source = Json::parse(&deep).unwrap();
        let attributes = Attributes::read(Some(&source));
        assert!(matches!(super::tree(&attributes, "p."), Json::Object(_)));
    }
}
