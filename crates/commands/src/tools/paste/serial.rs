//! `paste -s`, and `paste - - -`: the same replacement of line ends by delimiters.

use pelton_stream::{Flow, Framing, Kernel, Outcome};

use super::Delimiters;

/// Turns each input into one line.
pub(super) struct SerialKernel {
    delimiters: Delimiters,
    next: usize,
    end: u8,
    /// Whether a line end is pending: it becomes a delimiter if anything follows.
    pending: bool,
}

impl SerialKernel {
    pub(super) fn new(delimiters: Delimiters, end: u8) -> Self {
        SerialKernel { delimiters, next: 0, end, pending: false }
    }

    fn delimit(&mut self, out: &mut Vec<u8>) {
        out.extend(self.delimiters[self.next]);
        self.next = (self.next + 1) % self.delimiters.len();
    }
}

impl Kernel for SerialKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn begin_input(&mut self, _name: Option<&[u8]>, _out: &mut Vec<u8>) {
        (self.next, self.pending) = (0, false);
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if std::mem::take(&mut self.pending) {
            self.delimit(out);
        }
        let (inner, last) = match block.split_last() {
            Some((last, inner)) if *last == self.end => (inner, true),
            _ => (block, false),
        };
        self.pending = last;
        if let [Some(delimiter)] = self.delimiters.as_slice() {
            let (from, to) = (self.end, *delimiter);
            out.extend(inner.iter().map(|&byte| if byte == from { to } else { byte }));
            return Ok(Flow::More);
        }
        let mut start = 0;
        for at in memchr::memchr_iter(self.end, inner) {
            out.extend_from_slice(&inner[start..at]);
            self.delimit(out);
            start = at + 1;
        }
        out.extend_from_slice(&inner[start..]);
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        out.push(self.end);
        Ok(Flow::More)
    }
}

/// Fills the columns of a row with consecutive lines.
pub(super) struct ColumnsKernel {
    /// The delimiter after each column.
    after: Delimiters,
    column: usize,
    end: u8,
}

impl ColumnsKernel {
    pub(super) fn new(columns: usize, delimiters: &Delimiters, end: u8) -> Self {
        let mut after: Delimiters = delimiters.iter().copied().cycle().take(columns - 1).collect();
        after.push(Some(end));
        ColumnsKernel { after, column: 0, end }
    }

    fn finish_line(&mut self, out: &mut Vec<u8>) {
        out.extend(self.after[self.column]);
        self.column = (self.column + 1) % self.after.len();
    }
}

impl Kernel for ColumnsKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.end)
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if let [Some(_)] = self.after.as_slice() {
            out.extend_from_slice(block);
            if block.last() != Some(&self.end) {
                out.push(self.end);
            }
            return Ok(Flow::More);
        }
        let mut start = 0;
        for at in memchr::memchr_iter(self.end, block) {
            out.extend_from_slice(&block[start..at]);
            self.finish_line(out);
            start = at + 1;
        }
        if start < block.len() {
            out.extend_from_slice(&block[start..]);
            self.finish_line(out);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        while self.column > 0 {
            self.finish_line(out);
        }
        Ok(Flow::Done)
    }
}
