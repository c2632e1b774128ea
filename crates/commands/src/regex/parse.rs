//! Parses POSIX basic and extended expressions with GNU's extensions, as both of the tools' matchers do.
//!
//! grep and sed each compile an expression twice, with gnulib's dfa and with glibc's regex, and use whichever
//! is faster for the task. Where the two are known to parse an expression differently (`^*` in an extended
//! expression, `^^` in a basic one, an interval at the start), the outcome depends on which one is used:
//! declined.

use crate::{Accept, Declined};

use super::chars::CharSet;
use super::classes::{self, Known};
use super::node::{Look, Node};
use super::{Ranges, Wide};

/// How to parse an expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syntax {
    /// Whether `( ) | + ? { }` are operators without a backslash.
    pub(super) extended: bool,
    /// Whether sed's rules apply where they differ from grep's.
    pub(super) sed: bool,
    pub(super) utf8: bool,
    pub(super) wide: Wide,
    pub(super) ranges: Ranges,
    pub(super) ignore_case: bool,
    /// Whether a backslash before an ordinary character is known to be ignored without a warning.
    pub(super) stray_backslash_is_quiet: bool,
    /// Whether the newline ends the line and is never part of it.
    pub(super) newline_ends: bool,
}

#[cfg(test)]
impl Syntax {
    /// grep's extended expressions, in C.
    pub(super) const EXTENDED: Syntax = Syntax {
        extended: true,
        sed: false,
        utf8: false,
        wide: Wide::Unicode,
        ranges: Ranges::CodePoints,
        ignore_case: false,
        stray_backslash_is_quiet: true,
        newline_ends: true,
    };
}

/// The result of parsing.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) node: Node,
    pub(super) groups: usize,
    /// Whether some class or range is only known for ASCII.
    pub(super) judges_ascii_only: bool,
    /// Whether there is a range of digits with further members in the locale.
    pub(super) has_digit_range: bool,
}

/// The largest supported repetition; beyond it the tools may run out of memory before pelton does.
const REPEAT_MAX: u32 = 1000;

pub(super) struct Parser<'a> {
    pub(super) text: &'a [u32],
    pub(super) at: usize,
    pub(super) syntax: Syntax,
    pub(super) judges_ascii_only: bool,
    pub(super) has_digit_range: bool,
    depth: usize,
    groups: usize,
}

/// An operator between or after atoms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    Open,
    Close,
    Star,
    Plus,
    Optional,
    Interval,
}

impl Operator {
    fn repeats(self) -> bool {
        !matches!(self, Operator::Or | Operator::Open | Operator::Close)
    }
}

/// Parses one expression.
pub(super) fn parse(text: &[u8], syntax: Syntax) -> Accept<Parsed> {
    let text = characters(text, syntax.utf8)?;
    let mut parser = Parser::new(&text, syntax);
    let node = parser.alternatives()?;
    refuse_conditions_in_repetitions(&node)?;
    if parser.at < parser.text.len() {
        return Declined::because("an unmatched closing parenthesis");
    }
    let Parser { groups, judges_ascii_only, has_digit_range, .. } = parser;
    Ok(Parsed { node, groups, judges_ascii_only, has_digit_range })
}

/// glibc copies conditions, and the text after them, for each path to them.
fn refuse_conditions_in_repetitions(node: &Node) -> Accept<()> {
    let anchor = |node: &Node| matches!(node, Node::Look(_));
    let edge = |node: &Node| matches!(node, Node::Look(look) if look.is_word());
    let idle = |node: &Node| matches!(node, Node::Repeat { body, .. } if body.is_nullable());
    if node.any(&|node| matches!(node, Node::Repeat { .. }) && node.any(&anchor)) {
        // With `\(\|^a\)\+` it never ends.
        return Declined::because("an anchor inside a repetition");
    }
    if node.any(&edge) && node.any(&idle) {
        // With `\(.\{,2\}\)\{3\}\>` it finds word ends where there are none.
        return Declined::because("a word's edge beside a repetition of something that may be nothing");
    }
    Ok(())
}

/// Makes a literal expression (`-F`).
pub(super) fn literal(text: &[u8], syntax: Syntax) -> Accept<Node> {
    let text = characters(text, syntax.utf8)?;
    let parser = Parser::new(&text, syntax);
    let parts = text.iter().map(|&c| parser.character(c)).collect::<Accept<Vec<Node>>>()?;
    Ok(Node::concat(parts))
}

fn characters(text: &[u8], utf8: bool) -> Accept<Vec<u32>> {
    if text.contains(&0) {
        return Declined::because("a NUL in the expression");
    }
    if !utf8 {
        return Ok(text.iter().map(|&b| b.into()).collect());
    }
    match std::str::from_utf8(text) {
        Ok(text) => Ok(text.chars().map(u32::from).collect()),
        Err(_) => Declined::because("an expression that is not valid UTF-8"),
    }
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u32], syntax: Syntax) -> Self {
        let (judges_ascii_only, has_digit_range) = (false, false);
        Parser { text, at: 0, syntax, judges_ascii_only, has_digit_range, depth: 0, groups: 0 }
    }
}

impl Parser<'_> {
    fn alternatives(&mut self) -> Accept<Node> {
        let mut branches = vec![self.branch()?];
        while self.operator() == Some(Operator::Or) {
            self.skip_operator();
            branches.push(self.branch()?);
        }
        Ok(Node::either(branches))
    }

    fn branch(&mut self) -> Accept<Node> {
        let mut parts = Vec::new();
        // Whether the last item was an anchor or the like, or nothing at all.
        let mut after_look = false;
        while self.at < self.text.len() {
            match self.operator() {
                Some(Operator::Or) => break,
                Some(Operator::Close) if self.depth > 0 => break,
                Some(Operator::Close) => {
                    return Declined::because("an unmatched closing parenthesis");
                }
                _ => {}
            }
            let atom = self.atom(parts.is_empty(), after_look)?;
            let piece = self.repetitions(atom)?;
            after_look = matches!(piece, Node::Look(_));
            parts.push(piece);
        }
        Ok(Node::concat(parts))
    }

    /// Parses one atom. `first`: at the start of its branch. `after_look`: right after an anchor.
    fn atom(&mut self, first: bool, after_look: bool) -> Accept<Node> {
        match self.operator() {
            Some(Operator::Open) => return self.group(),
            Some(Operator::Star) if !self.syntax.extended && (first || after_look) => {
                self.at += 1;
                return self.character('*' as u32);
            }
            // `repetitions` has already found that it is no interval.
            Some(Operator::Interval) if self.syntax.extended && !first => {}
            Some(_) => return Declined::because("a repetition of nothing"),
            None => {}
        }
        let Some(c) = self.next() else { return Ok(Node::Empty) };
        match char::from_u32(c) {
            Some('\\') => self.escape(),
            Some('[') => {
                let set = self.bracket()?;
                Ok(self.without_newline(Node::Set(set)))
            }
            Some('.') => Ok(self.without_newline(Node::Set(self.syntax.wide.dot(self.syntax.utf8)))),
            Some('^') => self.caret(first, after_look),
            // The dfa takes the second character for the end of a group or a branch, glibc for a literal.
            Some('$') if !self.syntax.extended && self.peek_is(&[')', '|']) => {
                Declined::because("a dollar before an unquoted parenthesis or bar")
            }
            Some('$') if self.syntax.extended || self.ends_branch() => Ok(Node::Look(Look::LineEnd)),
            Some('\n') => Declined::because("a newline in the expression"),
            _ => self.character(c),
        }
    }

    fn caret(&mut self, first: bool, after_look: bool) -> Accept<Node> {
        if self.syntax.extended || first {
            return Ok(Node::Look(Look::LineStart));
        }
        if after_look {
            return Declined::because("a second anchor");
        }
        self.character('^' as u32)
    }

    /// Whether the branch of a basic expression ends here.
    fn ends_branch(&self) -> bool {
        self.at == self.text.len() || matches!(self.operator(), Some(Operator::Or | Operator::Close))
    }

    fn group(&mut self) -> Accept<Node> {
        self.skip_operator();
        self.groups += 1;
        let number = self.groups;
        self.depth += 1;
        if self.depth > 100 {
            return Declined::because("groups nested too deeply");
        }
        let body = self.alternatives()?;
        self.depth -= 1;
        if self.operator() != Some(Operator::Close) {
            return Declined::because("an unmatched opening parenthesis");
        }
        self.skip_operator();
        Ok(Node::Group(number, Box::new(body)))
    }

    /// Parses the repetition operators after an atom, innermost first.
    fn repetitions(&mut self, mut node: Node) -> Accept<Node> {
        while let Some(operator) = self.operator() {
            if matches!(node, Node::Look(_)) && operator.repeats() {
                // After the anchor of a basic expression a star is a character: the next atom parses it.
                let star = !self.syntax.extended && operator == Operator::Star;
                let caret = self.text[self.at - 1] == '^' as u32;
                return if star && caret { Ok(node) } else { Declined::because("a repeated anchor") };
            }
            let Some((min, max)) = self.bounds(operator)? else { break };
            if min.max(max.unwrap_or(0)) > REPEAT_MAX {
                return Declined::because("a very long repetition");
            }
            let again = matches!(self.operator(), Some(Operator::Star | Operator::Interval));
            if again && self.syntax.sed && !self.syntax.extended {
                return Declined::because("a repetition of a repetition");
            }
            node = Node::Repeat { body: Box::new(node), min, max };
        }
        Ok(node)
    }

    /// Parses a repetition operator. `None`, with nothing consumed, if there is none.
    fn bounds(&mut self, operator: Operator) -> Accept<Option<(u32, Option<u32>)>> {
        let start = self.at;
        let bounds = match operator {
            Operator::Star => (0, None),
            Operator::Plus => (1, None),
            Operator::Optional => (0, Some(1)),
            Operator::Interval => {
                self.skip_operator();
                let bounds = self.interval()?;
                if bounds.is_none() {
                    self.at = start;
                }
                return Ok(bounds);
            }
            Operator::Or | Operator::Open | Operator::Close => return Ok(None),
        };
        self.skip_operator();
        Ok(Some(bounds))
    }

    /// Parses the bounds after `{` or `\{`. `None`: in grep's extended expressions the brace is then a
    /// character.
    fn interval(&mut self) -> Accept<Option<(u32, Option<u32>)>> {
        let begins = self.peek_at(0).and_then(char::from_u32).unwrap_or('\0');
        if self.syntax.extended && !self.syntax.sed && !matches!(begins, '0'..='9' | ',' | '}') {
            return Ok(None);
        }
        let low = self.number();
        let (min, max) = if self.eat(',') { (Some(low.unwrap_or(0)), self.number()) } else { (low, low) };
        let closed = (self.syntax.extended || self.eat('\\')) && self.eat('}');
        match min {
            Some(min) if closed && max.is_none_or(|max| min <= max) => Ok(Some((min, max))),
            _ => Declined::because("an invalid interval"),
        }
    }

    fn number(&mut self) -> Option<u32> {
        let mut value: Option<u32> = None;
        while let Some(digit) = self.peek_at(0).and_then(char::from_u32).and_then(|c| c.to_digit(10)) {
            self.at += 1;
            value = Some(value.unwrap_or(0).saturating_mul(10).saturating_add(digit));
        }
        value
    }

    /// Parses after a backslash that starts no operator.
    fn escape(&mut self) -> Accept<Node> {
        if self.syntax.sed
            && let Some(c) = self.char_escape()?
        {
            return Ok(self.without_newline(self.character(c)?));
        }
        let Some(c) = self.next() else { return Declined::because("a trailing backslash") };
        let look = match char::from_u32(c) {
            Some('w') => return self.known_set(classes::word(self.syntax.utf8), false),
            Some('W') => return self.known_set(classes::word(self.syntax.utf8), true),
            Some('s') => return self.space(false),
            Some('S') => return self.space(true),
            Some('`') => Look::LineStart,
            Some('\'') => Look::LineEnd,
            Some('<') => Look::WordStart,
            Some('>') => Look::WordEnd,
            Some('b') => Look::WordEdge,
            // With `.*\B`, sed 4.9 finds an empty match after a word at the end of the line.
            Some('B') => return Declined::because("\\B"),
            _ => return self.quoted(c),
        };
        self.judges_ascii_only |= self.syntax.utf8 && look.is_word();
        Ok(Node::Look(look))
    }

    /// Handles a backslash before an ordinary character.
    fn quoted(&mut self, c: u32) -> Accept<Node> {
        let quoted = char::from_u32(c).unwrap_or_default();
        let special = match quoted {
            '1'..='9' if self.syntax.sed => return Declined::because("a back-reference"),
            '1'..='9' => return Ok(Node::back_reference(c as usize - '0' as usize)),
            '.' | '*' | '[' | ']' | '^' | '$' | '\\' => true,
            '{' | '(' | ')' | '|' | '+' | '?' => self.syntax.extended,
            '}' => true,
            _ => false,
        };
        let harmless =
            quoted.is_ascii_punctuation() && (self.syntax.sed || self.syntax.stray_backslash_is_quiet);
        // Before a letter, grep -i -o finds nothing.
        if !special && !harmless {
            return Declined::because(format!("a stray backslash before {quoted:?}"));
        }
        self.character(c)
    }

    fn space(&mut self, negated: bool) -> Accept<Node> {
        match classes::named(b"space", self.syntax.utf8) {
            Some(class) => self.known_set(class, negated),
            None => Declined::because("an unknown character class"),
        }
    }

    fn known_set(&mut self, class: classes::Class, negated: bool) -> Accept<Node> {
        self.judges_ascii_only |= class.known == Known::Ascii;
        let set = if negated { self.syntax.wide.others(&class.set, self.syntax.utf8) } else { class.set };
        Ok(self.without_newline(Node::Set(set)))
    }

    /// Makes a literal character, in both cases under `-i`.
    fn character(&self, c: u32) -> Accept<Node> {
        let mut set = CharSet::one(c);
        if self.syntax.ignore_case {
            self.fold(&mut set)?;
        }
        Ok(Node::Set(set))
    }

    pub(super) fn fold(&self, set: &mut CharSet) -> Accept<()> {
        let plain =
            !self.syntax.utf8 || set.ranges().iter().all(|&(_, last)| last < 0x80 || is_wide_space(last));
        if !plain {
            return Declined::because("ignoring the case of characters outside ASCII");
        }
        classes::fold(set, self.syntax.utf8);
        Ok(())
    }

    /// Removes the newline: lines never contain their end, and one automaton can then run over many lines.
    fn without_newline(&self, node: Node) -> Node {
        match node {
            Node::Set(set) if self.syntax.newline_ends => Node::Set(set.minus(&CharSet::one('\n' as u32))),
            node => node,
        }
    }

    /// Returns the operator at this position, if any.
    fn operator(&self) -> Option<Operator> {
        let c = char::from_u32(self.peek_at(0)?)?;
        if c == '*' {
            return Some(Operator::Star);
        }
        let quoted = c == '\\';
        if quoted == self.syntax.extended {
            return None;
        }
        match if quoted { char::from_u32(self.peek_at(1)?)? } else { c } {
            '|' => Some(Operator::Or),
            '(' => Some(Operator::Open),
            ')' => Some(Operator::Close),
            '+' => Some(Operator::Plus),
            '?' => Some(Operator::Optional),
            '{' => Some(Operator::Interval),
            _ => None,
        }
    }

    fn skip_operator(&mut self) {
        self.at += if self.peek_is(&['\\']) { 2 } else { 1 };
    }

    pub(super) fn next(&mut self) -> Option<u32> {
        let c = self.peek_at(0)?;
        self.at += 1;
        Some(c)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u32> {
        self.text.get(self.at + ahead).copied()
    }

    pub(super) fn peek_is(&self, any_of: &[char]) -> bool {
        self.peek_at(0).is_some_and(|c| any_of.iter().any(|&other| c == other as u32))
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let here = self.peek_is(&[c]);
        self.at += usize::from(here);
        here
    }
}

/// Whether it is one of the only characters outside ASCII in classes; they have no case.
fn is_wide_space(c: u32) -> bool {
    matches!(c, 0x1680 | 0x2000..=0x3000)
}
