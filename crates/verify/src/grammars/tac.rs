use super::{flags, on_files, valued};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-b", "--before"], 15);
    if rng.chance(30) {
        let separator = rng.pick(&[" ", "a", ",", "", "\t", "b", ":"]);
        valued(rng, &mut args, "-s", "--separator", separator.as_bytes());
    }
    on_files(rng, command, args)
}
