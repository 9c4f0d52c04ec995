//! Invented business text: sentences, names, codes, and a plain count of its words.

use super::rng::Rng;
use super::words::{Lang, Names};

const ONSETS: [&str; 22] = [
    "b", "br", "d", "dr", "f", "g", "gl", "h", "j", "k", "kl", "l", "m", "n", "p", "pr", "r", "s",
    "st", "t", "v", "z",
];
const NUCLEI: [&str; 7] = ["a", "e", "i", "o", "u", "ai", "ou"];
const CODAS: [&str; 8] = ["", "", "l", "n", "r", "s", "k", "m"];
const CYRILLIC_ONSETS: [&str; 20] = [
    "б", "в", "г", "д", "ж", "з", "к", "л", "м", "н", "п", "р", "с", "т", "ф", "х", "ц", "ч", "ш",
    "гр",
];
const CYRILLIC_NUCLEI: [&str; 8] = ["а", "е", "и", "о", "у", "ы", "ю", "я"];
const CYRILLIC_CODAS: [&str; 7] = ["", "", "л", "н", "р", "с", "м"];
const HAN: &str = "安柏川丁恩方谷海嘉江凯兰明宁鹏秋瑞森天文兴雅云泽志朱子卓郑章岳姚叶杨徐谢吴魏\
                   王万唐孙宋石沈邵任钱潘牛穆孟马罗陆刘林李雷乐孔康金蒋黄胡洪何韩郭龚高冯范杜邓\
                   戴程陈曹毕鲍白";
const KANA: &str =
    "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワ";
const HANGUL: &str = "가강건경고구국권규근기길나남노다단대덕도동두라란려로루류리마명무문미민바백범병보봉\
                      부비사산상서선설성세소송수숙순시신아안양연영예오용우운원유윤은이인일임자재전정조종주\
                      준지진찬창천철청초춘충치태하학한해혁현형혜호홍화환효훈휘희";
const THAI_CONSONANTS: &str = "กขคงจชซดตทนบปผพฟมยรลวสหอ";
const THAI_LEADS: &str = "เแโไ";
const THAI_TAILS: &str = "าะีิูุ";

/// One token: its bytes and its weight in half-words.
#[derive(Clone, Copy)]
pub(super) struct Token {
    /// First byte.
    pub(super) start: usize,
    /// One past the last byte.
    pub(super) end: usize,
    /// 2 for a word, 1 for a character of a script without spaces.
    pub(super) weight: u32,
}

/// Appends one sentence.
pub(super) fn sentence(rng: &mut Rng, lang: Lang, out: &mut String) {
    let words = lang.vocabulary();
    let mut rest = rng.pick(words.patterns);
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        match rest.as_bytes().get(at + 1) {
            Some(b'n') => out.push_str(rng.pick(words.nouns)),
            Some(b'a') => out.push_str(rng.pick(words.adjectives)),
            Some(b'v') => out.push_str(rng.pick(words.verbs)),
            Some(b'x') => name(rng, words.names, out),
            Some(b'c') => code(rng, out),
            _ => number(rng, out),
        }
        rest = rest.get(at + 3..).unwrap_or("");
    }
    out.push_str(rest);
}

/// Appends sentences until at least `bytes` were added; a line break now and then.
pub(super) fn fill(rng: &mut Rng, lang: Lang, bytes: usize, out: &mut String) {
    let goal = out.len() + bytes;
    let mut count = 0;
    while out.len() < goal {
        if count > 0 {
            out.push_str(if count % 6 == 0 {
                "\n"
            } else {
                lang.vocabulary().gap
            });
        }
        sentence(rng, lang, out);
        count += 1;
    }
}

/// A text of at least `half_words` half-words.
pub(super) fn passage(rng: &mut Rng, lang: Lang, half_words: u32) -> String {
    let mut out = String::new();
    let mut count = 0;
    let mut have = 0;
    while have < half_words {
        if count > 0 {
            out.push_str(if count % 5 == 0 {
                "\n"
            } else {
                lang.vocabulary().gap
            });
        }
        let from = out.len();
        sentence(rng, lang, &mut out);
        have += weight(&out[from..]);
        count += 1;
    }
    out
}

/// The half-words of a text.
pub(super) fn weight(text: &str) -> u32 {
    tokens(text).iter().map(|t| t.weight).sum()
}

/// The tokens of generated text. The generator writes no combining marks outside Thai, so this
/// plain walk agrees with the full definition on its own output.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut open = false;
    for (start, ch) in text.char_indices() {
        let end = start + ch.len_utf8();
        match ch {
            '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' => {
                if let Some(last) = out.last_mut() {
                    last.end = end;
                }
            }
            '\u{e01}'..='\u{e45}'
            | '\u{3041}'..='\u{309f}'
            | '\u{30a1}'..='\u{30fa}'
            | '\u{30fc}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}' => {
                out.push(Token {
                    start,
                    end,
                    weight: 1,
                });
                open = false;
            }
            _ if ch.is_alphanumeric() => match out.last_mut() {
                Some(last) if open => last.end = end,
                _ => {
                    out.push(Token {
                        start,
                        end,
                        weight: 2,
                    });
                    open = true;
                }
            },
            _ => open = false,
        }
    }
    out
}

/// A stretch of `half_words` (or all that is left) of a text, from a place that the generator
/// picks; with it the half-words it really has.
pub(super) fn stretch<'a>(rng: &mut Rng, text: &'a str, half_words: u32) -> (&'a str, u32) {
    let tokens = tokens(text);
    // The last place from which enough is left.
    let mut left = 0;
    let mut last = tokens.len();
    while last > 0 && left < half_words {
        last -= 1;
        left += tokens[last].weight;
    }
    let from = rng.size(0, last);
    let mut got = 0;
    let mut end = from;
    while end < tokens.len() && got < half_words {
        got += tokens[end].weight;
        end += 1;
    }
    match tokens.get(from..end) {
        Some([first, .., last]) => (&text[first.start..last.end], got),
        Some([only]) => (&text[only.start..only.end], got),
        _ => ("", 0),
    }
}

fn number(rng: &mut Rng, out: &mut String) {
    let value = rng.between(10_100, 998_999);
    out.push_str(&value.to_string());
}

fn code(rng: &mut Rng, out: &mut String) {
    for _ in 0..2 {
        out.push((b'A' + rng.below(26) as u8) as char);
    }
    out.push('-');
    out.push_str(&rng.between(1_000, 99_999).to_string());
}

fn name(rng: &mut Rng, script: Names, out: &mut String) {
    match script {
        Names::Latin => syllables(rng, [&ONSETS, &NUCLEI, &CODAS], out),
        Names::Cyrillic => {
            syllables(
                rng,
                [&CYRILLIC_ONSETS, &CYRILLIC_NUCLEI, &CYRILLIC_CODAS],
                out,
            );
        }
        Names::Han => letters(rng, HAN, 3, out),
        Names::Kana => letters(rng, KANA, 4, out),
        Names::Hangul => letters(rng, HANGUL, 3, out),
        Names::Thai => {
            for _ in 0..3 {
                if rng.chance(35) {
                    letters(rng, THAI_LEADS, 1, out);
                    letters(rng, THAI_CONSONANTS, 1, out);
                } else {
                    letters(rng, THAI_CONSONANTS, 1, out);
                    letters(rng, THAI_TAILS, 1, out);
                }
            }
        }
    }
}

fn letters(rng: &mut Rng, set: &str, count: usize, out: &mut String) {
    // Every set holds characters of three bytes only.
    let size = set.len() / 3;
    for _ in 0..count {
        let at = rng.size(0, size - 1) * 3;
        out.push_str(set.get(at..at + 3).unwrap_or(""));
    }
}

fn syllables(rng: &mut Rng, parts: [&[&str]; 3], out: &mut String) {
    let from = out.len();
    for _ in 0..rng.size(2, 3) {
        for part in parts {
            out.push_str(rng.pick(part));
        }
    }
    if let Some(first) = out[from..].chars().next() {
        let upper: String = first.to_uppercase().collect();
        out.replace_range(from..from + first.len_utf8(), &upper);
    }
}
