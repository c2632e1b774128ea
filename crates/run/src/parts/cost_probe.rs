//! Decides whether splitting a command pays, before any of its input is consumed.
//!
//! The content of a pipe can be inspected without consuming it (tee(2)), and so can a file. The command is
//! started with an empty input, and its CPU time when it blocks on read is its start cost. Then it gets the
//! first lines, which shows their cost. If they cost little, or it prints an error, or anything is unusual,
//! the real command takes over the untouched input, at the price of one start. If they cost much, they are
//! consumed, and the output of the trial is the output of the first part.
//!
//! The road not taken: letting one process read through pelton until it has been measured. That copy would
//! then stay, and it costs most for cheap commands, which must not lose anything.
//!
//! A command that the user declared may have side effects, so it runs once: its cost shows while it works.

use super::part_process::PartProcess;
use super::part_size::{Cost, PartSize};
use super::settings;
use super::source::Source;
use crate::native::elastic::Elastic;
use memchr::{memchr, memrchr};
use pelton_commands::stateless::{Data, Stateless, Statuses};
use pelton_sys::cpu_waits::ThreadFile;
use pelton_sys::spawn::Exec;
use pelton_sys::wait::Ended;
use std::time::Duration;

/// The decision.
pub enum Verdict {
    /// The real command reads its input, of which nothing was consumed.
    Real,
    /// Parts of this length.
    Parts {
        /// Their length.
        grain: PartSize,
        /// The first part, if it is done already.
        first: Option<Box<PartProcess>>,
    },
}

/// Size of the sample.
const SAMPLE_BYTES: usize = 64 * 1024;

/// Tries the command on the first part of its input.
pub fn judge(exec: &Exec, stateless: &Stateless, source: &mut Source) -> Verdict {
    if let Some(bytes) = settings::part_bytes() {
        if !source.may_be_divided(stateless.data) {
            return Verdict::Real;
        }
        return Verdict::Parts { grain: PartSize::Forced(bytes), first: None };
    }
    let Some(sample) = source.first_bytes(SAMPLE_BYTES) else { return Verdict::Real };
    if !stateless.only_prints {
        return Verdict::Parts { grain: PartSize::Unknown, first: None };
    }
    let lines = memrchr(b'\n', &sample).map_or(0, |at| at + 1);
    if lines < SAMPLE_BYTES / 4 || !is_fit(&sample[..lines], stateless.data) {
        return Verdict::Real;
    }
    let elastic = Elastic::new();
    let crowded = elastic.is_crowded();
    let Some((cost, member)) = try_on(exec, stateless, &sample[..lines]) else { return Verdict::Real };
    match PartSize::of(&cost, crowded && elastic.is_crowded()) {
        PartSize::Bytes(bytes) if source.may_be_divided(stateless.data) && source.skip(lines).is_ok() => {
            Verdict::Parts { grain: PartSize::Bytes(bytes), first: Some(Box::new(member)) }
        }
        _ => Verdict::Real,
    }
}

/// Whether lines are independent in these bytes.
pub fn is_fit(bytes: &[u8], data: Data) -> bool {
    match data {
        Data::Bytes => true,
        Data::Json => memchr(0, bytes).is_none() && memchr::memmem::find(bytes, b"\xEF\xBB\xBF").is_none(),
        Data::Text { utf8 } => memchr(0, bytes).is_none() && (!utf8 || std::str::from_utf8(bytes).is_ok()),
    }
}

/// Runs the command on these lines alone. Returns its cost, or `None` if it did not behave as expected.
fn try_on(exec: &Exec, stateless: &Stateless, lines: &[u8]) -> Option<(Cost, PartProcess)> {
    let mut member = PartProcess::start(exec).ok()?;
    let start_ns = start_ns(&mut member)?;
    if stateless.errors.name_the_line() {
        member.keep();
    }
    member.give(lines);
    member.close();
    while !member.is_done() {
        member.push();
        if !member.pull() && !member.is_done() {
            if member.is_full() {
                return None;
            }
            member.wait();
        }
    }
    let (ended, usage) = member.ended?;
    let fine =
        ended == Ended::Exited(0) || ended == Ended::Exited(1) && stateless.statuses == Statuses::Found;
    let all_ns = (usage.user_ns + usage.sys_ns) as f64;
    let cost = Cost { start_ns, ns_per_byte: (all_ns - start_ns).max(0.0) / lines.len() as f64 };
    (fine && member.err.bytes.is_empty() && !member.left_early()).then_some((cost, member))
}

/// How often to check whether it waits.
const LOOK: Duration = Duration::from_micros(200);

/// Returns the CPU time when it blocks on its first read. `None` if it ends or prints before that.
fn start_ns(member: &mut PartProcess) -> Option<f64> {
    let accounts = ThreadFile::of_process(member.pid())?;
    let mut before = None;
    loop {
        let (ran_ns, _) = accounts.read()?;
        // Twice in a row: it may have waited for a disk in between.
        if !accounts.is_ready() && before.replace(ran_ns) == Some(ran_ns) {
            return Some(ran_ns as f64);
        }
        std::thread::sleep(LOOK);
        member.pull();
        if member.is_done() || !member.out.bytes.is_empty() || !member.err.bytes.is_empty() {
            return None;
        }
    }
}
