//! Executes `s` on one pattern space.

use super::program::Substitution;
use super::replacement;
use crate::regex::GaveUp;

/// The line must be left to the real sed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop;

impl From<GaveUp> for Stop {
    fn from(_: GaveUp) -> Self {
        Stop
    }
}

impl From<replacement::NotAscii> for Stop {
    fn from(_: replacement::NotAscii) -> Self {
        Stop
    }
}

impl Substitution {
    /// Appends the result for `text` to `out`, if anything is replaced; otherwise leaves `out` unchanged.
    pub(super) fn line(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<bool, Stop> {
        let Some(first) = self.regex.find(text, 0..text.len())? else { return Ok(false) };
        let start = out.len();
        let (mut found, mut at, mut count, mut done) = (first, 0, 0, false);
        let mut previous_end = None;
        loop {
            out.extend_from_slice(&text[at..found.0]);
            let empty = found.0 == found.1;
            // An empty match directly after a match does not count.
            if !(empty && previous_end == Some(found.0)) {
                count += 1;
                if count < self.says.nth {
                    out.extend_from_slice(&text[found.0..found.1]);
                } else {
                    self.replace(text, found, out)?;
                    done = true;
                }
            }
            previous_end = Some(found.1);
            at = found.1;
            if done && !self.says.global || at == text.len() {
                break;
            }
            if empty {
                // Such expressions support only ASCII where multibyte characters are possible.
                out.push(text[at]);
                at += 1;
            }
            match self.regex.find(text, at..text.len())? {
                Some(next) => found = next,
                None => break,
            }
        }
        if done {
            out.extend_from_slice(&text[at..]);
        } else {
            out.truncate(start);
        }
        Ok(done)
    }

    /// Appends the replacement of a match.
    #[inline]
    pub(super) fn replace(
        &mut self,
        text: &[u8],
        found: (usize, usize),
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        if let Some(fixed) = &self.fixed {
            out.extend_from_slice(fixed);
            return Ok(());
        }
        let parts = &self.says.replacement;
        if !self.traced {
            return Ok(replacement::append(parts, |_| &text[found.0..found.1], out)?);
        }
        let spans = self.regex.groups_of(text, found)?;
        let group = |number: usize| match spans.get(number) {
            _ if number == 0 => &text[found.0..found.1],
            Some(Some((start, end))) => &text[*start..*end],
            _ => &b""[..],
        };
        Ok(replacement::append(parts, group, out)?)
    }
}
