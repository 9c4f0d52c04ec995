//! `report.md`: the same view as the page, with every value inert in CommonMark and GitHub's.

use super::Render;
use super::model::Report;
use super::view::{Section, Table, View, view};

/// Words before a colon that make Markdown readers build a link.
const SCHEMES: [&str; 6] = ["mailto", "xmpp", "javascript", "data", "vbscript", "file"];

/// Writes the report as Markdown.
pub struct Markdown;

impl Render for Markdown {
    fn file_name(&self) -> &'static str {
        "report.md"
    }

    /// Does not fail.
    fn render(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        Ok(document(&view(report)).into_bytes())
    }
}

fn document(view: &View) -> String {
    let mut out = String::new();
    line(&mut out, &format!("# {}", inline(&view.title)));
    for (name, value) in &view.facts {
        push(&mut out, &format!("- {}: {}", inline(name), inline(value)));
    }
    out.push('\n');
    line(&mut out, &format!("**{}**", inline(&view.verdict)));
    line(&mut out, &block(&view.status));
    push(&mut out, "| Number | Responses | Counts | Beside |");
    push(&mut out, "| --- | ---: | --- | --- |");
    for card in &view.cards {
        let cells = [card.name, &card.number, card.meaning, &card.beside].map(inline);
        push(&mut out, &format!("| {} |", cells.join(" | ")));
    }
    out.push('\n');
    for (question, answer) in &view.answers {
        line(
            &mut out,
            &format!("**{}** {}", inline(question), inline(answer)),
        );
    }
    line(&mut out, "**What to do next?**");
    if view.next_steps.is_empty() {
        line(&mut out, "Nothing follows from this result.");
    } else {
        for (at, step) in view.next_steps.iter().enumerate() {
            push(&mut out, &format!("{}. {}", at + 1, block(step)));
        }
        out.push('\n');
    }
    for part in &view.sections {
        section(&mut out, part);
    }
    // Every block ends with an empty line; the file ends with one line feed.
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn section(out: &mut String, section: &Section) {
    line(out, &format!("## {}", inline(section.title)));
    for note in &section.notes {
        line(out, &block(note));
    }
    for item in &section.items {
        push(out, &format!("- {}", block(item)));
    }
    if !section.items.is_empty() {
        out.push('\n');
    }
    for part in &section.tables {
        table(out, part);
    }
}

fn table(out: &mut String, table: &Table) {
    line(out, &format!("{}:", block(table.caption)));
    if !table.rows.is_empty() {
        let names: Vec<String> = table
            .head
            .iter()
            .map(|column| inline(column.name()))
            .collect();
        push(out, &format!("| {} |", names.join(" | ")));
        let marks: Vec<&str> = table
            .head
            .iter()
            .map(|column| if column.is_number() { "---:" } else { "---" })
            .collect();
        push(out, &format!("| {} |", marks.join(" | ")));
        for row in &table.rows {
            let cells: Vec<String> = row.iter().map(|cell| inline(&cell.text)).collect();
            push(out, &format!("| {} |", cells.join(" | ")));
        }
        out.push('\n');
    }
    if let Some(remark) = &table.remark {
        line(out, &block(remark));
    }
}

/// Adds a line.
fn push(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Adds a paragraph.
fn line(out: &mut String, text: &str) {
    push(out, text);
    out.push('\n');
}

/// Text that starts a block: the same as [`inline`], and no list, heading or quote either.
fn block(value: &str) -> String {
    let text = inline(value);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && text[digits..].starts_with(['.', ')']) {
        return format!("{}\\{}", &text[..digits], &text[digits..]);
    }
    if text.starts_with(['#', '+', '-', '=']) {
        return format!("\\{text}");
    }
    text
}

/// Text whose every mark is inert: no link, image, HTML, code, emphasis, table cell or math.
///
/// Plain ids and times stay as they are, so that they can be searched for. The input holds no
/// line feed and no control: the view made those visible.
fn inline(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    let mut before: Option<char> = None;
    let mut rest = value.chars();
    while let Some(character) = rest.next() {
        let after = rest.clone().next();
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => {
                if marks(&out, before, character, after) {
                    out.push('\\');
                }
                out.push(character);
            }
        }
        before = Some(character);
    }
    out
}

/// True if this character would mean something here.
fn marks(written: &str, before: Option<char>, character: char, after: Option<char>) -> bool {
    let word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    match character {
        '\\' | '`' | '*' | '[' | ']' | '|' | '~' | '$' | '@' | '!' => true,
        // Inside a word an underscore is plain, as in our own words.
        '_' => !(word(before) && word(after)),
        '(' => before == Some(']'),
        // Bare addresses become links in some dialects.
        ':' => after == Some('/') || SCHEMES.iter().any(|scheme| ends_with(written, scheme)),
        '.' => ends_with(written, "www"),
        '{' | '%' => matches!(after, Some('{' | '%')),
        _ => false,
    }
}

/// True if the text ends with these ASCII letters in either case.
fn ends_with(text: &str, letters: &str) -> bool {
    let (text, letters) = (text.as_bytes(), letters.as_bytes());
    text.len() >= letters.len() && text[text.len() - letters.len()..].eq_ignore_ascii_case(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_inert_and_plain_words_stay() {
        for (raw, safe) in [
            ("req-0001.a:b c_d", "req-0001.a:b c_d"),
            ("2026-09-01T08:30:05.12Z", "2026-09-01T08:30:05.12Z"),
            (
                "[x](javascript:alert(1))",
                "\\[x\\]\\(javascript\\:alert(1))",
            ),
            ("![i](http://e/x.png)", "\\!\\[i\\]\\(http\\://e/x.png)"),
            ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
            (
                "a|b`c`*d*_e_~f~$g$",
                "a\\|b\\`c\\`\\*d\\*\\_e\\_\\~f\\~\\$g\\$",
            ),
            ("WWW.evil.example", "WWW\\.evil.example"),
            ("https://e.example", "https\\://e.example"),
            ("a@b.example", "a\\@b.example"),
            ("a\\|b", "a\\\\\\|b"),
            ("{{ site.x }}", "\\{{ site.x }}"),
        ] {
            assert_eq!(inline(raw), safe, "{raw}");
        }
    }

    #[test]
    fn blocks_do_not_start_lists_or_headings() {
        for (raw, safe) in [
            ("# x", "\\# x"),
            ("- x", "\\- x"),
            ("+ x", "\\+ x"),
            ("=====", "\\====="),
            ("12. x", "12\\. x"),
            ("12) x", "12\\) x"),
            ("12.5", "12\\.5"),
            ("> x", "&gt; x"),
            ("plain", "plain"),
            ("7", "7"),
            ("", ""),
        ] {
            assert_eq!(block(raw), safe, "{raw}");
        }
    }
}
