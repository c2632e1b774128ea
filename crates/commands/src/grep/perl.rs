//! `-P`: Perl's expressions that are regular, as extended ones.
//!
//! ```text
//!   \d{4}-(?:Jan|Feb)\w*?\s   ─▶   [0-9]{4}-(Jan|Feb)\w*\s
//! ```
//! Which lines match is the same for both: what is tried first, and how much a repetition takes, only decides which of the
//! possible matches is found. With `-o` the two find the same one where there is just one: where no repetition could go on
//! with what follows it.
//!
//! PCRE tries all ways to match, and gives up after ten million steps at one place, which grep reports. Only expressions
//! are taken whose steps are about as many as the bytes of the line: with one repetition at most that may go on with what
//! follows it.

use crate::regex::Judges;
use crate::{Accept, Declined};

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Translated {
    /// As an extended expression.
    pub(super) extended: Vec<u8>,
    /// Whether there is one match at most from each place, or only longer ones that begin with it.
    pub(super) is_unambiguous: bool,
    /// The texts of UTF-8 in which it matches as in PCRE. What is a letter, a digit or a blank beyond ASCII depends on
    /// PCRE's version.
    pub(super) judges: Judges,
}

/// More repetitions that may go on with what follows them would be tried in too many ways.
const OPEN_REPETITIONS_MAX: usize = 1;

/// Translates an expression.
///
/// # Errors
/// Declines what is not regular, what POSIX has no form for, and what may take PCRE too many steps.
pub(super) fn translate(pattern: &[u8], ignore_case: bool) -> Accept<Translated> {
    if !pattern.is_ascii() || pattern.is_empty() {
        return Declined::because("-P with nothing, or with characters beyond ASCII");
    }
    let judges = if ignore_case { Judges::Ascii } else { Judges::AnyBytes };
    let (out, items, groups) = (Vec::new(), Vec::new(), Vec::new());
    let mut translation = Translation { rest: pattern, out, items, groups, ignore_case, judges };
    while !translation.rest.is_empty() {
        translation.take()?;
    }
    translation.finish()
}

/// A set of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Set {
    /// A bit for each of ASCII.
    ascii: u128,
    /// Whether it has all others.
    others: bool,
}

impl Set {
    const ALL: Set = Set { ascii: !(1 << b'\n'), others: true };

    fn of(is_in: impl Fn(u8) -> bool) -> Set {
        let ascii = (0..128).filter(|byte| is_in(*byte)).fold(0, |bits, byte| bits | 1 << byte);
        Set { ascii, others: false }
    }

    /// Returns the set of `\d`, `\w` or `\s`, or, in capitals, of what is not in it. `\h` has a byte beyond ASCII in the C locale.
    fn named(letter: u8) -> Option<Set> {
        let set = match letter.to_ascii_lowercase() {
            b'd' => Set::of(|byte| byte.is_ascii_digit()),
            b'w' => Set::of(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
            b's' => Set::of(|byte| matches!(byte, b'\t'..=b'\r' | b' ')),
            _ => return None,
        };
        Some(if letter.is_ascii_uppercase() { set.complement() } else { set })
    }

    /// Returns the set of a class of POSIX.
    fn class(name: &[u8]) -> Option<Set> {
        let is_in: fn(&u8) -> bool = match name {
            b"alpha" => u8::is_ascii_alphabetic,
            b"digit" => u8::is_ascii_digit,
            b"alnum" => u8::is_ascii_alphanumeric,
            b"upper" => u8::is_ascii_uppercase,
            b"lower" => u8::is_ascii_lowercase,
            b"punct" => u8::is_ascii_punctuation,
            b"xdigit" => u8::is_ascii_hexdigit,
            b"space" => return Set::named(b's'),
            b"blank" => return Some(Set::of(|byte| matches!(byte, b'\t' | b' '))),
            b"word" => return Set::named(b'w'),
            _ => return None,
        };
        Some(Set::of(|byte| is_in(&byte)))
    }

    fn complement(self) -> Set {
        Set { ascii: !self.ascii, others: !self.others }
    }

    fn with(self, other: Set) -> Set {
        Set { ascii: self.ascii | other.ascii, others: self.others || other.others }
    }

    fn meets(self, other: Set) -> bool {
        self.ascii & other.ascii != 0 || self.others && other.others
    }

    fn in_any_case(self) -> Set {
        let has = |byte: u8| self.ascii >> byte & 1 == 1;
        Set {
            ascii: Set::of(|byte| has(byte.to_ascii_lowercase()) || has(byte.to_ascii_uppercase())).ascii
                | self.ascii,
            ..self
        }
    }

    /// Appends it as a bracket expression. No line has a newline.
    fn append(self, out: &mut Vec<u8>) -> Accept<()> {
        let listed = if self.others { self.complement() } else { self };
        let has = |byte: u8| byte != b'\n' && listed.ascii >> byte & 1 == 1;
        let bytes: Vec<u8> = (0..128).filter(|byte| has(*byte)).collect();
        match bytes.as_slice() {
            [] if self.others => out.push(b'.'),
            [] | [0, ..] => return Declined::because("-P with a set of no character, or of NUL"),
            [byte] if !self.others => append_literal(*byte, out),
            [b'^'] => out.extend_from_slice(b"[^^]"),
            _ => {
                out.extend_from_slice(if self.others { b"[^" } else { b"[" });
                // Each where it stands for itself.
                let plain = bytes.iter().filter(|byte| !b"]^[-".contains(byte));
                let (first, last) = (has(b']').then_some(&b']'), plain);
                out.extend(first.into_iter().chain(last));
                let is_first = out.ends_with(b"[");
                let late: &[u8] = if is_first { b"[-^" } else { b"[^-" };
                out.extend(late.iter().filter(|byte| has(**byte)));
                out.push(b']');
            }
        }
        Ok(())
    }
}

/// A part of a sequence.
#[derive(Clone, Copy, Debug)]
enum Item {
    Characters {
        set: Set,
        least: u32,
        most: Option<u32>,
    },
    /// What matches nothing, under a condition.
    Condition,
    /// The begin or the end of a group that comes once.
    Bracket,
    /// `|`, the border of a group that repeats or has `|`, or the end of a repetition that takes little: anything may follow.
    Border,
}

/// A group that has begun.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The index of its begin among the items.
    start: usize,
    has_alternatives: bool,
}

struct Translation<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
    items: Vec<Item>,
    /// The groups that are open.
    groups: Vec<Group>,
    ignore_case: bool,
    judges: Judges,
}

impl Translation<'_> {
    /// Translates the next part.
    fn take(&mut self) -> Accept<()> {
        let (first, rest) = self.rest.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        match first {
            b'\\' => {
                let Some((letter, rest)) = rest.split_first() else { return not_known() };
                self.rest = rest;
                self.escape(*letter)
            }
            b'[' => {
                let set = self.bracket()?;
                self.characters(set)
            }
            b'.' => {
                self.rest = rest;
                self.characters(Set::ALL)
            }
            b'^' | b'$' => {
                self.rest = rest;
                self.condition(&[first])
            }
            b'(' => self.open(),
            b')' => self.close(),
            b'|' => {
                self.rest = rest;
                self.out.push(b'|');
                self.items.push(Item::Border);
                self.groups.iter_mut().rev().take(1).for_each(|group| group.has_alternatives = true);
                Ok(())
            }
            b'*' | b'+' | b'?' | b'{' | b'}' => not_known(),
            0..b' ' | 0x7f => Declined::because("-P with a control character"),
            _ => {
                self.rest = rest;
                self.characters(self.folded(Set::of(|byte| byte == first)))
            }
        }
    }

    fn escape(&mut self, letter: u8) -> Accept<()> {
        match letter {
            b'b' | b'B' => {
                self.judges = Judges::Ascii;
                self.condition(&[b'\\', letter])
            }
            b't' => self.characters(Set::of(|byte| byte == b'\t')),
            _ if letter.is_ascii_punctuation() => self.characters(Set::of(|byte| byte == letter)),
            _ => match Set::named(letter) {
                Some(set) => {
                    self.judges = Judges::Ascii;
                    self.characters(set)
                }
                None => not_known(),
            },
        }
    }

    /// Appends a set of characters, and how often it repeats.
    fn characters(&mut self, set: Set) -> Accept<()> {
        if set.others {
            self.judges = self.judges.max(Judges::ValidUtf8);
        }
        set.append(&mut self.out)?;
        let (least, most) = self.repetition()?;
        self.items.push(Item::Characters { set, least, most });
        Ok(())
    }

    /// Appends an anchor, or the border of a word.
    fn condition(&mut self, text: &[u8]) -> Accept<()> {
        if matches!(self.rest.first(), Some(b'*' | b'+' | b'?' | b'{')) {
            return not_known();
        }
        self.out.extend_from_slice(text);
        self.items.push(Item::Condition);
        Ok(())
    }

    fn open(&mut self) -> Accept<()> {
        self.rest = match self.rest {
            [b'(', b'?', b':', rest @ ..] => rest,
            [b'(', b'?' | b'*', ..] | [] => return not_known(),
            [_, rest @ ..] => rest,
        };
        self.out.push(b'(');
        self.groups.push(Group { start: self.items.len(), has_alternatives: false });
        self.items.push(Item::Bracket);
        Ok(())
    }

    fn close(&mut self) -> Accept<()> {
        let Some(Group { start, has_alternatives }) = self.groups.pop() else { return not_known() };
        self.rest = &self.rest[1..];
        self.out.push(b')');
        let end = self.items.len();
        let (least, most) = self.repetition()?;
        let is_once = (least, most) == (1, Some(1));
        let repeats =
            |item: &Item| matches!(item, Item::Characters { least, most, .. } if Some(*least) != *most);
        let is_nested = most != Some(1) && self.items[start..end].iter().any(repeats);
        if is_nested {
            return Declined::because(
                "-P with a repetition within another one, which PCRE may try in many ways",
            );
        }
        if !is_once || has_alternatives {
            self.items[start] = Item::Border;
        }
        self.items.push(if is_once { Item::Bracket } else { Item::Border });
        if most.is_none() {
            // It may go on with anything.
            self.items.extend([Item::Characters { set: Set::ALL, least: 0, most }, Item::Border]);
        }
        Ok(())
    }

    /// Appends the repetition that follows, and returns how often what it repeats may come.
    fn repetition(&mut self) -> Accept<(u32, Option<u32>)> {
        let (times, length) = match self.rest.first() {
            Some(b'*') => ((0, None), 1),
            Some(b'+') => ((1, None), 1),
            Some(b'?') => ((0, Some(1)), 1),
            Some(b'{') => bounds(self.rest)?,
            _ => return Ok((1, Some(1))),
        };
        self.out.extend_from_slice(&self.rest[..length]);
        self.rest = &self.rest[length..];
        match self.rest.first() {
            // The shortest match exists where the longest does.
            Some(b'?') => {
                self.rest = &self.rest[1..];
                self.items.push(Item::Border);
            }
            Some(b'+' | b'*' | b'{') => return not_known(),
            _ => {}
        }
        Ok(times)
    }

    /// Takes a set in brackets.
    fn bracket(&mut self) -> Accept<Set> {
        let mut rest = &self.rest[1..];
        let is_negated = rest.first() == Some(&b'^');
        rest = &rest[usize::from(is_negated)..];
        let (mut set, mut is_first) = (Set::of(|_| false), true);
        loop {
            let (member, length) = match rest {
                [b']', ..] if !is_first => break,
                [b'[', b':', name @ ..] => {
                    let end = name.iter().position(|byte| !byte.is_ascii_lowercase()).unwrap_or(0);
                    match (Set::class(&name[..end]), &name[end..]) {
                        (Some(class), [b':', b']', ..]) => {
                            self.judges = Judges::Ascii;
                            (class, end + 4)
                        }
                        _ => return not_known(),
                    }
                }
                [b'[', b'.' | b'=', ..] => return not_known(),
                _ => self.member(rest)?,
            };
            set = set.with(member);
            rest = &rest[length..];
            is_first = false;
        }
        self.rest = &rest[1..];
        // What a set leaves out it leaves out in both cases.
        let set = self.folded(set);
        Ok(if is_negated { set.complement() } else { set })
    }

    /// Returns a set with the other case of its letters, if case does not matter.
    fn folded(&self, set: Set) -> Set {
        if self.ignore_case { set.in_any_case() } else { set }
    }

    /// Returns the set of a character, an escape or a range in brackets, and its length.
    fn member(&mut self, text: &[u8]) -> Accept<(Set, usize)> {
        let single = |text: &[u8]| match text {
            [b'\\', b't', ..] => Some((b'\t', 2)),
            [b'\\', byte, ..] if byte.is_ascii_punctuation() => Some((*byte, 2)),
            [b'\\', ..] | [] => None,
            [byte, ..] => Some((*byte, 1)),
        };
        if let [b'\\', letter, rest @ ..] = text
            && let Some(set) = Set::named(*letter)
        {
            self.judges = Judges::Ascii;
            // PCRE takes the hyphen behind it for itself, or for an error.
            return if rest.starts_with(b"-") && !rest.starts_with(b"-]") {
                not_known()
            } else {
                Ok((set, 2))
            };
        }
        let Some((low, length)) = single(text).filter(|(byte, _)| *byte >= b' ' || *byte == b'\t') else {
            return not_known();
        };
        match &text[length..] {
            [b'-', high @ ..] if !high.starts_with(b"]") => match single(high) {
                Some((high, more)) if low <= high && !text[length + 1..].starts_with(b"[") => {
                    Ok((Set::of(|byte| (low..=high).contains(&byte)), length + 1 + more))
                }
                _ => not_known(),
            },
            _ => Ok((Set::of(|byte| byte == low), length)),
        }
    }

    fn finish(self) -> Accept<Translated> {
        if !self.groups.is_empty() {
            return not_known();
        }
        let open = (0..self.items.len()).filter(|at| self.may_go_on(*at));
        let open = open.filter(|at| matches!(self.items[*at], Item::Characters { most: None, .. })).count();
        if open > OPEN_REPETITIONS_MAX {
            return Declined::because("-P with repetitions that PCRE may try in many ways");
        }
        let has_border = self.items.iter().any(|item| matches!(item, Item::Border));
        let is_unambiguous = !has_border && !(0..self.items.len()).any(|at| self.may_go_on(at));
        Ok(Translated { extended: self.out, is_unambiguous, judges: self.judges })
    }

    /// Whether a repetition may go on with what also may follow it.
    fn may_go_on(&self, at: usize) -> bool {
        let Item::Characters { set, least, most } = self.items[at] else { return false };
        if Some(least) == most {
            return false;
        }
        for item in &self.items[at + 1..] {
            match item {
                Item::Condition | Item::Bracket => {}
                Item::Border => return true,
                Item::Characters { set: next, .. } if set.meets(*next) => return true,
                Item::Characters { least: 0, .. } => {}
                Item::Characters { .. } => return false,
            }
        }
        false
    }
}

/// Reads `{n}`, `{n,}` or `{n,m}`, and returns how often it repeats, and its length.
fn bounds(text: &[u8]) -> Accept<((u32, Option<u32>), usize)> {
    const MOST: u32 = 1000;
    let Some(end) = memchr::memchr(b'}', text) else { return not_known() };
    let number = |digits: &[u8]| {
        let is_plain = (1..=4).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok().filter(|number| *number <= MOST)
    };
    let within = &text[1..end];
    let times = match memchr::memchr(b',', within) {
        None => number(within).map(|times| (times, Some(times))),
        Some(at) if at + 1 == within.len() => number(&within[..at]).map(|least| (least, None)),
        Some(at) => number(&within[..at])
            .zip(number(&within[at + 1..]))
            .filter(|(least, most)| least <= most)
            .map(|(least, most)| (least, Some(most))),
    };
    times.map_or_else(not_known, |times| Ok((times, end + 1)))
}

fn append_literal(byte: u8, out: &mut Vec<u8>) {
    if b".[]*+?{}()|^$\\".contains(&byte) {
        out.push(b'\\');
    }
    out.push(byte);
}

fn not_known<T>() -> Accept<T> {
    Declined::because("-P with more than regular expressions have")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(pattern: &str) -> Option<(String, bool)> {
        let Translated { extended, is_unambiguous, .. } = translate(pattern.as_bytes(), false).ok()?;
        Some((String::from_utf8(extended).expect("ASCII"), is_unambiguous))
    }

    #[test]
    fn what_is_regular_becomes_an_extended_expression() {
        for (perl, extended, is_unambiguous) in [
            ("a.c", "a.c", true),
            (r"\d+\.\d{1,3}", r"[0123456789]+\.[0123456789]{1,3}", true),
            (r"(?:GET|POST) \/", "(GET|POST) /", false),
            (r"^a*?b", "^a*b", false),
            (r"[\d.-]+", "[.0123456789-]+", true),
            (r"[]^\\[-]", r"[]\[^-]", true),
            (r"[^^]", "[^^]", true),
            (r"\^[-^]", r"\^[-^]", true),
            (r"[\s\S]", ".", true),
            (r#""[^"]*""#, "\"[^\"]*\"", true),
            (r"\bfoo\b", r"\bfoo\b", true),
            (r"https?:\/\/", "https?://", true),
            (r".*a", ".*a", false),
            (r"(\d+)\.(x)", r"([0123456789]+)\.(x)", true),
            (r"(\d+)\.(\d+|x)a", r"([0123456789]+)\.([0123456789]+|x)a", false),
        ] {
            assert_eq!(translated(perl), Some((extended.to_owned(), is_unambiguous)), "{perl}");
        }
    }

    #[test]
    fn what_is_not_regular_is_declined() {
        for perl in [
            "",
            "é",
            "(?=a)",
            "(?<!a)",
            "(?i)a",
            r"\1",
            r"(a)\g1",
            r"a\Kb",
            r"\x41",
            r"\pL",
            r"\Qa",
            "a++",
            "a{,3}",
            "a{3",
            "a{2,1}",
            "a**",
            "*a",
            "^*",
            r"[\w-z]",
            "[z-a]",
            "[[.a.]]",
            "(a+)+",
            "(a*)*b",
            ".*a.*b",
            "(ab)*(cd)*",
            "(a|b+)*",
            r"(\w+)(\w+)x\w*x",
            "(a",
            "a)",
            "a\\",
            r"\R",
            r"\N",
            "(*UCP)a",
            r"[\b]",
            r"\n",
        ] {
            assert_eq!(translated(perl), None, "{perl}");
        }
    }

    #[test]
    fn sets_leave_out_both_cases() {
        for (perl, extended) in [("[^a]b", "[^Aa][Bb]"), ("[a-c]+", "[ABCabc]+"), (r"\D_", "[^0123456789]_")]
        {
            let made = translate(perl.as_bytes(), true).expect("regular").extended;
            assert_eq!(made, extended.as_bytes(), "{perl}");
        }
    }
}
