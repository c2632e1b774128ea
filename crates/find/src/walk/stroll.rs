//! A search by one thread in pieces, for whoever wants to do something else between them.

use super::worker::Worker;
use super::{Order, Run, Settings, Sink, Walk};
use crate::query::Query;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// How many entries are looked at before anybody is asked what else there is to do.
const ENTRIES: usize = 512;
/// How much is found before it is shown.
const FULL: usize = 32 << 10;

/// In GNU find's order.
pub struct Stroll {
    run: &'static Run<'static>,
    kept: &'static Kept,
    worker: Worker<'static>,
    started: bool,
}

/// What was said, until it is asked for.
#[derive(Default)]
struct Kept {
    text: Mutex<Vec<u8>>,
    errors: Mutex<Vec<u8>>,
}

impl Sink for Kept {
    fn text(&self, bytes: &[u8]) -> io::Result<()> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(())
    }

    fn error(&self, bytes: &[u8]) {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }
}

impl Stroll {
    /// Nothing is looked at yet. What a worker borrows is never given back: a process strolls once, and ends.
    pub fn new(query: Query) -> Self {
        let settings = Settings {
            walk: Walk::Sequential,
            workers: 1,
            slots: 0,
            order: Order::Listed,
            first: false,
            stop_on_error: false,
            promptly: false,
            alone: u64::MAX,
            timeline: false,
        };
        let kept: &Kept = Box::leak(Box::default());
        let run: &Run<'_> = Box::leak(Box::new(Run::new(Box::leak(Box::new(query)), &settings, kept, true)));
        Stroll { run, kept, worker: Worker::new(run, 0), started: false }
    }

    /// Goes on until there is something to show, or to do: appends what was found, and what there is to complain about.
    /// Whether there is more.
    pub fn go_on(&mut self, out: &mut Vec<u8>, errors: &mut Vec<u8>) -> bool {
        if !std::mem::replace(&mut self.started, true) {
            self.worker.start();
        }
        let before = out.len();
        loop {
            let more = self.worker.advance(ENTRIES);
            let complains = take(&self.kept.errors, errors);
            // Of a call without anything found, nothing comes of being asked again.
            if take(&self.kept.text, out) && out.len() >= before + FULL || complains || !more {
                return more;
            }
            if out.len() > before {
                return true;
            }
        }
    }

    /// find's exit status so far.
    pub fn status(&self) -> i32 {
        i32::from(self.run.failed.load(Ordering::Relaxed))
    }
}

/// Moves what there is; whether there was anything.
fn take(from: &Mutex<Vec<u8>>, to: &mut Vec<u8>) -> bool {
    let mut from = from.lock().unwrap_or_else(PoisonError::into_inner);
    let any = !from.is_empty();
    to.append(&mut from);
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Surroundings, parse};

    #[test]
    fn in_pieces_it_finds_what_find_finds() {
        let dir = tempfile::tempdir().unwrap();
        for place in 0..300 {
            let inner = dir.path().join(format!("d{}/e{place}", place % 7));
            std::fs::create_dir_all(&inner).unwrap();
            std::fs::write(inner.join("name.c"), "").unwrap();
        }
        let start = dir.path().to_str().unwrap();
        for expression in
            [&[][..], &["-name", "*.c"], &["-type", "d"], &["-name", "e1*", "-prune", "-o", "-print"]]
        {
            let words: Vec<&str> = [start, "nowhere"].iter().chain(expression).copied().collect();
            let real = std::process::Command::new("find").args(&words).env("LC_ALL", "C").output().unwrap();
            let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            let around = Surroundings { utf8: false, output_is_terminal: false, input_is_terminal: false };
            let mut stroll = Stroll::new(parse(&words, around).unwrap());
            let (mut out, mut errors) = (Vec::new(), Vec::new());
            while stroll.go_on(&mut out, &mut errors) {}
            assert!(out == real.stdout && errors == real.stderr, "{expression:?}");
            assert_eq!(stroll.status(), real.status.code().unwrap());
        }
    }
}
