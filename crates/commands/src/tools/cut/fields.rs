//! `cut -f`.
//!
//! Delimiters and line ends become bit masks, 64 bytes at a time, and the kernel iterates over the bits. The
//! effect of a delimiter depends on the number of delimiters before it in its line, and is looked up.
//! Adjacent fields of a range are copied as one piece if the delimiter stays the same. After the last
//! selected field, only the line end is searched.

use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome, Parallel, Peer};

use super::list::List;
use crate::bytes::scan;
use crate::bytes::short_copy::Gather;

#[derive(Clone)]
pub(super) struct FieldsKernel {
    ranges: Vec<(u64, u64)>,
    delimiter: u8,
    output_delimiter: Vec<u8>,
    only_delimited: bool,
    line_end: u8,
    /// Whether the first field is selected.
    first: bool,
    /// The effect of the delimiter after each field, up to [`TABLE`].
    steps: Vec<DelimiterEffect>,
}

/// The effect of a delimiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DelimiterEffect {
    /// A piece ends before it.
    ends: bool,
    /// A piece starts after it.
    starts: bool,
    /// No field after it is selected.
    last: bool,
}

/// Fields that the table covers.
const TABLE: u64 = 1024;

/// Marks that no piece is open.
const NONE: usize = usize::MAX;

/// The position in a line.
struct LinePosition {
    line_start: usize,
    /// Delimiters seen.
    delimiters: usize,
    /// The start of the piece to copy, inside a range.
    piece: usize,
    /// Whether this line has output.
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
        let ranges = list.0;
        let together = output_delimiter == [delimiter];
        let last = ranges.last().map_or(0, |range| range.1);
        let steps = (1..=last.min(TABLE)).map(|field| step(&ranges, field, together)).collect();
        let first = ranges.first().is_some_and(|range| range.0 == 1);
        FieldsKernel { ranges, delimiter, output_delimiter, only_delimited, line_end, first, steps }
    }

    /// Returns the block without an unsupported record, and whether there is one: with -z, cut drops the
    /// terminator of a last record whose only delimiter is its last byte, depending on the selection.
    fn judged<'a>(&self, block: &'a [u8]) -> (&'a [u8], bool) {
        let unjudged = self.line_end == 0 && block.last() == Some(&self.delimiter);
        let start = memchr::memrchr(self.line_end, block).map_or(0, |at| at + 1);
        if unjudged { (&block[..start], true) } else { (block, false) }
    }

    fn start_line(&self, line_start: usize) -> LinePosition {
        let piece = if self.first { line_start } else { NONE };
        LinePosition { line_start, delimiters: 0, piece, printed: false }
    }

    /// Returns the effect of the delimiter after this many others.
    #[inline(always)]
    fn step(&self, delimiters: usize) -> DelimiterEffect {
        self.steps.get(delimiters).copied().unwrap_or_else(|| self.step_beyond(delimiters))
    }

    #[cold]
    fn step_beyond(&self, delimiters: usize) -> DelimiterEffect {
        step(&self.ranges, delimiters as u64 + 1, self.output_delimiter == [self.delimiter])
    }

    #[inline(always)]
    fn piece(&self, place: &mut LinePosition, block: &[u8], end: usize, out: &mut Gather<'_>) {
        if std::mem::replace(&mut place.printed, true) {
            match self.output_delimiter.as_slice() {
                [byte] => out.byte(*byte),
                several => out.bytes(several),
            }
        }
        out.slice(block, place.piece, end);
    }

    #[inline(always)]
    fn line_end(&self, place: &mut LinePosition, block: &[u8], at: usize, out: &mut Gather<'_>) {
        if place.delimiters == 0 {
            if !self.only_delimited {
                out.slice(block, place.line_start, at);
                out.byte(self.line_end);
            }
        } else {
            if place.piece != NONE {
                self.piece(place, block, at, out);
            }
            out.byte(self.line_end);
        }
        *place = self.start_line(at + 1);
    }
}

/// Returns the effect of the delimiter after a field (from 1). Pieces of adjacent fields are merged if
/// `together`.
fn step(ranges: &[(u64, u64)], field: u64, together: bool) -> DelimiterEffect {
    let range_of = |field: u64| ranges.iter().position(|range| range.0 <= field && field <= range.1);
    let (before, behind) = (range_of(field), range_of(field + 1));
    let goes_on = together && before.is_some() && before == behind;
    DelimiterEffect {
        ends: before.is_some() && !goes_on,
        starts: behind.is_some() && !goes_on,
        last: ranges.last().is_none_or(|range| range.1 <= field),
    }
}

impl Kernel for FieldsKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.line_end)
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let (block, left) = self.judged(block);
        let mut out = Gather::new(out, block.len() * self.output_delimiter.len() + 1);
        let mut place = self.start_line(0);
        // All ones while delimiters matter.
        let mut wanted = u64::MAX;
        scan::masks(block, [self.delimiter, self.line_end], |base, [delimiters, ends]| {
            let mut hits = ends | delimiters & wanted;
            while hits != 0 {
                let bit = hits & hits.wrapping_neg();
                let at = base + hits.trailing_zeros() as usize;
                hits ^= bit;
                if ends & bit != 0 {
                    self.line_end(&mut place, block, at, &mut out);
                    if wanted == 0 {
                        wanted = u64::MAX;
                        // The bits after this one.
                        hits = (ends | delimiters) & !(bit | (bit - 1));
                    }
                    continue;
                }
                let step = self.step(place.delimiters);
                place.delimiters += 1;
                if step.ends {
                    self.piece(&mut place, block, at, &mut out);
                    place.piece = NONE;
                }
                if step.starts {
                    place.piece = at + 1;
                }
                if step.last {
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
            return Err(HandOver::at(block.len(), "a last record that ends in a delimiter"));
        }
        Ok(Flow::More)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for FieldsKernel {
    fn fork(&mut self) -> Option<Peer> {
        Some(Peer::of_blocks(self.clone()))
    }
}
