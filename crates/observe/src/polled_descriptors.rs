//! Reads the descriptors that a process polls from its memory.

use pelton_sys::calls::Polled;
use pelton_sys::{descriptors, other_process};

/// Maximum number of descriptors of one poll.
const POLLED: usize = 1024;

/// Returns the descriptors, each with whether it is polled for reading and for writing.
pub fn polled(pid: u32, set: Polled) -> Option<Vec<(u32, bool, bool)>> {
    match set {
        Polled::Epoll(fd) => descriptors::registered(pid, fd),
        Polled::Array { count: 0, .. } => Some(Vec::new()),
        Polled::Array { address, count } => {
            let mut buffer = vec![0; 8 * (count as usize).min(POLLED)];
            Some(array(other_process::memory(pid, address, &mut buffer)?))
        }
        Polled::Sets { addresses, limit } => {
            let bytes = (limit as usize).min(POLLED).div_ceil(64) * 8;
            let read = |address: u64| {
                let mut buffer = vec![0; bytes];
                if address == 0 || bytes == 0 {
                    return Some(buffer);
                }
                (other_process::memory(pid, address, &mut buffer)?.len() == bytes).then_some(buffer)
            };
            let (reads, writes) = (read(addresses[0])?, read(addresses[1])?);
            let has = |bits: &[u8], fd: usize| bits[fd / 8] >> (fd % 8) & 1 == 1;
            let all = (0..bytes * 8).map(|fd| (fd as u32, has(&reads, fd), has(&writes, fd)));
            Some(all.filter(|(_, reads, writes)| *reads || *writes).collect())
        }
    }
}

/// Parses an array of pollfd structures: a descriptor (negative: none), requested events, returned events.
fn array(bytes: &[u8]) -> Vec<(u32, bool, bool)> {
    const IN: u8 = 0x01;
    const OUT: u8 = 0x04;
    let (structures, _) = bytes.as_chunks::<8>();
    let one = |bytes: &[u8; 8]| {
        let fd = i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let events = u16::from_ne_bytes([bytes[4], bytes[5]]) as u8;
        // A hang-up is reported even if not requested.
        (fd >= 0).then_some((fd as u32, events & IN != 0 || events & OUT == 0, events & OUT != 0))
    };
    structures.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_set_is_read() {
        let mut bytes = Vec::new();
        for (fd, events) in [(3i32, 1u16), (-1, 1), (4, 4), (5, 0)] {
            bytes.extend(fd.to_ne_bytes());
            bytes.extend(events.to_ne_bytes());
            bytes.extend([0; 2]);
        }
        assert_eq!(array(&bytes), [(3, true, false), (4, false, true), (5, true, false)]);
    }
}
