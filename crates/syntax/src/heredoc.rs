//! Here-documents: their bodies follow the line that names them.

use crate::error::{Read, Stop};
use crate::reader::{Pending, Reader};
use crate::word::{Builder, WordContext};
use crate::{Dialect, Item, Nested, Reason, RedirectKind, Unmodelled, Word, WordPart};
use pelton_record::Span;

impl<'t> Reader<'t> {
    /// Reads the delimiter after `<<` or `<<-`. Returns a placeholder word for the body.
    pub(crate) fn heredoc(&mut self, delimiter: &Word, strips_tabs: bool) -> Read<Word> {
        if self.substitutions > 0 {
            return Stop::unsure(Unmodelled::HereDocument);
        }
        let raw = delimiter.span.of(self.c.text).replace("\\\n", "");
        let unusual = raw.contains(['$', '`', '\n']);
        let Some(text) = delimiter.static_text().filter(|_| !unusual) else {
            return Stop::unsure(Unmodelled::HereDocument);
        };
        let number = self.bodies.len() + self.pending.len();
        self.pending.push(Pending { delimiter: text, literal: raw.contains(['\'', '"', '\\']), strips_tabs });
        Ok(Word { parts: Vec::new(), span: Span::new(number, number) })
    }

    /// Steps over a newline, and over the bodies that begin after it.
    pub(crate) fn newline(&mut self) -> Read<()> {
        self.c.pos += 1;
        if self.substitutions > 0 && !self.pending.is_empty() {
            return Stop::unsure(Unmodelled::HereDocument);
        }
        for pending in std::mem::take(&mut self.pending) {
            let body = self.heredoc_body(&pending)?;
            self.bodies.push(body);
        }
        Ok(())
    }

    fn heredoc_body(&mut self, pending: &Pending) -> Read<Word> {
        let start = self.c.pos;
        let mut body = String::new();
        loop {
            let line_start = self.c.pos;
            let Some(raw_line) = self.raw_line() else {
                // The shell takes the rest of the text, and warns.
                return Stop::unsure(Unmodelled::HereDocument);
            };
            let line = if pending.strips_tabs { raw_line.trim_start_matches('\t') } else { raw_line };
            let content = line.strip_suffix('\n').unwrap_or(line);
            if content == pending.delimiter {
                let span = Span::new(start, line_start);
                let parts = body_parts(&body, pending.literal, span);
                if parts.iter().any(|part| matches!(part, WordPart::Opaque { .. })) {
                    self.expansions_of(span)?;
                }
                return Ok(Word { parts, span });
            }
            if !pending.literal && content.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1 {
                // The line is joined with the next one, which may be the delimiter.
                return Stop::unsure(Unmodelled::HereDocument);
            }
            body.push_str(line);
        }
    }

    /// Reads the expansions in a body, and records the pipelines in them. dash parses them at once, bash when it runs them:
    /// what bash cannot read fails only then, and nothing in it is known. The tabs that `<<-` strips change no syntax.
    fn expansions_of(&mut self, span: Span) -> Read<()> {
        match self.pipelines_in(span) {
            Ok(nested) => self.nested.extend(nested),
            Err(stop) if self.dialect == Dialect::Posix => self.only_bash_refuses(Err(stop))?,
            Err(_) => {}
        }
        Ok(())
    }

    /// Returns the pipelines in the expansions of a body, which is read as if in double quotes.
    fn pipelines_in(&self, body: Span) -> Read<Vec<Nested>> {
        let mut reader = Reader::new(&self.c.text[..body.end], self.dialect);
        reader.c.pos = body.start;
        reader.substitutions = self.substitutions;
        reader.nest_as_deep_as(self)?;
        let mut ignored = Builder::new(WordContext::Value);
        while let Some(byte) = reader.c.raw() {
            match byte {
                b'$' => reader.dollar(true, &mut ignored)?,
                b'`' => reader.backquoted(true, &mut ignored)?,
                _ => {
                    if reader.c.take_char() == Some('\\') {
                        reader.c.take_char();
                    }
                }
            }
        }
        Ok(reader.nested.into_iter().map(|one| Nested { in_here_document: true, ..one }).collect())
    }

    /// Reads the next line with its newline, as written.
    fn raw_line(&mut self) -> Option<&'t str> {
        let rest = &self.c.text[self.c.pos..];
        if rest.is_empty() {
            return None;
        }
        let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
        self.c.pos += length;
        Some(&rest[..length])
    }

    /// Puts the bodies into their redirections.
    pub(crate) fn place_bodies(&self, item: &mut Item) {
        let rest = item.and_or.rest.iter_mut().map(|(_, pipeline)| pipeline);
        let pipelines = std::iter::once(&mut item.and_or.first).chain(rest);
        let redirects = pipelines.flat_map(|p| &mut p.stages).flat_map(|stage| &mut stage.redirects);
        for redirect in redirects {
            if let RedirectKind::HereDoc(word) = &mut redirect.kind
                && let Some(body) = self.bodies.get(word.span.start)
            {
                *word = body.clone();
            }
        }
    }
}

fn body_parts(body: &str, literal: bool, span: Span) -> Vec<WordPart> {
    if body.is_empty() {
        return Vec::new();
    }
    if literal {
        return vec![WordPart::Quoted(body.to_owned())];
    }
    vec![match unescaped(body) {
        Some(text) => WordPart::Quoted(text),
        None => WordPart::Opaque { reason: Reason::UnusualRedirect, span },
    }]
}

/// Returns the body without quoting backslashes; `None` if something in it expands.
fn unescaped(body: &str) -> Option<String> {
    let mut text = String::with_capacity(body.len());
    let mut rest = body.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '$' | '`' => return None,
            '\\' => text.push(rest.next_if(|next| matches!(next, '$' | '`' | '\\')).unwrap_or('\\')),
            _ => text.push(c),
        }
    }
    Some(text)
}
