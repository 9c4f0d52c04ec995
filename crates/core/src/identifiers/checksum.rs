//! Checks of a matched value: check digits, public ranges, and whether it is random at all.

use super::bits;
use serde::Deserialize;

/// A check that a pattern can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksum {
    /// Luhn digit (ISO/IEC 7812).
    Luhn,
    /// IBAN, mod 97 (ISO 7064).
    Iban,
    /// Check digit of North American vehicle numbers (49 CFR 565).
    Vin,
    /// Letter of the Spanish DNI and NIE.
    EsDni,
    /// Key of the French NIR.
    FrNir,
    /// Check digit of the German Steuer-ID and its one repeated digit.
    DeTaxId,
    /// Check letter of the Italian codice fiscale.
    ItCf,
    /// Eleven test of the Dutch BSN.
    NlBsn,
    /// Check digits of the Brazilian CPF.
    BrCpf,
    /// Check digits of the Brazilian CNPJ.
    BrCnpj,
    /// Luhn digit of the Swedish personnummer, century left out.
    SePnr,
    /// Check character of the Chinese resident number (GB 11643).
    CnId,
    /// Verhoeff digit.
    Verhoeff,
    /// Check digit of the Polish PESEL.
    PlPesel,
    /// An IPv4 address that belongs to somebody.
    #[serde(rename = "ipv4_public")]
    Ipv4Public,
    /// An IPv6 address that belongs to somebody.
    #[serde(rename = "ipv6_public")]
    Ipv6Public,
    /// A phone number of plausible length that is not set aside for fiction.
    Phone,
    /// At least eight different characters.
    Varied,
    /// The same, letters and digits both.
    Mixed,
    /// Digits that are neither round, nor counted up, nor few.
    VariedDigits,
    /// At least one part looks random.
    RandomPart,
    /// Numbers and single letters that are particular.
    Telling,
}

/// Least bits beside words of a particular value: a number of three digits and a letter.
const TELLING: u32 = 14;

impl Checksum {
    /// Whether passing it proves a check digit, as opposed to mere plausibility.
    pub fn is_check_digit(self) -> bool {
        !matches!(
            self,
            Checksum::Ipv4Public
                | Checksum::Ipv6Public
                | Checksum::Phone
                | Checksum::Varied
                | Checksum::Mixed
                | Checksum::VariedDigits
                | Checksum::RandomPart
                | Checksum::Telling
        )
    }

    /// Whether a matched value passes. Separators are ignored where the check is on digits.
    pub fn passes(self, value: &str) -> bool {
        let plain: Vec<u8> = value
            .bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(|b| b.to_ascii_uppercase())
            .collect();
        let digits = || digits(&plain);
        match self {
            Checksum::Luhn => digits().is_some_and(|d| varied(&plain, 4) && luhn(&d)),
            Checksum::Iban => iban(&plain),
            Checksum::Vin => vin(&plain),
            Checksum::EsDni => es_dni(&plain),
            Checksum::FrNir => fr_nir(&plain),
            Checksum::DeTaxId => digits().is_some_and(|d| de_tax_id(&d)),
            Checksum::ItCf => it_cf(&plain),
            Checksum::NlBsn => digits().is_some_and(|d| nl_bsn(&d)),
            Checksum::BrCpf => digits().is_some_and(|d| varied(&plain, 3) && br_cpf(&d)),
            Checksum::BrCnpj => digits().is_some_and(|d| varied(&plain, 3) && br_cnpj(&d)),
            Checksum::SePnr => digits().is_some_and(|d| d.len() >= 10 && luhn(&d[d.len() - 10..])),
            Checksum::CnId => cn_id(&plain),
            Checksum::Verhoeff => digits().is_some_and(|d| varied(&plain, 4) && verhoeff(&d)),
            Checksum::PlPesel => digits().is_some_and(|d| pl_pesel(&d)),
            Checksum::Ipv4Public => ipv4_public(value),
            Checksum::Ipv6Public => ipv6_public(value),
            Checksum::Phone => digits().is_some_and(|d| phone(&d)),
            Checksum::Varied => varied(value.as_bytes(), 10),
            Checksum::Mixed => {
                varied(value.as_bytes(), 10)
                    && plain.iter().any(u8::is_ascii_digit)
                    && plain.iter().any(u8::is_ascii_alphabetic)
            }
            Checksum::VariedDigits => varied_digits(&plain),
            Checksum::RandomPart => bits::has_random_part(value.as_bytes()),
            Checksum::Telling => bits::beside_words(value.as_bytes()) >= TELLING,
        }
    }
}

fn digits(plain: &[u8]) -> Option<Vec<u32>> {
    plain
        .iter()
        .map(|b| b.is_ascii_digit().then(|| u32::from(b - b'0')))
        .collect()
}

/// Whether a value has at least so many different bytes.
fn varied(value: &[u8], least: u32) -> bool {
    let mut seen = 0u128;
    for b in value.iter().filter(|b| b.is_ascii()) {
        seen |= 1 << b;
    }
    seen.count_ones() >= least
}

fn weighted(digits: &[u32], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(d, w)| d * w).sum()
}

fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, &d)| match i % 2 {
            0 => d,
            _ if d > 4 => 2 * d - 9,
            _ => 2 * d,
        })
        .sum();
    digits.len() > 1 && sum.is_multiple_of(10)
}

fn iban(plain: &[u8]) -> bool {
    // Shortest and longest of the registry: Norway and Malta, Saint Lucia.
    if !(15..=34).contains(&plain.len()) {
        return false;
    }
    let (head, tail) = plain.split_at(4);
    let rest = tail.iter().chain(head).fold(0u32, |rest, &b| {
        if b.is_ascii_digit() {
            (rest * 10 + u32::from(b - b'0')) % 97
        } else {
            (rest * 100 + u32::from(b - b'A') + 10) % 97
        }
    });
    rest == 1
}

fn vin(plain: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    // Values of A to Z; I, O and Q do not occur.
    const LETTERS: [u32; 26] = [
        1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 0, 7, 0, 9, 2, 3, 4, 5, 6, 7, 8, 9,
    ];
    if plain.len() != 17 || !varied(plain, 6) || !plain.iter().any(u8::is_ascii_alphabetic) {
        return false;
    }
    let values: Vec<u32> = plain
        .iter()
        .map(|&b| match b {
            b'0'..=b'9' => u32::from(b - b'0'),
            _ => LETTERS[usize::from(b - b'A') % 26],
        })
        .collect();
    let check = match weighted(&values, &WEIGHTS) % 11 {
        10 => b'X',
        rest => b'0' + rest as u8,
    };
    plain[8] == check
}

fn es_dni(plain: &[u8]) -> bool {
    const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let Some((&letter, number)) = plain.split_last() else {
        return false;
    };
    let mut number = number.to_vec();
    if let Some(first) = number.first_mut() {
        *first = match *first {
            b'X' => b'0',
            b'Y' => b'1',
            b'Z' => b'2',
            other => other,
        };
    }
    digits(&number).is_some_and(|d| {
        let value = d.iter().fold(0u64, |v, &d| (v * 10 + u64::from(d)) % 23);
        d.len() == 8 && varied(&number, 3) && LETTERS[value as usize] == letter
    })
}

fn fr_nir(plain: &[u8]) -> bool {
    if plain.len() != 15 {
        return false;
    }
    // Corsica writes 2A and 2B, which count as 19 and 18.
    let mut number = plain[..13].to_vec();
    match &plain[5..7] {
        b"2A" => number[5..7].copy_from_slice(b"19"),
        b"2B" => number[5..7].copy_from_slice(b"18"),
        _ => {}
    }
    let value = |d: &[u32]| d.iter().fold(0u64, |v, &d| v * 10 + u64::from(d));
    match (digits(&number), digits(&plain[13..])) {
        (Some(number), Some(key)) => varied(plain, 4) && value(&number) % 97 + value(&key) == 97,
        _ => false,
    }
}

fn de_tax_id(digits: &[u32]) -> bool {
    if digits.len() != 11 {
        return false;
    }
    let mut counts = [0; 10];
    for &d in &digits[..10] {
        counts[d as usize] += 1;
    }
    // One digit comes twice or three times, all others at most once.
    if counts.iter().filter(|&&c| c > 1).count() != 1 || counts.iter().any(|&c| c > 3) {
        return false;
    }
    let product = digits[..10].iter().fold(10, |product, &d| {
        let sum = (d + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == digits[10]
}

fn it_cf(plain: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    if plain.len() != 16 {
        return false;
    }
    let sum: u32 = plain[..15]
        .iter()
        .enumerate()
        .map(|(i, &b)| {
            let place = match b {
                b'0'..=b'9' => b - b'0',
                _ => b - b'A',
            };
            if i % 2 == 0 {
                ODD[usize::from(place) % 26]
            } else {
                u32::from(place)
            }
        })
        .sum();
    plain[15] == b'A' + (sum % 26) as u8
}

fn nl_bsn(digits: &[u32]) -> bool {
    digits.len() == 9
        && weighted(&digits[..8], &[9, 8, 7, 6, 5, 4, 3, 2]) % 11 == digits[8]
        && digits.iter().any(|d| *d != digits[0])
}

/// Check digit mod 11 as Brazil uses it: rests below two give zero.
fn br_check(digits: &[u32], weights: &[u32]) -> u32 {
    match weighted(digits, weights) % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    }
}

fn br_cpf(d: &[u32]) -> bool {
    const W: [u32; 10] = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2];
    d.len() == 11 && br_check(&d[..9], &W[1..]) == d[9] && br_check(&d[..10], &W) == d[10]
}

fn br_cnpj(d: &[u32]) -> bool {
    const W: [u32; 13] = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    d.len() == 14 && br_check(&d[..12], &W[1..]) == d[12] && br_check(&d[..13], &W) == d[13]
}

fn cn_id(plain: &[u8]) -> bool {
    const W: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    plain.len() == 18
        && digits(&plain[..17])
            .is_some_and(|d| b"10X98765432"[weighted(&d, &W) as usize % 11] == plain[17])
}

fn verhoeff(digits: &[u32]) -> bool {
    // The dihedral group D5 and its permutation of order eight.
    const MULTIPLY: [[u8; 10]; 10] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
        [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
        [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
        [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
        [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
        [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
        [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
        [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    ];
    const PERMUTE: [[u8; 10]; 8] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
        [5, 8, 0, 3, 7, 9, 6, 1, 4, 2],
        [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
        [9, 4, 5, 3, 1, 2, 6, 8, 7, 0],
        [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
        [2, 7, 9, 3, 8, 0, 6, 4, 1, 5],
        [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
    ];
    let check = digits.iter().rev().enumerate().fold(0u8, |c, (i, &d)| {
        MULTIPLY[usize::from(c)][usize::from(PERMUTE[i % 8][d as usize])]
    });
    check == 0
}

fn pl_pesel(d: &[u32]) -> bool {
    d.len() == 11
        && (weighted(&d[..10], &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) + d[10]).is_multiple_of(10)
}

fn ipv4_public(value: &str) -> bool {
    let Ok(address) = value.parse::<core::net::Ipv4Addr>() else {
        return false;
    };
    // `std` has these as stable tests; resolvers and version-like numbers are ours.
    let [a, b, c, d] = address.octets();
    let resolver = matches!(
        [a, b, c, d],
        [8, 8, 8, 8] | [8, 8, 4, 4] | [1, 1, 1, 1] | [1, 0, 0, 1] | [9, 9, 9, 9] | [4, 2, 2, _]
    );
    let small = a < 20 && b < 20 && c < 20;
    let shared = a == 100 && (64..128).contains(&b);
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || address.is_unspecified()
        || resolver
        || small
        || shared
        || a == 0
        || a >= 240)
}

fn ipv6_public(value: &str) -> bool {
    value.parse::<core::net::Ipv6Addr>().is_ok_and(|address| {
        let s = address.segments();
        // Global unicast is 2000::/3; 2001:db8::/32 and 3fff::/20 are for documentation.
        (0x2000..0x4000).contains(&s[0])
            && !(s[0] == 0x2001 && s[1] == 0x0db8)
            && !(s[0] == 0x3fff && s[1] < 0x1000)
            && s.iter().filter(|&&s| s > 0xff).count() >= 3
    })
}

fn phone(d: &[u32]) -> bool {
    let plain: Vec<u8> = d.iter().map(|&d| d as u8).collect();
    // North America sets 555-01xx aside; others are filled with counting.
    let fiction = d.len() >= 10 && d[d.len() - 7..d.len() - 2] == [5, 5, 5, 0, 1];
    let counted = plain.windows(7).any(|w| {
        let step = |by: u8| w.windows(2).all(|p| (p[0] + by) % 10 == p[1]);
        step(0) || step(1) || step(9)
    });
    let fives = d.len() >= 10 && d[d.len() - 7..d.len() - 4] == [5, 5, 5];
    (9..=15).contains(&d.len()) && !fiction && !fives && !counted && varied(&plain, 4)
}

fn varied_digits(plain: &[u8]) -> bool {
    let digits: Vec<u8> = plain.iter().copied().filter(u8::is_ascii_digit).collect();
    let counted = digits.windows(5).any(|w| {
        let step = |by: u8| w.windows(2).all(|p| p[0].wrapping_add(by) == p[1]);
        step(0) || step(1) || step(255)
    });
    let round = digits.ends_with(b"000");
    digits.len() >= 6 && varied(&digits, 4) && !counted && !round
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One valid and one wrong value each, the wrong one with another check digit.
    #[test]
    fn check_digits_are_checked() {
        let cases = [
            (Checksum::Luhn, "4532 8719 0264 7182", "4532 8719 0264 7183"),
            (
                Checksum::Iban,
                "DE44 5001 0517 5407 3249 31",
                "DE45500105175407324931",
            ),
            (
                Checksum::Iban,
                "FR1420041010050500013M02606",
                "FR1420041010050500013N02606",
            ),
            (Checksum::Vin, "WVWZZZ1K26W386752", "WVWZZZ1K36W386752"),
            (Checksum::Vin, "1M8GDM9AXKP042788", "1M8GDM9A1KP042788"),
            (Checksum::EsDni, "48213967X", "48213967A"),
            (Checksum::EsDni, "X4821396K", "Y4821396K"),
            (Checksum::FrNir, "1 84 06 75 123 456 41", "184067512345642"),
            (Checksum::DeTaxId, "86095742719", "86095742718"),
            (Checksum::ItCf, "RSSMRA85T10A562S", "RSSMRA85T10A562T"),
            (Checksum::NlBsn, "482139675", "482139674"),
            (Checksum::BrCpf, "482.139.675-00", "482.139.675-01"),
            (Checksum::BrCnpj, "48.213.967/0001-88", "48.213.967/0001-89"),
            (Checksum::SePnr, "19840615-4826", "19840615-4827"),
            (Checksum::CnId, "11010519491231002X", "110105194912310021"),
            (Checksum::Verhoeff, "4821 3967 5183", "4821 3967 5184"),
            (Checksum::PlPesel, "84061548277", "84061548278"),
        ];
        for (check, good, bad) in cases {
            assert!(check.passes(good), "{check:?}: {good}");
            assert!(!check.passes(bad), "{check:?}: {bad}");
            assert!(check.is_check_digit());
        }
    }

    #[test]
    fn addresses_and_numbers_that_are_nobodys_fail() {
        for bad in [
            "10.1.2.3",
            "8.8.8.8",
            "198.51.100.7",
            "1.2.3.4",
            "999.1.1.1",
            "x",
        ] {
            assert!(!Checksum::Ipv4Public.passes(bad), "{bad}");
        }
        assert!(Checksum::Ipv4Public.passes("83.171.204.39"));
        for bad in ["2001:db8::1", "fe80::1", "12:34:56", "::1", "2000::1"] {
            assert!(!Checksum::Ipv6Public.passes(bad), "{bad}");
        }
        assert!(Checksum::Ipv6Public.passes("2a02:8109:9c40:1f2:5d3e:88b1:7c0a:42f9"));
        for bad in ["+1 415 555 0123", "+1 555 0100", "+49 1234567890", "+1 2"] {
            assert!(!Checksum::Phone.passes(bad), "{bad}");
        }
        assert!(!Checksum::VariedDigits.passes("INV-1000000"));
        assert!(!Checksum::VariedDigits.passes("123456"));
        assert!(Checksum::VariedDigits.passes("48213967"));
    }

    proptest::proptest! {
        #[test]
        fn no_value_panics(value in "\\PC{0,40}", code in "[0-9A-Z]{0,36}") {
            use Checksum::*;
            for check in [
                Luhn, Iban, Vin, EsDni, FrNir, DeTaxId, ItCf, NlBsn, BrCpf, BrCnpj, SePnr, CnId,
                Verhoeff, PlPesel, Ipv4Public, Ipv6Public, Phone, Varied, Mixed, VariedDigits,
                RandomPart, Telling,
            ] {
                check.passes(&value);
                check.passes(&code);
            }
        }
    }
}
