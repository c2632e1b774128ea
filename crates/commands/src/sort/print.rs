//! Output of sorted lines: all, once, or counted.

/// Which lines of a group of identical ones are printed, and whether with their number, as in `uniq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStyle {
    /// Prints a line that occurs once.
    pub single: bool,
    /// Prints one of several.
    pub one_of_many: bool,
    /// Prints all the others.
    pub others_of_many: bool,
    /// Prints the number before it.
    pub counted: bool,
}

impl GroupStyle {
    /// Returns how many lines are printed for a group of `count`.
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
    /// In groups of identical lines.
    Groups(GroupStyle),
    /// Once, after its count: for spill files only.
    Stored,
}

/// Prints lines that arrive in order.
#[derive(Debug)]
pub(crate) struct Printer {
    style: Style,
    /// The group in progress.
    group: Vec<u8>,
    count: u64,
}

impl Printer {
    pub(crate) fn new(style: Style) -> Self {
        Printer { style, group: Vec::new(), count: 0 }
    }

    /// Returns the style.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Takes the next line in order, with its terminator, which occurs `count` times, and prints it as the style says.
    /// A line of a group (`uniq`) is only printed once a different line follows, or at the end.
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

    /// Prints the group in progress.
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

/// Appends a line after its count: hexadecimal digits and a colon, none of which ends lines.
fn push_stored(line: &[u8], count: u64, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = (u64::BITS - count.leading_zeros()).div_ceil(4).max(1);
    out.extend((0..digits).rev().map(|at| DIGITS[(count >> (4 * at)) as usize & 15]));
    out.push(b':');
    out.extend_from_slice(line);
}

/// Parses an entry of [`Style::Stored`]: the line, and its count.
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

/// Prints a count as `uniq -c` does: `%7d `.
#[inline]
pub(crate) fn push_count(count: u64, out: &mut Vec<u8>) {
    const WIDTH: usize = 7;
    const DIGITS_MAX: usize = 20;
    if count < 10 {
        // The usual case.
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
