use super::{flags, on_plain_files};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let percent = rng.pick(&[0, 15, 40]);
    let args = flags(
        rng,
        &[
            "-n",
            "-b",
            "-s",
            "-E",
            "-T",
            "-v",
            "-A",
            "-e",
            "-t",
            "-u",
            "--number",
            "--squeeze",
            "--show-e",
            "-sn",
        ],
        percent,
    );
    on_plain_files(rng, command, args)
}
