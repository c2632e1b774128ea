//! Runs the kernels of a stage whose parts are folded: one over a part, one over what those have printed.

use memchr::memrchr;
use pelton_commands::Special;
use pelton_run::PortableStage;
use pelton_stream::{Flow, Framing, HandOver, Kernel};
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
    let mut kernel = kernel.map_err(|declined| refused(&declined.reason))?;
    let failed = |hand_over: HandOver| refused(hand_over.reason);
    let mut out = Vec::new();
    kernel.begin_input(None, &mut out);
    push_all(kernel.as_mut(), from, &mut out, &failed)?;
    kernel.end_input(&mut out).map_err(failed)?;
    loop {
        let flow = kernel.finish(&mut out).map_err(failed)?;
        messages.write_all(&kernel.messages())?;
        to.write_all(&out)?;
        out.clear();
        if flow != Flow::More {
            break;
        }
    }
    to.flush()?;
    Ok(kernel.status())
}

/// Gives everything to a kernel, in blocks as it wants them.
fn push_all(
    kernel: &mut dyn Kernel,
    from: &mut dyn Read,
    out: &mut Vec<u8>,
    failed: &dyn Fn(HandOver) -> io::Error,
) -> io::Result<()> {
    let mut block = Vec::new();
    loop {
        let read = from.take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
        let whole = match kernel.framing() {
            Framing::Records(end) if read > 0 => memrchr(end, &block).map_or(0, |at| at + 1),
            _ => block.len(),
        };
        let mut next = Some(&block[..whole]).filter(|block| !block.is_empty());
        while let Some(block) = next {
            next = match kernel.push(block, out).map_err(failed)? {
                Flow::More => None,
                Flow::Pending => Some(&[]),
                Flow::NextInput | Flow::Done => return Err(io::Error::other("it ended before its input")),
            };
        }
        block.drain(..whole);
        if read == 0 {
            return Ok(());
        }
    }
}
