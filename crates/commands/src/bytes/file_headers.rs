//! `==> name <==`: what `head` and `tail` print between files.

use crate::{Accept, Input, Messages};

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
    /// What standard input is called.
    stdin: Vec<u8>,
}

impl Headers {
    /// Whether they are printed for so many inputs.
    pub(crate) fn are_shown(self, inputs: usize) -> bool {
        match self {
            Headers::Several => inputs > 1,
            Headers::Always => true,
            Headers::Never => false,
        }
    }

    /// The printer of them for these inputs.
    ///
    /// # Errors
    ///
    /// If what standard input is called must be printed and is not known.
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
    /// A new input starts; `None` is standard input.
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
