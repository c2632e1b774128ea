//! Which awk's numbers, comparisons and formats the kernel that runs on this thread follows.
//!
//! Nearly every operation depends on them, and only for rare values: numbers beyond 32 bits, NaN, strings that hardly
//! look like numbers. So they are state of the thread, read where such a value is met, and no argument of each operation.
//! The kernel sets them whenever it is called.

use std::cell::Cell;

/// An awk whose whole language is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Variant {
    #[default]
    Mawk,
    /// From 2025 on: with numbers of 64 bits.
    Mawk2025,
    /// 5.1.
    Gawk5_1,
    Gawk,
    /// From 5.3 on.
    Gawk5_3,
    /// The one true awk of 2022, the last one of bytes.
    OneTrue,
    /// The second edition, of bytes too.
    OneTrueSecond,
}

/// What operations depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) variant: Variant,
    /// Whether strings are of the characters of UTF-8, not of bytes.
    pub(super) characters: bool,
    /// Whether bytes are decoded as UTF-8 to change their case, all the same.
    pub(super) decodes_case: bool,
    /// What stands before the decimals of numbers that are read and written. In programs it is always a point.
    pub(super) point: u8,
}

impl Rules {
    /// Those of an awk in the C locale.
    pub(super) const fn in_c(variant: Variant) -> Rules {
        Rules { variant, characters: false, decodes_case: false, point: b'.' }
    }
}

thread_local! {
    static RULES: Cell<Rules> = const { Cell::new(Rules::in_c(Variant::Mawk)) };
}

/// Sets the rules of this thread.
#[inline]
pub(super) fn follow(rules: Rules) {
    RULES.set(rules);
    super::char_index::forget();
}

/// Whether this thread follows gawk.
#[inline]
pub(super) fn is_gawk() -> bool {
    matches!(RULES.get().variant, Variant::Gawk5_1 | Variant::Gawk | Variant::Gawk5_3)
}

/// Whether this thread follows a mawk.
#[inline]
pub(super) fn is_mawk() -> bool {
    matches!(RULES.get().variant, Variant::Mawk | Variant::Mawk2025)
}

/// Whether this thread follows the one true awk.
#[inline]
pub(super) fn is_one_true() -> bool {
    matches!(RULES.get().variant, Variant::OneTrue | Variant::OneTrueSecond)
}

/// Whether this thread follows the second edition of the one true awk.
pub(super) fn is_second_edition() -> bool {
    RULES.get().variant == Variant::OneTrueSecond
}

/// Whether this thread follows the mawk of 2020.
#[inline]
pub(super) fn is_mawk_2020() -> bool {
    RULES.get().variant == Variant::Mawk
}

/// Whether this thread follows a mawk of 2025 or later.
#[inline]
pub(super) fn is_mawk_2025() -> bool {
    RULES.get().variant == Variant::Mawk2025
}

/// Returns what stands before the decimals of numbers.
#[inline]
pub(super) fn point() -> u8 {
    RULES.get().point
}

/// Whether strings are of characters, not of bytes.
#[inline]
pub(super) fn has_characters() -> bool {
    RULES.get().characters
}

/// Whether bytes are decoded as UTF-8 where their case is changed.
#[inline]
pub(super) fn decodes_case() -> bool {
    RULES.get().decodes_case
}

/// Whether this thread follows gawk 5.1.
pub(super) fn is_gawk_5_1() -> bool {
    RULES.get().variant == Variant::Gawk5_1
}

/// Whether this thread follows a gawk from 5.3 on.
pub(super) fn is_gawk_5_3() -> bool {
    RULES.get().variant == Variant::Gawk5_3
}
