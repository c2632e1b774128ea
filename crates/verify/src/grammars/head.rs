use super::{flags, on_plain_files, valued};
use crate::Case;
use crate::Rng;

pub fn count(rng: &mut Rng, signs: &[&str]) -> String {
    let sign = rng.pick(signs);
    let number = match rng.below(10) {
        0 => rng.below(3000),
        1 => rng.below(300_000),
        2 => rng.below(100),
        _ => rng.below(8),
    };
    let suffix = rng.pick(&["", "", "", "", "", "", "", "K", "b", "kB", "M", "KiB"]);
    format!("{sign}{number}{suffix}")
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = Vec::new();
    if rng.chance(20) {
        let letters = rng.pick(&["", "", "", "c", "q", "v", "z", "cv", "l"]);
        args.push(format!("-{}{letters}", rng.below(9)).into_bytes());
    }
    if rng.chance(70) {
        let count = count(rng, &["", "", "-"]);
        let (short, long) = rng.pick(&[("-n", "--lines"), ("-n", "--lines"), ("-c", "--bytes")]);
        valued(rng, &mut args, short, long, count.as_bytes());
    }
    args.extend(flags(rng, &["-q", "-v", "-z", "--silent"], 10));
    on_plain_files(rng, command, args)
}
