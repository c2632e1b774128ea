//! T1: threads that take turns at a global lock, and threads that do not.

use serde_json::Value as Json;

use crate::finding::{Finding, seconds};
use crate::lab::{Lab, list, number, text};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, programs, shown};
use workbench::Outcome;
use workbench::cargo_workspace::on_path;

pub const EXPERIMENT: Experiment = Experiment {
    id: "T1",
    title: "Threads that take turns",
    published: "Four CPU-bound threads under a global lock: 100–123% CPU on two cores, 65–87 s, most of it system time spent on the lock; four processes: \
                12.1 s and both cores full.",
    shapes: &[&TURNS, &NONE, &LOCK, &PROCESSES, &CORES],
    lesson: "Threads under a global lock take turns, however many there are: more of them only wait more. Where the work is computing, use processes, or \
             a language without such a lock.",
    run,
};

const TURNS: Shape =
    Shape::exact("pelton time --threads says that Python's and Ruby's threads take turns", Bound::All);
const NONE: Shape = Shape::exact("it raises no alarm about processes, Go or Java", Bound::All);
const LOCK: Shape = Shape::exact(
    "it shows who waits for a lock: the least share among threads that take turns",
    Bound::AtLeast(0.25),
);
const PROCESSES: Shape = Shape::timing("Python: real of four processes, of four threads", Bound::AtMost(0.7));
const CORES: Shape =
    Shape::timing("Python: cores used by four processes, by those of four threads", Bound::AtLeast(1.4));

/// Below this share of a core, turns cannot be told from a busy machine.
const ENOUGH: f64 = 0.75;
/// How often to retry on a busy machine.
const TRIES: usize = 5;

/// A program with four threads, or processes.
struct Case {
    name: &'static str,
    words: Vec<String>,
    takes_turns: bool,
    published: &'static str,
}

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let (mut turns, mut of_turns, mut quiet, mut of_quiet) = (0, 0, 0, 0);
    let mut least = f64::INFINITY;
    let mut cores = Vec::new();
    let mut times = Vec::new();
    for case in cases(lab, finding)? {
        let threads = watch(lab, &case)?;
        let found = &threads["stage"]["threads"];
        let used = number(found, "/cores_used");
        let alarm = !found["turns"].is_null();
        if !case.takes_turns {
            of_quiet += 1;
            quiet += usize::from(!alarm);
        } else if alarm || used >= ENOUGH {
            of_turns += 1;
            turns += usize::from(alarm);
            least = least.min(number(found, "/turns/lock_share"));
        }
        let stage = &threads["stage"];
        let real = number(stage, "/cost/wall_ns") / 1e9;
        let cpu = [number(stage, "/cost/user_ns") / 1e9, number(stage, "/cost/sys_ns") / 1e9];
        let shell = format!("{} real, {} user, {} sys", seconds(real), seconds(cpu[0]), seconds(cpu[1]));
        let verdict = found["verdict"].as_str().unwrap_or("no alarm");
        finding.row(case.name, case.published, &shell, &format!("{used:.2} cores; {verdict}"));
        cores.push((case.name.to_owned(), vec![used]));
        times.push((case.name, real, used));
        if case.name == "Python, threads" {
            finding.plot(by_thread(found));
        }
    }
    finding.plot(plots::bars("Cores used by four workers", "cores", &["cores"], &cores));
    let busy = "the machine left these threads less than three quarters of a core";
    if of_turns == 0 {
        finding.cannot(&TURNS, busy);
        finding.cannot(&LOCK, busy);
    } else {
        finding.count(&TURNS, turns, of_turns, || "an alarm is missing".to_owned());
        finding.figure(&LOCK, least, || "few samples found a thread at the lock".to_owned());
    }
    finding.count(&NONE, quiet, of_quiet, || "an alarm without cause".to_owned());
    compare(finding, &times);
    if let Some(python) = programs::python() {
        shown(lab, finding, &["time", "--threads", python, "count.py", "threads", "4", "6000000"])?;
    }
    Ok(())
}

/// Compares Python's two ways.
fn compare(finding: &mut Finding, times: &[(&str, f64, f64)]) {
    let of = |name: &str| times.iter().find(|(known, ..)| *known == name);
    match (of("Python, threads"), of("Python, processes")) {
        (Some((_, threads, one)), Some((_, processes, many))) => {
            let reason = || "the machine had no second core to spare".to_owned();
            finding.figure(&PROCESSES, processes / threads, reason);
            finding.figure(&CORES, many / one, reason);
        }
        _ => [&PROCESSES, &CORES]
            .into_iter()
            .for_each(|shape| finding.cannot(shape, "Python is not installed")),
    }
}

fn cases(lab: &Lab, finding: &mut Finding) -> Outcome<Vec<Case>> {
    let (rounds, many) = lab.size(("6000000", "2500000000"), ("6000000", "600000000"));
    let mut cases = Vec::new();
    let mut add = |name, published, takes_turns, words: Vec<String>| {
        cases.push(Case { name, words, takes_turns, published })
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match programs::python() {
        Some(python) => {
            lab.program("experiments/threads/count.py")?;
            add(
                "Python, threads",
                "100–123% CPU, 65–87 s",
                true,
                words(&[python, "count.py", "threads", "4", rounds]),
            );
            add(
                "Python, processes",
                "both cores full, 12.1 s",
                false,
                words(&[python, "count.py", "processes", "4", rounds]),
            );
        }
        None => finding.lacks("Python"),
    }
    if on_path("ruby") {
        lab.program("experiments/threads/count.rb")?;
        add("Ruby, threads", "", true, words(&["ruby", "count.rb", "4", rounds]));
    } else {
        finding.lacks("Ruby");
    }
    match programs::go(lab, "experiments/threads/count.go")? {
        Some(program) => add("Go, goroutines", "", false, words(&[&program.to_string_lossy(), "4", many])),
        None => finding.lacks("Go"),
    }
    match programs::java(lab, "experiments/threads/Count.java")? {
        Some(classes) => add(
            "Java, threads",
            "",
            false,
            words(&["java", "-cp", &classes.to_string_lossy(), "Count", "4", many]),
        ),
        None => finding.lacks("Java"),
    }
    Ok(cases)
}

/// Returns what pelton reports; retries while the machine is too busy to show turns.
fn watch(lab: &Lab, case: &Case) -> Outcome<Json> {
    let words: Vec<&str> = case.words.iter().map(String::as_str).collect();
    let mut tries = 0;
    loop {
        tries += 1;
        let record = lab.record(&["--threads"], &words)?;
        let stage = &record["pipelines"][0]["stages"][0];
        let found = &stage["threads"];
        if !case.takes_turns
            || !found["turns"].is_null()
            || number(found, "/cores_used") >= ENOUGH
            || tries == TRIES
        {
            return Ok(serde_json::json!({"stage": stage}));
        }
    }
}

/// Returns CPU and waits of the threads that did anything.
fn by_thread(found: &Json) -> Json {
    let groups: Vec<(String, Vec<f64>)> = list(found, "/rows")
        .iter()
        .take(5)
        .enumerate()
        .map(|(i, row)| {
            let name = format!(
                "{} {}: {:.0}% of looks at a lock",
                text(row, "/name"),
                i + 1,
                number(row, "/lock_share") * 100.0
            );
            (name, vec![number(row, "/cpu_ns") / 1e9, number(row, "/cpu_wait_ns") / 1e9])
        })
        .collect();
    plots::bars("Python, threads: what each had", "s", &["CPU", "runnable"], &groups)
}
