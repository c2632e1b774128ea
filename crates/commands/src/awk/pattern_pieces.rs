//! Splits a regular expression into pieces: characters, sets, operators.

/// Returns the pieces of an expression (characters, sets, operators), each with the next.
pub(super) fn pairs(text: &[u8]) -> Vec<(&[u8], Option<&[u8]>)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let end = match text[at] {
            b'\\' => at + 2,
            b'[' => end_of_bracket(text, at),
            _ => at + 1,
        };
        let end = end.min(text.len());
        pieces.push(&text[at..end]);
        at = end;
    }
    let next = pieces.iter().skip(1).map(|piece| Some(*piece)).chain([None]);
    pieces.iter().copied().zip(next).collect()
}

fn end_of_bracket(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    at += usize::from(text.get(at) == Some(&b'^'));
    at += usize::from(text.get(at) == Some(&b']'));
    while let Some(byte) = text.get(at) {
        match byte {
            b']' => return at + 1,
            b'\\' => at += 2,
            b'[' if text.get(at + 1) == Some(&b':') => {
                at = memchr::memmem::find(&text[at..], b":]").map_or(text.len(), |end| at + end + 2);
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the members of a piece. `None` if not obvious.
pub(super) fn members(piece: &[u8]) -> Option<[bool; 256]> {
    let mut members = [false; 256];
    match piece {
        b"." => return Some([true; 256]),
        [b'\\', byte] if byte.is_ascii_punctuation() => members[usize::from(*byte)] = true,
        [b'\\', byte] => members[usize::from(blank(*byte)?)] = true,
        [b'[', inner @ .., b']'] => return bracket(inner),
        [byte] => members[usize::from(*byte)] = true,
        _ => return None,
    }
    Some(members)
}

/// Returns the character of an escape.
fn blank(letter: u8) -> Option<u8> {
    match letter {
        b't' => Some(b'\t'),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        _ => None,
    }
}

fn bracket(inner: &[u8]) -> Option<[bool; 256]> {
    let negated = inner.first() == Some(&b'^');
    let inner = &inner[usize::from(negated)..];
    let mut members = [false; 256];
    let mut at = 0;
    while let Some(&byte) = inner.get(at) {
        let rest = &inner[at..];
        at += match (byte, rest) {
            (b'[', [_, b':', ..]) => {
                let end = memchr::memmem::find(rest, b":]")?;
                let is_member = class(&rest[2..end])?;
                (0..128u8).filter(is_member).for_each(|byte| members[usize::from(byte)] = true);
                end + 2
            }
            (b'[', [_, b'.' | b'=', ..]) => return None,
            (b'\\', [_, byte, ..]) if blank(*byte).is_some() => {
                blank(*byte).into_iter().for_each(|byte| members[usize::from(byte)] = true);
                2
            }
            (b'\\', [_, byte, ..]) if byte.is_ascii_punctuation() => {
                members[usize::from(*byte)] = true;
                2
            }
            (b'\\', _) => return None,
            (low, [_, b'-', high, ..]) if *high != b'\\' => {
                (low..=*high).for_each(|byte| members[usize::from(byte)] = true);
                3
            }
            (byte, _) => {
                members[usize::from(byte)] = true;
                1
            }
        };
    }
    if negated {
        members.iter_mut().for_each(|member| *member = !*member);
    }
    Some(members)
}

fn class(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alpha" => u8::is_ascii_alphabetic,
        b"digit" => u8::is_ascii_digit,
        b"alnum" => u8::is_ascii_alphanumeric,
        b"upper" => u8::is_ascii_uppercase,
        b"lower" => u8::is_ascii_lowercase,
        b"punct" => u8::is_ascii_punctuation,
        b"xdigit" => u8::is_ascii_hexdigit,
        b"space" => |byte| matches!(byte, b' ' | b'\t'..=b'\r'),
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        _ => return None,
    })
}
