//! Conclusions about the channels of a process tree, from its record alone.

use crate::doctor::words::{descriptor, listed};
use pelton_record::Verdict;
use pelton_record::process_tree::{
    Activity, ProcessTree, TreeChannel, TreeEnd, TreeFinding, TreeFindingKind,
};
use std::collections::BTreeSet;

/// Shorter waits are not mentioned.
const LEAST_NS: u64 = 200_000_000;
/// A writer that was blocked for this share of its life, and saw no read in [`LEAST_NS`], is one that nobody reads.
const UNREAD: f64 = 0.25;
/// A process that was blocked for this share of the time for which a channel was open waits for the other side; two that
/// take turns each wait for half of the time.
const MOST: f64 = 0.75;
/// A wait below this share of a process's life is not mentioned.
const WORTH: f64 = 0.1;
/// What a process did for this share of a time is what it did.
const MAINLY: f64 = 0.5;

/// Returns the conclusions, the gravest first, at most one for each pair of processes.
pub fn findings(tree: &ProcessTree) -> Vec<TreeFinding> {
    let mut found: Vec<TreeFinding> =
        tree.deadlock.iter().map(|dead| deadlock(dead.lasted_ns, &dead.finding)).collect();
    let mut pairs: BTreeSet<(Vec<usize>, Vec<usize>)> = BTreeSet::new();
    let rules = [not_read, slow_reader, slow_writer];
    let all = rules.iter().flat_map(|rule| {
        tree.channels
            .iter()
            .enumerate()
            .filter_map(move |(i, channel)| rule(&Scene { tree, channel, place: i }))
    });
    for finding in all {
        let Some(channel) = finding.channel.map(|i| &tree.channels[i]) else { continue };
        // A deadlock explains every wait, and pipelines have verdicts of their own.
        if tree.deadlock.is_none()
            && !tree.is_pipeline(channel)
            && pairs.insert((nodes(&channel.writers), nodes(&channel.readers)))
        {
            found.push(finding);
        }
    }
    found
}

fn nodes(ends: &[TreeEnd]) -> Vec<usize> {
    ends.iter().map(|end| end.node).collect()
}

fn deadlock(lasted_ns: u64, finding: &pelton_record::diagnosis::Finding) -> TreeFinding {
    TreeFinding {
        kind: TreeFindingKind::Deadlock,
        channel: None,
        headline: format!("deadlock for {}: {}", seconds(lasted_ns), finding.headline),
        advice: finding.cure.clone(),
    }
}

/// Adds the conclusions about the only stage's tree to a verdict. One about a large part of the run takes the place
/// of what the verdict says of that stage: that it waits for nothing in the pipeline.
pub fn tell(verdict: &mut Verdict, tree: &ProcessTree) {
    let Some(root) = tree.nodes.first() else { return };
    let wall_ns = root.wall_ns.or(root.activity.map(|activity| activity.seen_ns)).unwrap_or(0);
    for (i, finding) in tree.findings.iter().enumerate() {
        let waited_ns = match finding.channel.and_then(|channel| tree.channels.get(channel)) {
            Some(channel) => channel.write_blocked_ns.max(channel.read_blocked_ns),
            None => wall_ns,
        };
        let leads =
            i == 0 && finding.kind != TreeFindingKind::SlowReader && share(waited_ns, wall_ns) >= UNREAD;
        if leads {
            verdict.headline.clone_from(&finding.headline);
            verdict.advice.clone_from(&finding.advice);
        } else {
            verdict.neighbours.push(finding.headline.clone());
            if i == 0 && finding.advice.is_some() {
                verdict.advice.clone_from(&finding.advice);
            }
        }
    }
}

/// A channel in its tree.
struct Scene<'t> {
    tree: &'t ProcessTree,
    channel: &'t TreeChannel,
    place: usize,
}

impl Scene<'_> {
    fn names(&self, ends: &[TreeEnd]) -> String {
        let nodes: BTreeSet<usize> = ends.iter().map(|end| end.node).collect();
        listed(nodes.into_iter().map(|node| self.tree.nodes[node].name.clone()).collect(), "and")
    }

    /// Returns how long these processes lived.
    fn life_ns(&self, ends: &[TreeEnd]) -> u64 {
        let nodes: BTreeSet<usize> = ends.iter().map(|end| end.node).collect();
        nodes.into_iter().map(|node| self.node_ns(node)).sum()
    }

    /// Returns how long a process lived; the first is the one that was started.
    fn node_ns(&self, node: usize) -> u64 {
        let node = &self.tree.nodes[node];
        node.wall_ns.or(node.activity.map(|activity| activity.seen_ns)).unwrap_or(0)
    }

    fn finding(
        &self,
        kind: TreeFindingKind,
        headline: String,
        advice: Option<String>,
    ) -> Option<TreeFinding> {
        Some(TreeFinding { kind, channel: Some(self.place), headline, advice })
    }
}

fn share(part_ns: u64, whole_ns: u64) -> f64 {
    part_ns as f64 / whole_ns.max(1) as f64
}

/// Whether a wait took most of the time of its channel, and matters in the life of its process.
fn is_most(blocked_ns: u64, open_ns: u64, life_ns: u64) -> bool {
    blocked_ns >= LEAST_NS && share(blocked_ns, open_ns) >= MOST && share(blocked_ns, life_ns) >= WORTH
}

/// The writer was blocked, and nobody read meanwhile.
fn not_read(scene: &Scene<'_>) -> Option<TreeFinding> {
    let Scene { channel, .. } = scene;
    let life_ns = scene.life_ns(&channel.writers);
    if channel.longest_unread_ns < LEAST_NS || share(channel.write_blocked_ns, life_ns) < UNREAD {
        return None;
    }
    let (writer, reader) = (scene.names(&channel.writers), scene.names(&channel.readers));
    let did = did(&channel.reader_meanwhile).map_or(String::new(), |did| format!("{did} and "));
    let end = channel.readers.first().map_or("its end".to_owned(), |end| descriptor(end.fd));
    let headline = format!(
        "{writer} was blocked on write for {} of {}: {reader} {did}did not read {end}",
        seconds(channel.write_blocked_ns.min(life_ns)),
        seconds(life_ns)
    );
    let advice = format!("in {reader}, read {end} while {writer} runs, or put `pelton buffer` between them");
    scene.finding(TreeFindingKind::NotRead, headline, Some(advice))
}

/// The writer was blocked most of the time, though the reader read.
fn slow_reader(scene: &Scene<'_>) -> Option<TreeFinding> {
    let Scene { channel, .. } = scene;
    let life_ns = scene.life_ns(&channel.writers);
    let blocked_ns = channel.write_blocked_ns.min(life_ns);
    if !is_most(blocked_ns, channel.open_ns, life_ns) {
        return None;
    }
    let (writer, reader) = (scene.names(&channel.writers), scene.names(&channel.readers));
    let did = did(&channel.reader_meanwhile).unwrap_or("was slower");
    let headline = format!(
        "{reader} sets the pace: it {did}, and {writer} was blocked on write for {} of {}",
        seconds(blocked_ns),
        seconds(life_ns)
    );
    let computes = share(channel.reader_meanwhile.running_ns, channel.reader_meanwhile.seen_ns) >= MAINLY;
    let advice = if computes {
        None
    } else {
        Some(format!("put `pelton buffer` between {writer} and {reader}, so that {writer} can finish"))
    };
    scene.finding(TreeFindingKind::SlowReader, headline, advice)
}

/// The reader waited for the writer most of the time, and the writer for something else.
fn slow_writer(scene: &Scene<'_>) -> Option<TreeFinding> {
    let Scene { channel, .. } = scene;
    let life_ns = scene.life_ns(&channel.readers);
    let blocked_ns = channel.read_blocked_ns.min(life_ns);
    if share(blocked_ns, scene.node_ns(0)) < WORTH {
        return None;
    }
    let meanwhile = &channel.writer_meanwhile;
    // One that waits for its own input passes on the wait of another.
    let passes_on = share(meanwhile.reading_ns + meanwhile.writing_ns, meanwhile.seen_ns) >= MAINLY;
    // A pool of tokens, such as make's: whoever holds one waits for what it started.
    let is_pool =
        channel.shared && share(meanwhile.child_ns + meanwhile.other_ns, meanwhile.seen_ns) >= MAINLY;
    if !is_most(blocked_ns, channel.open_ns, life_ns) || passes_on || is_pool {
        return None;
    }
    let did = did(meanwhile)?;
    let (writer, reader) = (scene.names(&channel.writers), scene.names(&channel.readers));
    let end = channel.readers.first().map_or("its end".to_owned(), |end| descriptor(end.fd));
    let waited = format!(
        "{reader} was blocked on read from {end} for {} of {}",
        seconds(blocked_ns),
        seconds(life_ns)
    );
    // One that computes is at work: no advice on the channel helps.
    let computes = share(meanwhile.running_ns, meanwhile.seen_ns) >= MAINLY;
    let (headline, advice) = match computes {
        true => (format!("{writer} sets the pace: it computed, and {waited}"), None),
        false => {
            // One that sleeps may have nothing to write: that is no fault.
            let sleeps = share(meanwhile.asleep_ns, meanwhile.seen_ns) >= MAINLY;
            let advice =
                format!("make {writer} faster, or start earlier: {reader} waits for what comes from there");
            (format!("{waited}: {writer} {did}"), (!sleeps).then_some(advice))
        }
    };
    scene.finding(TreeFindingKind::SlowWriter, headline, advice)
}

/// Returns what a process mainly did, in words that follow its name.
fn did(activity: &Activity) -> Option<&'static str> {
    let all = [
        (activity.running_ns, "computed"),
        (activity.asleep_ns, "slept"),
        (activity.child_ns, "waited for a child to end"),
        (activity.reading_ns, "was blocked on read elsewhere"),
        (activity.writing_ns, "was blocked on write itself"),
        (activity.lock_ns, "waited for a lock or a thread"),
        (activity.disk_ns, "waited for the disk"),
        (activity.outside_ns, "waited for something outside"),
    ];
    let (ns, words) = all.into_iter().max_by_key(|(ns, _)| *ns)?;
    (share(ns, activity.seen_ns) >= MAINLY).then_some(words)
}

fn seconds(ns: u64) -> String {
    format!("{:.1} s", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_record::process_tree::TreeNode;

    const S: u64 = 1_000_000_000;

    fn node(parent: Option<usize>, name: &str) -> TreeNode {
        TreeNode { parent, name: name.into(), times: 1, wall_ns: Some(2 * S), ..TreeNode::default() }
    }

    /// A program (node 0, descriptor 3) that reads what `seq` writes.
    fn tree(channel: TreeChannel) -> ProcessTree {
        let channel = TreeChannel {
            times: 1,
            open_ns: 2 * S,
            writers: vec![TreeEnd { node: 1, fd: 1 }],
            readers: vec![TreeEnd { node: 0, fd: 3 }],
            ..channel
        };
        let nodes = vec![node(None, "python3"), node(Some(0), "seq")];
        ProcessTree { nodes, channels: vec![channel], ..ProcessTree::default() }
    }

    fn asleep(ns: u64) -> Activity {
        Activity { seen_ns: ns, asleep_ns: ns, ..Activity::default() }
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_named() {
        let channel = TreeChannel {
            write_blocked_ns: 19 * S / 10,
            longest_unread_ns: 19 * S / 10,
            reader_meanwhile: asleep(19 * S / 10),
            ..TreeChannel::default()
        };
        let [found] = findings(&tree(channel)).try_into().expect("one");
        let expected =
            "seq was blocked on write for 1.9 s of 2.0 s: python3 slept and did not read descriptor 3";
        assert_eq!((found.kind, found.headline.as_str()), (TreeFindingKind::NotRead, expected));
    }

    #[test]
    fn turns_are_no_finding() {
        let turn = TreeChannel {
            read_blocked_ns: S,
            write_blocked_ns: S / 2,
            longest_unread_ns: S / 50,
            writer_meanwhile: Activity { seen_ns: S, running_ns: S, ..Activity::default() },
            ..TreeChannel::default()
        };
        assert_eq!(findings(&tree(turn)), []);
    }

    #[test]
    fn who_waits_for_a_pool_waits_for_no_one() {
        let waited = |shared, meanwhile| TreeChannel {
            read_blocked_ns: 19 * S / 10,
            writer_meanwhile: meanwhile,
            shared,
            ..TreeChannel::default()
        };
        let child = Activity { seen_ns: S, child_ns: S, ..Activity::default() };
        assert_eq!(findings(&tree(waited(true, child))), []);
        let reading = Activity { seen_ns: S, reading_ns: S, ..Activity::default() };
        assert_eq!(findings(&tree(waited(false, reading))), []);
        let said = findings(&tree(waited(false, asleep(S))));
        assert_eq!(
            said[0].headline,
            "python3 was blocked on read from descriptor 3 for 1.9 s of 2.0 s: seq slept"
        );
    }
}
