//! One suggestion, drawn from the bottleneck and its surroundings (P13).
//!
//! Each rule interprets a stage's arguments only as far as it is certain of them, and says what to check if
//! the advice could change the output.

use crate::bottleneck::{Awaited, partner, waits_most_for};
use crate::stage_label::label;
use crate::surroundings;
use crate::what_if::{Predictor, seconds};
use pelton_record::{Bottleneck, BottleneckKind, How, Pipeline, Run, Stage};

type Rule = fn(&Scene<'_>) -> Option<String>;

/// The first rule with a result wins: the most specific come first.
const RULES: [Rule; 11] = [
    memory_is_short,
    others_have_the_cpus,
    threads_in_turns,
    waits_elsewhere,
    filter_early,
    sort_by_bytes,
    sort_then_count,
    faster_awk,
    loop_of_processes,
    two_share_the_pace,
    idle_cores,
];

/// Rules that still apply where pelton has rewritten what it can.
const FOR_NATIVE: [Rule; 4] = [memory_is_short, others_have_the_cpus, waits_elsewhere, sort_by_bytes];

struct Scene<'a> {
    run: &'a Run,
    pipeline: &'a Pipeline,
    bottleneck: &'a Bottleneck,
    stage: &'a Stage,
    cores_used: f64,
}

/// Returns advice for a run with a known bottleneck.
pub fn advise(run: &Run, pipeline: &Pipeline, bottleneck: &Bottleneck, cores_used: f64) -> Option<String> {
    let stage = &pipeline.stages[bottleneck.stage];
    let scene = Scene { run, pipeline, bottleneck, stage, cores_used };
    let native = matches!(stage.how, How::Native { .. });
    let rules = if native { &FOR_NATIVE[..] } else { &RULES[..] };
    rules.iter().find_map(|rule| rule(&scene))
}

impl Scene<'_> {
    fn here(&self) -> String {
        label(self.pipeline, self.bottleneck.stage)
    }

    fn computes(&self) -> bool {
        self.bottleneck.kind == BottleneckKind::Cpu
    }
}

/// Other stages matter if one of them, free, leaves less than this share of the time.
const STILL_MOST: f64 = 0.9;

fn memory_is_short(scene: &Scene<'_>) -> Option<String> {
    let share = surroundings::short_of_memory(scene.run)?;
    Some(format!(
        "find out who needs the memory: for {:.0}% of the time, processes of this machine waited for memory to be freed or read back",
        100.0 * share
    ))
}

fn threads_in_turns(scene: &Scene<'_>) -> Option<String> {
    let turns = scene.stage.threads.as_ref()?.turns.as_ref()?;
    Some(format!(
        "{}: share the work among processes instead of threads, since its {} threads use one core",
        scene.here(),
        turns.threads
    ))
}

fn others_have_the_cpus(scene: &Scene<'_>) -> Option<String> {
    (scene.bottleneck.kind == BottleneckKind::WaitsForCpu).then(|| {
        let here = scene.here();
        if surroundings::held_back_by(scene.run).is_some() {
            return format!("raise the CPU limit of the container or cgroup; under it only less work helps, first of all in {here}");
        }
        format!(
            "measure again when the machine is quiet; until then less work helps most, first of all in {here}"
        )
    })
}

fn waits_elsewhere(scene: &Scene<'_>) -> Option<String> {
    (scene.bottleneck.kind == BottleneckKind::WaitsElsewhere).then(|| {
        let here = scene.here();
        match waits_most_for(scene.stage) {
            Awaited::Tracer => {
                format!("{here} makes too many system calls to be traced: without --exact, what it waits for is sampled")
            }
            Awaited::Time => format!("let {here} sleep for less, or not at all, if you can: more CPU will not help"),
            Awaited::Lock => format!("find the process or thread that holds the lock {here} waits for: more CPU will not help"),
            Awaited::InputOrOutput if let Some((disk, share)) = surroundings::busy_disk(scene.run) => {
                let moved = (disk.read_bytes + disk.written_bytes) as f64 / 1e6;
                format!(
                    "{here} waits for the disk {}, which was busy for {:.0}% of the time and moved {moved:.0} MB: fewer bytes help (compressed input, fewer columns), or input that is in memory already",
                    disk.name,
                    100.0 * share
                )
            }
            Awaited::InputOrOutput => {
                format!("find out which file, host or other program {here} waits for: more CPU will not help")
            }
            Awaited::Unknown => format!(
                "find out what {here} waits for (its input file, a host, a timer); more CPU will not help"
            ),
        }
    })
}

/// P9: a filter that follows a costly map.
fn filter_early(scene: &Scene<'_>) -> Option<String> {
    let maps = ["sed", "awk", "gawk", "mawk", "tr", "cut"];
    let next = scene.pipeline.stages.get(scene.bottleneck.stage + 1)?;
    (scene.computes() && maps.contains(&scene.stage.name.as_str()) && next.name == "grep").then(|| {
        format!(
            "filter first: if the `grep` of stage {} would choose the same lines before {}, swap them, and {} gets less \
             to do",
            scene.pipeline.numbers(scene.bottleneck.stage + 1).start(),
            scene.here(),
            scene.stage.name
        )
    })
}

fn sort_by_bytes(scene: &Scene<'_>) -> Option<String> {
    let plain = scene.stage.text.split_whitespace().next() == Some("sort");
    let by_bytes = ["C", "POSIX", "C.UTF-8", "C.utf8"].contains(&scene.run.machine.collation.as_str());
    (scene.computes() && plain && !by_bytes).then(|| {
        "LC_ALL=C sort: comparing bytes is several times faster, if byte order will do for you".into()
    })
}

fn sort_then_count(scene: &Scene<'_>) -> Option<String> {
    let next = scene.pipeline.stages.get(scene.bottleneck.stage + 1)?;
    let counts = scene.stage.text.trim() == "sort" && next.text.trim() == "uniq -c";
    (scene.computes() && counts).then(|| {
        "count instead of sorting: `awk '{c[$0]++} END {for (k in c) printf \"%7d %s\\n\", c[k], k}' | sort -k2` sorts \
         only the distinct lines; it pays where lines repeat"
            .into()
    })
}

fn faster_awk(scene: &Scene<'_>) -> Option<String> {
    let program = scene.stage.program.as_deref().unwrap_or("");
    let slow = ["gawk", "original-awk"].iter().any(|name| program.ends_with(name));
    (scene.computes() && slow).then(|| {
        "mawk often runs the same program two to three times faster: compare both on a sample".into()
    })
}

fn loop_of_processes(scene: &Scene<'_>) -> Option<String> {
    (scene.computes() && scene.stage.starts_processes).then(|| {
        "the loop starts processes in each of its rounds: about a millisecond each. One awk or sed over all lines does without"
            .into()
    })
}

fn two_share_the_pace(scene: &Scene<'_>) -> Option<String> {
    let other = partner(scene.pipeline, scene.bottleneck)?;
    Some(format!(
        "speed up both {} and {}: either alone only moves the bottleneck",
        scene.here(),
        label(scene.pipeline, other)
    ))
}

/// Cores that are left by a run that uses all of them: starting and ending take their time.
const FULL: f64 = 0.25;

fn idle_cores(scene: &Scene<'_>) -> Option<String> {
    if !scene.computes() {
        return None;
    }
    if let Some(limit) = surroundings::held_back_by(scene.run) {
        let (here, limit) = (scene.here(), surroundings::limit_in_words(limit));
        return Some(format!("raise the limit, or do less work, first of all in {here}: {limit}"));
    }
    // Other programs may use the cores that this run left idle.
    let left = f64::from(scene.run.machine.cores) - scene.cores_used;
    let idle = scene.run.observer.idle_cores.map_or(left, |idle| idle.min(left));
    Some(if idle >= 0.7 {
        let cores = if idle >= 1.7 { "idle cores" } else { "idle core" };
        only_a_faster_one(scene, cores)
    } else if left >= 0.7 {
        format!(
            "other programs keep the other cores busy; less work makes it faster, first of all in {}, or a quieter machine",
            scene.here()
        )
    } else if left < FULL {
        format!("all cores are busy: only less work makes it faster, first of all in {}", scene.here())
    } else {
        format!("less work makes it faster, first of all in {}", scene.here())
    })
}

/// Advises on the bottleneck, and says what the whole would take at best without the work of another stage, if the
/// record has a timeline whose model reproduces the run.
fn only_a_faster_one(scene: &Scene<'_>, cores: &str) -> String {
    let here = scene.here();
    let model = Predictor::fit(scene.run, scene.pipeline).ok();
    let Some(others) = model.and_then(|model| model.best_of_others(scene.bottleneck.stage)) else {
        return format!(
            "only a faster {here} or splitting its input over the {cores} helps; that is where most is to be gained, \
             {:.0}% of the time",
            scene.bottleneck.share * 100.0
        );
    };
    let (others_ns, wall_ns) = (others.total_ns.min(scene.pipeline.wall_ns), scene.pipeline.wall_ns);
    let (best, took) = (seconds(others_ns), seconds(wall_ns));
    if others_ns as f64 >= STILL_MOST * wall_ns as f64 {
        format!(
            "only a faster {here} or splitting its input over the {cores} helps: with any other stage free, the whole \
             would still take {best} of {took}"
        )
    } else {
        format!(
            "a faster {here}, or splitting its input over the {cores}, helps; so does another stage: with one of them free, \
             the whole would take {best} of {took} (--what-if)"
        )
    }
}
