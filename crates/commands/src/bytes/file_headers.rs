//! `==> name <==` headers, which `head` and `tail` print between files.

use crate::{Accept, Input, Messages};

/// When headers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headers {
    /// If there are several files.
    Several,
    /// -v.
    Always,
    /// -q.
    Never,
}

/// Prints the headers.
#[derive(Clone, Debug)]
pub(crate) struct HeaderPrinter {
    shown: bool,
    first: bool,
    /// The name of standard input.
    stdin: Vec<u8>,
}

impl Headers {
    /// Whether headers are printed for this number of inputs.
    pub(crate) fn are_shown(self, inputs: usize) -> bool {
        match self {
            Headers::Several => inputs > 1,
            Headers::Always => true,
            Headers::Never => false,
        }
    }

    /// Returns the printer for these inputs.
    ///
    /// # Errors
    ///
    /// If a header for standard input is needed and its name in the user's language is not known.
    pub(crate) fn printer(self, inputs: &[Input], messages: &Messages) -> Accept<HeaderPrinter> {
        let shown = self.are_shown(inputs.len());
        let stdin = match shown && inputs.contains(&Input::Stdin) {
            true => messages.text("coreutils", "standard input")?,
            false => Vec::new(),
        };
        Ok(HeaderPrinter { shown, first: true, stdin })
    }
}

impl HeaderPrinter {
    /// Prints the header of a new input; `None` is standard input.
    pub(crate) fn begin(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        if !self.shown {
            return;
        }
        if !std::mem::take(&mut self.first) {
            out.push(b'\n');
        }
        out.extend_from_slice(b"==> ");
        out.extend_from_slice(name.unwrap_or(&self.stdin));
        out.extend_from_slice(b" <==\n");
    }
}
