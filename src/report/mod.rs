//! Reports: one typed model in, bytes out; nothing here reads files, SQL or a clock.
//!
//! The caller fills a [`Report`], calls [`Report::finish`], and hands it to each of
//! [`RENDERERS`]. A new format is a new file and one line in that table. HTML and Markdown are
//! two dresses of the same [`view`], so that they cannot disagree.

pub mod controls;
pub mod finding;
mod finish;
mod html;
mod json;
pub mod jsonl;
mod markdown;
pub mod model;
pub mod sanitize;
pub mod testimony;
mod timeline;
mod view;
mod wording;

pub use model::Report;

/// Most findings that a report shows; the rest stand in `findings.jsonl` and the case's table.
pub const MAX_FINDINGS: usize = 1_000;

/// A report format.
pub trait Render: Sync {
    /// Name of the file in the case folder.
    fn file_name(&self) -> &'static str;

    /// The report as bytes; equal for equal models. Fails only where a template or number does.
    fn render(&self, report: &Report) -> anyhow::Result<Vec<u8>>;
}

/// Every format, in the order they are written.
pub const RENDERERS: &[&dyn Render] = &[&html::Html, &markdown::Markdown, &json::Json];

#[cfg(test)]
mod tests;
