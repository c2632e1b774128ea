//! Merges the output of several workers in order.
//!
//! ```text
//! head ─▶ part ─▶ part ─▶ part        each worker fills one; the head is written, the others are held
//! ```
//!
//! A tree's output is a sequence of parts. A worker that gives work away splits its part: the work it keeps
//! comes first. The head is written as it comes; when it is closed, the next part becomes the head, and so
//! on. So the order is that of a single thread.

use crate::sink::Sink;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that parts after the head may hold before their workers block.
const MOST_HELD: usize = 64 << 20;

/// A worker's place in the sequence.
#[derive(Clone)]
pub(super) struct SequenceSlot {
    index: usize,
    /// Whether the search ends before this part.
    dead: Arc<AtomicBool>,
}

impl SequenceSlot {
    /// Whether its output is no longer needed.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }
}

pub(super) struct Sequence<'r> {
    sink: &'r dyn Sink,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    parts: Vec<Slot>,
    free: Vec<usize>,
    head: usize,
    held: usize,
    failed: bool,
    /// Whether the last part was written.
    over: bool,
}

#[derive(Default)]
struct Slot {
    text: Vec<u8>,
    errors: Vec<u8>,
    closed: bool,
    last: bool,
    next: Option<usize>,
    dead: Arc<AtomicBool>,
}

impl<'r> Sequence<'r> {
    pub fn new(sink: &'r dyn Sink) -> Self {
        let state = State { parts: vec![Slot::default()], ..State::default() };
        Sequence { sink, state: Mutex::new(state), moved: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the initial part.
    pub fn first(&self) -> SequenceSlot {
        SequenceSlot { index: 0, dead: Arc::clone(&self.lock().parts[0].dead) }
    }

    /// Inserts a new part right after this one.
    pub fn split(&self, part: &SequenceSlot) -> SequenceSlot {
        let mut state = self.lock();
        let next = state.parts[part.index].next;
        let slot = Slot { next, dead: Arc::new(AtomicBool::new(part.is_dead())), ..Slot::default() };
        let dead = Arc::clone(&slot.dead);
        let index = match state.free.pop() {
            Some(index) => {
                state.parts[index] = slot;
                index
            }
            None => {
                state.parts.push(slot);
                state.parts.len() - 1
            }
        };
        state.parts[part.index].next = Some(index);
        SequenceSlot { index, dead }
    }

    /// Writes the output of the head, or holds that of another part. With `wait`, blocks while too much is
    /// held, until that flag is set.
    pub fn put(
        &self,
        part: &SequenceSlot,
        text: &mut Vec<u8>,
        errors: &mut Vec<u8>,
        wait: Option<&AtomicBool>,
    ) -> io::Result<()> {
        let mut state = self.lock();
        while let Some(stop) = wait {
            let has_room = state.head == part.index || state.held < MOST_HELD;
            if has_room || part.is_dead() || stop.load(Ordering::Relaxed) {
                break;
            }
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if part.is_dead() {
            text.clear();
            errors.clear();
            return Ok(());
        }
        if state.head == part.index {
            state.failed |= !errors.is_empty();
            return self.write(text, errors);
        }
        state.held += text.len() + errors.len();
        let slot = &mut state.parts[part.index];
        slot.text.append(text);
        slot.errors.append(errors);
        Ok(())
    }

    fn write(&self, text: &mut Vec<u8>, errors: &mut Vec<u8>) -> io::Result<()> {
        if !errors.is_empty() {
            self.sink.error(errors);
            errors.clear();
        }
        let written = if text.is_empty() { Ok(()) } else { self.sink.text(text) };
        text.clear();
        written
    }

    /// Closes a part; with `last`, drops all parts after it. Returns true once the last part was written.
    pub fn close(&self, part: &SequenceSlot, last: bool) -> io::Result<bool> {
        let mut state = self.lock();
        let slot = &mut state.parts[part.index];
        (slot.closed, slot.last) = (true, last);
        if last {
            state.kill_behind(part.index);
        }
        let written = self.advance(&mut state);
        self.moved.notify_all();
        written.map(|()| state.over)
    }

    fn advance(&self, state: &mut State) -> io::Result<()> {
        while !state.over && state.parts[state.head].closed {
            let head = state.head;
            let (last, next) = (state.parts[head].last, state.parts[head].next);
            let Some(next) = next.filter(|_| !last) else {
                state.over = true;
                return Ok(());
            };
            state.parts[head] = Slot::default();
            state.free.push(head);
            state.head = next;
            let mut text = std::mem::take(&mut state.parts[next].text);
            let mut errors = std::mem::take(&mut state.parts[next].errors);
            state.held -= text.len() + errors.len();
            state.failed |= !errors.is_empty();
            self.write(&mut text, &mut errors)?;
        }
        Ok(())
    }

    /// Whether anything was written to standard error.
    pub fn failed(&self) -> bool {
        self.lock().failed
    }

    pub fn wake_all(&self) {
        let _state = self.lock();
        self.moved.notify_all();
    }
}

impl State {
    fn kill_behind(&mut self, index: usize) {
        let mut at = self.parts[index].next;
        while let Some(index) = at {
            let slot = &mut self.parts[index];
            slot.dead.store(true, Ordering::Relaxed);
            self.held -= slot.text.len() + slot.errors.len();
            slot.text = Vec::new();
            slot.errors = Vec::new();
            at = slot.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<u8>>);

    impl Sink for Kept {
        fn text(&self, bytes: &[u8]) -> io::Result<()> {
            self.0.lock().expect("whole").extend(bytes);
            Ok(())
        }
        fn error(&self, bytes: &[u8]) {
            self.0.lock().expect("whole").extend(bytes);
        }
    }

    fn put(sequence: &Sequence<'_>, part: &SequenceSlot, text: &str) {
        sequence.put(part, &mut text.into(), &mut Vec::new(), None).expect("written");
    }

    #[test]
    fn parts_come_in_order_whoever_is_first() {
        let kept = Kept::default();
        let sequence = Sequence::new(&kept);
        let first = sequence.first();
        let third = sequence.split(&first);
        let second = sequence.split(&first);
        put(&sequence, &third, "3");
        put(&sequence, &second, "2");
        assert!(!sequence.close(&third, false).expect("written"));
        put(&sequence, &first, "1");
        assert_eq!(*kept.0.lock().expect("whole"), b"1");
        assert!(!sequence.close(&first, false).expect("written"));
        put(&sequence, &second, "b");
        assert!(sequence.close(&second, false).expect("written"), "all are closed");
        assert_eq!(*kept.0.lock().expect("whole"), b"12b3");
    }

    #[test]
    fn nothing_comes_behind_the_last() {
        let kept = Kept::default();
        let sequence = Sequence::new(&kept);
        let first = sequence.first();
        let second = sequence.split(&first);
        let third = sequence.split(&second);
        put(&sequence, &third, "3");
        put(&sequence, &second, "2");
        assert!(!sequence.close(&second, true).expect("written"));
        assert!(third.is_dead() && !first.is_dead());
        put(&sequence, &third, "3");
        put(&sequence, &first, "1");
        assert!(sequence.close(&first, false).expect("written"), "the last one is out");
        assert_eq!(*kept.0.lock().expect("whole"), b"12");
    }
}
