//! The tokeniser: bit masks over ASCII, and the full rules wherever other characters or escapes
//! stand.

use super::chars::{Kind, kind, next_char, simple, starts_segment};
use super::masks::{Mask, masks};
use super::tokens::Tokens;
use crate::exchange::{BorderKind, FieldText};
use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

/// Byte classes of the ASCII loop.
const SEPARATOR: u8 = 0;
const FULL: u8 = 1;
const WORD: u8 = 2;
const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [SEPARATOR; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        if byte.is_ascii_alphanumeric() {
            table[b] = WORD;
        } else if byte >= 0x80 || byte == b'\\' {
            table[b] = FULL;
        }
        b += 1;
    }
    table
}

/// Longest text.
const LIMIT: usize = 256 << 20;

/// Replaces `out` by the tokens of a text. Borders become barriers, and so do the two ends.
///
/// Positions are 32 bits wide, those of folded bytes too: of a longer text the part behind 256 MiB
/// is left out, as if cut. (A byte folds to at most eleven: U+FDFA makes 33 of three.)
pub fn tokenize(field: &FieldText, out: &mut Tokens) {
    out.clear();
    let mut full = Full::new();
    out.barrier(false);
    parts(field, |from, to, cut| {
        part(&field.text, from, to, &mut full, out);
        out.barrier(cut);
    });
}

/// Replaces `out` by the tokens of a range of bytes that begins and ends where no token does, or
/// inside none. Positions are counted from its beginning.
pub(super) fn tokenize_range(text: &str, from: usize, to: usize, out: &mut Tokens) {
    out.clear();
    out.barrier(false);
    part(&text[from..to], 0, to - from, &mut Full::new(), out);
    out.barrier(false);
}

/// Calls `each` with every range of bytes between two borders, and whether text is missing behind.
pub(super) fn parts(field: &FieldText, mut each: impl FnMut(usize, usize, bool)) {
    let text = &field.text;
    let limit = floor_boundary(text, text.len().min(LIMIT));
    let mut from = 0;
    for border in &field.borders {
        // A border that is out of order or inside a character still separates.
        let start = floor_boundary(text, border.start.min(limit)).max(from);
        let end = ceil_boundary(text, border.end.min(limit)).max(start);
        each(from, start, border.kind == BorderKind::Cut);
        from = end;
    }
    each(from, limit, limit < text.len());
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Tokens of the bytes between two borders.
fn part(text: &str, from: usize, to: usize, full: &mut Full, out: &mut Tokens) {
    let bytes = &text.as_bytes()[from..to];
    let copy = out.push_copy(bytes);
    let mut all = std::mem::take(&mut out.masks);
    let mut edges = std::mem::take(&mut out.edges);
    walk(bytes, &mut all, |masks, range, run| {
        let count = plain(masks, range, &mut edges);
        out.push_words(&edges[..count], (from, copy));
        if let Some((begin, end)) = run {
            full.run(&text[from + begin..from + end], from + begin, out);
        }
    });
    (out.masks, out.edges) = (all, edges);
}

/// First byte and end.
pub(super) type Range = (usize, usize);

/// Cuts a part into what plain ASCII makes up and what the full rules are for: calls `each` with
/// the masks, a plain range that cuts no word, and the range of the full rules that follows.
pub(super) fn walk(
    bytes: &[u8],
    all: &mut Vec<Mask>,
    mut each: impl FnMut(&[Mask], Range, Option<Range>),
) {
    masks(bytes, all);
    let mut at = 0;
    loop {
        let stop = next_full(all, at, bytes.len());
        // The full rules begin with the word, or the separator, before the character that needs
        // them: a mark may compose with it.
        let begin = match bytes[at..stop].last() {
            Some(_) if stop == bytes.len() => stop,
            Some(b) if CLASS[*b as usize] == WORD => {
                let word = bytes[at..stop].iter().rev();
                stop - word.take_while(|&&b| CLASS[b as usize] == WORD).count()
            }
            Some(_) => stop - 1,
            None => stop,
        };
        if stop == bytes.len() {
            each(all, (at, begin), None);
            return;
        }
        let end = full_end(bytes, begin + 1);
        each(all, (at, begin), Some((begin, end)));
        at = end;
    }
}

/// The first byte from a place on that needs the full rules, or the end.
fn next_full(all: &[Mask], at: usize, end: usize) -> usize {
    let mut skip = u64::MAX << (at % 64);
    for (block, mask) in all.iter().enumerate().skip(at / 64) {
        let full = mask.full & skip;
        if full != 0 {
            return block * 64 + full.trailing_zeros() as usize;
        }
        skip = u64::MAX;
    }
    end
}

/// Writes where the words of a plain range begin and end, in turn; gives the number of both.
pub(super) fn plain(all: &[Mask], (from, to): Range, edges: &mut Vec<u32>) -> usize {
    // Where words end cannot be predicted, so that a branch a byte, or a word, would be the dearest
    // part of all.
    let mut count = 0;
    let mut before = 0;
    let blocks = all.iter().enumerate().take(to.div_ceil(64));
    for (block, mask) in blocks.skip(from / 64) {
        let base = block * 64;
        let mut word = mask.word;
        if base < from {
            word &= u64::MAX << (from - base);
        }
        if to - base < 64 {
            word &= !(u64::MAX << (to - base));
        }
        let mut changes = word ^ (word << 1 | before);
        before = word >> 63;
        if edges.len() < count + 64 {
            edges.resize(edges.len() + 4096, 0);
        }
        let more = changes.count_ones() as usize;
        for edge in &mut edges[count..count + more] {
            *edge = base as u32 + changes.trailing_zeros();
            changes &= changes.wrapping_sub(1);
        }
        count += more;
    }
    if count % 2 == 1 {
        // The last word ends where the range does, at the end of a block.
        if edges.len() == count {
            edges.push(0);
        }
        edges[count] = to as u32;
        count += 1;
    }
    count
}

/// Whether the byte behind is plain ASCII, or there is none.
fn plain_behind(bytes: &[u8], at: usize) -> bool {
    bytes.get(at + 1).is_none_or(|&b| CLASS[b as usize] != FULL)
}

/// Where the full rules may stop: at a plain separator that nothing can attach to.
fn full_end(bytes: &[u8], from: usize) -> usize {
    (from..bytes.len())
        .find(|&at| CLASS[bytes[at] as usize] == SEPARATOR && plain_behind(bytes, at))
        .unwrap_or(bytes.len())
}

/// The full rules, with their buffers.
struct Full {
    mapper: CaseMapperBorrowed<'static>,
    /// Characters of the current normalisation segment and their original bytes.
    segment: String,
    segment_bytes: (u32, u32),
    normal: String,
    /// Bytes of the word in work, and where its folded bytes begin; `None` if there is none.
    word: Option<(u32, u32, usize)>,
    /// A run of a script that is split into clusters: text, and original bytes per character.
    cluster: String,
    cluster_bytes: Vec<(u32, u32)>,
}

impl Full {
    fn new() -> Full {
        Full {
            mapper: CaseMapper::new(),
            segment: String::new(),
            segment_bytes: (0, 0),
            normal: String::new(),
            word: None,
            cluster: String::new(),
            cluster_bytes: Vec::new(),
        }
    }

    fn run(&mut self, text: &str, base: usize, out: &mut Tokens) {
        let mut at = 0;
        while let Some((c, length)) = next_char(&text[at..]) {
            let bytes = ((base + at) as u32, (base + at + length) as u32);
            at += length;
            match c {
                None => {
                    self.flush(out);
                    self.close(out);
                }
                Some(c) if starts_segment(c) || self.segment.is_empty() => {
                    self.flush(out);
                    self.segment.push(c);
                    self.segment_bytes = bytes;
                }
                Some(c) => {
                    self.segment.push(c);
                    self.segment_bytes.1 = bytes.1;
                }
            }
        }
        self.flush(out);
        self.close(out);
    }

    /// Normalises and folds the segment and hands its characters on.
    fn flush(&mut self, out: &mut Tokens) {
        if self.segment.is_empty() {
            return;
        }
        let segment = std::mem::take(&mut self.segment);
        let mut chars = segment.chars();
        let alone = chars.next().filter(|_| chars.next().is_none());
        if let Some((c, kind)) = alone.and_then(simple) {
            self.character(c, kind, self.segment_bytes, out);
        } else if is_nfkc_quick(segment.chars()) == IsNormalized::Yes {
            self.fold(&segment, out);
        } else {
            let mut normal = std::mem::take(&mut self.normal);
            normal.clear();
            normal.extend(segment.nfkc());
            self.fold(&normal, out);
            self.normal = normal;
        }
        self.segment = segment;
        self.segment.clear();
    }

    fn fold(&mut self, text: &str, out: &mut Tokens) {
        let bytes = self.segment_bytes;
        let folded = self.mapper.fold_string(text);
        for c in folded.chars() {
            self.character(c, kind(c), bytes, out);
        }
    }

    fn character(&mut self, c: char, mut kind: Kind, bytes: (u32, u32), out: &mut Tokens) {
        if kind == Kind::SharedMark {
            kind = if self.cluster.is_empty() {
                Kind::Word
            } else {
                Kind::Cluster
            };
        }
        match kind {
            Kind::Word => {
                self.close_cluster(out);
                let new = (bytes.0, 0, out.folded.len());
                let (start, _, folded) = self.word.unwrap_or(new);
                self.word = Some((start, bytes.1, folded));
                push_char(&mut out.folded, c);
            }
            Kind::Cluster => {
                self.close_word(out);
                self.cluster.push(c);
                self.cluster_bytes.push(bytes);
            }
            Kind::Single => {
                self.close(out);
                let from = out.folded.len();
                push_char(&mut out.folded, c);
                out.close((from, out.folded.len()), bytes, 1);
            }
            _ => self.close(out),
        }
    }

    fn close(&mut self, out: &mut Tokens) {
        self.close_word(out);
        self.close_cluster(out);
    }

    fn close_word(&mut self, out: &mut Tokens) {
        if let Some((start, end, from)) = self.word.take() {
            out.close((from, out.folded.len()), (start, end), 2);
        }
    }

    fn close_cluster(&mut self, out: &mut Tokens) {
        if self.cluster.is_empty() {
            return;
        }
        let run = std::mem::take(&mut self.cluster);
        let mut first = 0;
        for cluster in run.graphemes(true) {
            let length = cluster.chars().count();
            let bytes = &self.cluster_bytes[first..first + length];
            first += length;
            if cluster.chars().next().is_some_and(super::chars::is_word) {
                let from = out.folded.len();
                out.folded.extend_from_slice(cluster.as_bytes());
                let bytes = (bytes[0].0, bytes[length - 1].1);
                out.close((from, out.folded.len()), bytes, 1);
            }
        }
        self.cluster = run;
        self.cluster.clear();
        self.cluster_bytes.clear();
    }
}

fn push_char(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::twin;
    use super::*;
    use crate::exchange::Border;
    use proptest::prelude::*;

    fn folded(text: &str) -> Vec<String> {
        let mut out = Tokens::default();
        tokenize(&FieldText::of(text), &mut out);
        (0..out.len())
            .map(|t| String::from_utf8(out.folded(t).to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn tokens_by_rule() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("Hello, WORLD-42 x_y", &["hello", "world", "42", "x", "y"]),
            ("a\\nb\\tc\\\\nd\\", &["a", "b", "c", "d"]),
            ("caf\\u00e9 cafe\u{301} CAF\u{c9}", &["caf\u{e9}"; 3]),
            ("e\\u0301\\ud83d\\ude00x", &["\u{e9}", "x"]),
            ("x\\ud83dy", &["x", "y"]),
            ("\u{130}I i\u{307}i", &["i\u{307}i", "i\u{307}i"]),
            ("Stra\u{df}e STRASSE", &["strasse", "strasse"]),
            ("\u{ff21}\u{ff22} \u{fb01}n", &["ab", "fin"]),
            ("\u{ff76}\u{ff9e}\u{ff70}", &["\u{30ac}", "\u{30fc}"]),
            ("\u{6f22}\u{5b57}abc", &["\u{6f22}", "\u{5b57}", "abc"]),
            ("\u{1112}\u{1161}\u{11ab}", &["\u{d55c}"]),
            (
                "\u{ffbe}\u{ffc2}",
                &["\u{1112}\u{1161}"].map(|_| "\u{d558}"),
            ),
            (
                "\u{e01}\u{e34}\u{e19}x",
                &["\u{e01}\u{e34}", "\u{e19}", "x"],
            ),
            ("a\u{bd}b", &["a1", "2b"]),
            ("=\u{338}a", &["a"]),
            ("it's \u{201c}fine\u{201d}", &["it", "s", "fine"]),
            ("\u{1f600}ok\u{1f600}", &["ok"]),
        ];
        for (text, tokens) in table {
            assert_eq!(folded(text), *tokens, "{text:?}");
        }
    }

    #[test]
    fn words_end_at_every_other_byte() {
        for byte in 0..=255u8 {
            for length in [0, 1, 7, 55, 62, 63, 64, 65, 127, 128, 129] {
                let mut text = "x".repeat(length);
                text.push(char::from(byte));
                text.push_str("yz 01234567");
                for cut in [text.len(), text.len() - 8, text.len() - 10] {
                    let field = FieldText::of(&text[..cut]);
                    let mut out = Tokens::default();
                    tokenize(&field, &mut out);
                    assert_eq!(
                        twin::of_tokens(&out),
                        twin::tokenize(&field),
                        "{byte} {length} {cut}"
                    );
                }
            }
        }
    }

    #[test]
    fn bytes_are_those_that_contributed() {
        let text = "A\\u0301b \u{bd}\u{e01}\u{e34}.";
        let mut out = Tokens::default();
        tokenize(&FieldText::of(text), &mut out);
        let spans: Vec<_> = (0..out.len())
            .map(|t| (out.start[t], out.end[t], out.weight[t]))
            .collect();
        assert_eq!(spans, [(0, 8, 2), (9, 11, 2), (9, 11, 2), (11, 17, 1)]);
    }

    #[test]
    fn borders_split_and_merge() {
        let mut field = FieldText::of("ab[..]cd ef");
        field.borders = vec![
            Border {
                start: 2,
                end: 6,
                kind: BorderKind::Cut,
            },
            Border {
                start: 7,
                end: 7,
                kind: BorderKind::Message,
            },
            Border {
                start: 11,
                end: 11,
                kind: BorderKind::Message,
            },
        ];
        let mut out = Tokens::default();
        tokenize(&field, &mut out);
        out.cut_end();
        let bars: Vec<_> = out.barriers.iter().map(|b| (b.at, b.cut)).collect();
        assert_eq!(bars, [(0, false), (1, true), (2, false), (4, true)]);
        assert_eq!(out.len(), 4);
        let mut copy = Tokens::default();
        copy.push_range(&out, 1, 4);
        let bars: Vec<_> = copy.barriers.iter().map(|b| (b.at, b.cut)).collect();
        assert_eq!(bars, [(0, true), (1, false), (3, true)]);
        assert_eq!(copy.folded(0), b"c");
    }

    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[ -~]{1,6}",
            2 => prop::sample::select(vec![
                "\\n", "\\u00e9", "\\u0301", "\\ud83d\\ude00", "\\ud83d", "\\", "\\u", "\u{130}",
                "I\u{307}", "\u{ff76}\u{ff9e}", "\u{1112}\u{1161}\u{11ab}", "\u{e01}\u{e34}",
                "\u{1780}\u{17d2}\u{1780}", "\u{6f22}", "\u{30fc}", "\u{301}", "\u{338}",
                "\u{fb01}", "\u{bd}", "\u{200d}", "\u{fe0f}", "\u{1f468}\u{200d}\u{1f469}",
                "\u{1e9e}", "\u{345}", "\u{3099}", "\u{ffbe}", "\u{ffc2}", "\u{e3f}", "=", "<",
            ]).prop_map(str::to_string),
            1 => any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|v| v.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn equals_the_twin(
            text in pieces(),
            cuts in prop::collection::vec((0usize..80, 0usize..4), 0..4),
        ) {
            let mut field = FieldText::of(text);
            let mut from = 0;
            for (skip, length) in cuts {
                let start = from + skip;
                if start + length > field.text.len() {
                    break;
                }
                let kind = if length == 1 { BorderKind::Message } else { BorderKind::Cut };
                field.borders.push(Border { start, end: start + length, kind });
                from = start + length;
            }
            let mut out = Tokens::default();
            tokenize(&field, &mut out);
            prop_assert_eq!(twin::of_tokens(&out), twin::tokenize(&field));
        }

        #[test]
        fn segments_normalise_like_the_whole(text in pieces()) {
            let mut parts = String::new();
            let mut segment = String::new();
            for c in text.chars() {
                if starts_segment(c) {
                    parts.extend(segment.nfkc());
                    segment.clear();
                }
                segment.push(c);
            }
            parts.extend(segment.nfkc());
            prop_assert_eq!(parts, text.nfkc().collect::<String>());
        }
    }
}
