//! `X | wc -l` where X keeps the number of lines: the lines of X's input are counted, and X need not run.

use pelton_stream::{Flow, Framing, Kernel, Outcome, Parallel, Peer, known};

use crate::bytes::scan;

/// Prints the number of lines, as `wc -l` of a pipe does.
#[derive(Debug)]
pub struct LineCount {
    /// Whether the replaced command adds a missing last newline to each input.
    completes: bool,
    lines: u64,
    /// Whether the last line lacks its newline so far.
    open: bool,
}

impl LineCount {
    /// Counts newlines; with `completes`, as if each input ended with one.
    pub fn new(completes: bool) -> Self {
        LineCount { completes, lines: 0, open: false }
    }
}

impl Kernel for LineCount {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        self.lines += scan::count(block, b'\n') as u64;
        self.open = block.last().is_some_and(|byte| *byte != b'\n');
        Ok(Flow::More)
    }

    fn end_input(&mut self, _out: &mut Vec<u8>) -> Outcome {
        self.lines += u64::from(self.completes && self.open);
        self.open = false;
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        out.extend_from_slice(format!("{}\n", self.lines).as_bytes());
        Ok(Flow::Done)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for LineCount {
    fn fork(&mut self) -> Option<Peer> {
        // The state of the last line does not matter between blocks.
        let kernel = LineCount::new(self.completes);
        (!self.completes).then(|| Peer::of_fold(kernel))
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        self.lines += known::<LineCount>(peer).map_or(0, |peer| peer.lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(completes: bool, inputs: &[&[&[u8]]]) -> String {
        let mut kernel = LineCount::new(completes);
        let mut out = Vec::new();
        for blocks in inputs {
            kernel.begin_input(None, &mut out);
            for block in *blocks {
                assert_eq!(kernel.push(block, &mut out), Ok(Flow::More));
            }
            assert_eq!(kernel.end_input(&mut out), Ok(Flow::More));
        }
        assert_eq!(kernel.finish(&mut out), Ok(Flow::Done));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_last_line_without_end_counts_where_it_would_get_one() {
        assert_eq!(count(false, &[&[b"a\nb\nc"]]), "2\n");
        assert_eq!(count(true, &[&[b"a\nb\nc"]]), "3\n");
        assert_eq!(count(true, &[&[b"a", b"\n", b"b"], &[], &[b"c"]]), "3\n");
        assert_eq!(count(true, &[&[]]), "0\n");
    }
}
