//! `sha256sum`, `sha224sum` and `sha1sum`: GNU coreutils, printing sums.
//!
//! The kernels gain by instructions that x86-64 processors have for these sums and coreutils 8.32 and 9.1 of Debian do
//! not use. Later versions take the sums from libcrypto, which uses them, so those are not served
//! (docs/design/small-tools.md).

use pelton_stream::{Flow, Framing, Kernel, Notice, Outcome};
use sha1::Sha1;
use sha2::digest::DynDigest;
use sha2::{Sha224, Sha256};

use crate::tool::argv::{Opt, Order, Takes, long, opt, parse};
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{IoErrors, StandardOutput, write_error_without_reason};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{COREUTILS_8_32_TO_9_0, OtherVersions};
use crate::{Accept, Command, Content, Declined, Facts, Family, Input, Lines, OutputFacts};

/// The tool row of `sha256sum`.
pub(crate) static TOOL: Tool = row(
    "sha256sum",
    Acceptor::Alone(|args, _| accept(args, Algorithm::Sha256)),
    &[Probe::prints(
        &["--tag"],
        "a\n",
        b"SHA256 (-) = 87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7\n",
    )],
);

/// The tool row of `sha224sum`.
pub(crate) static SHA224SUM: Tool = row(
    "sha224sum",
    Acceptor::Alone(|args, _| accept(args, Algorithm::Sha224)),
    &[Probe::prints(&["-b"], "a\n", b"7c297c1793fdad2ac52a68bdd6b8fde3eb59b99c3f8c44710fde5fd7 *-\n")],
);

/// The tool row of `sha1sum`.
pub(crate) static SHA1SUM: Tool = row(
    "sha1sum",
    Acceptor::Alone(|args, _| accept(args, Algorithm::Sha1)),
    &[Probe::prints(&["-b"], "a\n", b"3f786850e387550fdab836ed7e6dc881de23001b *-\n")],
);

const OTHER_VERSIONS: &[OtherVersions] = &[OtherVersions::alike(COREUTILS_8_32_TO_9_0)];

const fn row(name: &'static str, accept: Acceptor, probes: &'static [Probe]) -> Tool {
    Tool {
        name,
        family: Family::GnuCoreutils,
        alternatives: &[],
        accept,
        split: None,
        in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: false },
        only_prints: always,
        io_errors: IoErrors { write: write_error_without_reason, ..IoErrors::COREUTILS },
        standard_output: StandardOutput::Unbuffered,
        unsuitable: &[],
        probes,
        cost: |_| Rate::both(1.9, 0.5, 0.0),
        other_versions: OTHER_VERSIONS,
        verifiable: true,
        grammar: Grammar::reader(&["", "", "-b", "--tag", "-t", "-z"], &[]),
    }
}

#[derive(Clone, Copy, Debug)]
enum Algorithm {
    Sha1,
    Sha224,
    Sha256,
}

impl Algorithm {
    fn begin(self) -> Box<dyn DynDigest + Send> {
        match self {
            Algorithm::Sha1 => Box::new(Sha1::default()),
            Algorithm::Sha224 => Box::new(Sha224::default()),
            Algorithm::Sha256 => Box::new(Sha256::default()),
        }
    }

    /// Returns its name in BSD's format.
    fn tag(self) -> &'static str {
        match self {
            Algorithm::Sha1 => "SHA1",
            Algorithm::Sha224 => "SHA224",
            Algorithm::Sha256 => "SHA256",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Binary,
    Tag,
    Text,
    Zero,
    /// Options that only checking has.
    Check,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Binary, b'b', "binary", Takes::Nothing),
    opt(Id::Check, b'c', "check", Takes::Nothing),
    long(Id::Check, "ignore-missing", Takes::Nothing),
    long(Id::Check, "quiet", Takes::Nothing),
    long(Id::Check, "status", Takes::Nothing),
    long(Id::Check, "strict", Takes::Nothing),
    long(Id::Tag, "tag", Takes::Nothing),
    opt(Id::Text, b't', "text", Takes::Nothing),
    opt(Id::Check, b'w', "warn", Takes::Nothing),
    opt(Id::Zero, b'z', "zero", Takes::Nothing),
];

/// Parses the arguments.
fn accept(args: &[Vec<u8>], algorithm: Algorithm) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    if parsed.has(Id::Check) {
        return Declined::because("checking sums");
    }
    if parsed.has(Id::Tag) && parsed.has(Id::Text) {
        return Declined::because("--tag beside --text");
    }
    if !has_instructions() {
        return Declined::because("a processor without instructions for these sums");
    }
    let inputs = Input::from_operands(&parsed.operands());
    let is_odd = |input: &Input| matches!(input, Input::File(name) if name.iter().any(|byte| b"\\\n\r".contains(byte)));
    if inputs.iter().any(is_odd) {
        return Declined::because("a file name that is printed with escapes");
    }
    let is_binary = parsed.options().filter(|(id, _)| matches!(id, Id::Binary | Id::Text)).last();
    let format = match is_binary {
        _ if parsed.has(Id::Tag) => Format::Tag,
        Some((Id::Binary, _)) => Format::Sum { mark: b'*' },
        _ => Format::Sum { mark: b' ' },
    };
    let end = if parsed.has(Id::Zero) { 0 } else { b'\n' };
    Ok(Box::new(Sums { algorithm, format, end, inputs }))
}

/// Whether the processor computes these sums itself.
fn has_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("sha") && is_x86_feature_detected!("sse4.1");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// How a sum is printed.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// `SHA256 (name) = sum`.
    Tag,
    /// The sum, this mark and the name.
    Sum { mark: u8 },
}

#[derive(Debug)]
struct Sums {
    algorithm: Algorithm,
    format: Format,
    end: u8,
    inputs: Vec<Input>,
}

impl Command for Sums {
    fn facts(&self) -> Facts {
        let content = if self.end == 0 { Content::Bytes } else { Content::NoNul };
        let blocks_until_eof = self.inputs.len() == 1;
        Facts {
            lines: Lines::Changed,
            record_end: self.end,
            output: OutputFacts { content, blocks_until_eof, ..OutputFacts::default() },
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(SumsKernel {
            algorithm: self.algorithm,
            format: self.format,
            end: self.end,
            sum: self.algorithm.begin(),
            inputs: self.inputs.clone().into_iter(),
            is_readable: true,
        }))
    }
}

struct SumsKernel {
    algorithm: Algorithm,
    format: Format,
    end: u8,
    sum: Box<dyn DynDigest + Send>,
    /// Those that have not ended.
    inputs: std::vec::IntoIter<Input>,
    is_readable: bool,
}

impl Kernel for SumsKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn notice(&mut self, notice: Notice<'_>) {
        if let Notice::UnreadableInput = notice {
            self.is_readable = false;
        }
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        self.sum.update(block);
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        let sum = self.sum.finalize_reset();
        let input = self.inputs.next();
        if !std::mem::replace(&mut self.is_readable, true) {
            return Ok(Flow::More);
        }
        let name = match &input {
            Some(Input::File(name)) => &name[..],
            _ => b"-",
        };
        if let Format::Tag = self.format {
            out.extend_from_slice(self.algorithm.tag().as_bytes());
            out.extend_from_slice(b" (");
            out.extend_from_slice(name);
            out.extend_from_slice(b") = ");
        }
        for byte in &sum {
            out.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
        }
        if let Format::Sum { mark } = self.format {
            out.extend([b' ', mark]);
            out.extend_from_slice(name);
        }
        out.push(self.end);
        Ok(Flow::More)
    }
}
