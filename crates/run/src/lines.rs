//! The cost of each line of a script: maps what the shell started to the text.
//!
//! Known are the shell's line for each start (`sys::follow::LinePlace`) and the programs. A line may hold
//! several pipelines, and a pipeline several lines; a stage that is a function has only the function's line.
//! So the pipeline in the text with matching stages is chosen. Without a match, as in a sourced file, no line
//! is named.

use crate::measure::judge_inside;
use crate::script;
use crate::stage::is_builtin;
use pelton_observe::inside::{Launched, Launches, Started};
use pelton_record::inside::Inside;
use pelton_record::{Cost, Line, Lines, Run};
use pelton_syntax::{self as syntax, Command, Dialect, Pipeline, Simple, Word};

/// Adds the cost of each line of `text` to its run.
pub fn add_lines(run: &mut Run, text: &str, dialect: Option<Dialect>, launches: Option<&Launches>) {
    let lines = match launches {
        Some(launches) => {
            let sources = sources(text, dialect);
            let found: Vec<Option<usize>> =
                launches.launched.iter().map(|launched| source(launched, &sources)).collect();
            let stages = run.pipelines.iter_mut().flat_map(|pipeline| &mut pipeline.stages);
            if let Some(inside) = stages.filter_map(|stage| stage.inside.as_mut()).next() {
                name_stages(inside, launches, &found, &sources);
            }
            by_launches(launches, &found, &sources)
        }
        None => by_pipelines(run, text),
    };
    run.lines = Some(Lines { cpu_ns: run.total.cpu_ns(), ..lines });
    // Uses the stages' new names.
    judge_inside(run);
}

/// A pipeline of the text.
struct Source {
    /// Its first and last line.
    first: u32,
    last: u32,
    text: String,
    stages: Vec<SourceStage>,
}

struct SourceStage {
    says: Says,
    text: String,
}

/// What the text shows of a stage.
enum Says {
    /// A program or a builtin.
    Name(String),
    /// A function, and the lines of its definition.
    Function(String, (u32, u32)),
    /// Unknown.
    Open,
}

impl Says {
    fn fits(&self, started: &Started) -> bool {
        match (self, &started.program) {
            (Says::Name(name), Some(program)) => {
                let name = last_part(name);
                name == program || started.script.as_deref() == Some(name)
            }
            (Says::Name(name), None) => is_builtin(name),
            // A fork may become the last program of the function.
            (Says::Function(_, (first, last)), Some(_)) => {
                started.line.is_some_and(|line| (*first..=*last).contains(&line))
            }
            (Says::Function(..), None) | (Says::Open, _) => true,
        }
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Builtins and programs that exec another program.
const BECOME: [&str; 10] =
    ["command", "exec", "env", "nice", "nohup", "stdbuf", "setsid", "timeout", "sudo", "chroot"];

fn sources(text: &str, dialect: Option<Dialect>) -> Vec<Source> {
    let Some(dialect) = dialect else { return vec![] };
    let Ok(parsed) = syntax::parse(text, dialect) else { return vec![] };
    if parsed.unmodelled().is_some() {
        return vec![];
    }
    let found = script::pipelines(&parsed);
    let functions: Vec<Function> =
        found.iter().filter_map(|found| Function::of(&found.pipeline, text)).collect();
    let pipelines = found.iter().map(|found| &found.pipeline).filter(|pipeline| !is_compound(pipeline));
    pipelines.map(|pipeline| source_of(pipeline, text, &functions)).collect()
}

/// A function's name and lines.
struct Function(String, (u32, u32));

impl Function {
    fn of(pipeline: &Pipeline, text: &str) -> Option<Self> {
        let [stage] = pipeline.stages.as_slice() else { return None };
        let Command::Function { name } = &stage.command else { return None };
        let lines = (line_of(text, stage.span.start), line_of(text, stage.span.end));
        Some(Function(name.clone(), lines))
    }
}

/// Returns the line of a byte, from 1.
fn line_of(text: &str, at: usize) -> u32 {
    1 + text[..at].matches('\n').count() as u32
}

/// Whether the pipeline is one compound command, which starts nothing itself.
fn is_compound(pipeline: &Pipeline) -> bool {
    matches!(pipeline.stages.as_slice(), [stage] if !matches!(stage.command, Command::Simple(_)))
}

fn source_of(pipeline: &Pipeline, text: &str, functions: &[Function]) -> Source {
    let stages = pipeline.stages.iter().map(|stage| {
        let says = stage.simple().map_or(Says::Open, |simple| says(simple, functions));
        SourceStage { says, text: on_one_line(stage.span.of(text)) }
    });
    Source {
        first: line_of(text, pipeline.span.start),
        last: line_of(text, pipeline.span.end),
        text: on_one_line(pipeline.span.of(text)),
        stages: stages.collect(),
    }
}

fn says(simple: &Simple, functions: &[Function]) -> Says {
    match simple.words.first().and_then(Word::static_text) {
        Some(name) => match functions.iter().find(|function| function.0 == name) {
            Some(Function(name, lines)) => Says::Function(name.clone(), *lines),
            None if BECOME.contains(&name.as_str()) => Says::Open,
            None => Says::Name(name),
        },
        None => Says::Open,
    }
}

/// Returns a text of several lines on one, to be shown: `;` stands where the end of a line ended a command.
pub fn on_one_line(text: &str) -> String {
    /// After these a command goes on, or begins.
    const BEFORE_COMMANDS: [&str; 8] = ["do", "then", "else", "in", "{", "!", "if", "while"];
    let mut shown = String::with_capacity(text.len());
    let mut goes_on = true;
    for line in text.split('\n') {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(last) = words.last() else { continue };
        if !shown.is_empty() {
            shown.push_str(if goes_on || words[0].starts_with(['|', '&', ')']) { " " } else { "; " });
        }
        goes_on = last.ends_with(['|', '&', ';', '(', '\\'])
            || BEFORE_COMMANDS.contains(last)
            // A pattern of `case`.
            || last.ends_with(')') && !line.contains('(');
        shown.push_str(line.trim().trim_end_matches('\\').trim_end());
    }
    shown
}

/// Returns the pipeline of the text that was started there.
fn source(launched: &Launched, sources: &[Source]) -> Option<usize> {
    let stages = &launched.stages;
    // A fork's line may be that of the previous command.
    let known = |stage: &&Started| stage.program.is_some();
    let lines = || stages.iter().filter(known).filter_map(|stage| stage.line);
    let here =
        |source: &&(usize, &Source)| lines().all(|line| (source.1.first..=source.1.last).contains(&line));
    let all = || sources.iter().enumerate();
    if lines().next().is_some() {
        let best = all().filter(|source| here(&source)).filter_map(|(index, source)| {
            let length = source.last - source.first;
            Some((likeness(stages, source)?, std::cmp::Reverse(length), std::cmp::Reverse(index)))
        });
        if let Some((_, _, std::cmp::Reverse(index))) = best.max() {
            return Some(index);
        }
    }
    // Without a line, or with lines in functions' bodies: the pipeline with such stages, if there is only
    // one.
    let whole = |(_, source): &(usize, &Source)| {
        let pairs = || source.stages.iter().zip(stages);
        source.stages.len() == stages.len()
            && stages.len() > 1
            && pairs().all(|(said, started)| said.says.fits(started))
            && pairs().any(|(said, _)| matches!(said.says, Says::Function(..)))
    };
    let mut found = all().filter(whole).map(|(index, _)| index);
    found.next().filter(|_| found.next().is_none())
}

/// Returns how many stages match those of the text: all of them in order, or at least each matches one of
/// them.
fn likeness(stages: &[Started], source: &Source) -> Option<usize> {
    let in_place = source.stages.len() == stages.len()
        && source.stages.iter().zip(stages).all(|(said, started)| said.says.fits(started));
    let named = |started: &&Started| {
        let is_so = |said: &&SourceStage| matches!(said.says, Says::Name(_)) && said.says.fits(started);
        source.stages.iter().any(|said| is_so(&said))
    };
    let count = stages.iter().filter(named).count();
    let somewhere = stages.iter().all(|started| source.stages.iter().any(|said| said.says.fits(started)));
    (in_place || somewhere).then_some(2 * count + usize::from(in_place))
}

/// Gives the inner pipelines their lines and text, and stages that are functions their names.
fn name_stages(inside: &mut Inside, launches: &Launches, found: &[Option<usize>], sources: &[Source]) {
    for (launched, found) in launches.launched.iter().zip(found) {
        let (Some(pipeline), Some(found)) = (launched.pipeline, found) else { continue };
        let (Some(inner), source) = (inside.pipelines.get_mut(pipeline), &sources[*found]) else { continue };
        inner.line = Some(source.first);
        if source.stages.len() != inner.pipeline.stages.len() {
            continue;
        }
        inner.pipeline.text.clone_from(&source.text);
        for (stage, said) in inner.pipeline.stages.iter_mut().zip(&source.stages) {
            match &said.says {
                Says::Function(name, _) => {
                    let is_fork = stage.name.contains('(');
                    stage.name = if is_fork { name.clone() } else { format!("{name} {}", stage.name) };
                    stage.text.clone_from(&said.text);
                }
                // A script that has become another program, or stands behind its interpreter.
                Says::Name(name) if last_part(name) != stage.name => {
                    stage.name = last_part(name).to_owned();
                    stage.text.clone_from(&said.text);
                }
                Says::Name(_) | Says::Open => {}
            }
        }
    }
}

fn by_launches(launches: &Launches, found: &[Option<usize>], sources: &[Source]) -> Lines {
    let mut rows: Vec<(Result<usize, String>, Line)> = Vec::new();
    let of = |&index: &usize| found[index].ok_or_else(|| ran(&launches.launched[index]));
    for (index, launched) in launches.launched.iter().enumerate() {
        let key = of(&index);
        let at = rows.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            rows.push((key.clone(), line(&key, sources)));
            rows.len() - 1
        });
        let row = &mut rows[at].1;
        row.own_cpu_ns += launched.own_cpu_ns;
        // A recursive run is part of the outer one.
        let mut around = std::iter::successors(launched.within, |&at| launches.launched[at].within);
        if !around.any(|around| of(&around) == key) {
            row.runs += launched.times;
            row.cost.add(&launched.cost);
            row.cost.wall_ns += launched.cost.wall_ns;
        }
    }
    let mut rows: Vec<Line> = rows.into_iter().map(|(_, row)| row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.cost.cpu_ns()));
    Lines { rows, shell_cpu_ns: launches.shell_cpu_ns, cpu_ns: 0 }
}

/// Returns what was run, where the text does not show it.
fn ran(launched: &Launched) -> String {
    let names = launched.stages.iter().map(|stage| stage.program.as_deref().unwrap_or("(…)"));
    names.collect::<Vec<_>>().join(" | ")
}

fn line(key: &Result<usize, String>, sources: &[Source]) -> Line {
    let (line, text) = match key {
        Ok(index) => (Some(sources[*index].first), sources[*index].text.clone()),
        Err(ran) => (None, ran.clone()),
    };
    Line { line, text, cost: Cost::zero(), ..Line::default() }
}

/// Returns the lines of a text whose pipelines pelton started itself.
fn by_pipelines(run: &Run, text: &str) -> Lines {
    let row = |pipeline: &pelton_record::Pipeline| {
        let mut cost = Cost::zero();
        pipeline.costs().for_each(|own| cost.add(own));
        cost.wall_ns = pipeline.wall_ns;
        let before = text.get(..pipeline.span.start).unwrap_or_default();
        Line {
            line: Some(line_of(before, before.len())),
            text: on_one_line(&pipeline.text),
            runs: 1,
            own_cpu_ns: cost.cpu_ns(),
            cost,
        }
    };
    let mut rows: Vec<Line> = run.pipelines.iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.cost.cpu_ns()));
    Lines { rows, ..Lines::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stood_on_several_lines_reads_as_one_command() {
        for (text, shown) in [
            ("a |\n  b \\\n  | c", "a | b | c"),
            ("{\n  head a | tr b c\n\n  tail d\n} | sort", "{ head a | tr b c; tail d; } | sort"),
            ("for f in *\ndo\n a;\n b &\ndone", "for f in *; do a; b & done"),
            ("case x in\n a)\n  b;;\n *) c\nesac", "case x in a) b;; *) c; esac"),
            ("(a\nb\n) | c", "(a; b ) | c"),
        ] {
            assert_eq!(on_one_line(text), shown);
        }
    }

    const TEXT: &str = "tok() {\n  awk 1\n}\npar() { awk 2; }\nfor f in a b; do\n  grep x \"$f\" |\n    sort | uniq\n  \
                        expr 1; $X | wc\ndone\ntok < a | par\nx=$(cat a | wc)\nwhile read y; do date; done < a | sort\n";

    fn launched(within: Option<usize>, stages: &[(u32, &str)], times: u64, ms: [u64; 2]) -> Launched {
        let started = |(line, name): &(u32, &str)| Started {
            line: (*line > 0).then_some(*line),
            program: (!name.is_empty()).then(|| (*name).to_owned()),
            script: None,
        };
        let [all, own] = ms;
        let cost = Cost { user_ns: all * 1_000_000, wall_ns: all * 1_000_000, ..Cost::zero() };
        let stages = stages.iter().map(started).collect();
        Launched { stages, pipeline: None, within, times, cost, own_cpu_ns: own * 1_000_000 }
    }

    fn rows(launched: Vec<Launched>) -> Vec<(Option<u32>, String, u64, u64, u64)> {
        let sources = sources(TEXT, Some(Dialect::Bash));
        let found: Vec<_> = launched.iter().map(|launched| source(launched, &sources)).collect();
        let lines = by_launches(&Launches { launched, shell_cpu_ns: 0 }, &found, &sources);
        let ms = |ns: u64| ns / 1_000_000;
        let row = |row: Line| (row.line, row.text, row.runs, ms(row.cost.cpu_ns()), ms(row.own_cpu_ns));
        lines.rows.into_iter().map(row).collect()
    }

    #[test]
    fn lines_are_those_of_the_text() {
        let found = rows(vec![
            launched(None, &[(6, "grep"), (7, "sort"), (7, "uniq")], 2, [40, 40]),
            launched(None, &[(8, "expr")], 2, [4, 4]),
            launched(None, &[(8, "ls"), (8, "wc")], 2, [6, 6]),
            launched(None, &[(11, ""), (12, "sort")], 1, [9, 5]),
            launched(Some(3), &[(12, "date")], 5, [4, 4]),
            launched(None, &[(3, "curl")], 1, [1, 1]),
        ]);
        let of = |line, text: &str, runs, all, own| (line, text.to_owned(), runs, all, own);
        let expected = [
            of(Some(6), "grep x \"$f\" | sort | uniq", 2, 40, 40),
            of(Some(12), "while read y; do date; done < a | sort", 1, 9, 5),
            of(Some(8), "$X | wc", 2, 6, 6),
            of(Some(8), "expr 1", 2, 4, 4),
            of(Some(12), "date", 5, 4, 4),
            of(None, "curl", 1, 1, 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn functions_are_found_by_what_the_text_says() {
        // bash reports forks in the line of the pipeline, dash programs in the lines of the bodies.
        let bash = vec![
            launched(None, &[(10, ""), (10, "")], 1, [90, 2]),
            launched(Some(0), &[(2, "awk")], 1, [40, 40]),
        ];
        let dash = vec![launched(None, &[(2, "awk"), (4, "awk")], 1, [90, 90])];
        for launched in [bash, dash] {
            assert_eq!(rows(launched)[0].0, Some(10));
        }
    }

    #[test]
    fn what_runs_within_itself_counts_once() {
        let found = rows(vec![
            launched(None, &[(10, ""), (10, "")], 1, [90, 2]),
            launched(Some(0), &[(10, ""), (10, "")], 3, [40, 40]),
        ]);
        assert_eq!(found, [(Some(10), "tok < a | par".to_owned(), 1, 90, 42)]);
    }
}
