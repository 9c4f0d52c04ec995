//! Rows of any table from a seed.

use crate::rows::{Row, decode};
use crate::schema::{Column, ColumnKind, Table, pair_fields, pair_item, text_item};
use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, LargeStringArray, ListBuilder,
    RecordBatch, StringArray, StringBuilder, StructBuilder, TimestampMicrosecondArray,
};
use std::sync::Arc;

pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> usize {
        (self.next() % limit) as usize
    }

    fn int(&mut self) -> i64 {
        match self.below(5) {
            0 => i64::MAX,
            1 => i64::MIN,
            2 => 0,
            _ => self.next() as i64,
        }
    }

    fn text(&mut self) -> String {
        const ODD: [&str; 8] = ["", "a", "é", "𝄞", "\0", "\u{202e}", "\r\n", "=1+1"];
        (0..self.below(6)).map(|_| ODD[self.below(8)]).collect()
    }

    fn word(&mut self, words: &[&'static str]) -> String {
        words[self.below(words.len() as u64)].to_owned()
    }
}

const STATES: [&str; 8] = [
    "full",
    "truncated",
    "ids_only",
    "stateful",
    "redacted",
    "encrypted",
    "external",
    "absent",
];

fn text_of(table: Table, column: &Column, dice: &mut Dice) -> String {
    match (table, column.name) {
        (_, "role") => dice.word(&["gateway", "client", "unified", "decode", "batch", "prefill"]),
        (_, "t_zone") => dice.word(&["utc", "offset", "assumed", "unknown"]),
        (_, "outcome") => dice.word(&["ok", "error", "aborted", "rejected", "unknown"]),
        (_, "prompt_state" | "response_state") => dice.word(&STATES),
        (Table::Rejects, "reason") => dice.word(&[
            "invalid_json",
            "unknown_shape",
            "invalid_field",
            "invalid_utf8",
            "too_long",
            "too_deep",
            "truncated",
            "corrupt_stream",
            "unreadable",
            "unknown_format",
            "ratio_limit",
            "empty",
            "hang",
            "not_a_file",
            "unsupported",
            "depth_limit",
            "entry_limit",
            "size_limit",
        ]),
        _ => dice.text(),
    }
}

fn pairs(column: &Column, rows: usize, dice: &mut Dice) -> ArrayRef {
    let mut list =
        ListBuilder::new(StructBuilder::from_fields(pair_fields(), 0)).with_field(pair_item());
    for _ in 0..rows {
        for _ in 0..dice.below(4) {
            let kind = match column.name {
                "correlation" => dice.word(&["bootstrap_room", "x_request_id", "trace_id"]),
                _ => dice.text(),
            };
            let pair = list.values();
            let texts = [kind, dice.text()];
            for (index, text) in texts.iter().enumerate() {
                pair.field_builder::<StringBuilder>(index)
                    .unwrap()
                    .append_value(text);
            }
            pair.append(true);
        }
        list.append(true);
    }
    Arc::new(list.finish())
}

fn names(rows: usize, dice: &mut Dice) -> ArrayRef {
    let mut list = ListBuilder::new(StringBuilder::new()).with_field(text_item());
    for _ in 0..rows {
        let set = dice.next();
        for (bit, name) in ["text", "image", "audio", "file", "tool"]
            .iter()
            .enumerate()
        {
            if set >> bit & 1 == 1 {
                list.values().append_value(name);
            }
        }
        list.append(true);
    }
    Arc::new(list.finish())
}

/// A batch of a table with any values that its columns allow.
pub fn batch(table: Table, rows: usize, dice: &mut Dice) -> RecordBatch {
    let arrays = table.columns().iter().map(|column| {
        let null = |dice: &mut Dice| column.nullable && dice.below(3) == 0;
        macro_rules! array {
            ($array:ty, $value:expr) => {
                Arc::new(
                    (0..rows)
                        .map(|_| (!null(dice)).then(|| ($value)(&mut *dice)))
                        .collect::<$array>(),
                ) as ArrayRef
            };
        }
        match column.kind {
            ColumnKind::Text => array!(StringArray, |d: &mut Dice| text_of(table, column, d)),
            ColumnKind::LargeText => array!(LargeStringArray, Dice::text),
            ColumnKind::Int64 => array!(Int64Array, Dice::int),
            ColumnKind::Int32 => array!(Int32Array, |d: &mut Dice| d.next() as i32),
            ColumnKind::Float => array!(Float64Array, |d: &mut Dice| d.below(1000) as f64 / 7.0),
            ColumnKind::Bool => array!(BooleanArray, |d: &mut Dice| d.below(2) == 0),
            ColumnKind::Time => {
                let times = (0..rows).map(|_| (!null(dice)).then(|| dice.int()));
                Arc::new(TimestampMicrosecondArray::from_iter(times).with_timezone("UTC"))
            }
            ColumnKind::TextList => names(rows, dice),
            ColumnKind::PairList => pairs(column, rows, dice),
        }
    });
    RecordBatch::try_new(table.schema(), arrays.collect()).unwrap()
}

/// Rows of a table with any values.
pub fn rows<R: Row>(count: usize, seed: u64) -> Vec<R> {
    decode(&batch(R::TABLE, count, &mut Dice::new(seed))).unwrap()
}
