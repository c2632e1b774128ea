//! What a shell started from the lines of its script: pipelines, and single commands. Comparing that with the
//! script's text is left to the caller.

use super::find_pipelines;
use super::relations::Relations;
use crate::wiring::{IN, OUT};
use pelton_record::Cost;
use pelton_record::inside::Within;
use pelton_sys::procfs;
use std::collections::{HashMap, HashSet};

/// Everything that a shell started.
#[derive(Debug, Default)]
pub struct Launches {
    /// Launches of the same form at the same place are merged. Nested ones come after the enclosing one.
    pub launched: Vec<Launched>,
    /// CPU time of the shell, and of its forks that run none of these.
    pub shell_cpu_ns: u64,
}

/// A pipeline or single command that the shell started once or repeatedly.
#[derive(Debug)]
pub struct Launched {
    /// Its stages.
    pub stages: Vec<Started>,
    /// The inner pipeline that it corresponds to, if any.
    pub pipeline: Option<usize>,
    /// The launch that contains it, if a stage of that one is a part of the shell's script.
    pub within: Option<usize>,
    /// How often it was started.
    pub times: u64,
    /// Its cost with all descendants. Its wall time is a sum, from the first stage's start to the last one's
    /// end.
    pub cost: Cost,
    /// CPU time without that of nested launches.
    pub own_cpu_ns: u64,
}

/// A stage as started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Started {
    /// Its line, if known.
    pub line: Option<u32>,
    /// The name of its program; `None` for a fork of the shell, which runs a part of the script.
    pub program: Option<String>,
    /// The name of the script that was started, if one was: it may have become the program.
    pub script: Option<String>,
}

/// The key by which launches are merged.
type Look = (Option<usize>, Vec<Started>);

/// Returns what the first process started, if it is a shell with known lines.
pub fn launches(family: &Relations<'_>, places: &HashMap<usize, Within>) -> Launches {
    let mut found = Found::new(family);
    for chain in found.all() {
        found.add(&chain, places);
    }
    found.share_out();
    Launches { launched: found.launched, shell_cpu_ns: found.shell_cpu_ns }
}

struct Found<'a> {
    family: &'a Relations<'a>,
    launched: Vec<Launched>,
    looks: HashMap<Look, usize>,
    /// For each process that leads a stage: its launch.
    owners: Vec<Option<usize>>,
    shell_cpu_ns: u64,
}

impl<'a> Found<'a> {
    fn new(family: &'a Relations<'a>) -> Self {
        let owners = vec![None; family.members.len()];
        Found { family, launched: vec![], looks: HashMap::new(), owners, shell_cpu_ns: 0 }
    }

    /// Whether it is the shell or a fork of it.
    fn is_shell(&self, index: usize) -> bool {
        let mut now = index;
        while now != 0 {
            let member = &self.family.members[now];
            match member.parent {
                Some(parent) if member.words.is_empty() => now = parent,
                _ => return false,
            }
        }
        true
    }

    /// Returns the leaders of all launches, in the order in which the first of each was forked.
    fn all(&self) -> Vec<Vec<usize>> {
        let members = &self.family.members;
        let is_launched = |&index: &usize| {
            let member = &members[index];
            member.end_ns > 0 && member.parent.is_some_and(|parent| self.is_shell(parent))
        };
        let chains = find_pipelines::chains(self.family);
        // A fork of the shell that is not a stage does not count; its commands do.
        let is_any = |part: &&[usize]| part.len() > 1 || !members[part[0]].words.is_empty();
        let parts =
            chains.iter().flat_map(|chain| chain.chunk_by(|&writer, &reader| self.bar(writer, reader)));
        let parts = parts.filter(is_any);
        let mut all: Vec<Vec<usize>> =
            parts.map(|part| part.iter().copied().filter(is_launched).collect()).collect();
        all.retain(|chain| !chain.is_empty());
        let led: HashSet<usize> = all.iter().flatten().copied().collect();
        let alone =
            (0..members.len()).filter(|index| !led.contains(index) && !members[*index].words.is_empty());
        all.extend(alone.filter(is_launched).map(|index| vec![index]));
        all.sort_by_key(|chain| chain.iter().min().copied());
        all
    }

    /// Whether two connected stages may have a `|` between them: a FIFO, or a pipe passed as a file name,
    /// connects different places of the script.
    fn bar(&self, writer: usize, reader: usize) -> bool {
        let [writer, reader] = [writer, reader].map(|index| &self.family.members[index]);
        !writer.pipes[OUT].is_some_and(procfs::is_fifo) && !writer.named[OUT] && !reader.named[IN]
    }

    fn add(&mut self, chain: &[usize], places: &HashMap<usize, Within>) {
        let stages: Vec<Started> = chain.iter().map(|&leader| self.started(leader)).collect();
        let within = self.enclosing(chain[0]);
        let first_ns = chain.iter().map(|&leader| self.family.members[leader].start_ns).min().unwrap_or(0);
        let last_ns = chain.iter().map(|&leader| self.family.members[leader].end_ns).max().unwrap_or(0);
        let new = self.launched.len();
        let at = *self.looks.entry((within, stages.clone())).or_insert(new);
        if at == new {
            let pipeline = places.get(&chain[0]).map(|place| place.pipeline);
            let cost = Cost::zero();
            self.launched.push(Launched { stages, pipeline, within, times: 0, cost, own_cpu_ns: 0 });
        }
        let launched = &mut self.launched[at];
        launched.times += 1;
        launched.cost.wall_ns += last_ns.saturating_sub(first_ns);
        chain.iter().for_each(|&leader| self.owners[leader] = Some(at));
    }

    fn started(&self, leader: usize) -> Started {
        let member = &self.family.members[leader];
        let program = (!member.words.is_empty()).then(|| self.family.name(leader));
        Started { line: member.line, program, script: script(&member.called) }
    }

    /// Returns the nearest launch above `index`.
    fn enclosing(&self, index: usize) -> Option<usize> {
        let mut now = self.family.members[index].parent;
        while let Some(index) = now {
            if let Some(owner) = self.owners[index] {
                return Some(owner);
            }
            now = self.family.members[index].parent;
        }
        None
    }

    /// Adds every process's own cost to the launch that it is part of.
    fn share_out(&mut self) {
        for (index, member) in self.family.members.iter().enumerate() {
            if member.end_ns == 0 {
                continue;
            }
            let own = self.family.own(index);
            let Some(owner) = self.owners[index].or_else(|| self.enclosing(index)) else {
                self.shell_cpu_ns += own.cpu_ns();
                continue;
            };
            self.launched[owner].own_cpu_ns += own.cpu_ns();
            let mut now = Some(owner);
            while let Some(at) = now {
                self.launched[at].cost.add(&own);
                now = self.launched[at].within;
            }
        }
    }
}

/// Returns the name of the script that an interpreter was given, as the system does for a `#!` line.
fn script(called: &[String]) -> Option<String> {
    let (program, rest) = called.split_first()?;
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut words = rest.iter().filter(|word| !word.starts_with('-'));
    if !program.starts_with('/') {
        return None;
    }
    // `#!/usr/bin/env NAME` has the interpreter behind it.
    let skipped = usize::from(name(program) == "env");
    let script = words.nth(skipped)?;
    script.contains('/').then(|| name(script))
}

#[cfg(test)]
mod tests {
    use super::super::process::{FamilyProcess, tests::member};
    use super::*;

    fn at(line: u32, mut member: FamilyProcess) -> FamilyProcess {
        member.line = Some(line);
        member
    }

    /// Lines and programs of the stages, the enclosing launch, how often, CPU time with and without nested
    /// ones, in milliseconds.
    type Shown = (Vec<(u32, String)>, Option<usize>, u64, u64, u64);

    fn found(members: &[FamilyProcess]) -> (Vec<Shown>, u64) {
        let family = Relations::of(members);
        let (_, places) = find_pipelines::pipelines(&family, &HashMap::new(), 0);
        let Launches { launched, shell_cpu_ns } = launches(&family, &places);
        let stage = |stage: &Started| {
            (stage.line.unwrap_or(0), stage.program.clone().unwrap_or_else(|| "()".to_owned()))
        };
        let shown = launched.iter().map(|one| {
            let stages = one.stages.iter().map(stage).collect();
            (stages, one.within, one.times, one.cost.cpu_ns() / 1_000_000, one.own_cpu_ns / 1_000_000)
        });
        (shown.collect(), shell_cpu_ns / 1_000_000)
    }

    fn of(line: u32, program: &str) -> (u32, String) {
        (line, program.to_owned())
    }

    #[test]
    fn an_interpreter_is_given_a_script_by_the_system() {
        let script = |line: &str| super::script(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(script("/bin/sh /usr/bin/zcat f"), named("zcat"));
        assert_eq!(script("/usr/bin/env python3 ./up.py"), named("up.py"));
        assert_eq!(script("/usr/bin/perl -w /opt/x.pl a/b"), named("x.pl"));
        assert_eq!(
            [script("sort /tmp/f"), script("/usr/bin/sort f"), script("python3 a/x.py")],
            [None, None, None]
        );
    }

    #[test]
    fn a_loop_is_one_with_many_runs() {
        let mut members = vec![member(None, "bash x.sh", [0, 0], 1)];
        for i in 0..3 {
            members.push(at(4, member(Some(0), "grep x", [0, 10 + i], 5)));
            members.push(at(4, member(Some(0), "wc -c", [10 + i, 0], 2)));
            members.push(at(5, member(Some(0), "expr 1", [0, 0], 1)));
        }
        let (rows, shell) = found(&members);
        let pipeline = (vec![of(4, "grep"), of(4, "wc")], None, 3, 21, 21);
        assert_eq!((rows, shell), (vec![pipeline, (vec![of(5, "expr")], None, 3, 3, 3)], 1));
    }

    #[test]
    fn what_functions_run_is_within_their_pipeline() {
        let members = [
            member(None, "bash x.sh", [0, 0], 1),
            at(9, member(Some(0), "", [0, 5], 1)),
            at(9, member(Some(0), "", [5, 0], 1)),
            at(3, member(Some(1), "awk tokens", [0, 5], 30)),
            at(6, member(Some(2), "awk parse", [5, 0], 40)),
            // What a program starts is part of its launch.
            member(Some(4), "sh -c x", [5, 0], 7),
        ];
        let (rows, shell) = found(&members);
        let outer = (vec![of(9, "()"), of(9, "()")], None, 1, 79, 2);
        let inner = [(vec![of(3, "awk")], Some(0), 1, 30, 30), (vec![of(6, "awk")], Some(0), 1, 47, 47)];
        assert_eq!((rows, shell), ([&[outer][..], &inner].concat(), 1));
    }

    #[test]
    fn what_is_joined_without_a_bar_has_lines_of_its_own() {
        let fifo = 1 << 63 | 5;
        let mut sort = at(3, member(Some(0), "sort /dev/fd/63", [7, 0], 3));
        sort.named = [true, false];
        let members = [
            member(None, "bash x.sh", [0, 0], 1),
            at(1, member(Some(0), "seq 9", [0, fifo], 1)),
            at(2, member(Some(0), "tac", [fifo, 6], 2)),
            at(2, member(Some(0), "wc", [6, 7], 2)),
            sort,
        ];
        let (rows, _) = found(&members);
        let row = |stages: &[(u32, &str)], ms| {
            (stages.iter().map(|(line, name)| of(*line, name)).collect(), None, 1, ms, ms)
        };
        assert_eq!(rows, [row(&[(1, "seq")], 1), row(&[(2, "tac"), (2, "wc")], 4), row(&[(3, "sort")], 3)]);
    }

    #[test]
    fn a_substitution_is_the_shells_own() {
        let members = [
            member(None, "bash x.sh", [0, 0], 1),
            at(2, member(Some(0), "", [0, 9], 1)),
            at(2, member(Some(1), "date", [0, 9], 3)),
        ];
        assert_eq!(found(&members), (vec![(vec![of(2, "date")], None, 1, 3, 3)], 2));
    }
}
