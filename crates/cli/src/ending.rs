//! How the process ends.

use pelton_sys::wait::Ended;

/// How the process ends.
pub enum Ending {
    /// With this status.
    Status(i32),
    /// By this signal, as the shell in its place would.
    Signal(i32),
}

impl From<Ended> for Ending {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Exited(status) => Ending::Status(status),
            Ended::Signalled(signal, _) => Ending::Signal(signal),
        }
    }
}
