//! How the process ends.

use pelton_sys::signals;
use pelton_sys::wait::Ended;

/// How the process ends.
pub enum Ending {
    /// With this status.
    Status(i32),
    /// By this signal, as the shell in its place would.
    Signal(i32),
}

/// Returns `status 141 (SIGPIPE)`: a shell's status above 128 tells of a signal.
pub fn status_in_words(status: i32) -> String {
    match status {
        129..=159 => format!("status {status} ({})", signals::name(status - 128)),
        _ => format!("status {status}"),
    }
}

impl From<Ended> for Ending {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Exited(status) => Ending::Status(status),
            Ended::Signalled(signal, _) => Ending::Signal(signal),
        }
    }
}
