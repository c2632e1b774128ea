//! awk's regular expressions, in the syntax of the engine of grep and sed.
//!
//! The two languages differ in their escapes, in braces and in the position of anchors. Syntax that all awks
//! parse alike is rewritten in sed's; the rest is declined.

use std::ops::Range;

use crate::regex::{self, Dot, Flavour, Judges, Newline, Options, Regex, Shape, Spans, Wide};
use crate::{Accept, Charset, Declined};

use super::Dialect;
use super::pattern_pieces;
use super::portable_subset;
use super::rules;
use super::single_byte::Single;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Regex,
    plain: Option<Plain>,
    /// Set if every match is a single byte or a run after one.
    single: Option<Single>,
    /// The expression in sed's syntax.
    translated: Vec<u8>,
    /// What it matches: characters of UTF-8, or bytes.
    charset: Charset,
    wide: Wide,
    purpose: Purpose,
    /// The groups that it finds.
    groups: Vec<usize>,
}

/// What is asked of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Whether there is a match: gawk asks gnulib's matcher.
    Match,
    /// Where matches are: gawk asks glibc's matcher.
    Find,
}

/// Forms that need no automaton.
#[derive(Clone, Debug)]
enum Plain {
    /// `^abc$`.
    Whole(Vec<u8>),
    /// `^abc`.
    Begin(Vec<u8>),
    /// `abc$`.
    End(Vec<u8>),
}

impl Pattern {
    pub(super) fn new(text: &[u8], dialect: Dialect, purpose: Purpose) -> Accept<Pattern> {
        Pattern::with_groups(text, dialect, purpose, &[])
    }

    /// Makes a pattern that also finds these groups of a match, as far as it has them.
    pub(super) fn with_groups(
        text: &[u8],
        dialect: Dialect,
        purpose: Purpose,
        groups: &[usize],
    ) -> Accept<Pattern> {
        if text.is_empty() {
            return Declined::because("an empty regular expression");
        }
        if dialect.has_unseen_characters() {
            portable_subset::check_regex(text)?;
        }
        let translated = Translator { text, at: 0, depth: 0, dialect }.all()?;
        let charset = if dialect.has_characters() { Charset::Utf8 } else { Charset::C };
        let wide = wide(text, dialect, purpose);
        let mut regex = compile(&translated, charset, wide, Newline::IsCharacter, &[])?;
        let groups: Vec<usize> = groups.iter().copied().filter(|group| *group <= regex.groups()).collect();
        if !groups.is_empty() {
            regex = compile(&translated, charset, wide, Newline::IsCharacter, &groups)?;
        }
        if dialect.has_unseen_characters() && purpose == Purpose::Find && regex.may_match_nothing() {
            return Declined::because(
                "an expression that may match nothing between the bytes of a character",
            );
        }
        let single = single(&regex);
        Ok(Pattern { regex, plain: plain(text), single, translated, charset, wide, purpose, groups })
    }

    /// Returns the pattern that finds the same in ASCII, and takes all else for single bytes.
    pub(super) fn of_bytes(&self) -> Pattern {
        let charset = Charset::C;
        let compiled = compile(&self.translated, charset, self.wide, Newline::IsCharacter, &self.groups);
        match compiled {
            Ok(regex) => Pattern { single: single(&regex), regex, charset, ..self.clone() },
            Err(_) => self.clone(),
        }
    }

    /// Returns the expression for many lines at once: no match crosses lines. `None` if a single line may
    /// match differently.
    pub(super) fn over_lines(&self) -> Option<Regex> {
        if matches!(self.plain, Some(Plain::Whole(_))) {
            return None;
        }
        compile(&self.translated, self.charset, self.wide, Newline::EndsLine, &[]).ok()
    }

    #[inline]
    pub(super) fn is_match(&mut self, text: &[u8]) -> bool {
        match &self.plain {
            // mawk compares strings as C does: up to a NUL.
            Some(Plain::Whole(whole)) if rules::is_gawk() => text == whole,
            Some(Plain::Whole(whole)) => {
                text.starts_with(whole) && matches!(text.get(whole.len()), None | Some(0))
            }
            Some(Plain::Begin(begin)) => text.starts_with(begin),
            Some(Plain::End(end)) => text.ends_with(end),
            None => self.regex.is_match(text, 0..text.len()),
        }
    }

    /// Returns the leftmost-longest match. The text before the span decides `^`.
    pub(super) fn find(&mut self, text: &[u8], span: Range<usize>) -> Option<(usize, usize)> {
        // Patient searches never give up.
        self.regex.find(text, span).unwrap_or(None)
    }

    /// Returns the groups of a match, if it was made to find some; those not asked for are meaningless.
    pub(super) fn groups_of(&mut self, text: &[u8], found: (usize, usize)) -> &Spans {
        // Patient searches never give up.
        self.regex.groups_of(text, found).unwrap_or(&[])
    }

    /// Calls `found` for successive matches, each after the previous one, an empty one a byte later.
    pub(super) fn each(&mut self, text: &[u8], found: impl FnMut(usize, usize)) {
        self.regex.each(text, found);
    }

    /// Returns the texts in which it does what it is for.
    pub(super) fn judges(&self) -> Judges {
        match self.purpose {
            // Groups are found in characters only.
            Purpose::Find if !self.groups.is_empty() && self.charset == Charset::Utf8 => {
                self.regex.judges().max(self.regex.judges_all()).max(Judges::NoForbiddenUtf8)
            }
            Purpose::Match => self.regex.judges(),
            Purpose::Find => self.regex.judges().max(self.regex.judges_all()),
        }
    }

    /// Whether it may match something beyond ASCII that is not in it.
    pub(super) fn is_wide(&self) -> bool {
        self.charset == Charset::Utf8
            && self.translated.iter().any(|byte| matches!(byte, b'.' | b'[' | b'\\'))
    }

    /// Whether a search for characters takes longer than one for the same bytes of ASCII.
    pub(super) fn is_slow_for_characters(&self) -> bool {
        self.is_wide() && self.single.is_none()
    }

    /// Returns the set, if every match is one member of it, or one and a run after it.
    pub(super) fn single(&self) -> Option<&Single> {
        self.single.as_ref()
    }

    /// Whether it has more than one repetition.
    pub(super) fn repeats_twice(&self) -> bool {
        self.translated.iter().filter(|byte| matches!(byte, b'*' | b'+' | b'?' | b'{')).count() > 1
    }

    /// Whether it could match the empty string.
    pub(super) fn may_match_nothing(&self) -> bool {
        self.regex.may_match_nothing()
    }
}

/// Returns which characters an expression matches in gawk, beside those of ASCII.
fn wide(text: &[u8], dialect: Dialect, purpose: Purpose) -> Wide {
    let pieces = || pattern_pieces::pairs(text).into_iter().map(|(piece, _)| piece);
    let asks_glibc = pieces().any(|piece| match piece {
        [b'[', b'^', ..] => true,
        [b'[', inner @ .., _, b']'] => inner.iter().skip(1).any(|byte| matches!(byte, b'-' | b':')),
        [b'\\', escape] => matches!(escape, b'w' | b'W' | b's' | b'S' | b'y' | b'B' | b'<' | b'>'),
        _ => false,
    });
    match (dialect, purpose) {
        // gnulib's matcher leaves the rest to glibc's as soon as it comes to what that must decide.
        (_, Purpose::Match) if asks_glibc && pieces().any(|piece| piece == b".") => Wide::Unicode,
        (Dialect::Gawk { variant: rules::Variant::Gawk5_1, .. }, Purpose::Match) => {
            Wide::Gawk(Dot::Gnulib2020)
        }
        (_, Purpose::Match) => Wide::Gawk(Dot::Gnulib),
        // With these, glibc's matcher decodes characters; otherwise it works on bytes.
        (_, Purpose::Find) if asks_glibc => Wide::Gawk(Dot::Glibc),
        (_, Purpose::Find) => Wide::Gawk(Dot::GlibcBytes),
    }
}

/// Compiles an expression in sed's syntax.
fn compile(
    translated: &[u8],
    charset: Charset,
    wide: Wide,
    newline: Newline,
    groups: &[usize],
) -> Accept<Regex> {
    let dot_misses_late = wide == Wide::Unicode && rules::is_gawk_5_1();
    let options = Options {
        charset,
        newline,
        wide,
        dot_misses_late,
        spans: true,
        groups,
        ..Options::new(Flavour::SedExtended)
    };
    let mut regex = regex::compile(&[translated], &options)?;
    regex.be_patient();
    Ok(regex)
}

/// Returns the set, if every match is one member of it, or one and a run after it. Those of characters are of ASCII.
fn single(regex: &Regex) -> Option<Single> {
    match regex.shape() {
        Shape::OneOf(set) => Some(Single::new(set, None)),
        Shape::Literal(text) if text.len() == 1 => {
            Some(Single::new(Box::new(std::array::from_fn(|byte| text[0] == byte as u8)), None))
        }
        _ => regex.led_run().map(|sets| Single::new(Box::new(sets.head), Some(&sets.run))),
    }
}

/// Recognises plain characters between anchors.
fn plain(text: &[u8]) -> Option<Plain> {
    let (begins, rest) = (text.starts_with(b"^"), text.strip_prefix(b"^").unwrap_or(text));
    let (ends, inner) = (rest.ends_with(b"$"), rest.strip_suffix(b"$").unwrap_or(rest));
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-' | b',' | b':' | b'=');
    if inner.is_empty() || !inner.iter().all(is_plain) {
        return None;
    }
    let inner = inner.to_vec();
    match (begins, ends) {
        (true, true) => Some(Plain::Whole(inner)),
        (true, false) => Some(Plain::Begin(inner)),
        (false, true) => Some(Plain::End(inner)),
        (false, false) => None,
    }
}

struct Translator<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    dialect: Dialect,
}

impl Translator<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.text.get(self.at).copied();
        self.at += 1;
        byte
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn all(mut self) -> Accept<Vec<u8>> {
        let mut out = Vec::with_capacity(self.text.len() + 8);
        // At the start of the branch.
        let mut first = true;
        let mut repeated = false;
        while let Some(byte) = self.next() {
            let was_first = std::mem::replace(&mut first, false);
            let was_repeated = std::mem::replace(&mut repeated, false);
            match byte {
                b'*' | b'+' | b'?' => {
                    if was_first || was_repeated {
                        return Declined::because("a repetition of nothing, or of a repetition");
                    }
                    repeated = true;
                    out.push(byte);
                }
                b'^' if was_first => {
                    // What follows is first in its branch, but no second anchor.
                    if matches!(self.peek(), Some(b'*' | b'+' | b'?' | b'^')) {
                        return Declined::because("a repetition behind ^");
                    }
                    out.push(byte);
                }
                b'^' => return Declined::because("^ in the middle of an expression"),
                b'$' if matches!(self.peek(), None | Some(b')' | b'|')) => out.push(byte),
                // It is an anchor there, too, after which only what may be nothing can match.
                b'$' if matches!(self.dialect, Dialect::Portable | Dialect::OneTrue { .. })
                    || matches!(self.peek(), Some(b'*' | b'+' | b'?' | b'{')) =>
                {
                    return Declined::because("$ in the middle of an expression");
                }
                b'$' => out.push(byte),
                b'(' => {
                    self.depth += 1;
                    first = true;
                    out.push(byte);
                }
                b')' | b'|' if was_first => return Declined::because("an empty branch of an expression"),
                b')' => {
                    let Some(depth) = self.depth.checked_sub(1) else {
                        return Declined::because("an unmatched closing parenthesis");
                    };
                    self.depth = depth;
                    out.push(byte);
                }
                b'|' => {
                    if self.peek().is_none() {
                        return Declined::because("an empty branch of an expression");
                    }
                    first = true;
                    out.push(byte);
                }
                b'[' => self.bracket(&mut out)?,
                b'{' if self.dialect == (Dialect::Mawk { is_2025: false }) => out.extend_from_slice(b"\\{"),
                b'{' if self.dialect.is_gawk() && !self.may_be_interval() => out.extend_from_slice(b"\\{"),
                b'{' if self.dialect.is_gawk() => {
                    if was_first || was_repeated {
                        return Declined::because("a repetition of nothing, or of a repetition");
                    }
                    repeated = true;
                    self.interval(&mut out)?;
                }
                b'{' => return Declined::because("a brace in an expression"),
                b'}' => out.extend_from_slice(b"\\}"),
                b'\\'
                    if self.dialect.is_gawk()
                        && matches!(
                            self.peek(),
                            Some(b's' | b'S' | b'w' | b'W' | b'y' | b'B' | b'<' | b'>')
                        ) =>
                {
                    let (escape, repeats) =
                        (self.next(), matches!(self.peek(), Some(b'*' | b'+' | b'?' | b'{')));
                    if self.dialect.has_characters() && !matches!(escape, Some(b's' | b'S' | b'w' | b'W')) {
                        return Declined::because(
                            "a place between words, which the kernel finds more slowly in UTF-8",
                        );
                    }
                    if repeats && matches!(escape, Some(b'y' | b'B' | b'<' | b'>')) {
                        return Declined::because("a repetition of a place between characters");
                    }
                    out.extend([b'\\', escape.map_or(b'\\', |byte| if byte == b'y' { b'b' } else { byte })]);
                }
                b'\\' => {
                    let byte = self.escape(false)?;
                    literal(byte, &mut out)?;
                }
                // Any character.
                b'.' => out.push(byte),
                byte => literal(byte, &mut out)?,
            }
        }
        if self.depth > 0 {
            return Declined::because("an unmatched opening parenthesis");
        }
        Ok(out)
    }

    /// Whether a brace, which was just read, may begin an interval: in gawk it is a plain character otherwise.
    fn may_be_interval(&self) -> bool {
        matches!(self.peek(), Some(b'0'..=b'9' | b',' | b'}'))
    }

    /// Copies an interval, after its brace: `{2}`, `{2,}`, `{2,5}`.
    fn interval(&mut self, out: &mut Vec<u8>) -> Accept<()> {
        let rest = &self.text[self.at..];
        let end = memchr::memchr(b'}', rest).unwrap_or(0);
        let mut bounds = rest[..end].split(|byte| *byte == b',');
        let is_number = |text: &[u8]| (1..=3).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
        let plain = match (bounds.next(), bounds.next(), bounds.next()) {
            (Some(least), None, None) => is_number(least),
            (Some(least), Some(most), None) => is_number(least) && (most.is_empty() || is_number(most)),
            _ => false,
        };
        if !plain {
            return Declined::because("a brace in an expression that begins no interval");
        }
        out.push(b'{');
        out.extend_from_slice(&rest[..=end]);
        self.at += end + 1;
        Ok(())
    }

    /// Returns the character of an escape.
    fn escape(&mut self, in_brackets: bool) -> Accept<u8> {
        let Some(byte) = self.next() else { return Declined::because("a trailing backslash") };
        if byte == b'"' && !in_brackets && self.dialect.is_gawk() {
            return Declined::because("the escape \\\" in an expression, of which gawk warns");
        }
        Ok(match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'f' => 12,
            b'r' => b'\r',
            b'v' => 11,
            b'a' => 7,
            b'/' | b'"' | b'\\' | b'.' | b'[' | b']' | b'(' | b')' | b'*' | b'+' | b'?' | b'{' | b'}'
            | b'|' | b'^' | b'$' => byte,
            b'-' if in_brackets => byte,
            b'-' | b'#' | b'%' | b'&' | b',' | b':' | b';' | b'=' | b'@' | b'~' | b'!' | b'_' | b' '
                if self.dialect.is_mawk() && !in_brackets =>
            {
                byte
            }
            byte if self.dialect.is_one_true() && byte.is_ascii_punctuation() => byte,
            // Letters without a meaning.
            b's' | b'S' | b'w' | b'W' | b'd' | b'D' | b'y'
                if matches!(self.dialect, Dialect::Mawk { is_2025: false } | Dialect::OneTrue { .. }) =>
            {
                byte
            }
            _ => return Declined::because(format!("the escape \\{} in an expression", byte.escape_ascii())),
        })
    }

    /// Rewrites a bracket expression in an order that needs no escapes.
    fn bracket(&mut self, out: &mut Vec<u8>) -> Accept<()> {
        let negated = self.peek() == Some(b'^');
        self.at += usize::from(negated);
        if self.dialect.is_gawk() && self.peek() == Some(b':') {
            let inner = self.text[self.at + 1..].split(|byte| *byte == b']').next();
            if inner.is_some_and(|inner| inner.ends_with(b":")) {
                return Declined::because("a class without its second brackets, of which gawk may warn");
            }
        }
        let (mut members, mut classes) = ([false; 256], Vec::new());
        let mut first = true;
        loop {
            let Some(byte) = self.next() else { return Declined::because("a bracket that is not closed") };
            let low = match byte {
                b']' if !first => break,
                b'[' if matches!(self.peek(), Some(b'.' | b'=')) => {
                    return Declined::because("a collating element");
                }
                b'[' if self.peek() == Some(b':') => {
                    classes.extend(self.class()?);
                    first = false;
                    self.refuse_chained_range()?;
                    continue;
                }
                b'\\' => self.escape(true)?,
                byte => byte,
            };
            first = false;
            let end = self.range_end()?;
            if end.is_some() {
                self.refuse_chained_range()?;
            }
            let high = end.unwrap_or(low);
            if high < low {
                return Declined::because("a range that is upside down");
            }
            (low..=high).for_each(|byte| members[usize::from(byte)] = true);
        }
        write_bracket(negated, &members, &classes, out)
    }

    /// Declines a hyphen behind a range or a class, unless it is the last member: gawk refuses it, the one true awk reads it
    /// in its own way.
    fn refuse_chained_range(&self) -> Accept<()> {
        let is_followed = self.peek() == Some(b'-') && self.text.get(self.at + 1) != Some(&b']');
        match is_followed && !self.dialect.is_mawk() {
            true => Declined::because("a hyphen behind a range or a class in brackets"),
            false => Ok(()),
        }
    }

    /// Parses a class after `[` before a colon, with its brackets.
    fn class(&mut self) -> Accept<Vec<u8>> {
        let rest = &self.text[self.at - 1..];
        let Some(end) = memchr::memmem::find(rest, b":]") else {
            return Declined::because("a class without end");
        };
        let class = &rest[..end + 2];
        let known: &[&[u8]] = &[
            b"[:alpha:]",
            b"[:digit:]",
            b"[:alnum:]",
            b"[:upper:]",
            b"[:lower:]",
            b"[:space:]",
            b"[:blank:]",
            b"[:punct:]",
            b"[:print:]",
            b"[:graph:]",
            b"[:cntrl:]",
            b"[:xdigit:]",
        ];
        if !known.contains(&class) {
            return Declined::because("an unknown class");
        }
        self.at += class.len() - 1;
        Ok(class.to_vec())
    }

    /// Parses the end of a range, if a dash follows that is not the last member.
    fn range_end(&mut self) -> Accept<Option<u8>> {
        if self.peek() != Some(b'-') || matches!(self.text.get(self.at + 1), None | Some(b']')) {
            return Ok(None);
        }
        self.at += 1;
        match self.next() {
            Some(b'[') => Declined::because("a bracket as the end of a range"),
            Some(b'\\') => self.escape(true).map(Some),
            other => Ok(other),
        }
    }
}

fn write_bracket(negated: bool, members: &[bool; 256], classes: &[u8], out: &mut Vec<u8>) -> Accept<()> {
    let has = |byte: u8| members[usize::from(byte)];
    let plain = |byte: &u8| has(*byte) && !matches!(byte, b']' | b'^' | b'-' | b'[' | b'\\' | b'\n');
    let count = members.iter().filter(|member| **member).count();
    if count == 1 && has(b'^') && !negated && classes.is_empty() {
        out.extend_from_slice(b"\\^");
        return Ok(());
    }
    out.push(b'[');
    if negated {
        out.push(b'^');
    }
    if has(b']') {
        out.push(b']');
    }
    let mut at = 1usize;
    while at < 256 {
        let low = at as u8;
        if !plain(&low) {
            at += 1;
            continue;
        }
        let high = (low..=255).take_while(plain).last().unwrap_or(low);
        match high - low {
            0..=2 => out.extend(low..=high),
            _ => out.extend([low, b'-', high]),
        }
        at = usize::from(high) + 1;
    }
    out.extend_from_slice(classes);
    if has(b'[') {
        out.push(b'[');
    }
    if has(b'\\') {
        // In sed a doubled backslash is one in any position.
        out.extend_from_slice(b"\\\\");
    }
    if has(b'\n') {
        out.extend_from_slice(b"\\n");
    }
    if has(b'^') {
        if out.last() == Some(&b'[') && !has(b'[') && !negated {
            return Declined::because("^ first in brackets");
        }
        out.push(b'^');
    }
    if has(b'-') {
        out.push(b'-');
    }
    out.push(b']');
    Ok(())
}

/// Appends a literal character.
fn literal(byte: u8, out: &mut Vec<u8>) -> Accept<()> {
    match byte {
        0 => return Declined::because("a NUL in an expression"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\\' | b'.' | b'[' | b']' | b'(' | b')' | b'*' | b'+' | b'?' | b'{' | b'}' | b'|' | b'^' | b'$' => {
            out.extend([b'\\', byte]);
        }
        byte => out.push(byte),
    }
    Ok(())
}
