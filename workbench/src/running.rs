//! Processes in the background that are to be gone whatever happens.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A process in the background, and all of its group, which end with this.
pub struct Running(pub Child);

impl Running {
    /// Starts it in a group of its own.
    pub fn start(command: &mut Command) -> std::io::Result<Self> {
        command.process_group(0).spawn().map(Running)
    }

    /// Its process id, in words.
    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Of a group that has ended already, nobody is left to be told.
        let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}
