//! How deep the columns of a foreign Parquet file are nested, told before its decoder looks: that
//! one calls itself for each level, and a stack that overflows cannot be caught.
//!
//! The footer is a structure of Thrift's compact protocol; its second field lists the schema, depth
//! first, each element with the number of its children.

use crate::columnar::RandomBytes;
use std::io;

/// Footers are no longer (64 MiB): ten thousand columns in a thousand row groups have a third.
const MOST_FOOTER_BYTES: u64 = 64 << 20;
/// Structures inside structures of a footer; real ones have five.
const MOST_NESTING: usize = 16;

/// Types of Thrift's compact protocol.
mod kind {
    pub const BOOLS: std::ops::RangeInclusive<u8> = 1..=2;
    pub const BYTE: u8 = 3;
    pub const NUMBERS: std::ops::RangeInclusive<u8> = 4..=6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LISTS: std::ops::RangeInclusive<u8> = 9..=10;
    pub const MAP: u8 = 11;
    pub const STRUCT: u8 = 12;
    pub const UUID: u8 = 13;
}

/// The greatest depth of a column, counted up to `most` + 1.
///
/// # Errors
/// `InvalidData` where there is no footer that can be walked; those of the medium.
pub fn depth(bytes: &dyn RandomBytes, most: usize) -> io::Result<usize> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "Parquet: no readable footer");
    let end = bytes.length().checked_sub(8).ok_or_else(damaged)?;
    let mut tail = [0u8; 8];
    exactly(bytes, end, &mut tail)?;
    let length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let length = u64::from(length);
    let start = end.checked_sub(length).ok_or_else(damaged)?;
    if length > MOST_FOOTER_BYTES || &tail[4..] != crate::columnar::MAGIC {
        return Err(damaged());
    }
    let mut footer = vec![0u8; length as usize];
    exactly(bytes, start, &mut footer)?;
    schema_depth(&footer, most).ok_or_else(damaged)
}

fn exactly(bytes: &dyn RandomBytes, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read_at(offset + filled as u64, &mut buffer[filled..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => filled += n,
        }
    }
    Ok(())
}

fn schema_depth(footer: &[u8], most: usize) -> Option<usize> {
    let mut walk = Walk { rest: footer };
    let mut field = 0;
    while let Some(kind) = walk.field(&mut field)? {
        if field != 2 || !kind::LISTS.contains(&kind) {
            walk.skip(kind, 0)?;
            continue;
        }
        let (count, element) = walk.list()?;
        if element != kind::STRUCT {
            return None;
        }
        return walk.schema(count, most);
    }
    None
}

struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// The type of the next field, whose number goes to `field`; `Some(None)` at the end.
    fn field(&mut self, field: &mut i64) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *field = match head >> 4 {
            0 => self.signed()?,
            step => field.checked_add(i64::from(step))?,
        };
        Some(Some(head & 0xf))
    }

    /// Elements of a list and their type.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            few => u64::from(few),
        };
        Some((count, head & 0xf))
    }

    fn skip(&mut self, kind: u8, nesting: usize) -> Option<()> {
        if nesting > MOST_NESTING {
            return None;
        }
        match kind {
            k if kind::BOOLS.contains(&k) => Some(()),
            kind::BYTE => self.pass(1),
            k if kind::NUMBERS.contains(&k) => self.varint().map(|_| ()),
            kind::DOUBLE => self.pass(8),
            kind::UUID => self.pass(16),
            kind::BINARY => {
                let length = self.varint()?;
                self.pass(length)
            }
            k if kind::LISTS.contains(&k) => {
                let (count, element) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(element, nesting))
            }
            kind::MAP => {
                let count = self.varint()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, nesting)?;
                    self.skip_element(kinds & 0xf, nesting)
                })
            }
            kind::STRUCT => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, nesting + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// In lists and maps a truth value takes a byte.
    fn skip_element(&mut self, kind: u8, nesting: usize) -> Option<()> {
        if kind::BOOLS.contains(&kind) {
            return self.pass(1);
        }
        self.skip(kind, nesting + 1)
    }

    fn schema(&mut self, count: u64, most: usize) -> Option<usize> {
        // Children that are still to come, per level.
        let mut open: Vec<i64> = Vec::new();
        let mut deepest = 0;
        for _ in 0..count {
            let mut children = 0;
            let mut field = 0;
            while let Some(kind) = self.field(&mut field)? {
                if field == 5 && kind::NUMBERS.contains(&kind) {
                    children = self.signed()?;
                } else {
                    self.skip(kind, 1)?;
                }
            }
            if let Some(last) = open.last_mut() {
                *last -= 1;
            }
            if children > 0 {
                open.push(children);
                deepest = deepest.max(open.len());
                if deepest > most {
                    return Some(deepest);
                }
            }
            while open.last().is_some_and(|left| *left <= 0) {
                open.pop();
            }
        }
        Some(deepest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer whose schema is a chain of groups.
    fn chain(levels: usize) -> Vec<u8> {
        let mut footer = vec![0x15, 2];
        footer.extend([0x19, 0xfc]);
        let mut count = levels + 1;
        while count >= 0x80 {
            footer.push(count as u8 | 0x80);
            count >>= 7;
        }
        footer.push(count as u8);
        for _ in 0..levels {
            // Field 4 is a name, field 5 the number of children.
            footer.extend([0x48, 1, b'g', 0x15, 2, 0]);
        }
        footer.extend([0x15, 0, 0x38, 1, b'x', 0]);
        footer.push(0);
        footer
    }

    fn file(footer: &[u8]) -> Vec<u8> {
        let mut bytes = b"PAR1".to_vec();
        bytes.extend_from_slice(footer);
        bytes.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        bytes.extend_from_slice(b"PAR1");
        bytes
    }

    #[test]
    fn chains_are_measured_and_never_followed_too_far() {
        assert_eq!(depth(&file(&chain(3)), 64).ok(), Some(3));
        assert_eq!(depth(&file(&chain(64)), 64).ok(), Some(64));
        assert_eq!(depth(&file(&chain(200_000)), 64).ok(), Some(65));
    }

    #[test]
    fn what_is_no_footer_is_an_error() {
        let whole = file(&chain(5));
        for cut in 0..whole.len() {
            assert!(depth(&whole[..cut].to_vec(), 64).is_err(), "{cut}");
        }
        for at in 4..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            let _ = depth(&bytes, 64);
        }
        // Structures in structures without end.
        assert!(depth(&file(&[0x1c; 100_000]), 64).is_err());
        // A list that claims more elements than there are bytes.
        assert!(depth(&file(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x7f]), 64).is_err());
    }
}
