use super::{flags, on_stdin, valued};
use crate::Case;
use crate::Rng;

fn number(rng: &mut Rng) -> String {
    match rng.below(12) {
        0 => "-0".to_owned(),
        1 => "007".to_owned(),
        2 => "1.5".to_owned(),
        3..6 => format!("-{}", rng.below(30)),
        _ => rng.below(120).to_string(),
    }
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-w", "--equal"], 20);
    if rng.chance(25) {
        let separator = rng.pick(&[",", "", " ", "\t", "--", "-5"]);
        valued(rng, &mut args, "-s", "--separator", separator.as_bytes());
    }
    let first = number(rng);
    match rng.below(4) {
        3 => {}
        0 => args.push(first.into_bytes()),
        1 => args.extend([first.into_bytes(), number(rng).into_bytes()]),
        _ => {
            let step = rng.pick(&["1", "2", "3", "-1", "-7", "10", "1000"]);
            args.extend([first.into_bytes(), step.into(), number(rng).into_bytes()]);
        }
    }
    if rng.chance(5) {
        // Beyond a million, and beyond what fits a block.
        args.extend(rng.pick(&[["999985", "1000020"], ["1", "40000"], ["-20000", "20000"]]).map(Vec::from));
    }
    let mut case = on_stdin(rng, command, args);
    case.stdin.clear();
    case
}
