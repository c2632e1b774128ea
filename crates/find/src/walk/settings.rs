//! The user's choices for a search.

/// Which worker enters a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The only thread.
    Sequential,
    /// Any: each directory becomes a task.
    PerDirectory,
    /// Any: it becomes a task if a non-blocking semaphore has room.
    Semaphore,
    /// The same with an atomic counter.
    Atomic,
    /// The worker that found it, until another one is idle and gets a part.
    Stealing,
}

impl Walk {
    /// All strategies.
    pub const ALL: [Walk; 5] =
        [Walk::Sequential, Walk::PerDirectory, Walk::Semaphore, Walk::Atomic, Walk::Stealing];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Walk::Sequential => "sequential",
            Walk::PerDirectory => "per-directory",
            Walk::Semaphore => "semaphore",
            Walk::Atomic => "atomic",
            Walk::Stealing => "stealing",
        }
    }
}

/// The order of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// GNU find's order.
    Listed,
    /// The order of discovery.
    Found,
    /// The order of discovery, with a search that prefers entries near the starting points.
    NearestFirst,
}

/// Settings of a search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The strategy.
    pub walk: Walk,
    /// Number of threads.
    pub workers: usize,
    /// Maximum number of tasks beside the first, for the strategies with a bound.
    pub slots: usize,
    /// The order of the output.
    pub order: Order,
    /// Whether to stop at the first entry for which the expression holds.
    pub first: bool,
    /// Whether to stop at the first error.
    pub stop_on_error: bool,
    /// Whether to write each line at once.
    pub promptly: bool,
    /// Directories that the first worker reads before the others start.
    pub alone: u64,
    /// Whether to record events for a timeline.
    pub timeline: bool,
}

/// Returns the default number of slots: none on one core, else four per core.
pub fn default_slots(cores: usize) -> usize {
    if cores < 2 { 0 } else { 4 * cores }
}

/// Directories after which a search is likely to be long: starting a thread costs as much as reading about
/// ten.
pub const ALONE: u64 = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_cores() {
        assert_eq!((default_slots(1), default_slots(2), default_slots(4)), (0, 8, 16));
    }
}
