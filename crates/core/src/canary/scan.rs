//! Markers found in a text, however they are written.

use super::encode;
use super::keys::CanaryKeys;
use crate::text::Tokens;
use hashbrown::HashMap;
use std::fmt;

/// Letters and digits by which a marker is noticed.
const GRAM: usize = 12;
/// A piece of a marker proves it if it carries so many tenths of a bit.
pub(super) const LEAST_TENTHS: u32 = 500;
/// Base of the rolling hash: any odd number without small order will do.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// How a marker was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Writing {
    /// As it was made, apart from case and whatever stands between its letters and digits.
    Plain,
    /// From the end to the beginning.
    Reversed,
    /// Letters moved by thirteen.
    Rot13,
    /// Hexadecimal, also percent-encoded as a whole.
    Hex,
    /// Base64 at any offset, both alphabets.
    Base64,
    /// Percent-encoded between its letters and digits.
    Url,
}

impl Writing {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Writing::Plain => "plain",
            Writing::Reversed => "reversed",
            Writing::Rot13 => "rot13",
            Writing::Hex => "hex",
            Writing::Base64 => "base64",
            Writing::Url => "url",
        }
    }
}

/// A marker, or a piece of one, in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// First byte in the text.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Number of the tenant it was made for, as in [`CanaryKeys::tenants`].
    pub owner: u32,
    /// Number of the marker.
    pub marker: u32,
    /// How it was written.
    pub writing: Writing,
    /// Bits that the piece carries.
    pub bits: u32,
    /// Whether the whole marker is there.
    pub whole: bool,
}

/// One writing of one marker.
struct Variant {
    text: Vec<u8>,
    owner: u32,
    marker: u32,
    writing: Writing,
    /// Hundredths of a bit that one letter or digit carries.
    worth: u32,
}

/// All markers, ready to be looked for.
pub struct Scanner {
    variants: Vec<Variant>,
    /// Grams to variant and place in it.
    grams: HashMap<u64, Vec<(u32, u32)>>,
    /// `BASE` to the power of the gram's length.
    leaving: u64,
    owners: Vec<String>,
    markers: Vec<Vec<u8>>,
}

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scanner({} markers)", self.markers.len())
    }
}

fn roll(hash: u64, byte: u8) -> u64 {
    hash.wrapping_mul(BASE).wrapping_add(u64::from(byte) + 1)
}

impl Scanner {
    /// A scanner for the markers of a key file.
    pub fn new(keys: &CanaryKeys) -> Scanner {
        let mut scanner = Scanner {
            variants: Vec::new(),
            grams: HashMap::new(),
            leaving: (0..GRAM).fold(1u64, |power, _| power.wrapping_mul(BASE)),
            owners: keys.tenants().map(str::to_owned).collect(),
            markers: Vec::new(),
        };
        for (owner, marker) in keys.markers() {
            let text = marker.text.as_bytes();
            let plain = encode::plain(text);
            let number = scanner.markers.len() as u32;
            let mut reversed = plain.clone();
            reversed.reverse();
            let worth = marker.form.tenths() * 10;
            let mut add = |text: Vec<u8>, writing, worth| {
                scanner.add(Variant {
                    text: encode::plain(&text),
                    owner: owner as u32,
                    marker: number,
                    writing,
                    worth,
                });
            };
            add(plain.clone(), Writing::Plain, worth);
            add(reversed, Writing::Reversed, worth);
            add(encode::rot13(&plain), Writing::Rot13, worth);
            add(encode::url(text), Writing::Url, worth);
            add(encode::hex(text), Writing::Hex, worth / 2);
            for skip in 0..3 {
                // Folding case leaves of six bits a character about five.
                add(encode::base64(text, skip), Writing::Base64, worth * 5 / 8);
            }
            scanner.markers.push(plain);
        }
        scanner
    }

    fn add(&mut self, variant: Variant) {
        // Where nothing needs encoding, that writing is the plain one.
        if self.variants.iter().any(|v| v.text == variant.text) {
            return;
        }
        let number = self.variants.len() as u32;
        for (at, gram) in variant.text.windows(GRAM).enumerate() {
            let hash = gram.iter().fold(0, |hash, &b| roll(hash, b));
            self.grams
                .entry(hash)
                .or_default()
                .push((number, at as u32));
        }
        self.variants.push(variant);
    }

    /// Names of the tenants that have markers.
    pub fn owners(&self) -> &[String] {
        &self.owners
    }

    /// Letters and digits of a marker, for a keyed hash.
    pub(super) fn marker(&self, number: u32) -> &[u8] {
        &self.markers[number as usize]
    }

    /// Adds the markers in a text, by position. Nothing is joined across a border.
    pub fn scan(&self, tokens: &Tokens, out: &mut Vec<Hit>) {
        let mut text = Vec::new();
        let mut places = Vec::new();
        let mut from = 0;
        for barrier in &tokens.barriers {
            let to = (barrier.at as usize).min(tokens.len());
            if to > from {
                text.clear();
                places.clear();
                for token in from..to {
                    places.push(text.len());
                    text.extend_from_slice(tokens.folded(token));
                }
                self.stretch(
                    &text,
                    |start, end| {
                        let token = |at: usize| from + places.partition_point(|&p| p <= at) - 1;
                        (tokens.start[token(start)], tokens.end[token(end - 1)])
                    },
                    out,
                );
            }
            from = from.max(to);
        }
    }

    /// Finds markers in letters and digits.
    fn stretch(&self, text: &[u8], place: impl Fn(usize, usize) -> (u32, u32), out: &mut Vec<Hit>) {
        let mut hash = 0;
        let mut done = 0;
        for at in 0..text.len() {
            hash = roll(hash, text[at]);
            if at >= GRAM {
                let left = u64::from(text[at - GRAM]) + 1;
                hash = hash.wrapping_sub(self.leaving.wrapping_mul(left));
            }
            if at + 1 < GRAM {
                continue;
            }
            let start = at + 1 - GRAM;
            if start < done {
                continue;
            }
            let Some(found) = self.grams.get(&hash) else {
                continue;
            };
            // The longest piece that begins here; of equal ones the first marker and writing.
            let best = found
                .iter()
                .map(|&(variant, from)| {
                    let rest = &self.variants[variant as usize].text[from as usize..];
                    let equal = rest.iter().zip(&text[start..]).take_while(|(a, b)| a == b);
                    (equal.count(), variant)
                })
                .max_by_key(|&(length, variant)| (length, u32::MAX - variant));
            if let Some((length, variant)) = best {
                let v = &self.variants[variant as usize];
                let hundredths = length as u32 * v.worth;
                if length >= GRAM && hundredths >= LEAST_TENTHS * 10 {
                    let (first, last) = place(start, start + length);
                    out.push(Hit {
                        start: first,
                        end: last,
                        owner: v.owner,
                        marker: v.marker,
                        writing: v.writing,
                        bits: hundredths / 100,
                        whole: length == v.text.len(),
                    });
                    done = start + length;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::{Form, mint};
    use super::*;
    use crate::exchange::FieldText;
    use crate::text::tokenize;

    fn keys() -> CanaryKeys {
        mint(&[3; 32], &["acme".to_owned(), "nordwind".to_owned()])
    }

    fn hits(text: &str) -> Vec<Hit> {
        let mut tokens = Tokens::default();
        tokenize(&FieldText::of(text), &mut tokens);
        let mut out = Vec::new();
        Scanner::new(&keys()).scan(&tokens, &mut out);
        out
    }

    /// Markers in every writing, in the middle of other text.
    #[test]
    fn markers_are_found_in_every_writing() {
        let keys = keys();
        for (number, (owner, marker)) in keys.markers().enumerate() {
            let m = marker.text.as_str();
            let spread = |by: &str| m.chars().map(|c| format!("{c}{by}")).collect::<String>();
            let of = |b: Vec<u8>| String::from_utf8(b).unwrap();
            let longer = format!("xy{m} and so on");
            let base64 = of(encode::base64(longer.as_bytes(), 0));
            let percent = m.bytes().map(|b| format!("%{b:02X}")).collect::<String>();
            for (form, text, writing) in [
                ("whole", m.to_owned(), Writing::Plain),
                ("upper", m.to_uppercase(), Writing::Plain),
                ("spaced", spread(" "), Writing::Plain),
                ("lines", spread("\n"), Writing::Plain),
                ("zero width", spread("\u{200b}"), Writing::Plain),
                ("escaped lines", spread("\\n"), Writing::Plain),
                ("dashes", spread("-"), Writing::Plain),
                ("reversed", m.chars().rev().collect(), Writing::Reversed),
                ("rot13", of(encode::rot13(m.as_bytes())), Writing::Rot13),
                ("hex", of(encode::hex(m.as_bytes())), Writing::Hex),
                ("percent", percent, Writing::Hex),
                ("base64", base64, Writing::Base64),
            ] {
                let text = format!("Sure: {text} is it.");
                let found = hits(&text);
                let right = found.iter().any(|h| {
                    (h.owner as usize, h.marker as usize, h.writing) == (owner, number, writing)
                });
                assert!(right, "{form} {:?} {found:?}", marker.form);
            }
            let url = of(encode::url(m.as_bytes()));
            assert!(!hits(&url).is_empty());
        }
    }

    #[test]
    fn pieces_count_when_they_cannot_be_chance() {
        let keys = keys();
        let (_, marker) = keys.markers().find(|(_, m)| m.form == Form::Hex).unwrap();
        let m = &marker.text;
        let found = hits(&format!("q {} q {}", &m[..16], &m[16..]));
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|h| !h.whole && h.bits == 64));
        assert_eq!(hits(&m[..12]).len(), 0);
        assert!(hits(m)[0].whole);
        assert_eq!((hits(m)[0].start, hits(m)[0].end), (0, 32));
    }

    #[test]
    fn borders_part_and_other_text_is_left() {
        let keys = keys();
        let (_, marker) = keys.markers().find(|(_, m)| m.form == Form::Mixed).unwrap();
        let (head, tail) = marker.text.split_at(8);
        let mut field = FieldText::of(head);
        field.push_part(tail);
        let mut tokens = Tokens::default();
        tokenize(&field, &mut tokens);
        let mut out = Vec::new();
        Scanner::new(&keys).scan(&tokens, &mut out);
        // The second part is enough by itself.
        assert_eq!(out.len(), 1);
        assert!(!out[0].whole && out[0].start as usize == head.len() + 1);
        let other = mint(&[9; 32], &["acme".to_owned()]);
        for (_, m) in other.markers() {
            assert_eq!(hits(&m.text), []);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_scanned(text in "([ -~]|é|漢|[0-9a-f]){0,300}") {
            for hit in hits(&text) {
                proptest::prop_assert!(hit.start < hit.end);
            }
        }
    }
}
