//! Escapes that stand for one character: sed has `\n \t \x41 …`; grep has none.

use crate::{Accept, Declined};

use super::parse::Parser;

impl Parser<'_> {
    /// Parses an escape for one character after a backslash, in sed, if there is one.
    pub(super) fn char_escape(&mut self) -> Accept<Option<u32>> {
        let Some(letter) = self.peek_at(0).and_then(char::from_u32) else { return Ok(None) };
        let simple = match letter {
            'n' => 0x0A,
            't' => 0x09,
            'r' => 0x0D,
            'f' => 0x0C,
            'v' => 0x0B,
            'a' => 0x07,
            'x' => return self.numbered(16, 2).map(Some),
            'o' => return self.numbered(8, 3).map(Some),
            'd' => return self.numbered(10, 3).map(Some),
            'c' => return Declined::because("a control escape (\\c)"),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(simple))
    }

    /// Parses `\x1b`, `\o033`, `\d027`. sed converts the character before it parses the expression, and
    /// quotes special ones; so only characters that are never special are accepted.
    fn numbered(&mut self, radix: u32, digits: usize) -> Accept<u32> {
        self.at += 1;
        let mut value = 0;
        for taken in 0..digits {
            let digit = self.peek_at(0).and_then(char::from_u32).and_then(|c| c.to_digit(radix));
            match digit {
                Some(digit) => value = value * radix + digit,
                None if taken == 0 => return Declined::because("a numbered escape without a number"),
                None => break,
            }
            self.at += 1;
        }
        match u8::try_from(value) {
            Ok(b) if b != 0 && b != b'\n' && (b.is_ascii_control() || b.is_ascii_alphanumeric()) => Ok(value),
            _ => Declined::because("a numbered escape for a special or non-ASCII character"),
        }
    }
}
