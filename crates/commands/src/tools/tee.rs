//! `tee`: GNU coreutils. What it prints is what it reads; the files are the driver's affair.

use pelton_stream::Kernel;

use crate::bytes::translate::ByteMapKernel;
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::tool::command::Copies;
use crate::{Accept, ByteMap, Class, Combiner, Command, Context, Declined, Facts, Input, Touches};

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

/// Reads the arguments.
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
            let identity = Class::ByteMap(Box::new(ByteMap::identity()));
            return Facts::stateless(identity, Touches::nothing());
        }
        Facts::serial(Class::Effect, Touches::nothing()).with_combiner(Combiner::Serial)
    }

    fn inputs(&self) -> &[Input] {
        &[Input::Stdin]
    }

    /// Declined with files, so that no driver loses them: one that can write them takes [`Command::copies`] and passes
    /// the bytes on.
    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        if self.copies.paths.is_empty() {
            return Ok(Box::new(ByteMapKernel::new(&ByteMap::identity())));
        }
        Declined::because("writes files")
    }

    fn copies(&self) -> Option<&Copies> {
        Some(&self.copies).filter(|copies| !copies.paths.is_empty())
    }
}
