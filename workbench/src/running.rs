//! Background processes that are killed whatever happens.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A background process and its process group, killed on drop.
pub struct Running(pub Child);

impl Running {
    /// Starts the process in its own group.
    pub fn start(command: &mut Command) -> std::io::Result<Self> {
        command.process_group(0).spawn().map(Running)
    }

    /// Returns its process id as text.
    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If the group has ended already, there is nothing to kill.
        let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}
