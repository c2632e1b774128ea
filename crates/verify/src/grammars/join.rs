use super::{flags, valued};
use crate::Case;
use crate::Rng;
use crate::data;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-z", "--check-order", "--nocheck-order", "-a1", "-a2", "-v1", "-v2"], 12);
    for (short, values) in [
        ("-1", &["1", "2", "3"][..]),
        ("-2", &["1", "2", "3"]),
        ("-j", &["2", "1", "3", "4"]),
        ("-e", &["", "EMPTY", "é"]),
        ("-o", &["0", "1.1,2.1", "0,1.2,2.2", "2.3 1.1", "1.9,0"]),
        ("-t", &[",", " ", "\t", ":", "a"]),
    ] {
        if rng.chance(20) {
            let value = rng.pick(values);
            valued(rng, &mut args, short, "", value.as_bytes());
        }
    }
    let (first, second) = rng.pick(&[("one", "two"), ("one", "-"), ("-", "two"), ("one", "one")]);
    args.extend([first.into(), second.into()]);
    let one = data::sorted_lines(rng);
    let other = if rng.chance(70) { data::some_lines(rng, &one) } else { data::sorted_lines(rng) };
    Case {
        command: command.to_owned(),
        args,
        stdin: other.clone(),
        files: vec![("one".to_owned(), one), ("two".to_owned(), other)],
        piped: false,
        utf8: rng.chance(50),
    }
}
