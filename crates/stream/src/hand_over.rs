//! A kernel's fallback to the real command.

/// A fallback: the kernel does not support this input, and the real command must continue from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// Bytes of the block that are processed: their output is appended. Lies on a record boundary. The real
    /// command gets the rest of this block, and everything after it, on its standard input.
    pub consumed: usize,
    /// Input that was taken in but not processed. The real command gets it before the rest. A kernel that
    /// prints nothing before the end of its input can so fall back at any time, even from `finish`.
    pub unconsumed: Vec<u8>,
    /// The reason in words: 'invalid UTF-8 in the input'.
    pub reason: &'static str,
    /// The exit status that the real command's becomes.
    pub status: StatusAfter,
}

impl HandOver {
    /// Falls back after this many bytes of the block, with nothing unconsumed and the real command's status.
    pub fn at(consumed: usize, reason: &'static str) -> Self {
        HandOver { consumed, unconsumed: Vec::new(), reason, status: StatusAfter::default() }
    }

    /// Sets the input that was taken in but not processed.
    pub fn with_unconsumed(self, unconsumed: Vec<u8>) -> Self {
        HandOver { unconsumed, ..self }
    }

    /// Reports `status` if the real command, which sees only a part of the input, exits with `real`.
    pub fn with_status(self, real: i32, status: i32) -> Self {
        HandOver { status: StatusAfter { replaced: Some((real, status)) }, ..self }
    }
}

/// The exit status of a command after a fallback. By default it is the real command's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusAfter {
    /// A status of the real command, and the one that replaces it.
    replaced: Option<(i32, i32)>,
}

impl StatusAfter {
    /// Returns the command's exit status, given that of the real command.
    pub fn given(self, real: i32) -> i32 {
        self.replaced.filter(|(replaced, _)| *replaced == real).map_or(real, |(_, status)| status)
    }
}
