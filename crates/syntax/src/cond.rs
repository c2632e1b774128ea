//! Reads `[[ … ]]`, to find its end and to check that the shell accepts it.

use crate::error::{Read, Stop};
use crate::reader::Reader;
use crate::word::WordContext;
use crate::{Unmodelled, Word};

/// Unary operators.
const UNARY: &str = "abcdefghknoprstuvwxzGLNORS";

/// Binary operators, without `<` and `>`.
const BINARY: [&str; 13] =
    ["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

impl<'t> Reader<'t> {
    /// Reads everything after `[[`.
    pub(crate) fn test(&mut self) -> Read<()> {
        self.test_or()?;
        self.c.skip_blanks();
        if self.take_keyword("]]") { Ok(()) } else { Stop::unsure(Unmodelled::RareForm) }
    }

    fn test_or(&mut self) -> Read<()> {
        self.enter()?;
        loop {
            self.skip_newlines()?;
            self.test_term()?;
            self.c.skip_blanks();
            let pair = (self.c.peek(), self.c.peek_second());
            if !matches!(pair, (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|'))) {
                break;
            }
            self.c.pos += 1;
            self.c.peek();
            self.c.pos += 1;
        }
        self.leave();
        Ok(())
    }

    fn test_term(&mut self) -> Read<()> {
        self.skip_newlines()?;
        if self.take_keyword("!") {
            return self.test_term_nested();
        }
        if self.c.eat(b'(') {
            self.test_or()?;
            self.c.skip_blanks();
            return if self.c.eat(b')') { Ok(()) } else { Stop::unsure(Unmodelled::RareForm) };
        }
        let first = self.test_word()?;
        if is_unary(first.span.of(self.c.text)) {
            self.test_word()?;
            return Ok(());
        }
        self.c.skip_blanks();
        // `2> c` redirects, even here, and is an error.
        if self.c.pos == first.span.end && matches!(self.c.peek(), Some(b'<' | b'>')) {
            return Stop::unsure(Unmodelled::RareForm);
        }
        let binary = self.test_binary();
        if binary {
            self.test_word()?;
        }
        Ok(())
    }

    fn test_term_nested(&mut self) -> Read<()> {
        self.enter()?;
        self.test_term()?;
        self.leave();
        Ok(())
    }

    /// Steps over a binary operator, if there is one here.
    fn test_binary(&mut self) -> bool {
        if matches!(self.c.peek(), Some(b'<' | b'>')) && self.c.raw_at(1) == Some(b' ') {
            self.c.pos += 1;
            return true;
        }
        let rest = &self.c.text[self.c.pos..];
        let found =
            BINARY.iter().find(|op| rest.strip_prefix(**op).is_some_and(|after| after.starts_with(' ')));
        self.c.pos += found.map_or(0, |op| op.len());
        found.is_some()
    }

    /// Reads a word that is neither a closing bracket nor an operator.
    fn test_word(&mut self) -> Read<Word> {
        self.c.skip_blanks();
        if self.keyword().is_some_and(|word| word == "]]" || word == "!") || self.c.peek() == Some(b'#') {
            return Stop::unsure(Unmodelled::RareForm);
        }
        match self.word(WordContext::Value)? {
            Some(word) => Ok(word),
            None => Stop::unsure(Unmodelled::RareForm),
        }
    }
}

/// Whether a word, as written, is a unary operator. A quoted word is not.
fn is_unary(text: &str) -> bool {
    let letter = text.strip_prefix('-').filter(|letter| letter.len() == 1);
    letter.is_some_and(|letter| UNARY.contains(letter))
}
