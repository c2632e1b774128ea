//! The live view next to a run of `pelton time --live`.

use super::screen::Screen;
use crate::terminal::When;
use crate::terminal::{self, Look};
use pelton_record::live::Snapshot;
use pelton_report::live::{self, View};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

/// The interval of lines that are not redrawn, in nanoseconds.
const EVERY_NS: u64 = 1_000_000_000;

static BESIDE: Mutex<Beside> = Mutex::new(Beside { screen: None, said_ns: 0 });

/// The state of the view on standard error.
struct Beside {
    screen: Option<Screen>,
    said_ns: u64,
}

/// Shows the progress; `None` restores the terminal. If the pipeline prints to the terminal too, the progress is
/// a line each second between its output, not a full screen.
pub fn beside(now: Option<&Snapshot>) {
    let mut beside = BESIDE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(now) = now else {
        *beside = Beside { screen: None, said_ns: 0 };
        return;
    };
    let may_take = terminal::stderr_is_terminal() && !std::io::stdout().is_terminal();
    if may_take && beside.screen.is_none() {
        beside.screen = Screen::take(std::io::stderr(), false).ok();
    }
    match &beside.screen {
        Some(screen) => screen.show(now, &View::default(), When::Auto),
        None if now.elapsed_ns >= beside.said_ns + EVERY_NS => {
            beside.said_ns = now.elapsed_ns;
            terminal::say(&live::lines(now, &Look::of_stderr(When::Auto).style(false)));
        }
        None => {}
    }
}
