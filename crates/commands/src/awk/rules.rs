//! Which awk's numbers, comparisons and formats the kernel that runs on this thread follows.
//!
//! Nearly every operation depends on them, and only for rare values: numbers beyond 32 bits, NaN, strings that hardly
//! look like numbers. So they are state of the thread, read where such a value is met, and no argument of each operation.
//! The kernel sets them whenever it is called.

use std::cell::Cell;

/// An awk whose whole language is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rules {
    #[default]
    Mawk,
    Gawk,
    /// From 5.3 on.
    Gawk5_3,
}

thread_local! {
    static RULES: Cell<Rules> = const { Cell::new(Rules::Mawk) };
}

/// Sets the rules of this thread.
#[inline]
pub(super) fn follow(rules: Rules) {
    RULES.set(rules);
}

/// Whether this thread follows gawk.
#[inline]
pub(super) fn is_gawk() -> bool {
    RULES.get() != Rules::Mawk
}

/// Whether formats pad infinity and NaN.
pub(super) fn pads_infinity() -> bool {
    RULES.get() == Rules::Gawk5_3
}
