//! `cut -f`.
//!
//! Delimiters and line ends become bit masks, 64 bytes at a time; the kernel steps from one to the next. Fields of a
//! range that stay together are copied as one piece if the delimiter stays the same; after the last field that is
//! wanted, only the line end is looked for.

use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome, Peer};

use super::list::List;
use crate::gather::Gather;
use crate::scan::{Needle, chunks};

#[derive(Clone)]
pub(super) struct FieldsKernel {
    ranges: Vec<(u64, u64)>,
    delimiter: u8,
    output_delimiter: Vec<u8>,
    only_delimited: bool,
    line_end: u8,
}

/// Where in a line the kernel is.
struct Place {
    line_start: usize,
    /// The number of the current field, from 1.
    field: u64,
    /// The range that is current or next.
    range: usize,
    /// Where the piece to copy starts, inside a range.
    piece: Option<usize>,
    /// Something was printed of this line.
    printed: bool,
}

impl FieldsKernel {
    pub(super) fn new(
        list: List,
        delimiter: u8,
        output_delimiter: Vec<u8>,
        only_delimited: bool,
        line_end: u8,
    ) -> Self {
        FieldsKernel { ranges: list.0, delimiter, output_delimiter, only_delimited, line_end }
    }

    /// The block without what is not judged, and whether there is such a thing: with -z, cut drops the terminator of
    /// a last record whose only delimiter is its last byte, depending on what else is selected.
    fn judged<'a>(&self, block: &'a [u8]) -> (&'a [u8], bool) {
        let unjudged = self.line_end == 0 && block.last() == Some(&self.delimiter);
        let start = memchr::memrchr(self.line_end, block).map_or(0, |at| at + 1);
        if unjudged { (&block[..start], true) } else { (block, false) }
    }

    #[inline(always)]
    fn low(&self, range: usize) -> u64 {
        self.ranges.get(range).map_or(u64::MAX, |range| range.0)
    }

    fn start_line(&self, line_start: usize) -> Place {
        let piece = (self.low(0) == 1).then_some(line_start);
        Place { line_start, field: 1, range: 0, piece, printed: false }
    }

    /// A field ends at `at`. Returns false if no later field of the line is wanted.
    #[inline(always)]
    fn delimiter(
        &self,
        place: &mut Place,
        block: &[u8],
        at: usize,
        together: bool,
        out: &mut Gather<'_>,
    ) -> bool {
        if let Some(start) = place.piece {
            let last = self.ranges[place.range].1 == place.field;
            if last || !together {
                self.piece(place, block, start, at, out);
                place.piece = (!last).then_some(at + 1);
            }
            place.range += usize::from(last);
        }
        place.field += 1;
        if place.piece.is_none() && self.low(place.range) == place.field {
            place.piece = Some(at + 1);
        }
        place.range < self.ranges.len()
    }

    #[inline(always)]
    fn piece(&self, place: &mut Place, block: &[u8], start: usize, end: usize, out: &mut Gather<'_>) {
        if std::mem::replace(&mut place.printed, true) {
            match self.output_delimiter.as_slice() {
                [byte] => out.byte(*byte),
                several => out.bytes(several),
            }
        }
        out.slice(block, start, end);
    }

    #[inline(always)]
    fn line_end(&self, place: &mut Place, block: &[u8], at: usize, out: &mut Gather<'_>) {
        if place.field == 1 {
            if !self.only_delimited {
                out.slice(block, place.line_start, at);
                out.byte(self.line_end);
            }
        } else {
            if let Some(start) = place.piece {
                self.piece(place, block, start, at, out);
            }
            out.byte(self.line_end);
        }
        *place = self.start_line(at + 1);
    }
}

impl Kernel for FieldsKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.line_end)
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let (block, left) = self.judged(block);
        let together = self.output_delimiter == [self.delimiter];
        let mut out = Gather::new(out, block.len() * self.output_delimiter.len() + 1);
        let mut place = self.start_line(0);
        let (delimiter, line_end) = (Needle::new(self.delimiter), Needle::new(self.line_end));
        // All ones while delimiters matter.
        let mut wanted = u64::MAX;
        chunks(block, |base, chunk, valid| {
            let ends = line_end.mask(chunk) & valid;
            let delimiters = delimiter.mask(chunk) & valid;
            let mut hits = ends | delimiters & wanted;
            while hits != 0 {
                let bit = hits & hits.wrapping_neg();
                let at = base + hits.trailing_zeros() as usize;
                hits ^= bit;
                if ends & bit != 0 {
                    self.line_end(&mut place, block, at, &mut out);
                    if wanted == 0 {
                        wanted = u64::MAX;
                        // What follows this bit.
                        hits = (ends | delimiters) & !(bit | (bit - 1));
                    }
                } else if !self.delimiter(&mut place, block, at, together, &mut out) {
                    wanted = 0;
                    hits &= ends;
                }
            }
        });
        if place.line_start < block.len() {
            self.line_end(&mut place, block, block.len(), &mut out);
        }
        out.finish();
        if left {
            return Err(HandOver { consumed: block.len(), reason: "a last record that ends in a delimiter" });
        }
        Ok(Flow::More)
    }

    fn another(&self) -> Option<Peer> {
        Some(Peer::of_blocks(self.clone()))
    }
}
