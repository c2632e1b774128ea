//! A small cost model of tools, for estimates.
//!
//! Figures are from one machine (`crates/commands/BENCHMARKING.md`): CPU time, user and system, per byte
//! read, in ns, in the C locale. Ratios transfer to other machines better than figures do. The selectivity is
//! a guess about usual data.

/// The cost of a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The real tool, with its reads and writes: ns per byte read, of lines of [`USUAL_LINE_BYTES`].
    pub real: f64,
    /// What the real tool takes for a line, in ns, if shorter lines cost much more per byte.
    pub real_per_line: f64,
    /// Its kernel, without reads and writes: ns per byte. `None` if there is none, or it was not measured.
    pub native: Option<f64>,
    /// Output bytes per input byte.
    pub passes: f64,
    /// How long the lines of the output are.
    pub lines: LineLength,
}

/// How long the lines are that a tool prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LineLength {
    /// As long as those that it reads.
    Same,
    /// Parts of those that it reads: as much shorter as its output is.
    Parts,
    /// A word in each line.
    Words,
}

/// The length that lines are assumed to have, newline included: between those of a log and of a table.
pub const USUAL_LINE_BYTES: f64 = 80.0;
/// The length of a word, newline included.
const WORD_BYTES: f64 = 6.0;

impl Rate {
    /// Makes the rate of a measured tool and kernel.
    pub(crate) const fn both(real: f64, native: f64, passes: f64) -> Option<Rate> {
        let lines = LineLength::Same;
        Some(Rate { real, real_per_line: 0.0, native: Some(native), passes, lines })
    }

    /// Makes the rate of a tool that takes a time for each line, in ns, beside that for its bytes, and of its kernel,
    /// whose time goes with the bytes.
    pub(crate) fn by_line(real: f64, real_per_line: f64, native: f64, passes: f64) -> Option<Rate> {
        Some(Rate { real_per_line, ..Rate::both(real, native, passes)? })
    }

    /// Makes the rate of a measured tool and kernel whose lines are of this length.
    pub(crate) fn of_lines(real: f64, native: f64, passes: f64, lines: LineLength) -> Option<Rate> {
        Some(Rate { lines, ..Rate::both(real, native, passes)? })
    }

    /// Returns the cost of the real tool per byte of lines of this length, in ns.
    pub fn real_for(&self, line_bytes: f64) -> f64 {
        let more_lines = 1.0 / line_bytes - 1.0 / USUAL_LINE_BYTES;
        self.real + self.real_per_line * more_lines.max(0.0)
    }

    /// Returns the length of the lines that it prints, given that of those that it reads.
    pub fn printed_line_bytes(&self, line_bytes: f64) -> f64 {
        match self.lines {
            LineLength::Same => line_bytes,
            LineLength::Parts => (line_bytes * self.passes).max(WORD_BYTES),
            LineLength::Words => WORD_BYTES,
        }
    }
}

/// Returns nothing, for tools that were not measured.
pub(crate) fn unknown(_args: &[Vec<u8>]) -> Option<Rate> {
    None
}

/// Whether a short option is given, also in a cluster: exact enough for an estimate.
pub(crate) fn has_option(args: &[Vec<u8>], letter: u8) -> bool {
    args.iter().any(|arg| arg.first() == Some(&b'-') && arg.get(1) != Some(&b'-') && arg.contains(&letter))
}

/// Whether any option is given.
pub(crate) fn has_any_option(args: &[Vec<u8>]) -> bool {
    args.iter().any(|arg| arg.len() > 1 && arg.starts_with(b"-"))
}

#[cfg(test)]
mod tests {
    use crate::TOOLS;

    #[test]
    fn a_kernel_is_never_estimated_to_cost_more_than_its_tool() {
        for tool in TOOLS {
            let Some(rate) = (tool.cost)(&[]) else { continue };
            assert!(rate.native.is_none_or(|native| native <= rate.real), "{}", tool.name);
        }
    }

    #[test]
    fn short_lines_cost_sort_more() {
        let sort = (crate::lookup(b"sort").expect("sort").cost)(&[]).expect("measured");
        assert!(sort.real_for(6.0) > 4.0 * sort.real_for(80.0));
        assert!(sort.real_for(500.0) >= sort.real);
    }

    #[test]
    fn options_that_matter() {
        let of = |name: &str, args: &[&str]| {
            let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            crate::lookup(name.as_bytes()).and_then(|tool| (tool.cost)(&args)).map(|rate| rate.real)
        };
        assert!(of("tr", &["-cs", "a", "b"]) > of("tr", &["a", "b"]));
        assert!(of("wc", &["-l"]) < of("wc", &[]));
    }
}
