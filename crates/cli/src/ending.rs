//! How the process ends.

/// How the process ends.
pub enum Ending {
    /// With this status.
    Status(i32),
    /// By this signal, as the shell in its place would.
    Signal(i32),
}
