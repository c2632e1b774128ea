//! Events of followed processes, and their encoding in the pipe from the tracer to the process that requested
//! it.

use crate::procfs::Io;
use crate::wait::{Ended, Usage};
use std::io;

/// The events at which a followed process stops.
pub(super) const OPTIONS: libc::c_int = libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT
    | libc::PTRACE_O_TRACESYSGOOD;

/// An event of a followed process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It forked.
    Forked {
        /// Monotonic time.
        at_ns: u64,
        /// The process.
        pid: u32,
        /// The new process.
        child: u32,
        /// The line of the followed shell's script where it forked, if known by now.
        line: Option<u32>,
    },
    /// It exec'd.
    Execed {
        /// Monotonic time.
        at_ns: u64,
        /// The process.
        pid: u32,
        /// CPU time used by then.
        cpu_ns: u64,
        /// The pipes behind descriptors 0 and 1, if they are pipes.
        pipes: [Option<u64>; 2],
        /// Which of them are at another descriptor and passed to it as a file name.
        named: [bool; 2],
        /// Its command line, up to 4 KiB.
        words: Vec<Vec<u8>>,
        /// The line of the followed shell's script where it stands, if only the exec revealed it.
        line: Option<u32>,
    },
    /// It gained privilege from its program's file, and is no longer followed.
    Left {
        /// The process.
        pid: u32,
    },
    /// It is about to exit: what is known only while it has memory and descriptors.
    Exiting {
        /// The process.
        pid: u32,
        /// The pipes behind descriptors 0 and 1.
        pipes: [Option<u64>; 2],
        /// Its reads and writes, with the descendants that it waited for.
        io: Option<Io>,
        /// Its own largest resident set.
        peak_rss_bytes: u64,
    },
    /// It has exited.
    Ended {
        /// Monotonic time.
        at_ns: u64,
        /// The process.
        pid: u32,
        /// How it ended.
        ended: Ended,
        /// Its own CPU time: all threads, no descendants.
        cpu_ns: u64,
        /// Its resource usage, with the descendants that it waited for.
        usage: Usage,
    },
}

/// The encoding of an event in the pipe: its length, a letter, numbers, and texts with their lengths.
pub struct Frame;

impl Frame {
    /// Encodes a frame.
    pub fn of(kind: u8, numbers: &[u64], texts: &[&[u8]]) -> Vec<u8> {
        let mut out = vec![0; 4];
        out.push(kind);
        out.push(numbers.len() as u8);
        numbers.iter().for_each(|number| out.extend(number.to_ne_bytes()));
        for text in texts {
            out.extend((text.len() as u32).to_ne_bytes());
            out.extend_from_slice(text);
        }
        let length = (out.len() as u32).to_ne_bytes();
        out[..4].copy_from_slice(&length);
        out
    }
}

/// Decodes the first complete frame: returns its event, if it is one, and its length.
pub fn frame(bytes: &[u8]) -> Option<(Option<Event>, usize)> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let body = bytes.get(4..length)?;
    let (&kind, body) = body.split_first()?;
    let (&count, body) = body.split_first()?;
    let (numbers, mut texts) = body.split_at_checked(8 * usize::from(count))?;
    let (numbers, _) = numbers.as_chunks::<8>();
    let numbers: Vec<u64> = numbers.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
    let mut words = Vec::new();
    while let Some((length, rest)) = texts.split_first_chunk::<4>() {
        let (word, rest) = rest.split_at_checked(u32::from_ne_bytes(*length) as usize)?;
        words.push(word.to_vec());
        texts = rest;
    }
    Some((event(kind, &numbers, words), length))
}

fn event(kind: u8, numbers: &[u64], words: Vec<Vec<u8>>) -> Option<Event> {
    let inode = |number: u64| (number != 0).then_some(number);
    let line = |number: u64| (number != 0).then_some(number as u32);
    Some(match (kind, numbers) {
        (b'f', &[at_ns, pid, child, number]) => {
            Event::Forked { at_ns, pid: pid as u32, child: child as u32, line: line(number) }
        }
        (b'x', &[at_ns, pid, cpu_ns, stdin, stdout, named, number]) => Event::Execed {
            at_ns,
            pid: pid as u32,
            cpu_ns,
            pipes: [inode(stdin), inode(stdout)],
            named: [named & 1 != 0, named & 2 != 0],
            words,
            line: line(number),
        },
        (b'l', &[pid]) => Event::Left { pid: pid as u32 },
        (b'q', &[pid, stdin, stdout, known, read_bytes, written_bytes, read_calls, write_calls, peak]) => {
            let io = Io { read_bytes, written_bytes, read_calls, write_calls };
            Event::Exiting {
                pid: pid as u32,
                pipes: [inode(stdin), inode(stdout)],
                io: (known != 0).then_some(io),
                peak_rss_bytes: peak,
            }
        }
        (b'e', &[at_ns, pid, how, code, cpu_ns, ref usage @ ..]) => Event::Ended {
            at_ns,
            pid: pid as u32,
            ended: match how {
                0 => Ended::Exited(code as i32),
                how => Ended::Signalled(code as i32, how == 2),
            },
            cpu_ns,
            usage: Usage::from_array(usage.try_into().ok()?),
        },
        _ => return None,
    })
}

/// Writes all of `bytes` to the reader of the events.
pub(super) fn tell(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdin(), bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_whole_or_not_at_all() {
        let one = Frame::of(b'x', &[5, 7, 9, 0, 12, 2, 40], &[b"awk", b"", b"{ print }"]);
        let two = Frame::of(b'f', &[1, 2, 3, 0], &[]);
        let both = [one.clone(), two.clone()].concat();
        let (event, used) = frame(&both).expect("whole");
        let words = vec![b"awk".to_vec(), vec![], b"{ print }".to_vec()];
        assert_eq!(used, one.len());
        assert_eq!(
            event,
            Some(Event::Execed {
                at_ns: 5,
                pid: 7,
                cpu_ns: 9,
                pipes: [None, Some(12)],
                named: [false, true],
                words,
                line: Some(40)
            })
        );
        assert_eq!(
            frame(&both[used..]),
            Some((Some(Event::Forked { at_ns: 1, pid: 2, child: 3, line: None }), two.len()))
        );
        (0..one.len()).for_each(|cut| assert_eq!(frame(&one[..cut]), None));
    }
}
