//! What pelton's tests are made of: cases as data, the shell as oracle, and a comparison that explains itself.
//!
//! A [`Case`] (from `cases/*.toml`) is a shell text and the world it runs in: files made from seeded [`Recipe`]s,
//! an environment, a standard input. [`check_topic`] gives that world to the shell and to pelton in turn, in the
//! same directory made anew, and [`compare()`] lists every way in which the two [`Outcome`]s differ. Expected answers
//! are never stored: the shell gives them.
//!
//! What data cannot state (a terminal, signals from outside, closed descriptors) is a story told in Rust with
//! [`Launch`], [`Running`] and [`Terminal`], the layer below; a [`Duel`] tells it to the shell and to pelton.
//!
//! Everything here is bounded in time, and signals only processes of sessions that it started itself.
//!
//! text → [`Case`] → [`World`] (directory) → [`Launch`] → [`Ended`] → [`Outcome`] → [`compare()`] → [`suite`]

mod brief;
pub mod campaign;
mod case;
mod collect;
mod compare;
mod duel;
pub mod generate;
mod normal;
mod outcome;
mod process;
mod random;
mod recipe;
mod session;
pub mod skips;
mod snapshot;
mod subject;
pub mod suite;
mod terminal;
mod wait;
mod watchdog;
mod world;

pub use brief::{BriefStdin, limit_files, run_briefly};
pub use campaign::Campaign;
pub use case::{Case, EnvValue, Mode, StdinFrom, Strictness, Topic, load_topic, load_topics};
pub use compare::{compare, first_difference};
pub use duel::Duel;
pub use normal::without_pids;
pub use outcome::Outcome;
pub use process::{Ended, Ending, Launch, Running, Stdin};
pub use random::Random;
pub use recipe::Recipe;
pub use rustix::process::Signal;
pub use session::{SessionProcess, has_file_in, members};
pub use snapshot::{Entry, snapshot};
pub use subject::Subject;
pub use suite::{Findings, check_case, check_topic};
pub use terminal::Terminal;
pub use wait::wait_until;
pub use watchdog::Watchdog;
pub use world::{World, base_environment, make_fifo};

/// Errors of the machinery itself, as opposed to differences found.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A result of the machinery itself.
pub type Result<T> = std::result::Result<T, Error>;
