//! Runs the kernels of a stage whose parts are folded: one over a part, one over what those have printed.

use pelton_commands::Special;
use pelton_run::PortableStage;
use pelton_stream::{Chain, Fed, Flow, InputKind, Sink};
use std::io::{self, Read, Write};

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 1 << 18;

/// Runs the kernel for a part (`Special::Part`), or for what all parts have printed (`Special::PartSums`). Returns its status.
///
/// # Errors
/// Why only the real command over the whole can do this; or if something cannot be read or written.
pub fn run_fold(
    stage: &PortableStage,
    case: Special<'_>,
    from: &mut dyn Read,
    to: &mut dyn Write,
    messages: &mut dyn Write,
) -> io::Result<i32> {
    let refused = |reason: &str| io::Error::other(format!("{}: {reason}", stage.candidate.name));
    let accepted = stage.candidate.command.as_ref().map_err(|declined| refused(&declined.reason))?;
    let kernel = accepted.command.kernel_for(case).ok_or_else(|| refused("its parts cannot be folded"))?;
    let kernel = kernel.map_err(|declined| refused(&declined.reason))?;
    let mut chain = Chain::new(vec![kernel]);
    let mut out = Output { to, messages, failure: None };
    let more = |fed: Fed, out: &mut Output<'_>| match (fed, out.failure.take()) {
        (_, Some(error)) => Err(error),
        (Err(left), None) => Err(refused(left.first().map_or("it fell back", |first| first.reason))),
        (Ok(flow), None) => Ok(flow == Flow::More),
    };
    let begun = chain.begin(&[InputKind::Other], &mut out);
    more(begun, &mut out)?;
    let begun = chain.begin_input(None, &mut out);
    more(begun, &mut out)?;
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let read = match from.read(&mut block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            break;
        }
        let pushed = chain.push(&block[..read], &mut out);
        if !more(pushed, &mut out)? {
            return Err(refused("it ended before its input"));
        }
    }
    let ended = chain.end_input(&mut out);
    more(ended, &mut out)?;
    let finished = chain.finish(&mut out);
    more(finished, &mut out)?;
    out.to.flush()?;
    Ok(chain.statuses().first().copied().unwrap_or_default())
}

/// Where the kernel's output and messages go.
struct Output<'a> {
    to: &'a mut dyn Write,
    messages: &'a mut dyn Write,
    failure: Option<io::Error>,
}

impl Sink for Output<'_> {
    fn take(&mut self, bytes: &[u8]) -> Flow {
        match self.to.write_all(bytes) {
            Ok(()) => Flow::More,
            Err(error) => {
                self.failure = Some(error);
                Flow::Done
            }
        }
    }

    fn complain(&mut self, text: &[u8]) {
        // Nobody could be told that it cannot be said.
        let _ = self.messages.write_all(text);
    }
}
