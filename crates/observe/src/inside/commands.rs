//! All processes by program: the cost of a loop that starts thousands of them.

use super::relations::Relations;
use pelton_record::Cost;
use pelton_record::inside::Command;
use pelton_record::typed_command_line;
use std::collections::HashMap;

/// Returns a row for each program, the most expensive first.
pub fn commands(family: &Relations<'_>) -> Vec<Command> {
    let mut rows: Vec<Command> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (index, member) in family.members.iter().enumerate() {
        if member.end_ns == 0 {
            continue;
        }
        let name = family.name(index);
        let place = *places.entry(name.clone()).or_insert_with(|| {
            let (cost, cheapest_cpu_ns) = (Cost::zero(), u64::MAX);
            rows.push(Command {
                name,
                text: typed_command_line(&member.words),
                cost,
                cheapest_cpu_ns,
                ..Command::default()
            });
            rows.len() - 1
        });
        let row = &mut rows[place];
        row.times += 1;
        row.cost.add(&family.own(index));
        row.cost.wall_ns += member.inclusive.wall_ns;
        row.before_exec_ns += member.before_exec_ns.unwrap_or(0).min(member.cpu_ns);
        row.cheapest_cpu_ns = row.cheapest_cpu_ns.min(member.cpu_ns);
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.cost.cpu_ns()));
    rows
}

#[cfg(test)]
mod tests {
    use super::super::process::tests::member;
    use super::*;

    #[test]
    fn a_loop_is_a_row() {
        let mut members = vec![member(None, "sh -c loop", [0, 0], 5)];
        members.extend((0..100).map(|i| member(Some(0), "/usr/bin/expr 1 + 1", [0, 0], 1 + i % 2)));
        let rows = commands(&Relations::of(&members));
        let found: Vec<_> =
            rows.iter().map(|row| (row.name.as_str(), row.times, row.cost.cpu_ns())).collect();
        assert_eq!(found, [("expr", 100, 150_000_000), ("sh", 1, 5_000_000)]);
        assert_eq!((rows[0].before_exec_ns, rows[0].cheapest_cpu_ns), (50_000_000, 1_000_000));
    }
}
