//! Processes blocks on several threads and returns the results in order, for one input read from front to
//! back.
//!
//! ```text
//! source ──▶ worker 0 ──▶ sink      block n goes to worker n modulo their number, so the sink knows whose
//!        ╲─▶ worker 1 ─╱            result is next: only a few results per worker are queued
//! ```
//!
//! The source runs in a thread of its own, so that results come out while it is blocked on read. If the sink
//! stops early, the threads are not joined: a source that waits for a terminal would block for ever.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

/// Queue length before each worker, in blocks, and behind it, in results.
const WAITING: usize = 2;

/// Sends each block of `source` to one of `workers` threads and each result to `sink`, in order, until `sink`
/// returns `false`.
///
/// # Errors
/// If no thread can be started.
///
/// # Panics
/// If a worker panicked.
pub fn ordered<B: Send + 'static, R: Send + 'static>(
    workers: usize,
    mut source: impl FnMut() -> Option<B> + Send + 'static,
    work: impl Fn(B) -> R + Send + Sync + 'static,
    mut sink: impl FnMut(R) -> bool,
) -> io::Result<()> {
    let work = Arc::new(work);
    let mut into = Vec::new();
    let mut out = Vec::new();
    for _ in 0..workers.max(1) {
        match start(work.clone()) {
            Ok((sender, receiver)) => {
                into.push(sender);
                out.push(receiver);
            }
            // Fewer workers suffice.
            Err(_) if !into.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    Builder::new().name("source".to_owned()).spawn(move || {
        for sender in into.iter().cycle() {
            let Some(block) = source() else { return };
            count.fetch_add(1, Ordering::SeqCst);
            if sender.send(block).is_err() {
                return;
            }
        }
    })?;
    let mut received = 0;
    for result in out.iter().cycle() {
        let Ok(result) = result.recv() else { break };
        received += 1;
        if !sink(result) {
            return Ok(());
        }
    }
    assert_eq!(received, sent.load(Ordering::SeqCst), "a worker ended before its work did");
    Ok(())
}

type Ends<B, R> = (SyncSender<B>, Receiver<R>);

fn start<B: Send + 'static, R: Send + 'static>(
    work: Arc<impl Fn(B) -> R + Send + Sync + 'static>,
) -> io::Result<Ends<B, R>> {
    let (sender, blocks) = sync_channel::<B>(WAITING);
    let (results, receiver) = sync_channel::<R>(WAITING);
    Builder::new().name("worker".to_owned()).spawn(move || {
        for block in blocks {
            if results.send(work(block)).is_err() {
                return;
            }
        }
    })?;
    Ok((sender, receiver))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for workers in [1, 2, 5] {
            let mut numbers = 0..1000u64;
            let mut found = Vec::new();
            let work = |number: u64| {
                std::hint::black_box((0..number * 7919 % 5000).sum::<u64>());
                number * 2
            };
            ordered(
                workers,
                move || numbers.next(),
                work,
                |result| {
                    found.push(result);
                    true
                },
            )
            .expect("threads");
            assert_eq!(found, (0..1000).map(|number| number * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_endless_source_is_left() {
        let mut numbers = 0u64..;
        let mut seen = 0;
        ordered(
            3,
            move || numbers.next(),
            |number| number,
            |result| {
                assert_eq!(result, seen);
                seen += 1;
                seen < 100
            },
        )
        .expect("threads");
        assert_eq!(seen, 100);
    }

    #[test]
    fn nothing_comes_of_nothing() {
        ordered(2, || None::<u8>, |byte| byte, |_| panic!("nothing was given")).expect("threads");
    }
}
