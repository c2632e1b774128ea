//! The arguments of `pelton find` besides GNU find's.

use crate::shared_options::CoreArgs;
use clap::{Args, ValueEnum};
use pelton_find::{ALONE, Order, Query, Settings, Walk, default_slots};
use std::ffi::OsString;
use std::path::PathBuf;

/// Search trees as GNU find does, multithreaded where that helps.
///
/// Paths, expressions, output, messages and exit status are those of GNU find. What pelton does not model of them, the
/// installed find does. Options of pelton stand first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton find src -name '*.rs' -size +10k  as find
  pelton find --first / -name core         the first match ends it; those near
                                           the start are looked for first
  pelton find --stats . -type d -empty     and then what it cost, and what each
                                           worker did when
  pelton find --walk sequential . -name x  one of five ways, to compare them
  pelton find . -name '*.o' -delete        entry by entry, in order

Order: as find's if standard output is no terminal, since what reads it could
notice; else, and with --unordered, as found. -exec, -delete and -depth are done
by one thread, in find's order.

Ways (--walk): sequential; per-directory, a task for each directory; semaphore
and atomic, a task while one of --slots is free, counted by a semaphore or by an
atomic number; stealing, whoever has nothing to do gets a part of what another
one has left (the default).

Exit status: find's: 0; 1 if anything went wrong.")]
pub struct FindArgs {
    /// Who goes into a directory that was met
    #[arg(long, value_name = "WAY")]
    pub walk: Option<Way>,

    /// Tasks at once, with the ways semaphore and atomic [default: 4 per core, none on one core]
    #[arg(long, value_name = "N")]
    pub slots: Option<usize>,

    #[command(flatten)]
    pub cores: CoreArgs,

    /// Print in find's order, on a terminal too
    #[arg(long, conflicts_with = "unordered")]
    pub ordered: bool,

    /// Print as found
    #[arg(long)]
    pub unordered: bool,

    /// End with the first entry for which the expression holds: any one, unless --ordered
    #[arg(long)]
    pub first: bool,

    /// End with the first error
    #[arg(long)]
    pub stop_on_error: bool,

    /// Then show on standard error what it cost and what each worker did
    #[arg(long)]
    pub stats: bool,

    /// The same as JSON
    #[arg(long)]
    pub json: bool,

    /// With --stats or --json: write it to FILE instead; FILE appears whole or not at all
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Say why, if the installed find runs
    #[arg(long)]
    pub verbose: bool,

    /// Directories that one thread reads before it calls others; for tests
    #[arg(long, value_name = "N", hide = true)]
    pub alone: Option<u64>,

    /// Find's own: options, paths, expression
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// Selects a [`Walk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Way {
    Sequential,
    PerDirectory,
    Semaphore,
    Atomic,
    Stealing,
}

impl From<Way> for Walk {
    fn from(way: Way) -> Self {
        match way {
            Way::Sequential => Walk::Sequential,
            Way::PerDirectory => Walk::PerDirectory,
            Way::Semaphore => Walk::Semaphore,
            Way::Atomic => Walk::Atomic,
            Way::Stealing => Walk::Stealing,
        }
    }
}

impl FindArgs {
    /// Returns the settings for this query.
    pub fn settings(&self, query: &Query, workers: usize, terminal: bool) -> Settings {
        let listed = self.ordered || (!self.unordered && !self.first && !terminal);
        let hunts = self.first || query.may_quit();
        let order = match (listed, hunts && self.walk.is_none()) {
            (true, _) => Order::Listed,
            (false, true) => Order::NearestFirst,
            (false, false) => Order::Found,
        };
        Settings {
            walk: self.walk.map_or(Walk::Stealing, Walk::from),
            workers,
            slots: self.slots.unwrap_or_else(|| default_slots(workers)),
            order,
            first: self.first,
            stop_on_error: self.stop_on_error,
            promptly: terminal,
            alone: self.alone.unwrap_or(ALONE),
            timeline: self.stats || self.json,
        }
    }

    /// Whether to collect statistics.
    pub fn counts(&self) -> bool {
        self.stats || self.json
    }

    /// Returns a given option that the installed find lacks.
    pub fn own_option(&self) -> Option<&'static str> {
        let options =
            [(self.first, "--first"), (self.stop_on_error, "--stop-on-error"), (self.counts(), "--stats")];
        options.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}
