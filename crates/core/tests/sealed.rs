//! Encrypted bodies, opened with their key. The samples were made by another implementation
//! (WebCrypto), so that both sides cannot be wrong in the same way.

use pentimento_core::exchange::{ContentState, Exchange};
use pentimento_core::format::cloudflare::Cloudflare;
use pentimento_core::format::sealed::BodyKeys;
use pentimento_core::format::{DecodeContext, LogFormat};
use std::fs;
use std::path::Path;

fn events(keys: Option<&BodyKeys>) -> Vec<Exchange> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let log = fs::read_to_string(root.join("../../sample_logs/cloudflare/encrypted.log"));
    let context = DecodeContext {
        keys,
        ..DecodeContext::default()
    };
    let mut out = Vec::new();
    for line in log.expect("a sample").lines() {
        let kind = Cloudflare.decode(line.as_bytes(), &context, &mut out);
        kind.expect("an exchange");
    }
    out
}

fn keys(names: &[&str]) -> BodyKeys {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys");
    let read = |name: &&str| fs::read_to_string(folder.join(name)).expect("a key");
    BodyKeys::of_pem(&names.iter().map(read).collect::<String>()).expect("keys")
}

fn states(exchanges: &[Exchange]) -> Vec<(ContentState, ContentState)> {
    let of = |e: &Exchange| (e.prompt_state, e.response_state);
    exchanges.iter().map(of).collect()
}

fn answer(exchange: &Exchange) -> &str {
    exchange.response.as_ref().map_or("", |field| &field.text)
}

#[test]
fn the_right_key_opens_what_was_encrypted_for_it() {
    use ContentState::{Encrypted, Full};
    let sealed = (Encrypted, Encrypted);
    let found = events(Some(&keys(&["logpush.pem"])));
    let expected = [
        (Full, Full),
        (Full, Full),
        sealed,
        (Full, Encrypted),
        (Full, Encrypted),
    ];
    assert_eq!(states(&found), expected);
    assert_eq!(answer(&found[0]), "Forty crates.");
    assert_eq!(answer(&found[1]), "forty");
    let prompt = found[0].prompt.as_ref().map(|field| field.text.as_str());
    assert_eq!(prompt, Some("Count the caf\u{e9} crates."));
    assert_eq!(found[0].completion_tokens, Some(3));
    let user = |e: &Exchange| e.tenant_candidates.iter().any(|c| c.value == "u-1");
    assert!(user(&found[0]) && !user(&found[2]));
    // A key that was in use before is tried as well.
    let both = events(Some(&keys(&["logpush.pem", "other.pem"])));
    assert_eq!(answer(&both[2]), "Rotated answer.");
    assert_eq!(both[0], found[0]);
}

#[test]
fn without_the_key_they_stay_closed() {
    use ContentState::{Encrypted, Full};
    let sealed = (Encrypted, Encrypted);
    let open = (Full, Encrypted);
    assert_eq!(
        states(&events(None)),
        [sealed, sealed, sealed, sealed, open]
    );
    let wrong = events(Some(&keys(&["other.pem"])));
    assert_eq!(states(&wrong)[..2], [sealed, sealed]);
    assert_eq!(answer(&wrong[2]), "Rotated answer.");
}
