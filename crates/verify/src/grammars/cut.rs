use super::{flags, on_files, valued};
use crate::Case;
use crate::Rng;

fn list(rng: &mut Rng) -> Vec<u8> {
    let count = 1 + rng.below(3);
    let mut items: Vec<String> = Vec::new();
    for _ in 0..count {
        let most = rng.pick(&[6, 6, 6, 6, 70]);
        let low = 1 + rng.below(most);
        let high = low + rng.below(5);
        items.push(match rng.below(5) {
            0 => format!("{low}-"),
            1 => format!("-{high}"),
            2 => format!("{low}-{high}"),
            _ => low.to_string(),
        });
    }
    items.join(if rng.chance(5) { " " } else { "," }).into_bytes()
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["--complement", "-z", "--comp"], 12);
    let list = list(rng);
    if rng.chance(70) {
        valued(rng, &mut args, "-f", "--fields", &list);
        if rng.chance(75) {
            let delimiter = rng.pick(&[&b","[..], b" ", b":", b"\t", b"a", b"|", b"", b"\xff", b"b", b"0"]);
            valued(rng, &mut args, "-d", "--delimiter", delimiter);
        }
        args.extend(flags(rng, &["-s", "--only"], 15));
    } else {
        let (short, long) = rng.pick(&[("-b", "--bytes"), ("-c", "--characters")]);
        valued(rng, &mut args, short, long, &list);
        args.extend(flags(rng, &["-n"], 5));
    }
    if rng.chance(30) {
        let delimiter = rng.pick(&[&b","[..], b"", b"--", b"\n", b"=>", "é".as_bytes()]);
        args.push([b"--output-delimiter=", delimiter].concat());
    }
    on_files(rng, command, args)
}
