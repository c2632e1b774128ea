use super::{flags, head, on_plain_files, valued};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = Vec::new();
    if rng.chance(25) {
        let letters = rng.pick(&["", "", "", "c", "l", "b"]);
        let sign = rng.pick(&["-", "+"]);
        args.push(format!("{sign}{}{letters}", rng.below(9)).into_bytes());
    }
    if args.is_empty() && rng.chance(85) || rng.chance(5) {
        let count = head::count(rng, &["", "", "-", "+"]);
        let (short, long) = rng.pick(&[("-n", "--lines"), ("-n", "--lines"), ("-c", "--bytes")]);
        valued(rng, &mut args, short, long, count.as_bytes());
    }
    if rng.chance(60) {
        args.extend(flags(rng, &["-q", "-v", "-z", "--silent"], 10));
    }
    on_plain_files(rng, command, args)
}
