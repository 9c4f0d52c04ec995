//! Text health as one pass over the logs.

use super::damage::{characters, template_tokens};
use super::outlier::{Deviations, deviate};
use super::repetition::{compression, repetition};
use crate::operator::{TextOperator, TextView};
use crate::overlap::{Field, Subject};
use crate::text::Tokens;
use crate::text::language::{Votes, Writing, last_message};
use std::sync::Arc;

/// Where an exchange was computed; answers are set against those of the same place.
pub type HealthSubject = crate::attribution::AttributionSubject;

/// Tokens of a stretch whose script is taken.
const STRETCH: usize = 40;
/// Least share of a stretch that its script must have to count, in thousandths.
const CLEAR: u32 = 800;

/// What is measured of one answer alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Bytes of the answer.
    pub bytes: u32,
    /// Characters of the answer.
    pub characters: u32,
    /// Tokens of the answer, as texts are compared here: words, and characters where words have
    /// no spaces.
    pub tokens: u32,
    /// Tokens of the longest stretch that repeats itself at a fixed distance.
    pub loop_tokens: u32,
    /// Distinct pairs of tokens, in thousandths of all.
    pub distinct_2: u32,
    /// Distinct runs of four tokens, in thousandths of all.
    pub distinct_4: u32,
    /// Size after simple compression, in thousandths of the bytes.
    pub compression: u32,
    /// U+FFFD.
    pub replacement_characters: u32,
    /// Control characters other than tab and line ends.
    pub control_characters: u32,
    /// Unassigned, private and invisible characters.
    pub rare_characters: u32,
    /// Tokens of chat templates that the own prompt does not hold.
    pub template_tokens: u32,
    /// Writing of the prompt's last message; `None` without prompt.
    pub prompt_writing: Option<Writing>,
    /// Writing of the answer.
    pub response_writing: Writing,
    /// Share of the answer's letters in its script, in thousandths.
    pub script_share: u32,
    /// How often the script changes between stretches of the answer.
    pub script_changes: u32,
}

impl Health {
    /// Whether the answer is in another writing than what was asked, as far as both are clear.
    pub fn writing_differs(&self) -> bool {
        let clear = |w: Writing| !matches!(w.code(), "zyyy" | "latn" | "zzzz");
        let script = |w: Writing| w.script() != "zyyy";
        let response = self.response_writing;
        self.prompt_writing.is_some_and(|prompt| {
            let scripts = script(prompt) && script(response);
            scripts && prompt.script() != response.script()
                || clear(prompt) && clear(response) && prompt != response
        })
    }
}

/// The health of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthRow {
    /// The exchange.
    pub exchange: u32,
    /// What was measured.
    pub health: Health,
    /// How far it lies from others of its place; `None` where there are too few.
    pub deviations: Option<Deviations>,
}

/// Measuring in progress; see [`TextOperator`] for how it is driven.
pub struct TextHealth {
    subjects: Arc<[Subject]>,
    places: Vec<HealthSubject>,
    rows: Vec<HealthRow>,
    done: bool,
}

/// What one thread measured.
#[derive(Default)]
pub struct Partial {
    rows: Vec<HealthRow>,
}

impl TextHealth {
    /// Measures the responses of the exchanges that are to be judged. `places` has as many items as
    /// `subjects`; where it has fewer, node and model are unknown.
    pub fn new(subjects: impl Into<Arc<[Subject]>>, places: &[HealthSubject]) -> TextHealth {
        TextHealth {
            subjects: subjects.into(),
            places: places.to_vec(),
            rows: Vec::new(),
            done: false,
        }
    }

    /// One row for each judged exchange with a response, ordered by `id_rank`.
    pub fn finish(mut self) -> Vec<HealthRow> {
        let rank = |row: &HealthRow| self.subjects[row.exchange as usize].id_rank;
        self.rows.sort_unstable_by_key(rank);
        deviate(&mut self.rows, &self.places);
        self.rows
    }
}

impl TextOperator for TextHealth {
    type Partial = Partial;

    fn next_pass(&self) -> Option<&'static str> {
        (!self.done).then_some("text health")
    }

    fn wants(&self, exchange: u32) -> bool {
        let subject = self.subjects.get(exchange as usize);
        !self.done && subject.is_some_and(|s| s.judge)
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        let fields = *texts.fields();
        let Some(response) = fields.response.filter(|r| !r.text.is_empty()) else {
            return;
        };
        if !self.wants(exchange) {
            return;
        }
        let text = response.text.as_str();
        let found = characters(text);
        let mut health = Health {
            bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
            characters: found.all,
            distinct_2: 1000,
            distinct_4: 1000,
            compression: compression(text.as_bytes()),
            replacement_characters: found.replacement,
            control_characters: found.control,
            rare_characters: found.rare,
            template_tokens: template_tokens(text, fields.prompt.map(|p| p.text.as_str())),
            prompt_writing: texts.tokens(Field::Prompt).map(last_message),
            ..Health::default()
        };
        if let Some(tokens) = texts.tokens(Field::Response) {
            let repeated = repetition(tokens);
            let votes = Votes::of(tokens, 0, tokens.len());
            health.tokens = tokens.len() as u32;
            health.loop_tokens = repeated.loop_tokens;
            health.distinct_2 = repeated.distinct_2;
            health.distinct_4 = repeated.distinct_4;
            health.response_writing = votes.writing();
            health.script_share = votes.share(health.response_writing);
            health.script_changes = script_changes(tokens);
        }
        out.rows.push(HealthRow {
            exchange,
            health,
            deviations: None,
        });
    }

    fn absorb(&mut self, partial: Partial) {
        self.rows.extend(partial.rows);
    }

    fn end_pass(&mut self) {
        self.done = true;
    }
}

/// How often the script changes from one stretch of a text to the next, where both are clear.
fn script_changes(tokens: &Tokens) -> u32 {
    let mut changes = 0;
    let mut before: Option<Writing> = None;
    for from in (0..tokens.len()).step_by(STRETCH) {
        let votes = Votes::of(tokens, from, from + STRETCH);
        let writing = votes.writing();
        if writing.script() == "zyyy" || votes.share(writing) < CLEAR {
            continue;
        }
        changes += u32::from(before.is_some_and(|b| b.script() != writing.script()));
        before = Some(writing);
    }
    changes
}
