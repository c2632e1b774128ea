//! Splits an input between records. Quotes decide which line ends terminate a record.

use std::io::{self, Read};

use memchr::{memchr_iter, memchr2_iter};

/// A chunk of records.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Whole records; the last one of the input may lack its line end, or end within quotes.
    pub(crate) bytes: Vec<u8>,
    /// The record limit, if `bytes` is the beginning of a single record that exceeds it.
    pub(crate) too_long: Option<usize>,
}

/// Returns chunks of whole records.
pub(crate) struct Cutter<R> {
    input: R,
    size: usize,
    /// Maximum length of a record in bytes.
    record_max: usize,
    /// The beginning of an incomplete record.
    rest: Vec<u8>,
    /// Whether `rest` ends within quotes.
    quoted: bool,
    over: bool,
}

impl<R: Read> Cutter<R> {
    pub(crate) fn new(input: R, size: usize, record_max: usize) -> Self {
        Cutter { input, size: size.max(1), record_max, rest: Vec::new(), quoted: false, over: false }
    }

    /// Returns the next records. A record that is too long is the last one.
    pub(crate) fn next(&mut self) -> io::Result<Option<Chunk>> {
        while !self.over {
            let mut bytes = std::mem::take(&mut self.rest);
            let start = bytes.len();
            bytes.resize((start * 2).max(self.size).min(start + self.record_max.max(self.size)), 0);
            let read = match self.input.read(&mut bytes[start..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    bytes.truncate(start);
                    self.rest = bytes;
                    continue;
                }
                Err(error) => return Err(error),
            };
            bytes.truncate(start + read);
            self.over = read == 0;
            let end = if self.over { bytes.len() } else { start + self.cut(&bytes[start..]) };
            if end > start || self.over && end > 0 {
                self.rest = bytes[end..].to_vec();
                bytes.truncate(end);
                return Ok(Some(Chunk { bytes, too_long: None }));
            }
            if bytes.len() > self.record_max {
                self.over = true;
                return Ok(Some(Chunk { bytes, too_long: Some(self.record_max) }));
            }
            self.rest = bytes;
        }
        Ok(None)
    }

    /// Returns the offset after the last unquoted line end of `new`, or 0. Updates `quoted`.
    fn cut(&mut self, new: &[u8]) -> usize {
        let odd = memchr_iter(b'"', new).count() % 2 == 1;
        self.quoted ^= odd;
        // Searches backwards from the end, where it is known whether quotes are open.
        let mut quoted = self.quoted;
        for at in memchr2_iter(b'"', b'\n', new).rev() {
            match new[at] {
                b'"' => quoted = !quoted,
                _ if !quoted => return at + 1,
                _ => {}
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stay_whole() {
        let text = b"a,b\n\"x\ny\",\"\"\"\n\"\n\n1,2\r\n\"\n\n\",\"\"\nlast,\"one";
        for size in 1..60 {
            let mut cutter = Cutter::new(&text[..], size, 1 << 20);
            let mut whole = Vec::new();
            while let Some(Chunk { bytes: records, .. }) = cutter.next().expect("bytes") {
                let quotes = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'"').count();
                assert!(
                    quotes(&records).is_multiple_of(2) && records.ends_with(b"\n")
                        || records.ends_with(b"one")
                );
                whole.extend(records);
            }
            assert_eq!(whole, text, "{size}");
        }
        assert_eq!(Cutter::new(&b""[..], 9, 1 << 20).next().expect("bytes"), None);
    }
}
