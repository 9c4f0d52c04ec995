//! Versions as engines and gateways write them: `0.5.12.post1`, `1.2.0rc0`, `1.101.0-rc.1`,
//! `0.5.18+patched`.

use std::cmp::Ordering;

/// Parts of a version that are looked at.
const MAX_PARTS: usize = 16;

/// One version, ordered as releases follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    release: Vec<u64>,
    /// Rank and number of a pre- or post-release; the release itself is `(0, 0)`.
    stage: (i8, u64),
    /// A build of someone's own, which may hold other changes.
    pub own_build: bool,
}

impl Version {
    /// Reads a version; `None` for anything else, such as a branch or a commit.
    pub fn parse(text: &str) -> Option<Version> {
        let text = text.trim();
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let (public, own_build) = match text.split_once('+') {
            Some((public, _)) => (public, true),
            None => (text, false),
        };
        if public.len() > 64 {
            return None;
        }
        let mut release = Vec::new();
        let mut rest = public;
        loop {
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let (digits, tail) = rest.split_at(end);
            release.push(digits.parse().ok()?);
            rest = tail;
            let more = rest
                .strip_prefix('.')
                .filter(|t| t.starts_with(|c: char| c.is_ascii_digit()));
            match more {
                Some(tail) if release.len() < MAX_PARTS => rest = tail,
                _ => break,
            }
        }
        // A lone number is more likely a date or a build.
        let stage = stage(rest)?;
        while release.len() > 1 && release.last() == Some(&0) {
            release.pop();
        }
        Some(Version {
            release,
            stage,
            own_build,
        })
    }
}

/// What stands behind the numbers.
fn stage(rest: &str) -> Option<(i8, u64)> {
    let rest = rest.trim_start_matches(['.', '-', '_']);
    if rest.is_empty() {
        return Some((0, 0));
    }
    let end = rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    let (word, tail) = rest.split_at(end);
    let rank = match word.to_ascii_lowercase().as_str() {
        "dev" => -4,
        "a" | "alpha" => -3,
        "b" | "beta" => -2,
        "rc" | "c" | "pre" | "preview" => -1,
        "post" | "r" | "rev" => 1,
        _ => return None,
    };
    let number = tail.trim_start_matches(['.', '-', '_']);
    let end = number
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(number.len());
    let digits = number.get(..end)?;
    let number = if digits.is_empty() {
        0
    } else {
        digits.parse().ok()?
    };
    Some((rank, number))
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        self.release
            .cmp(&other.release)
            .then(self.stage.cmp(&other.stage))
            .then(self.own_build.cmp(&other.own_build))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_follow_each_other() {
        let rising = [
            "0",
            "0.4.8",
            "0.5.5",
            "0.5.9",
            "0.5.10",
            "0.5.12",
            "0.5.12.post1",
            "0.5.13",
            "1.0.0a1",
            "1.0.0-beta.2",
            "1.0.0rc1",
            "1.0",
            "1.101.0-rc.1",
            "1.101.0",
        ];
        for pair in rising.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|v| Version::parse(v).unwrap());
            assert!(a < b, "{pair:?}");
        }
        assert_eq!(Version::parse("v1.0.0"), Version::parse("1.0"));
        assert!(Version::parse("0.5.18+patched").unwrap().own_build);
        for odd in [
            "",
            "main",
            "0.5.x",
            "deadbeef",
            "1.0-feature",
            "99999999999999999999999",
        ] {
            assert_eq!(Version::parse(odd), None, "{odd}");
        }
    }
}
