use super::{flags, on_files};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let percent = rng.pick(&[0, 20, 40]);
    let args = flags(rng, &["-c", "-m", "-l", "-w", "-L", "--max", "--words"], percent);
    on_files(rng, command, args)
}
