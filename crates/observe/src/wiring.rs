//! Finds pipelines among processes: one process writes to the pipe that the next one reads.
//!
//! A stage's leader is the topmost process with the pipe as its standard input or output: its children
//! inherit that. Pipes that no process has as standard input (those of command substitutions) connect
//! nothing.

use std::collections::{HashMap, HashSet};

/// The data of a process that is needed here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wired {
    /// Its parent, by index.
    pub parent: Option<usize>,
    /// The pipes behind its standard input and output.
    pub pipes: [Option<u64>; 2],
}

pub const IN: usize = 0;
pub const OUT: usize = 1;

/// Returns the leaders of each pipeline, in the order of the data flow.
pub fn chains(processes: &[Wired]) -> Vec<Vec<usize>> {
    let mut ends: [HashMap<u64, usize>; 2] = Default::default();
    for (index, process) in processes.iter().enumerate() {
        let parent = process.parent.and_then(|parent| processes.get(parent));
        for side in [IN, OUT] {
            if let Some(pipe) = process.pipes[side]
                && parent.is_none_or(|parent| parent.pipes[side] != Some(pipe))
            {
                // Of several, the first one: the others came later, at the same place.
                ends[side].entry(pipe).or_insert(index);
            }
        }
    }
    let [readers, writers] = ends;
    let next = |writer: usize| {
        let pipe = processes[writer].pipes[OUT]?;
        let reader = readers.get(&pipe).copied().filter(|&reader| reader != writer);
        reader.filter(|_| writers.get(&pipe) == Some(&writer))
    };
    let followed: HashSet<usize> = writers.values().filter_map(|&writer| next(writer)).collect();
    let mut firsts: Vec<usize> = writers.values().copied().collect();
    firsts.retain(|writer| !followed.contains(writer) && next(*writer).is_some());
    firsts.sort_unstable();
    let chain = |first: usize| {
        let mut chain = vec![first];
        while let Some(next) = next(chain[chain.len() - 1]).filter(|next| !chain.contains(next)) {
            chain.push(next);
        }
        chain
    };
    firsts.into_iter().map(chain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(parent: Option<usize>, pipes: [u64; 2]) -> Wired {
        Wired { parent, pipes: pipes.map(|inode| (inode > 0).then_some(inode)) }
    }

    #[test]
    fn data_leads_from_stage_to_stage() {
        // sh: 1 | 2 | 3, of which 2 is a shell's fork that runs 4.
        let shell = process(None, [0, 0]);
        let stages = [process(Some(0), [0, 5]), process(Some(0), [5, 6]), process(Some(0), [6, 0])];
        let inner = process(Some(2), [5, 6]);
        assert_eq!(chains(&[shell, stages[0], stages[1], stages[2], inner]), [[1, 2, 3]]);
        assert_eq!(chains(&[shell, stages[0]]), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_circle_is_no_line() {
        assert_eq!(chains(&[process(None, [5, 6]), process(None, [6, 5])]), Vec::<Vec<usize>>::new());
    }
}
