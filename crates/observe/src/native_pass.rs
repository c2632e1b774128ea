//! Cost and waits of each kernel of a native pass, from measured times and the operating system's exact sums.
//!
//! The worker measures the duration of its kernels' calls, reads and writes. The system knows the exact CPU
//! time of the whole process, and how long it was runnable without a CPU. So:
//!
//! ```text
//!   CPU time = kernels' calls (less their share of the time without a CPU) + the rest: reading and writing
//!   blocked  = what is left of the wall time; split by what reads and writes took beyond their CPU time
//! ```
//!
//! A pass is one thread, so while one kernel works the others wait: for input if they follow it, for room to
//! write if they precede it. As processes they would do the same, if only one could run at a time.

use pelton_record::{Cost, Waits};

/// Measurements of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Time in its calls.
    pub ns: u64,
    /// From the start of the pass to the end of its last call; 0 if it was never called.
    pub until_ns: u64,
    /// Input bytes.
    pub given: u64,
    /// Output bytes.
    pub printed: u64,
    /// CPU time of real commands that it fell back to.
    pub real_ns: u64,
}

/// Measurements of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Time in reads.
    pub read_ns: u64,
    /// Time in writes.
    pub write_ns: u64,
    /// Time runnable without a CPU; `None` if the system does not say.
    pub cpu_wait_ns: Option<u64>,
    /// Whether it read the pipe from the stage before it.
    pub reads_pipe: bool,
    /// Whether it wrote the pipe to the stage after it.
    pub writes_pipe: bool,
}

/// Returns the waits of a whole pass, and the cost and waits of each of its kernels, left to right.
pub fn divide(cost: &Cost, tallies: &[Tally], around: &Around) -> (Waits, Vec<(Cost, Waits)>) {
    let shares = Shares::new(cost, tallies, around);
    let pass = shares.pass(cost.wall_ns, around);
    let mut rows: Vec<(Cost, Waits)> = (0..tallies.len())
        .map(|row| {
            let until_ns = if tallies[row].until_ns == 0 { cost.wall_ns } else { tallies[row].until_ns };
            // The cost of starting and ending the process is distributed too, and is not part of its calls.
            let wall_ns = until_ns.max(shares.cpu(row) as u64).min(cost.wall_ns);
            (shares.cost(row, wall_ns, cost, &tallies[row]), shares.row(row, wall_ns, &pass, around))
        })
        .collect();
    settle(cost, &mut rows);
    (pass, rows)
}

/// CPU time by purpose, in nanoseconds.
struct Shares {
    /// In each kernel's calls, including real commands that replace it.
    work: Vec<f64>,
    reading: f64,
    writing: f64,
    /// Time runnable without a CPU, per unit of CPU time.
    wait_per_cpu: f64,
    /// Time of reads and writes beyond their CPU time.
    blocked_reading: f64,
    blocked_writing: f64,
}

impl Shares {
    fn new(cost: &Cost, tallies: &[Tally], around: &Around) -> Shares {
        let cpu = cost.cpu_ns() as f64;
        let cpu_wait = around.cpu_wait_ns.unwrap_or(0) as f64;
        let wait_per_cpu = if cpu > 0.0 { cpu_wait / cpu } else { 0.0 };
        let mut work: Vec<f64> = tallies
            .iter()
            .map(|tally| tally.ns as f64 / (1.0 + wait_per_cpu) + tally.real_ns as f64)
            .collect();
        let sum: f64 = work.iter().sum();
        if sum > cpu {
            // The clocks differ slightly: nothing is left for reads and writes.
            work.iter_mut().for_each(|ns| *ns *= cpu / sum);
        }
        let moving = (cpu - sum).max(0.0);
        let given = tallies.first().map_or(0, |tally| tally.given) as f64;
        let printed = tallies.last().map_or(0, |tally| tally.printed) as f64;
        // Copying in costs about as much as copying out.
        let written = if given + printed > 0.0 { printed / (given + printed) } else { 0.0 };
        let writing = (moving * written).min(around.write_ns as f64);
        let reading = moving - writing;
        Shares {
            work,
            reading,
            writing,
            wait_per_cpu,
            blocked_reading: (around.read_ns as f64 - reading * (1.0 + wait_per_cpu)).max(0.0),
            blocked_writing: (around.write_ns as f64 - writing * (1.0 + wait_per_cpu)).max(0.0),
        }
    }

    /// Returns the CPU time of a row: the first one includes reads, the last one writes.
    fn cpu(&self, row: usize) -> f64 {
        self.work[row] + self.moving(row)
    }

    fn moving(&self, row: usize) -> f64 {
        let reading = if row == 0 { self.reading } else { 0.0 };
        let writing = if row + 1 == self.work.len() { self.writing } else { 0.0 };
        reading + writing
    }

    /// Returns the time running or runnable of the kernels in `rows`.
    fn busy(&self, rows: std::ops::Range<usize>) -> f64 {
        rows.map(|row| self.cpu(row)).sum::<f64>() * (1.0 + self.wait_per_cpu)
    }

    fn pass(&self, wall_ns: u64, around: &Around) -> Waits {
        let cpu = self.busy(0..self.work.len()) / (1.0 + self.wait_per_cpu);
        let mut left = Left(wall_ns as f64);
        let running_ns = left.take(cpu);
        let cpu_wait_ns = left.take(cpu * self.wait_per_cpu);
        let starved_ns = left.take(if around.reads_pipe { self.blocked_reading } else { 0.0 });
        let backpressured_ns = left.take(if around.writes_pipe { self.blocked_writing } else { 0.0 });
        let known = running_ns + cpu_wait_ns + starved_ns + backpressured_ns;
        Waits {
            running_ns,
            cpu_wait_ns,
            starved_ns,
            backpressured_ns,
            other_ns: wall_ns.saturating_sub(known),
            ..Waits::default()
        }
    }

    fn row(&self, row: usize, wall_ns: u64, pass: &Waits, around: &Around) -> Waits {
        let last = row + 1 == self.work.len();
        let mut left = Left(wall_ns as f64);
        let running_ns = left.take(self.cpu(row));
        let cpu_wait_ns = left.take(self.cpu(row) * self.wait_per_cpu);
        // For the ends of the pass, waits outside the pipeline are their own; for the other kernels they are
        // waits for input or for room.
        let outside = if row == 0 && !around.reads_pipe { self.blocked_reading } else { 0.0 };
        let mut other_ns = left.take(outside);
        let upstream =
            self.busy(0..row) + if row > 0 || around.reads_pipe { self.blocked_reading } else { 0.0 };
        let starved_ns = left.take(upstream);
        let room = if last { pass.backpressured_ns as f64 } else { f64::MAX };
        let backpressured_ns = left.take(room);
        let known = running_ns + cpu_wait_ns + other_ns + starved_ns + backpressured_ns;
        other_ns += wall_ns.saturating_sub(known);
        Waits { running_ns, cpu_wait_ns, starved_ns, backpressured_ns, other_ns, ..Waits::default() }
    }

    fn cost(&self, row: usize, wall_ns: u64, whole: &Cost, tally: &Tally) -> Cost {
        // System time counts as moving bytes first; the rest (page faults, mostly) is distributed by work.
        let (work, moving) = (self.work.iter().sum::<f64>(), self.reading + self.writing);
        let sys = whole.sys_ns as f64;
        let sys_of_moving = sys.min(moving);
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        let sys_ns = sys_of_moving * share(self.moving(row), moving)
            + (sys - sys_of_moving) * share(self.work[row], work);
        Cost {
            wall_ns,
            user_ns: (self.cpu(row) - sys_ns).max(0.0) as u64,
            sys_ns: sys_ns as u64,
            read_bytes: Some(tally.given),
            written_bytes: Some(tally.printed),
            ..Cost::default()
        }
    }
}

/// Time that is not yet assigned.
struct Left(f64);

impl Left {
    fn take(&mut self, wanted: f64) -> u64 {
        let taken = wanted.min(self.0).max(0.0);
        self.0 -= taken;
        taken as u64
    }
}

/// Adds rounding errors to the busiest row, so that the rows sum to the pass.
fn settle(cost: &Cost, rows: &mut [(Cost, Waits)]) {
    let (user, sys) =
        rows.iter().fold((0, 0), |(user, sys), (row, _)| (user + row.user_ns, sys + row.sys_ns));
    let Some((busiest, _)) = rows.iter_mut().max_by_key(|(row, _)| row.cpu_ns()) else { return };
    busiest.user_ns = (busiest.user_ns + cost.user_ns).saturating_sub(user);
    busiest.sys_ns = (busiest.sys_ns + cost.sys_ns).saturating_sub(sys);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn cost(wall: u64, user: u64, sys: u64) -> Cost {
        Cost { wall_ns: wall * MS, user_ns: user * MS, sys_ns: sys * MS, ..Cost::zero() }
    }

    fn tally(ns: u64, until: u64, given: u64, printed: u64) -> Tally {
        Tally { ns: ns * MS, until_ns: until * MS, given, printed, real_ns: 0 }
    }

    fn parts(waits: &Waits) -> [u64; 5] {
        [waits.running_ns, waits.cpu_wait_ns, waits.starved_ns, waits.backpressured_ns, waits.other_ns]
            .map(|ns| ns / MS)
    }

    #[test]
    fn rows_add_up_to_the_pass_and_waits_to_the_wall_time() {
        let tallies = [tally(200, 500, 3000, 1000), tally(550, 1000, 1000, 10)];
        let around =
            Around { read_ns: 150 * MS, write_ns: 30 * MS, cpu_wait_ns: Some(90 * MS), ..Around::default() };
        let whole = cost(1000, 700, 120);
        let (pass, rows) = divide(&whole, &tallies, &around);
        let (user, sys) = rows.iter().fold((0, 0), |sum, (c, _)| (sum.0 + c.user_ns, sum.1 + c.sys_ns));
        assert_eq!((user, sys), (whole.user_ns, whole.sys_ns));
        let sum = |w: &Waits| w.running_ns + w.cpu_wait_ns + w.starved_ns + w.backpressured_ns + w.other_ns;
        assert_eq!(sum(&pass), whole.wall_ns);
        for (cost, waits) in &rows {
            assert_eq!(sum(waits), cost.wall_ns);
        }
    }

    #[test]
    fn while_one_works_the_others_wait_for_it() {
        // All is user time in calls: 0.2 s before the busy kernel, 0.7 s in it, 0.1 s after it.
        let tallies = [tally(200, 1000, 0, 0), tally(700, 1000, 0, 0), tally(100, 1000, 0, 0)];
        let (pass, rows) = divide(&cost(1000, 1000, 0), &tallies, &Around::default());
        assert_eq!(parts(&pass), [1000, 0, 0, 0, 0]);
        assert_eq!(parts(&rows[0].1), [200, 0, 0, 800, 0]);
        assert_eq!(parts(&rows[1].1), [700, 0, 200, 100, 0]);
        assert_eq!(parts(&rows[2].1), [100, 0, 900, 0, 0]);
    }

    #[test]
    fn a_kernel_that_is_done_waits_for_nobody() {
        // A cut that ends after 0.4 s, and a sort that continues alone.
        let tallies = [tally(300, 400, 0, 0), tally(700, 1000, 0, 0)];
        let (_, rows) = divide(&cost(1000, 1000, 0), &tallies, &Around::default());
        assert_eq!((rows[0].0.wall_ns / MS, parts(&rows[0].1)), (400, [300, 0, 0, 100, 0]));
    }

    #[test]
    fn blocked_reads_are_input_from_a_pipe_and_something_else_from_a_file() {
        let tallies = [tally(100, 1000, 0, 0), tally(50, 1000, 0, 0)];
        let around = Around { read_ns: 850 * MS, ..Around::default() };
        let (pass, rows) = divide(&cost(1000, 150, 0), &tallies, &Around { reads_pipe: true, ..around });
        assert_eq!(parts(&pass), [150, 0, 850, 0, 0]);
        assert_eq!(parts(&rows[0].1), [100, 0, 850, 50, 0]);
        let (pass, rows) = divide(&cost(1000, 150, 0), &tallies, &around);
        assert_eq!(parts(&pass), [150, 0, 0, 0, 850]);
        assert_eq!((parts(&rows[0].1), parts(&rows[1].1)), ([100, 0, 0, 50, 850], [50, 0, 950, 0, 0]));
    }

    #[test]
    fn blocked_writes_are_room() {
        let tallies = [tally(100, 1000, 1000, 1000)];
        let around = Around { write_ns: 800 * MS, writes_pipe: true, ..Around::default() };
        let (pass, rows) = divide(&cost(1000, 100, 100), &tallies, &around);
        assert_eq!(parts(&pass), [200, 0, 0, 750, 50]);
        assert_eq!(rows[0].1, pass);
    }

    #[test]
    fn moving_bytes_is_system_time_of_the_ends() {
        let tallies = [tally(100, 1000, 3000, 1), tally(100, 1000, 1, 1000)];
        let around = Around { read_ns: 75 * MS, write_ns: 25 * MS, ..Around::default() };
        let (_, rows) = divide(&cost(300, 200, 100), &tallies, &around);
        assert_eq!(rows.iter().map(|(cost, _)| cost.sys_ns / MS).collect::<Vec<_>>(), [75, 25]);
        assert_eq!(rows.iter().map(|(cost, _)| cost.user_ns / MS).collect::<Vec<_>>(), [100, 100]);
    }

    #[test]
    fn a_real_command_in_its_place_counts_for_its_row() {
        let tallies = [tally(10, 1000, 0, 0), Tally { real_ns: 500 * MS, ..tally(40, 1000, 0, 0) }];
        let (_, rows) = divide(&cost(1000, 550, 0), &tallies, &Around::default());
        assert_eq!(rows.iter().map(|(cost, _)| cost.user_ns / MS).collect::<Vec<_>>(), [10, 540]);
    }

    #[test]
    fn nothing_measured_is_no_division_by_zero() {
        let (pass, rows) = divide(&cost(0, 0, 0), &[Tally::default(), Tally::default()], &Around::default());
        assert_eq!((parts(&pass), rows.len()), ([0; 5], 2));
    }
}
