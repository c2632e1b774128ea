use super::{flags, on_stdin};
use crate::Case;
use crate::Rng;
use crate::data;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(
        rng,
        &["-1", "-2", "-3", "--check-order", "--nocheck-order", "--total", "-z", "-12", "--nocheck"],
        12,
    );
    if rng.chance(15) {
        let delimiter = rng.pick(&["", ",", "=>", "\n"]);
        args.push(format!("--output-delimiter={delimiter}").into_bytes());
    }
    let (first, second) = rng.pick(&[("one", "two"), ("one", "-"), ("-", "two"), ("one", "one")]);
    args.extend([first.into(), second.into()]);
    let mut case = on_stdin(rng, command, args);
    let one = data::sorted_lines(rng);
    // Mostly related, so that lines pair up.
    let other = if rng.chance(70) { data::some_lines(rng, &one) } else { data::sorted_lines(rng) };
    case.stdin = other.clone();
    case.files = vec![("one".to_owned(), one), ("two".to_owned(), other)];
    case
}
