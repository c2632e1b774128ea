//! How long `pelton doctor` takes to give a verdict on a machine with many processes.

use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};

use super::contest::{Contender, Samples, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;

/// The number of other processes.
const PROCESSES: usize = 500;
/// The promised time.
const MILLISECONDS: f64 = 200.0;

/// Processes that are killed on drop.
#[derive(Default)]
struct Crowd(Vec<Child>);

impl Crowd {
    fn add(&mut self, command: &mut Command) -> Outcome<u32> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let pid = child.id();
        self.0.push(child);
        Ok(pid)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // A process that has ended already only needs a wait.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Measures `pelton doctor` on a deadlock, on a healthy process and on all, beside 500 sleeping processes.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(50);
    let mut crowd = Crowd::default();
    for _ in 1..PROCESSES {
        crowd.add(Command::new("sleep").arg("100000"))?;
    }
    let healthy = crowd.add(Command::new("sleep").arg("100000"))?.to_string();
    let hang = "import subprocess as s; s.Popen(['head', '-c', '200000', '/dev/zero'], stdout=s.PIPE).wait()";
    let dead = crowd.add(Command::new("python3").args(["-c", hang]))?.to_string();
    std::thread::sleep(std::time::Duration::from_secs(1));
    let pelton = bench.pelton.as_os_str();
    // Status 1 means that something is dead: no failure here.
    let script = "\"$0\" doctor \"$1\"; [ $? -le 1 ]";
    let doctor = |what: &str| {
        ["sh".as_ref(), "-c".as_ref(), script.as_ref(), pelton, what.as_ref()].map(OsStr::to_owned)
    };
    let contenders = [
        Contender::new("doctor PID, healthy", doctor(&healthy)),
        Contender::new("doctor PID, dead", doctor(&dead)),
        Contender::new("doctor --all", doctor("--all")),
    ];
    let samples = contest(&contenders, &bench.data, runs, 3)?;
    drop(crowd);
    let claim = |one: &Samples| {
        Claim::at_most(
            &format!("{}, wall time, median", one.name),
            stats::median(&one.real) * 1e3,
            MILLISECONDS,
            "ms",
        )
    };
    Ok(Results {
        name: "doctor",
        about: format!(
            "Beside {PROCESSES} sleeping processes, {runs} rounds, order alternating. 50 ms of each are the time between its two \
             looks; a deadlock is looked at twice in full."
        ),
        body: table(&samples, Unit::Milliseconds),
        claims: samples.iter().map(claim).collect(),
        data: samples.iter().map(Samples::json).collect::<Vec<_>>().into(),
    })
}
