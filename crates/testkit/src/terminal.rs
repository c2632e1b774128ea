//! A pseudo-terminal around a run, for what needs a terminal (Ctrl-C, Ctrl-Z, job control).

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::collect::Collector;
use crate::{Ended, Launch, Result, Running};

/// A command that leads a session with a controlling terminal, to which all three standard streams are
/// connected.
pub struct Terminal {
    running: Running,
    keyboard: File,
}

impl Terminal {
    /// Starts the command.
    pub fn spawn(launch: &Launch) -> Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let no_ctty = OpenptFlags::NOCTTY.bits() as i32;
        let slave = OpenOptions::new().read(true).write(true).custom_flags(no_ctty).open(name.to_str()?)?;
        let mut command = launch.command(&["setsid", "--ctty"]);
        command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(Stdio::from(slave));
        let child = command.spawn()?;
        drop(command);
        let keyboard = File::from(master);
        let screen = Collector::start(keyboard.try_clone()?);
        let nothing = Collector::start(std::io::empty());
        Ok(Terminal { running: launch.running(child, screen, nothing), keyboard })
    }

    /// Types these bytes: `\x03` is Ctrl-C, `\x1a` is Ctrl-Z, `\x04` is Ctrl-D.
    pub fn keys(&mut self, keys: &str) -> Result<()> {
        Ok(self.keyboard.write_all(keys.as_bytes())?)
    }

    /// Returns the terminal's current settings: modes and special characters.
    pub fn settings(&self) -> Result<String> {
        let settings = rustix::termios::tcgetattr(&self.keyboard)?;
        let modes =
            (settings.input_modes, settings.output_modes, settings.control_modes, settings.local_modes);
        Ok(format!("{modes:?} {:?}", settings.special_codes))
    }

    /// Returns the run in the terminal.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Waits until the screen has shown these words.
    pub fn await_words(&self, words: &str) -> Result<()> {
        self.running.await_words(words)
    }

    /// Waits for the end; the screen's contents are in [`Ended::stdout`].
    pub fn finish(self) -> Result<Ended> {
        let Terminal { running, keyboard } = self;
        let ended = running.finish();
        drop(keyboard);
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ending;

    fn launch(text: &str) -> Launch {
        Launch::new(["bash", "-c", text], std::env::temp_dir())
    }

    #[test]
    fn the_command_has_a_controlling_terminal() {
        let mut terminal =
            Terminal::spawn(&launch("test -t 0 && test -t 2 && read x </dev/tty && echo got-$x")).unwrap();
        terminal.keys("word\n").expect("typed");
        terminal.await_words("got-word").expect("an answer");
        assert_eq!(terminal.finish().expect("an end").ending, Ending::Exit(0));
    }

    #[test]
    fn control_c_interrupts_it() {
        let mut terminal = Terminal::spawn(&launch("echo ready; sleep 300 | cat")).unwrap();
        terminal.await_words("ready").expect("a start");
        terminal.keys("\x03").expect("typed");
        let ended = terminal.finish().expect("an end");
        assert_eq!((ended.ending, ended.left_behind), (Ending::Signal(2), vec![]));
    }
}
