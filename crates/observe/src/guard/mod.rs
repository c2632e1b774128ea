//! `pelton guard`: whether anything moves in the process tree below a command.
//!
//! `tree` reads the processes about once a second, `movement` decides from these figures alone whether the
//! command makes progress, stands still, or only polls, and `end` ends the tree. What a standstill means is
//! judged by [`doctor`](crate::doctor), as for any running process.

mod end;
mod movement;
mod tree;
mod woken;

pub use end::end;
pub use movement::{Interval, Movement, State};
pub use tree::{Member, Sample, Tree};
pub use woken::{Waker, waker};
