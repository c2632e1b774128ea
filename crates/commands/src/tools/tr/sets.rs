//! The operands of `tr`: escapes, ranges, classes, `[=c=]`, `[x*n]`; and matching the lengths of both sets.

use crate::{Accept, ByteSet, Declined};

/// An element of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    /// `a`, `a-z` (as first and last).
    Range(u8, u8),
    /// `[:upper:]`, by its index in [`CLASSES`].
    Class(usize),
    /// `[=c=]`.
    Equivalent(u8),
    /// `[x*n]`; 0 for as many as needed.
    Repeat(u8, u64),
}

type Contains = fn(u8) -> bool;

/// In C and UTF-8 locales the classes of single bytes are those of ASCII.
const CLASSES: &[(&str, Contains)] = &[
    ("upper", |byte| byte.is_ascii_uppercase()),
    ("lower", |byte| byte.is_ascii_lowercase()),
    ("alnum", |byte| byte.is_ascii_alphanumeric()),
    ("alpha", |byte| byte.is_ascii_alphabetic()),
    ("blank", |byte| matches!(byte, b' ' | b'\t')),
    ("cntrl", |byte| byte.is_ascii_control()),
    ("digit", |byte| byte.is_ascii_digit()),
    ("graph", |byte| byte.is_ascii_graphic()),
    ("print", |byte| matches!(byte, 0x20..0x7f)),
    ("punct", |byte| byte.is_ascii_punctuation()),
    ("space", |byte| matches!(byte, b' ' | 9..=13)),
    ("xdigit", |byte| byte.is_ascii_hexdigit()),
];
const UPPER: usize = 0;
const LOWER: usize = 1;

/// More than any set needs, and few enough to expand.
const REPEAT_MAX: u64 = 100_000;

/// A parsed operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Set {
    elements: Vec<Element>,
}

/// A byte of an operand after unescaping; an escaped one has no special meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Letter {
    byte: u8,
    escaped: bool,
}

impl Letter {
    fn is(self, byte: u8) -> bool {
        !self.escaped && self.byte == byte
    }
}

impl Set {
    /// Parses an operand.
    pub(super) fn parse(operand: &[u8]) -> Accept<Set> {
        let letters = unescape(operand)?;
        let mut elements = Vec::new();
        let mut rest = letters.as_slice();
        // Special forms need three letters; the last two are always literal.
        while let [first, second, third, ..] = rest {
            if let Some((element, length)) = bracketed(rest)? {
                elements.push(element);
                rest = &rest[length..];
                continue;
            }
            if second.is(b'-') {
                if first.byte > third.byte {
                    return Declined::because("a range in descending order");
                }
                elements.push(Element::Range(first.byte, third.byte));
                rest = &rest[3..];
            } else {
                elements.push(Element::Range(first.byte, first.byte));
                rest = &rest[1..];
            }
        }
        elements.extend(rest.iter().map(|letter| Element::Range(letter.byte, letter.byte)));
        Ok(Set { elements })
    }

    /// Returns the bytes it names, for deleting and squeezing.
    pub(super) fn chosen(&self, complement: bool) -> Accept<ByteSet> {
        if self.elements.iter().any(|element| matches!(element, Element::Repeat(_, 0))) {
            return Declined::because("[x*] where nothing is translated");
        }
        let set: ByteSet = self.units().iter().map(|unit| unit.byte).collect();
        Ok(if complement { set.complement() } else { set })
    }

    /// Expands it to single bytes, in order.
    fn units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for element in &self.elements {
            let (bytes, class): (Vec<u8>, _) = match *element {
                Element::Range(first, last) => ((first..=last).collect(), None),
                Element::Class(class) => {
                    let case = matches!(class, UPPER | LOWER).then_some(class);
                    ((0..=255).filter(|&byte| CLASSES[class].1(byte)).collect(), case)
                }
                Element::Equivalent(byte) => (vec![byte], None),
                Element::Repeat(byte, count) => (vec![byte; count as usize], None),
            };
            units.extend(bytes.into_iter().enumerate().map(|(index, byte)| Unit {
                byte,
                class,
                first: index == 0,
            }));
        }
        units
    }
}

/// A byte of a set, its case class, and whether it is the first of its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    byte: u8,
    class: Option<usize>,
    first: bool,
}

fn unescape(operand: &[u8]) -> Accept<Vec<Letter>> {
    let mut letters = Vec::with_capacity(operand.len());
    let mut rest = operand;
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, escaped, length) = match (byte, after) {
            // tr warns about both on standard error.
            (b'\\', []) => return Declined::because("a set that ends in a lone backslash"),
            (b'\\', [b'0'..=b'7', ..]) => {
                let (byte, digits) = octal(after)?;
                (byte, true, 1 + digits)
            }
            (b'\\', [letter, ..]) => (named(*letter), true, 2),
            _ => (byte, false, 1),
        };
        letters.push(Letter { byte, escaped });
        rest = &rest[length..];
    }
    Ok(letters)
}

/// Returns the byte that a letter after a backslash means.
fn named(letter: u8) -> u8 {
    match letter {
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        other => other,
    }
}

/// Parses up to three octal digits. Returns the byte and the number of digits.
fn octal(text: &[u8]) -> Accept<(u8, usize)> {
    let digits = text.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let value = text[..digits].iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
    match u8::try_from(value) {
        Ok(byte) => Ok((byte, digits)),
        Err(_) => Declined::because("an ambiguous octal escape"),
    }
}

/// Parses `[:class:]`, `[=c=]` or `[x*n]` at the start of `letters`. Returns the element and its length;
/// `None` if the bracket is literal.
fn bracketed(letters: &[Letter]) -> Accept<Option<(Element, usize)>> {
    let [bracket, kind, inside @ ..] = letters else { return Ok(None) };
    if !bracket.is(b'[') {
        return Ok(None);
    }
    let named = kind.is(b':') || kind.is(b'=');
    if let Some(length) = closing(inside, kind.byte).filter(|_| named) {
        let name: Vec<u8> = inside[..length].iter().map(|letter| letter.byte).collect();
        match named_element(kind.byte, &name) {
            Some(element) => return Ok(Some((element, length + 4))),
            // `[:*3]` with a later `:]` is a repeat.
            None if !star_digits_bracket(inside) => return Declined::because("an invalid class"),
            None => {}
        }
    }
    repeat(letters)
}

fn named_element(kind: u8, name: &[u8]) -> Option<Element> {
    if kind == b':' {
        let class = CLASSES.iter().position(|(known, _)| known.as_bytes() == name)?;
        return Some(Element::Class(class));
    }
    match name {
        [byte] => Some(Element::Equivalent(*byte)),
        _ => None,
    }
}

/// Returns the number of letters before `:]` or `=]`.
fn closing(letters: &[Letter], kind: u8) -> Option<usize> {
    letters.windows(2).position(|pair| pair[0].is(kind) && pair[1].is(b']'))
}

fn star_digits_bracket(letters: &[Letter]) -> bool {
    let Some((star, rest)) = letters.split_first() else { return false };
    let end = rest.iter().find(|letter| !letter.byte.is_ascii_digit());
    star.is(b'*') && end.is_some_and(|letter| letter.is(b']'))
}

fn repeat(letters: &[Letter]) -> Accept<Option<(Element, usize)>> {
    if !letters.get(2).is_some_and(|letter| letter.is(b'*')) {
        return Ok(None);
    }
    let count: Vec<u8> = letters[3..]
        .iter()
        .take_while(|letter| !letter.escaped && letter.byte != b']')
        .map(|letter| letter.byte)
        .collect();
    if !letters.get(3 + count.len()).is_some_and(|letter| letter.is(b']')) {
        return Ok(None);
    }
    let radix = if count.first() == Some(&b'0') { 8 } else { 10 };
    let digits =
        std::str::from_utf8(&count).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let value = match digits {
        Some("") => Some(0),
        Some(text) => u64::from_str_radix(text, radix).ok().filter(|count| *count <= REPEAT_MAX),
        None => None,
    };
    match value {
        Some(value) => Ok(Some((Element::Repeat(letters[1].byte, value), 4 + count.len()))),
        None => Declined::because("a repeat count that is invalid or very large"),
    }
}

/// Returns the table for translating `first` to `second`, and the bytes that `second` names (for squeezing).
pub(super) fn translation(
    first: &Set,
    second: &Set,
    complement: bool,
    truncate: bool,
) -> Accept<([u8; 256], ByteSet)> {
    if first.elements.iter().any(|element| matches!(element, Element::Repeat(_, 0))) {
        return Declined::because("[x*] in the first set");
    }
    let mut from = first.units();
    if complement {
        let named: ByteSet = from.iter().map(|unit| unit.byte).collect();
        from = named
            .complement()
            .iter()
            .enumerate()
            .map(|(index, byte)| Unit { byte, class: None, first: index == 0 })
            .collect();
    }
    let mut second = second.clone();
    fill_repeat(&mut second, from.len())?;
    check_second(&second)?;
    let mut to = second.units();
    if complement {
        // Case is converted only where both classes are aligned.
        to.iter_mut().for_each(|unit| unit.class = None);
    }
    let cases = !complement && second.elements.iter().any(|element| matches!(element, Element::Class(_)));
    let (from_length, to_length) =
        if cases { lengths_with_cases(&from, &to)? } else { (from.len(), to.len()) };
    if from_length > to_length && !truncate {
        let last = extension(&second)?;
        to.extend((0..from_length - to_length).map(|_| Unit { byte: last, class: None, first: false }));
    }
    if complement && first.elements.iter().any(|element| matches!(element, Element::Class(_))) {
        let single = to.windows(2).all(|pair| pair[0].byte == pair[1].byte);
        if !single || to.len() != from.len() {
            return Declined::because("a complemented class that is not mapped to one byte");
        }
    }
    let targets = to.iter().map(|unit| unit.byte).collect();
    Ok((table(&from, &to), targets))
}

/// Sets the length of the `[x*]` in the second set.
fn fill_repeat(second: &mut Set, wanted: usize) -> Accept<()> {
    let length = second.units().len();
    let mut open = second.elements.iter_mut().filter(|element| matches!(element, Element::Repeat(_, 0)));
    let found = open.next();
    if open.next().is_some() {
        return Declined::because("several [x*] in the second set");
    }
    if let Some(Element::Repeat(_, count)) = found {
        *count = wanted.saturating_sub(length) as u64;
    }
    Ok(())
}

fn check_second(second: &Set) -> Accept<()> {
    for element in &second.elements {
        match element {
            Element::Equivalent(_) => return Declined::because("[=c=] in the second set"),
            Element::Class(class) if !matches!(*class, UPPER | LOWER) => {
                return Declined::because("a class other than upper and lower in the second set");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the byte that pads the second set: its last one.
fn extension(second: &Set) -> Accept<u8> {
    match second.elements.last() {
        None => Declined::because("an empty second set"),
        Some(Element::Class(_)) => Declined::because("a second set that is shorter and ends in a class"),
        Some(Element::Range(_, byte) | Element::Repeat(byte, _) | Element::Equivalent(byte)) => Ok(*byte),
    }
}

/// Walks both sets in parallel, where a case class of the second set takes the whole class of the first as
/// one step. Returns the rest of the second.
fn walk<'a>(
    mut from: &[Unit],
    mut to: &'a [Unit],
    mut step: impl FnMut(Unit, Unit) -> Accept<()>,
) -> Accept<&'a [Unit]> {
    while let ([source, from_rest @ ..], [target, to_rest @ ..]) = (from, to) {
        step(*source, *target)?;
        (from, to) = (from_rest, to_rest);
        if target.class.is_some() {
            (from, to) = (after_element(from), after_element(to));
        }
    }
    Ok(to)
}

fn after_element(units: &[Unit]) -> &[Unit] {
    let length = units.iter().position(|unit| unit.first).unwrap_or(units.len());
    &units[length..]
}

/// Returns both lengths, counting an aligned pair of case classes once. Misaligned classes are an error of
/// tr's.
fn lengths_with_cases(from: &[Unit], to: &[Unit]) -> Accept<(usize, usize)> {
    const MISALIGNED: &str = "[:upper:] and [:lower:] that do not stand opposite each other";
    let mut pairs = 0;
    let left = walk(from, to, |source, target| {
        if target.class.is_none() {
            return Ok(());
        }
        if source.class.is_none() || !source.first || !target.first {
            return Declined::because(MISALIGNED);
        }
        pairs += 1;
        Ok(())
    })?;
    if left.iter().any(|unit| unit.class.is_some()) {
        return Declined::because(MISALIGNED);
    }
    Ok((from.len() - pairs * 25, to.len() - pairs * 25))
}

fn table(from: &[Unit], to: &[Unit]) -> [u8; 256] {
    let mut table = std::array::from_fn(|byte| byte as u8);
    // The closure never declines.
    let _ = walk(from, to, |source, target| {
        match (source.class, target.class) {
            (Some(LOWER), Some(UPPER)) => {
                (b'a'..=b'z').for_each(|byte| table[usize::from(byte)] = byte.to_ascii_uppercase());
            }
            (Some(UPPER), Some(LOWER)) => {
                (b'A'..=b'Z').for_each(|byte| table[usize::from(byte)] = byte.to_ascii_lowercase());
            }
            _ => table[usize::from(source.byte)] = target.byte,
        }
        Ok(())
    });
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(first: &str, second: &str, text: &str) -> Accept<String> {
        let (table, _) =
            translation(&Set::parse(first.as_bytes())?, &Set::parse(second.as_bytes())?, false, false)?;
        Ok(text.bytes().map(|byte| char::from(table[usize::from(byte)])).collect())
    }

    #[test]
    fn sets_are_read_and_fitted() {
        assert_eq!(translated("a-c", "A-C", "abcd").unwrap(), "ABCd");
        assert_eq!(translated("a-e", "xy", "abcde").unwrap(), "xyyyy");
        assert_eq!(translated("abc", "[x*2]y", "abc").unwrap(), "xxy");
        assert_eq!(translated("a-e", "1[x*]9", "abcde").unwrap(), "1xxx9");
        assert_eq!(translated("[:lower:]1", "[:upper:]2", "az1").unwrap(), "AZ2");
        assert_eq!(translated("[:digit:]", "#", "a1").unwrap(), "a#");
        assert_eq!(translated("\\101\\n", "\\141 ", "A\n").unwrap(), "a ");
        assert_eq!(translated("[ab]", "(xy)", "[a]").unwrap(), "(x)");
        assert_eq!(translated("a\\-c", "123", "a-bc").unwrap(), "12b3");
    }

    #[test]
    fn what_tr_complains_about_is_declined() {
        for (first, second) in [
            ("z-a", "x"),
            ("a", ""),
            ("[:nope:]", "x"),
            ("a", "[:digit:]"),
            ("a", "[=b=]"),
            ("[x*]", "a"),
            ("ab", "[x*][y*]"),
            ("a[:upper:]", "[:lower:]b"),
            ("a", "\\"),
            ("[a*x]", "b"),
        ] {
            assert!(translated(first, second, "").is_err(), "{first} {second}");
        }
    }
}
