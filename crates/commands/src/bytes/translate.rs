//! The kernel for byte maps: `tr`, and compositions that the planner makes.
//!
//! Most maps shift a few runs of neighbouring bytes by a constant (`A-Z` to `a-z`), which the compiler turns
//! into vector arithmetic; others use a table. Deletion uses vector instructions if the machine has them.
//! Otherwise it compacts byte by byte, but only where there is something to delete.

use std::ops::Range;

use pelton_simd::compact::{self, Run};
use pelton_stream::{Flow, Framing, IoControl, Kernel, Outcome, Parallel, Peer};

use crate::{ByteMap, ByteSet};

/// The most runs that are cheaper than a table: measured, a table does about one byte per cycle.
const RUNS_MAX: usize = 4;

/// How to apply a map where nothing is deleted.
#[derive(Clone, Debug)]
enum Mapper {
    Identity,
    Runs([Run; RUNS_MAX], usize),
    Table,
}

/// Applies a [`ByteMap`].
#[derive(Clone, Debug)]
pub struct ByteMapKernel {
    table: [u8; 256],
    /// 1 to keep, 0 to delete.
    keep: [u8; 256],
    mapper: Mapper,
    deletes: Option<Members>,
    /// The shifted and the deleted runs, if bytes are deleted and both are few.
    few_runs: Option<(Vec<Run>, Vec<Run>)>,
}

impl ByteMapKernel {
    /// Makes the kernel for this map.
    pub fn new(map: &ByteMap) -> Self {
        ByteMapKernel {
            table: map.to,
            keep: std::array::from_fn(|byte| u8::from(!map.deleted.contains(byte as u8))),
            mapper: mapper(map),
            deletes: (!map.deleted.is_empty()).then(|| Members::new(&map.deleted)),
            few_runs: few_runs(map),
        }
    }

    /// Maps a stretch without deletions.
    #[inline]
    pub(crate) fn map_all(&self, bytes: &[u8], out: &mut Vec<u8>) {
        match &self.mapper {
            Mapper::Identity => out.extend_from_slice(bytes),
            Mapper::Runs([a, ..], 1) => out.extend(bytes.iter().map(|&byte| shifted(&[*a], byte))),
            Mapper::Runs([a, b, ..], 2) => out.extend(bytes.iter().map(|&byte| shifted(&[*a, *b], byte))),
            Mapper::Runs(runs, _) => out.extend(bytes.iter().map(|&byte| shifted(runs, byte))),
            Mapper::Table => out.extend(bytes.iter().map(|&byte| self.table[usize::from(byte)])),
        }
    }

    /// Maps and deletes, stretch by stretch.
    fn compact(&self, members: &Members, block: &[u8], out: &mut Vec<u8>) {
        if let Some((moves, drops)) = &self.few_runs {
            let start = out.len();
            out.resize(start + block.len() + compact::ROOM, 0);
            let length = compact::move_and_drop(block, moves, drops, &mut out[start..]);
            out.truncate(start + length.unwrap_or(0));
            if length.is_some() {
                return;
            }
        }
        members.stretches(block, |stretch, any| {
            if any {
                self.compact_all(stretch, out);
            } else {
                self.map_all(stretch, out);
            }
        });
    }

    /// Writes every byte and advances only if it is kept: no branch to mispredict.
    fn compact_all(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + bytes.len(), 0);
        let mut end = start;
        for &byte in bytes {
            out[end] = self.table[usize::from(byte)];
            end += usize::from(self.keep[usize::from(byte)]);
        }
        out.truncate(end);
    }

    /// Does the work of [`Kernel::push`].
    pub(crate) fn apply(&self, block: &[u8], out: &mut Vec<u8>) {
        match &self.deletes {
            None => self.map_all(block, out),
            Some(members) => self.compact(members, block, out),
        }
    }
}

impl Kernel for ByteMapKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.apply(block, out);
        Ok(Flow::More)
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl IoControl for ByteMapKernel {
    fn pass_on(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Option<Range<usize>> {
        let same = matches!(self.mapper, Mapper::Identity) && self.deletes.is_none();
        same.then_some(0..block.len())
    }
}

impl Parallel for ByteMapKernel {
    fn fork(&mut self) -> Option<Peer> {
        Some(Peer::of_blocks(self.clone()))
    }

    fn keeps_records_whole(&mut self, end: u8) -> bool {
        self.table[usize::from(end)] == end && self.keep[usize::from(end)] == 1
    }
}

#[inline(always)]
fn shifted<const N: usize>(runs: &[Run; N], byte: u8) -> u8 {
    runs.iter().fold(byte, |result, run| {
        let inside = byte.wrapping_sub(run.low) <= run.span;
        result.wrapping_add(if inside { run.shift } else { 0 })
    })
}

/// Returns the runs of shifted bytes.
fn moves(map: &ByteMap) -> Vec<Run> {
    runs(|byte| {
        let shift = map.to[usize::from(byte)].wrapping_sub(byte);
        (shift != 0 && !map.deleted.contains(byte)).then_some(shift)
    })
}

/// More runs cost more than a table and byte-by-byte deletion.
const VECTOR_RUNS_MAX: usize = 12;

fn few_runs(map: &ByteMap) -> Option<(Vec<Run>, Vec<Run>)> {
    let (moves, drops) = (moves(map), runs(|byte| map.deleted.contains(byte).then_some(0)));
    (!drops.is_empty() && moves.len() + drops.len() <= VECTOR_RUNS_MAX).then_some((moves, drops))
}

fn mapper(map: &ByteMap) -> Mapper {
    let runs = moves(map);
    // An unused run shifts by zero.
    let mut few = [Run { low: 0, span: 0, shift: 0 }; RUNS_MAX];
    match runs.len() {
        0 => Mapper::Identity,
        count @ 1..=RUNS_MAX => {
            few[..count].copy_from_slice(&runs);
            Mapper::Runs(few, count)
        }
        _ => Mapper::Table,
    }
}

/// Returns the maximal runs of bytes with the same shift.
fn runs(shift_of: impl Fn(u8) -> Option<u8>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for byte in 0..=255u8 {
        let Some(shift) = shift_of(byte) else { continue };
        match runs.last_mut() {
            Some(run) if run.shift == shift && run.low.wrapping_add(run.span) == byte.wrapping_sub(1) => {
                run.span += 1;
            }
            _ => runs.push(Run { low: byte, span: 0, shift }),
        }
    }
    runs
}

/// Bytes tested at once.
pub(crate) const STRETCH: usize = 64;

/// Tests quickly whether a stretch holds a member of a set.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    runs: [Run; RUNS_MAX],
    /// Whether every stretch counts as a hit: more runs than fit, or members so common that the test costs
    /// more than it saves.
    always: bool,
}

impl Members {
    /// Prepares the test for this set.
    pub(crate) fn new(set: &ByteSet) -> Self {
        let found = runs(|byte| set.contains(byte).then_some(1));
        let mut members = Members {
            runs: [Run { low: 0, span: 0, shift: 0 }; RUNS_MAX],
            always: found.is_empty() || found.len() > RUNS_MAX,
        };
        for (slot, run) in members.runs.iter_mut().zip(found.iter().cycle()) {
            *slot = *run;
        }
        members
    }

    /// Calls `visit(stretch, any)` for consecutive stretches of `block`.
    #[inline(always)]
    pub(crate) fn stretches(&self, block: &[u8], mut visit: impl FnMut(&[u8], bool)) {
        if self.always {
            return visit(block, true);
        }
        let (stretches, rest) = block.as_chunks::<STRETCH>();
        for stretch in stretches {
            visit(stretch, self.any(stretch));
        }
        if !rest.is_empty() {
            visit(rest, rest.iter().any(|&byte| self.hit(byte)));
        }
    }

    /// Whether this byte is a member.
    #[inline(always)]
    fn hit(&self, byte: u8) -> bool {
        self.runs.iter().fold(false, |hit, run| hit | (byte.wrapping_sub(run.low) <= run.span))
    }

    /// Whether two members are adjacent; always true if `always` is set.
    #[inline(always)]
    pub(crate) fn neighbours(&self, stretch: &[u8; STRETCH]) -> bool {
        let hits = stretch.map(|byte| u8::from(self.hit(byte)));
        self.always || hits.iter().zip(&hits[1..]).fold(0, |any, (one, next)| any | one & next) != 0
    }

    #[inline(always)]
    fn any(&self, stretch: &[u8; STRETCH]) -> bool {
        stretch.iter().fold(0, |any, &byte| any | u8::from(self.hit(byte))) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every strategy with the definition, byte by byte.
    #[test]
    fn strategies_agree_with_the_table() {
        let data: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let shift = |low: u8, high: u8, by: u8, map: &mut ByteMap| {
            (low..=high).for_each(|byte| map.to[usize::from(byte)] = byte.wrapping_add(by));
        };
        let mut map = ByteMap::identity();
        for step in 0..6u8 {
            for deleted in [&b""[..], b"\n", b"0123456789", b"acegikmoq"] {
                map.deleted = deleted.iter().copied().collect();
                let expected: Vec<u8> = data
                    .iter()
                    .filter(|byte| !map.deleted.contains(**byte))
                    .map(|byte| map.to[usize::from(*byte)])
                    .collect();
                let mut out = b"before".to_vec();
                ByteMapKernel::new(&map).apply(&data, &mut out);
                assert_eq!(out[6..], expected);
            }
            shift(40 * step, 40 * step + 3 + step, 7 + step, &mut map);
        }
    }
}
