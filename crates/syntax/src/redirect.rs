//! Redirections.

use crate::cursor::{ends_word, starts_name};
use crate::error::{Read, Stop};
use crate::reader::Reader;
use crate::word::WordContext;
use crate::{Dialect, Reason, Redirect, RedirectKind, Unmodelled, Word, WordPart};
use pelton_record::Span;

/// The operators, longest first.
const OPERATORS: [&str; 12] = ["&>>", "<<<", "<<-", "&>", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"];

/// The descriptor before an operator.
enum Descriptor {
    Default,
    Number(u32),
    /// `{NAME}`, or a number that is not 0 to 9.
    Unusual,
}

impl<'t> Reader<'t> {
    /// Reads the redirection that begins here, if one does.
    pub(crate) fn redirect(&mut self) -> Read<Option<Redirect>> {
        self.c.peek();
        let start = self.c.pos;
        let descriptor = self.descriptor()?;
        let operator_start = self.c.pos;
        let Some(operator) = self.redirect_operator() else {
            self.c.pos = start;
            return Ok(None);
        };
        let at = Span::new(operator_start, self.c.pos);
        if matches!(operator, "&>" | "&>>" | "<<<") {
            self.bash_only()?;
        }
        let (mut kind, end) = self.redirect_kind(operator, at)?;
        let fd = match descriptor {
            Descriptor::Default => None,
            Descriptor::Number(n) => Some(n),
            Descriptor::Unusual => {
                self.forget_body(&kind)?;
                kind = RedirectKind::Opaque(Reason::UnusualRedirect);
                None
            }
        };
        if fd.is_some() && matches!(kind, RedirectKind::WriteBoth(_)) {
            kind = RedirectKind::Opaque(Reason::UnusualRedirect);
        }
        Ok(Some(Redirect { fd, kind, span: Span::new(start, end) }))
    }

    /// Stops at a here-document whose body would have no place in the tree.
    fn forget_body(&self, kind: &RedirectKind) -> Read<()> {
        match kind {
            RedirectKind::HereDoc(_) => Stop::unsure(Unmodelled::HereDocument),
            _ => Ok(()),
        }
    }

    /// Reads digits or `{NAME}` with an operator right after them; steps back over anything else.
    fn descriptor(&mut self) -> Read<Descriptor> {
        let start = self.c.pos;
        let found = match self.c.peek() {
            Some(b'0'..=b'9') => {
                let mut digits = String::new();
                while let Some(b) = self.c.peek().filter(u8::is_ascii_digit) {
                    digits.push(char::from(b));
                    self.c.pos += 1;
                }
                digits
            }
            Some(b'{') if self.c.peek_second().is_some_and(starts_name) => {
                self.c.eat(b'{');
                self.name();
                if self.c.eat(b'}') { String::from("{}") } else { String::new() }
            }
            _ => return Ok(Descriptor::Default),
        };
        if found.is_empty() || !matches!(self.c.peek(), Some(b'<' | b'>')) {
            self.c.pos = start;
            return Ok(Descriptor::Default);
        }
        if self.c.peek_second() == Some(b'(') {
            // `2<(…)`: a word with a process substitution.
            self.c.pos = start;
            return Ok(Descriptor::Default);
        }
        match found.as_bytes() {
            [digit @ b'0'..=b'9'] => Ok(Descriptor::Number(u32::from(digit - b'0'))),
            // Whether the digits are a descriptor or a word depends on the shell, and on their size.
            _ if self.dialect == Dialect::Posix || found.len() > 4 => Stop::unsure(Unmodelled::RareForm),
            _ => Ok(Descriptor::Unusual),
        }
    }

    /// Reads an operator. `<(`, `>(` and `&` alone are not operators of redirections.
    fn redirect_operator(&mut self) -> Option<&'static str> {
        let first = self.c.peek()?;
        let second = self.c.peek_second();
        let begins = match first {
            b'<' | b'>' => second != Some(b'('),
            b'&' => second == Some(b'>'),
            _ => false,
        };
        if !begins {
            return None;
        }
        OPERATORS.into_iter().find(|operator| self.eat_all(operator))
    }

    /// Steps over these bytes if they are next, ignoring line continuations.
    fn eat_all(&mut self, bytes: &str) -> bool {
        let start = self.c.pos;
        let found = bytes.bytes().all(|byte| self.c.eat(byte));
        if !found {
            self.c.pos = start;
        }
        found
    }

    /// Reads the target, from after the operator. Returns the kind and the end.
    fn redirect_kind(&mut self, operator: &str, at: Span) -> Read<(RedirectKind, usize)> {
        if matches!(operator, "<&" | ">&") {
            return self.duplicate(operator == "<&", at);
        }
        let place = match operator {
            "<<<" => WordContext::HereString,
            "<<" | "<<-" => WordContext::Value,
            // dash does not expand file names here.
            _ if self.dialect == Dialect::Posix => WordContext::HereString,
            _ => WordContext::Argument,
        };
        let word = self.target(place, at);
        // dash does not look for expansions in the delimiter of a here-document.
        let word = if operator.starts_with("<<") { self.only_bash_refuses(word)? } else { word? };
        let digits = word.static_text().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
        if digits && matches!(self.c.peek(), Some(b'<' | b'>')) {
            // In `>2>x` the 2 is the descriptor of the second operator, and the first operator has no target.
            return Stop::unsure(Unmodelled::RareForm);
        }
        let end = word.span.end;
        let kind = match operator {
            "<" => RedirectKind::Read(word),
            ">" => RedirectKind::Write(word),
            ">|" => RedirectKind::Clobber(word),
            ">>" => RedirectKind::Append(word),
            "<>" => RedirectKind::ReadWrite(word),
            "&>" => RedirectKind::WriteBoth(word),
            "&>>" => RedirectKind::AppendBoth(word),
            "<<<" => RedirectKind::HereString(word),
            _ => RedirectKind::HereDoc(self.heredoc(&word, operator == "<<-")?),
        };
        Ok((kind, end))
    }

    fn target(&mut self, place: WordContext, operator: Span) -> Read<Word> {
        self.c.skip_blanks();
        let comment = self.c.peek() == Some(b'#');
        let word = if comment { None } else { self.word(place)? };
        word.map_or_else(
            || {
                let name = operator.of(self.c.text).replace("\\\n", "");
                Stop::wrong(
                    format!("nothing follows this `{name}`"),
                    operator,
                    "a redirection needs a file name, quoted if it is special",
                )
            },
            Ok,
        )
    }

    /// Reads `<&` and `>&`: a descriptor, `-`, or for `>&` a file.
    fn duplicate(&mut self, input: bool, at: Span) -> Read<(RedirectKind, usize)> {
        self.c.skip_blanks();
        if self.c.peek() == Some(b'-') {
            self.c.pos += 1;
            let end = self.c.pos;
            // In bash, text right after the `-` is another word; in other shells, the same word.
            if self.c.peek().is_some_and(|b| !ends_word(b)) {
                return Stop::unsure(Unmodelled::RareForm);
            }
            return Ok((RedirectKind::Close(input), end));
        }
        let word = self.target(WordContext::Argument, at)?;
        let end = word.span.end;
        let unusual = RedirectKind::Opaque(Reason::UnusualRedirect);
        let kind = match word.parts.as_slice() {
            [WordPart::Bare(digits)] if digits.bytes().all(|b| b.is_ascii_digit()) => match digits.as_bytes()
            {
                // In dash, the digits in `>&1>x` belong to the second operator.
                _ if self.dialect == Dialect::Posix && matches!(self.c.peek(), Some(b'<' | b'>')) => {
                    return Stop::unsure(Unmodelled::Dialect);
                }
                [digit] => RedirectKind::Duplicate(u32::from(digit - b'0'), input),
                _ => unusual,
            },
            _ if !input && self.dialect == Dialect::Bash && names_file(&word) => {
                RedirectKind::WriteBoth(word)
            }
            _ => unusual,
        };
        Ok((kind, end))
    }
}

/// Whether the target of `>&` is certainly a file: static, and not a number or a number with `-`.
fn names_file(word: &Word) -> bool {
    word.static_text().is_some_and(|text| !text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit()))
}
