//! The full-screen view, redrawn in place, and its keys.

use super::SAMPLE;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::terminal::{Look, SingleKeys, When};
use pelton_observe::Live;
use pelton_record::live::Snapshot;
use pelton_report::Style;
use pelton_report::live::{self, View};
use pelton_sys::clock;
use pelton_sys::signals::Requests;
use pelton_sys::wait;
use rustix::termios;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

/// The shortest and longest redraw interval.
const PACES_NS: [u64; 2] = [100_000_000, 10_000_000_000];

/// A terminal in full-screen mode. Dropping it restores the previous screen.
pub struct Screen {
    out: File,
    _keys: Option<SingleKeys>,
}

impl Screen {
    /// Takes the terminal behind `out`. With `keys`, reads single keys from standard input if that is a
    /// terminal.
    ///
    /// # Errors
    /// If no descriptors are left.
    pub fn take(out: impl AsFd, keys: bool) -> std::io::Result<Self> {
        let out = File::from(out.as_fd().try_clone_to_owned()?);
        let screen = Screen { out, _keys: keys.then(SingleKeys::take).flatten() };
        screen.write("\x1b[?1049h\x1b[?25l\x1b[2J");
        Ok(screen)
    }

    /// Draws a screen in the terminal's current size.
    pub fn show(&self, now: &Snapshot, view: &View, color: When) {
        let size = termios::tcgetwinsize(&self.out).ok();
        let height = size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(24).max(4);
        let width = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        let look = Style { width: width.or(Some(80)), ..Look::of_stdout(color).style(false) };
        self.draw(&live::screen(now, view, &look, height));
    }

    /// Ignores errors: a lost terminal shows when keys are read.
    fn write(&self, text: &str) {
        let _ = (&self.out).write_all(text.as_bytes());
    }

    /// Draws lines from the top, in one write.
    fn draw(&self, lines: &[String]) {
        let mut text = String::from("\x1b[?2026h\x1b[H");
        for (i, line) in lines.iter().enumerate() {
            text += if i > 0 { "\r\n" } else { "" };
            text += line;
            text += "\x1b[K";
        }
        self.write(&(text + "\x1b[J\x1b[?2026l"));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.write("\x1b[?25h\x1b[?1049l");
    }
}

/// What a key requests.
#[derive(Debug, PartialEq, Eq)]
enum Key {
    Quit,
    Redraw,
}

/// Handles keys, as terminal bytes.
fn press(keys: &[u8], view: &mut View, every_ns: &mut u64) -> Option<Key> {
    let mut asked = None;
    let mut rest = keys;
    while let Some((&key, after)) = rest.split_first() {
        rest = after;
        asked = Some(Key::Redraw);
        match key {
            b'q' | b'Q' | 3 | 4 => return Some(Key::Quit),
            b' ' | b'p' => view.paused = !view.paused,
            b'w' => view.lately = !view.lately,
            b'?' | b'h' => view.help = !view.help,
            b'+' => *every_ns = (*every_ns / 2).max(PACES_NS[0]),
            b'-' => *every_ns = (*every_ns * 2).min(PACES_NS[1]),
            b'k' => view.scrolled = view.scrolled.saturating_sub(1),
            b'j' => view.scrolled += 1,
            0x1b => match rest {
                [] => return Some(Key::Quit),
                [b'[' | b'O', b'A', ..] => view.scrolled = view.scrolled.saturating_sub(1),
                [b'[' | b'O', b'B', ..] => view.scrolled += 1,
                [b'[', b'5', ..] => view.scrolled = view.scrolled.saturating_sub(10),
                [b'[', b'6', ..] => view.scrolled += 10,
                _ => {}
            },
            _ => {}
        }
        if key == 0x1b {
            // The rest of a sequence ends with a letter or a tilde.
            let end = rest.iter().skip(1).position(|byte| byte.is_ascii_alphabetic() || *byte == b'~');
            rest = end.map_or(&[][..], |end| &rest[end + 2..]);
        }
    }
    asked
}

/// Redraws until the user quits, all pipelines end, or `end_ns`.
pub fn run(
    live: &mut Live,
    every_ns: u64,
    end_ns: Option<u64>,
    forever: bool,
    color: When,
) -> Result<Ending, Failure> {
    let requests = Requests::watch().map_err(|error| Failure::io("cannot wait for signals", &error))?;
    let screen = Screen::take(std::io::stdout(), true)
        .map_err(|error| Failure::io("cannot take the terminal", &error))?;
    let (mut view, mut every_ns) = (View::default(), every_ns);
    let mut now = live.snapshot();
    let mut next_ns = clock::now_ns() + every_ns.min(200_000_000);
    screen.show(&now, &view, color);
    loop {
        let stdin = std::io::stdin();
        let mut waited = vec![requests.as_fd()];
        if stdin.is_terminal() {
            waited.push(stdin.as_fd());
        }
        wait::wait_any(&waited, Some(SAMPLE));
        let signal = requests.taken().first().copied();
        let key = SingleKeys::pressed(Duration::ZERO).and_then(|keys| press(&keys, &mut view, &mut every_ns));
        live.sample();
        let now_ns = clock::now_ns();
        let over = (live.is_over() && !forever) || end_ns.is_some_and(|end_ns| now_ns >= end_ns);
        if let Some(signal) = signal {
            drop(screen);
            return Ok(Ending::Signal(signal));
        }
        if key == Some(Key::Quit) || over {
            let last = live.snapshot();
            drop(screen);
            super::print(&super::shown(if last.pipelines.is_empty() { &now } else { &last }, false, color))?;
            return Ok(Ending::Status(0));
        }
        if now_ns >= next_ns {
            let fresh = live.snapshot();
            now = if view.paused { now } else { fresh };
            next_ns = now_ns + every_ns;
            screen.show(&now, &view, color);
        } else if key == Some(Key::Redraw) {
            screen.show(&now, &view, color);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_change_the_view() {
        let (mut view, mut every_ns) = (View::default(), 500_000_000);
        let mut press = |keys: &[u8]| {
            let key = press(keys, &mut view, &mut every_ns);
            (key, view, every_ns)
        };
        assert_eq!(press(b""), (None, View::default(), 500_000_000));
        assert_eq!(press(b" w").1, View { paused: true, lately: true, ..View::default() });
        assert_eq!(press(b"\x1b[B\x1b[B\x1b[6~\x1b[A").1.scrolled, 11);
        assert_eq!(press(b"++++++").2, 100_000_000);
        assert_eq!(press(b"\x1b").0, Some(Key::Quit));
        assert_eq!(press(b"\x03").0, Some(Key::Quit));
        assert!(press(b"?").1.help);
    }
}
