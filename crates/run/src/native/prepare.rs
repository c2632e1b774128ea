//! Makes a segment: its kernels, and the real commands for a fallback.

use super::child_programs::Starts;
use super::from_end;
use super::native_stage::NativeStage;
use super::segment::{Native, NativeNode};
use super::tee::CopyKernel;
use crate::c_string::c_string;
use pelton_commands::Messages;
use pelton_commands::io_errors::{STDIO_BUFFER_BYTES, StandardOutput};
use pelton_plan::{Node, Resume};
use pelton_stream::{Joined, Kernel, Programs};
use pelton_sys::spawn::{Exec, Tie};
use std::ops::Range;
use std::sync::Arc;

/// Makes the segment of these stages. `None` if a kernel cannot be made after all.
pub fn segment(range: Range<usize>, nodes: &[Node], accepted: &mut [Option<NativeStage>]) -> Option<Native> {
    let first = nodes.first()?;
    let members = accepted[range.clone()].iter_mut().map(Option::take);
    let mut members: Vec<NativeStage> = members.collect::<Option<_>>()?;
    let at = |stage: usize| stage - range.start;
    let inputs = first.inputs.len();
    let join = first.join_kernel().map(|kernel| (range.start, Joined::new(kernel, inputs)));
    let mut made = Vec::with_capacity(nodes.len());
    for node in nodes.iter().skip(usize::from(join.is_some())) {
        let resume =
            node.resume.iter().map(|resume| Some((resume.stage, real(resume, &members[at(resume.stage)])?)));
        let resume = resume.collect::<Option<_>>()?;
        let own = &mut members[at(node.stages.start)..at(node.stages.end)];
        let itself = own.iter_mut().find_map(|stage| stage.itself.take());
        let itself = itself.map(|exec| Arc::new(Starts::new(exec, false)) as Arc<dyn Programs>);
        let kernel = Some(kernel(node, &own[0].caller.messages)?);
        let buffer_bytes = buffer_bytes(node, own);
        made.push(NativeNode { stages: node.stages.clone(), kernel, buffer_bytes, resume, itself });
    }
    let last = nodes.last().and_then(|node| node.own_command());
    let last_overtakes = last.is_some_and(|accepted| accepted.facts.diagnostics.overtake_output);
    let last_copies = nodes.last().is_some_and(|node| node.copies().is_some());
    let last_runs = nodes.last().and_then(|node| node.child()).map(|child| child.name.clone());
    let is_last = nodes.len() == 1;
    // Rules may drop a stage's node, but never what the first stage reads.
    let reader = members.first_mut()?;
    let starts = reader.starts.take();
    let starts = starts.map(|exec| Arc::new(Starts::new(exec, is_last)) as Arc<dyn Programs>);
    if let Some(ending) = &first.from_end {
        reader.files.sources.iter_mut().for_each(|source| from_end::skip_to(source, ending));
    }
    Some(Native {
        stages: range,
        members,
        join,
        nodes: made,
        last_copies,
        holds_back: false,
        outlives_readers: false,
        last_overtakes,
        reads_at_most: None,
        last_runs,
        starts,
        tie: Tie::None,
        rows: Vec::new(),
    })
}

/// Returns how much the commands that a node stands for keep before they write.
fn buffer_bytes(node: &Node, own: &[NativeStage]) -> u64 {
    let at_once = node.own_command().is_some_and(|accepted| accepted.facts.output.is_unbuffered);
    let keeps = own.iter().any(|stage| stage.caller.standard_output == StandardOutput::Buffered);
    if keeps && !at_once { STDIO_BUFFER_BYTES as u64 } else { 0 }
}

fn kernel(node: &Node, messages: &Messages) -> Option<Box<dyn Kernel>> {
    match node.copies() {
        Some(copies) => Some(Box::new(CopyKernel::new(copies.clone(), messages.clone()))),
        None => node.kernel().ok(),
    }
}

/// Returns the real command that continues after a fallback.
fn real(resume: &Resume, stage: &NativeStage) -> Option<Exec> {
    let exec = stage.exec.as_ref()?;
    let args = resume.args.iter().map(|arg| c_string(arg)).collect::<Option<Vec<_>>>()?;
    let argv = exec.argv.iter().take(1).cloned().chain(args).collect();
    Some(Exec { argv, ..exec.clone() })
}
