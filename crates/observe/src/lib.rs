//! Measurement of running processes: exact counters at each exit, sampled wait states, and the verdict drawn
//! from them.
//!
//! observe knows nothing of shell syntax; its input is processes and pipes. It never changes what it watches.

mod advice;
mod bottleneck;
mod bounded_timeline;
mod compare;
pub mod doctor;
pub mod foreground;
pub mod guard;
pub mod history;
pub mod inside;
mod live;
mod native_pass;
mod polled_descriptors;
pub mod probes;
mod profile;
mod repeats;
mod scaling_exponent;
mod stack;
mod stage_label;
pub mod surroundings;
mod tree;
mod verdict;
mod watch;
pub mod what_if;
mod wiring;

pub use bounded_timeline::{Course, Stretch};
pub use compare::{Compared, compare};
pub use live::Live;
pub use native_pass::{Around, Tally, divide};
pub use repeats::{each_run, summarise};
pub use scaling_exponent::scaling_exponent;
pub use verdict::{judge, judge_inside};
pub use watch::{Edges, Finished, Pace, Watched};
