//! Names to small numbers, so that a compact row holds four bytes for each.

use hashbrown::HashMap;

/// Stands for "no name" in compact rows.
pub const NONE: u32 = u32::MAX;

/// Numbers names in the order in which they come.
#[derive(Default)]
pub struct Interner {
    numbers: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl Interner {
    /// The number of a name.
    pub fn number(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name else { return NONE };
        if let Some(&n) = self.numbers.get(name) {
            return n;
        }
        let n = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), n);
        n
    }

    /// The name of a number; `None` for [`NONE`].
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(AsRef::as_ref)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }
}

/// [`NONE`] as an option.
pub fn known(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}
