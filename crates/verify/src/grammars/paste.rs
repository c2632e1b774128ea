use super::{flags, on_files, valued};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-s", "-z", "--serial"], 15);
    if rng.chance(40) {
        let list =
            rng.pick(&[",", "", ",;", "\\n", "\\0", "a\\tb", "\\\\", ",\\0;", "é", "\\q", "\\", "\n", ":"]);
        valued(rng, &mut args, "-d", "--delimiters", list.as_bytes());
    }
    if rng.chance(30) {
        let columns = 1 + rng.below(4);
        args.extend((0..columns).map(|_| b"-".to_vec()));
    }
    on_files(rng, command, args)
}
