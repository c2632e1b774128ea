//! Several threads print the same as one, wherever the input is split.
#![allow(missing_docs)]

mod common;

use common::{Random, document, lines, mutate};
use pelton_json::formats::Lines;
use pelton_json::ndjson::{Share, read_lines};
use pelton_json::{Failure, Fault, Out, Rules, SyntaxError};

fn by_lines(text: &[u8], threads: usize, chunk: usize) -> (Vec<u8>, Option<SyntaxError>) {
    let mut printed = Vec::new();
    let input = std::io::Cursor::new(text.to_vec());
    let outcome = read_lines(
        input,
        Rules::default(),
        Share { threads, chunk },
        || Lines::new(Out::kept()),
        |bytes| {
            printed.extend_from_slice(bytes);
            Ok(())
        },
    );
    let error = match outcome {
        Ok(()) => None,
        Err(Failure::Syntax(error)) => Some(*error),
        Err(other) => panic!("{other:?}"),
    };
    (printed, error)
}

#[test]
fn as_one_after_another() {
    let mut random = Random::new(3);
    let mut text = String::new();
    while text.len() < 1_400_000 {
        let mut one = String::new();
        document(&mut random, 4, &mut one);
        text += &one.replace(['\n', '\r'], " ");
        text += random.pick(&["\n", "\r\n", "\n\n"]);
    }
    let whole = lines(text.as_bytes(), Rules::default(), 1 << 16, 1 << 16);
    assert_eq!(whole.1, None);
    for (threads, chunk) in [(1, 4096), (2, 4096), (3, 1 << 16)] {
        let found = by_lines(text.as_bytes(), threads, chunk);
        assert!(found == whole, "{threads} {chunk}");
    }
    // An error late in the text: the same error at the same position.
    for _ in 0..4 {
        let mut bad = text.clone().into_bytes();
        let at = 1_100_000 + random.below(200_000);
        let mut tail = bad.split_off(at);
        let rest = tail.split_off(100);
        mutate(&mut random, &mut tail);
        tail.retain(|byte| *byte != b'\n');
        bad.extend(tail);
        bad.extend(rest);
        let whole = lines(&bad, Rules::default(), 1 << 24, 1 << 24);
        for (threads, chunk) in [(1, 1 << 16), (3, 1 << 14)] {
            let found = by_lines(&bad, threads, chunk);
            match (&found.1, &whole.1) {
                // A bracket closed on a later line is an error of the first line.
                (Some(ours), Some(theirs)) => assert!(ours.offset <= theirs.offset, "{ours} {theirs}"),
                (ours, theirs) => assert_eq!(ours, theirs),
            }
        }
    }
}

#[test]
fn a_document_ends_on_its_line() {
    for chunk in [16, 4096] {
        assert_eq!(
            by_lines(b"\xef\xbb\xbf1\n\n [2] {} \n3", 1, chunk).0,
            b"@: 1\n@ <=> [\n@.0: 2\n@ <=> ]\n@ <=> {\n@ <=> }\n@: 3\n"
        );
        let error = by_lines(b"1\n[2,\n3]\n4\n", 1, chunk).1.expect("an error");
        assert_eq!((error.line, error.column), (2, 4), "{error}");
    }
    assert_eq!(by_lines(b"[2,\n3]\n", 1, 4096).1.expect("an error").fault, Fault::LineEnds);
    assert_eq!(by_lines(b"", 2, 4096), (Vec::new(), None));
}
