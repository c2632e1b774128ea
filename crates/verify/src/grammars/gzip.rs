//! Members of gzip files, sound and damaged.

use super::on_stdin;
use crate::Case;
use crate::Rng;

/// One line, in a block of fixed codes.
const SHORT: &[u8] = b"\
    \x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcbH\xcd\xc9\xc9\xe7\x02\x00 0:6\x06\x00\x00\x00";

/// Nothing.
const EMPTY: &[u8] = b"\
    \x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00";

/// Words, in a block of dynamic codes.
const TEXT: &[u8] = b"\
    \x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03mRA\x12\xc3 \x08\xbc\xfb\x0a\xbff\xa6L\xd3\x19\xd3f\xa69\xf9\xfaV\
    Wd\x0d\x1e\xa2\x04\x16XV\xe4\xfc\xbe\xf2\xe7\x1dS>\xf7\x14\x1f\x92\xaf\x14\x9f\xe98R\xbcv\xf9\xdb\xf5k\
    \xde0\x05\xab{\xab\x07P\xc8\xf65\xa4W\x87\x8f\xcf\x9aUd\x00\x8bU\xa9f\x80\x03\xc5\x81hg L7\xcd\x02\x8e\
    \x9b \xbf\x81\x95\xc96<H\xb2\xff2f2K\xb3Pz\xeb\x82xv\x13/\xe2\x1bU\xc2\xceu*\xb7`\xc7\xa9Sy\x05\x908\xd4Q\
    \xa3\xf7\xbb\xf8\xd6S\xa8(=G\x88^\x05^\x9d=r?\x94v\xaf\xb4X\x04\xf6\x9b\xbc@`&\xe1\xa5\xe8\x0d\xc2J\x9dr'\
    \xbc\xdc \xd2\x9fwA\xdcj\x8e\xfb\"\x99W\x03\x8eu3\x18\x02\xab\x857\xd1\x82\xe3\xf7\x03_\xa0\x8e\xd3s\x03\
    \x00\x00";

/// A hundred thousand zeros.
const ZEROS: &[u8] = b"\
    \x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xed\xc11\x01\x00\x00\x00\xc2\xa0\xf5Om\x0d\x0f\xa0\x00\x00\x00\
    \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
    \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
    \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
    \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80W\x03}\x95\x11\xd4\xa0\x86\x01\x00";

/// Random bytes, then repetitions of them beyond several windows.
const REPEATS: &[u8] = b"\
    \x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xed\xce;+\x04\x00\x00\x00`\x06\x89\x12]\x12\xa1\xcec\xa2\x94\xe9\
    \x1418\xa40\xc8\xe6\x95GY\x90\x94\xbal\x0c\xb2\x89<\x92A\x06\x03\x83A\x84\xc5+\")\x83\x89\xeb\xcaHI\xe4QN\
    \xc9\xdf0|\xdf/\xf8\xf6k\x03\x89\x13O\xa1\x9e\xe4\xe8\xfd\xd7\xf9\xfbe\xff\xd2K\xc1Jbl\xeem\xb5\xb1\xed\
    \xe3w\xa3\xe5.\xbbhl\xba4\x98\xb6\x19-\xba\xf9\xce\xa9\xa9\x1e\xa9\x08/<4uv\xdd\xb6\x16\x0ee\x85N\x8bg\
    \xf2\xab\xae\xc3I\xb1\xb2\xb5x|\xe7(\xaf~\xb1y~d*\x18\x99\x9c\x0dG\x0e\x1f/\xdakS\xb6J\x03e5\x8f\xe3\x17\
    \xcf\x9f\xeb\xa1\xf4\xb3\xdc\xe6\xe8he\xc9\xcf`\xc3\xf1nd~s\xfb\xfc\xa4no)v\x10\x18\xee\xb8\x0a\x96\x072\
    \xba\x07\xfa3\xe3_\xdb\x09\xf7\xaf\xcb=\xbd}\xa9\xfbfffffffffffffffffffffffffffffffffffffffffffffffffffff\
    fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
    fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
    fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
    fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
    fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\xffz\xf6\x07\xf1\xb8\x00\xabh\x1d\x02\x00";

const SEEDS: &[&[u8]] = &[SHORT, EMPTY, TEXT, ZEROS, REPEATS];

/// Returns the checksum of a member's data.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}

/// A member of stored blocks, with any optional fields in its header.
fn stored(rng: &mut Rng) -> Vec<u8> {
    let length: usize = rng.pick(&[0, 5, 1000, 32_768, 40_000, 70_000]);
    let data: Vec<u8> = (0..length).map(|_| rng.below(256) as u8).collect();
    let flags = rng.pick(&[0, 0, 1, 4, 8, 12, 16, 28, 2, 32, 0xc0]);
    let mut member = vec![0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 3];
    if flags & 4 != 0 {
        member.extend(b"\x03\x00abc");
    }
    for field in [8, 16] {
        if flags & field != 0 {
            member.extend(b"a name\0");
        }
    }
    let size = 1 + rng.below(65_535) as usize;
    let blocks = length.div_ceil(size).max(1);
    for at in 0..blocks {
        let block = &data[at * size..length.min((at + 1) * size)];
        member.push(u8::from(at + 1 == blocks));
        let length = block.len() as u16;
        member.extend([length.to_le_bytes(), (!length).to_le_bytes()].concat());
        member.extend_from_slice(block);
    }
    member.extend([crc(&data).to_le_bytes(), (length as u32).to_le_bytes()].concat());
    member
}

/// A file: a few members, mostly sound.
fn file(rng: &mut Rng) -> Vec<u8> {
    let mut file = Vec::new();
    for _ in 0..1 + rng.below(3) {
        if rng.chance(20) {
            file.extend(stored(rng));
        } else {
            file.extend_from_slice(rng.pick(SEEDS));
        }
    }
    let length = file.len() as u64;
    match rng.below(12) {
        0 | 1 => file.truncate(rng.below(length + 1) as usize),
        2 | 3 => {
            for _ in 0..1 + rng.below(2) {
                let at = rng.below(length) as usize;
                file[at] ^= 1 << rng.below(8);
            }
        }
        4 => file.extend(vec![0; 1 + rng.below(20) as usize]),
        5 => file.extend_from_slice(rng.pick(&[
            &b"x"[..],
            b"\x1f",
            b"\x1f\x8b",
            b"\0\0x",
            b"PK\x03\x04",
            b"\0x",
        ])),
        6 => file = rng.pick(&[&b""[..], b"text\n", b"\x1f\x9d\x90", b"\x1f", b"\x1f\x8b\x08\x00"]).to_vec(),
        _ => {}
    }
    file
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args: Vec<Vec<u8>> = rng
        .pick(&["-dc", "-cd", "-cdk", "-dcn", "-cdq", "-dcf", "-dct"])
        .split(' ')
        .map(Into::into)
        .collect();
    if rng.chance(70) {
        args = vec![b"-dc".to_vec()];
    }
    let mut case = on_stdin(rng, command, args);
    case.stdin.clear();
    if rng.chance(15) {
        // A pipe could not be read again, and is declined where it is known to be one.
        return Case { stdin: file(rng), piped: false, ..case };
    }
    for name in ["one.gz", "two", "three.gz"] {
        case.args.push(name.into());
        case.files.push((name.to_owned(), file(rng)));
        if rng.chance(60) {
            break;
        }
    }
    case
}
