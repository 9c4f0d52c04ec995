//! In which script, and in Latin script in which language, a text is written.

use super::Tokens;
use std::sync::OnceLock;
use unicode_script::{Script, UnicodeScript};

/// The writing of a text: a script, or a language in Latin script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writing(u8);

/// Scripts by their four-letter codes; `zyyy` stands for text without letters. Kana anywhere makes
/// a text of Han and Kana Japanese.
const SCRIPTS: [&str; 16] = [
    "zyyy", "latn", "cyrl", "hani", "jpan", "kore", "thai", "arab", "deva", "grek", "hebr", "beng",
    "taml", "geor", "armn", "zzzz",
];
const LATIN: u8 = 1;
const HAN: u8 = 3;
const KANA: u8 = 4;
const OTHER: u8 = 15;

/// Function words of languages in Latin script: frequent, and seldom words of another of them.
const FUNCTION_WORDS: [(&str, &str); 18] = [
    (
        "en",
        "the and of is that with for you are this have from which can not it was be your",
    ),
    (
        "es",
        "el los las una por con para que está como pero más son del esta y su muy también",
    ),
    (
        "fr",
        "le les des une est dans pour que avec sur pas vous nous qui ce cette et sont du aux",
    ),
    (
        "de",
        "der die das und ist nicht ein eine mit für auf den dem sie wir ich wird auch von zu",
    ),
    (
        "pt",
        "os uma não com para que você são mais dos das pelo também isso ao seu em foi muito",
    ),
    (
        "it",
        "il gli una che non per con sono della nel più anche questo come è dei alla ma di",
    ),
    (
        "nl",
        "het een van niet dat zijn voor met op de ook maar wordt naar deze bij ik je en",
    ),
    (
        "ca",
        "els les amb per una que és més però aquesta són dels pel també i del què molt",
    ),
    (
        "pl",
        "nie jest się na że do to jak oraz ale są przez dla który być czy lub tym ich",
    ),
    (
        "cs",
        "je se na že to není jsou pro jako které nebo ale být také jeho podle který v",
    ),
    (
        "sv",
        "och att det som är en på för med inte av till den har om kan ett ska från",
    ),
    (
        "da",
        "og det at er en til på med for ikke af den som har kan et skal fra der",
    ),
    (
        "tr",
        "ve bir bu için ile da de olarak daha çok olan gibi ama değil kadar ne en var",
    ),
    (
        "id",
        "yang dan di untuk dengan dari ini itu adalah pada tidak dalam akan atau dapat oleh",
    ),
    (
        "vi",
        "và của là có không được cho một các trong với này để người những khi đã từ",
    ),
    (
        "ro",
        "și în nu este pe cu care sunt mai pentru din că dar sau fost acest această",
    ),
    (
        "hu",
        "a az és hogy nem egy is van meg ez de csak vagy mint már volt lehet ha",
    ),
    (
        "fi",
        "ja on ei se että oli hän mutta ovat kun myös tai joka tämä kuin niin ole",
    ),
];

impl Writing {
    /// Every writing there is.
    pub const COUNT: usize = SCRIPTS.len() + FUNCTION_WORDS.len();

    /// A dense number below [`Writing::COUNT`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// A code: of the script in four letters, or of the language in two.
    pub fn code(self) -> &'static str {
        let at = self.index();
        SCRIPTS
            .get(at)
            .copied()
            .unwrap_or_else(|| FUNCTION_WORDS[at - SCRIPTS.len()].0)
    }

    /// The code of the language, where the script is Latin and the language clear.
    pub fn language(self) -> Option<&'static str> {
        let code = self.code();
        (self.index() >= SCRIPTS.len()).then_some(code)
    }

    /// The code of the script.
    pub fn script(self) -> &'static str {
        SCRIPTS
            .get(self.index())
            .copied()
            .unwrap_or(SCRIPTS[usize::from(LATIN)])
    }
}

/// What the words of a text, or a part of it, speak for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// Half-words of each script.
    scripts: [u64; SCRIPTS.len()],
    /// Function words of each language.
    words: [u64; FUNCTION_WORDS.len()],
}

impl Votes {
    /// The votes of some tokens of a text.
    pub fn of(tokens: &Tokens, from: usize, to: usize) -> Votes {
        let mut votes = Votes::default();
        votes.add(tokens, from, to);
        votes
    }

    /// Adds the votes of some tokens.
    pub fn add(&mut self, tokens: &Tokens, from: usize, to: usize) {
        for token in from..to.min(tokens.len()) {
            let folded = tokens.folded(token);
            let script = script_of(folded);
            self.scripts[usize::from(script)] += u64::from(tokens.weight[token]);
            if script == LATIN {
                for language in languages_of(tokens.hash[token]) {
                    self.words[usize::from(*language)] += 1;
                }
            }
        }
    }

    /// The writing that most of the text is in.
    pub fn writing(&self) -> Writing {
        let letters = || self.scripts.iter().enumerate().skip(1);
        let most = letters().map(|(_, &n)| n).max().unwrap_or(0);
        if most == 0 {
            return Writing(0);
        }
        let kana = self.scripts[usize::from(KANA)];
        let script = letters()
            .find(|(_, n)| **n == most)
            .map_or(0, |(s, _)| s as u8);
        if script == HAN && kana * 10 >= most {
            return Writing(KANA);
        }
        if script != LATIN {
            return Writing(script);
        }
        let most = self.words.iter().copied().max().unwrap_or(0);
        // Two languages alike, or one word by chance, are no language.
        let mut best = (0..self.words.len()).filter(|&l| self.words[l] == most);
        match (most >= 2, best.next(), best.next()) {
            (true, Some(language), None) => Writing(SCRIPTS.len() as u8 + language as u8),
            _ => Writing(LATIN),
        }
    }

    /// Share of the letters that are in the script of a writing, in thousandths.
    pub fn share(&self, writing: Writing) -> u32 {
        let all: u64 = self.scripts[1..].iter().sum();
        let has = |script: u8| self.scripts[usize::from(script)];
        let own = match SCRIPTS.iter().position(|s| *s == writing.script()) {
            Some(at) if at as u8 == KANA => has(KANA) + has(HAN),
            Some(at) if at > 0 => self.scripts[at],
            _ => 0,
        };
        (own * 1000).checked_div(all).unwrap_or(0) as u32
    }
}

/// The writing of the last message of a prompt that has any tokens.
pub fn last_message(tokens: &Tokens) -> Writing {
    let mut borders = tokens.barriers.iter().rev().map(|b| b.at as usize);
    let last = borders.find(|&at| at < tokens.len()).unwrap_or(0);
    Votes::of(tokens, last, tokens.len()).writing()
}

/// The script of a token by its first letter; 0 if it begins with none.
fn script_of(folded: &[u8]) -> u8 {
    match folded.first() {
        Some(b'a'..=b'z') => return LATIN,
        None | Some(0..=0x7f) => return 0,
        _ => {}
    }
    let first = std::str::from_utf8(folded)
        .ok()
        .and_then(|t| t.chars().next());
    match first.map(|c| c.script()) {
        None | Some(Script::Common | Script::Inherited | Script::Unknown) => 0,
        Some(Script::Latin) => LATIN,
        Some(Script::Cyrillic) => 2,
        Some(Script::Han) => HAN,
        Some(Script::Hiragana | Script::Katakana) => KANA,
        Some(Script::Hangul) => 5,
        Some(Script::Thai | Script::Lao | Script::Khmer | Script::Myanmar) => 6,
        Some(Script::Arabic) => 7,
        Some(Script::Devanagari) => 8,
        Some(Script::Greek) => 9,
        Some(Script::Hebrew) => 10,
        Some(Script::Bengali) => 11,
        Some(Script::Tamil) => 12,
        Some(Script::Georgian) => 13,
        Some(Script::Armenian) => 14,
        Some(_) => OTHER,
    }
}

/// The languages that a word is a function word of.
fn languages_of(hash: u64) -> &'static [u8] {
    static TABLE: OnceLock<Vec<(u64, Vec<u8>)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut words: Vec<(u64, u8)> = Vec::new();
        for (number, (_, list)) in FUNCTION_WORDS.iter().enumerate() {
            let hashes = list
                .split(' ')
                .map(|w| crate::text::token_hash(w.as_bytes()));
            words.extend(hashes.map(|h| (h, number as u8)));
        }
        words.sort_unstable();
        words.dedup();
        words
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| (same[0].0, same.iter().map(|w| w.1).collect()))
            .collect()
    });
    match table.binary_search_by_key(&hash, |(h, _)| *h) {
        Ok(at) => &table[at].1,
        Err(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::FieldText;
    use crate::text::tokenize;

    fn votes(text: &str) -> Votes {
        let mut tokens = Tokens::default();
        tokenize(&FieldText::of(text), &mut tokens);
        Votes::of(&tokens, 0, tokens.len())
    }

    #[test]
    fn writings_are_told_apart() {
        let table = [
            ("", "zyyy"),
            ("12 + 30 = 42", "zyyy"),
            ("The sum of the two numbers is in this list.", "en"),
            (
                "Los números que están en la lista son para el cliente.",
                "es",
            ),
            ("Les nombres de cette liste sont pour vous et nous.", "fr"),
            ("Die Summe der Zahlen ist nicht auf der Liste.", "de"),
            ("Os números não são para você.", "pt"),
            ("Lorem ipsum dolor", "latn"),
            ("Сумма двух чисел", "cyrl"),
            ("两个数字的总和", "hani"),
            ("二つの数の合計です", "jpan"),
            ("두 수의 합", "kore"),
            ("ผลรวมของตัวเลข", "thai"),
            ("مجموع العددين", "arab"),
            ("দুটি সংখ্যার যোগফল", "beng"),
        ];
        for (text, code) in table {
            assert_eq!(votes(text).writing().code(), code, "{text}");
        }
    }

    #[test]
    fn shares_count_letters() {
        let mixed = votes("one two три четыре");
        let latin = Writing(LATIN);
        assert_eq!(mixed.share(latin), 500);
        assert_eq!(votes("12").share(latin), 0);
        let japanese = votes("二つの数");
        assert_eq!(japanese.share(japanese.writing()), 1000);
        for number in 0..Writing::COUNT {
            let writing = Writing(number as u8);
            assert_eq!(writing.index(), number);
            assert!(!writing.code().is_empty() && writing.script().len() == 4);
            assert_eq!(writing.language().is_some(), writing.code().len() == 2);
        }
    }

    #[test]
    fn words_are_listed_as_tokens() {
        for (_, list) in FUNCTION_WORDS {
            let mut tokens = Tokens::default();
            tokenize(&FieldText::of(list), &mut tokens);
            assert_eq!(tokens.len(), list.split(' ').count(), "{list}");
            for (token, word) in list.split(' ').enumerate() {
                assert_eq!(tokens.folded(token), word.as_bytes());
                assert!(!languages_of(tokens.hash[token]).is_empty());
            }
        }
    }
}
