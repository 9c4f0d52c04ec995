//! Text that a tenant got in a leak and sends on: generation 2, no leak of its own.

use crate::kit::{Lab, exchange, rows, words};
use pentimento_store::rows::SecondHandRow;

#[test]
fn a_victim_that_asks_about_the_leak_is_second_hand() {
    let lab = Lab::new();
    let secret = words(7, 30);
    let answer = format!("you wrote: {secret}");
    let question = format!("what does this mean: {secret}");
    lab.log(
        "gateway.jsonl",
        &[
            exchange("owner", "acme", "08:00:00", &secret, &words(11, 20)),
            exchange("leak", "bolt", "09:00:00", &words(12, 20), &answer),
            exchange("asks", "bolt", "10:00:00", &question, &answer),
            exchange("owner-again", "acme", "11:00:00", &question, &answer),
            exchange(
                "bystander",
                "crux",
                "12:00:00",
                &words(13, 20),
                &words(14, 20),
            ),
        ],
    );
    let audit = lab.audit(&["--fail-on", "never"]);
    let leak = audit.verdict("leak");
    assert_eq!((leak.grade.as_ref(), leak.generation), ("probable", None));
    let asks = audit.verdict("asks");
    assert_eq!((asks.grade.as_ref(), asks.generation), ("cleared", Some(2)));
    assert!(
        asks.reasons.split(',').any(|r| r == "second_hand"),
        "{}",
        asks.reasons
    );
    for other in ["owner", "owner-again", "bystander"] {
        assert_eq!(audit.verdict(other).generation, None, "{other}");
    }
    let found: Vec<SecondHandRow> = rows(&audit.case);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].exchange_id, asks.exchange_id);
    assert_eq!(found[0].leak_exchange_id, leak.exchange_id);
    assert_eq!(found[0].tokens, 30);
}

/// A prompt that holds the leak does not hide that the answer holds more of it.
#[test]
fn more_foreign_text_is_a_leak_of_its_own() {
    let lab = Lab::new();
    let (first, second) = (words(7, 20), words(8, 20));
    lab.log(
        "gateway.jsonl",
        &[
            exchange(
                "owner",
                "acme",
                "08:00:00",
                &format!("{first} {second}"),
                &words(11, 20),
            ),
            exchange("leak", "bolt", "09:00:00", &words(12, 20), &first),
            exchange("more", "bolt", "10:00:00", &first, &second),
        ],
    );
    let audit = lab.audit(&["--fail-on", "never"]);
    let more = audit.verdict("more");
    assert_eq!((more.grade.as_ref(), more.generation), ("probable", None));
    assert!(more.reasons.contains("second_hand"), "{}", more.reasons);
}
