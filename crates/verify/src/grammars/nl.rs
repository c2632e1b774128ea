use super::{flags, on_files, valued};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-p", "-ba", "-hn", "-fa"], 15);
    for (short, long, values) in [
        ("-b", "--body-numbering", &["a", "t", "n"][..]),
        ("-h", "--header-numbering", &["a", "t", "n"]),
        ("-f", "--footer-numbering", &["a", "t", "n"]),
        ("-v", "--starting-line-number", &["0", "-3", "7", "99998", "-1"]),
        ("-i", "--line-increment", &["0", "-1", "5", "100"]),
        ("-l", "--join-blank-lines", &["1", "2", "3"]),
        ("-s", "--number-separator", &["", ":", "--", "\n", "é"]),
        ("-w", "--number-width", &["1", "2", "3", "10"]),
        ("-n", "--number-format", &["ln", "rn", "rz"]),
        ("-d", "--section-delimiter", &["a", "ab", ",,", "é"]),
    ] {
        if rng.chance(18) {
            let value = rng.pick(values);
            valued(rng, &mut args, short, long, value.as_bytes());
        }
    }
    let mut case = on_files(rng, command, args);
    if rng.chance(50) {
        let unit = rng.pick(&["\\:", "a:", "ab", ",,"]).repeat(1 + rng.below(4) as usize);
        let at = rng.below(case.stdin.len() as u64 + 1) as usize;
        case.stdin.splice(at..at, format!("\n{unit}\nx\n\n\n\ny\n").into_bytes());
    }
    case
}
