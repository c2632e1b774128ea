//! Syntax errors: worded by pelton, at the byte that causes them.

use pelton_record::Span;

/// A text that the shell rejects too.
///
/// An error is only made where the shell is certain to reject the text. Unsupported text is no error: it
/// becomes a [`CompoundKind::Unmodelled`](crate::CompoundKind::Unmodelled) command, and the shell decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong, without a full stop: `this double quote is never closed`.
    pub message: String,
    /// The cause: the opening quote, the operator without a command, the stray word.
    pub span: Span,
    /// What to try.
    pub help: Option<String>,
    /// Whether the shell would already have run a command before the error: it reads one complete line at a
    /// time.
    pub may_run_first: bool,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// Why reading stopped before the end of the text.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The shell rejects this text.
    Wrong {
        /// Becomes [`SyntaxError::message`].
        message: String,
        /// Becomes [`SyntaxError::span`].
        span: Span,
        /// Becomes [`SyntaxError::help`].
        help: Option<String>,
    },
    /// The shell may accept this text, but the reader does not support it.
    Unsure(crate::Unmodelled),
}

/// The result of every reading function.
pub(crate) type Read<T> = Result<T, Stop>;

impl Stop {
    /// Returns a syntax error with advice.
    pub(crate) fn wrong<T>(message: impl Into<String>, span: Span, help: &str) -> Read<T> {
        Err(Stop::Wrong { message: message.into(), span, help: (!help.is_empty()).then(|| help.to_owned()) })
    }

    /// Leaves the text to the shell.
    pub(crate) fn unsure<T>(why: crate::Unmodelled) -> Read<T> {
        Err(Stop::Unsure(why))
    }
}
