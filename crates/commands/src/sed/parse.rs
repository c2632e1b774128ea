//! Parses a script as GNU sed does. Declines its errors: the real sed reports them.

use super::appended_text;
use super::replacement;
use super::script::{Action, Address, Command, End, Hold, Lines, Pattern, Script, Substitute, When};
use super::white_space::{is_blank, is_space};
use crate::{Accept, Declined};

/// A script being parsed.
pub(super) struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    /// Whether the script has several pieces (`-e`), between which only a text may be continued.
    pieces: bool,
    utf8: bool,
    /// Branches: the command's index, and the label. Empty: the end.
    jumps: Vec<(usize, Vec<u8>)>,
    /// Labels: before the command with this index.
    labels: Vec<(Vec<u8>, usize)>,
}

/// Delimiters without a meaning in an expression or a replacement, so that a backslash before one only quotes
/// it.
const PLAIN_DELIMITERS: &[u8] = b"/,:;#%@!=~_\"";

/// Parses a script, pieces joined by newlines.
pub(super) fn parse(text: &[u8], pieces: bool, utf8: bool) -> Accept<Script> {
    if text.contains(&0) {
        return Declined::because("a NUL in the script");
    }
    if utf8 && std::str::from_utf8(text).is_err() {
        return Declined::because("a script that is not valid UTF-8");
    }
    let mut reader = Reader { text, at: 0, pieces, utf8, jumps: Vec::new(), labels: Vec::new() };
    if text.starts_with(b"#n") && !matches!(text.get(2), None | Some(b'\n')) {
        // sed 4.9 treats these as -n too.
        return Declined::because("a first line that begins with #n");
    }
    let mut script = Script { quiet: text == b"#n" || text.starts_with(b"#n\n"), ..Script::default() };
    let mut open = Vec::new();
    loop {
        reader.skip(|byte| byte == b';' || is_space(byte));
        let Some(first) = reader.peek() else { break };
        match first {
            b'#' => reader.skip(|byte| byte != b'\n'),
            b'}' => {
                reader.at += 1;
                let Some(start) = open.pop() else { return Declined::because("an unexpected }") };
                let end = script.commands.len();
                close(&mut script.commands[start], end);
                reader.end_of_command()?;
            }
            b':' => reader.label(script.commands.len())?,
            _ => {
                let command = reader.command(script.commands.len())?;
                if matches!(command.action, Action::Block(_)) {
                    open.push(script.commands.len());
                }
                script.commands.push(command);
            }
        }
    }
    if !open.is_empty() {
        return Declined::because("a { without its }");
    }
    reader.connect(&mut script.commands)?;
    Ok(script)
}

fn close(block: &mut Command, end: usize) {
    block.action = Action::Block(end);
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    fn skip(&mut self, which: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&which) {
            self.at += 1;
        }
    }

    /// Parses digits, if any.
    fn number(&mut self) -> Accept<Option<u64>> {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_digit());
        let digits = &self.text[start..self.at];
        match digits.len() {
            0 => Ok(None),
            1..=15 => Ok(Some(digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))),
            _ => Declined::because("a very large number"),
        }
    }

    /// Parses a command with this index.
    fn command(&mut self, place: usize) -> Accept<Command> {
        let lines = self.lines()?;
        self.skip(is_blank);
        let negated = self.eat(b'!');
        if negated {
            self.skip(is_blank);
        }
        let Some(letter) = self.take() else { return Declined::because("an address without a command") };
        let range = matches!(lines, Lines::Range(..));
        let action = match letter {
            b'{' => Action::Block(0),
            b's' => Action::Substitute(self.substitute()?),
            b'y' => self.translate()?,
            b'a' => Action::Append(self.lines_of_text()?),
            b'i' => Action::Insert(self.lines_of_text()?),
            b'c' => Action::Change(self.lines_of_text()?),
            b'b' => self.jump(place, When::Always)?,
            b't' => self.jump(place, When::Replaced)?,
            b'T' => self.jump(place, When::NotReplaced)?,
            b'l' => self.list()?,
            b'w' => self.print_aside()?,
            b'q' | b'Q' if range => return Declined::because("q with a range"),
            b'q' | b'Q' => self.quit(letter == b'q')?,
            _ => {
                let action = simple(letter)?;
                self.end_of_command()?;
                action
            }
        };
        Ok(Command { lines, negated, action })
    }

    fn lines(&mut self) -> Accept<Lines> {
        let Some(start) = self.address()? else { return Ok(Lines::All) };
        let zero = start == Address::Number(0);
        self.skip(is_blank);
        if !self.eat(b',') {
            return if zero { Declined::because("line 0") } else { Ok(Lines::At(start)) };
        }
        self.skip(is_blank);
        let end = self.range_end()?;
        if zero && !matches!(end, End::Matching(_)) {
            return Declined::because("line 0");
        }
        Ok(Lines::Range(start, end))
    }

    fn address(&mut self) -> Accept<Option<Address>> {
        if let Some(first) = self.number()? {
            if !self.eat(b'~') {
                return Ok(Some(Address::Number(first)));
            }
            return match self.number()? {
                None => Declined::because("a step without a number"),
                Some(0) => Ok(Some(Address::Number(first))),
                Some(step) => Ok(Some(Address::Instruction(first, step))),
            };
        }
        if self.eat(b'$') {
            return Ok(Some(Address::Last));
        }
        Ok(self.pattern_address()?.map(Address::Matching))
    }

    fn range_end(&mut self) -> Accept<End> {
        let sign = self.peek().filter(|byte| matches!(byte, b'+' | b'~'));
        if let Some(sign) = sign {
            self.at += 1;
            return match (sign, self.number()?) {
                (_, None) => Declined::because("a range's end without a number"),
                (b'+', Some(lines)) => Ok(End::Plus(lines)),
                (_, Some(multiple)) => Ok(End::Multiple(multiple)),
            };
        }
        match self.address()? {
            Some(Address::Number(line)) => Ok(End::Number(line)),
            Some(Address::Last) => Ok(End::Last),
            Some(Address::Matching(pattern)) => Ok(End::Matching(pattern)),
            Some(Address::Instruction(..)) => Declined::because("a range that ends at a step"),
            None => Declined::because("a range without an end"),
        }
    }

    fn pattern_address(&mut self) -> Accept<Option<Pattern>> {
        let delimiter = match self.peek() {
            Some(b'/') => b'/',
            Some(b'\\') => {
                self.at += 1;
                self.delimiter()?
            }
            _ => return Ok(None),
        };
        self.at += 1;
        let text = self.until(delimiter, true)?;
        let mut pattern = Pattern { text, ignore_case: false, many_lines: false };
        while let Some(flag @ (b'I' | b'M')) = self.peek() {
            let flag = if flag == b'I' { &mut pattern.ignore_case } else { &mut pattern.many_lines };
            if std::mem::replace(flag, true) {
                return Declined::because("a flag of an address twice");
            }
            self.at += 1;
        }
        Ok(Some(pattern))
    }

    /// Returns the delimiter at this position, without consuming it.
    fn delimiter(&self) -> Accept<u8> {
        match self.peek() {
            Some(byte) if byte.is_ascii_punctuation() && byte != b'\\' => Ok(byte),
            _ => Declined::because("an unusual delimiter"),
        }
    }

    /// Returns the text up to the delimiter, which is consumed too. Quoted delimiters lose their backslash.
    fn until(&mut self, delimiter: u8, expression: bool) -> Accept<Vec<u8>> {
        let mut text = Vec::new();
        while let Some(byte) = self.take() {
            match byte {
                _ if byte == delimiter => return Ok(text),
                b'\n' => return Declined::because("a newline in a command that cannot hold one"),
                b'\\' => match self.take() {
                    Some(b'\n') if expression || self.pieces => {
                        return Declined::because("a quoted newline");
                    }
                    Some(quoted) if quoted == delimiter => {
                        if !PLAIN_DELIMITERS.contains(&quoted) {
                            return Declined::because("a quoted delimiter that has a meaning of its own");
                        }
                        text.push(quoted);
                    }
                    Some(quoted) => text.extend([b'\\', quoted]),
                    None => return Declined::because("a trailing backslash"),
                },
                _ => text.push(byte),
            }
        }
        Declined::because("a command that is not terminated")
    }

    fn substitute(&mut self) -> Accept<Substitute> {
        let delimiter = self.delimiter()?;
        self.at += 1;
        let text = self.until(delimiter, true)?;
        let replacement = replacement::parse(&self.until(delimiter, false)?)?;
        let pattern = Pattern { text, ignore_case: false, many_lines: false };
        let mut substitute =
            Substitute { pattern, replacement, global: false, nth: 0, print: false, aside: false };
        self.flags(&mut substitute)?;
        substitute.nth = substitute.nth.max(1);
        Ok(substitute)
    }

    fn flags(&mut self, substitute: &mut Substitute) -> Accept<()> {
        loop {
            let twice = match self.peek() {
                Some(b'g') => std::mem::replace(&mut substitute.global, true),
                Some(b'p') => std::mem::replace(&mut substitute.print, true),
                Some(b'i' | b'I') => std::mem::replace(&mut substitute.pattern.ignore_case, true),
                Some(b'0'..=b'9') => {
                    let earlier = substitute.nth > 0;
                    substitute.nth = self.number()?.unwrap_or(0);
                    if earlier || substitute.nth == 0 {
                        return Declined::because("a wrong number after s");
                    }
                    continue;
                }
                Some(b'm' | b'M') => std::mem::replace(&mut substitute.pattern.many_lines, true),
                Some(b'e') => return Declined::because("the flag e of s runs commands"),
                Some(b'w') => {
                    self.at += 1;
                    substitute.aside = true;
                    return self.standard_output("the flag w of s writes files");
                }
                _ => return self.end_of_command(),
            };
            self.at += 1;
            if twice {
                return Declined::because("a flag of s twice");
            }
        }
    }

    fn translate(&mut self) -> Accept<Action> {
        let delimiter = self.delimiter()?;
        self.at += 1;
        let from = characters(&self.until(delimiter, false)?)?;
        let to = characters(&self.until(delimiter, false)?)?;
        if self.utf8 && !(from.is_ascii() && to.is_ascii()) {
            self.end_of_command()?;
            return Ok(Action::Unserved("y with characters of several bytes"));
        }
        if from.len() != to.len() {
            return Declined::because("y with strings of different lengths");
        }
        let mut map: [u8; 256] = std::array::from_fn(|byte| byte as u8);
        for (index, (from_byte, to_byte)) in from.iter().zip(&to).enumerate() {
            if from[..index].contains(from_byte) {
                return Declined::because("y with a character twice");
            }
            map[usize::from(*from_byte)] = *to_byte;
        }
        self.end_of_command()?;
        Ok(Action::Translate(Box::new(map)))
    }

    fn quit(&mut self, print: bool) -> Accept<Action> {
        self.skip(is_blank);
        let status = self.number()?.unwrap_or(0);
        self.end_of_command()?;
        match u8::try_from(status) {
            Ok(status) => Ok(Action::Quit { status, print }),
            Err(_) => Declined::because("an exit status above 255"),
        }
    }

    /// Parses the text of `a`, `i`, `c`: on the same line, or after a backslash on the next.
    fn lines_of_text(&mut self) -> Accept<Vec<u8>> {
        self.skip(is_blank);
        let (length, made) = appended_text::read(&self.text[self.at..], self.pieces)?;
        self.at += length;
        Ok(made)
    }

    /// Parses a label.
    fn label(&mut self, place: usize) -> Accept<()> {
        self.at += 1;
        let name = self.label_name();
        if name.is_empty() || !matches!(self.peek(), None | Some(b'\n' | b';')) {
            return Declined::because("an unusual label");
        }
        if self.labels.iter().any(|(known, _)| *known == name) {
            return Declined::because("a label twice");
        }
        self.labels.push((name, place));
        Ok(())
    }

    /// Accepts only names on which all versions of sed agree.
    fn label_name(&mut self) -> Vec<u8> {
        self.skip(is_blank);
        let start = self.at;
        self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        self.text[start..self.at].to_vec()
    }

    fn jump(&mut self, place: usize, when: When) -> Accept<Action> {
        let name = self.label_name();
        self.end_of_command()?;
        self.jumps.push((place, name));
        Ok(Action::Jump(0, when))
    }

    /// Resolves the targets of branches.
    fn connect(&self, commands: &mut [Command]) -> Accept<()> {
        for (place, name) in &self.jumps {
            let label = self.labels.iter().find(|(known, _)| known == name);
            let to = match label {
                _ if name.is_empty() => commands.len(),
                Some((_, to)) => *to,
                None => return Declined::because("a branch to a label that is not there"),
            };
            if let Action::Jump(there, _) = &mut commands[*place].action {
                *there = to;
            }
        }
        Ok(())
    }

    fn list(&mut self) -> Accept<Action> {
        self.skip(is_blank);
        let columns = self.number()?;
        self.end_of_command()?;
        Ok(Action::List(columns))
    }

    fn print_aside(&mut self) -> Accept<Action> {
        self.standard_output("w writes files")?;
        Ok(Action::PrintAside)
    }

    /// Parses the name of a file, which must be standard output's special name.
    fn standard_output(&mut self, otherwise: &'static str) -> Accept<()> {
        self.skip(is_blank);
        let start = self.at;
        self.skip(|byte| byte != b'\n');
        if &self.text[start..self.at] == b"/dev/stdout" { Ok(()) } else { Declined::because(otherwise) }
    }

    /// Checks for blanks up to `;`, a newline, `}`, `#` or the end.
    fn end_of_command(&mut self) -> Accept<()> {
        self.skip(is_blank);
        match self.peek() {
            None | Some(b'\n' | b';' | b'}' | b'#') => Ok(()),
            Some(_) => Declined::because("something unexpected after a command"),
        }
    }
}

/// Returns the command of a single letter.
fn simple(letter: u8) -> Accept<Action> {
    Ok(match letter {
        b'p' => Action::Print,
        b'd' => Action::Delete,
        b'=' => Action::Number,
        b'n' => Action::Next,
        b'z' => Action::Zap,
        b'!' => return Declined::because("several ! in a row"),
        b'h' => Action::Hold(Hold::Copy),
        b'H' => Action::Hold(Hold::Add),
        b'g' => Action::Hold(Hold::Get),
        b'G' => Action::Hold(Hold::GetMore),
        b'x' => Action::Hold(Hold::Exchange),
        b'N' => Action::Join,
        b'P' => Action::PrintFirst,
        b'D' => Action::DeleteFirst,
        b'r' | b'R' => return Declined::because("r and R read files while it runs"),
        b'W' => return Declined::because("W writes files"),
        b'e' => return Declined::because("e runs commands"),
        b'F' | b'v' => return Declined::because("the commands F and v"),
        _ => return Declined::because(format!("an unknown command '{}'", letter.escape_ascii())),
    })
}

/// Returns the characters of one of y's strings.
fn characters(text: &[u8]) -> Accept<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next() {
                Some(b'\\') => b'\\',
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                _ => return Declined::because("y with an unusual escape"),
            },
            _ => byte,
        });
    }
    Ok(bytes)
}
