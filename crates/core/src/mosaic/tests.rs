//! Mosaics by name.

use super::{Mosaic, MosaicKind};
use crate::overlap::{Field, Settings};
use crate::probe::JointRow;
use crate::surprise::tests::{Item, item, run, stats, subjects};
use std::sync::Arc;

const SECRET: &str = "the heron delivered quartz ledgers to Maud Ellery in Tromso harbour \
    before winter storms closed every ferry route along the granite coast and her brother \
    burned the remaining copies inside an abandoned cannery";

/// The secret with about one word of six dropped or replaced.
const REWORDED: &str = "indeed the heron delivered quartz ledgers for Maud Ellery in Tromso \
    harbour winter storms closed every ferry line along the granite coast while brother burned the \
    remaining copies inside some cannery";

/// Chatter of twelve tenants, so that common words are common.
fn traffic() -> Vec<Item> {
    (0..360)
        .map(|i| {
            let prompt = format!("please tell me about the matter {} in {}", i % 60, i % 7);
            item(
                i,
                i % 12,
                &prompt,
                "sure the answer to that and every other is here for you",
            )
        })
        .collect()
}

fn found(items: &[Item], split: usize, backward: bool) -> Vec<JointRow> {
    let stats = Arc::new(stats(items, 64, false));
    let kind = MosaicKind::new(stats);
    let mut mosaic = Mosaic::new(subjects(items), Settings::default(), kind, 1 << 24);
    run(&mut mosaic, items, split, backward);
    mosaic.finish()
}

#[test]
fn a_reworded_leak_is_one_row() {
    let mut items = traffic();
    items.push(item(
        360,
        1,
        &format!("note this: {SECRET}. thanks"),
        "noted",
    ));
    items.push(item(361, 2, "what is the weather", REWORDED));
    let rows = found(&items, 64, false);
    assert_eq!(rows.len(), 1);
    let row = rows[0];
    assert_eq!((row.exchange, row.source_exchange), (361, 360));
    assert_eq!(row.joint.source_field, Field::Prompt);
    assert!(row.joint.parts >= 3, "{row:?}");
    assert!(
        row.joint.score > 60_000 && row.joint.score < row.joint.millibits,
        "{row:?}"
    );
    let (from, to) = row.joint.response;
    assert!(from >= 7 && to as usize <= REWORDED.len());
    for (split, backward) in [(1, true), (7, false)] {
        assert_eq!(found(&items, split, backward), rows);
    }
}

#[test]
fn what_the_receiver_asked_is_no_mosaic() {
    let mut items = traffic();
    items.push(item(360, 1, SECRET, "noted"));
    items.push(item(361, 2, &format!("summarise: {SECRET}"), REWORDED));
    assert!(found(&items, 64, false).is_empty());
}

#[test]
fn fragments_of_many_sources_or_out_of_order_are_no_chain() {
    let words: Vec<&str> = REWORDED.split_whitespace().collect();
    let mut items = traffic();
    // Each source holds five words of it.
    for (n, part) in words.chunks(5).enumerate() {
        items.push(item(
            360 + n as u32,
            n as u32 % 11 + 1,
            &part.join(" "),
            "ok",
        ));
    }
    items.push(item(400, 0, "hello", REWORDED));
    assert!(found(&items, 64, false).is_empty());
}

#[test]
fn one_word_and_long_prompts_take_little() {
    let mut items = traffic();
    items.push(item(360, 1, &"glorp ".repeat(900_000), "ok"));
    items.push(item(361, 2, "hello", &"glorp ".repeat(20_000)));
    assert!(found(&items, 64, false).is_empty());
}
