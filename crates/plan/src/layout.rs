//! Fits rows of a tree, and sentences, into a width. Widths are in characters.

/// Minimum width for words beside a row instead of below it.
const WORDS_MIN: usize = 30;

/// A row of a tree, with words about it.
pub(crate) struct Row {
    /// Its branch.
    pub branch: String,
    /// The prefix of its further lines.
    pub stem: String,
    /// The item.
    pub what: String,
    /// The words; may be empty.
    pub words: String,
}

impl Row {
    fn left(&self) -> usize {
        count(&self.branch) + 1 + count(&self.what)
    }
}

/// Formats rows. Words begin in one column, or below an item that is too long.
pub(crate) fn rows(rows: &[Row], width: usize, more: &str) -> String {
    let reach = (width * 9 / 20).max(width.saturating_sub(WORDS_MIN) / 2);
    let noted = rows.iter().filter(|row| !row.words.is_empty()).map(Row::left);
    let column = 2 + noted.filter(|left| *left <= reach).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let Row { branch, stem, what, words } = row;
        let line = format!("{branch} {}", shorten(what, width.saturating_sub(count(branch) + 1), more));
        let beside = count(&line) + 2 <= column;
        let indent = if beside { column } else { count(stem) + 3 };
        let further = format!("{stem}{}", " ".repeat(indent.saturating_sub(count(stem))));
        if words.is_empty() || !beside {
            text.push_str(&line);
            text.push('\n');
        }
        if !words.is_empty() {
            let first = if beside { padded(&line, column) } else { further.clone() };
            text.push_str(&sentence(&first, &further, words, width));
        }
    }
    text
}

/// Wraps words into lines. The first begins with `first`, the others with `further`.
pub(crate) fn sentence(first: &str, further: &str, words: &str, width: usize) -> String {
    let mut text = String::new();
    let mut line = first.to_owned();
    let mut begun = false;
    for word in words.split(' ') {
        if begun && count(&line) + 1 + count(word) > width {
            text.push_str(line.trim_end());
            text.push('\n');
            further.clone_into(&mut line);
            begun = false;
        }
        if begun {
            line.push(' ');
        }
        line.push_str(word);
        begun = true;
    }
    text.push_str(line.trim_end());
    text.push('\n');
    text
}

/// Shortens text longer than `room` to its beginning and end, with `more` between.
pub(crate) fn shorten(text: &str, room: usize, more: &str) -> String {
    let length = count(text);
    if length <= room || room <= count(more) {
        return text.to_owned();
    }
    let kept = room - count(more);
    let end = kept / 3;
    let head: String = text.chars().take(kept - end).collect();
    let tail: String = text.chars().skip(length - end).collect();
    format!("{}{more}{}", head.trim_end(), tail.trim_start())
}

fn padded(text: &str, column: usize) -> String {
    format!("{text}{}", " ".repeat(column.saturating_sub(count(text))))
}

fn count(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(what: &str, words: &str) -> Row {
        Row { branch: "|-".into(), stem: "| ".into(), what: what.into(), words: words.into() }
    }

    #[test]
    fn words_stand_beside_what_is_short_and_below_what_is_long() {
        let long = "awk 'a program that goes on and on' and a file";
        let told = rows(&[row("sort", "waits"), row(long, "no kernel"), row("wc", "")], 60, "...");
        assert_eq!(told, format!("|- sort  waits\n|- {long}\n|    no kernel\n|- wc\n"));
    }

    #[test]
    fn nothing_is_wider_than_the_width() {
        let words = "a sentence that is longer than what is left of the line beside its row";
        let wide = "x".repeat(80);
        for line in rows(&[row("sort", words), row(&wide, words)], 50, "...").lines() {
            assert!(line.chars().count() <= 50, "{line}");
            assert!(line.starts_with('|'), "{line}");
        }
    }

    #[test]
    fn the_middle_is_left_out() {
        assert_eq!(shorten("abcdefghijkl", 8, ".."), "abcd..kl");
        assert_eq!(shorten("abc", 3, ".."), "abc");
    }
}
