//! Cases on which a kernel once differed, or that document a subtlety. Each stays for ever.

use crate::case::{Case, case};

pub fn all() -> Vec<Case> {
    vec![
        case("cat", &[b"-s", b"-n"], b"\n\n\na\n\n\nb"),
        case("cat", &[b"-E"], b"a\r\nb\r"),
        // A class of the second set that starts where the first set has ended.
        case("tr", &[b"", b"[:lower:]"], b""),
        case("tr", &[b" ", b"-[:upper:]"], b""),
        case("cut", &[b"-z", b"-f", b"5", b"-da"], b"xa"),
        case("cut", &[b"--complement", b"-z", b"-f5", b"-db", b"-s"], b"b"),
        case("tr", &[b"-c", b"", b"[:lower:]0"], b"1"),
        case("tr", &[b"-cs", b"a-z", b"\\n"], b"  ab  c\n\n\nd"),
    ]
}
