//! Reads compound commands and functions, to find their end and to check that the shell accepts them; keeps
//! no tree of them.

use crate::error::{Read, Stop};
use crate::reader::Reader;
use crate::word::WordContext;
use crate::{Command, Compound, CompoundKind, Dialect, Unmodelled, Word};
use pelton_record::Span;

/// Whether parentheses, braces and quotes that begin in a text end in it.
fn is_balanced(text: &str) -> bool {
    let count = |byte: char| text.matches(byte).count();
    count('(') == count(')')
        && count('{') == count('}')
        && ['"', '\'', '`'].iter().all(|quote| count(*quote) % 2 == 0)
}

impl<'t> Reader<'t> {
    /// Reads the compound command or `function` that begins here, if one does. Returns it and its end.
    pub(crate) fn compound(&mut self) -> Read<Option<(Command, usize)>> {
        self.enter()?;
        let found = self.compound_here();
        self.leave();
        found
    }

    fn compound_here(&mut self) -> Read<Option<(Command, usize)>> {
        let start = self.c.pos;
        if self.c.peek() == Some(b'(') {
            let kind = self.parenthesis()?;
            return Ok(Some(self.made(kind, start)));
        }
        let Some(word) = self.keyword() else { return Ok(None) };
        match word.as_str() {
            "function" => return self.function_by_keyword().map(Some),
            "!" => {
                self.bash_only()?;
                return self.unexpected();
            }
            "then" | "do" | "done" | "fi" | "elif" | "else" | "esac" | "}" => return self.unexpected(),
            "in" | "]]" => {
                self.bash_only()?;
                return self.unexpected();
            }
            _ => {}
        }
        let Some(kind) = Self::kind_of(&word) else { return Ok(None) };
        if matches!(kind, CompoundKind::Select | CompoundKind::Test | CompoundKind::Coproc) {
            self.bash_only()?;
        }
        self.take_keyword(&word);
        let open = Span::new(start, self.c.pos);
        self.body(kind, open)?;
        Ok(Some(self.made(kind, start)))
    }

    fn made(&self, kind: CompoundKind, start: usize) -> (Command, usize) {
        let span = self.c.since(start);
        (Command::Compound(Compound { kind, span }), span.end)
    }

    fn body(&mut self, kind: CompoundKind, open: Span) -> Read<()> {
        match kind {
            CompoundKind::Group => {
                self.some_commands(open, "}")?;
                self.close("}", open)
            }
            CompoundKind::While | CompoundKind::Until => {
                self.some_commands(open, "done")?;
                self.do_group(open)
            }
            CompoundKind::If => self.if_clauses(open),
            CompoundKind::For | CompoundKind::Select => self.for_loop(kind, open),
            CompoundKind::Case => self.case(open),
            CompoundKind::Test => self.test(),
            CompoundKind::Coproc => self.coprocess(),
            CompoundKind::Subshell | CompoundKind::Arithmetic | CompoundKind::Unmodelled(_) => Ok(()),
        }
    }

    /// Reads `( … )` or `(( … ))`.
    fn parenthesis(&mut self) -> Read<CompoundKind> {
        let start = self.c.pos;
        self.c.eat(b'(');
        let open = self.c.since(start);
        if self.c.peek() == Some(b'(') {
            self.bash_only()?;
            self.c.pos += 1;
            self.arithmetic(start, b')')?;
            return Ok(CompoundKind::Arithmetic);
        }
        let commands = self.list_until_parenthesis(open)?;
        if commands == 0 {
            let end = self.c.pos;
            return Stop::wrong("no command stands between these parentheses", Span::new(end - 1, end), "");
        }
        Ok(CompoundKind::Subshell)
    }

    /// Reads at least one command, within the construct that began at `open` and ends with `end`.
    fn some_commands(&mut self, open: Span, end: &str) -> Read<()> {
        let items = self.list()?;
        if !items.is_empty() {
            return Ok(());
        }
        if self.c.peek().is_none() {
            return self.never_closed(open, end);
        }
        self.unexpected()
    }

    /// Reads the keyword that ends the construct that began at `open`.
    fn close(&mut self, end: &str, open: Span) -> Read<()> {
        if self.take_keyword(end) {
            return Ok(());
        }
        if self.c.peek().is_none() {
            return self.never_closed(open, end);
        }
        self.unexpected()
    }

    fn never_closed<T>(&self, open: Span, end: &str) -> Read<T> {
        let word = open.of(self.c.text).replace("\\\n", "");
        let help = match end {
            "}" => {
                "close it with `}` where a command may begin: after `;` or on a line of its own".to_owned()
            }
            _ => format!(
                "`{end}` is missing; it counts where a command may begin: after `;` or on a line of its own"
            ),
        };
        Stop::wrong(format!("this `{word}` is never closed"), open, &help)
    }

    fn do_group(&mut self, open: Span) -> Read<()> {
        self.close("do", open)?;
        self.some_commands(open, "done")?;
        self.close("done", open)
    }

    fn if_clauses(&mut self, open: Span) -> Read<()> {
        self.some_commands(open, "fi")?;
        self.close("then", open)?;
        self.some_commands(open, "fi")?;
        while self.take_keyword("elif") {
            self.some_commands(open, "fi")?;
            self.close("then", open)?;
            self.some_commands(open, "fi")?;
        }
        if self.take_keyword("else") {
            self.some_commands(open, "fi")?;
        }
        self.close("fi", open)
    }

    fn for_loop(&mut self, kind: CompoundKind, open: Span) -> Read<()> {
        self.c.skip_blanks();
        if kind == CompoundKind::For && self.c.peek() == Some(b'(') {
            return self.arithmetic_for(open);
        }
        let plain =
            self.word(WordContext::Value)?.filter(|w| w.is_plain_name()).and_then(|w| w.static_text());
        let Some(name) = plain.filter(|name| crate::assign::is_name(name)) else {
            return Stop::unsure(Unmodelled::RareForm);
        };
        self.c.skip_blanks();
        if self.c.peek() == Some(b';') {
            self.c.pos += 1;
            self.skip_newlines()?;
        } else if self.c.peek() == Some(b'{') {
            // A keyword is recognized only after a separator.
            return Stop::unsure(Unmodelled::RareForm);
        } else {
            self.skip_newlines()?;
            if self.take_keyword("in") {
                self.for_words(open)?;
            } else if self.c.peek() == Some(b';') {
                // A `;` on a line of its own: bash refuses it, dash does not.
                self.bash_only()?;
            }
        }
        self.loop_variables.push(name);
        self.loop_body(open)?;
        self.loop_variables.pop();
        Ok(())
    }

    /// Reads the words after `in`, and the `;` or newline that ends them.
    fn for_words(&mut self, open: Span) -> Read<()> {
        loop {
            self.skip_gap();
            if self.word(WordContext::Argument)?.is_none() {
                break;
            }
        }
        match self.c.peek() {
            None => self.never_closed(open, "done"),
            Some(b';') => {
                self.c.pos += 1;
                self.skip_newlines()
            }
            Some(b'\n') => self.skip_newlines(),
            Some(_) => self.unexpected(),
        }
    }

    fn loop_body(&mut self, open: Span) -> Read<()> {
        if self.keyword().as_deref() == Some("{") {
            self.bash_only()?;
            self.take_keyword("{");
            self.some_commands(open, "}")?;
            return self.close("}", open);
        }
        self.do_group(open)
    }

    fn arithmetic_for(&mut self, open: Span) -> Read<()> {
        self.bash_only()?;
        let start = self.c.pos;
        self.c.eat(b'(');
        if !self.c.eat(b'(') {
            return Stop::unsure(Unmodelled::RareForm);
        }
        self.arithmetic(start, b')')?;
        // A semicolon within a command or a string does not count.
        let text = self.c.since(start).of(self.c.text);
        let inside = text.strip_prefix("((").and_then(|text| text.strip_suffix("))")).unwrap_or(text);
        let parts: Vec<&str> = inside.split(';').collect();
        if parts.len() != 3 || !parts.iter().all(|part| is_balanced(part)) {
            return Stop::unsure(Unmodelled::RareForm);
        }
        self.c.skip_blanks();
        self.c.eat(b';');
        self.skip_newlines()?;
        self.loop_body(open)
    }

    fn case(&mut self, open: Span) -> Read<()> {
        self.c.skip_blanks();
        if self.c.peek() == Some(b'#') || self.word(WordContext::Value)?.is_none() {
            return Stop::unsure(Unmodelled::RareForm);
        }
        self.skip_newlines()?;
        self.close("in", open)?;
        loop {
            self.skip_newlines()?;
            if self.take_keyword("esac") {
                return Ok(());
            }
            if self.c.peek().is_none() {
                return self.never_closed(open, "esac");
            }
            self.case_patterns()?;
            self.list()?;
            if !self.case_terminator()? {
                return self.close("esac", open);
            }
        }
    }

    fn case_patterns(&mut self) -> Read<()> {
        if self.c.eat(b'(') {
            self.c.skip_blanks();
            if self.keyword().as_deref() == Some("esac") {
                return Stop::unsure(Unmodelled::RareForm);
            }
        }
        loop {
            self.c.skip_blanks();
            // Within braces bash takes the pattern `}` for their end.
            let is_brace = self.keyword().as_deref() == Some("}");
            let none = self.c.peek() == Some(b'#') || self.word(WordContext::Value)?.is_none();
            if none || is_brace {
                return Stop::unsure(Unmodelled::RareForm);
            }
            self.c.skip_blanks();
            if self.c.eat(b')') {
                return Ok(());
            }
            if self.c.peek_second() == Some(b'|') || !self.c.eat(b'|') {
                return Stop::unsure(Unmodelled::RareForm);
            }
        }
    }

    /// Reads `;;`, or in bash `;&` or `;;&`.
    fn case_terminator(&mut self) -> Read<bool> {
        if self.c.peek() != Some(b';') {
            return Ok(false);
        }
        self.c.pos += 1;
        let double = self.c.eat(b';');
        if self.c.peek() == Some(b'&') {
            self.bash_only()?;
            self.c.pos += 1;
        } else if !double {
            return Stop::unsure(Unmodelled::RareForm);
        }
        Ok(true)
    }

    /// Reads `coproc` before a compound command. Before a simple command its first word may be a name, which
    /// is rare.
    fn coprocess(&mut self) -> Read<()> {
        self.c.skip_blanks();
        let start = self.c.pos;
        if self.keyword().as_deref() == Some("coproc") {
            return Stop::unsure(Unmodelled::RareForm);
        }
        match self.compound()? {
            Some((Command::Compound(_), end)) => {
                let (redirects, _) = self.trailing_redirects(end)?;
                if redirects.is_empty() { Ok(()) } else { Stop::unsure(Unmodelled::RareForm) }
            }
            _ => {
                self.c.pos = start;
                Stop::unsure(Unmodelled::RareForm)
            }
        }
    }

    /// Reads `function NAME [()] COMPOUND`.
    fn function_by_keyword(&mut self) -> Read<(Command, usize)> {
        self.bash_only()?;
        self.take_keyword("function");
        self.c.skip_blanks();
        let Some(word) = self.word(WordContext::Value)? else { return Stop::unsure(Unmodelled::RareForm) };
        self.c.skip_blanks();
        // `function f (a)` has a subshell as body; `function f ()` needs another body.
        let parentheses = self.c.peek() == Some(b'(');
        if parentheses {
            self.c.pos += 1;
            self.c.skip_blanks();
            if !self.c.eat(b')') {
                return Stop::unsure(Unmodelled::RareForm);
            }
        }
        self.function_body(&word)
    }

    /// Reads the rest of `NAME ()` from the parenthesis on.
    pub(crate) fn function_by_parentheses(&mut self, word: &Word) -> Read<(Command, usize)> {
        let open = self.c.pos;
        self.c.pos += 1;
        self.c.skip_blanks();
        if !self.c.eat(b')') {
            let help = "quote it if it is meant literally: '('";
            return Stop::wrong("unexpected `(`", Span::new(open, open + 1), help);
        }
        self.function_body(word)
    }

    fn function_body(&mut self, word: &Word) -> Read<(Command, usize)> {
        let name = word.static_text().filter(|_| word.is_plain_name());
        self.end_scopes_of_function();
        let valid = |name: &String| match self.dialect {
            Dialect::Bash | Dialect::Zsh => crate::assign::is_name(&name.replace('-', "_")),
            Dialect::Posix => crate::assign::is_name(name),
        };
        let Some(name) = name.filter(valid) else {
            return Stop::unsure(Unmodelled::RareForm);
        };
        self.skip_newlines()?;
        let body = self.c.text.get(self.c.pos..).unwrap_or_default();
        if body.strip_prefix('(').is_some_and(redirects_to_brace) {
            // bash takes the brace for the beginning of a group.
            return Stop::unsure(Unmodelled::RareForm);
        }
        let outer = self.function_from.replace(self.assigned.len());
        let body = self.compound();
        self.function_from = outer;
        match body? {
            Some((Command::Compound(body), end)) if body.kind != CompoundKind::Coproc => {
                Ok((Command::Function { name }, end))
            }
            _ if self.dialect == Dialect::Bash && self.c.peek().is_none() => {
                Stop::wrong(format!("the function `{name}` has no body"), word.span, "add { …; }")
            }
            _ => Stop::unsure(Unmodelled::RareForm),
        }
    }
}

/// Whether a text begins with a redirection, and its file with `{`.
fn redirects_to_brace(text: &str) -> bool {
    let operator = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\\' || c.is_ascii_digit());
    let file = operator.trim_start_matches(['<', '>', '&', '|']);
    file.len() < operator.len() && file.trim_start_matches([' ', '\t', '\\', '\n']).starts_with('{')
}
