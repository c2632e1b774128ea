use super::on_stdin;
use crate::Case;
use crate::Rng;

const PIECES: &[&[u8]] = &[
    b"a",
    b"b",
    b"foo",
    b"-n",
    b"-e",
    b"-E",
    b"-ne",
    b"-nx",
    b"-",
    b"--",
    b"--help",
    b"--version",
    b"'",
    b"\"",
    b"''",
    b"\"\"",
    b"'a b'",
    b"\"x\ty\"",
    b"'\"'",
    b"\\",
    b"\\\\",
    b"\\ ",
    b"\\\n",
    b"\\'",
    b"\\t",
    b"_",
    b"{}",
    b"\0",
    b"\x0b",
    b"\x0c",
    b"\r",
    b"\xff",
    b"\xa0",
    "é".as_bytes(),
    "\u{a0}".as_bytes(),
    b",",
    b"1",
    b"\\n",
    b"a",
    b"b",
    b"foo",
    b"12345678",
];
const GAPS: &[&[u8]] =
    &[b" ", b"\n", b"\t", b"  ", b" \n", b"\n\n", b"\n ", b"", b"\\ \n", b" \x0b", b"\n", b" "];

/// Text full of what xargs reads in its own way.
fn text(rng: &mut Rng, large: bool) -> Vec<u8> {
    let mut text = Vec::new();
    // Mostly without what hands over.
    let tame = rng.chance(70);
    let pieces = match rng.below(30) {
        0 => 0,
        1 if large => 2000,
        _ => 1 + rng.below(14),
    };
    for _ in 0..pieces {
        let piece = rng.pick(PIECES);
        let hostile = piece.contains(&0) || matches!(piece, b"'" | b"\"" | b"--help" | b"--version");
        if !(tame && hostile) {
            text.extend_from_slice(piece);
        }
        text.extend_from_slice(rng.pick(GAPS));
    }
    if rng.chance(30) {
        let _ = text.pop();
    }
    match if large { rng.below(80) } else { 1 + rng.below(250) } {
        // Lists and items about as long as they can be.
        0 => text.extend(b"x y\n".repeat(40_000)),
        1 => text.extend(vec![b'z'; 131_000 + rng.below(100) as usize]),
        2 if large => text.extend([b"ab ".repeat(43_660), vec![b'z'; rng.below(200) as usize]].concat()),
        3 if large => {
            text.extend([b"12345678901 ".repeat(10_920), b" c".repeat(rng.below(40) as usize)].concat())
        }
        _ => {}
    }
    text
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args: Vec<Vec<u8>> = Vec::new();
    match rng.below(6) {
        0 => args.push(b"-0".to_vec()),
        1 => {
            let value = rng.pick(&[",", "\\n", "\\0", " ", "a", "\\t", "'"]);
            args.push(format!("-d{value}").into_bytes());
        }
        _ => {}
    }
    let replaces = match rng.below(8) {
        0..3 => {
            args.push(format!("-n{}", 1 + rng.below(4)).into_bytes());
            false
        }
        3 => {
            args.extend([b"-L".to_vec(), rng.pick(&["1", "2", "3"]).into()]);
            false
        }
        4 => {
            args.push(rng.pick(&["-I{}", "-Ia", "-I{"]).into());
            true
        }
        _ => false,
    };
    for flag in ["-r", "-x", "-P1"] {
        if rng.chance(12) {
            args.push(flag.into());
        }
    }
    if rng.chance(15) {
        args.push(format!("-s{}", rng.pick(&[70, 75, 80, 100, 200, 1000, 4096, 131_072])).into_bytes());
    }
    if replaces || rng.chance(30) {
        args.push(b"echo".to_vec());
        for _ in 0..rng.below(4) {
            args.push(rng.pick(&["-n", "x", "-e", "<{}>", "{}{}", "", "-", "\\t", "{} a", "--"]).into());
        }
    }
    // A process for each of many items takes long.
    let few = args.iter().all(|arg| !matches!(arg[..], [b'-', b'n' | b'L' | b'I' | b's', ..]));
    let data = if rng.chance(85) { text(rng, few) } else { crate::data::any(rng) };
    Case { stdin: data, ..on_stdin(rng, command, args) }
}
