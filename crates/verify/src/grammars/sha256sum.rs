use super::{flags, on_files};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let options = [
        "-b", "--binary", "-t", "--text", "--tag", "-z", "--zero", "-bz", "--t", "-c", "--status", "-tb",
        "--",
    ];
    let args = flags(rng, &options, 9);
    let mut case = on_files(rng, command, args);
    // Lengths around the blocks that are summed up at once.
    if rng.chance(30) {
        case.stdin.resize(rng.below(200) as usize, b'x');
    }
    case
}
