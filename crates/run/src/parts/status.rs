//! Computes the status of the whole command.

use pelton_commands::stateless::Statuses;
use pelton_sys::wait::Ended;

/// How a stage that ran as several processes has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// The statuses of the parts so far, in order.
pub struct Tally {
    statuses: Statuses,
    first: Option<i32>,
    found: bool,
}

impl Tally {
    /// Starts with no part.
    pub fn new(statuses: Statuses) -> Self {
        Tally { statuses, first: None, found: false }
    }

    /// Adds the end of the next part, before it had got all its lines (`early`) or after them. Returns how
    /// the command would have ended there, if so.
    pub fn add(&mut self, ended: Ended, early: bool) -> Option<End> {
        let status = match ended {
            Ended::Signalled(signal, _) => return Some(End::Signal(signal)),
            Ended::Exited(status) => status,
        };
        self.found |= status == 0;
        self.first = self.first.or(Some(status).filter(|status| *status != 0));
        match self.statuses {
            Statuses::AnyIsTheEnd if status != 0 => Some(End::Status(status)),
            Statuses::Found if status >= 2 => Some(End::Status(status)),
            _ if early => Some(self.end()),
            _ => None,
        }
    }

    /// Returns the end after all parts.
    pub fn end(&self) -> End {
        let first = self.first.unwrap_or(0);
        match self.statuses {
            Statuses::Found if self.found => End::Status(0),
            _ => End::Status(first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(statuses: Statuses, parts: &[i32]) -> (usize, End) {
        let mut tally = Tally::new(statuses);
        for (at, status) in parts.iter().enumerate() {
            if let Some(end) = tally.add(Ended::Exited(*status), false) {
                return (at + 1, end);
            }
        }
        (parts.len(), tally.end())
    }

    #[test]
    fn as_one_command() {
        assert_eq!(of(Statuses::Found, &[1, 1]), (2, End::Status(1)));
        assert_eq!(of(Statuses::Found, &[1, 0, 1]), (3, End::Status(0)));
        assert_eq!(of(Statuses::Found, &[0, 2, 1]), (2, End::Status(2)));
        assert_eq!(of(Statuses::First, &[0, 3, 4, 0]), (4, End::Status(3)));
        assert_eq!(of(Statuses::AnyIsTheEnd, &[0, 4, 0]), (2, End::Status(4)));
        assert_eq!(of(Statuses::First, &[]), (0, End::Status(0)));
    }

    #[test]
    fn whatever_ends_one_early_ends_all() {
        let mut tally = Tally::new(Statuses::First);
        assert_eq!(tally.add(Ended::Exited(0), false), None);
        assert_eq!(tally.add(Ended::Exited(0), true), Some(End::Status(0)));
        assert_eq!(Tally::new(Statuses::First).add(Ended::Exited(3), true), Some(End::Status(3)));
        assert_eq!(tally.add(Ended::Signalled(9, false), false), Some(End::Signal(9)));
    }
}
