//! Makes the record's tree from samples and, of followed processes, from their exact accounts.

use super::flows::{End, Flow, READER, WRITER};
use super::{Sampled, SampledProcess, findings};
use crate::doctor::holders::Channel;
use crate::inside::Relations;
use pelton_record::process_tree::{ChannelFill, ChannelKind, ProcessTree, TreeChannel, TreeEnd, TreeNode};
use pelton_record::typed_command_line;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A holder of an end counts if it held it for this share of the longest holder's time: in between fork and exec, a
/// child holds everything.
const LASTING: f64 = 0.2;

impl Sampled {
    /// Returns the tree of the sampled processes alone.
    pub fn tree(&self) -> ProcessTree {
        let mut nodes = Nodes::default();
        let places: Vec<usize> = self.processes.iter().fold(Vec::new(), |mut places, process| {
            let parent = process.parent.map(|parent| places[parent]);
            let node = nodes.node(parent, &process.name, &process.text);
            nodes.add(node, process.cpu_ns, process.activity.seen_ns);
            places.push(node);
            places
        });
        finished(self, nodes, &places)
    }

    /// Returns the tree of followed processes, those too short for a sample included.
    pub fn tree_of(&self, family: &Relations<'_>) -> ProcessTree {
        let mut nodes = Nodes::default();
        let mut members: Vec<usize> = Vec::new();
        for (index, member) in family.members.iter().enumerate() {
            // Forks are reported before their children do anything, so parents come first.
            let parent = member.parent.and_then(|parent| members.get(parent)).copied();
            let parent = parent.or((index > 0).then_some(0));
            let node = nodes.node(parent, &family.name(index), &typed_command_line(&member.words));
            nodes.add(node, member.cpu_ns, member.end_ns.saturating_sub(member.start_ns));
            if member.end_ns == 0 {
                nodes.still_running(node);
            }
            members.push(node);
        }
        let places: Vec<usize> =
            self.processes.iter().map(|process| members[place(process, family)]).collect();
        finished(self, nodes, &places)
    }
}

/// Returns the member that a sampled process is.
fn place(process: &SampledProcess, family: &Relations<'_>) -> usize {
    let is = |member: &crate::inside::FamilyProcess| {
        let lived = member.end_ns == 0 || process.first_ns <= member.end_ns;
        member.pid == process.pid && member.start_ns <= process.first_ns && lived
    };
    family.members.iter().position(is).unwrap_or(0)
}

/// Nodes, by their parent and name.
#[derive(Default)]
struct Nodes {
    all: Vec<TreeNode>,
    places: HashMap<(Option<usize>, String), usize>,
}

impl Nodes {
    fn node(&mut self, parent: Option<usize>, name: &str, text: &str) -> usize {
        *self.places.entry((parent, name.to_owned())).or_insert_with(|| {
            let (name, text) = (name.to_owned(), text.to_owned());
            let (cpu_ns, wall_ns) = (Some(0), Some(0));
            self.all.push(TreeNode { parent, name, text, cpu_ns, wall_ns, ..TreeNode::default() });
            self.all.len() - 1
        })
    }

    fn add(&mut self, node: usize, cpu_ns: u64, wall_ns: u64) {
        let node = &mut self.all[node];
        node.times += 1;
        node.cpu_ns = node.cpu_ns.map(|ns| ns + cpu_ns);
        node.wall_ns = node.wall_ns.map(|ns| ns + wall_ns);
    }

    fn still_running(&mut self, node: usize) {
        (self.all[node].cpu_ns, self.all[node].wall_ns) = (None, None);
    }
}

/// Puts samples and channels into the tree; `places` has the node of each sampled process.
fn finished(sampled: &Sampled, nodes: Nodes, places: &[usize]) -> ProcessTree {
    let mut nodes = nodes.all;
    for (process, &node) in sampled.processes.iter().zip(places) {
        nodes[node].activity.get_or_insert_default().add(&process.activity);
    }
    let mut tree = ProcessTree {
        channels: channels(sampled, places),
        nodes,
        samples: sampled.samples,
        findings: Vec::new(),
        deadlock: sampled.deadlock.clone(),
    };
    tree.findings = findings::findings(&tree);
    tree
}

/// Returns the channels, those of the same look merged.
fn channels(sampled: &Sampled, places: &[usize]) -> Vec<TreeChannel> {
    type Look = (ChannelKind, Option<String>, Vec<TreeEnd>, Vec<TreeEnd>);
    let mut found: BTreeMap<Look, TreeChannel> = BTreeMap::new();
    for (channel, flow) in &sampled.flows.all {
        let Some(new) = of_flow(*channel, flow, places) else { continue };
        let look = (new.kind, new.path.clone(), new.writers.clone(), new.readers.clone());
        match found.get_mut(&look) {
            Some(before) => merge(before, &new),
            None => drop(found.insert(look, new)),
        }
    }
    let mut channels: Vec<TreeChannel> = found.into_values().collect();
    channels.sort_by_key(|one| std::cmp::Reverse(one.write_blocked_ns.max(one.read_blocked_ns)));
    channels
}

fn of_flow(channel: Channel, flow: &Flow, places: &[usize]) -> Option<TreeChannel> {
    let (writers, readers) = ends(flow, places)?;
    let fill = flow.fill.finish(0, 1, 0).map(|fill| ChannelFill {
        capacity_bytes: fill.capacity_bytes,
        mean_bytes: fill.mean_bytes,
        full_share: fill.full_share,
        empty_share: fill.empty_share,
        samples: fill.samples,
    });
    Some(TreeChannel {
        kind: match channel {
            Channel::Pipe(_) => ChannelKind::Pipe,
            Channel::Fifo(..) => ChannelKind::Fifo,
            Channel::Socket(_) => ChannelKind::Socket,
        },
        path: flow.path.clone(),
        times: 1,
        writers,
        readers,
        shared: flow.held.iter().all(|side| side.values().all(|&ns| ns == 0)),
        open_ns: flow.open_ns,
        write_blocked_ns: flow.blocked_ns[WRITER],
        read_blocked_ns: flow.blocked_ns[READER],
        longest_unread_ns: flow.longest_unread_ns,
        reader_meanwhile: flow.meanwhile[WRITER],
        writer_meanwhile: flow.meanwhile[READER],
        fill,
    })
}

/// Returns the writers and readers: those that waited on it or were waited for; otherwise those that held only
/// one end; of processes that hold both, nothing can be told.
fn ends(flow: &Flow, places: &[usize]) -> Option<(Vec<TreeEnd>, Vec<TreeEnd>)> {
    let [readers, writers] = [READER, WRITER].map(|side| {
        let waited = lasting(&flow.waited[side], places);
        if waited.is_empty() { lasting(&flow.held[side], places) } else { waited }
    });
    let joins = writers.iter().any(|writer| readers.iter().any(|reader| reader.node != writer.node));
    (joins && !readers.is_empty()).then_some((writers, readers))
}

fn lasting(ends: &HashMap<End, u64>, places: &[usize]) -> Vec<TreeEnd> {
    let longest = ends.values().copied().max().unwrap_or(0);
    let lasts = |ns: u64| ns > 0 && ns as f64 >= LASTING * longest as f64;
    let ends = ends.iter().filter(|(_, ns)| lasts(**ns));
    let ends: BTreeSet<TreeEnd> = ends.map(|(&(place, fd), _)| TreeEnd { node: places[place], fd }).collect();
    ends.into_iter().collect()
}

fn merge(one: &mut TreeChannel, other: &TreeChannel) {
    one.times += other.times;
    one.open_ns += other.open_ns;
    one.write_blocked_ns += other.write_blocked_ns;
    one.read_blocked_ns += other.read_blocked_ns;
    one.longest_unread_ns = one.longest_unread_ns.max(other.longest_unread_ns);
    one.reader_meanwhile.add(&other.reader_meanwhile);
    one.writer_meanwhile.add(&other.writer_meanwhile);
    one.fill = match (one.fill, other.fill) {
        (Some(one), Some(other)) => Some(mean(one, other)),
        (one, other) => one.or(other),
    };
}

fn mean(one: ChannelFill, other: ChannelFill) -> ChannelFill {
    let (n, m) = (f64::from(one.samples), f64::from(other.samples));
    let mean = |a: f64, b: f64| (a * n + b * m) / (n + m).max(1.0);
    ChannelFill {
        capacity_bytes: one.capacity_bytes.max(other.capacity_bytes),
        mean_bytes: mean(one.mean_bytes as f64, other.mean_bytes as f64) as u64,
        full_share: mean(one.full_share, other.full_share),
        empty_share: mean(one.empty_share, other.empty_share),
        samples: one.samples + other.samples,
    }
}
