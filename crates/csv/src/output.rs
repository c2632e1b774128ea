//! Output formats of records.

use crate::field::{inner, is_plain, meaning};
use crate::header::Header;

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Separated values with this delimiter, quoted where necessary.
    Separated(u8),
    /// A line for each record, with tabs between fields, and `\t`, `\n`, `\r` and `\\` escaped.
    Tabs,
    /// One JSON object per line.
    Lines,
    /// One JSON array of objects.
    Array,
}

/// A format, with the parts of the header that it needs.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    format: Format,
    /// The delimiter of the input.
    delimiter: u8,
    /// Whether fields that are JSON numbers are printed without quotes.
    numbers: bool,
    /// The text before each value: `{"name":`, `,"other":`.
    leads: Vec<Vec<u8>>,
}

impl Format {
    /// Returns the end of the output. `begun`: something was printed.
    pub fn ending(self, begun: bool) -> &'static [u8] {
        match (self, begun) {
            (Format::Array, true) => b"\n]\n",
            (Format::Array, false) => b"[]\n",
            _ => b"",
        }
    }
}

impl Printer {
    pub(crate) fn new(
        format: Format,
        delimiter: u8,
        numbers: bool,
        header: &Header,
        columns: &[usize],
    ) -> Self {
        let lead = |(place, column): (usize, &usize)| {
            let mut lead = vec![if place == 0 { b'{' } else { b',' }];
            quote_json(&header.name(*column), &mut lead);
            lead.push(b':');
            lead
        };
        let leads = match format {
            Format::Lines | Format::Array => columns.iter().enumerate().map(lead).collect(),
            _ => Vec::new(),
        };
        Printer { format, delimiter, numbers, leads }
    }

    /// Whether the format prints column names on a separate line.
    pub(crate) fn has_header(&self) -> bool {
        matches!(self.format, Format::Separated(_) | Format::Tabs)
    }

    /// Appends the selected fields of a record; `fields` are as written in the input.
    #[inline(always)]
    pub(crate) fn record<'a>(&self, fields: impl Iterator<Item = &'a [u8]>, to: &mut Vec<u8>) {
        match self.format {
            Format::Separated(delimiter) => self.separated(fields, delimiter, to),
            Format::Tabs => tabs(fields, to),
            Format::Lines | Format::Array => self.object(fields, to),
        }
    }

    #[inline(always)]
    fn separated<'a>(&self, fields: impl Iterator<Item = &'a [u8]>, delimiter: u8, to: &mut Vec<u8>) {
        let start = to.len();
        let mut count = 0;
        for raw in fields {
            if count > 0 {
                to.push(delimiter);
            }
            count += 1;
            match inner(raw) {
                // As written, unless it contains the new delimiter.
                None if self.delimiter == delimiter || !raw.contains(&delimiter) => to.extend_from_slice(raw),
                Some(text) if is_plain(text, delimiter) => to.extend_from_slice(text),
                Some(_) => to.extend_from_slice(raw),
                None => {
                    to.push(b'"');
                    to.extend_from_slice(raw);
                    to.push(b'"');
                }
            }
        }
        if count == 1 && to.len() == start {
            // An empty line is not a record.
            to.extend_from_slice(b"\"\"");
        }
        to.push(b'\n');
    }

    fn object<'a>(&self, fields: impl Iterator<Item = &'a [u8]>, to: &mut Vec<u8>) {
        for (lead, raw) in self.leads.iter().zip(fields) {
            to.extend_from_slice(lead);
            let text = meaning(raw);
            if self.numbers && is_number(&text) {
                to.extend_from_slice(&text);
            } else {
                quote_json(&text, to);
            }
        }
        if self.leads.is_empty() {
            to.push(b'{');
        }
        to.push(b'}');
        if self.format == Format::Lines {
            to.push(b'\n');
        }
    }
}

fn tabs<'a>(fields: impl Iterator<Item = &'a [u8]>, to: &mut Vec<u8>) {
    for (place, raw) in fields.enumerate() {
        if place > 0 {
            to.push(b'\t');
        }
        let text = meaning(raw);
        let plain =
            memchr::memchr3(b'\t', b'\n', b'\r', &text).is_none() && memchr::memchr(b'\\', &text).is_none();
        if plain {
            to.extend_from_slice(&text);
            continue;
        }
        for byte in &*text {
            match byte {
                b'\t' => to.extend_from_slice(b"\\t"),
                b'\n' => to.extend_from_slice(b"\\n"),
                b'\r' => to.extend_from_slice(b"\\r"),
                b'\\' => to.extend_from_slice(b"\\\\"),
                _ => to.push(*byte),
            }
        }
    }
    to.push(b'\n');
}

/// Appends a JSON string; invalid UTF-8 becomes U+FFFD.
fn quote_json(text: &[u8], to: &mut Vec<u8>) {
    to.push(b'"');
    let plain =
        text.iter().fold(true, |plain, byte| plain & (b' '..0x7f).contains(byte) & !b"\"\\".contains(byte));
    if plain {
        to.extend_from_slice(text);
    } else {
        for character in String::from_utf8_lossy(text).chars() {
            match character {
                '"' | '\\' => to.extend_from_slice(&[b'\\', character as u8]),
                '\n' => to.extend_from_slice(b"\\n"),
                '\r' => to.extend_from_slice(b"\\r"),
                '\t' => to.extend_from_slice(b"\\t"),
                '\0'..' ' => to.extend_from_slice(format!("\\u{:04x}", character as u32).as_bytes()),
                _ => to.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
    to.push(b'"');
}

/// Whether the text is a JSON number (RFC 8259, section 6).
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || whole > 1 && rest[0] == b'0' {
        return false;
    }
    let mut rest = &rest[whole..];
    if let [b'.', fraction @ ..] = rest {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', exponent @ ..] => exponent,
            _ => exponent,
        };
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_json() {
        for text in ["0", "-0", "10", "1.5", "-1.5e+10", "1E5"] {
            assert!(is_number(text.as_bytes()), "{text}");
        }
        for text in ["", "-", "01", "1.", ".5", "+1", "1e", "1e+", "1a", "0x1", " 1", "NaN"] {
            assert!(!is_number(text.as_bytes()), "{text}");
        }
    }
}
