//! A second run of the real grep.

use crate::tool::second_run::SecondRun;

/// The real grep, which reads the input from its beginning.
pub(super) struct Again {
    pub(super) run: SecondRun,
    /// Whether it reads this input only.
    pub(super) alone: bool,
}
