//! The grammar of commands, read strictly: constructs with any doubt are left out.
//!
//! Each function reads one production of the shell's grammar from the cursor on. There are three outcomes: a
//! part of the tree; [`Stop::Wrong`], where every shell of the dialect rejects the text; [`Stop::Unsure`]
//! otherwise. The text between the parts is consumed in this module only, so no text is overlooked.

use crate::cursor::ends_word;
use crate::error::{Read, Stop};
use crate::reader::Reader;
use crate::word::WordContext;
use crate::{
    AndOr, Assigned, Command, CompoundKind, Connector, Dialect, Item, Nested, Pipeline, Redirect, Script,
    Simple, Stage, Unmodelled, Word,
};
use pelton_record::Span;

/// Maximum number of `!` and `time` before a pipeline.
const PREFIXES_MAX: usize = 8;

/// Keywords that end a part of a compound command, where a command may begin.
const CLOSERS: [&str; 8] = ["}", "then", "do", "done", "fi", "elif", "else", "esac"];

impl Reader<'_> {
    /// Reads the whole text.
    pub(crate) fn script(&mut self) -> Read<Script> {
        let mut items = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.c.peek().is_none() {
                break;
            }
            self.line(&mut items)?;
        }
        if !self.pending.is_empty() {
            return Stop::unsure(Unmodelled::HereDocument);
        }
        for item in &mut items {
            self.place_bodies(item);
        }
        // A text with two possible readings is read twice, so its pipelines are recorded twice.
        let mut nested = std::mem::take(&mut self.nested);
        nested.sort_by_key(|one| (one.pipeline.span.start, one.pipeline.span.end));
        nested.dedup();
        Ok(Script { items, nested, assigned: std::mem::take(&mut self.assigned) })
    }

    /// Reads one complete command: everything up to a newline that ends it.
    fn line(&mut self, items: &mut Vec<Item>) -> Read<()> {
        loop {
            let mut item = self.item()?;
            self.skip_gap();
            let separated = self.separator(&mut item)?;
            self.note_assignments(&item);
            items.push(item);
            self.skip_gap();
            match self.c.peek() {
                None => return Ok(()),
                Some(b'\n') => {
                    self.newline()?;
                    self.line_done = true;
                    return Ok(());
                }
                Some(_) if separated => {}
                Some(_) => return self.unexpected(),
            }
        }
    }

    /// Steps over `;` or `&` after an item.
    fn separator(&mut self, item: &mut Item) -> Read<bool> {
        match self.c.peek() {
            Some(b';') if matches!(self.c.peek_second(), Some(b';' | b'&')) => Ok(false),
            Some(b';') => {
                self.c.pos += 1;
                Ok(true)
            }
            Some(b'&') => {
                self.c.pos += 1;
                item.background = true;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Reads the commands within a compound, up to the token that ends them, which is left for the caller.
    pub(crate) fn list(&mut self) -> Read<Vec<Item>> {
        let before = self.assigned.len();
        let items = self.items_of_list();
        if items.is_err() {
            self.assigned.truncate(before);
        }
        let end = self.c.pos;
        let open = self.assigned[before..].iter_mut().filter(|one| one.scope.end == usize::MAX);
        open.for_each(|one| one.scope.end = end);
        items
    }

    fn items_of_list(&mut self) -> Read<Vec<Item>> {
        self.enter()?;
        let mut items = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.at_list_end() {
                break;
            }
            let mut item = self.item()?;
            self.skip_gap();
            let separated = self.separator(&mut item)?;
            self.note_nested(&item);
            self.note_assignments(&item);
            items.push(item);
            if !separated && self.c.peek() != Some(b'\n') {
                break;
            }
        }
        self.leave();
        Ok(items)
    }

    /// Notes the variables that are set once this item of a list has run, whatever came of it.
    fn note_assignments(&mut self, item: &Item) {
        let [stage] = item.and_or.first.stages.as_slice() else { return };
        let Some(simple) = stage.simple().filter(|_| !item.background && stage.redirects.is_empty()) else {
            return;
        };
        let text = self.c.text;
        let names: Vec<Option<&str>> = match simple.words.split_first() {
            None => simple.assignments.iter().map(|one| plainly_assigned(one.span.of(text))).collect(),
            Some((command, words)) => match command.static_text().as_deref() {
                Some("export" | "readonly") => {
                    words.iter().map(|one| plainly_assigned(one.span.of(text))).collect()
                }
                Some("local") if self.function_from.is_some() => {
                    words.iter().map(|one| plainly_assigned(one.span.of(text))).collect()
                }
                _ => return,
            },
        };
        // One that fails ends a command early.
        if let Some(names) = names.into_iter().collect::<Option<Vec<_>>>() {
            let scope = Span::new(item.span.end, usize::MAX);
            self.assigned.extend(names.into_iter().map(|name| Assigned { name: name.to_owned(), scope }));
        }
    }

    /// Ends the scopes of what the open function has assigned: one that it defines may run when its local variables are gone.
    pub(crate) fn end_scopes_of_function(&mut self) {
        let Some(from) = self.function_from else { return };
        let end = self.c.pos;
        self.assigned[from..].iter_mut().for_each(|one| one.scope.end = one.scope.end.min(end));
    }

    fn note_nested(&mut self, item: &Item) {
        let pipelines = item.and_or.pipelines().map(|pipeline| Nested {
            pipeline: pipeline.clone(),
            background: item.background,
            substitutions: self.substitutions,
            backquoted: false,
            in_here_document: false,
            loop_variables: self.loop_variables.clone(),
        });
        self.nested.extend(pipelines);
    }

    fn at_list_end(&mut self) -> bool {
        match self.c.peek() {
            None | Some(b')') => true,
            // `;;` ends the list of a case, even on a separate line.
            Some(b';') => matches!(self.c.peek_second(), Some(b';' | b'&')),
            Some(_) => self.at_closer(),
        }
    }

    fn at_closer(&self) -> bool {
        self.keyword().is_some_and(|word| CLOSERS.contains(&word.as_str()))
    }

    /// Reads the list within `$( … )`, `<( … )` or `( … )`, and the closing parenthesis.
    pub(crate) fn list_until_parenthesis(&mut self, open: Span) -> Read<usize> {
        let items = self.list()?;
        match self.c.peek() {
            Some(b')') => {
                self.c.pos += 1;
                Ok(items.len())
            }
            None => {
                let message = format!("this `{}` is never closed", open.of(self.c.text));
                Stop::wrong(message, open, "close it with `)`")
            }
            Some(_) => self.unexpected(),
        }
    }

    fn item(&mut self) -> Read<Item> {
        self.c.peek();
        let start = self.c.pos;
        let first = self.pipeline()?;
        let mut end = first.span.end;
        let mut rest = Vec::new();
        loop {
            self.skip_gap();
            let at = self.c.pos;
            let connector = match (self.c.peek(), self.c.peek_second()) {
                (Some(b'&'), Some(b'&')) => Connector::And,
                (Some(b'|'), Some(b'|')) => Connector::Or,
                _ => break,
            };
            self.c.pos += 1;
            self.c.peek();
            self.c.pos += 1;
            let operator = self.c.since(at);
            self.skip_newlines()?;
            self.operand(operator, if connector == Connector::And { "&&" } else { "||" })?;
            let next = self.pipeline()?;
            end = next.span.end;
            rest.push((connector, next));
        }
        Ok(Item { and_or: AndOr { first, rest }, background: false, span: Span::new(start, end) })
    }

    /// Rejects an operator that nothing follows.
    fn operand(&mut self, operator: Span, name: &str) -> Read<()> {
        match self.c.peek() {
            None => Stop::wrong(
                if name == "|" {
                    "nothing follows this pipe".into()
                } else {
                    format!("nothing follows this `{name}`")
                },
                operator,
                "add the command that should follow it",
            ),
            Some(b'&') if self.c.peek_second() == Some(b'>') => Ok(()),
            Some(b';' | b'&' | b'|' | b')') => {
                let help = format!("`{name}` needs a command on its right");
                Stop::wrong(format!("unexpected {}", self.token_name()), self.token_span(), &help)
            }
            Some(_) => Ok(()),
        }
    }

    fn pipeline(&mut self) -> Read<Pipeline> {
        self.c.peek();
        let start = self.c.pos;
        let (negated, timed) = self.prefixes()?;
        let mut stages = vec![self.stage()?];
        loop {
            self.skip_gap();
            let at = self.c.pos;
            let pipes_stderr = match (self.c.peek(), self.c.peek_second()) {
                (Some(b'|'), Some(b'|')) | (None, _) => break,
                (Some(b'|'), Some(b'&')) => true,
                (Some(b'|'), _) => false,
                _ => break,
            };
            self.c.pos += 1;
            if pipes_stderr {
                self.bash_only()?;
                self.c.eat(b'&');
            }
            let operator = self.c.since(at);
            self.skip_newlines()?;
            self.operand(operator, if pipes_stderr { "|&" } else { "|" })?;
            let begins_a_line = self.c.text[operator.end..self.c.pos].contains('\n');
            if begins_a_line && self.keyword().as_deref() == Some("time") {
                // After one newline bash runs a program called `time`; after two it rejects the text.
                return Stop::unsure(Unmodelled::RareForm);
            }
            if let Some(last) = stages.last_mut() {
                last.pipes_stderr = pipes_stderr;
            }
            stages.push(self.stage()?);
        }
        let end = stages.last().map_or(start, |stage| stage.span.end);
        Ok(Pipeline { negated, timed, stages, span: Span::new(start, end) })
    }

    /// Reads any `!` and `time [-p] [--]` before a pipeline.
    fn prefixes(&mut self) -> Read<(bool, bool)> {
        let (mut negations, mut timed) = (0_usize, false);
        for count in 0.. {
            if count > PREFIXES_MAX {
                return Stop::unsure(Unmodelled::Size);
            }
            match self.keyword().as_deref() {
                Some("!") => {
                    self.take_keyword("!");
                    if self.c.peek() == Some(b'(') {
                        return Stop::unsure(Unmodelled::ExtendedPattern);
                    }
                    negations += 1;
                }
                Some("time") if self.dialect == Dialect::Bash => {
                    self.take_keyword("time");
                    self.c.skip_blanks();
                    self.take_keyword("-p");
                    self.c.skip_blanks();
                    if self.keyword().as_deref() == Some("--") {
                        // bash then reports in the format of -p.
                        return Stop::unsure(Unmodelled::RareForm);
                    }
                    self.c.skip_blanks();
                    if self.substitutions > 0 && self.c.peek() == Some(b'(') {
                        // bash rejects `$(time (a))`.
                        return Stop::unsure(Unmodelled::RareForm);
                    }
                    timed = true;
                }
                _ => break,
            }
            self.c.skip_blanks();
            if self.c.peek().is_none_or(|b| b != b'(' && b != b'<' && b != b'>' && ends_word(b) || b == b'#')
            {
                return Stop::unsure(Unmodelled::EmptyPipeline);
            }
        }
        // POSIX allows one `!`; releases of dash differ on more.
        if negations > 1 && self.dialect == Dialect::Posix {
            return Stop::unsure(Unmodelled::Dialect);
        }
        Ok((negations % 2 == 1, timed))
    }

    fn stage(&mut self) -> Read<Stage> {
        self.enter()?;
        self.c.peek();
        let start = self.c.pos;
        let (command, redirects, end) = match self.compound()? {
            Some((command, end)) => {
                let (redirects, end) = self.trailing_redirects(end)?;
                (command, redirects, end)
            }
            None => self.simple()?,
        };
        self.leave();
        Ok(Stage { command, redirects, pipes_stderr: false, span: Span::new(start, end) })
    }

    /// Reads redirections after a compound command. A word may follow only if it is a keyword and no
    /// redirection came first.
    pub(crate) fn trailing_redirects(&mut self, mut end: usize) -> Read<(Vec<Redirect>, usize)> {
        let mut redirects = Vec::new();
        loop {
            self.c.skip_blanks();
            match self.redirect()? {
                Some(redirect) => {
                    end = redirect.span.end;
                    redirects.push(redirect);
                }
                None => break,
            }
        }
        let word_follows = self.c.peek().is_some_and(|b| !ends_word(b) && b != b'#' || b == b'(');
        let closes = redirects.is_empty() && self.at_closer();
        if word_follows && !closes {
            return self.unexpected();
        }
        if closes && self.dialect == Dialect::Posix {
            return Stop::unsure(Unmodelled::Dialect);
        }
        Ok((redirects, end))
    }

    /// Reads a simple command, or the definition of a function by `NAME ()`.
    fn simple(&mut self) -> Read<(Command, Vec<Redirect>, usize)> {
        let mut simple = Simple { assignments: Vec::new(), words: Vec::new() };
        let mut redirects = Vec::new();
        let mut end = self.c.pos;
        loop {
            self.c.skip_blanks();
            if self.c.peek() == Some(b'#') {
                break;
            }
            if let Some(redirect) = self.redirect()? {
                end = redirect.span.end;
                redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                end = assignment.span.end;
                simple.assignments.push(assignment);
                continue;
            }
            let Some(word) = self.argument(&simple.words)? else { break };
            end = word.span.end;
            simple.words.push(word);
            let alone = simple.words.len() == 1 && simple.assignments.is_empty() && redirects.is_empty();
            if alone && self.at_function_parenthesis() {
                let (command, end) = self.function_by_parentheses(&simple.words[0])?;
                let (redirects, end) = self.trailing_redirects(end)?;
                return Ok((command, redirects, end));
            }
        }
        let empty = simple.words.is_empty() && simple.assignments.is_empty() && redirects.is_empty();
        if empty || self.c.peek() == Some(b'(') {
            return self.unexpected();
        }
        Ok((Command::Simple(simple), redirects, end))
    }

    fn at_function_parenthesis(&mut self) -> bool {
        self.c.skip_blanks();
        self.c.peek() == Some(b'(')
    }

    /// Reads a word of a command, given the words before it.
    fn argument(&mut self, before: &[Word]) -> Read<Option<Word>> {
        let start = self.c.pos;
        let Some(mut word) = self.word(WordContext::Argument)? else { return Ok(None) };
        if self.c.peek() == Some(b'(') && word.span.of(self.c.text).ends_with('=') {
            // An array if the command is a declaration, otherwise an error. Both are rare.
            return Stop::unsure(Unmodelled::RareForm);
        }
        if crate::assign::is_declaration(before)
            && crate::assign::looks_assigned(&word)
            && word.static_text().is_none()
        {
            // Whether the value expands as in an assignment depends on the release.
            let span = self.span_of(start, &word);
            word.parts = vec![crate::WordPart::Opaque { reason: crate::Reason::Array, span }];
        }
        Ok(Some(word))
    }

    fn span_of(&self, start: usize, word: &Word) -> Span {
        Span::new(start.min(word.span.end), word.span.end)
    }

    /// Steps over blanks and a comment.
    pub(crate) fn skip_gap(&mut self) {
        self.c.skip_blanks();
        self.c.skip_comment();
    }

    /// Steps over blanks, comments and newlines.
    pub(crate) fn skip_newlines(&mut self) -> Read<()> {
        loop {
            self.skip_gap();
            if self.c.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Returns the compound command that an opening keyword starts.
    pub(crate) fn kind_of(word: &str) -> Option<CompoundKind> {
        Some(match word {
            "{" => CompoundKind::Group,
            "for" => CompoundKind::For,
            "while" => CompoundKind::While,
            "until" => CompoundKind::Until,
            "if" => CompoundKind::If,
            "case" => CompoundKind::Case,
            "select" => CompoundKind::Select,
            "[[" => CompoundKind::Test,
            "coproc" => CompoundKind::Coproc,
            _ => return None,
        })
    }
}

/// Returns the variable to which this assigns one value: it is no array, no element, and nothing is appended.
fn plainly_assigned(written: &str) -> Option<&str> {
    let (name, value) = written.split_once('=')?;
    (crate::assign::is_name(name) && !value.starts_with('(')).then_some(name)
}
