use super::{flags, on_files, valued};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-i", "--initial"], 15);
    if rng.chance(60) {
        let list = rng.pick(&["1", "2", "4", "8", "3,7", "1,2,3", "4 9 20", "16", "5,", "/4", "3,+2", "2,2"]);
        valued(rng, &mut args, "-t", "--tabs", list.as_bytes());
    }
    on_files(rng, command, args)
}
