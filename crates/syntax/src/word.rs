//! Reads words: quoted text, expansions, and parts left to the shell.
//!
//! Quoting is read byte by byte, because everything else depends on it: an argument that differs from the
//! shell's by one byte is a wrong result. The reader makes one pass over the source. An unsupported construct
//! becomes an opaque part; a construct whose *end* is in doubt stops the reading ([`Stop::Unsure`]).

use crate::cursor::{ends_word, starts_name};
use crate::error::{Read, Stop};
use crate::reader::Reader;
use crate::{Dialect, Nested, Reason, Unmodelled, Word, WordPart};
use pelton_record::Span;

/// The position of a word, which decides what expands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordContext {
    /// An argument, a command's name, or a redirection's target: everything expands.
    Argument,
    /// The value of an assignment: no splitting, file names or braces; `~` expands also after a colon.
    Value,
    /// The word of a here-string: no splitting, file names or braces.
    HereString,
}

/// Maximum number of pieces or braces in a word; longer ones are left to the shell.
const PIECES_MAX: usize = 500;

/// A part, or a byte whose meaning depends on the rest of the word.
#[derive(Debug)]
enum Piece {
    Done(WordPart),
    /// An unquoted `[` at this offset.
    Bracket(usize),
    /// An unquoted `{` at this offset.
    Brace(usize),
}

/// A word under construction.
#[derive(Debug)]
pub(crate) struct Builder {
    place: WordContext,
    pieces: Vec<Piece>,
    /// Number of unquoted `{`.
    braces: usize,
    /// The last unquoted literal byte, if nothing follows it.
    last_bare: Option<u8>,
    /// One past the last byte read.
    end: usize,
}

impl Builder {
    pub(crate) fn new(place: WordContext) -> Self {
        Builder { place, pieces: Vec::new(), braces: 0, last_bare: None, end: 0 }
    }

    fn bare(&mut self, c: char) {
        self.last_bare = u8::try_from(c).ok();
        match self.pieces.last_mut() {
            Some(Piece::Done(WordPart::Bare(text))) => text.push(c),
            _ => self.pieces.push(Piece::Done(WordPart::Bare(c.into()))),
        }
    }

    fn quoted(&mut self, text: &str) {
        self.last_bare = None;
        match self.pieces.last_mut() {
            Some(Piece::Done(WordPart::Quoted(old))) => old.push_str(text),
            _ => self.pieces.push(Piece::Done(WordPart::Quoted(text.into()))),
        }
    }

    fn quoted_char(&mut self, c: char) {
        self.quoted(c.encode_utf8(&mut [0; 4]));
    }

    fn part(&mut self, part: WordPart) {
        self.last_bare = None;
        self.pieces.push(Piece::Done(part));
    }

    fn opaque(&mut self, reason: Reason, span: Span) {
        self.part(WordPart::Opaque { reason, span });
    }

    /// Adds an unquoted `*`, `?`, `[` or `{`: as `piece` in an argument, elsewhere as the literal `c`.
    fn glob(&mut self, c: char, piece: Piece) {
        if self.place == WordContext::Argument {
            self.last_bare = u8::try_from(c).ok();
            self.pieces.push(piece);
        } else {
            self.bare(c);
        }
    }

    /// Whether the word so far has the form `NAME=…`, `NAME+=…` or `NAME[…`.
    fn looks_assigned(&self) -> bool {
        let Some(Piece::Done(WordPart::Bare(text))) = self.pieces.first() else { return false };
        let after = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        after.len() < text.len() && (after.is_empty() || after.starts_with('=') || after.starts_with("+="))
    }

    /// Resolves brackets and braces, now that the end of the word is known.
    fn finish(self, start: usize, text: &str) -> Word {
        let span = Span::new(start, self.end.max(start));
        let expands = self.pieces.iter().any(expands_to_anything);
        let last_bracket = span.of(text).rfind(']').map_or(0, |at| span.start + at);
        let last_brace = last_brace_sign(span.of(text)).map_or(0, |at| span.start + at);
        let mut parts: Vec<WordPart> = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            let (at, c, reason) = match piece {
                Piece::Done(part) => {
                    push_merged(&mut parts, part);
                    continue;
                }
                Piece::Bracket(at) => {
                    (at, "[", (expands || at < last_bracket).then_some(Reason::BracketPattern))
                }
                Piece::Brace(at) => (at, "{", (at < last_brace).then_some(Reason::BraceExpansion)),
            };
            if let Some(reason) = reason {
                parts.push(WordPart::Opaque { reason, span: Span::new(at, span.end) });
                break;
            }
            push_merged(&mut parts, WordPart::Bare(c.into()));
        }
        Word { parts, span }
    }
}

/// Whether the piece may expand to a `]`, or makes the word a pattern anyway.
fn expands_to_anything(piece: &Piece) -> bool {
    match piece {
        Piece::Done(part) => !matches!(part, WordPart::Bare(_) | WordPart::Quoted(_)),
        _ => false,
    }
}

/// Returns the offset in `word` of the last sign that makes a `{` before it a brace expansion: a comma or two
/// points, with a `}` after them. Ignores quoting, so it may find one too many, but never misses one.
fn last_brace_sign(word: &str) -> Option<usize> {
    let inside = &word[..word.rfind('}')?];
    // There may be a line continuation between two points.
    let points = inside.rfind('.').filter(|_| inside.matches('.').count() > 1);
    inside.rfind(',').max(points)
}

fn push_merged(parts: &mut Vec<WordPart>, part: WordPart) {
    match (parts.last_mut(), &part) {
        (Some(WordPart::Bare(old)), WordPart::Bare(new)) => old.push_str(new),
        _ => parts.push(part),
    }
}

impl<'t> Reader<'t> {
    /// Reads the word that begins here, if one does. Blanks before it must be consumed.
    pub(crate) fn word(&mut self, place: WordContext) -> Read<Option<Word>> {
        self.c.peek();
        let start = self.c.pos;
        let mut builder = Builder::new(place);
        self.word_into(&mut builder)?;
        let word = builder.finish(start, self.c.text);
        let raw = word.span.of(self.c.text);
        if raw.starts_with('{') && raw.ends_with('}') && matches!(self.c.peek(), Some(b'<' | b'>')) {
            // `{NAME[1]}>x`, or `{NAME}>x` after another operator.
            return Stop::unsure(Unmodelled::RareForm);
        }
        Ok((!word.parts.is_empty()).then_some(word))
    }

    /// Reads the value of an assignment, which may be empty.
    pub(crate) fn value(&mut self) -> Read<Word> {
        let start = self.c.pos;
        let mut builder = Builder::new(WordContext::Value);
        // A `~` right after the `=` expands.
        builder.last_bare = Some(b'=');
        self.word_into(&mut builder)?;
        Ok(builder.finish(start, self.c.text))
    }

    fn word_into(&mut self, builder: &mut Builder) -> Read<()> {
        builder.end = self.c.pos;
        while let Some(byte) = self.c.peek() {
            if byte == b'(' && matches!(builder.last_bare, Some(b'@' | b'?' | b'*' | b'+' | b'!')) {
                return Stop::unsure(Unmodelled::ExtendedPattern);
            }
            let substitutes = matches!(byte, b'<' | b'>') && self.c.peek_second() == Some(b'(');
            if ends_word(byte) && !substitutes {
                break;
            }
            self.piece(byte, builder)?;
            builder.end = self.c.pos;
            builder.braces += usize::from(byte == b'{');
            if builder.pieces.len().max(builder.braces) > PIECES_MAX {
                return Stop::unsure(Unmodelled::Size);
            }
        }
        Ok(())
    }

    /// Reads one construct that begins with `byte`.
    fn piece(&mut self, byte: u8, builder: &mut Builder) -> Read<()> {
        let start = self.c.pos;
        match byte {
            b'<' | b'>' => {
                self.bash_only()?;
                self.c.pos += 1;
                self.c.eat(b'(');
                if self.c.peek() == Some(b'(') {
                    // bash only counts parentheses here.
                    return Stop::unsure(Unmodelled::Nesting);
                }
                self.substitution(start)?;
                builder.opaque(Reason::ProcessSubstitution, self.c.since(start));
            }
            b'\'' => {
                let text = self.single_quoted()?;
                builder.quoted(text);
            }
            b'"' => self.double_quoted(builder)?,
            b'\\' => self.escaped(builder)?,
            b'$' => self.dollar(false, builder)?,
            b'`' => self.backquoted(false, builder)?,
            b'~' => self.tilde(builder),
            _ => self.literal(builder),
        }
        Ok(())
    }

    /// Reads a literal character or a glob character.
    fn literal(&mut self, builder: &mut Builder) {
        let at = self.c.pos;
        match self.c.take_char() {
            Some('*') => builder.glob('*', Piece::Done(WordPart::AnyText)),
            Some('?') => builder.glob('?', Piece::Done(WordPart::AnyChar)),
            Some('[') => builder.glob('[', Piece::Bracket(at)),
            // dash has no brace expansion.
            Some('{') if self.dialect == Dialect::Bash => builder.glob('{', Piece::Brace(at)),
            Some(c) => builder.bare(c),
            None => {}
        }
    }

    fn tilde(&mut self, builder: &mut Builder) {
        let start = self.c.pos;
        self.c.pos += 1;
        let first = builder.pieces.is_empty() && builder.place != WordContext::Value;
        let after_sign = matches!(builder.last_bare, Some(b':' | b'='));
        let assigned = after_sign && (builder.place == WordContext::Value || builder.looks_assigned());
        if !first && !assigned {
            builder.bare('~');
        } else if first && self.c.peek().is_none_or(|b| b == b'/' || ends_word(b)) {
            builder.part(WordPart::Tilde);
        } else {
            builder.opaque(Reason::NamedHome, self.c.since(start));
        }
    }

    fn escaped(&mut self, builder: &mut Builder) -> Read<()> {
        self.c.pos += 1;
        match self.c.take_char() {
            Some(c) => builder.quoted_char(c),
            None => return Stop::unsure(Unmodelled::FinalBackslash),
        }
        Ok(())
    }

    /// Reads `'…'`. Returns the text between the quotes.
    fn single_quoted(&mut self) -> Read<&'t str> {
        let open = self.c.pos;
        self.c.pos += 1;
        let rest = &self.c.text[self.c.pos..];
        let Some(length) = rest.find('\'') else {
            return Stop::wrong(
                "this single quote is never closed",
                Span::new(open, open + 1),
                "close it with another `'`; for a literal one write \\' or put it in double quotes",
            );
        };
        self.crosses_lines(&rest[..length])?;
        self.single_quoted_spans.push(Span::new(self.c.pos, self.c.pos + length));
        self.c.pos += length + 1;
        Ok(&rest[..length])
    }

    /// Stops at a newline inside quotes if bodies of here-documents are pending. They begin at the next
    /// newline *token*, which this is not, but shells have differed on that.
    fn crosses_lines(&self, text: &str) -> Read<()> {
        if !self.pending.is_empty() && text.contains('\n') {
            return Stop::unsure(Unmodelled::HereDocument);
        }
        Ok(())
    }

    fn double_quoted(&mut self, builder: &mut Builder) -> Read<()> {
        let open = self.c.pos;
        self.c.pos += 1;
        let pieces = builder.pieces.len();
        // An empty pair of quotes makes a part too; following text is merged into it.
        builder.part(WordPart::Quoted(String::new()));
        loop {
            let start = self.c.pos;
            match self.c.peek() {
                None => {
                    return Stop::wrong(
                        "this double quote is never closed",
                        Span::new(open, open + 1),
                        "close it with another `\"`; for a literal one write \\\"",
                    );
                }
                Some(b'"') => break,
                Some(b'\\') => self.escaped_in_quotes(builder),
                Some(b'$') => self.dollar(true, builder)?,
                Some(b'`') => self.backquoted(true, builder)?,
                Some(_) => {
                    if let Some(c) = self.c.take_char() {
                        builder.quoted_char(c);
                    }
                }
            }
            self.crosses_lines(&self.c.text[start..self.c.pos])?;
        }
        self.c.pos += 1;
        let empty = matches!(builder.pieces.get(pieces), Some(Piece::Done(WordPart::Quoted(text))) if text.is_empty());
        if empty && builder.pieces.len() > pieces + 1 {
            builder.pieces.remove(pieces);
        }
        builder.last_bare = None;
        Ok(())
    }

    /// Reads a backslash within double quotes: it is literal, except before the four bytes that are special
    /// there.
    fn escaped_in_quotes(&mut self, builder: &mut Builder) {
        self.c.pos += 1;
        match self.c.raw() {
            Some(b @ (b'$' | b'`' | b'"' | b'\\')) => {
                self.c.pos += 1;
                builder.quoted_char(char::from(b));
            }
            _ => builder.quoted("\\"),
        }
    }

    /// Reads a construct that begins with `$`.
    pub(crate) fn dollar(&mut self, quoted: bool, builder: &mut Builder) -> Read<()> {
        self.enter()?;
        let read = self.dollar_here(quoted, builder);
        self.leave();
        read
    }

    fn dollar_here(&mut self, quoted: bool, builder: &mut Builder) -> Read<()> {
        let start = self.c.pos;
        self.c.pos += 1;
        match self.c.peek() {
            Some(b'(') => {
                let reason = self.dollar_parenthesis(start)?;
                builder.opaque(reason, self.c.since(start));
            }
            Some(b'{') => self.dollar_brace(start, quoted, builder)?,
            Some(b'[') => {
                self.bash_only()?;
                self.c.pos += 1;
                self.arithmetic(start, b']')?;
                builder.opaque(Reason::Arithmetic, self.c.since(start));
            }
            Some(b'\'') if !quoted => self.ansi_quoted(start, builder)?,
            Some(b'"') if !quoted => {
                self.bash_only()?;
                self.double_quoted(&mut Builder::new(WordContext::Value))?;
                builder.opaque(Reason::Translation, self.c.since(start));
            }
            Some(b) if starts_name(b) => {
                let name = self.name();
                let end = self.c.pos;
                self.variable(name, quoted, Span::new(start, end), builder);
            }
            Some(b'0'..=b'9' | b'?' | b'$' | b'!' | b'#' | b'*' | b'@' | b'-') => {
                self.c.pos += 1;
                builder.opaque(Reason::SpecialParameter, self.c.since(start));
            }
            _ if quoted => builder.quoted("$"),
            _ => builder.bare('$'),
        }
        Ok(())
    }

    /// Reads letters, digits and underscores.
    pub(crate) fn name(&mut self) -> String {
        let mut name = String::new();
        let mut end = self.c.pos;
        while let Some(b) = self.c.peek().filter(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            name.push(char::from(b));
            self.c.pos += 1;
            end = self.c.pos;
        }
        self.c.pos = end;
        name
    }

    fn variable(&self, name: String, quoted: bool, span: Span, builder: &mut Builder) {
        // The shell sets `$_` with every command.
        if name == "_" {
            return builder.opaque(Reason::SpecialParameter, span);
        }
        let quoted = quoted || builder.place != WordContext::Argument;
        builder.part(WordPart::Variable { name, quoted });
    }

    /// Reads `$(…)` or `$((…))`, which starts at `start`, from the first parenthesis on.
    fn dollar_parenthesis(&mut self, start: usize) -> Read<Reason> {
        self.c.eat(b'(');
        if self.c.eat(b'(') {
            self.arithmetic(start, b')')?;
            return Ok(Reason::Arithmetic);
        }
        self.substitution(start)?;
        Ok(Reason::CommandSubstitution)
    }

    /// Reads a list of commands up to the `)` that closes `open`, from after the `(`.
    fn substitution(&mut self, open: usize) -> Read<()> {
        let inside = self.c.pos;
        self.substitutions += 1;
        self.list_until_parenthesis(Span::new(open, inside))?;
        self.substitutions -= 1;
        Ok(())
    }

    /// Reads an arithmetic expression without quotes, from inside it, up to `))` or `]`.
    ///
    /// With another end, `((` may still be two subshells; and the meaning of quotes inside has differed
    /// between releases. Both are left to the shell.
    pub(crate) fn arithmetic(&mut self, open: usize, close: u8) -> Read<()> {
        let inside = self.c.pos;
        if Span::new(open, inside).of(self.c.text).contains('\n') {
            return Stop::unsure(Unmodelled::Nesting);
        }
        let mut depth = 0_usize;
        while let Some(byte) = self.c.peek() {
            match byte {
                // In `$[…]` bash does not look for the end of an inner `${`.
                b'$' if close == b']' && !self.c.peek_second().is_some_and(starts_name) => {
                    return Stop::unsure(Unmodelled::Nesting);
                }
                b'$' => match self.dollar(true, &mut Builder::new(WordContext::Value)) {
                    Err(Stop::Wrong { .. }) => return Stop::unsure(Unmodelled::Nesting),
                    read => read?,
                },
                b'(' => {
                    depth += 1;
                    self.c.pos += 1;
                }
                b')' if depth > 0 => {
                    depth -= 1;
                    self.c.pos += 1;
                }
                b')' | b']' if byte == close => {
                    self.c.pos += 1;
                    // The second parenthesis must directly follow the first, without even a line continuation
                    // between them.
                    if close == b')' {
                        if self.c.raw() != Some(b')') {
                            return Stop::unsure(Unmodelled::Nesting);
                        }
                        self.c.pos += 1;
                    }
                    return Ok(());
                }
                b'\n' if self.pending.is_empty() => self.c.pos += 1,
                b'[' | b']' if close == b']' => return Stop::unsure(Unmodelled::Nesting),
                b if b.is_ascii_alphanumeric() || b" \t_+-*/%<>=!&|^~?:,[].@#;".contains(&b) => {
                    self.c.pos += 1
                }
                _ => return Stop::unsure(Unmodelled::Nesting),
            }
        }
        let opening = Span::new(open, inside);
        let message = format!("this `{}` is never closed", opening.of(self.c.text));
        let help = if close == b')' { "close it with `))`" } else { "close it with `]`" };
        Stop::wrong(message, opening, help)
    }

    fn dollar_brace(&mut self, start: usize, quoted: bool, builder: &mut Builder) -> Read<()> {
        self.c.eat(b'{');
        if self.c.peek().is_some_and(starts_name) {
            let name = self.name();
            if self.c.eat(b'}') {
                let end = self.c.pos;
                self.variable(name, quoted, Span::new(start, end), builder);
                return Ok(());
            }
        } else if matches!(self.c.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            // Newer shells run commands in `${ …; }`.
            return Stop::unsure(Unmodelled::RareForm);
        }
        // dash reads a bad substitution as a word, and fails when it runs it.
        let inside = self.braced(start, quoted);
        self.only_bash_refuses(inside)?;
        if self.dialect == Dialect::Posix && !plain_posix_operator(self.c.since(start).of(self.c.text)) {
            return Stop::unsure(Unmodelled::Dialect);
        }
        builder.opaque(Reason::ParameterOperator, self.c.since(start));
        Ok(())
    }

    /// Reads the rest of `${…}` after its name.
    fn braced(&mut self, start: usize, quoted: bool) -> Read<()> {
        self.enter()?;
        let mut ignored = Builder::new(WordContext::Value);
        loop {
            match self.c.peek() {
                None => {
                    let opening = Span::new(start, start + 2);
                    return Stop::wrong("this `${` is never closed", opening, "close it with `}`");
                }
                Some(b'}') => break,
                Some(b'\'' | b'"') if quoted => return Stop::unsure(Unmodelled::Nesting),
                Some(b'\'') => drop(self.single_quoted()?),
                Some(b'"') => self.double_quoted(&mut ignored)?,
                Some(b'\\') => self.escaped(&mut ignored)?,
                Some(b'`') => self.backquoted(quoted, &mut ignored)?,
                Some(b'$') if matches!(self.c.peek_second(), Some(b'\'' | b'"')) => {
                    return Stop::unsure(Unmodelled::Nesting);
                }
                Some(b'$') => self.dollar(quoted, &mut ignored)?,
                Some(b'{' | b'<' | b'>' | b'(' | b')') => return Stop::unsure(Unmodelled::Nesting),
                Some(b'\n') if !self.pending.is_empty() => return Stop::unsure(Unmodelled::HereDocument),
                Some(_) => drop(self.c.take_char()),
            }
        }
        self.c.pos += 1;
        self.leave();
        Ok(())
    }

    /// Reads `` `…` ``, which ends at the next backquote without a backslash, whatever is between. `quoted`: inside of
    /// double quotes.
    pub(crate) fn backquoted(&mut self, quoted: bool, builder: &mut Builder) -> Read<()> {
        let start = self.c.pos;
        self.c.pos += 1;
        loop {
            match self.c.take_char() {
                None => {
                    return Stop::wrong(
                        "this backquote is never closed",
                        Span::new(start, start + 1),
                        "close it with another one, or write $( … )",
                    );
                }
                Some('`') => break,
                Some('\\') => drop(self.c.take_char()),
                Some(_) => {}
            }
        }
        let span = self.c.since(start);
        self.crosses_lines(span.of(self.c.text))?;
        let inside = Span::new(start + 1, span.end - 1);
        let is_plain = !inside.of(self.c.text).contains(['\\', '\n']);
        // bash parses the content when it runs it, dash at once.
        match self.dialect {
            Dialect::Bash | Dialect::Zsh if is_plain => drop(self.commands_in_backquotes(inside)),
            Dialect::Bash | Dialect::Zsh => {}
            Dialect::Posix => {
                let read = match is_plain {
                    true => self.commands_in_backquotes(inside),
                    false => {
                        let text = without_escapes(inside.of(self.c.text), quoted);
                        self.reads_all_of(&mut Reader::new(&text, self.dialect))
                    }
                };
                self.only_bash_refuses(read)?;
            }
        }
        builder.opaque(Reason::CommandSubstitution, span);
        Ok(())
    }

    /// Reads commands that stand between two backquotes as the shell reads them, and records their pipelines.
    fn commands_in_backquotes(&mut self, inside: Span) -> Read<()> {
        let mut reader = Reader::new(&self.c.text[..inside.end], self.dialect);
        reader.c.pos = inside.start;
        reader.loop_variables.clone_from(&self.loop_variables);
        reader.function_from = self.function_from.map(|_| 0);
        self.reads_all_of(&mut reader)?;
        self.assigned.extend(reader.assigned);
        self.nested.extend(reader.nested.into_iter().map(|one| Nested { backquoted: true, ..one }));
        Ok(())
    }

    /// Reads a list of commands in a substitution to the end of the text.
    fn reads_all_of(&self, reader: &mut Reader<'_>) -> Read<()> {
        reader.substitutions = self.substitutions + 1;
        reader.nest_as_deep_as(self)?;
        reader.list()?;
        if reader.c.peek().is_some() { reader.unexpected() } else { Ok(()) }
    }

    /// Reads `$'…'` with bash's escapes, from the quote on.
    fn ansi_quoted(&mut self, start: usize, builder: &mut Builder) -> Read<()> {
        self.bash_only()?;
        let open = self.c.pos;
        self.c.pos += 1;
        let inside = self.c.pos;
        loop {
            match self.c.take_char() {
                None => {
                    let opening = Span::new(start, open + 1);
                    return Stop::wrong("this `$'` is never closed", opening, "close it with another `'`");
                }
                Some('\'') => break,
                Some('\\') => drop(self.c.take_char()),
                Some(_) => {}
            }
        }
        let escapes = &self.c.text[inside..self.c.pos - 1];
        self.crosses_lines(escapes)?;
        match crate::ansi::decode(escapes) {
            Some(text) => builder.quoted(&text),
            None => builder.opaque(Reason::AnsiString, self.c.since(start)),
        }
        Ok(())
    }
}

/// Returns what stands between backquotes without the backslashes that only escape there; `quoted`: inside of double
/// quotes.
fn without_escapes(written: &str, quoted: bool) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written.chars().peekable();
    while let Some(c) = rest.next() {
        let escapes = |next: &char| matches!(next, '\\' | '`' | '$') || quoted && *next == '"';
        match rest.peek() {
            Some('\n') if c == '\\' => drop(rest.next()),
            Some(next) if c == '\\' && escapes(next) => text.extend(rest.next()),
            _ => text.push(c),
        }
    }
    text
}

/// Whether the operator is `${NAME-word}` or another one of POSIX: dash rejects all others while it parses.
fn plain_posix_operator(text: &str) -> bool {
    let inside = text.trim_start_matches("${").trim_end_matches('}');
    let length = inside.strip_prefix('#').filter(|name| !name.is_empty());
    let name_end = |s: &str| s.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(s.len());
    let subject = length.unwrap_or(inside);
    let end = name_end(subject);
    if end == 0 {
        return false;
    }
    let operator = &subject[end..];
    if length.is_some() {
        return operator.is_empty();
    }
    let operator = operator.strip_prefix(':').unwrap_or(operator);
    operator.is_empty() && subject.len() == end
        || operator.starts_with(['-', '=', '?', '+'])
        || operator.starts_with(['#', '%']) && !subject[end..].starts_with(':')
}
