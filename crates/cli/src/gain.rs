//! What `pelton run` would save, for the reader of a report of `pelton time`.

use crate::scripts;
use crate::shared_options::SourceArgs;
use crate::source::{self, Source};
use pelton_record::inside::Inner;
use pelton_record::{Prediction, Run};
use pelton_report::units;
use pelton_run::{Environment, Switches, is_make};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Shorter runs are not worth advice.
const SHORTEST_NS: u64 = 200_000_000;
/// The share of its time for which a pipeline must compute: else it waits for a disk or a network, as `run` would.
const LEAST_BUSY: f64 = 0.7;
/// Of the time that `run` takes at most, as a share of the measured one.
const LARGEST_SHARE: f64 = 0.7;

/// Advises to use `pelton run`, and says how long it would take, if that is sure: all stages run natively, at known
/// costs. Those of kernels were measured on a slow machine, so the run takes less as a rule (`bench pipelines`).
/// Returns whether it does.
pub fn advise(run: &mut Run, source: &Source, environment: &Environment) -> bool {
    let advice = advice_for(run, source, environment)
        .or_else(|| script_advice(run, source, environment))
        .or_else(|| make_advice(run, source, environment));
    let Some(advice) = advice else { return false };
    // Of a script, the verdict on the pipelines in it is shown.
    let inside = run.pipelines.iter_mut().flat_map(|pipeline| &mut pipeline.stages);
    let inside = inside.filter_map(|stage| stage.inside.as_mut());
    inside.for_each(|inside| inside.verdict.advice = Some(advice.clone()));
    run.verdict.advice = Some(advice);
    true
}

fn advice_for(run: &Run, source: &Source, environment: &Environment) -> Option<String> {
    let Saving { cpu_ns, wanted_ns, ratio } = saving(run, source, environment)?;
    advice(cpu_ns, wanted_ns, run.wall_ns, ratio)
}

/// Advises to use `pelton run` for a script that computes in pipelines that would run natively. Its commands outside of
/// pipelines stay as they are, so nothing is promised of the whole.
fn script_advice(run: &Run, source: &Source, environment: &Environment) -> Option<String> {
    let called = source.called_script(environment);
    let Source::Text(request, plan) = called.as_ref().unwrap_or(source) else { return None };
    let are_pipelines_busy = pipelines_are_busy(run);
    let is_whole_busy = run.wall_ns >= SHORTEST_NS && is_busy(run.total.cpu_ns(), run.wall_ns);
    if !are_pipelines_busy && !is_whole_busy {
        return None;
    }
    let pipelines = scripts::native_pipelines(request, plan, environment);
    // Else what it computes may be elsewhere.
    if !are_pipelines_busy && pipelines.native < pipelines.all {
        return None;
    }
    let typed = match (&called, source.words(), &request.script) {
        (Some(_), Some(words), _) => source::typed(words.iter()),
        (_, _, Some(file)) => format!(
            "-f {}",
            source::typed(
                [file.as_os_str()].into_iter().chain(request.args.iter().map(|arg| arg.as_os_str()))
            )
        ),
        _ => return None,
    };
    let lines = not_of_lines(&pipelines.other_lines);
    let native = run_natively(pipelines.native, pipelines.all);
    (pipelines.native > 0).then(|| format!("`pelton run {typed}`: {native}{lines}, with the same output"))
}

/// The names under which make finds its Makefile, in its order.
pub const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Advises two lines for the Makefile, if the run is one of make that computes in pipelines which would run natively.
fn make_advice(run: &Run, source: &Source, environment: &Environment) -> Option<String> {
    let words = source.words()?;
    if !is_make(words.first()?) || !pipelines_are_busy(run) {
        return None;
    }
    let moved = |word: &OsString| {
        ["-f", "-C", "--f", "--m", "--d"].iter().any(|one| word.as_bytes().starts_with(one.as_bytes()))
    };
    let file = MAKEFILES
        .iter()
        .find_map(|name| std::fs::read_to_string(name).ok())
        .filter(|_| !words.iter().any(moved))?;
    let recipes = Recipes::of(&file)?;
    let inside = run.pipelines.iter().flat_map(|one| &one.stages).filter_map(|stage| stage.inside.as_ref());
    let texts: Vec<String> = inside.flat_map(|inside| &inside.pipelines).filter_map(text_of).collect();
    let native = texts.iter().filter(|text| is_native(text, recipes.shell, environment)).count();
    let option = if recipes.shell == "bash" { "" } else { " --shell sh" };
    (native > 0).then(|| {
        format!(
            "`SHELL := pelton` and `.SHELLFLAGS := sh{option} {}` in the Makefile: {}, with the same output",
            recipes.flags,
            run_natively(native, texts.len())
        )
    })
}

/// Names the lines of pipelines that run as they are, if there are few.
fn not_of_lines(lines: &[usize]) -> String {
    match lines {
        [line] => format!(", not that of line {line}"),
        [one, other] => format!(", not those of lines {one} and {other}"),
        [one, other, third] => format!(", not those of lines {one}, {other} and {third}"),
        _ => String::new(),
    }
}

fn run_natively(native: usize, all: usize) -> String {
    match all {
        1 => "its pipeline runs natively".to_owned(),
        _ => format!("{native} of {all} pipelines run natively"),
    }
}

/// How a Makefile has its recipes run.
#[derive(Debug, PartialEq)]
struct Recipes<'a> {
    shell: &'static str,
    flags: &'a str,
}

impl<'a> Recipes<'a> {
    /// Reads a Makefile that has pipelines of its own. `None` if pelton cannot take the place of its shell: with
    /// `.ONESHELL`, make treats the lines of a recipe otherwise for a shell that it does not know.
    fn of(file: &'a str) -> Option<Self> {
        let value = |name: &str| {
            let of = |line: &'a str| {
                line.strip_prefix(name)?.trim_start().trim_start_matches([':', '?']).strip_prefix('=')
            };
            file.lines().filter_map(of).next_back().map(str::trim)
        };
        let has_pipelines = file.lines().any(|line| line.starts_with('\t') && line.contains('|'));
        if !has_pipelines || file.contains(".ONESHELL") {
            return None;
        }
        let shell = match value("SHELL").unwrap_or("sh").rsplit('/').next()? {
            "bash" => "bash",
            "sh" | "dash" => "sh",
            _ => return None,
        };
        Some(Recipes { shell, flags: value(".SHELLFLAGS").unwrap_or("-c") })
    }
}

/// Returns the text of a pipeline that a recipe ran, if it has several stages.
fn text_of(inner: &Inner) -> Option<String> {
    let texts: Vec<&str> = inner.pipeline.stages.iter().map(|stage| stage.text.as_str()).collect();
    (inner.within.is_none() && texts.len() > 1).then(|| texts.join(" | "))
}

fn is_native(text: &str, shell: &str, environment: &Environment) -> bool {
    let args = SourceArgs { shell: Some(shell.into()), words: vec![text.into()], ..SourceArgs::default() };
    match Source::resolve(&args, environment) {
        Ok(Source::Text(request, plan)) => scripts::native_pipelines(&request, &plan, environment).native > 0,
        _ => false,
    }
}

/// Whether the pipelines of a run, and those that its commands ran, computed for most of its time.
fn pipelines_are_busy(run: &Run) -> bool {
    let inside = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
    let inside = inside.flat_map(|stage| stage.inside.iter().flat_map(|inside| &inside.pipelines));
    let inside = inside.filter(|inner| inner.within.is_none()).map(|inner| &inner.pipeline);
    let stages = run.pipelines.iter().chain(inside).filter(|pipeline| pipeline.stages.len() > 1);
    let cpu_ns = stages.flat_map(|pipeline| &pipeline.stages).map(|stage| stage.cost.cpu_ns()).sum();
    run.wall_ns >= SHORTEST_NS && is_busy(cpu_ns, run.wall_ns)
}

/// Returns the time that `pelton run` would take at most, if that is sure. It is native, with one thread.
pub fn native_time(run: &Run, source: &Source, environment: &Environment) -> Option<Prediction> {
    let Saving { cpu_ns, ratio, .. } = saving(run, source, environment)?;
    if !is_busy(cpu_ns, run.wall_ns) {
        return None;
    }
    let total_ns = (cpu_ns as f64 / ratio) as u64;
    // The costs of kernels were measured on a slow machine.
    (total_ns < run.wall_ns).then_some(Prediction { total_ns, low_ns: total_ns / 2, high_ns: total_ns })
}

/// What `pelton run` would save.
struct Saving {
    /// The CPU time of the run.
    cpu_ns: u64,
    /// The same, and for how long its stages could have computed if a CPU had been free.
    wanted_ns: u64,
    /// How many times less CPU time `pelton run` would take.
    ratio: f64,
}

/// Returns what `pelton run` would save, if that is sure.
fn saving(run: &Run, source: &Source, environment: &Environment) -> Option<Saving> {
    let Source::Text(request, plan) = source else { return None };
    let [pipeline] = run.pipelines.as_slice() else { return None };
    let cpu_ns: u64 = pipeline.stages.iter().map(|stage| stage.cost.user_ns + stage.cost.sys_ns).sum();
    let waits = pipeline.stages.iter().filter_map(|stage| stage.waits.as_ref());
    let wanted_ns = cpu_ns + waits.map(|waits| waits.cpu_wait_ns).sum::<u64>();
    if run.wall_ns < SHORTEST_NS || !is_busy(wanted_ns, run.wall_ns) {
        return None;
    }
    let explained = pelton_run::explain(plan, request, environment, &Switches::default(), false);
    let [one] = explained.as_slice() else { return None };
    let estimate = one.planned.estimate()?;
    if !one.planned.is_all_native() || !estimate.not_counted.is_empty() {
        return None;
    }
    Some(Saving { cpu_ns, wanted_ns, ratio: estimate.ratio() })
}

/// Whether a pipeline that took this CPU time, or wanted it, computed for most of this time, or could have.
fn is_busy(cpu_ns: u64, wall_ns: u64) -> bool {
    cpu_ns as f64 >= LEAST_BUSY * wall_ns as f64
}

/// Returns the advice for a pipeline that took this CPU time, wanted this much, and took this time, if `ratio` times less CPU
/// time gains enough. Where other programs keep the CPUs busy, nobody can say how long the run would take.
fn advice(cpu_ns: u64, wanted_ns: u64, wall_ns: u64, ratio: f64) -> Option<String> {
    if !is_busy(wanted_ns, wall_ns) {
        return None;
    }
    if !is_busy(cpu_ns, wall_ns) {
        return (ratio * LARGEST_SHARE >= 1.0).then(|| {
            format!(
                "`pelton run` with the same text: about {ratio:.1} times less CPU time, with the same output"
            )
        });
    }
    let would_ns = cpu_ns as f64 / ratio;
    if would_ns > LARGEST_SHARE * wall_ns as f64 {
        return None;
    }
    let (would, took) = (rough(would_ns as u64), rough(wall_ns));
    Some(format!(
        "`pelton run` with the same text: about {would} or less instead of {took}, with the same output"
    ))
}

/// Formats a time as it is told: `0.25 s`, `3.1 s`, `4m5.012s`.
fn rough(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        0.0..1.0 => format!("{seconds:.2} s"),
        1.0..60.0 => format!("{seconds:.1} s"),
        _ => units::minutes(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::{Recipes, advice, rough};

    #[test]
    fn a_makefile_says_how_its_recipes_run() {
        let of = |head: &str| {
            let file = format!("{head}\nall:\n\tsort f | uniq\n");
            Recipes::of(&file).map(|recipes| (recipes.shell, recipes.flags.to_owned()))
        };
        assert_eq!(of(""), Some(("sh", "-c".to_owned())));
        assert_eq!(
            of("SHELL := /bin/bash\n.SHELLFLAGS = -eo pipefail -c"),
            Some(("bash", "-eo pipefail -c".to_owned()))
        );
        assert_eq!(of("SHELL=dash"), Some(("sh", "-c".to_owned())));
        assert_eq!([of(".ONESHELL:"), of("SHELL := zsh"), of("SHELL := pelton")], [None, None, None]);
        assert_eq!(Recipes::of("all:\n\tbash a.sh\n"), None);
    }

    #[test]
    fn advice_is_given_where_run_gains_and_the_pipeline_computes() {
        let ms = |ms: u64| ms * 1_000_000;
        let said = advice(ms(900), ms(900), ms(1000), 3.0).expect("advice");
        assert_eq!(
            said,
            "`pelton run` with the same text: about 0.30 s or less instead of 1.0 s, with the same output"
        );
        // It waits for something else; it gains too little.
        assert_eq!(advice(ms(300), ms(300), ms(1000), 3.0), None);
        assert_eq!(advice(ms(900), ms(900), ms(1000), 1.1), None);
        // Other programs had the CPUs.
        assert_eq!(advice(ms(300), ms(900), ms(1000), 1.1), None);
        assert_eq!(
            advice(ms(300), ms(900), ms(1000), 3.0).expect("advice"),
            "`pelton run` with the same text: about 3.0 times less CPU time, with the same output"
        );
    }

    #[test]
    fn times_are_rough() {
        assert_eq!([140_512_345, 999_000_000, 3_149_000_000].map(rough), ["0.14 s", "1.00 s", "3.1 s"]);
    }
}
