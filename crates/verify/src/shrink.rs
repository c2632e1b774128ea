//! Makes a failing case smaller: fewer arguments, less data, plainer bytes.

use crate::Case;

/// Tries no more often than this: each try is a process.
const TRIES_MAX: u32 = 600;

/// Returns the smallest case found that still fails.
pub fn shrink(mut case: Case, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut tries = 0;
    loop {
        let found = candidates(&case).find(|candidate| {
            tries += 1;
            tries < TRIES_MAX && fails(candidate)
        });
        match found {
            Some(smaller) if tries < TRIES_MAX => case = smaller,
            _ => return case,
        }
    }
}

fn candidates(case: &Case) -> impl Iterator<Item = Case> + '_ {
    let without_arg = (0..case.args.len()).map(move |index| {
        let mut smaller = case.clone();
        smaller.args.remove(index);
        smaller
    });
    let plain = [(case.utf8, case.piped)].into_iter().flat_map(move |(utf8, piped)| {
        let locale = utf8.then(|| Case { utf8: false, ..case.clone() });
        let stdin = piped.then(|| Case { piped: false, ..case.clone() });
        locale.into_iter().chain(stdin)
    });
    let stdin = less(&case.stdin).map(move |stdin| Case { stdin, ..case.clone() });
    let files = case.files.iter().enumerate().flat_map(move |(index, (_, content))| {
        less(content).map(move |content| {
            let mut smaller = case.clone();
            smaller.files[index].1 = content;
            smaller
        })
    });
    let shorter_args = case.args.iter().enumerate().flat_map(move |(index, arg)| {
        less(arg).map(move |arg| {
            let mut smaller = case.clone();
            smaller.args[index] = arg;
            smaller
        })
    });
    without_arg.chain(plain).chain(stdin).chain(files).chain(shorter_args)
}

/// The bytes without one of their parts: halves first, then smaller ones.
fn less(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let mut sizes = Vec::new();
    let mut size = bytes.len();
    while size > 0 {
        sizes.push(size);
        size /= 2;
    }
    sizes.into_iter().flat_map(move |size| {
        (0..bytes.len()).step_by(size).map(move |start| {
            let end = (start + size).min(bytes.len());
            [&bytes[..start], &bytes[end..]].concat()
        })
    })
}
