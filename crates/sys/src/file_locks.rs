//! Waiters for file locks, and the holders of these locks: /proc/locks.

/// A process that waits for a lock, and the lock's holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The waiting process.
    pub waiter: u32,
    /// The holder; `None` if the kernel does not say (locks of open file descriptions have no owner).
    pub holder: Option<u32>,
}

/// Returns all processes that wait for a file lock.
pub fn blocked() -> Vec<Blocked> {
    std::fs::read_to_string("/proc/locks").map(|text| parse(&text)).unwrap_or_default()
}

/// Parses lines such as `1: FLOCK ADVISORY WRITE 10 fe:00:77 0 EOF` for a lock; its waiters follow with the
/// same number: `1: -> FLOCK ADVISORY WRITE 11 fe:00:77 0 EOF`.
fn parse(text: &str) -> Vec<Blocked> {
    let mut holders: Vec<(&str, Option<u32>)> = Vec::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let arrows = words.iter().filter(|word| **word == "->").count();
        let (Some(&number), Some(pid)) = (words.first(), words.get(4 + arrows)) else { continue };
        let pid = pid.parse::<u32>().ok().filter(|&pid| pid != 0);
        if arrows == 0 {
            holders.push((number, pid));
        } else if let Some(waiter) = pid {
            let holder = holders.iter().rev().find(|(held, _)| *held == number).and_then(|(_, pid)| *pid);
            found.push(Blocked { waiter, holder });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiters_lead_to_holders() {
        let text = "1: FLOCK  ADVISORY  WRITE 10 fe:00:77 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 11 fe:00:77 0 EOF\n\
                    2: OFDLCK ADVISORY  WRITE -1 fe:00:78 0 EOF\n2: -> POSIX  ADVISORY  READ 12 fe:00:78 0 EOF\n";
        let expected = [Blocked { waiter: 11, holder: Some(10) }, Blocked { waiter: 12, holder: None }];
        assert_eq!(parse(text), expected);
    }
}
