//! What a command came to, and the single map from that to an exit code.

/// How a command ended. Errors of usage and bugs travel as [`Failure`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Complete, assessed, nothing at or above the threshold.
    Done,
    /// Complete, findings at or above the threshold.
    Findings,
    /// A node could not be read, and the gate fails closed.
    Unreadable,
    /// The evidence is incomplete; the text says why.
    Incomplete(String),
}

impl Outcome {
    /// The exit code of the contract.
    pub fn exit_code(&self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::Findings => 3,
            Outcome::Unreadable => 2,
            Outcome::Incomplete(_) => 4,
        }
    }
}

/// Why a command could not do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A bug.
    Internal,
    /// Wrong usage or configuration.
    Usage,
    /// No input matched, or no record in it.
    NothingToAudit,
    /// A digest or a source does not fit what was recorded.
    Integrity,
    /// Memory, disk or time ran out.
    Limit,
    /// Another run holds the case.
    Busy,
}

impl FailureKind {
    /// The exit code of the contract.
    pub fn exit_code(self) -> u8 {
        match self {
            FailureKind::Internal => 1,
            FailureKind::Usage => 2,
            FailureKind::NothingToAudit => 5,
            FailureKind::Integrity => 6,
            FailureKind::Limit => 7,
            FailureKind::Busy => 75,
        }
    }
}

/// An error with its exit code; wraps the cause for the message.
#[derive(Debug)]
pub struct Failure {
    /// Whose fault it is.
    pub kind: FailureKind,
    /// One line, lower case.
    pub message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Builds a failure of a kind as an `anyhow` error.
pub fn failure(kind: FailureKind, message: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Failure {
        kind,
        message: message.into(),
    })
}

/// The exit code of an error: that of the [`Failure`] inside, or 1 for anything unforeseen.
pub fn exit_code_of(error: &anyhow::Error) -> u8 {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.kind.exit_code();
    }
    let full = error
        .chain()
        .filter_map(|e| e.downcast_ref::<std::io::Error>())
        .any(|e| e.kind() == std::io::ErrorKind::StorageFull);
    if full {
        FailureKind::Limit.exit_code()
    } else {
        FailureKind::Internal.exit_code()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_the_contract() {
        let outcomes = [
            (Outcome::Done, 0),
            (Outcome::Findings, 3),
            (Outcome::Unreadable, 2),
            (Outcome::Incomplete("x".into()), 4),
        ];
        for (outcome, code) in outcomes {
            assert_eq!(outcome.exit_code(), code);
        }
        use FailureKind::*;
        let failures = [
            (Internal, 1),
            (Usage, 2),
            (NothingToAudit, 5),
            (Integrity, 6),
            (Limit, 7),
            (Busy, 75),
        ];
        for (kind, code) in failures {
            assert_eq!(exit_code_of(&failure(kind, "x").context("outer")), code);
        }
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(
            exit_code_of(&anyhow::Error::new(full).context("writing")),
            7
        );
        assert_eq!(exit_code_of(&anyhow::anyhow!("surprise")), 1);
    }
}
