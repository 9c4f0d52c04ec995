//! Talk on stderr. Stdout belongs to data alone.

use crate::report::sanitize::visible;
use std::io::Write;

/// Writes one line to stderr, control characters made visible.
pub fn say(line: &str) {
    // A closed stderr must not stop the work.
    let _ = writeln!(std::io::stderr(), "{}", visible(line));
}

/// Whether an error is that the reader of our output went away.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|e| e.downcast_ref::<std::io::Error>())
        .any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

/// A panic message could quote a record: say only where it happened.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(
            || "an unknown place".to_string(),
            |l| format!("{}:{}", l.file(), l.line()),
        );
        say(&format!(
            "internal error at {place}: this is a bug, please report it"
        ));
    }));
}
