//! The escapes of `$'…'`.

/// Decodes the text between `$'` and `'` as bash does.
///
/// Returns `None` if the result is not plain text: bytes above 127 (which may not be UTF-8), characters by
/// number above 127 (which depend on the locale), a zero byte (which ends the string), bytes 1 and 127 (which
/// bash uses itself).
pub(crate) fn decode(escapes: &str) -> Option<String> {
    let mut out = String::with_capacity(escapes.len());
    let mut rest = escapes.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            None => out.push('\\'),
            Some(c) => escape(c, &mut rest, &mut out)?,
        }
    }
    Some(out)
}

fn escape(c: char, rest: &mut std::str::Chars<'_>, out: &mut String) -> Option<()> {
    match c {
        'a' => out.push('\x07'),
        'b' => out.push('\x08'),
        'e' | 'E' => out.push('\x1b'),
        'f' => out.push('\x0c'),
        'n' => out.push('\n'),
        'r' => out.push('\r'),
        't' => out.push('\t'),
        'v' => out.push('\x0b'),
        '\\' | '\'' | '"' | '?' => out.push(c),
        '0'..='7' => {
            let (value, _) = digits(rest, 8, 2, c.to_digit(8)?);
            out.push(plain(value)?);
        }
        'x' if rest.as_str().starts_with('{') => return None,
        'x' => number(c, rest, 2, out)?,
        'u' => number(c, rest, 4, out)?,
        'U' => number(c, rest, 8, out)?,
        'c' => out.push(control(rest)?),
        other => out.extend(['\\', other]),
    }
    Some(())
}

/// Decodes `\xHH` and similar escapes; without a digit the letter and its backslash stay.
fn number(letter: char, rest: &mut std::str::Chars<'_>, most: usize, out: &mut String) -> Option<()> {
    match digits(rest, 16, most, 0) {
        (_, 0) => out.extend(['\\', letter]),
        (value, _) => out.push(plain(value)?),
    }
    Some(())
}

/// Parses up to `most` digits, continuing from `value`. Returns the value and the number of digits.
fn digits(rest: &mut std::str::Chars<'_>, base: u32, most: usize, mut value: u32) -> (u32, usize) {
    for count in 0..most {
        let Some(digit) = rest.clone().next().and_then(|c| c.to_digit(base)) else { return (value, count) };
        rest.next();
        value = value.wrapping_mul(base).wrapping_add(digit);
    }
    (value, most)
}

fn control(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let c = rest.next()?;
    // `\c\\` takes both backslashes.
    if c == '\\' && rest.as_str().starts_with('\\') {
        rest.next();
    }
    let byte = u8::try_from(c).ok().filter(u8::is_ascii)?;
    let value = if byte == b'?' { 127 } else { byte.to_ascii_uppercase() & 0x1f };
    plain(u32::from(value))
}

fn plain(value: u32) -> Option<char> {
    char::from_u32(value).filter(|c| ('\x02'..='\x7e').contains(c))
}
