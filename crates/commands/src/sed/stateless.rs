//! Decides whether a script treats lines independently, so that several seds can share the lines of one
//! input.
//!
//! A script may have more than kernels support: any expression, any characters in `y`. Declined is what
//! connects lines: line numbers, ranges, `$`, the hold space across lines, `n`, `N`, `q`, and files (`r`,
//! `w`), which would be opened several times.

use super::{Options, flow, parse};
use crate::tool::stateless::{Stateless, Statuses};
use crate::{Accept, Context, Declined, Input};

/// Parses the arguments.
pub(crate) fn stateless(args: &[Vec<u8>], context: &Context) -> Accept<Stateless> {
    let options = Options::parse(args)?;
    if options.file.is_some() {
        return Declined::because("a script in a file, which each process would read anew");
    }
    if options.unbuffered {
        return Declined::because("-u, whose lines are wanted at once");
    }
    if options.null_data {
        return Declined::because("lines that end in NUL");
    }
    let utf8 = context.locale.ctype != crate::Charset::C;
    let mut script = parse::parse(&options.pieces.join(&b'\n'), options.pieces.len() > 1, utf8)?;
    if let Some(connection) = flow::connection(&script) {
        return Declined::because(connection);
    }
    flow::name_last_used(&mut script)?;
    let mut inputs = Input::from_operands(&options.operands);
    match (inputs.pop(), inputs.is_empty()) {
        (Some(input), true) => Ok(Stateless::lines(input, options.resume, Statuses::AnyIsTheEnd)),
        _ => Declined::because("several files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn reads(args: &[&str]) -> Accept<Stateless> {
        let context =
            Context { locale: Locale::C_UTF8, implementation: Implementation::tested(Family::GnuSed) };
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        stateless(&args, &context)
    }

    #[test]
    fn lines_by_themselves() {
        for args in [
            &["-E", r"s/(.*)-\1/\1/g"][..],
            &[":a;s/^(x)*y/z/;ta"],
            &["-n", "/a/{s/b/\\n/;P;D}"],
            &["G;b end;s/a/b/;: end"],
            &["-e", "/x/!d", "-e", "y/ab/ba/"],
            &["s/a/b/", "file"],
            &["/a/s//b/"],
            &["h;s/a/b/;G;l"],
        ] {
            assert!(reads(args).is_ok(), "{args:?}: {:?}", reads(args).err());
        }
        let read = reads(&["-E", "s/a/b/", "-s", "file"]).expect("stateless");
        assert_eq!(read.input, Input::File(b"file".to_vec()));
        assert_eq!(read.args, [&b"-E"[..], b"-s", b"-e", b"s/a/b/"]);
    }

    #[test]
    fn lines_that_know_of_others() {
        for (args, reason) in [
            (&["$!d"][..], "it asks for the number of a line, or for the last"),
            (&["0~3d"], "it asks for the number of a line, or for the last"),
            (&["/a/,/b/d"], "a range of lines"),
            (&["N;P;D"], "N reads the next line as well"),
            (&["x;G"], "the hold space is kept from line to line"),
            (&["n"], "n reads the next line"),
            (&["/a/q"], "q ends it before its input does"),
            (&["/a/="], "= tells the number of a line"),
            (&["s//b/"], "an empty expression means the last one used, which may be one of several"),
            (&["s/a/b/", "f", "g"], "several files"),
            (&["-i", "s/a/b/", "f"], "changing files in place (-i)"),
            (&["s/a/b/w f"], "the flag w of s writes files"),
            (&["-z", "s/a/b/"], "lines that end in NUL"),
            (&[":a b;ba b"], "an unusual label"),
        ] {
            assert_eq!(reads(args).map_err(|declined| declined.reason), Err(reason.to_owned()), "{args:?}");
        }
    }
}
