//! `tee`: GNU coreutils. It prints its input; the driver writes the files.

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable, WriteFailure};
use crate::tool::row::{Acceptor, InProcess, Tool};
use crate::tool::versions::{COREUTILS_8_32_TO_9_0, OtherVersions};
use pelton_stream::Kernel;
use std::io;

use crate::bytes::translate::ByteMapKernel;
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::tool::interface::Copies;
use crate::{Accept, ByteMap, Command, Context, Declined, Facts, Input, OutputFacts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Append,
    Interrupts,
    OnError,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Append, b'a', "append", Takes::Nothing),
    opt(Id::Interrupts, b'i', "ignore-interrupts", Takes::Nothing),
    short(Id::OnError, b'p', Takes::Nothing),
    long(Id::OnError, "output-error", Takes::MaybeValue),
];

#[derive(Debug)]
struct Tee {
    copies: Copies,
}

/// The tool row of `tee`.
pub(crate) static TOOL: Tool = Tool {
    name: "tee",
    family: Family::GnuCoreutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints,
    io_errors: IoErrors { write: write_error, read: read_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Unbuffered,
    unsuitable: &[],
    probes: &[Probe::prints(&[], "a\n", b"a\n")],
    cost: |_| Rate::both(0.4, 0.1, 1.0),
    other_versions: &[OtherVersions::alike(COREUTILS_8_32_TO_9_0)],
    verifiable: false,
    grammar: Grammar {
        role: Role::Filter,
        needs: &[],
        options: &["-a", "-i", "out", "out2", "-p"],
        operands: &[""],
    },
};

fn only_prints(args: &[&str]) -> bool {
    args.iter().all(|arg| arg.starts_with('-') && *arg != "-")
}

fn write_error(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    let stdout = io_errors::quoted_if_needed(&caller.translated("standard output"));
    (format!("{}: {stdout}: {}\n", caller.called, caller.reason(&failure.error)), 1)
}

fn read_error(caller: &Caller, _input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    Unreadable::goes_on(io_errors::read_error_message(caller, error), 1)
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    if parsed.has(Id::Interrupts) || parsed.has(Id::OnError) {
        return Declined::because("signals and errors other than by default");
    }
    let paths = parsed.operands().into_iter().map(<[u8]>::to_vec).collect();
    Ok(Box::new(Tee { copies: Copies { paths, append: parsed.has(Id::Append) } }))
}

impl Command for Tee {
    fn facts(&self) -> Facts {
        if self.copies.paths.is_empty() {
            return Facts::of_map(&ByteMap::identity());
        }
        let copies = Some(self.copies.clone());
        Facts { output: OutputFacts { copies, ..OutputFacts::default() }, ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &[Input::Stdin]
    }

    /// Declined with files, so that no driver drops them: a driver that can write them uses
    /// [`OutputFacts::copies`] and passes the bytes on.
    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        if self.copies.paths.is_empty() {
            return Ok(Box::new(ByteMapKernel::new(&ByteMap::identity())));
        }
        Declined::because("writes files")
    }
}
