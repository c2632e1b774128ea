//! `tr`: GNU coreutils. Bytes in every locale.
//!
//! [`sets`] reads the operands; here they become one byte map, and a set to squeeze if asked.

mod sets;

use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::argv::{Opt, Order, Takes, opt, parse, short};
use crate::translate::{ByteMapKernel, Members};
use crate::{
    Accept, ByteMap, ByteSet, Charset, Class, Command, Context, Declined, Facts, Input, LastLine, Lines,
    Touches,
};
use sets::Set;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Complement,
    Delete,
    Squeeze,
    Truncate,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Complement, b'c', "complement", Takes::Nothing),
    short(Id::Complement, b'C', Takes::Nothing),
    opt(Id::Delete, b'd', "delete", Takes::Nothing),
    opt(Id::Squeeze, b's', "squeeze-repeats", Takes::Nothing),
    opt(Id::Truncate, b't', "truncate-set1", Takes::Nothing),
];

/// First the map, then runs of the same member of `squeezed` become one.
#[derive(Debug)]
struct Tr {
    map: ByteMap,
    squeezed: ByteSet,
}

/// Reads the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    if context.locale.ctype == Charset::Other {
        return Declined::because("classes in this locale");
    }
    let parsed = parse(args, OPTIONS, Order::First)?;
    let (delete, squeeze) = (parsed.has(Id::Delete), parsed.has(Id::Squeeze));
    let sets: Vec<Set> = parsed.operands().into_iter().map(Set::parse).collect::<Accept<_>>()?;
    let complement = parsed.has(Id::Complement);
    let identity = ByteMap::identity();
    let (map, squeezed) = match (sets.as_slice(), delete, squeeze) {
        ([first], true, false) => {
            (ByteMap { deleted: first.chosen(complement)?, ..identity }, ByteSet::none())
        }
        ([first], false, true) => (identity, first.chosen(complement)?),
        ([first, second], true, true) => {
            (ByteMap { deleted: first.chosen(complement)?, ..identity }, second.chosen(false)?)
        }
        ([first, second], false, _) => {
            let (to, targets) = sets::translation(first, second, complement, parsed.has(Id::Truncate))?;
            (ByteMap { to, ..identity }, if squeeze { targets } else { ByteSet::none() })
        }
        _ => return Declined::because("as many sets as these options do not take"),
    };
    Ok(Box::new(Tr { map, squeezed }))
}

impl Command for Tr {
    fn facts(&self) -> Facts {
        let mut touches = Touches {
            creates: self.map.creates(),
            removes: self.map.removes().union(&self.squeezed),
            lines: Lines::Kept,
            last_line: LastLine::Kept,
        };
        let lines_stay = !touches.creates.contains(b'\n') && !touches.removes.contains(b'\n');
        if !lines_stay {
            (touches.lines, touches.last_line) = (Lines::Any, LastLine::Any);
        }
        if self.squeezed.is_empty() {
            Facts::stateless(Class::ByteMap(Box::new(self.map.clone())), touches)
        } else if lines_stay {
            // A newline that stays and is not squeezed ends every run: lines can be treated alone.
            Facts::stateless(Class::LineMap, touches)
        } else {
            Facts::serial(Class::Opaque, touches)
        }
    }

    fn inputs(&self) -> &[Input] {
        &[Input::Stdin]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let map = ByteMapKernel::new(&self.map);
        if self.squeezed.is_empty() {
            return Ok(Box::new(map));
        }
        Ok(Box::new(SqueezeKernel::new(map, &self.map, &self.squeezed)))
    }
}

struct SqueezeKernel {
    map: ByteMapKernel,
    /// Bytes that come out as a member of the squeezed set, or not at all.
    watched: Members,
    squeezed: [bool; 256],
    deletes: bool,
    table: [u8; 256],
    /// What was written last; 256 for nothing yet.
    last: u16,
    mapped: Vec<u8>,
}

impl SqueezeKernel {
    fn new(kernel: ByteMapKernel, map: &ByteMap, squeezed: &ByteSet) -> Self {
        let watched = ByteSet::where_(|byte| {
            map.deleted.contains(byte) || squeezed.contains(map.to[usize::from(byte)])
        });
        SqueezeKernel {
            map: kernel,
            watched: Members::new(&watched),
            squeezed: std::array::from_fn(|byte| squeezed.contains(byte as u8)),
            deletes: !map.deleted.is_empty(),
            table: map.to,
            last: 256,
            mapped: Vec::new(),
        }
    }

    fn squeeze(&mut self, mapped: impl Iterator<Item = u8>, length: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + length, 0);
        let (mut end, mut last) = (start, self.last);
        for byte in mapped {
            let repeats = u16::from(byte) == last && self.squeezed[usize::from(byte)];
            out[end] = byte;
            end += usize::from(!repeats);
            last = u16::from(byte);
        }
        self.last = last;
        out.truncate(end);
    }
}

impl Kernel for SqueezeKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.deletes {
            let mut mapped = std::mem::take(&mut self.mapped);
            mapped.clear();
            self.map.apply(block, &mut mapped);
            self.squeeze(mapped.iter().copied(), mapped.len(), out);
            self.mapped = mapped;
            return Ok(Flow::More);
        }
        let watched = self.watched.clone();
        watched.stretches(block, |stretch, any| {
            if any {
                let table = self.table;
                self.squeeze(stretch.iter().map(|&byte| table[usize::from(byte)]), stretch.len(), out);
            } else {
                self.map.map_all(stretch, out);
                self.last = out.last().map_or(256, |&byte| u16::from(byte));
            }
        });
        Ok(Flow::More)
    }
}
