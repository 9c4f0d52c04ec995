//! Keyed hashes for the `*_hmac` columns: equal within a case, useless outside it.

use std::fmt;

/// The key of a case: never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct CaseKey(pub [u8; 32]);

impl CaseKey {
    /// The key's bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 64 hex digits, a line end behind them allowed.
    pub fn parse(text: &[u8]) -> Option<CaseKey> {
        let digits = text.trim_ascii_end();
        if digits.len() != 64 {
            return None;
        }
        let mut key = [0; 32];
        for (byte, pair) in key.iter_mut().zip(digits.as_chunks::<2>().0) {
            let [high, low] = pair.map(|d| char::from(d).to_digit(16));
            *byte = u8::try_from(high? * 16 + low?).ok()?;
        }
        Some(CaseKey(key))
    }

    /// The key as 64 hex digits.
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }
}

impl fmt::Debug for CaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CaseKey(…)")
    }
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

/// A keyed hash that takes its bytes in pieces.
#[derive(Clone)]
pub struct KeyedHasher(blake3::Hasher);

impl KeyedHasher {
    /// Starts a hash. Equal bytes in different domains (`prompt`, `span`, …) give different hashes.
    pub fn new(key: &[u8; 32], domain: &str) -> KeyedHasher {
        let mut hasher = blake3::Hasher::new_keyed(key);
        // The length goes first, so that no domain is the beginning of another.
        hasher.update(&(domain.len() as u64).to_le_bytes());
        hasher.update(domain.as_bytes());
        KeyedHasher(hasher)
    }

    /// Takes further bytes.
    pub fn update(&mut self, bytes: &[u8]) -> &mut KeyedHasher {
        self.0.update(bytes);
        self
    }

    /// The first 32 hex digits of the hash.
    pub fn finish(&self) -> String {
        let mut digest = [0; 16];
        self.0.finalize_xof().fill(&mut digest);
        hex(&digest)
    }
}

/// Keyed BLAKE3 of the bytes in a domain: the first 32 hex digits.
pub fn keyed_hash(key: &[u8; 32], domain: &str, bytes: &[u8]) -> String {
    KeyedHasher::new(key, domain).update(bytes).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_domain_and_bytes_all_count() {
        let base = keyed_hash(&[7; 32], "prompt", b"abc");
        assert_eq!(base.len(), 32);
        assert_eq!(base, "47570d6c631e2755e644ce94895361df");
        assert_ne!(base, keyed_hash(&[8; 32], "prompt", b"abc"));
        assert_ne!(base, keyed_hash(&[7; 32], "span", b"abc"));
        assert_ne!(base, keyed_hash(&[7; 32], "prompta", b"bc"));
        assert_ne!(base, keyed_hash(&[7; 32], "prompt", b"abd"));
        let mut pieces = KeyedHasher::new(&[7; 32], "prompt");
        pieces.update(b"a").update(b"").update(b"bc");
        assert_eq!(base, pieces.finish());
    }

    #[test]
    fn keys_are_64_hex_digits_and_never_shown() {
        let key = CaseKey([0xab; 32]);
        assert_eq!(CaseKey::parse(key.to_hex().as_bytes()), Some(key.clone()));
        assert_eq!(
            CaseKey::parse(format!("{}\n", key.to_hex()).as_bytes()),
            Some(key.clone())
        );
        for bad in [
            "",
            "ab",
            &"g".repeat(64),
            &"a".repeat(63),
            &"a".repeat(65),
            &"é".repeat(32),
        ] {
            assert_eq!(CaseKey::parse(bad.as_bytes()), None);
        }
        assert!(!format!("{key:?}").contains("ab"));
    }
}
