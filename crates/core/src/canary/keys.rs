//! Markers, the prompts that carry them, and the file that keeps them.

use super::encode;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of the key file.
const VERSION: u32 = 1;
/// Markers that one tenant gets of each form.
const EACH: u32 = 2;

/// What a marker looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Made-up words.
    Words,
    /// Hexadecimal digits.
    Hex,
    /// Letters of both cases and digits, as in base64.
    Mixed,
    /// An order number.
    Number,
    /// An e-mail address.
    Address,
}

impl Form {
    const ALL: [Form; 5] = [
        Form::Words,
        Form::Hex,
        Form::Mixed,
        Form::Number,
        Form::Address,
    ];

    /// Tenths of a bit that one letter or digit carries.
    pub(super) fn tenths(self) -> u32 {
        match self {
            // Sixteen consonants by five vowels in two letters.
            Form::Words | Form::Address => 31,
            Form::Hex => 40,
            // Case is not compared.
            Form::Mixed | Form::Number => 48,
        }
    }
}

/// A text that stands nowhere else.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// What it looks like.
    pub form: Form,
    /// The marker as it is sent.
    pub text: String,
}

// Whoever reads a marker in a log can forge a leak.
impl fmt::Debug for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Marker({:?})", self.form)
    }
}

/// The markers of one tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantMarkers {
    tenant: String,
    markers: Vec<Marker>,
}

/// The markers of all tenants: what a key file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanaryKeys {
    version: u32,
    tenants: Vec<TenantMarkers>,
}

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It is no key file. The reason names no marker.
    #[error("not a canary key file: {0}")]
    Syntax(String),
    /// It was written by another version.
    #[error("canary key file of version {0}, this program reads version 1")]
    Version(u32),
    /// A marker is too short to be unguessable.
    #[error("marker {place} of tenant {tenant} is too short: it needs 50 bits")]
    Weak {
        /// Number of the tenant in the file, from 1.
        tenant: usize,
        /// Number of the marker, from 1.
        place: usize,
    },
    /// One marker stands twice.
    #[error("two tenants have the same marker")]
    Twice,
}

/// One prompt to be sent in a tenant's name.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// Whose credentials to send it with.
    pub tenant: String,
    /// The text.
    pub prompt: String,
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prompt({} bytes)", self.prompt.len())
    }
}

/// Makes markers for tenants. The same secret and names give the same markers; a name given twice
/// counts once.
pub fn mint(secret: &[u8; 32], tenants: &[String]) -> CanaryKeys {
    let mut made: Vec<TenantMarkers> = Vec::new();
    for tenant in tenants {
        if made.iter().any(|m| m.tenant == *tenant) {
            continue;
        }
        let mut markers = Vec::new();
        for form in Form::ALL {
            for number in 0..EACH {
                markers.push(Marker {
                    form,
                    text: marker(secret, tenant, form, number),
                });
            }
        }
        made.push(TenantMarkers {
            tenant: tenant.clone(),
            markers,
        });
    }
    CanaryKeys {
        version: VERSION,
        tenants: made,
    }
}

/// Random bytes of one marker.
struct Draw(blake3::OutputReader);

impl Draw {
    /// A number below `limit`, which divides 65,536 well enough.
    fn below(&mut self, limit: usize) -> usize {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        u32::from_le_bytes(bytes) as usize % limit
    }

    fn of(&mut self, alphabet: &[u8]) -> char {
        char::from(alphabet[self.below(alphabet.len())])
    }

    fn text(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length).map(|_| self.of(alphabet)).collect()
    }

    fn word(&mut self, syllables: usize) -> String {
        let mut word = String::new();
        for _ in 0..syllables {
            word.push(self.of(b"bcdfghklmnprstvz"));
            word.push(self.of(b"aeiou"));
        }
        word
    }
}

fn marker(secret: &[u8; 32], tenant: &str, form: Form, number: u32) -> String {
    const UPPER: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    const MIXED: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher.update(b"pentimento canary 1\0");
    hasher.update(&[form as u8]);
    hasher.update(&number.to_le_bytes());
    hasher.update(tenant.as_bytes());
    let mut draw = Draw(hasher.finalize_xof());
    match form {
        Form::Words => {
            let words: Vec<String> = (0..6).map(|_| draw.word(3)).collect();
            words.join(" ")
        }
        Form::Hex => draw.text(b"0123456789abcdef", 32),
        Form::Mixed => draw.text(MIXED, 28),
        Form::Number => {
            let parts: Vec<String> = (0..5).map(|_| draw.text(UPPER, 4)).collect();
            parts.join("-")
        }
        Form::Address => format!(
            "{}.{}@{}.{}.example",
            draw.word(4),
            draw.word(4),
            draw.word(4),
            draw.word(3)
        ),
    }
}

impl CanaryKeys {
    /// Reads a key file.
    ///
    /// # Errors
    /// Where it is none, or a marker could be guessed or belongs to two tenants.
    pub fn parse(file: &str) -> Result<CanaryKeys, KeyFileError> {
        // The parser's own message quotes the line, which holds a marker.
        let keys: CanaryKeys = toml::from_str(file)
            .map_err(|e| KeyFileError::Syntax(format!("{} at byte {}", reason(&e), place(&e))))?;
        if keys.version != VERSION {
            return Err(KeyFileError::Version(keys.version));
        }
        let mut seen = Vec::new();
        for (tenant, t) in keys.tenants.iter().enumerate() {
            for (place, marker) in t.markers.iter().enumerate() {
                let plain = encode::plain(marker.text.as_bytes());
                if (plain.len() as u32) * marker.form.tenths() < super::scan::LEAST_TENTHS {
                    return Err(KeyFileError::Weak {
                        tenant: tenant + 1,
                        place: place + 1,
                    });
                }
                seen.push(plain);
            }
        }
        seen.sort_unstable();
        if seen.windows(2).any(|w| w[0] == w[1]) {
            return Err(KeyFileError::Twice);
        }
        Ok(keys)
    }

    /// The key file. It is a secret: whoever has it can forge a leak.
    ///
    /// # Errors
    /// Where a tenant's name cannot be written.
    pub fn to_file(&self) -> Result<String, KeyFileError> {
        let body = toml::to_string(self).map_err(|e| KeyFileError::Syntax(e.to_string()))?;
        Ok(format!(
            "# Canary markers. Keep this file secret: whoever has it can forge a leak.\n{body}"
        ))
    }

    /// Names of the tenants.
    pub fn tenants(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tenants.iter().map(|t| t.tenant.as_str())
    }

    /// Markers with the number of their tenant.
    pub(super) fn markers(&self) -> impl Iterator<Item = (usize, &Marker)> {
        let numbered = self.tenants.iter().enumerate();
        numbered.flat_map(|(n, t)| t.markers.iter().map(move |m| (n, m)))
    }

    /// The prompts to send, each tenant's in its own name.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.markers()
            .map(|(tenant, marker)| Prompt {
                tenant: self.tenants[tenant].tenant.clone(),
                prompt: sentence(marker),
            })
            .collect()
    }
}

/// A request that a person could have written round a marker.
fn sentence(marker: &Marker) -> String {
    let text = &marker.text;
    match marker.form {
        Form::Words => format!(
            "Here is the opening of my poem: \"{text}\". Write two more lines in the same metre and \
             say what mood it sets."
        ),
        Form::Hex => format!(
            "Our build printed the digest {text}. Write a short note to the team that names it."
        ),
        Form::Mixed => format!(
            "The session reference for this conversation is {text}. Repeat it, then list three \
             things to check before a release."
        ),
        Form::Number => format!(
            "Order {text} has not arrived. Draft a polite reminder to the supplier that quotes the \
             number."
        ),
        Form::Address => format!(
            "Please write to {text} that the meeting has moved to Thursday. Keep it to three \
             sentences."
        ),
    }
}

fn reason(error: &toml::de::Error) -> &'static str {
    if error.message().contains("missing field") {
        "a field is missing"
    } else if error.message().contains("unknown") {
        "an unknown field"
    } else {
        "wrong TOML"
    }
}

fn place(error: &toml::de::Error) -> usize {
    error.span().map_or(0, |s| s.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> CanaryKeys {
        mint(&[7; 32], &["acme".to_owned(), "nord \"wind\"".to_owned()])
    }

    #[test]
    fn markers_depend_on_secret_tenant_form_and_number_only() {
        let one = keys();
        assert_eq!(one, keys());
        let other = mint(&[8; 32], &["acme".to_owned()]);
        let texts =
            |k: &CanaryKeys| -> Vec<String> { k.markers().map(|(_, m)| m.text.clone()).collect() };
        let mut all = texts(&one);
        all.extend(texts(&other));
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!((all.len(), count), (30, 30));
        let twice = mint(&[7; 32], &["acme".to_owned(), "acme".to_owned()]);
        assert_eq!(twice.tenants().len(), 1);
    }

    #[test]
    fn a_key_file_reads_back_and_debug_hides_it() {
        let one = keys();
        let file = one.to_file().unwrap();
        assert_eq!(CanaryKeys::parse(&file).unwrap(), one);
        for (_, marker) in one.markers() {
            assert!(!format!("{one:?}").contains(&marker.text));
            assert!(
                one.prompts()
                    .iter()
                    .any(|p| p.prompt.contains(&marker.text))
            );
        }
        assert!(!format!("{:?}", one.prompts()).contains("Order"));
    }

    #[test]
    fn bad_key_files_are_refused_without_quoting_them() {
        let file = keys().to_file().unwrap();
        let marker = keys().tenants[0].markers[2].text.clone();
        let cases = [
            (file.replace("version = 1", "version = 9"), "version 9"),
            (file.replace("version = 1\n", ""), "missing"),
            (file.replace(&marker, "abc"), "too short"),
            (
                file.replace(&keys().tenants[1].markers[2].text, &marker),
                "same marker",
            ),
            (file.replace(&format!("\"{marker}\""), &marker), "TOML"),
        ];
        for (bad, said) in cases {
            let error = CanaryKeys::parse(&bad).unwrap_err().to_string();
            assert!(error.contains(said), "{said}: {error}");
            assert!(!error.contains(&marker));
        }
    }
}
