//! Assignments before a command, and words that look like them.

use crate::cursor::{ends_word, starts_name};
use crate::error::{Read, Stop};
use crate::reader::Reader;
use crate::word::Builder;
use crate::{Assignment, Dialect, Reason, Unmodelled, Word, WordPart};
use pelton_record::Span;

/// Commands whose arguments bash reads as assignments.
const DECLARATIONS: [&str; 8] = ["alias", "declare", "eval", "export", "let", "local", "readonly", "typeset"];

/// Whether the text is a name: a letter or `_`, then letters, digits and `_`.
pub(crate) fn is_name(text: &str) -> bool {
    text.bytes().next().is_some_and(starts_name)
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether a word after `before` is an argument of a declaration.
pub(crate) fn is_declaration(before: &[Word]) -> bool {
    let mut words = before
        .iter()
        .filter_map(Word::static_text)
        .skip_while(|w| matches!(w.as_str(), "command" | "builtin"));
    words.next().is_some_and(|first| DECLARATIONS.contains(&first.as_str()))
}

/// Whether the word begins like an assignment.
pub(crate) fn looks_assigned(word: &Word) -> bool {
    let Some(WordPart::Bare(text)) = word.parts.first() else { return false };
    let (name, rest) = split_name(text);
    is_name(name) && (rest.is_empty() || rest.starts_with('=') || rest.starts_with("+="))
}

fn split_name(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|b| !b.is_ascii_alphanumeric() && b != b'_').unwrap_or(text.len());
    text.split_at(end)
}

impl<'t> Reader<'t> {
    /// Reads the assignment that begins here, if one does.
    pub(crate) fn assignment(&mut self) -> Read<Option<Assignment>> {
        self.c.peek();
        let start = self.c.pos;
        if !self.c.peek().is_some_and(starts_name) {
            return Ok(None);
        }
        let name = self.name();
        let found = match (self.c.peek(), self.c.peek_second()) {
            (Some(b'='), _) => {
                self.c.pos += 1;
                Some(self.assigned(start)?)
            }
            (Some(b'+'), Some(b'=')) => {
                self.bash_only()?;
                self.c.eat(b'+');
                self.c.eat(b'=');
                let value = self.assigned(start)?;
                Some(opaque_value(value))
            }
            (Some(b'['), _) => self.subscripted(start)?,
            _ => None,
        };
        let Some(value) = found else {
            self.c.pos = start;
            return Ok(None);
        };
        let span = Span::new(start, value.span.end);
        Ok(Some(Assignment { name, value, span }))
    }

    /// Reads the value after the `=`.
    fn assigned(&mut self, start: usize) -> Read<Word> {
        if self.c.peek() == Some(b'(') {
            return self.array(start);
        }
        self.value()
    }

    /// Reads `NAME[…]=value`; `None` without a `=`: then it is a word with a bracket pattern.
    fn subscripted(&mut self, start: usize) -> Read<Option<Word>> {
        self.bash_only()?;
        self.c.pos += 1;
        while let Some(byte) = self.c.peek().filter(|b| *b != b']') {
            if byte == b'$' {
                self.dollar(true, &mut Builder::new(crate::word::WordContext::Value))?;
            } else if byte.is_ascii_alphanumeric() || b"_+-*@.".contains(&byte) {
                self.c.pos += 1;
            } else {
                // In a subscript, blanks belong to the word.
                return Stop::unsure(Unmodelled::RareForm);
            }
        }
        if !self.c.eat(b']') {
            return Stop::unsure(Unmodelled::RareForm);
        }
        let appends = self.c.peek() == Some(b'+') && self.c.peek_second() == Some(b'=');
        if appends {
            self.c.eat(b'+');
        }
        if !self.c.eat(b'=') {
            return Ok(None);
        }
        Ok(Some(opaque_value(self.assigned(start)?)))
    }

    /// Reads `( … )` after `NAME=`: words and newlines only.
    fn array(&mut self, start: usize) -> Read<Word> {
        self.bash_only()?;
        let open = self.c.pos;
        self.c.pos += 1;
        loop {
            self.skip_newlines()?;
            match self.c.peek() {
                Some(b')') => break,
                None => {
                    return Stop::wrong(
                        "this `(` is never closed",
                        Span::new(open, open + 1),
                        "close the array with `)`",
                    );
                }
                // A subscript may hold blanks.
                Some(b'[') => return Stop::unsure(Unmodelled::RareForm),
                Some(_) => {}
            }
            if self.word(crate::word::WordContext::Argument)?.is_none() {
                return Stop::unsure(Unmodelled::RareForm);
            }
        }
        self.c.pos += 1;
        if self.c.peek().is_some_and(|b| !ends_word(b)) || self.dialect == Dialect::Posix {
            return Stop::unsure(Unmodelled::RareForm);
        }
        Ok(opaque_value(Word { parts: Vec::new(), span: self.c.since(start) }))
    }
}

fn opaque_value(value: Word) -> Word {
    Word { parts: vec![WordPart::Opaque { reason: Reason::Array, span: value.span }], span: value.span }
}
