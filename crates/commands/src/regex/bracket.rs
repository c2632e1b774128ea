//! Bracket expressions: `[a-z]`, `[^[:space:]_]`, `[]x-]`.
//!
//! Declines forms that POSIX leaves undefined, or where the tools' two matchers (gnulib's dfa and glibc's
//! regex) could differ: a hyphen in the middle, ranges between anything but ASCII characters, equivalence
//! classes.

use crate::{Accept, Declined};

use super::Ranges;
use super::chars::CharSet;
use super::classes::{self, Known};
use super::parse::Parser;

impl Parser<'_> {
    /// Parses after `[`: the set, including the closing bracket.
    pub(super) fn bracket(&mut self) -> Accept<CharSet> {
        let negated = self.eat('^');
        let start = self.at;
        let mut set = CharSet::none();
        loop {
            let first = self.at == start;
            match self.next() {
                None => return Declined::because("a bracket is not closed"),
                Some(c) if is(c, ']') && !first => break,
                Some(c) if is(c, '[') && self.peek_is(&[':']) => self.class(&mut set)?,
                Some(c) if is(c, '[') && self.peek_is(&['.', '=']) => {
                    return Declined::because("a collating symbol or equivalence class");
                }
                Some(c) => self.element(c, first, &mut set)?,
            }
        }
        self.refuse_single_class_syntax(start)?;
        self.finish_bracket(set, negated)
    }

    /// Parses one character, or the range that it starts.
    fn element(&mut self, c: u32, first: bool, set: &mut CharSet) -> Accept<()> {
        if is(c, '-') && !first && !self.peek_is(&[']']) {
            return Declined::because("a hyphen in the middle of a bracket");
        }
        if is(c, '\\') && self.syntax.sed && self.bracket_escape(set)? {
            return Ok(());
        }
        if !self.peek_is(&['-']) || self.peek_at(1).is_none_or(|end| is(end, ']')) {
            set.add(c, c);
            return Ok(());
        }
        self.at += 1;
        let Some(end) = self.next() else { return Declined::because("a bracket is not closed") };
        self.check_range(c, end)?;
        set.add(c, end);
        Ok(())
    }

    /// Parses sed's escapes for one character, the only ones valid in a bracket. Returns whether there was
    /// one.
    fn bracket_escape(&mut self, set: &mut CharSet) -> Accept<bool> {
        let Some(next) = self.peek_at(0) else { return Ok(false) };
        if is(next, '\\') {
            // sed passes both on, and a bracket has no escapes: the backslash, twice.
            self.at += 1;
            set.add(next, next);
        } else if let Some(c) = self.char_escape()? {
            set.add(c, c);
        } else {
            return Ok(false);
        }
        if self.peek_is(&['-']) && !self.peek_at(1).is_none_or(|end| is(end, ']')) {
            return Declined::because("a range that starts with an escape");
        }
        Ok(true)
    }

    fn check_range(&mut self, from: u32, to: u32) -> Accept<()> {
        if from > to || to >= 0x80 {
            return Declined::because("a range of characters outside ASCII, or one that is upside down");
        }
        if [from, to].iter().any(|&c| ['-', '[', ']'].iter().any(|&s| is(c, s)))
            || is(to, '\\') && self.syntax.sed
        {
            return Declined::because("a range from or to a hyphen, a bracket or a backslash");
        }
        let within = |low: char, high: char| from >= low as u32 && to <= high as u32;
        let digits = within('0', '9');
        let plain = digits || within('a', 'z') || within('A', 'Z');
        match self.syntax.ranges {
            Ranges::CodePoints => {}
            Ranges::AsciiAlike if digits => self.has_digit_range = true,
            Ranges::AsciiAlike if plain => self.judges_ascii_only = true,
            _ => return Declined::because("a range whose members depend on the collation"),
        }
        // glibc folds the ends before it compares them.
        if !plain && self.syntax.ignore_case {
            return Declined::because("ignoring the case of a range that is more than letters or digits");
        }
        Ok(())
    }

    /// Parses after `[` with `:` next.
    fn class(&mut self, set: &mut CharSet) -> Accept<()> {
        self.at += 1;
        let rest = &self.text[self.at..];
        let Some(len) = rest.windows(2).position(|pair| is(pair[0], ':') && is(pair[1], ']')) else {
            return Declined::because("a character class is not closed");
        };
        let name: Vec<u8> = rest[..len].iter().map(|&c| c as u8).collect();
        let Some(mut class) = classes::named(&name, self.syntax.utf8) else {
            return Declined::because("an unknown character class");
        };
        self.at += len + 2;
        if self.syntax.ignore_case && matches!(name.as_slice(), b"upper" | b"lower") {
            class = classes::named(b"alpha", self.syntax.utf8).unwrap_or(class);
        }
        if class.known == Known::Ascii {
            self.judges_ascii_only = true;
        }
        set.join(&class.set);
        if self.peek_is(&['-']) && !self.peek_at(1).is_none_or(|end| is(end, ']')) {
            return Declined::because("a range that starts with a character class");
        }
        Ok(())
    }

    /// Declines `[:space:]` without an outer bracket: the tools report that it must be `[[:space:]]`.
    fn refuse_single_class_syntax(&self, start: usize) -> Accept<()> {
        let inside = &self.text[start..self.at - 1];
        match (inside.first(), inside.last()) {
            (Some(&first), Some(&last)) if inside.len() > 1 && first == last => {
                let doubtful = [':', '.', '='].iter().any(|&mark| is(first, mark));
                if doubtful { Declined::because("a character class in single brackets") } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn finish_bracket(&mut self, mut set: CharSet, negated: bool) -> Accept<CharSet> {
        if self.syntax.ignore_case {
            self.fold(&mut set)?;
        }
        Ok(if negated { self.syntax.wide.others(&set, self.syntax.utf8) } else { set })
    }
}

fn is(c: u32, what: char) -> bool {
    c == what as u32
}
