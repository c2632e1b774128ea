//! Several threads over a file with one line that a kernel does not support: whoever continues, one thread or
//! the real command, gets the remaining input, once and in order. Tiny blocks make threads begin at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("pelton-teams-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).expect("a directory");
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover directory does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn output(program: &str, args: &[&str], dir: &Path) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60", program]).args(args).current_dir(dir).env("LC_ALL", "C");
    command.output().expect("timeout runs")
}

/// Lines such as `k3 17 abc`, one of them replaced by `odd`.
fn lines(number: usize, odd_at: usize, odd: &str) -> String {
    let line = |at: usize| format!("k{} {} abc\n", at % 7, at * 31 % 97);
    (0..number).map(|at| if at == odd_at { odd.to_owned() } else { line(at) }).collect()
}

/// Becomes the single byte 0xff in the file, which is invalid UTF-8.
const ODD_BYTE: char = '\u{ff}';

fn bytes(text: &str) -> Vec<u8> {
    let byte = |c: char| if c == ODD_BYTE { vec![0xff] } else { c.to_string().into_bytes() };
    text.chars().flat_map(byte).collect()
}

fn assert_same(name: &str, texts: &[&str], odds: &[&str]) {
    let sizes = [("2", "7"), ("3", "64"), ("4", "500"), ("2", "2000")];
    assert_same_over(name, texts, odds, (1500, &[0, 700, 1400]), &sizes);
}

/// Compares texts over files of so many lines, of which one is odd, with so many threads and blocks of so many bytes.
fn assert_same_over(
    name: &str,
    texts: &[&str],
    odds: &[&str],
    (number, places): (usize, &[usize]),
    sizes: &[(&str, &str)],
) {
    let scratch = Scratch::new(name);
    for odd in odds {
        for &odd_at in places {
            fs::write(scratch.0.join("f"), bytes(&lines(number, odd_at, odd))).expect("written");
            for text in texts {
                let expected = output("bash", &["-c", text], &scratch.0);
                for (jobs, block) in sizes {
                    let args = ["run", "--jobs", jobs, "--block-bytes", block, "--", text];
                    let found = output(env!("CARGO_BIN_EXE_pelton"), &args, &scratch.0);
                    assert_eq!(
                        (String::from_utf8_lossy(&found.stdout), found.status),
                        (String::from_utf8_lossy(&expected.stdout), expected.status),
                        "{text}, {odd:?} at {odd_at}, {jobs} threads, blocks of {block}"
                    );
                }
            }
        }
    }
}

#[test]
fn sums_that_stop_being_exact_are_added_in_order() {
    let texts = [
        r#"mawk '{s += $2; n++} END {printf "%.17g %d\n", s, n}' f"#,
        r#"mawk '{c[$1] += $2; n[$1]++} END {for (k in c) printf "%s %.17g %d\n", k, c[k], n[k]}' f | sort"#,
        r#"tr a b < f | mawk '{s -= $2} END {printf "%.17g\n", s}'"#,
        r#"mawk -v s=-0 '{s -= 0; n++} END {print 1 / s, n}' f"#,
        r#"cat f f | sed s/b/c/ | mawk '{s += $2} END {printf "%.17g\n", s}'"#,
    ];
    let odds = [
        "k1 0.1 x\nk2 0.2 x\nk3 0.3 x\n",
        "k1 9007199254740993 x\n",
        "k2 -30000000000000 x\nk2 20000000000000 x\nk3 20000000000000 x\nk4 1.5 x\n",
        "k5 nan x\nk6 inf x\n",
    ];
    assert_same("sums", &texts, &odds);
}

#[test]
fn what_comes_behind_a_hand_over_is_given_to_the_real_command() {
    let texts = [
        r#"tr a b < f | mawk '{printf "%s\n", $3; if ($1 == "zzz") exit}' | cksum"#,
        r#"sed s/k/l/ f | mawk '{printf "%s %s\n", $3, $1}'"#,
        "tr a b < f | grep -av 13",
        "cut -d ' ' -f 1,3 f | tr a b | sort | uniq -c",
        "mawk '!s[$1, $2]++' f | mawk '{printf \"%s\\n\", $1}'",
    ];
    assert_same("rest", &texts, &["k1 1 a\0c\n", "k2 2 \n", "k9 zzz\n\n\nzzz 1 2\n"]);
}

#[test]
fn greps_that_share_their_lines_leave_what_they_cannot_judge_to_the_real_one() {
    let texts = [
        "grep -c 'k[35]' f",
        "LC_ALL=C.UTF-8 grep -ciw k2 f",
        "LC_ALL=C.UTF-8 grep -vci K f | sed s/1/x/",
        "grep -a 'k[35]' f | tr k l | cksum",
        "LC_ALL=C.UTF-8 grep -aio K.1 f",
        "LC_ALL=C.UTF-8 grep -aHi k3 f | cut -d ' ' -f 1 | sort | uniq -c",
    ];
    // The Turkish capital I has no small letter of its own, and invalid bytes have no case.
    assert_same("grep", &texts, &["k1 \0 k5\n", "k2 \u{130}k \u{212a}3\nk1\n", "k1 \u{7f}\u{ff}k1\n"]);
}

/// grep prints nothing of the read in which a NUL comes, and of a file it reads about 96 KiB at a time.
#[test]
fn greps_that_share_lines_print_none_of_the_read_that_has_a_nul() {
    let texts = [
        "grep 'k[35]' f",
        "grep -v 'k[35] .*7' f | cut -d ' ' -f 1 | grep -c k1",
        "LC_ALL=C.UTF-8 grep -oi 'K.1 [0-9]' f",
        "grep -H 'k[35]' f f | sed s/k/l/ | grep -v 1 | sort | uniq -c",
        "grep k3 f | mawk '{s += $2} END {printf \"%d\\n\", s}'",
        "cat f f | grep -c k3",
    ];
    let long = format!("k3 {} abc\n", "7".repeat(150_000));
    let odds = ["k3 1 abc\n", "k1 \0 k5\n", "k3 \u{ff} abc\n", &long, &format!("{long}k3\0\n")];
    let sizes = [("2", "500"), ("3", "20000")];
    assert_same_over("nul", &texts, &odds, (30_000, &[16_000, 29_990]), &sizes);
}
