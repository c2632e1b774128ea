//! The processes of a program, with their children: who started whom, and what each cost alone.

use super::process::FamilyProcess;
use pelton_record::Cost;

/// The processes that have ended, and their parents.
pub struct Relations<'a> {
    pub members: &'a [FamilyProcess],
    pub children: Vec<Vec<usize>>,
}

impl<'a> Relations<'a> {
    pub fn of(members: &'a [FamilyProcess]) -> Self {
        let mut children = vec![Vec::new(); members.len()];
        for (index, member) in members.iter().enumerate() {
            if let Some(parent) = member.parent {
                children[parent].push(index);
            }
        }
        Relations { members, children }
    }

    /// Returns the cost of `index` alone: its own CPU time; for the rest, its cost with its children, less
    /// that of the children that it waited for.
    pub fn own(&self, index: usize) -> Cost {
        let member = &self.members[index];
        let mut cost = member.inclusive.clone();
        let before = |child: &&usize| {
            let end_ns = self.members[**child].end_ns;
            end_ns > 0 && end_ns <= member.end_ns
        };
        for &child in self.children[index].iter().filter(before) {
            let theirs = &self.members[child].inclusive;
            // Not waited for: a process that ignores the ends of its children is not charged for them.
            if theirs.cpu_ns() <= cost.cpu_ns() {
                subtract(&mut cost, theirs);
            }
        }
        let split = if cost.cpu_ns() > 0 { cost.user_ns as f64 / cost.cpu_ns() as f64 } else { 0.5 };
        cost.user_ns = (member.cpu_ns as f64 * split) as u64;
        cost.sys_ns = member.cpu_ns - cost.user_ns;
        cost.peak_rss_bytes =
            if member.peak_rss_bytes > 0 { member.peak_rss_bytes } else { cost.peak_rss_bytes };
        cost
    }

    /// Returns `index` and its descendants.
    pub fn descendants(&self, index: usize) -> Vec<usize> {
        let mut found = vec![index];
        let mut at = 0;
        while let Some(&next) = found.get(at) {
            found.extend(&self.children[next]);
            at += 1;
        }
        found
    }

    /// Returns the name of the program of this member. A fork that executed none has the name of its nearest ancestor that
    /// did, with ` (fork)`; `?` if none is known.
    pub fn name(&self, index: usize) -> String {
        let mut now = index;
        while self.members[now].words.is_empty() {
            match self.members[now].parent {
                Some(parent) => now = parent,
                None => return "?".to_owned(),
            }
        }
        let word = &self.members[now].words[0];
        let name = word.rsplit('/').next().unwrap_or(word).to_owned();
        if now == index { name } else { format!("{name} (fork)") }
    }
}

fn subtract(cost: &mut Cost, theirs: &Cost) {
    let less = |own: Option<u64>, theirs: Option<u64>| Some(own?.saturating_sub(theirs?));
    cost.user_ns = cost.user_ns.saturating_sub(theirs.user_ns);
    cost.sys_ns = cost.sys_ns.saturating_sub(theirs.sys_ns);
    cost.read_bytes = less(cost.read_bytes, theirs.read_bytes);
    cost.written_bytes = less(cost.written_bytes, theirs.written_bytes);
    cost.read_calls = less(cost.read_calls, theirs.read_calls);
    cost.write_calls = less(cost.write_calls, theirs.write_calls);
    cost.minor_faults = cost.minor_faults.saturating_sub(theirs.minor_faults);
    cost.major_faults = cost.major_faults.saturating_sub(theirs.major_faults);
    cost.block_inputs = cost.block_inputs.saturating_sub(theirs.block_inputs);
    cost.block_outputs = cost.block_outputs.saturating_sub(theirs.block_outputs);
    cost.voluntary_switches = cost.voluntary_switches.saturating_sub(theirs.voluntary_switches);
    cost.involuntary_switches = cost.involuntary_switches.saturating_sub(theirs.involuntary_switches);
}

#[cfg(test)]
mod tests {
    use super::super::process::tests::member;
    use super::*;

    #[test]
    fn what_children_cost_is_not_their_parents() {
        let mut shell = member(None, "sh -c x", [0, 0], 10);
        shell.inclusive = Cost { user_ns: 40_000_000, read_bytes: Some(700), ..Cost::zero() };
        let mut child = member(Some(0), "awk x", [0, 0], 30);
        child.inclusive.read_bytes = Some(500);
        let members = [shell, child];
        let family = Relations::of(&members);
        assert_eq!((family.own(0).cpu_ns(), family.own(0).read_bytes), (10_000_000, Some(200)));
        assert_eq!(family.own(1).cpu_ns(), 30_000_000);
        assert_eq!(family.descendants(0), [0, 1]);
    }

    #[test]
    fn a_fork_without_a_program_has_its_parents_name() {
        let members = [member(None, "/bin/bash x.sh", [0, 0], 1), member(Some(0), "", [0, 3], 1)];
        let family = Relations::of(&members);
        assert_eq!((family.name(0).as_str(), family.name(1).as_str()), ("bash", "bash (fork)"));
    }
}
