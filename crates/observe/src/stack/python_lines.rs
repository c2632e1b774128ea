//! Python's line tables: from a place in a function's code to its line.

use super::python_versions::LineFormat;

/// Returns the line of byte `place` of the code.
pub fn line(format: LineFormat, table: &[u8], first_line: i64, place: u64) -> Option<i64> {
    match format {
        LineFormat::Increments => Some(by_increments(table, first_line, place)),
        LineFormat::Ranges => by_ranges(table, first_line, place),
        LineFormat::Locations => by_locations(table, first_line, place),
    }
}

/// Pairs: so many bytes on, so many lines on.
fn by_increments(table: &[u8], first_line: i64, place: u64) -> i64 {
    let (mut at, mut line) = (0u64, first_line);
    for pair in table.chunks_exact(2) {
        at += u64::from(pair[0]);
        if at > place {
            break;
        }
        line += i64::from(pair[1] as i8);
    }
    line
}

/// Pairs: the line changes by so much, for the next so many bytes; -128 marks code without a line.
fn by_ranges(table: &[u8], first_line: i64, place: u64) -> Option<i64> {
    let (mut end, mut line) = (0u64, first_line);
    for pair in table.chunks_exact(2) {
        end += u64::from(pair[0]);
        let change = pair[1] as i8;
        if change != i8::MIN {
            line += i64::from(change);
        }
        if place < end {
            return (change != i8::MIN).then_some(line);
        }
    }
    None
}

/// Reads the table of Python 3.11 and later. An entry has several bytes. Only its first byte has the top bit set: it holds the
/// kind and the length; line and columns follow.
fn by_locations(table: &[u8], first_line: i64, place: u64) -> Option<i64> {
    let (mut at, mut end, mut line) = (0, 0u64, first_line);
    while let Some(&first) = table.get(at) {
        let kind = (first >> 3) & 15;
        end += 2 * (u64::from(first & 7) + 1);
        at += 1;
        line += match kind {
            13 | 14 => signed(table, at),
            10..=12 => i64::from(kind) - 10,
            _ => 0,
        };
        if place < end {
            return (kind != 15).then_some(line);
        }
        at += table[at..].iter().take_while(|byte| **byte & 0x80 == 0).count();
    }
    None
}

/// Reads a number of 6 bits a byte, the least first; bit 6 says that more follow. The lowest bit is the sign.
fn signed(table: &[u8], at: usize) -> i64 {
    let (mut value, mut shift) = (0i64, 0);
    for byte in table.get(at..).unwrap_or_default() {
        value |= i64::from(byte & 63) << shift;
        shift += 6;
        if byte & 64 == 0 || shift > 54 {
            break;
        }
    }
    if value & 1 == 0 { value >> 1 } else { -(value >> 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increments() {
        let table = [0, 1, 8, 1, 10, 0xff];
        let line = |place| line(LineFormat::Increments, &table, 10, place);
        assert_eq!((line(0), line(8), line(17), line(18)), (Some(11), Some(12), Some(12), Some(11)));
    }

    #[test]
    fn ranges() {
        let table = [4, 1, 6, 0x80, 2, 3];
        let line = |place| line(LineFormat::Ranges, &table, 10, place);
        assert_eq!((line(0), line(4), line(10), line(12)), (Some(11), None, Some(14), None));
    }

    #[test]
    fn locations() {
        // A short entry, one of the next line, one without columns 5 lines back, one without a line.
        let table = [0x80, 0, 0xd9, 1, 2, 0xe8, 11, 0xf8];
        let line = |place| line(LineFormat::Locations, &table, 10, place);
        assert_eq!(
            (line(0), line(2), line(5), line(6), line(8)),
            (Some(10), Some(11), Some(11), Some(6), None)
        );
    }
}
