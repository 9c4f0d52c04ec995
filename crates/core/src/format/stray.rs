//! Lines that belong to the line before them, or to no logger at all: stack traces, progress bars.
//!
//! Engines print them between the lines of their logs. They are known, and no damage.

/// Words that begin a line of a Python stack trace.
const TRACE: [&str; 5] = [
    "Traceback (most recent call last)",
    "During handling of the above exception",
    "The above exception was the direct cause",
    "Exception ignored in",
    "Fatal Python error",
];

/// Names of exceptions end so.
const EXCEPTIONS: [&str; 4] = ["Error", "Exception", "Warning", "Interrupt"];

/// Whether the line is one of them.
pub(super) fn is_stray(line: &str) -> bool {
    let line = line.trim_end();
    // The frames of a trace and what other loggers wrap are indented.
    if line.starts_with("  ") || line.starts_with('\t') {
        return true;
    }
    if TRACE.iter().any(|words| line.starts_with(words)) {
        return true;
    }
    // `torch.OutOfMemoryError: …`
    let name = line.split([':', ' ']).next().unwrap_or_default();
    let dotted = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
    let rest = line.get(name.len()..).unwrap_or_default();
    let ends = rest.is_empty() || rest.starts_with(": ");
    if dotted && ends && EXCEPTIONS.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    // `Loading shards:  50%|████`
    let head = line.split('|').next().unwrap_or_default();
    let percent = head
        .strip_suffix('%')
        .is_some_and(|rest| rest.len() < 200 && rest.ends_with(|c: char| c.is_ascii_digit()));
    percent && line.contains('|')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for (line, stray) in [
            ("Traceback (most recent call last):", true),
            ("  File \"a.py\", line 1, in f", true),
            ("torch.OutOfMemoryError: CUDA out of memory", true),
            ("KeyboardInterrupt", true),
            ("Loading shards:  50%|█████     | 1/2", true),
            ("An Error", false),
            ("Error in what a customer asked", false),
            ("soup", false),
            ("50% of it", false),
            (" {\"event\":", false),
            ("", false),
        ] {
            assert_eq!(is_stray(line), stray, "{line}");
        }
    }
}
