//! Paragraph mode, `RS = ""`: records end at empty lines.
//!
//! Newlines part fields as well, whatever FS is: served are blanks, which include them, and a newline alone.

use crate::{Accept, Declined};

use super::Dialect;
use super::fields::Separator;
use super::machine::Ran;
use super::rules::Variant;
use super::tree::{Builtin, Expr, Program};
use super::visit::any_expr;

/// Divides the blocks of an input into paragraphs.
#[derive(Clone, Debug)]
pub(super) struct Paragraphs {
    /// The beginning of a paragraph whose end was not in the blocks so far.
    begun: Vec<u8>,
    /// How many of its bytes are known to hold no empty line.
    searched: usize,
    /// How many newlines at the start of an input are skipped.
    leading_max: usize,
    /// How many more may be skipped here.
    skip_max: usize,
}

/// mawk 1.3.4 20200120 skips newlines at the start of an input only within the first 4096 bytes. Any after those separate
/// paragraphs: the first paragraph is then empty, or starts with a newline.
const FIRST_BUFFER_BYTES: usize = 4096;

impl Paragraphs {
    pub(super) fn new(variant: Variant) -> Self {
        let leading_max = if variant == Variant::Mawk { FIRST_BUFFER_BYTES } else { usize::MAX };
        Paragraphs { begun: Vec::new(), searched: 0, leading_max, skip_max: leading_max }
    }

    /// Declines separators of fields that newlines would have to be added to. In gawk the same holds for those of
    /// `split`, which also leaves out blanks at the ends of a text.
    pub(super) fn check(program: &Program, fields: &Separator, dialect: Dialect) -> Accept<()> {
        if !matches!(fields, Separator::Blanks | Separator::Byte(b'\n')) {
            return Declined::because("an RS that is empty, with another FS than blanks or a newline");
        }
        let splits_by = |expr: &Expr| matches!(expr, Expr::Builtin(Builtin::Split, args) if args.len() > 2);
        if dialect.is_gawk() && any_expr(program, splits_by) {
            return Declined::because("an RS that is empty, with a split by another separator than FS");
        }
        Ok(())
    }

    /// Begins an input.
    pub(super) fn begin(&mut self) {
        self.begun.clear();
        self.searched = 0;
        self.skip_max = self.leading_max;
    }

    /// Calls `each` for the paragraphs that end in this block, until one of the calls ends the program.
    pub(super) fn run(&mut self, block: &[u8], mut each: impl FnMut(&[u8]) -> Ran<()>) -> Ran<()> {
        let mut begun = std::mem::take(&mut self.begun);
        let text = if begun.is_empty() {
            block
        } else {
            begun.extend_from_slice(block);
            &begun
        };
        let mut start = 0;
        let mut searched = self.searched;
        loop {
            // Empty lines before a paragraph.
            let empty = text[start..].iter().take_while(|byte| **byte == b'\n').count().min(self.skip_max);
            start += empty;
            // Behind a paragraph all of them are skipped.
            let is_paragraph = text.get(start).is_some_and(|byte| *byte != b'\n');
            self.skip_max = if is_paragraph { usize::MAX } else { self.skip_max - empty };
            searched = searched.max(start);
            let Some(end) = memchr::memmem::find(&text[searched..], b"\n\n").map(|at| searched + at) else {
                break;
            };
            each(&text[start..end])?;
            self.skip_max = usize::MAX;
            start = end + 2;
        }
        // The last byte may be the first of two newlines.
        self.searched = (text.len() - start).saturating_sub(1);
        self.begun = text[start..].to_vec();
        Ok(())
    }

    /// Calls `each` for the paragraph that the end of the input ends.
    pub(super) fn end(&mut self, mut each: impl FnMut(&[u8]) -> Ran<()>) -> Ran<()> {
        let begun = std::mem::take(&mut self.begun);
        self.searched = 0;
        if begun.is_empty() { Ok(()) } else { each(begun.strip_suffix(b"\n").unwrap_or(&begun)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paragraphs(text: &[u8], block_bytes: usize) -> Vec<Vec<u8>> {
        let (mut paragraphs, mut found) = (Paragraphs::new(Variant::Gawk), Vec::new());
        paragraphs.begin();
        let mut each = |text: &[u8]| {
            found.push(text.to_vec());
            Ok(())
        };
        for block in text.chunks(block_bytes) {
            paragraphs.run(block, &mut each).expect("it goes on");
        }
        paragraphs.end(&mut each).expect("it goes on");
        found
    }

    #[test]
    fn blocks_of_any_size_give_the_same() {
        for (text, expected) in [
            (&b"\n\na\nb\n\n\n\nc\n"[..], vec![&b"a\nb"[..], b"c"]),
            (b"a", vec![b"a"]),
            (b"\n\n\n", vec![]),
            (b"", vec![]),
            (b"a\n\nb\n\n", vec![b"a", b"b"]),
            (b"a\n \n\nb", vec![b"a\n ", b"b"]),
        ] {
            for block_bytes in 1..=text.len().max(1) {
                assert_eq!(
                    paragraphs(text, block_bytes),
                    expected,
                    "{} by {block_bytes}",
                    text.escape_ascii()
                );
            }
        }
    }
}
