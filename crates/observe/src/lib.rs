//! Measuring what runs: exact figures at each exit, sampled wait states, and the verdict drawn from them.
//!
//! observe knows nothing of shell text; it is given processes and pipes. It never changes what it watches.

mod advice;
mod compare;
mod course;
pub mod doctor;
mod growth;
pub mod inside;
mod live;
mod pass;
mod polled;
pub mod probes;
mod repeats;
mod verdict;
mod watch;
mod wiring;

pub use compare::{Compared, compare};
pub use course::{Course, Stretch};
pub use growth::growth;
pub use live::Live;
pub use pass::{Around, Tally, divide};
pub use repeats::summarise;
pub use verdict::judge;
pub use watch::{Edges, Finished, Pace, Watched};
