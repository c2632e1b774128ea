use super::{flags, on_files, valued};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-b", "-s", "--spaces"], 30);
    let width = rng.pick(&[1, 2, 3, 5, 7, 8, 10, 20, 33, 80]);
    match rng.below(4) {
        0 => args.push(format!("-{width}").into_bytes()),
        1 => {}
        _ => valued(rng, &mut args, "-w", "--width", width.to_string().as_bytes()),
    }
    on_files(rng, command, args)
}
