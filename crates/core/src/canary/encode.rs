//! The ways in which a marker may be written again.

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Letters and digits of an ASCII text, lower case: what tokens make of it.
pub(super) fn plain(text: &[u8]) -> Vec<u8> {
    text.iter()
        .filter(|b| b.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect()
}

pub(super) fn rot13(text: &[u8]) -> Vec<u8> {
    let turn = |b: u8, base: u8| base + (b - base + 13) % 26;
    text.iter()
        .map(|&b| match b {
            b'a'..=b'z' => turn(b, b'a'),
            b'A'..=b'Z' => turn(b, b'A'),
            _ => b,
        })
        .collect()
}

pub(super) fn hex(text: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    text.iter()
        .flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]])
        .collect()
}

/// Percent-encodes all but letters and digits.
pub(super) fn url(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for &b in text {
        if b.is_ascii_alphanumeric() {
            out.push(b);
        } else {
            out.push(b'%');
            out.extend(hex(&[b]));
        }
    }
    out
}

/// What is the same of the base64 forms of all texts that hold `text` behind a multiple of three
/// bytes and `skip` more.
pub(super) fn base64(text: &[u8], skip: usize) -> Vec<u8> {
    let mut bytes = vec![0; skip];
    bytes.extend_from_slice(text);
    // Characters that also hold bits of what stands before or behind are left out.
    let first = (skip * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    bytes.resize(bytes.len().next_multiple_of(3), 0);
    let mut out = Vec::new();
    for three in bytes.chunks(3) {
        let bits = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
        for shift in [18, 12, 6, 0] {
            out.push(BASE64[(bits >> shift & 63) as usize]);
        }
    }
    out.truncate(last);
    out.drain(..first.min(last));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_the_usual_ones() {
        let text = |v: Vec<u8>| String::from_utf8(v).unwrap();
        assert_eq!(text(plain(b"Mira-to 9")), "mirato9");
        assert_eq!(text(rot13(b"Uryyb9")), "Hello9");
        assert_eq!(text(hex(b"az\x0f")), "617a0f");
        assert_eq!(text(url(b"a b@")), "a%20b%40");
        // "light work." is bGlnaHQgd29yay4= (RFC 4648 style examples).
        assert_eq!(text(base64(b"light work.", 0)), "bGlnaHQgd29yay");
        assert_eq!(text(base64(b"ight work.", 1)), "lnaHQgd29yay");
        assert_eq!(text(base64(b"ght work.", 2)), "naHQgd29yay");
        assert_eq!(text(base64(b"", 0)), "");
        assert_eq!(text(base64(b"", 2)), "");
    }
}
