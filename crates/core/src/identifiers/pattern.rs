//! Patterns: what is known of one sort of identifier, read from `patterns/*.toml`.

use super::checksum::Checksum;
use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/patterns.rs"));

/// Bytes of compiled program that one pattern may take.
const REGEX_BYTES: usize = 4 << 20;
/// Bytes before a match in which its context must stand.
const CONTEXT_BYTES: usize = 48;
/// The pattern of values that no file describes.
pub(super) const TOKEN: &str = "token";

/// What an identifier names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// E-mail address.
    Email,
    /// Phone number.
    Phone,
    /// Payment card.
    Card,
    /// Bank account.
    Iban,
    /// Vehicle.
    Vin,
    /// UUID.
    Uuid,
    /// IP address.
    Ip,
    /// Hardware address.
    Mac,
    /// File path.
    Path,
    /// Link with something random in it.
    Url,
    /// Key of a cloud or an API.
    ApiKey,
    /// JSON Web Token.
    Jwt,
    /// Private key.
    PrivateKey,
    /// National or tax number of a person or company.
    NationalId,
    /// Ticket or case.
    Ticket,
    /// Order, invoice or customer.
    Order,
    /// Password or secret beside its name.
    Secret,
    /// Any other value that looks random.
    Token,
}

impl Kind {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Email => "email",
            Kind::Phone => "phone",
            Kind::Card => "card",
            Kind::Iban => "iban",
            Kind::Vin => "vin",
            Kind::Uuid => "uuid",
            Kind::Ip => "ip",
            Kind::Mac => "mac",
            Kind::Path => "path",
            Kind::Url => "url",
            Kind::ApiKey => "api_key",
            Kind::Jwt => "jwt",
            Kind::PrivateKey => "private_key",
            Kind::NationalId => "national_id",
            Kind::Ticket => "ticket",
            Kind::Order => "order",
            Kind::Secret => "secret",
            Kind::Token => "token",
        }
    }

    /// Whether other identifiers inside one of this kind count on their own.
    pub(super) fn is_container(self) -> bool {
        matches!(self, Kind::Path | Kind::Url)
    }
}

/// Which piece of a text a pattern is tried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scope {
    /// A run of ASCII without spaces, quotes and brackets.
    Lump,
    /// Digits and what may group them, spaces included.
    Number,
    /// Some kilobytes from a keyword on.
    Block,
}

/// One pattern.
pub struct Pattern {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) scope: Scope,
    /// Bytes of the shortest match.
    pub(super) shortest: usize,
    /// Each with the set of its bytes.
    pub(super) keywords: Vec<(u128, Finder<'static>)>,
    pub(super) regex: Regex,
    pub(super) checksum: Option<Checksum>,
    pub(super) bits: Option<u32>,
    min_bits: u32,
    context: Vec<String>,
    allow: Vec<Regex>,
    #[cfg(test)]
    pub(super) examples: (Vec<String>, Vec<String>),
}

/// A pattern as its file writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: String,
    kind: Kind,
    // For people who read the file.
    #[serde(rename = "title")]
    _title: String,
    scope: Scope,
    #[serde(default)]
    shortest: usize,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    ignore_case: bool,
    regex: String,
    checksum: Option<Checksum>,
    bits: Option<u32>,
    #[serde(default)]
    min_bits: u32,
    #[serde(default)]
    context: Vec<String>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(rename = "match")]
    matches: Vec<String>,
    no_match: Vec<String>,
}

/// Why a pattern file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("pattern file `{file}`: {reason}")]
pub struct PatternError {
    file: String,
    reason: String,
}

/// A set of patterns.
pub struct Patterns {
    pub(super) list: Vec<Pattern>,
    /// Numbers of the patterns, those with the shortest matches first.
    order: Vec<u16>,
}

impl Patterns {
    /// The patterns that the program carries.
    pub fn builtin() -> &'static Patterns {
        static BUILTIN: OnceLock<Patterns> = OnceLock::new();
        // A file that does not parse fails the tests of this package.
        BUILTIN.get_or_init(|| Patterns::parse(FILES).expect("the embedded patterns parse"))
    }

    /// Reads pattern files, given as names and contents.
    ///
    /// # Errors
    /// Where a file is no pattern: the file and what is wrong with it.
    pub fn parse(files: &[(&str, &str)]) -> Result<Patterns, PatternError> {
        let mut list = Vec::new();
        for (name, content) in files {
            let pattern = parse(content).map_err(|reason| PatternError {
                file: (*name).to_owned(),
                reason,
            })?;
            list.push(pattern);
        }
        let mut order: Vec<u16> = (0..list.len() as u16).collect();
        order.sort_by_key(|&n| list[usize::from(n)].shortest);
        Ok(Patterns { list, order })
    }

    /// Number of patterns.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Patterns of a scope that a piece of so many bytes is long enough for.
    pub(super) fn for_piece(
        &self,
        scope: Scope,
        length: usize,
    ) -> impl Iterator<Item = (u16, &Pattern)> {
        let numbered = self.order.iter().map(|&n| (n, &self.list[usize::from(n)]));
        numbered
            .take_while(move |(_, p)| p.shortest <= length)
            .filter(move |(_, p)| p.scope == scope)
    }

    /// The id of a pattern by its number; numbers past the list are values that only look random.
    pub(super) fn id(&self, number: u16) -> &str {
        self.list
            .get(usize::from(number))
            .map_or(TOKEN, |p| p.id.as_str())
    }

    pub(super) fn kind(&self, number: u16) -> Kind {
        self.list
            .get(usize::from(number))
            .map_or(Kind::Token, |p| p.kind)
    }

    pub(super) fn has_check_digit(&self, number: u16) -> bool {
        self.list
            .get(usize::from(number))
            .and_then(|p| p.checksum)
            .is_some_and(Checksum::is_check_digit)
    }
}

/// The ASCII bytes of a piece.
pub(super) fn byte_set(piece: &[u8]) -> u128 {
    piece.iter().fold(0, |set, &b| set | 1u128 << (b & 127))
}

fn parse(content: &str) -> Result<Pattern, String> {
    let file: File = toml::from_str(content).map_err(|e| e.to_string())?;
    let compile = |regex: &str, ignore_case: bool| {
        RegexBuilder::new(regex)
            .unicode(false)
            .case_insensitive(ignore_case)
            .size_limit(REGEX_BYTES)
            .dfa_size_limit(REGEX_BYTES)
            .build()
            .map_err(|e| e.to_string())
    };
    if file.matches.is_empty() || file.no_match.is_empty() {
        return Err("at least one example each in `match` and `no_match`".to_owned());
    }
    if file.scope == Scope::Block && file.keywords.is_empty() {
        return Err("scope `block` needs keywords: it begins at one".to_owned());
    }
    let allow = file.allow.iter().map(|a| compile(a, false));
    Ok(Pattern {
        regex: compile(&file.regex, file.ignore_case)?,
        allow: allow.collect::<Result<_, _>>()?,
        keywords: file
            .keywords
            .iter()
            .map(|k| {
                (
                    byte_set(k.as_bytes()),
                    Finder::new(k.as_bytes()).into_owned(),
                )
            })
            .collect(),
        id: file.id,
        kind: file.kind,
        scope: file.scope,
        shortest: file.shortest,
        checksum: file.checksum,
        bits: file.bits,
        min_bits: file.min_bits,
        context: file.context.iter().map(|c| c.to_lowercase()).collect(),
        #[cfg(test)]
        examples: (file.matches, file.no_match),
    })
}

impl Pattern {
    /// The bits of a match, if it counts: context, check, worth and allow list, cheap ones first.
    pub(super) fn accept(&self, text: &str, start: usize, end: usize) -> Option<u32> {
        let value = text.get(start..end)?;
        if !self.context.is_empty() && !self.has_context(text.get(..start)?) {
            return None;
        }
        if self.checksum.is_some_and(|c| !c.passes(value)) {
            return None;
        }
        let measured = super::bits::of(value.as_bytes());
        if measured < self.min_bits {
            return None;
        }
        let compact: String = value
            .chars()
            .filter(|c| !matches!(c, ' ' | '-' | '.'))
            .collect();
        let allowed = |a: &Regex| a.is_match(value.as_bytes()) || a.is_match(compact.as_bytes());
        (!self.allow.iter().any(allowed)).then(|| self.bits.unwrap_or(measured))
    }

    fn has_context(&self, before: &str) -> bool {
        let mut from = before.len().saturating_sub(CONTEXT_BYTES);
        while !before.is_char_boundary(from) {
            from += 1;
        }
        let near = before[from..].to_lowercase();
        self.context.iter().any(|word| near.contains(word.as_str()))
    }
}
