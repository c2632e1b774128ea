//! The processes of a stage as a tree, what each did, and the channels between them.
//!
//! ```text
//!   processes of stage 1 (python3), by 31 samples:
//!     process  times    real     CPU  runs  read  write  child  sleep  other
//!     python3      1  2.360s  0.105s    2%    3%     0%     0%    95%     0%
//!     └ seq        1  2.008s  0.006s    0%    0%   100%     0%     0%     0%
//!     seq 1 → python3 3: full 100%, writer blocked 1.973s, reader blocked 0.000s
//! ```

use pelton_record::process_tree::{Activity, ChannelKind, ProcessTree, TreeChannel, TreeEnd, TreeNode};
use std::collections::BTreeSet;

use crate::{
    paint::{Pieces, Role},
    rows,
    style::Style,
    text, units,
};

/// Processes and channels shown, unless `all` is set.
const NODES: usize = 12;
const CHANNELS: usize = 8;
/// The width of a process's name with its indent.
const NAME: usize = 28;
/// Waits below this share of the stage's life are shown on request only.
const NOTABLE: f64 = 0.1;

/// Whether its channels are worth a table: it has findings, or processes waited on one that is not the pipe of a
/// pipeline.
pub fn is_notable(tree: &ProcessTree) -> bool {
    let life_ns = tree.nodes.first().and_then(|node| node.wall_ns).unwrap_or(0);
    let long = |channel: &&TreeChannel| {
        let waited_ns = channel.write_blocked_ns.max(channel.read_blocked_ns);
        waited_ns as f64 >= NOTABLE * life_ns as f64 && waited_ns > 0
    };
    !tree.findings.is_empty()
        || tree.channels.iter().filter(|one| !tree.is_pipeline(one)).any(|one| long(&one))
}

/// Renders the processes and the channels. `whose` is the owner.
pub fn lines(tree: &ProcessTree, whose: &str, style: &Style) -> Vec<Pieces> {
    let most = if style.all { usize::MAX } else { CHANNELS };
    let channels = &tree.channels[..tree.channels.len().min(most)];
    let nodes = shown_nodes(tree, channels, style);
    let whose = text::printable(whose, style.unicode);
    let s = if tree.samples == 1 { "" } else { "s" };
    let head = format!("  processes of {whose}, by {} sample{s}:", tree.samples);
    let mut lines = vec![Pieces::one(Role::Plain, head)];
    lines.extend(table(tree, &nodes, style));
    let more = |n: usize, what: &str| Pieces::one(Role::Dim, format!("    and {n} more {what} (--all)"));
    if nodes.len() < tree.nodes.len() {
        lines.push(more(tree.nodes.len() - nodes.len(), "by name"));
    }
    lines.extend(
        channels.iter().map(|one| Pieces::one(Role::Plain, format!("    {}", channel(tree, one, style)))),
    );
    if channels.len() < tree.channels.len() {
        lines.push(more(tree.channels.len() - channels.len(), "channels"));
    }
    lines
}

/// Returns the nodes at the ends of channels with their ancestors, then those that lived longest, in the order of the tree.
fn shown_nodes(tree: &ProcessTree, channels: &[TreeChannel], style: &Style) -> Vec<usize> {
    let mut order: Vec<usize> =
        channels.iter().flat_map(|one| one.writers.iter().chain(&one.readers)).map(|end| end.node).collect();
    let mut rest: Vec<usize> = (0..tree.nodes.len()).collect();
    rest.sort_by_key(|&node| std::cmp::Reverse(tree.nodes[node].wall_ns));
    order.extend(rest);
    let most = if style.all { usize::MAX } else { NODES };
    let mut shown = BTreeSet::new();
    for node in order {
        if shown.len() >= most {
            break;
        }
        let mut now = Some(node);
        while let Some(node) = now {
            shown.insert(node);
            now = tree.nodes[node].parent;
        }
    }
    depth_first(tree, &shown)
}

fn depth_first(tree: &ProcessTree, shown: &BTreeSet<usize>) -> Vec<usize> {
    let mut todo = vec![0];
    let mut order = Vec::new();
    while let Some(node) = todo.pop().filter(|node| shown.contains(node)) {
        order.push(node);
        todo.extend(shown.iter().rev().filter(|&&child| tree.nodes[child].parent == Some(node)));
    }
    order
}

fn depth(tree: &ProcessTree, node: usize) -> usize {
    let mut depth = 0;
    let mut now = tree.nodes[node].parent;
    while let Some(parent) = now {
        depth += 1;
        now = tree.nodes[parent].parent;
    }
    depth
}

const HEADS: [&str; 10] =
    ["process", "times", "real", "CPU", "runs", "read", "write", "child", "sleep", "other"];

fn table(tree: &ProcessTree, nodes: &[usize], style: &Style) -> Vec<Pieces> {
    let cells: Vec<_> = nodes.iter().map(|&node| cells(tree, node, style)).collect();
    rows::named(&HEADS, &cells)
}

fn cells(tree: &ProcessTree, node: usize, style: &Style) -> [String; HEADS.len()] {
    let TreeNode { name, times, wall_ns, cpu_ns, activity, .. } = &tree.nodes[node];
    let branch = match (depth(tree, node), style.unicode) {
        (0, _) => String::new(),
        (depth, true) => format!("{}└ ", "  ".repeat(depth - 1)),
        (depth, false) => format!("{}- ", "  ".repeat(depth - 1)),
    };
    let time = |ns: &Option<u64>| ns.map_or("?".to_owned(), units::seconds);
    let share = |part: fn(&Activity) -> u64| match activity {
        Some(all) => units::percent(part(all) as f64 / all.seen_ns.max(1) as f64),
        None => "?".to_owned(),
    };
    [
        text::shorten(&format!("{branch}{}", text::printable(name, style.unicode)), NAME, style.unicode),
        units::count(*times),
        time(wall_ns),
        time(cpu_ns),
        share(|all| all.running_ns),
        share(|all| all.reading_ns),
        share(|all| all.writing_ns),
        share(|all| all.child_ns),
        share(|all| all.asleep_ns),
        share(|all| all.lock_ns + all.disk_ns + all.outside_ns + all.other_ns),
    ]
}

/// Describes a channel: its ends, its fill, and for how long each was blocked.
pub fn channel(tree: &ProcessTree, one: &TreeChannel, style: &Style) -> String {
    let end =
        |end: &TreeEnd| format!("{} {}", text::printable(&tree.nodes[end.node].name, style.unicode), end.fd);
    let ends = |ends: &[TreeEnd]| match ends {
        [] => "?".to_owned(),
        [one] => end(one),
        [one, rest @ ..] => format!("{} and {} more", end(one), rest.len()),
    };
    let kind = match one.kind {
        ChannelKind::Pipe => "",
        ChannelKind::Fifo => " (FIFO)",
        ChannelKind::Socket => " (socket)",
    };
    let arrow = if style.unicode { "→" } else { "->" };
    let times = if one.times > 1 { format!(", {} times", units::count(one.times)) } else { String::new() };
    let fill = one.fill.map_or(String::new(), |fill| match fill.capacity_bytes {
        Some(_) => {
            format!("full {}, empty {}, ", units::percent(fill.full_share), units::percent(fill.empty_share))
        }
        None => format!("{} in it, ", units::bytes(fill.mean_bytes)),
    });
    format!(
        "{} {arrow} {}{kind}{times}: {fill}writer blocked {}, reader blocked {}",
        ends(&one.writers),
        ends(&one.readers),
        units::seconds(one.write_blocked_ns),
        units::seconds(one.read_blocked_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use pelton_record::process_tree::ChannelFill;

    const MS: u64 = 1_000_000;

    /// A program that starts `seq`, sleeps, and reads only then.
    fn tree() -> ProcessTree {
        let asleep = Activity {
            seen_ns: 2_000 * MS,
            asleep_ns: 1_900 * MS,
            running_ns: 100 * MS,
            ..Activity::default()
        };
        let writes = Activity { seen_ns: 1_900 * MS, writing_ns: 1_900 * MS, ..Activity::default() };
        let node = |parent, name: &str, activity| TreeNode {
            parent,
            name: name.into(),
            times: 1,
            cpu_ns: Some(100 * MS),
            wall_ns: Some(2_000 * MS),
            activity,
            ..TreeNode::default()
        };
        let fill = ChannelFill {
            capacity_bytes: Some(65_536),
            full_share: 1.0,
            samples: 100,
            ..ChannelFill::default()
        };
        let channel = TreeChannel {
            times: 1,
            writers: vec![TreeEnd { node: 1, fd: 1 }],
            readers: vec![TreeEnd { node: 0, fd: 3 }],
            write_blocked_ns: 1_900 * MS,
            fill: Some(fill),
            ..TreeChannel::default()
        };
        let nodes = vec![
            node(None, "python3", Some(asleep)),
            node(Some(0), "seq", Some(writes)),
            node(Some(0), "true", None),
        ];
        ProcessTree { nodes, channels: vec![channel], samples: 100, ..ProcessTree::default() }
    }

    #[test]
    fn processes_are_a_tree_with_their_channels() {
        assert!(is_notable(&tree()));
        let shown = lines(&tree(), "stage 1 (python3)", &samples::wide(80));
        let shown: String = shown.iter().map(|line| line.line(false)).collect();
        let expected = "  processes of stage 1 (python3), by 100 samples:
    process  times    real     CPU  runs  read  write  child  sleep  other
    python3      1  2.000s  0.100s    5%    0%     0%     0%    95%     0%
    └ seq        1  2.000s  0.100s    0%    0%   100%     0%     0%     0%
    └ true       1  2.000s  0.100s     ?     ?      ?      ?      ?      ?
    seq 1 → python3 3: full 100%, empty 0%, writer blocked 1.900s, reader blocked 0.000s
";
        assert_eq!(shown, expected);
    }
}
