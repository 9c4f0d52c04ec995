//! `identifiers`: single values that an answer shares with another tenant's traffic.

use super::{SchemaRef, Table, Word, table};
use serde::{Deserialize, Serialize};

/// The schema of `identifiers`.
pub fn identifiers() -> SchemaRef {
    Table::Identifiers.schema()
}

table! {
    /// One identifier in a response that another tenant's traffic held too, or one canary.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct IdentifierRow in Identifiers {
        /// The exchange whose response holds the identifier
        pub exchange_id: String,
        /// The earliest exchange of an independent carrier, without one of any other tenant; null
        /// for a canary
        pub source_exchange_id: Option<String>,
        /// Who received the response
        pub tenant: Option<String>,
        /// Whose identifier it may be; for a canary the tenant it was made for
        pub source_tenant: Option<String>,
        /// Side of the source: prompt, response; null for a canary
        pub source_side: Option<Word>,
        /// Text of the source: prompt, response, reasoning, tool; null for a canary
        pub source_field: Option<Word>,
        /// Text of the response: response, reasoning, tool
        pub field: Word,
        /// What it names: email, phone, card, iban, vin, uuid, ip, mac, path, url, api_key, jwt,
        /// private_key, national_id, ticket, order, secret, token, canary
        pub kind: Word,
        /// The pattern that found it; for a canary how it was written: plain, reversed, rot13, hex,
        /// base64, url
        pub pattern: String,
        /// Keyed hash of the value
        pub value_hmac: String,
        /// The value's last two letters or digits, and its length in bytes
        pub masked: String,
        /// How much the value tells
        #[unit = "bits"]
        pub value_bits: i64,
        /// Whether a check digit was right
        pub checked: bool,
        /// First byte in the response's text
        #[unit = "bytes"]
        pub response_start: i64,
        /// One past its last byte in the response's text
        #[unit = "bytes"]
        pub response_end: i64,
        /// First byte in the source's text; null for a canary
        #[unit = "bytes"]
        pub source_start: Option<i64>,
        /// One past its last byte in the source's text; null for a canary
        #[unit = "bytes"]
        pub source_end: Option<i64>,
        /// Whether a prompt of the call holds it
        pub in_own_prompt: bool,
        /// Whether the receiver wrote it first itself in another call
        pub in_own_history: bool,
        /// Independent carriers: other tenants that wrote it first themselves
        #[unit = "tenants"]
        pub carriers: i64,
        /// Whether the source tenant is one of them
        pub source_carries: bool,
        /// From the source's time to the response's; null where a time is unknown
        #[unit = "milliseconds"]
        pub lag_ms: Option<i64>,
        /// When the source was there, seen from the response: before, overlap, after, unknown
        pub order: Word,
        /// Whether the two could have shared memory; null where it is not known
        pub same_share_group: Option<bool>,
    }
}
