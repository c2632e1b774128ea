//! `==> name <==`: what `head` and `tail` print between files.

/// When they are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headers {
    /// If there are several files.
    Several,
    /// -v.
    Always,
    /// -q.
    Never,
}

/// Prints them.
#[derive(Clone, Debug)]
pub(crate) struct HeaderPrinter {
    shown: bool,
    first: bool,
}

impl HeaderPrinter {
    pub(crate) fn new(headers: Headers, inputs: usize) -> Self {
        let shown = match headers {
            Headers::Several => inputs > 1,
            Headers::Always => true,
            Headers::Never => false,
        };
        HeaderPrinter { shown, first: true }
    }

    /// A new input starts; `None` is standard input.
    pub(crate) fn begin(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        if !self.shown {
            return;
        }
        if !std::mem::take(&mut self.first) {
            out.push(b'\n');
        }
        out.extend_from_slice(b"==> ");
        out.extend_from_slice(name.unwrap_or(b"standard input"));
        out.extend_from_slice(b" <==\n");
    }
}
