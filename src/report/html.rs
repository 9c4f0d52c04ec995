//! `report.html`: one file, no script, nothing fetched, readable on paper.

use super::Render;
use super::model::Report;
use super::view::{View, view};
use askama::Template;

/// Writes the report as one HTML page.
pub struct Html;

/// The page. The template escapes every value; it holds no `safe` filter.
#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    view: View,
}

impl Render for Html {
    fn file_name(&self) -> &'static str {
        "report.html"
    }

    /// Fails only if the template does.
    fn render(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        let page = Page { view: view(report) };
        Ok(page.render()?.into_bytes())
    }
}
