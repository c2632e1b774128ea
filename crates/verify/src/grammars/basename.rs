use super::{flags, on_stdin, valued};
use crate::Case;
use crate::Rng;

const PIECES: &[&str] =
    &["a", "b", "c", "/", "/", "/", "//", ".", "..", ".c", "-", "é", "\n", " ", "'", ".tar.gz", "日"];

/// A path, often with slashes in a row or at an end.
pub fn path(rng: &mut Rng) -> Vec<u8> {
    let mut path = Vec::new();
    for _ in 0..rng.below(7) {
        if rng.chance(3) {
            path.push(1 + rng.below(255) as u8);
        } else {
            path.extend_from_slice(rng.pick(PIECES).as_bytes());
        }
    }
    path
}

/// A suffix, mostly one that a path has.
fn suffix(rng: &mut Rng, paths: &[Vec<u8>]) -> Vec<u8> {
    let path = &paths[rng.below(paths.len() as u64) as usize];
    if rng.chance(20) {
        return rng.pick(&[".c", "", "/", "a", "-", ".tar.gz", "b/"]).into();
    }
    path[rng.below(path.len() as u64 + 1) as usize..].to_vec()
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-a", "--multiple", "-z", "--zero", "--mul", "-az"], 12);
    let paths: Vec<Vec<u8>> = (0..1 + rng.below(3)).map(|_| path(rng)).collect();
    if rng.chance(25) {
        let suffix = suffix(rng, &paths);
        valued(rng, &mut args, "-s", "--suffix", &suffix);
    }
    if rng.chance(30) {
        args.push(b"--".to_vec());
    }
    if rng.chance(40) {
        args.extend([paths[0].clone(), suffix(rng, &paths)]);
    } else {
        args.extend(paths);
    }
    Case { stdin: Vec::new(), ..on_stdin(rng, command, args) }
}
