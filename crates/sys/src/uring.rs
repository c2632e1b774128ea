//! Copying through io_uring: several reads and writes in flight, submitted and collected with one system
//! call.

use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Blocks in flight.
const DEPTH: usize = 8;

/// A block in flight.
struct Block {
    buffer: Vec<u8>,
    at: u64,
    /// The range still to be read or written.
    start: usize,
    end: usize,
    writing: bool,
}

/// Copies `at..at + bytes` in blocks of `block_bytes`. Returns how many bytes it copied, less than `bytes`
/// only if the source ended; and the number of system calls.
///
/// # Errors
/// If the kernel has no io_uring, or forbids it; and those of reading and writing.
pub fn copy(from: &File, to: &File, at: u64, bytes: u64, block_bytes: usize) -> io::Result<(u64, u64)> {
    let mut ring = IoUring::new(DEPTH as u32)?;
    let (mut next, mut end, mut calls, mut in_flight) = (at, at + bytes, 1, 0);
    let mut blocks: Vec<Block> = Vec::new();
    let mut failed: Option<io::Error> = None;
    while next < end && blocks.len() < DEPTH {
        let size = (end - next).min(block_bytes as u64) as usize;
        blocks.push(Block { buffer: vec![0; size], at: next, start: 0, end: size, writing: false });
        next += size as u64;
    }
    for (number, block) in blocks.iter_mut().enumerate() {
        submit(&mut ring, from, to, block, number)?;
        in_flight += 1;
    }
    // Even after an error, waits until nothing is in flight: the kernel writes into the buffers.
    while in_flight > 0 {
        calls += 1;
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // The kernel may still write into the buffers, so they are leaked.
            Err(error) => {
                std::mem::forget(blocks);
                return Err(error);
            }
            Ok(_) => {}
        }
        let done: Vec<(usize, i32)> =
            ring.completion().map(|entry| (entry.user_data() as usize, entry.result())).collect();
        for (number, result) in done {
            in_flight -= 1;
            let block = &mut blocks[number];
            match result {
                error if error < 0 => {
                    let error = io::Error::from_raw_os_error(-error);
                    if error.kind() != io::ErrorKind::Interrupted {
                        failed = failed.or(Some(error));
                    }
                }
                0 if !block.writing => {
                    end = end.min(block.at + block.start as u64);
                    (block.end, block.start, block.writing) = (block.start, 0, true);
                }
                0 => failed = failed.or(Some(io::ErrorKind::WriteZero.into())),
                count => block.start += count as usize,
            }
            if block.start == block.end && !block.writing {
                (block.start, block.writing) = (0, true);
            }
            if block.start == block.end && block.writing {
                let size = end.saturating_sub(next).min(block_bytes as u64) as usize;
                if size == 0 {
                    continue;
                }
                block.buffer.resize(size, 0);
                (block.at, block.start, block.end, block.writing) = (next, 0, size, false);
                next += size as u64;
            }
            if failed.is_none() {
                match submit(&mut ring, from, to, &mut blocks[number], number) {
                    Ok(()) => in_flight += 1,
                    Err(error) => failed = Some(error),
                }
            }
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok((end - at, calls)),
    }
}

/// Queues the next operation of a block.
fn submit(ring: &mut IoUring, from: &File, to: &File, block: &mut Block, number: usize) -> io::Result<()> {
    let offset = block.at + block.start as u64;
    let part = &mut block.buffer[block.start..block.end];
    let (pointer, length) = (part.as_mut_ptr(), part.len() as u32);
    let entry = if block.writing {
        opcode::Write::new(types::Fd(to.as_raw_fd()), pointer, length).offset(offset).build()
    } else {
        opcode::Read::new(types::Fd(from.as_raw_fd()), pointer, length).offset(offset).build()
    };
    let entry = entry.user_data(number as u64);
    // SAFETY: the buffer is neither moved nor dropped before the kernel has answered: `copy` waits for
    // everything in flight, and a block is resized only when none of it is in flight; both files outlive the
    // call.
    let pushed = unsafe { ring.submission().push(&entry) };
    pushed.map_err(|_| io::Error::other("the queue of io_uring is full"))
}
