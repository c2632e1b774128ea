//! Advice on faster awk and sed implementations. They differ in speed by several times, and which is faster
//! depends on the program and the machine (P5). So this measures them on the beginning of the real input, if
//! the user allows it.
//!
//! Only a program that only prints is run: not one that may write files, start commands or read anything
//! else, or whose output changes from run to run.

use crate::lookup;
use crate::stage::{Kind, StagePlan, Surroundings};
use pelton_sys::spawn::{Action, Exec, Redirection};
use pelton_sys::wait;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Implementations of the same tool.
struct Trade {
    /// The name in advice.
    name: &'static str,
    /// The names under which they are installed.
    called: &'static [&'static str],
}

const TRADES: [Trade; 2] = [
    Trade { name: "awk", called: &["awk", "gawk", "mawk", "nawk", "original-awk"] },
    Trade { name: "sed", called: &["sed", "gsed"] },
];
/// One binary that implements many tools.
const BUSYBOX: &str = "busybox";

/// How much of the input is read.
const SAMPLE_BYTES: u64 = 1_000_000;
/// A program that takes longer is killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of runs; the fastest counts.
const RUNS: usize = 3;
/// A smaller speed-up is not reported.
const WORTH: f64 = 1.2;

/// Texts that prevent running a program twice and comparing: they read, write or start something, or give
/// results that differ from run to run or from awk to awk.
const NOT_PURE: [&str; 14] = [
    "getline", "system", "|", "@", "close", "fflush", "rand", "time", "FILENAME", "ARG", "ENVIRON",
    "PROCINFO", "/inet", "/dev/",
];

/// Returns advice for each awk and each sed among these stages. `measure`: their programs may be run.
pub fn advice(stages: &[StagePlan], around: &Surroundings<'_>, measure: bool) -> Vec<String> {
    stages.iter().filter_map(|stage| of_stage(stage, around, measure)).collect()
}

fn of_stage(stage: &StagePlan, around: &Surroundings<'_>, measure: bool) -> Option<String> {
    if stage.kind != Kind::Program {
        return None;
    }
    let child = stage.program(around).ok()?.child;
    let Action::Exec(exec) = child.action else { return None };
    let called = name_of(Path::new(OsStr::from_bytes(exec.path.as_bytes())));
    let trade = TRADES.iter().find(|trade| trade.called.contains(&called.as_str()))?;
    let own = Rival { path: resolved(exec.path.as_bytes()), trade: trade.name };
    let others = own.others(trade, around);
    if others.is_empty() {
        return None;
    }
    let trial = Trial::of(trade, &exec, &child.redirections);
    match (trial, measure) {
        (Ok(trial), true) => Some(trial.tell(&own, &others)),
        // busybox is installed everywhere, and seldom faster: it is named only after a measurement.
        (Ok(_), false) if trade.name == "sed" => None,
        (Ok(_), false) => {
            let names: Vec<String> = others.iter().map(Rival::name).collect();
            let verb = if names.len() > 1 { "are" } else { "is" };
            let (trade, own, names) = (trade.name, own.name(), names.join(" and "));
            Some(format!(
                "{trade} is {own} here, and {names} {verb} installed: --measure runs this program with each on the first megabyte of its input"
            ))
        }
        (Err(reason), true) => Some(format!("{called} was not measured: {reason}")),
        (Err(_), false) => None,
    }
}

/// One implementation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rival {
    path: PathBuf,
    trade: &'static str,
}

impl Rival {
    fn is_busybox(&self) -> bool {
        self.path.file_name().is_some_and(|name| name == BUSYBOX)
    }

    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        match (self.is_busybox(), name == self.trade) {
            (true, _) => format!("{name} {}", self.trade),
            // Other paths may have this name too.
            (_, true) => self.path.display().to_string(),
            (_, false) => name.into_owned(),
        }
    }

    fn others(&self, trade: &Trade, around: &Surroundings<'_>) -> Vec<Rival> {
        let names = trade.called.iter().copied().chain((trade.name == "sed").then_some(BUSYBOX));
        let found = names.filter_map(|name| lookup::find(name.as_bytes(), around.environment));
        let rivals = found.map(|path| Rival { path: resolved(&path), trade: self.trade });
        let mut others: Vec<Rival> = rivals.filter(|rival| rival != self).collect();
        others.sort();
        others.dedup();
        others
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if self.is_busybox() {
            command.arg(self.trade);
        }
        command
    }
}

/// Resolves links (`/etc/alternatives`).
fn resolved(path: &[u8]) -> PathBuf {
    let path = Path::new(OsStr::from_bytes(path));
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A program that may be run, with its input.
struct Trial<'a> {
    trade: &'static str,
    exec: &'a Exec,
    /// The options and the program.
    args: Vec<&'a [u8]>,
    input: &'a [u8],
}

impl<'a> Trial<'a> {
    /// Makes a trial. The error is the reason why the program may not be run.
    fn of(trade: &Trade, exec: &'a Exec, redirections: &'a [Redirection]) -> Result<Trial<'a>, String> {
        let (args, operands) = if trade.name == "sed" { sed(exec)? } else { awk(exec)? };
        let redirected = redirections.iter().find_map(|redirection| match redirection {
            Redirection::Open { fd: 0, path, .. } => Some(path.as_bytes()),
            _ => None,
        });
        let input = match (operands.as_slice(), redirected) {
            ([name], _) => name,
            ([], Some(path)) => path,
            _ => return Err("its input is not one file".into()),
        };
        if !std::fs::metadata(OsStr::from_bytes(input)).is_ok_and(|metadata| metadata.is_file()) {
            return Err("its input is not a plain file".into());
        }
        Ok(Trial { trade: trade.name, exec, args, input })
    }

    fn tell(&self, own: &Rival, others: &[Rival]) -> String {
        self.measured(own, others).unwrap_or_else(|error| format!("{} was not measured: {error}", own.name()))
    }

    fn measured(&self, own: &Rival, others: &[Rival]) -> io::Result<String> {
        let (mut sample, bytes) = sample(self.input)?;
        let mine = self.best_of_runs(own, &mut sample)?;
        let mut words = Vec::new();
        for other in others {
            let name = other.name();
            let theirs = match self.best_of_runs(other, &mut sample) {
                Ok(theirs) => theirs,
                Err(error) => {
                    words.push(format!("{name} did not run it ({error})"));
                    continue;
                }
            };
            words.push(match mine.cpu_ns as f64 / theirs.cpu_ns.max(1) as f64 {
                _ if (mine.status, &mine.output) != (theirs.status, &theirs.output) => {
                    format!("{name} prints something else")
                }
                ratio if ratio >= WORTH => {
                    format!("{name} takes {ratio:.1} times less CPU and prints the same")
                }
                ratio if ratio * WORTH <= 1.0 => format!("{name} takes {:.1} times more", 1.0 / ratio),
                _ => format!("{name} takes about as much"),
            });
        }
        let input = self.input.escape_ascii();
        Ok(format!(
            "{} is {} here; on the first {} kB of {input}, {}",
            self.trade,
            own.name(),
            bytes / 1000,
            words.join("; ")
        ))
    }

    fn best_of_runs(&self, rival: &Rival, sample: &mut File) -> io::Result<Ran> {
        let mut best = self.run(rival, sample)?;
        for _ in 1..RUNS {
            let again = self.run(rival, sample)?;
            best.cpu_ns = best.cpu_ns.min(again.cpu_ns);
        }
        Ok(best)
    }

    fn run(&self, rival: &Rival, sample: &mut File) -> io::Result<Ran> {
        sample.rewind()?;
        let mut command = rival.command();
        command.args(self.args.iter().map(|arg| OsStr::from_bytes(arg))).env_clear();
        for pair in &self.exec.envp {
            if let Some(at) = pair.as_bytes().iter().position(|byte| *byte == b'=') {
                let (name, value) = pair.as_bytes().split_at(at);
                command.env(OsStr::from_bytes(name), OsStr::from_bytes(&value[1..]));
            }
        }
        command.stdin(sample.try_clone()?).stdout(Stdio::piped()).stderr(Stdio::null());
        let before = wait::children_usage();
        let mut child = command.spawn()?;
        let mut stdout = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let (status, output) = std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                let mut output = Vec::new();
                stdout.read_to_end(&mut output).map(|_| output)
            });
            let status = wait_patiently(&mut child)?;
            let output =
                reader.join().unwrap_or_else(|_| Err(io::Error::other("its output was not read")))?;
            Ok::<_, io::Error>((status, output))
        })?;
        let after = wait::children_usage();
        let cpu_ns = (after.user_ns + after.sys_ns).saturating_sub(before.user_ns + before.sys_ns);
        Ok(Ran { status, output, cpu_ns })
    }
}

/// Arguments (options and the program), and files.
type Call<'a> = (Vec<&'a [u8]>, Vec<&'a [u8]>);

/// Splits awk's arguments. The error is the reason why its program may not be run.
fn awk(exec: &Exec) -> Result<Call<'_>, String> {
    let mut args: Vec<&[u8]> = exec.argv.iter().skip(1).map(|arg| arg.as_bytes()).collect();
    let at = pelton_commands::awk_program_at(&args)?;
    if let Some(what) = impurity(&String::from_utf8_lossy(args[at])) {
        return Err(format!("its program may do more than print ({what})"));
    }
    let operands = args.split_off(at + 1);
    if operands.iter().any(|name| name.contains(&b'=')) {
        return Err("its input is not one file".into());
    }
    Ok((args, operands))
}

/// Splits sed's arguments likewise.
fn sed(exec: &Exec) -> Result<Call<'_>, String> {
    let args: Vec<&[u8]> = exec.argv.iter().skip(1).map(|arg| arg.as_bytes()).collect();
    let owned: Vec<Vec<u8>> = args.iter().map(|arg| arg.to_vec()).collect();
    let files = pelton_commands::sed_that_only_prints(&owned).map_err(|declined| declined.reason)?;
    // Files come last; elsewhere they could be values of options.
    let (own, operands) = args.split_at(args.len() - files);
    Ok((own.to_vec(), operands.to_vec()))
}

/// The result of a run.
struct Ran {
    status: Option<i32>,
    output: Vec<u8>,
    cpu_ns: u64,
}

fn wait_patiently(child: &mut Child) -> io::Result<Option<i32>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("it took too long"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Copies the whole lines at the beginning of a file to an unnamed file. Also returns their length in bytes.
fn sample(input: &[u8]) -> io::Result<(File, usize)> {
    let mut text = Vec::new();
    File::open(OsStr::from_bytes(input))?.take(SAMPLE_BYTES).read_to_end(&mut text)?;
    if text.len() as u64 == SAMPLE_BYTES
        && let Some(last) = text.iter().rposition(|byte| *byte == b'\n')
    {
        text.truncate(last + 1);
    }
    let path = std::env::temp_dir().join(format!("pelton-sample-{}", std::process::id()));
    let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    file.write_all(&text)?;
    Ok((file, text.len()))
}

/// Returns the text in a program that prevents running it twice. A plain text search: it may decline too
/// much, never too little.
fn impurity(program: &str) -> Option<&'static str> {
    let without_or = program.replace("||", "");
    if let Some(word) = NOT_PURE.iter().find(|word| without_or.contains(**word)) {
        return Some(word);
    }
    // A comparison can only come before the first print.
    let printing = program.find("print").map_or("", |at| &program[at..]);
    printing.contains('>').then_some(">")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_sed_that_can_only_print() {
        let of = |args: &[&str]| {
            let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            pelton_commands::sed_that_only_prints(&args).ok()
        };
        assert_eq!(of(&["-n", "s/a/b/p", "f"]), Some(1));
        assert_eq!(of(&["$!N;P;D"]), Some(0));
        for args in
            [&["-i", "s/a/b/", "f"][..], &["w out", "f"], &["s/a/b/e", "f"], &["r x", "f"], &["p", "f", "-n"]]
        {
            assert_eq!(of(args), None, "{args:?}");
        }
    }

    #[test]
    fn what_can_only_print() {
        for program in
            ["{print $1}", "$3 > 5 || /x/ {n++} END {print n}", "{s += $1} END {printf \"%d\\n\", s}"]
        {
            assert_eq!(impurity(program), None, "{program}");
        }
        for (program, what) in [
            ("{print > \"f\"}", ">"),
            ("{print \"a;b\" >> \"f\"}", ">"),
            ("{print | \"sh\"}", "|"),
            ("{\"date\" | getline x}", "getline"),
            ("BEGIN {system(\"rm f\")}", "system"),
            ("@include \"x\"", "@"),
            ("{print rand()}", "rand"),
            ("{print FILENAME}", "FILENAME"),
            ("{print ENVIRON[\"A\"]}", "ENVIRON"),
            ("{printf \"x\" > \"/dev/stderr\"}", "/dev/"),
        ] {
            assert_eq!(impurity(program), Some(what), "{program}");
        }
    }
}
