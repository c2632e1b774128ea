//! Makes text safe to show, and measures, shortens and wraps it.
//!
//! A command's text is the user's: it may contain newlines, escape sequences, bidirectional controls, and
//! ideographs two columns wide. None of those may reach a terminal raw or break the table.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

/// Escapes text for a page, in elements and in attributes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Puts `text` on one line, without characters that a terminal would obey or not show.
///
/// Newlines and tabs, with the blanks around them, become one blank; other controls become `^[`, invisible
/// format characters `\u{202e}`. Without `unicode`, so does everything outside ASCII but common punctuation.
pub fn printable(text: &str, unicode: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut broken = false;
    for c in text.chars() {
        if matches!(c, '\n' | '\t' | '\r') {
            out.truncate(out.trim_end_matches(' ').len());
            broken = true;
        } else if !(broken && c == ' ') {
            if broken && !out.is_empty() {
                out.push(' ');
            }
            broken = false;
            push_visible(&mut out, c, unicode);
        }
    }
    out
}

fn push_visible(out: &mut String, c: char, unicode: bool) {
    match c {
        ' '..='~' => out.push(c),
        // As `cat -v` shows them; the bit that makes a control of a letter is 0x40.
        '\0'..='\u{1f}' | '\u{7f}' => {
            out.push('^');
            out.push(char::from((u32::from(c) as u8) ^ 0x40));
        }
        // Requests a coloured picture, and two columns for a one-column character.
        '\u{fe0f}' => {}
        _ if is_invisible(c) => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
        _ if unicode => out.push(c),
        '‘' | '’' => out.push('\''),
        '“' | '”' => out.push('"'),
        '–' | '—' => out.push('-'),
        '…' => out.push_str("..."),
        _ => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
    }
}

/// Whether a character is a control or format character.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the terminal columns of `text`.
///
/// The sum over its characters, as most terminals count; joined emoji may take less, which only leaves a gap.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Shortens `text` to `room` columns: in the middle, since a command names its program first and its files
/// last, or, if `room` is small, at the end.
pub fn shorten(text: &str, room: usize, unicode: bool) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let dots = if unicode { "…" } else { ".." };
    let kept = room.saturating_sub(width(dots));
    // In a small room, characters at the end tell less than as many at the start.
    let tail = if kept < 20 { "" } else { last(text, kept / 3) };
    let head = first(text, kept - width(tail));
    let short = format!("{}{dots}{}", head.trim_end(), tail.trim_start());
    first(&short, room).to_owned()
}

/// Returns the longest prefix within `room` columns.
pub fn first(text: &str, room: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > room
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// The longest end of `text` within `room` columns that does not start with a combining character.
fn last(text: &str, room: usize) -> &str {
    let mut used = 0;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        let columns = c.width().unwrap_or(0);
        used += columns;
        if used > room {
            break;
        }
        if columns > 0 {
            start = at;
        }
    }
    &text[start..]
}

/// Breaks `text` between words into lines of at most `room` columns; longer words are split.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![];
    let mut line = String::new();
    for mut word in text.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() && width(&line) + 1 + width(word) > room {
            lines.push(std::mem::take(&mut line));
        }
        while width(word) > room {
            // At least one character, or one column would never fit a wide one.
            let one = word.chars().next().map_or(0, char::len_utf8);
            let (part, rest) = word.split_at(first(word, room).len().max(one));
            lines.push(part.to_owned());
            word = rest;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_would_obey_is_left() {
        assert_eq!(printable("a\n   b\t\tc\n", true), "a b c");
        assert_eq!(printable("a  b", true), "a  b");
        assert_eq!(printable("\x1b[31mred\x7f\0", true), "^[[31mred^?^@");
        assert_eq!(printable("\u{9b}2J \u{202e}x", true), r"\u{9b}2J \u{202e}x");
        assert_eq!(printable("日é", true), "日é");
        assert_eq!(printable("日é…’", false), r"\u{65e5}\u{e9}...'");
    }

    #[test]
    fn a_long_command_keeps_its_start_and_its_end() {
        assert_eq!(shorten("sort -k2,2nr /data/long/path/file.csv", 24, true), "sort -k2,2nr /da…ile.csv");
        assert_eq!(shorten("sort -k2,2nr", 8, true), "sort -k…");
        assert_eq!(shorten("sort -k2,2nr", 8, false), "sort -..");
        assert_eq!(shorten("日本語日本語", 6, true), "日本…");
        assert_eq!(shorten("abc", 1, true), "…");
        assert_eq!(shorten("abc", 0, true), "");
    }

    #[test]
    fn words_wrap_and_long_words_break() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(wrap("日", 1), ["日"]);
        assert_eq!(wrap("", 5), Vec::<String>::new());
    }
}
