//! `rev`: util-linux.
//!
//! ```text
//!   line ─► text, and it fits? ─► reversed
//!            │ no: stdio's calls and the buffer, one character after the other ([`buffer`])
//! ```
//!
//! The real rev reads with `fgetws` into a buffer that it doubles when a line does not end in it, and treats
//! the first NUL as the end of what it read. At invalid bytes it complains with the line number, and prints
//! what the buffer holds of the line, followed by the remains of earlier lines. It cannot resume mid-input
//! with the right line number, so there is no fallback: the kernel emulates its buffer instead.

mod buffer;
mod split;
mod stdio_reads;

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, WriteFailure};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable, always};
use crate::tool::versions::OtherVersions;
use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::tool::argv::{Opt, Order, parse};
use crate::{Accept, Charset, Command, Context, Declined, Diagnostics, EarlyStop, Facts, Input, InputFacts};
use buffer::{Buffer, Stop, character_length};
use stdio_reads::{Fills, is_cut_off};

/// No options but --help and --version, which are always parsed.
const OPTIONS: &[Opt<()>] = &[];

#[derive(Debug)]
struct Rev {
    utf8: bool,
    inputs: Vec<Input>,
}

/// The tool row of `rev`.
pub(crate) static TOOL: Tool = Tool {
    name: "rev",
    family: Family::UtilLinux,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: Some(split::stateless),
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors { catalogue: Some("util-linux"), write: write_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[Unsuitable::OddReadSizes],
    probes: &[],
    cost: |_| Rate::both(24.0, 0.9, 1.0),
    other_versions: &[OtherVersions::alike(&["2.36.1"])],
    verifiable: true,
    grammar: Grammar::reader(&[], &[]),
};

fn write_error(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    match failure.is_beyond_first_buffer() {
        true => io_errors::write_error_without_reason(caller, failure),
        false => io_errors::write_error_at_close(caller, failure),
    }
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    context.locale.messages.in_english()?;
    let utf8 = match context.locale.ctype {
        Charset::C => false,
        Charset::Utf8 => true,
        Charset::Other => return Declined::because("the characters of this locale"),
    };
    // For rev, `-` is a file of that name.
    let files = parsed.operands().into_iter().map(|name| Input::File(name.to_vec()));
    let inputs = if files.len() == 0 { vec![Input::Stdin] } else { files.collect() };
    Ok(Box::new(Rev { utf8, inputs }))
}

impl Command for Rev {
    fn facts(&self) -> Facts {
        Facts {
            // It stops at invalid bytes.
            input: InputFacts { stops_early: Some(EarlyStop::Problem), ..InputFacts::default() },
            diagnostics: Diagnostics { show_name: true, overtake_output: true },
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(RevKernel {
            utf8: self.utf8,
            buffer: Buffer::new(),
            fills: Fills::new(),
            name: Vec::new(),
            inputs_left: self.inputs.len(),
            status: 0,
            complaints: Vec::new(),
        }))
    }
}

struct RevKernel {
    utf8: bool,
    buffer: Buffer,
    fills: Fills,
    /// The name of the input, for messages.
    name: Vec<u8>,
    inputs_left: usize,
    status: i32,
    complaints: Vec<u8>,
}

impl RevKernel {
    /// Whether the line is valid text without NULs.
    fn is_text(&self, line: &[u8]) -> bool {
        let characters = line.is_ascii() || self.utf8 && std::str::from_utf8(line).is_ok();
        characters && memchr::memchr(0, line).is_none()
    }

    /// Prints one line, with or without its end, by emulating the real rev.
    fn slowly(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let mut rest = line;
        while !rest.is_empty() {
            let Some(length) = character_length(rest, self.utf8) else {
                if self.utf8 && is_cut_off(rest) && !self.fills.ends_with_one_of(rest.len()) {
                    return Ok(());
                }
                self.buffer.fail(out);
                return Err(Stop::NoCharacter);
            };
            let (character, others) = rest.split_at(length);
            self.buffer.take(character, out)?;
            rest = others;
        }
        Ok(())
    }

    fn stop(&mut self, stop: Stop) -> Flow {
        let complaint = match stop {
            Stop::NoCharacter => {
                let lines = self.buffer.lines();
                [&self.name[..], format!(": {lines}: {NO_CHARACTER}").as_bytes()].concat()
            }
            Stop::NoMemory { bytes } => {
                self.inputs_left = 0;
                format!("cannot allocate {bytes} bytes: Cannot allocate memory").into_bytes()
            }
            Stop::TooLarge => return Flow::Done,
        };
        self.status = 1;
        self.complaints.extend([b"rev: ", &complaint[..], b"\n"].concat());
        if self.inputs_left > 0 && !self.buffer.is_too_large() { Flow::NextInput } else { Flow::Done }
    }
}

const NO_CHARACTER: &str = "Invalid or incomplete multibyte or wide character";

/// Prints the characters in reverse; a line end stays at the end.
fn put_reversed(line: &[u8], out: &mut Vec<u8>) {
    let (text, end) = match line {
        [text @ .., b'\n'] => (text, &b"\n"[..]),
        text => (text, &b""[..]),
    };
    let start = out.len();
    out.extend(text.iter().rev());
    if !text.is_ascii() {
        // The bytes of each character were reversed too.
        for character in out[start..].chunk_by_mut(|before, _| matches!(before, 0x80..0xc0)) {
            character.reverse();
        }
    }
    out.extend_from_slice(end);
}

impl Kernel for RevKernel {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn begin_input(&mut self, name: Option<&[u8]>, _out: &mut Vec<u8>) {
        self.name = name.unwrap_or(b"stdin").to_vec();
        self.buffer.begin_input();
        self.fills = Fills::new();
        self.inputs_left -= 1;
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.fills.pass(block);
        // The start of the lines that the buffer has not seen, and of the current line.
        let (mut unseen, mut at) = (0, 0);
        while at < block.len() {
            let end = memchr::memchr(b'\n', &block[at..]).map_or(block.len(), |newline| at + newline + 1);
            let line = &block[at..end];
            if self.buffer.fits(line) && self.is_text(line) {
                put_reversed(line, out);
            } else {
                self.buffer.pass(&block[unseen..at]);
                unseen = end;
                if let Err(stop) = self.slowly(line, out) {
                    return Ok(self.stop(stop));
                }
            }
            at = end;
        }
        self.buffer.pass(&block[unseen..]);
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        let ended = self.buffer.end_input(out);
        Ok(ended.map_or_else(|stop| self.stop(stop), |()| Flow::More))
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complaints)
    }

    fn status(&self) -> i32 {
        self.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Locale;
    use crate::{Family, Implementation};

    fn rev(text: &[u8], locale: Locale) -> (Vec<u8>, String, i32) {
        let context = Context { locale, implementation: Implementation::tested(Family::UtilLinux) };
        let mut kernel = accept(&[], &context).unwrap().kernel().unwrap();
        let mut out = Vec::new();
        kernel.begin_input(None, &mut out);
        if kernel.push(text, &mut out).unwrap() == Flow::More {
            kernel.end_input(&mut out).unwrap();
        }
        (out, String::from_utf8(kernel.messages()).unwrap(), kernel.status())
    }

    #[test]
    fn lines_are_reversed_by_characters() {
        assert_eq!(rev("aé€\n\nxy".as_bytes(), Locale::C_UTF8).0, "€éa\n\nyx".as_bytes());
        let long = "ab".repeat(10_000);
        assert_eq!(rev(long.as_bytes(), Locale::C).0, "ba".repeat(10_000).as_bytes());
    }

    #[test]
    fn what_is_no_text_ends_it() {
        let complaint = "rev: stdin: 1: Invalid or incomplete multibyte or wide character\n";
        let expected = (b"ba\n".to_vec(), complaint.to_owned(), 1);
        assert_eq!(rev(b"ab\nc\xff\nd\n", Locale::C_UTF8), expected);
        assert_eq!(rev("ab\nc\u{e9}\nd\n".as_bytes(), Locale::C), expected);
    }

    #[test]
    fn a_nul_hides_the_rest_of_its_line_and_the_line_end() {
        assert_eq!(rev(b"xyz\nab\0cd\nok\n", Locale::C).0, b"zyx\nkoba\n");
        assert_eq!(rev(b"\0cd\nok\n\0", Locale::C).0, b"ko\n");
    }
}
