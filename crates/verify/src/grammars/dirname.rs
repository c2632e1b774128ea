use super::basename::path;
use super::{flags, on_stdin};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-z", "--zero", "--z", "--"], 15);
    args.extend((0..1 + rng.below(3)).map(|_| path(rng)));
    Case { stdin: Vec::new(), ..on_stdin(rng, command, args) }
}
