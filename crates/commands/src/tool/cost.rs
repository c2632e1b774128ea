//! A small cost model of tools, for estimates.
//!
//! Figures are from one machine (`crates/commands/BENCHMARKING.md`): CPU time, user and system, per byte
//! read, in ns, in the C locale. Ratios transfer to other machines better than figures do. The selectivity is
//! a guess about usual data.

/// The cost of a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The real tool, with its reads and writes: ns per byte read.
    pub real: f64,
    /// Its kernel, without reads and writes: ns per byte. `None` if there is none, or it was not measured.
    pub native: Option<f64>,
    /// Output bytes per input byte.
    pub passes: f64,
}

impl Rate {
    /// Makes the rate of a measured tool and kernel.
    pub(crate) const fn both(real: f64, native: f64, passes: f64) -> Option<Rate> {
        Some(Rate { real, native: Some(native), passes })
    }

    /// Makes the rate of a tool whose kernel was not measured.
    pub(crate) const fn real(real: f64, passes: f64) -> Option<Rate> {
        Some(Rate { real, native: None, passes })
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
    fn options_that_matter() {
        let of = |name: &str, args: &[&str]| {
            let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            crate::lookup(name.as_bytes()).and_then(|tool| (tool.cost)(&args)).map(|rate| rate.real)
        };
        assert!(of("tr", &["-cs", "a", "b"]) > of("tr", &["a", "b"]));
        assert!(of("wc", &["-l"]) < of("wc", &[]));
    }
}
