//! `printf`: the builtin of bash. Declines what it would complain about, floating point numbers, dates, `%q`
//! and lengths of multibyte characters.

mod number;

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::escapes::{self, Escape, EscapeContext};
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::static_output::Printed;
use crate::{Accept, Charset, Command, Context, Declined};

/// A larger width or precision is declined.
const WIDTH_MAX: usize = 4096;

/// The tool row of `printf`.
pub(crate) static TOOL: Tool = Tool {
    name: "printf",
    family: Family::Bash,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[],
    cost: |_| Rate::both(0.0, 0.0, 1.0),
    other_versions: &[],
    verifiable: false,
    grammar: Grammar {
        role: Role::Source,
        needs: &[
            "'%s\\n'",
            "'%s,%s\\n'",
            "'%d %x\\n'",
            "'%5s|%-5s\\n'",
            "'%b'",
            "@t",
            "'%05d\\n'",
            "'%c'",
            "--",
        ],
        options: &[],
        operands: &["", "@N", "@r @t", "@t @t @t", "@n @N @p", "'' 5 0x1f", "a b c d"],
    },
};

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let (format, values) = match args {
        [dashes, format, values @ ..] if dashes == b"--" => (format, values),
        [option, ..] if option.starts_with(b"-") => return Declined::because("an option"),
        [format, values @ ..] => (format, values),
        [] => return Declined::because("no format"),
    };
    let mut printer =
        Printer { charset: context.locale.ctype, values: values.iter(), out: Vec::new(), stopped: false };
    // The format is reused as long as it consumes arguments.
    loop {
        let before = printer.values.len();
        printer.pass(format)?;
        Printed::check(&printer.out)?;
        let left = printer.values.len();
        if printer.stopped || left == 0 || left == before {
            return Printed::command(printer.out);
        }
    }
}

struct Printer<'a> {
    charset: Charset,
    values: std::slice::Iter<'a, Vec<u8>>,
    out: Vec<u8>,
    /// Whether `\c` in an argument of `%b` stopped the output.
    stopped: bool,
}

/// The flags, width and precision of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spec {
    left: bool,
    zeros: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

impl Printer<'_> {
    /// Prints the format once.
    fn pass(&mut self, format: &[u8]) -> Accept<()> {
        let mut rest = format;
        while let Some((&byte, behind)) = rest.split_first() {
            rest = match byte {
                b'\\' => match escapes::escape(behind, EscapeContext::Format, self.charset, &mut self.out)? {
                    Escape::Printed(length) => &behind[length..],
                    Escape::Stop => return Ok(()),
                },
                b'%' if behind.first() == Some(&b'%') => {
                    self.out.push(b'%');
                    &behind[1..]
                }
                b'%' => self.conversion(behind)?,
                _ => {
                    self.out.push(byte);
                    behind
                }
            };
            if self.stopped {
                break;
            }
        }
        Ok(())
    }

    /// Prints a conversion; returns the text after it.
    fn conversion<'f>(&mut self, text: &'f [u8]) -> Accept<&'f [u8]> {
        let (spec, text) = Spec::read(text)?;
        let Some((&letter, rest)) = text.split_first() else {
            return Declined::because("a conversion without its letter");
        };
        let value = self.values.next().map(Vec::as_slice);
        match letter {
            b's' => self.string(value.unwrap_or_default(), spec)?,
            b'b' => {
                let mut expanded = Vec::new();
                let text = value.unwrap_or_default();
                self.stopped = escapes::expand(text, EscapeContext::Argument, self.charset, &mut expanded)?;
                self.string(&expanded, spec)?;
            }
            b'c' => {
                // The first byte of an empty argument is its NUL.
                let first = value.and_then(|value| value.first()).copied().unwrap_or(0);
                self.string(&[first], Spec { precision: None, ..spec })?;
            }
            b'd' | b'i' | b'u' | b'x' | b'X' | b'o' => {
                let number = value.map_or(Ok(0), number::parse)?;
                number::put(number, letter, spec, &mut self.out);
            }
            _ => {
                return Declined::because(format!("the conversion %{}", letter.escape_ascii()));
            }
        }
        Ok(rest)
    }

    fn string(&mut self, text: &[u8], spec: Spec) -> Accept<()> {
        if spec.zeros || spec.plus || spec.space || spec.alternate {
            return Declined::because("a flag for numbers with a string");
        }
        let measured = spec.width > 0 || spec.precision.is_some();
        if measured && !text.is_ascii() {
            return Declined::because("a width of text that is not ASCII");
        }
        let text = &text[..spec.precision.unwrap_or(text.len()).min(text.len())];
        pad(text, spec, &mut self.out);
        Ok(())
    }
}

/// Pads with blanks on one side.
fn pad(text: &[u8], spec: Spec, out: &mut Vec<u8>) {
    let blanks = spec.width.saturating_sub(text.len());
    if !spec.left {
        out.resize(out.len() + blanks, b' ');
    }
    out.extend_from_slice(text);
    if spec.left {
        out.resize(out.len() + blanks, b' ');
    }
}

impl Spec {
    /// Parses flags, width and precision.
    fn read(text: &[u8]) -> Accept<(Spec, &[u8])> {
        let mut spec = Spec::default();
        let mut rest = text;
        while let Some((&flag, behind)) = rest.split_first() {
            match flag {
                b'-' => spec.left = true,
                b'0' => spec.zeros = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                _ => break,
            }
            rest = behind;
        }
        let (width, mut rest) = number(rest)?;
        spec.width = width.unwrap_or(0);
        if let Some(behind) = rest.strip_prefix(b".") {
            let (precision, behind) = number(behind)?;
            spec.precision = Some(precision.unwrap_or(0));
            rest = behind;
        }
        Ok((spec, rest))
    }
}

/// Parses leading digits, if any.
fn number(text: &[u8]) -> Accept<(Option<usize>, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    if digits.is_empty() {
        return Ok((None, rest));
    }
    match std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()) {
        Some(number) if number <= WIDTH_MAX => Ok((Some(number), rest)),
        _ => Declined::because("a large width"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn printf(args: &[&str]) -> Accept<String> {
        let context =
            Context { locale: Locale::C_UTF8, implementation: Implementation::tested(Family::Bash) };
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        let mut out = Vec::new();
        accept(&args, &context)?.kernel()?.finish(&mut out).unwrap();
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_format_is_used_again() {
        assert_eq!(printf(&["%s-%s\\n", "a", "b", "c"]).unwrap(), "a-b\nc-\n");
        assert_eq!(printf(&["a\\n", "b"]).unwrap(), "a\n");
        assert_eq!(printf(&["--", "%s", "-"]).unwrap(), "-");
        assert_eq!(printf(&["%b|%s\\n", "x\\ty", "z", "\\c", "q"]).unwrap(), "x\ty|z\n");
    }

    #[test]
    fn widths_and_precisions() {
        assert_eq!(printf(&["%5s|%-5s|%.1s|%c%c", "a", "b", "cd", "xy"]).unwrap(), "    a|b    |c|x\0");
        assert_eq!(printf(&["%5d|%-5d|%05d|%+.3d", "1", "2", "-3", "4"]).unwrap(), "    1|2    |-0003|+004");
        assert_eq!(
            printf(&["%x %#X %#o %u", "255", "0x1f", "8", "-1"]).unwrap(),
            "ff 0X1F 010 18446744073709551615"
        );
    }

    #[test]
    fn what_it_would_complain_about_and_what_is_doubtful_is_declined() {
        for args in [
            &["%d", "abc"][..],
            &["%d", "010"],
            &["%f", "1"],
            &["%q", "a"],
            &["%(%Y)T", "0"],
            &["%*d", "1", "2"],
            &["%5s", "é"],
            &["%5"],
            &["%5%"],
            &["\\x"],
            &["-v", "x", "a"],
            &["%ld", "1"],
            &[],
        ] {
            assert!(printf(args).is_err(), "{args:?}");
        }
    }
}
