use super::{flags, on_stdin};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let args = flags(rng, &["-a", "--append"], 20);
    on_stdin(rng, command, args)
}
