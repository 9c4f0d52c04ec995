//! Bodies that were encrypted for the owner of a private key.
//!
//! Cloudflare pushes `{"type":"encrypted","key":…,"iv":…,"data":…}`, each value in base64: `key` is
//! an AES key of 256 bits under RSA-OAEP with SHA-256, `data` the text under AES-GCM with its tag
//! of 16 bytes behind it. The private key stays in memory: what may be told of it is the
//! fingerprint of its public half.

use super::json::Json;
use aes_gcm::aead::Aead;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};
use hashbrown::HashMap;
use rsa::PrivateKey;
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::{DecodePrivateKey, EncodePublicKey};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::RwLock;
use thiserror::Error;

/// AES keys that are remembered: every pass over the logs needs them anew, and to unwrap one takes
/// a thousand times as long as to use it. About 100 MB.
const MAX_REMEMBERED: usize = 1 << 20;

/// Private keys that one file may hold: a key and those before it.
const MAX_KEYS: usize = 16;

/// Why a file holds no usable private key. Nothing of its content is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// No `BEGIN … PRIVATE KEY` in it.
    #[error("no private key in it, expected PEM: `BEGIN PRIVATE KEY` or `BEGIN RSA PRIVATE KEY`")]
    Missing,
    /// The key is under a password.
    #[error("the private key is under a password: decrypt it first, e.g. with `openssl rsa`")]
    Password,
    /// Neither PKCS#8 nor PKCS#1, or no RSA key.
    #[error("private key number {0} is no RSA key in PKCS#8 or PKCS#1")]
    Unreadable(usize),
    /// Too many keys.
    #[error("more than {MAX_KEYS} private keys in one file")]
    Many,
}

/// Private keys and the AES keys that they have unwrapped.
pub struct BodyKeys {
    keys: Vec<PrivateKey>,
    unwrapped: RwLock<HashMap<u128, [u8; 32]>>,
}

impl BodyKeys {
    /// Reads the private keys of a PEM file, in PKCS#8 or PKCS#1.
    ///
    /// # Errors
    /// Where there is none, or one that cannot be read.
    pub fn of_pem(text: &str) -> Result<BodyKeys, KeyError> {
        let mut keys = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("-----BEGIN ") {
            rest = &rest[at..];
            let end = rest.find("-----END ").map(|at| {
                let line = rest[at..].find('\n').unwrap_or(rest.len() - at);
                at + line
            });
            let (block, behind) = rest.split_at(end.unwrap_or(rest.len()));
            rest = behind;
            let head = block.lines().next().unwrap_or_default();
            if head.contains("ENCRYPTED") || block.contains("Proc-Type: 4,ENCRYPTED") {
                return Err(KeyError::Password);
            }
            if !head.contains("PRIVATE KEY") {
                continue;
            }
            if keys.len() == MAX_KEYS {
                return Err(KeyError::Many);
            }
            let key = PrivateKey::from_pkcs8_pem(block)
                .ok()
                .or_else(|| PrivateKey::from_pkcs1_pem(block).ok());
            keys.push(key.ok_or(KeyError::Unreadable(keys.len() + 1))?);
        }
        if keys.is_empty() {
            return Err(KeyError::Missing);
        }
        Ok(BodyKeys {
            keys,
            unwrapped: RwLock::default(),
        })
    }

    /// SHA-256 over the DER form (SubjectPublicKeyInfo) of each public half, lower-case hex.
    pub fn fingerprints(&self) -> Vec<String> {
        let of = |key: &PrivateKey| {
            let public = key.to_public_key().to_public_key_der().ok()?;
            let digest = Sha256::digest(public.as_bytes());
            Some(digest.iter().map(|b| format!("{b:02x}")).collect())
        };
        self.keys.iter().filter_map(of).collect()
    }

    /// The text of an encrypted body; `None` where no key fits or a byte of it was changed.
    pub fn open(&self, body: &Json<'_>) -> Option<String> {
        let wrapped = base64(body.str_of("key")?)?;
        let iv = base64(body.str_of("iv")?)?;
        let data = base64(body.str_of("data")?)?;
        let nonce = Nonce::try_from(iv.as_slice()).ok()?;
        let key = self.unwrap_key(&wrapped)?;
        let cipher = Aes256Gcm::new_from_slice(&key).ok()?;
        let plain = cipher.decrypt(&nonce, data.as_slice()).ok()?;
        Some(match String::from_utf8(plain) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    fn unwrap_key(&self, wrapped: &[u8]) -> Option<[u8; 32]> {
        let name = xxhash_rust::xxh3::xxh3_128(wrapped);
        let known = self.unwrapped.read().ok()?.get(&name).copied();
        if known.is_some() {
            return known;
        }
        let found = self.keys.iter().find_map(|key| {
            let plain = key.oaep_decrypt::<Sha256>(wrapped).ok()?;
            <[u8; 32]>::try_from(plain.as_slice()).ok()
        })?;
        let mut unwrapped = self.unwrapped.write().ok()?;
        if unwrapped.len() < MAX_REMEMBERED {
            unwrapped.insert(name, found);
        }
        Some(found)
    }
}

impl fmt::Debug for BodyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BodyKeys({} keys)", self.keys.len())
    }
}

/// Standard base64, padded or not, without line breaks.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0u32;
        for byte in group {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        match group.len() {
            4 => out.extend_from_slice(bits.to_be_bytes().get(1..)?),
            3 => out.extend_from_slice((bits >> 2).to_be_bytes().get(2..)?),
            2 => out.extend_from_slice((bits >> 4).to_be_bytes().get(3..)?),
            _ => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = include_str!("../../tests/keys/logpush.pem");
    const OTHER: &str = include_str!("../../tests/keys/other.pem");

    #[test]
    fn both_spellings_of_keys_are_read() {
        for (pem, keys) in [(KEY, 1), (OTHER, 1), (&*format!("note\n{KEY}\n{OTHER}"), 2)] {
            let read = BodyKeys::of_pem(pem).unwrap();
            assert_eq!(read.fingerprints().len(), keys);
            assert_eq!(format!("{read:?}"), format!("BodyKeys({keys} keys)"));
        }
        // openssl rsa -pubout -outform DER | sha256sum
        let print = &BodyKeys::of_pem(KEY).unwrap().fingerprints()[0];
        assert_eq!(
            print,
            "bc25a364c71c980130579b39f7bbc190d08837e4cf27130de24d2634e014348a"
        );
    }

    #[test]
    fn what_is_no_key_says_why() {
        let public = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
        let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n";
        let cut = &KEY[..KEY.len() / 2];
        for (text, error) in [
            ("", KeyError::Missing),
            (public, KeyError::Missing),
            (locked, KeyError::Password),
            (cut, KeyError::Unreadable(1)),
            (&KEY.repeat(17), KeyError::Many),
        ] {
            assert_eq!(BodyKeys::of_pem(text).unwrap_err(), error);
        }
    }

    #[test]
    fn base64_is_read_as_written() {
        for (text, bytes) in [
            ("", Some(&b""[..])),
            ("Zg==", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm8", Some(b"fo")),
            ("Zm9v", Some(b"foo")),
            ("+/+/", Some(&[0xfb, 0xff, 0xbf])),
            ("Z", None),
            ("Zm9v\n", None),
            ("Zm-_", None),
        ] {
            assert_eq!(base64(text).as_deref(), bytes, "{text}");
        }
    }
}
