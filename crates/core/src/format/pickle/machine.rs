//! The opcodes of a pickle, as far as they build values.

use super::{PickleError, long};
use std::borrow::Cow;

/// Bytes of a pickle for each value that needs a place of its own, at least. Honest values have
/// names, lengths and memo marks beside them; others must not fill the memory.
const BYTES_PER_NODE: usize = 8;

/// Values that any pickle may have, however short.
const FEW_NODES: usize = 4096;

/// A value: a small one itself, another by its place in [`Machine::nodes`]. Values refer to each
/// other, since lists grow after they are first named.
#[derive(Clone, Copy)]
pub(super) enum Id {
    Null,
    Bool(bool),
    Int(i64),
    Node(u32),
}

/// A value that has a place of its own.
pub(super) enum Node<'a> {
    /// One that is too large for 63 bits and a sign.
    Int(i128),
    Float(f64),
    Text(Cow<'a, str>),
    /// A class or function, by its name.
    Name(String),
    /// A list, tuple or set.
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// What a class or function would have made.
    Object {
        class: Id,
        state: Option<Id>,
    },
    /// Bytes, and numbers that are too long.
    Opaque,
}

/// Reads one pickle.
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(super) nodes: Vec<Node<'a>>,
    stack: Vec<Id>,
    /// Heights of the stack at each mark.
    marks: Vec<usize>,
    memo: Vec<Option<Id>>,
}

type Step<T> = Result<T, PickleError>;

impl<'a> Machine<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Machine<'a> {
        Machine {
            bytes,
            at: 0,
            nodes: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
        }
    }

    /// Runs to the end of the first pickle; gives its value.
    pub(super) fn run(&mut self) -> Step<Id> {
        loop {
            let op = self.byte()?;
            if op == b'.' {
                return self.pop();
            }
            // Each kind of opcode has its own function; what none knows ends the reading.
            let known = self.scalar(op)? || self.text(op)? || self.container(op)?;
            if !known && !self.call(op)? && !self.memory(op)? {
                return Err(self.broken());
            }
        }
    }

    fn broken(&self) -> PickleError {
        PickleError::Broken(self.at.saturating_sub(1))
    }

    fn byte(&mut self) -> Step<u8> {
        let byte = *self.bytes.get(self.at).ok_or(PickleError::Cut)?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, length: usize) -> Step<&'a [u8]> {
        let end = self.at.checked_add(length).ok_or(PickleError::Cut)?;
        let bytes = self.bytes.get(self.at..end).ok_or(PickleError::Cut)?;
        self.at = end;
        Ok(bytes)
    }

    /// A number of `width` bytes, little end first.
    fn unsigned(&mut self, width: usize) -> Step<usize> {
        let mut wide = [0u8; 8];
        for (to, from) in wide.iter_mut().zip(self.take(width)?) {
            *to = *from;
        }
        usize::try_from(u64::from_le_bytes(wide)).map_err(|_| PickleError::Cut)
    }

    /// A line of the text opcodes, without its end.
    fn line(&mut self) -> Step<&'a str> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).ok_or(PickleError::Cut)?;
        let line = self.take(length)?;
        self.at += 1;
        std::str::from_utf8(line).map_err(|_| self.broken())
    }

    /// Gives a value a place.
    fn place(&mut self, node: Node<'a>) -> Step<Id> {
        let most = self.bytes.len() / BYTES_PER_NODE + FEW_NODES;
        if self.nodes.len() >= most {
            return Err(PickleError::Deep);
        }
        let id = u32::try_from(self.nodes.len()).map_err(|_| PickleError::Deep)?;
        self.nodes.push(node);
        Ok(Id::Node(id))
    }

    fn push(&mut self, node: Node<'a>) -> Step<()> {
        let id = self.place(node)?;
        self.stack.push(id);
        Ok(())
    }

    fn node(&self, id: Id) -> Option<&Node<'a>> {
        match id {
            Id::Node(place) => self.nodes.get(place as usize),
            _ => None,
        }
    }

    fn node_mut(&mut self, id: Option<Id>) -> Option<&mut Node<'a>> {
        match id? {
            Id::Node(place) => self.nodes.get_mut(place as usize),
            _ => None,
        }
    }

    fn pop(&mut self) -> Step<Id> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(self.broken());
        }
        self.stack.pop().ok_or(self.broken())
    }

    /// What stands above the last mark.
    fn pop_mark(&mut self) -> Step<Vec<Id>> {
        let height = self.marks.pop().ok_or(self.broken())?;
        Ok(self.stack.split_off(height.min(self.stack.len())))
    }

    fn top(&self) -> Step<Id> {
        self.stack.last().copied().ok_or(self.broken())
    }

    /// Numbers, truth values and nothing.
    fn scalar(&mut self, op: u8) -> Step<bool> {
        let id = match op {
            b'N' => Id::Null,
            0x88 => Id::Bool(true),
            0x89 => Id::Bool(false),
            b'K' => Id::Int(self.unsigned(1)? as i64),
            b'M' => Id::Int(self.unsigned(2)? as i64),
            b'J' => Id::Int(i64::from(self.unsigned(4)? as u32 as i32)),
            0x8a | 0x8b => {
                let length = self.unsigned(if op == 0x8a { 1 } else { 4 })?;
                let bytes = self.take(length)?;
                self.integer(long(bytes))?
            }
            b'I' | b'L' => match self.line()?.trim_end_matches('L') {
                "00" => Id::Bool(false),
                "01" => Id::Bool(true),
                digits => self.integer(digits.parse().ok())?,
            },
            b'F' => {
                let value = self.line()?.parse().map_err(|_| self.broken())?;
                self.place(Node::Float(value))?
            }
            b'G' => {
                let bytes = self.take(8)?;
                let bytes = <[u8; 8]>::try_from(bytes).map_err(|_| PickleError::Cut)?;
                self.place(Node::Float(f64::from_be_bytes(bytes)))?
            }
            _ => return Ok(false),
        };
        self.stack.push(id);
        Ok(true)
    }

    fn integer(&mut self, value: Option<i128>) -> Step<Id> {
        match value {
            None => self.place(Node::Opaque),
            Some(value) => match i64::try_from(value) {
                Ok(small) => Ok(Id::Int(small)),
                Err(_) => self.place(Node::Int(value)),
            },
        }
    }

    /// Texts and bytes.
    fn text(&mut self, op: u8) -> Step<bool> {
        let width = match op {
            0x8c | b'U' | b'C' => 1,
            b'X' | b'T' | b'B' => 4,
            0x8d | 0x8e | 0x96 => 8,
            b'V' => {
                let line = Cow::Borrowed(self.line()?);
                self.push(Node::Text(line))?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let length = self.unsigned(width)?;
        let bytes = self.take(length)?;
        let node = match op {
            b'C' | b'B' | 0x8e | 0x96 => Node::Opaque,
            // Halves of surrogate pairs are written as they are.
            _ => Node::Text(String::from_utf8_lossy(bytes)),
        };
        self.push(node)?;
        Ok(true)
    }

    /// Lists, tuples, sets and dictionaries.
    fn container(&mut self, op: u8) -> Step<bool> {
        match op {
            b']' | b')' | 0x8f => {
                self.push(Node::List(Vec::new()))?;
            }
            b'}' => {
                self.push(Node::Dict(Vec::new()))?;
            }
            b'(' => self.marks.push(self.stack.len()),
            b'l' | b't' | 0x91 => {
                let items = self.pop_mark()?;
                self.push(Node::List(items))?;
            }
            b'd' => {
                let entries = pairs(&self.pop_mark()?);
                self.push(Node::Dict(entries))?;
            }
            0x85..=0x87 => {
                let mut items = Vec::with_capacity(3);
                for _ in 0x84..op {
                    items.push(self.pop()?);
                }
                items.reverse();
                self.push(Node::List(items))?;
            }
            b'a' => {
                let item = self.pop()?;
                self.extend(&[item]);
            }
            b'e' | 0x90 => {
                let items = self.pop_mark()?;
                self.extend(&items);
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set(&[(key, value)])?;
            }
            b'u' => {
                let entries = pairs(&self.pop_mark()?);
                self.set(&entries)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn extend(&mut self, items: &[Id]) {
        let top = self.stack.last().copied();
        // What is added to an object that is no list is of a class of its own: it is left out.
        if let Some(Node::List(list)) = self.node_mut(top) {
            list.extend_from_slice(items);
        }
    }

    fn set(&mut self, entries: &[(Id, Id)]) -> Step<()> {
        let top = self.stack.last().copied();
        let known = match self.node_mut(top) {
            Some(Node::Dict(dict)) => {
                dict.extend_from_slice(entries);
                return Ok(());
            }
            // A dictionary of a class of its own keeps its entries as its state.
            Some(Node::Object { state, .. }) => *state,
            _ => return Ok(()),
        };
        if known.is_some() {
            if let Some(Node::Dict(dict)) = self.node_mut(known) {
                dict.extend_from_slice(entries);
            }
            return Ok(());
        }
        let made = self.place(Node::Dict(entries.to_vec()))?;
        if let Some(Node::Object { state, .. }) = self.node_mut(top) {
            *state = Some(made);
        }
        Ok(())
    }

    /// What would name, call or fill something of the program. Nothing is.
    fn call(&mut self, op: u8) -> Step<bool> {
        match op {
            b'c' => {
                let module = self.line()?;
                let name = self.line()?;
                self.push(Node::Name(format!("{module}.{name}")))?;
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let word = |id: Id| match self.node(id) {
                    Some(Node::Text(text)) => text.as_ref(),
                    _ => "",
                };
                let full = format!("{}.{}", word(module), word(name));
                self.push(Node::Name(full))?;
            }
            b'R' | 0x81 => {
                let arguments = self.pop()?;
                let class = self.pop()?;
                self.made(class, arguments)?;
            }
            0x92 => {
                let (_, arguments) = (self.pop()?, self.pop()?);
                let class = self.pop()?;
                self.made(class, arguments)?;
            }
            b'o' | b'i' => {
                if op == b'i' {
                    self.line()?;
                    self.line()?;
                }
                let class = self.pop_mark()?.first().copied();
                self.push(match class {
                    Some(class) => Node::Object { class, state: None },
                    None => Node::Opaque,
                })?;
            }
            b'b' => {
                let built = self.pop()?;
                let id = self.top()?;
                if let Some(Node::Object { state, .. }) = self.node_mut(Some(id)) {
                    *state = Some(built);
                }
            }
            b'P' => {
                self.line()?;
                self.push(Node::Opaque)?;
            }
            b'Q' => {
                self.pop()?;
                self.push(Node::Opaque)?;
            }
            0x82..=0x84 => {
                self.take([1, 2, 4][usize::from(op - 0x82)])?;
                self.push(Node::Opaque)?;
            }
            0x97 => {
                self.push(Node::Opaque)?;
            }
            0x98 => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An object made of a class and arguments. A container of a known sort keeps its content.
    fn made(&mut self, class: Id, arguments: Id) -> Step<()> {
        let name = match self.node(class) {
            Some(Node::Name(name)) => name.as_str(),
            _ => "",
        };
        let first = match self.node(arguments) {
            Some(Node::List(items)) => items.first().copied(),
            _ => None,
        };
        let known = [
            "builtins.set",
            "builtins.frozenset",
            "collections.deque",
            // As protocols before 3 spell them.
            "__builtin__.set",
            "__builtin__.frozenset",
        ];
        match first {
            Some(first) if known.contains(&name) => self.stack.push(first),
            // An enum's member is its value.
            Some(first) if self.is_scalar(first) && !name.is_empty() => self.stack.push(first),
            _ => self.push(Node::Object { class, state: None })?,
        }
        Ok(())
    }

    fn is_scalar(&self, id: Id) -> bool {
        let small = matches!(id, Id::Int(_) | Id::Bool(_));
        small
            || matches!(
                self.node(id),
                Some(Node::Int(_) | Node::Float(_) | Node::Text(_))
            )
    }

    /// The memo, and what only moves or announces.
    fn memory(&mut self, op: u8) -> Step<bool> {
        match op {
            0x80 => {
                self.byte()?;
            }
            0x95 => {
                self.take(8)?;
            }
            b'0' => {
                // Above a mark there is nothing to take: then it is the mark that goes.
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            b'1' => {
                self.pop_mark()?;
            }
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            0x94 => self.remember(self.memo.len())?,
            b'q' => {
                let place = self.unsigned(1)?;
                self.remember(place)?;
            }
            b'r' => {
                let place = self.unsigned(4)?;
                self.remember(place)?;
            }
            b'p' => {
                let place = self.line()?.parse().map_err(|_| self.broken())?;
                self.remember(place)?;
            }
            b'h' => {
                let place = self.unsigned(1)?;
                self.recall(place)?;
            }
            b'j' => {
                let place = self.unsigned(4)?;
                self.recall(place)?;
            }
            b'g' => {
                let place = self.line()?.parse().map_err(|_| self.broken())?;
                self.recall(place)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn remember(&mut self, place: usize) -> Step<()> {
        let top = self.top()?;
        // Places are given out one by one: a far one would only fill the memory.
        if place > self.nodes.len() {
            return Err(self.broken());
        }
        if place >= self.memo.len() {
            self.memo.resize(place + 1, None);
        }
        self.memo[place] = Some(top);
        Ok(())
    }

    fn recall(&mut self, place: usize) -> Step<()> {
        let known = self.memo.get(place).copied().flatten();
        self.stack.push(known.ok_or(self.broken())?);
        Ok(())
    }
}

fn pairs(flat: &[Id]) -> Vec<(Id, Id)> {
    flat.chunks_exact(2)
        .filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)))
        .collect()
}
