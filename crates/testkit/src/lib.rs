//! Test infrastructure: cases as data, the shell as oracle, and a comparison that explains its results.
//!
//! A [`Case`] (from `cases/*.toml`) is a shell text and its environment: files made from seeded [`Recipe`]s,
//! environment variables, a standard input. [`check_topic`] runs it with the shell and with pelton in turn,
//! in the same recreated directory, and [`compare()`] lists every difference between the two [`Outcome`]s.
//! Expected results are never stored: the shell provides them.
//!
//! What data cannot express (a terminal, signals from outside, closed descriptors) is written in Rust with
//! [`Launch`], [`Running`] and [`Terminal`], the layer below; a [`Duel`] runs it with the shell and with
//! pelton.
//!
//! Everything here has a timeout, and signals only processes of sessions that it started.
//!
//! text → [`Case`] → [`World`] (directory) → [`Launch`] → [`Ended`] → [`Outcome`] → [`compare()`] → [`suite`]

mod brief;
pub mod campaign_settings;
mod case;
mod collect;
mod compare;
mod duel;
pub mod generate;
mod normal;
mod outcome;
mod process;

mod recipe;
mod session_processes;
pub mod skips;
mod snapshot;
mod subject;
pub mod suite;
mod terminal;
mod wait;

mod world;

pub use brief::{BriefStdin, limit_files, run_briefly};
pub use campaign_settings::Campaign;
pub use case::{Case, EnvValue, Mode, StdinFrom, Strictness, Topic, load_topic, load_topics};
pub use compare::{compare, first_difference};
pub use duel::Duel;
pub use normal::without_pids;
pub use outcome::Outcome;
pub use pelton_sys::watchdog::Watchdog;
pub use pelton_verify::{CaseReport, Random};
pub use process::{Ended, Ending, Launch, Running, Stdin};
pub use recipe::Recipe;
pub use rustix::process::Signal;
pub use session_processes::{SessionLeader, SessionProcess, has_file_in, members};
pub use snapshot::{Entry, snapshot};
pub use subject::Subject;
pub use suite::{Findings, check_case, check_topic};
pub use terminal::Terminal;
pub use wait::wait_until;
pub use world::{World, base_environment, make_fifo};

/// An error of the test infrastructure, as opposed to a difference found.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A result of the test infrastructure.
pub type Result<T> = std::result::Result<T, Error>;
