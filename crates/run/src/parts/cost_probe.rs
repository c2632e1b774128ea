//! Whether dividing a command pays, found out before anything of its input is taken.
//!
//! What lies in a pipe can be looked at where it lies (tee(2)), and so can a file. The command is started with nothing to
//! read, and what it has cost when it waits for that is what its start costs; then it is given those first lines, which shows what they
//! cost. If they cost little, or it complains, or anything is odd, the real command takes over the untouched input, and pays for that
//! with one start. If they cost much, they are taken, and what the trial printed is what the first part prints.
//!
//! The road not taken: letting one process read through pelton until it has been measured. That hop then stays for good,
//! and cheap commands, which must not lose anything, are those to which it costs most.
//!
//! A command that the user declared may do more than print, so it runs once: what it costs shows while it works.

use super::part_process::PartProcess;
use super::part_size::{Cost, PartSize};
use super::settings;
use super::source::Source;
use crate::native::elastic::Elastic;
use memchr::{memchr, memrchr};
use pelton_commands::stateless::{Data, Stateless, Statuses};
use pelton_sys::sched::ThreadFile;
use pelton_sys::spawn::Exec;
use pelton_sys::wait::Ended;
use std::time::Duration;

/// What came of it.
pub enum Verdict {
    /// The real command reads its input, of which nothing was taken.
    Real,
    /// Parts of this length.
    Parts {
        /// How long.
        grain: PartSize,
        /// The first part, which is done already.
        first: Option<Box<PartProcess>>,
    },
}

/// What is looked at.
const SAMPLE_BYTES: usize = 64 * 1024;

/// Tries the command on the first of its input.
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

/// Whether lines are by themselves in such data.
pub fn is_fit(bytes: &[u8], data: Data) -> bool {
    match data {
        Data::Bytes => true,
        Data::Json => memchr(0, bytes).is_none() && memchr::memmem::find(bytes, b"\xEF\xBB\xBF").is_none(),
        Data::Text { utf8 } => memchr(0, bytes).is_none() && (!utf8 || std::str::from_utf8(bytes).is_ok()),
    }
}

/// Runs it on these lines alone: what it cost. `None` if it did not do as it should.
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

/// How often is looked whether it waits.
const LOOK: Duration = Duration::from_micros(200);

/// What it has cost when it waits for something to read. `None` if it ends, or prints, before it has read anything.
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
