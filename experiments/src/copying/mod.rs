//! Experiments with copying and system calls.

mod c1_calls;
mod c2_usage;
mod c3_ways;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use super::Experiment;
use super::finding::Finding;
use super::lab::Lab;
use super::programs;
use workbench::Outcome;
use workbench::inputs::Rng;

/// All experiments of this group, in order.
pub const ALL: &[&Experiment] = &[&c1_calls::EXPERIMENT, &c2_usage::EXPERIMENT, &c3_ways::EXPERIMENT];

/// The size of the character loop's reads and writes.
const BUFFER: u64 = 32_768;

/// Makes `big`, a file of 100 MiB that does not compress; 4 MiB in the quick form. Returns its size.
fn big(lab: &Lab) -> Outcome<u64> {
    let size: u64 = lab.size(100, 4) << 20;
    let mut rng = Rng::new(1);
    let mut file = File::create(lab.path("big"))?;
    for _ in 0..size >> 20 {
        let block: Vec<u8> = (0..1 << 17).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        file.write_all(&block)?;
    }
    Ok(size)
}

/// Compiles the C programs: the character loop, and one with both mapping variants.
fn copiers(lab: &Lab, finding: &mut Finding) -> Outcome<Option<[PathBuf; 2]>> {
    let characters = programs::c(lab, "experiments/copying/characters.c")?;
    let mapped = programs::c(lab, "experiments/copying/mapped.c")?;
    if characters.is_none() {
        finding.lacks("a C compiler");
    }
    Ok(characters.zip(mapped).map(|(characters, mapped)| [characters, mapped]))
}
