//! What becomes of a record, and why bytes were rejected.

use serde::{Deserialize, Serialize};

/// What a record turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// It gave at least one exchange.
    Exchange,
    /// A known engine or platform event.
    Event,
    /// A known line that is neither.
    Other,
}

/// Why bytes could not become an exchange. The name is stored; no content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// Not valid JSON.
    InvalidJson,
    /// Valid JSON, but no object of a known shape.
    UnknownShape,
    /// A needed field is missing or of the wrong type.
    InvalidField,
    /// Not UTF-8 where text is expected.
    InvalidUtf8,
    /// Longer than the record limit.
    TooLong,
    /// Nested deeper than the limit.
    TooDeep,
    /// The source ends inside the record.
    Truncated,
    /// The compressed stream is damaged from here on.
    CorruptStream,
    /// The file could not be opened or read.
    Unreadable,
    /// No format fits the source.
    UnknownFormat,
    /// The decoded bytes exceed the allowed ratio to the compressed ones.
    RatioLimit,
    /// The source holds no byte.
    Empty,
    /// Decoding it made no progress within the limit.
    Hang,
    /// An entry of an archive that is no file: a link, a device.
    NotAFile,
    /// Packed or encrypted in a way that is not read.
    Unsupported,
    /// An archive inside an archive inside an archive.
    DepthLimit,
    /// The archive has more entries than are read.
    EntryLimit,
    /// The archive unpacks to more bytes than are read.
    SizeLimit,
}

impl RejectReason {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            RejectReason::InvalidJson => "invalid_json",
            RejectReason::UnknownShape => "unknown_shape",
            RejectReason::InvalidField => "invalid_field",
            RejectReason::InvalidUtf8 => "invalid_utf8",
            RejectReason::TooLong => "too_long",
            RejectReason::TooDeep => "too_deep",
            RejectReason::Truncated => "truncated",
            RejectReason::CorruptStream => "corrupt_stream",
            RejectReason::Unreadable => "unreadable",
            RejectReason::UnknownFormat => "unknown_format",
            RejectReason::RatioLimit => "ratio_limit",
            RejectReason::Empty => "empty",
            RejectReason::Hang => "hang",
            RejectReason::NotAFile => "not_a_file",
            RejectReason::Unsupported => "unsupported",
            RejectReason::DepthLimit => "depth_limit",
            RejectReason::EntryLimit => "entry_limit",
            RejectReason::SizeLimit => "size_limit",
        }
    }
}
