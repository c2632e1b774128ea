//! The expectation for a figure, as data, and its judgement.

/// An expectation. Ratios of times vary with the machine; exact figures do not.
pub struct Shape {
    /// The claim in words: what is compared with what.
    pub claim: &'static str,
    /// What the figure should be.
    pub bound: Bound,
    /// Whether it is a count, a size in bytes or a verdict, so the same everywhere: tests check only these
    /// shapes.
    pub exact: bool,
}

/// The bound of a figure.
#[derive(Clone, Copy)]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// Between the two.
    Within(f64, f64),
    /// All that were examined.
    All,
}

impl Shape {
    /// Makes a shape about times.
    pub const fn timing(claim: &'static str, bound: Bound) -> Self {
        Shape { claim, bound, exact: false }
    }

    /// Makes a shape that does not depend on the machine.
    pub const fn exact(claim: &'static str, bound: Bound) -> Self {
        Shape { claim, bound, exact: true }
    }
}

impl Bound {
    /// Whether a figure is within the bound; `of` is the number examined. A missing figure fails.
    pub fn holds(self, figure: f64, of: f64) -> bool {
        match self {
            Bound::AtMost(most) => figure <= most,
            Bound::AtLeast(least) => figure >= least,
            Bound::Within(least, most) => (least..=most).contains(&figure),
            Bound::All => figure == of && of > 0.0,
        }
    }

    /// Describes the bound for the report.
    pub fn words(self) -> String {
        match self {
            Bound::AtMost(most) => format!("at most {most}"),
            Bound::AtLeast(least) => format!("at least {least}"),
            Bound::Within(least, most) if least == most => format!("{least}"),
            Bound::Within(least, most) => format!("{least} to {most}"),
            Bound::All => "all".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bound;

    #[test]
    fn bounds_hold_or_not() {
        assert!(Bound::AtMost(1.0).holds(1.0, 0.0) && !Bound::AtMost(1.0).holds(1.1, 0.0));
        assert!(Bound::AtLeast(2.0).holds(2.0, 0.0) && !Bound::AtLeast(2.0).holds(1.9, 0.0));
        assert!(Bound::Within(1.0, 2.0).holds(1.5, 0.0) && !Bound::Within(1.0, 2.0).holds(2.5, 0.0));
        assert!(Bound::All.holds(3.0, 3.0) && !Bound::All.holds(2.0, 3.0));
    }

    #[test]
    fn no_figure_is_no_success() {
        for bound in [Bound::AtMost(1.0), Bound::AtLeast(1.0), Bound::Within(0.0, 1.0)] {
            assert!(!bound.holds(f64::NAN, 0.0));
        }
        assert!(!Bound::All.holds(0.0, 0.0), "nothing looked at");
    }
}
