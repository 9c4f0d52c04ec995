//! The health of answers: facts about one text that need no other text to compare with.

pub mod language;
