//! Commands whose output depends on their arguments alone (`echo`, `printf`).

use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::{Accept, Command, Declined, Facts, Input, OutputFacts};

/// The most output bytes that are computed in advance.
const BYTES_MAX: usize = 1 << 20;

/// A command that prints this text and ends with status 0.
#[derive(Clone, Debug)]
pub(crate) struct Printed(Vec<u8>);

impl Printed {
    /// Makes the command. Declines if the text is too long.
    pub(crate) fn command(text: Vec<u8>) -> Accept<Box<dyn Command>> {
        Printed::check(&text)?;
        Ok(Box::new(Printed(text)))
    }

    /// Declines if the text is too long already.
    pub(crate) fn check(text: &[u8]) -> Accept<()> {
        if text.len() > BYTES_MAX { Declined::because("more than a mebibyte to print") } else { Ok(()) }
    }
}

impl Command for Printed {
    fn facts(&self) -> Facts {
        let bytes = Some(self.0.len() as u64);
        Facts { output: OutputFacts { bytes, ..OutputFacts::default() }, ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &[]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(self.clone()))
    }
}

impl Kernel for Printed {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, _block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        out.append(&mut self.0);
        Ok(Flow::Done)
    }
}
