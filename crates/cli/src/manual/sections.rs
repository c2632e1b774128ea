//! Parses the text below a verb's `--help`: sections, paragraphs, and verbatim lines.

use super::page::Block;

/// Splits the text into blocks. A paragraph that begins with `Name:` begins a section; indented lines stay as
/// they are.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for paragraph in text.split("\n\n") {
        let paragraph = paragraph.trim_end();
        let rest = match titled(paragraph) {
            Some((title, rest)) => {
                blocks.push(Block::Heading(title.to_owned()));
                capitalised(rest)
            }
            None => paragraph.to_owned(),
        };
        body(&rest, &mut blocks);
    }
    blocks
}

/// Splits off `Exit status: 0; …`, or `Examples:` before lines.
fn titled(paragraph: &str) -> Option<(&str, &str)> {
    let (title, rest) = paragraph.split_once(':')?;
    let ends = rest.is_empty() || rest.starts_with([' ', '\n']);
    let named = title.starts_with(|c: char| c.is_ascii_uppercase())
        && title.len() < 30
        && title.chars().all(|c| c.is_ascii_alphabetic() || " ()-".contains(c));
    (ends && named).then(|| (title, rest.strip_prefix([' ', '\n']).unwrap_or(rest)))
}

/// Capitalises the first letter.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn body(text: &str, blocks: &mut Vec<Block>) {
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let indented = line.starts_with("  ");
        match (indented, blocks.last_mut()) {
            (true, Some(Block::Lines(lines))) => lines.push(line[2..].to_owned()),
            (true, _) => blocks.push(Block::Lines(vec![line[2..].to_owned()])),
            (false, Some(Block::Paragraph(text))) if !text.ends_with('\n') => {
                text.push(' ');
                text.push_str(line.trim());
            }
            (false, _) => blocks.push(Block::Paragraph(line.trim().to_owned())),
        }
    }
    // The rest is a separate paragraph.
    if let Some(Block::Paragraph(text)) = blocks.last_mut() {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_told_from_paragraphs() {
        let paragraph = |text: &str| Block::Paragraph(format!("{text}\n"));
        let heading = |text: &str| Block::Heading(text.into());
        assert_eq!(
            blocks(
                "First: a\nb.\n\nExamples:\n  pelton x   so\n    more\n\nA sentence without.\n\nThat one: no, http://x"
            ),
            [
                heading("First"),
                paragraph("A b."),
                heading("Examples"),
                Block::Lines(vec!["pelton x   so".into(), "  more".into()]),
                paragraph("A sentence without."),
                heading("That one"),
                paragraph("No, http://x"),
            ]
        );
    }

    #[test]
    fn lines_may_follow_words() {
        let found = blocks("Topics: the verbs, and\n  one\n  two\nand more");
        assert_eq!(found[1], Block::Paragraph("The verbs, and".into()));
        assert_eq!(found[2], Block::Lines(vec!["one".into(), "two".into()]));
        assert_eq!(found[3], Block::Paragraph("and more\n".into()));
    }
}
