//! The statuses that a worker reports through a pipe.

use pelton_record::Cost;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

/// A stage and its status.
pub type Told = (usize, i32);

/// The size of one status report: two numbers.
const TOLD_BYTES: usize = 8;

/// Returns the statuses that a worker reported, by stage; later ones count.
pub fn told(statuses: OwnedFd) -> Vec<Told> {
    let mut bytes = Vec::new();
    // On a read error statuses are missing, and the caller has a default.
    let _ = File::from(statuses).read_to_end(&mut bytes);
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, i32::from_ne_bytes);
    bytes
        .chunks_exact(TOLD_BYTES)
        .map(|message| (number(&message[..4]) as usize, number(&message[4..])))
        .collect()
}

/// Returns the status for pipefail: that of the last stage that failed.
pub(super) fn failed(told: &[Told]) -> Option<i32> {
    let by_stage: BTreeMap<usize, i32> = told.iter().copied().collect();
    by_stage.into_values().rev().find(|status| *status != 0)
}

/// Subtracts the status reports from the output of a worker.
pub fn forget_telling(told: &[Told], cost: &mut Cost) {
    let less =
        |count: &mut Option<u64>, by: usize| *count = count.map(|count| count.saturating_sub(by as u64));
    less(&mut cost.written_bytes, told.len() * TOLD_BYTES);
    less(&mut cost.write_calls, told.len());
}
