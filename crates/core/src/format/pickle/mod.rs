//! Python pickles, read without running anything.
//!
//! A pickle is a program: loading one calls whatever it names. Here its opcodes only build a tree.
//! What would be called is named and not looked up; an object is what its state says. Dumps of
//! SGLang are the reason: they hold whole requests, texts and ids uncut.

mod machine;

use super::json::Json;
use machine::{Id, Machine, Node};
use std::borrow::Cow;
use thiserror::Error;

/// Deeper values are refused, as in JSON.
const MAX_DEPTH: u32 = 100;

/// A tree may be so many times as large as its pickle in values: shared parts are copied, and a
/// hostile pickle shares without end.
const MAX_GROWTH: usize = 4;

/// Why bytes are no pickle that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PickleError {
    /// The opcodes end too early.
    #[error("the pickle ends too early")]
    Cut,
    /// An opcode that is not known, or that has not what it needs.
    #[error("no pickle from byte {0} on")]
    Broken(usize),
    /// Nested too deeply, or shared too often.
    #[error("nested too deeply")]
    Deep,
}

/// Whether bytes begin as a pickle of protocol 2 to 5 does.
pub fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, ..])
}

/// Reads the first value of a pickle.
///
/// Tuples and sets become arrays, bytes `null`, objects the object of their attributes; a class or
/// function becomes its name.
///
/// # Errors
/// Where the bytes are none, are cut, or nest too deeply.
pub fn read(bytes: &[u8]) -> Result<Json<'_>, PickleError> {
    let mut machine = Machine::new(bytes);
    let root = machine.run()?;
    let mut tree = Tree {
        nodes: &machine.nodes,
        left: bytes.len().saturating_mul(MAX_GROWTH) + 1024,
    };
    tree.json(root, MAX_DEPTH)
}

struct Tree<'m, 'a> {
    nodes: &'m [Node<'a>],
    /// Values that may still be made.
    left: usize,
}

impl<'a> Tree<'_, 'a> {
    fn json(&mut self, id: Id, depth: u32) -> Result<Json<'a>, PickleError> {
        self.left = self.left.checked_sub(1).ok_or(PickleError::Deep)?;
        if depth == 0 {
            return Err(PickleError::Deep);
        }
        let place = match id {
            Id::Null => return Ok(Json::Null),
            Id::Bool(value) => return Ok(Json::Bool(value)),
            Id::Int(value) => {
                return Ok(u64::try_from(value).map_or(Json::I64(value), Json::U64));
            }
            Id::Node(place) => place as usize,
        };
        Ok(match self.nodes.get(place) {
            None | Some(Node::Opaque) => Json::Null,
            Some(Node::Int(value)) => match u64::try_from(*value) {
                Ok(value) => Json::U64(value),
                Err(_) => i64::try_from(*value).map_or(Json::Null, Json::I64),
            },
            Some(Node::Float(value)) => Json::F64(*value),
            Some(Node::Text(text)) => {
                // A text that stands in many places is copied only where it was repaired.
                if let Cow::Owned(text) = text {
                    self.left = self.left.checked_sub(text.len()).ok_or(PickleError::Deep)?;
                }
                Json::Str(text.clone())
            }
            Some(Node::Name(name)) => Json::Str(name.clone().into()),
            Some(Node::List(items)) => {
                let mut out = Vec::with_capacity(items.len().min(self.left));
                for &item in items {
                    out.push(self.json(item, depth - 1)?);
                }
                Json::Array(out)
            }
            Some(Node::Dict(entries)) => self.object(entries, depth)?,
            Some(Node::Object { class, state }) => match state {
                Some(state) => self.state(*state, depth)?,
                // A bare object: its class is all that is known.
                None => self.json(*class, depth - 1)?,
            },
        })
    }

    /// The attributes of an object: a dictionary, or a pair of one and the slots.
    fn state(&mut self, state: Id, depth: u32) -> Result<Json<'a>, PickleError> {
        if let Id::Node(place) = state
            && let Some(Node::List(pair)) = self.nodes.get(place as usize)
            && let [plain, slots] = pair.as_slice()
        {
            let mut entries = Vec::new();
            for half in [*plain, *slots] {
                if let Json::Object(found) = self.json(half, depth - 1)? {
                    entries.extend(found);
                }
            }
            return Ok(Json::Object(entries));
        }
        self.json(state, depth - 1)
    }

    fn object(&mut self, entries: &[(Id, Id)], depth: u32) -> Result<Json<'a>, PickleError> {
        let mut out = Vec::with_capacity(entries.len().min(self.left));
        for &(key, value) in entries {
            let key = match self.json(key, depth - 1)? {
                Json::Str(text) => text,
                other => Cow::Owned(other.to_text()),
            };
            out.push((key, self.json(value, depth - 1)?));
        }
        Ok(Json::Object(out))
    }
}

/// A number in two's complement, little end first.
fn long(bytes: &[u8]) -> Option<i128> {
    if bytes.len() > 16 {
        return None;
    }
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    for (to, from) in wide.iter_mut().zip(bytes) {
        *to = *from;
    }
    Some(i128::from_le_bytes(wide))
}

#[cfg(test)]
mod tests;
