//! A second run of the real grep, over an input that it reads from its beginning.

use pelton_stream::Started;

use crate::bytes::scan;

/// The real grep, which reads the input from its beginning.
pub(super) struct Again {
    pub(super) started: Box<dyn Started>,
    /// How much of its output was printed already: bytes, or lines where only their ends are printed.
    pub(super) known: u64,
    pub(super) ends_only: bool,
    /// Whether it reads this input only.
    pub(super) alone: bool,
    pub(super) block: Vec<u8>,
}

impl Again {
    /// Prints more of its output, without the part already printed. Returns `false` at its end.
    pub(super) fn read_on(&mut self, out: &mut Vec<u8>) -> bool {
        // A read error counts as its end.
        let Ok(read @ 1..) = self.started.read(&mut self.block) else { return false };
        let new = &self.block[..read];
        let printed = if self.ends_only { scan::count(new, b'\n') } else { read };
        let skipped = self.known.min(printed as u64) as usize;
        self.known -= skipped as u64;
        match self.ends_only {
            true => out.resize(out.len() + printed - skipped, b'\n'),
            false => out.extend_from_slice(&new[skipped..]),
        }
        true
    }
}
