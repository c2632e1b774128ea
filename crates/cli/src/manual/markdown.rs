//! A page as Markdown.

use super::page::{Block, Page};
use super::sections::capitalised;
use std::fmt::Write as _;

/// Renders `page` with a final newline.
pub fn render(page: &Page) -> String {
    let title = match page.section {
        1 if page.topic != "pelton" => format!("pelton {}", page.topic),
        1 => page.topic.clone(),
        _ => capitalised(&page.topic.replace('-', " ")),
    };
    let mut out = format!(
        "<!-- Made from the code by `cargo xtask reference`. -->\n\n# {title}\n\n{}\n",
        text(&page.summary)
    );
    for block in &page.blocks {
        out.push('\n');
        match block {
            Block::Heading(name) => _ = writeln!(out, "## {}", text(name)),
            Block::Paragraph(words) => _ = writeln!(out, "{}", text(words.trim())),
            Block::Lines(lines) => _ = writeln!(out, "```text\n{}\n```", lines.join("\n")),
            Block::Terms(terms) => {
                for (term, said) in terms {
                    _ = writeln!(
                        out,
                        "- `{term}`{}{}",
                        if said.is_empty() { "" } else { "  \n  " },
                        text(said)
                    );
                }
            }
        }
    }
    out
}

/// Escapes all markup except code spans between backquotes.
fn text(words: &str) -> String {
    let mut out = String::new();
    for (at, piece) in words.split('`').enumerate() {
        // An odd piece is between two backquotes, if another one follows it.
        if at % 2 == 1 {
            _ = write!(out, "`{piece}`");
            continue;
        }
        for c in piece.chars() {
            if "\\<>*_[]$#|".contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_backquotes_are_markup() {
        assert_eq!(text("a *b* `c_d` <e>"), "a \\*b\\* `c_d` \\<e\\>");
    }
}
