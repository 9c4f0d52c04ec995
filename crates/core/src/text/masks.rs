//! Bytes as bits: which are ASCII letters and digits, and which need the full rules.

/// Kinds of 64 bytes, the first in the lowest bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mask {
    /// ASCII letters and digits.
    pub word: u64,
    /// Backslashes and what is not ASCII.
    pub full: u64,
}

/// Replaces `out` by the masks of a text; bits behind its end are zero.
pub(super) fn masks(bytes: &[u8], out: &mut Vec<Mask>) {
    out.clear();
    let (blocks, rest) = bytes.as_chunks::<64>();
    out.extend(blocks.iter().map(mask));
    if !rest.is_empty() {
        let mut block = [0; 64];
        block[..rest.len()].copy_from_slice(rest);
        out.push(mask(&block));
    }
}

/// Written so that compilers turn both loops over bytes into vector instructions.
fn mask(block: &[u8; 64]) -> Mask {
    let (mut word, mut full) = ([0u8; 64], [0u8; 64]);
    for (out, byte) in word.iter_mut().zip(block) {
        *out = u8::from(byte.is_ascii_alphanumeric());
    }
    for (out, &byte) in full.iter_mut().zip(block) {
        *out = u8::from(byte == b'\\') | byte >> 7;
    }
    let any = full.iter().fold(0, |all, b| all | b);
    Mask {
        word: gather(&word),
        full: if any == 0 { 0 } else { gather(&full) },
    }
}

/// The lowest bit of each byte.
fn gather(bytes: &[u8; 64]) -> u64 {
    let (lanes, _) = bytes.as_chunks::<8>();
    lanes.iter().rev().fold(0, |all, lane| {
        // Each product of a bit lands at its own place in the highest byte.
        all << 8 | u64::from_le_bytes(*lane).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_byte_at_every_place() {
        for byte in 0..=255u8 {
            for place in 0..64 {
                let mut block = [b' '; 64];
                block[place] = byte;
                let expected = Mask {
                    word: u64::from(byte.is_ascii_alphanumeric()) << place,
                    full: u64::from(byte >= 0x80 || byte == b'\\') << place,
                };
                assert_eq!(mask(&block), expected, "{byte} {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn equals_byte_by_byte(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut all = Vec::new();
            masks(&bytes, &mut all);
            prop_assert_eq!(all.len(), bytes.len().div_ceil(64));
            for at in 0..all.len() * 64 {
                let mask = all[at / 64];
                let byte = bytes.get(at).copied().unwrap_or(b' ');
                let word = mask.word >> (at % 64) & 1 == 1;
                prop_assert_eq!(word, byte.is_ascii_alphanumeric());
                let full = mask.full >> (at % 64) & 1 == 1;
                prop_assert_eq!(full, byte >= 0x80 || byte == b'\\');
            }
        }
    }
}
