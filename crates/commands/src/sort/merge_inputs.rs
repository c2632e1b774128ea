//! `sort -m` of several inputs.
//!
//! They arrive one after another, so they must be kept: in memory, or else in a file.

use pelton_stream::{BLOCK_BYTES, Flow, Framing, Holding, Kernel, Notice, Outcome};

use super::kernel::{FAILURE, complete};
use super::merge::Merge;
use super::options::SortOptions;
use super::order::LineOrder;
use super::spill_directory::SpillDirectory;
use super::stored_lines::{TextSource, Texts};

/// Keeps its inputs, then merges them.
#[derive(Debug)]
pub(crate) struct MergeKernel {
    order: LineOrder,
    terminator: u8,
    unique: bool,
    /// `-S`, in bytes, and `-T`.
    memory: (Option<usize>, Option<Vec<u8>>),
    texts: Texts,
    /// The merge, once all inputs have ended.
    merge: Option<Merge<TextSource>>,
    /// The reservation of shared memory.
    held: Option<Holding>,
    complaint: Vec<u8>,
    failed: bool,
}

impl MergeKernel {
    pub(crate) fn new(options: &SortOptions) -> Self {
        MergeKernel {
            order: options.order(),
            terminator: options.terminator,
            unique: options.unique,
            memory: (options.size_bytes, options.directory.clone()),
            texts: Texts::default(),
            merge: None,
            held: None,
            complaint: Vec::new(),
            failed: false,
        }
    }

    fn give_up(&mut self, complaint: Vec<u8>) -> Outcome {
        (self.complaint, self.failed) = (complaint, true);
        Ok(Flow::Done)
    }
}

impl Kernel for MergeKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.terminator)
    }

    fn notice(&mut self, notice: Notice<'_>) {
        if let Notice::Resources(resources) = notice {
            self.texts.spill_to(SpillDirectory::of(resources, &self.memory));
        }
    }

    fn begin_input(&mut self, _name: Option<&[u8]>, _out: &mut Vec<u8>) {
        self.texts.begin();
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        let ends = block.last() == Some(&self.terminator);
        let pushed =
            if ends { self.texts.push(block) } else { self.texts.push(&completed(block, self.terminator)) };
        pushed.map_or_else(|complaint| self.give_up(complaint), |()| Ok(Flow::More))
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        if self.failed {
            return Ok(Flow::Done);
        }
        let MergeKernel { order, terminator, unique, texts, merge, held, .. } = self;
        let merge = merge.get_or_insert_with(|| {
            let sources;
            (sources, *held) = std::mem::take(texts).into_sources(*terminator);
            Merge::new(order.clone(), *unique, sources)
        });
        let enough = out.len() + BLOCK_BYTES;
        let mut more = true;
        while more && out.len() < enough {
            more = merge.next(|line, _| out.extend_from_slice(line));
        }
        // A failed source is no longer merged: earlier output is right, later output is not.
        let failure = merge.sources().find_map(TextSource::failure);
        if let Some(complaint) = failure {
            return self.give_up(complaint);
        }
        Ok(if more { Flow::More } else { Flow::Done })
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complaint)
    }

    fn status(&self) -> i32 {
        if self.failed { FAILURE } else { 0 }
    }
}

fn completed(block: &[u8], terminator: u8) -> Vec<u8> {
    let mut text = block.to_vec();
    complete(&mut text, terminator);
    text
}
