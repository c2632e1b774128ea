//! What becomes of sorted lines: printed, printed once, or counted.

/// Which lines of a group of identical ones are printed, and whether with their number: what `uniq` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStyle {
    /// A line that occurs once.
    pub single: bool,
    /// One of several.
    pub one_of_many: bool,
    /// All the others.
    pub others_of_many: bool,
    /// With the number before it.
    pub counted: bool,
}

impl GroupStyle {
    /// How many lines are printed of a group of so many.
    pub(crate) fn times(&self, count: u64) -> u64 {
        match count {
            0 => 0,
            1 => u64::from(self.single),
            many => u64::from(self.one_of_many) + if self.others_of_many { many - 1 } else { 0 },
        }
    }
}

/// How lines are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// As often as they occur.
    Every,
    /// Once.
    Once,
    /// As groups of identical lines.
    Groups(GroupStyle),
    /// Once, behind how often they occur: not for anybody else to read.
    Stored,
}

/// Prints lines that come in order.
#[derive(Debug)]
pub(crate) struct Printer {
    style: Style,
    /// The group that may not have ended.
    group: Vec<u8>,
    count: u64,
}

impl Printer {
    pub(crate) fn new(style: Style) -> Self {
        Printer { style, group: Vec::new(), count: 0 }
    }

    /// How it prints.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Takes a line with its terminator, and how often it occurs.
    #[inline]
    pub(crate) fn add(&mut self, line: &[u8], count: u64, out: &mut Vec<u8>) {
        match self.style {
            Style::Every => {
                for _ in 0..count {
                    out.extend_from_slice(line);
                }
            }
            Style::Once => out.extend_from_slice(line),
            Style::Stored => push_stored(line, count, out),
            Style::Groups(_) if self.count > 0 && self.group == line => self.count += count,
            Style::Groups(_) => {
                self.end_group(out);
                self.group.clear();
                self.group.extend_from_slice(line);
                self.count = count;
            }
        }
    }

    /// Prints what was held back.
    pub(crate) fn end_group(&mut self, out: &mut Vec<u8>) {
        let Style::Groups(style) = self.style else { return };
        for _ in 0..style.times(self.count) {
            if style.counted {
                push_count(self.count, out);
            }
            out.extend_from_slice(&self.group);
        }
        self.count = 0;
    }
}

/// A line behind its count: hexadecimal digits and a colon, none of which ends lines.
fn push_stored(line: &[u8], count: u64, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = (u64::BITS - count.leading_zeros()).div_ceil(4).max(1);
    out.extend((0..digits).rev().map(|at| DIGITS[(count >> (4 * at)) as usize & 15]));
    out.push(b':');
    out.extend_from_slice(line);
}

/// What [`Style::Stored`] made of a line: the line, and its count.
#[inline]
pub(crate) fn parse_stored(entry: &[u8]) -> (&[u8], u64) {
    let mut count = 0;
    for (at, byte) in entry.iter().enumerate() {
        match byte {
            b':' => return (&entry[at + 1..], count),
            b'0'..=b'9' => count = (count << 4) + u64::from(byte - b'0'),
            _ => count = (count << 4) + u64::from(byte.wrapping_sub(b'a') & 15) + 10,
        }
    }
    (entry, 1)
}

/// As `uniq -c` prints it: `%7d `.
#[inline]
pub(crate) fn push_count(count: u64, out: &mut Vec<u8>) {
    const WIDTH: usize = 7;
    const DIGITS_MAX: usize = 20;
    if count < 10 {
        // Most are.
        let mut text = *b"      0 ";
        text[WIDTH - 1] += count as u8;
        return out.extend_from_slice(&text);
    }
    let mut text = [b' '; DIGITS_MAX + 1];
    let mut at = DIGITS_MAX;
    let mut rest = count;
    loop {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[at.min(DIGITS_MAX - WIDTH)..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_padded_to_seven() {
        let shown = |count| {
            let mut out = Vec::new();
            push_count(count, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown(1), "      1 ");
        assert_eq!(shown(1234567), "1234567 ");
        assert_eq!(shown(12345678), "12345678 ");
        assert_eq!(shown(u64::MAX), "18446744073709551615 ");
    }
}
