//! What is said when a text is not shell: in our words, at the byte that is to blame.

use pelton_record::Span;

/// A text that the shell, too, refuses to parse.
///
/// It is only made where the shell is certain to refuse. A text that we cannot follow is no error: it becomes a
/// [`CompoundKind::Unmodelled`](crate::CompoundKind::Unmodelled) command, and the shell judges it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong, without a full stop: `this double quote is never closed`.
    pub message: String,
    /// The culprit: the opening quote, the operator that lacks a command, the stray word.
    pub span: Span,
    /// What to try.
    pub help: Option<String>,
    /// True if the shell would already have run something before it noticed: it reads one complete line at a time.
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
    /// The shell refuses this text.
    Wrong {
        /// Becomes [`SyntaxError::message`].
        message: String,
        /// Becomes [`SyntaxError::span`].
        span: Span,
        /// Becomes [`SyntaxError::help`].
        help: Option<String>,
    },
    /// The shell may well accept this text, but we do not follow it.
    Unsure(crate::Unmodelled),
}

/// What every reading function gives.
pub(crate) type Read<T> = Result<T, Stop>;

impl Stop {
    /// A refusal with advice.
    pub(crate) fn wrong<T>(message: impl Into<String>, span: Span, help: &str) -> Read<T> {
        Err(Stop::Wrong { message: message.into(), span, help: (!help.is_empty()).then(|| help.to_owned()) })
    }

    /// Leave the text to the shell.
    pub(crate) fn unsure<T>(why: crate::Unmodelled) -> Read<T> {
        Err(Stop::Unsure(why))
    }
}
