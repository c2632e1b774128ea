//! Where workers are, and how they are started there.

use super::{OnArgs, TICK};
use crate::failure::Failure;
use pelton_distribute::{Attempt, AttemptEnd, Launcher};
use pelton_sys::signals::{self, CONT, TERM};
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a worker may take to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the workers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Processes on this machine: how many.
    Local(usize),
    /// The workers of a Dask scheduler.
    Dask(Dask),
}

/// How a Dask scheduler is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dask {
    /// Its host and port, without encryption.
    Plain(String),
    /// Its host and port, with TLS and the certificates of Dask's configuration.
    Tls(String),
    /// The file that it wrote.
    File(String),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let dask = |found: Dask| Ok(Target::Dask(found));
        if let Some(address) = text.strip_prefix("dask://").filter(|address| !address.is_empty()) {
            return dask(Dask::Plain(address.to_owned()));
        }
        if let Some(address) = text.strip_prefix("dasks://").filter(|address| !address.is_empty()) {
            return dask(Dask::Tls(address.to_owned()));
        }
        if let Some(file) = text.strip_prefix("dask-file:").filter(|file| !file.is_empty()) {
            return dask(Dask::File(file.to_owned()));
        }
        let wanted = "a target is wanted: local:N for N workers on this machine, dask://HOST:PORT, dasks://HOST:PORT or \
                      dask-file:FILE";
        match text.strip_prefix("local:").ok_or(wanted)?.parse() {
            Ok(workers @ 1..=1024) => Ok(Target::Local(workers)),
            _ => Err("local:N wants 1 to 1024 workers".to_owned()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Local(workers) => write!(f, "{workers} workers here"),
            Target::Dask(dask) => write!(f, "the workers of {}", dask.address()),
        }
    }
}

impl Dask {
    /// Returns its address as Dask writes it; `file:` before a scheduler's file.
    fn address(&self) -> String {
        match self {
            Dask::Plain(address) => format!("tcp://{address}"),
            Dask::Tls(address) => format!("tls://{address}"),
            Dask::File(file) => format!("file:{file}"),
        }
    }
}

impl Target {
    /// Returns the number of workers by which parts are sized: of a cluster, whose size is not known yet, a guess.
    pub fn share(&self) -> usize {
        match self {
            Target::Local(workers) => *workers,
            Target::Dask(_) => 16,
        }
    }

    /// Refuses what a cluster cannot or must not be given.
    pub fn check(&self, args: &OnArgs) -> Result<(), Failure> {
        let Target::Dask(dask) = self else { return Ok(()) };
        if args.work_dir.is_none() {
            return Err(Failure::new(
                "workers on other machines leave their results in a directory that all see",
            )
            .with_help("--work-dir DIR, on shared storage"));
        }
        match dask {
            Dask::Plain(address) if !args.insecure && !is_loopback(address) => Err(Failure::new(format!(
                "dask://{address} is another machine, and dask:// has neither encryption nor authentication"
            ))
            .with_help("dasks:// with certificates; or --insecure, in a network where nobody else is")),
            _ => Ok(()),
        }
    }

    /// Returns what starts its workers.
    pub fn launcher(&self, pelton: &Path, plan: &Path) -> Result<Box<dyn Launcher>, Failure> {
        Ok(match self {
            Target::Local(workers) => {
                let free = Rc::new(RefCell::new((1..=*workers).rev().collect()));
                Box::new(LocalWorkers {
                    workers: *workers,
                    free,
                    pelton: pelton.to_owned(),
                    plan: plan.to_owned(),
                })
            }
            Target::Dask(dask) => Box::new(DaskWorkers::connect(dask, pelton, plan)?),
        })
    }
}

fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host == "localhost"
        || host == "[::1]"
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|host| host.is_loopback())
}

/// Workers that are processes of this machine.
struct LocalWorkers {
    workers: usize,
    /// The numbers of those that are free, which are their names.
    free: Rc<RefCell<Vec<usize>>>,
    pelton: PathBuf,
    plan: PathBuf,
}

impl Launcher for LocalWorkers {
    fn room(&mut self) -> usize {
        self.workers
    }

    fn start(&mut self, part: usize) -> io::Result<Box<dyn Attempt>> {
        let mut command = Command::new(&self.pelton);
        let number = self.free.borrow_mut().pop().unwrap_or(self.workers);
        command.arg("worker").arg("--tied").arg("--plan").arg(&self.plan).arg("--part").arg(part.to_string());
        let child = command.arg("--name").arg(number.to_string()).stdin(Stdio::null()).spawn()?;
        Ok(Box::new(LocalWorker { child, number, free: Rc::clone(&self.free) }))
    }
}

/// A worker that is a process of this machine.
struct LocalWorker {
    child: Child,
    number: usize,
    free: Rc<RefCell<Vec<usize>>>,
}

impl Attempt for LocalWorker {
    fn ended(&mut self) -> Option<AttemptEnd> {
        let how = match self.child.try_wait() {
            Ok(status) => format!("its worker ended with {}", status?),
            Err(error) => error.to_string(),
        };
        Some(AttemptEnd::Ran(how))
    }
}

impl Drop for LocalWorker {
    fn drop(&mut self) {
        self.free.borrow_mut().push(self.number);
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        // It ends its stages first; if it is stopped, it cannot.
        signals::send(self.child.id(), TERM);
        signals::send(self.child.id(), CONT);
        let end = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(TICK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The workers of a Dask cluster, which a Python process starts: `pelton.dask_driver`.
struct DaskWorkers {
    driver: Child,
    orders: Orders,
    told: Arc<Mutex<Told>>,
    attempts: usize,
}

type Orders = Arc<Mutex<Option<ChildStdin>>>;

/// What the Python process has told.
#[derive(Default)]
struct Told {
    workers: usize,
    /// How each attempt ended that has.
    ended: HashMap<usize, AttemptEnd>,
    failure: Option<String>,
}

/// A line of the Python process.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Workers { workers: usize },
    Ended { ended: usize, how: String },
    NotTaken { not_taken: usize },
    Fatal { fatal: String },
}

impl DaskWorkers {
    fn connect(dask: &Dask, pelton: &Path, plan: &Path) -> Result<Self, Failure> {
        let python = std::env::var_os("PELTON_PYTHON").unwrap_or_else(|| "python3".into());
        let shown = python.display().to_string();
        // Left by a driver that was ended.
        if let Some(folder) = plan.parent() {
            let _ = std::fs::remove_file(folder.join("stop"));
        }
        let mut command = Command::new(&python);
        command.args(["-m", "pelton.dask_driver", "--address", &dask.address()]);
        command.arg("--plan").arg(plan).arg("--pelton").arg(pelton);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut driver = started.map_err(|error| {
            Failure::io(format!("cannot start {shown}, which starts the workers"), &error)
                .with_help("PELTON_PYTHON=PATH, of a Python that has pelton[dask]")
        })?;
        let orders = Arc::new(Mutex::new(driver.stdin.take()));
        let told = Arc::new(Mutex::new(Told::default()));
        let (heard, lines) = (Arc::clone(&told), driver.stdout.take());
        std::thread::spawn(move || {
            for line in
                lines.map(BufReader::new).into_iter().flat_map(|lines| lines.lines().map_while(Result::ok))
            {
                hear(&line, &heard);
            }
            let mut told = heard.lock().unwrap_or_else(PoisonError::into_inner);
            told.failure.get_or_insert_with(|| {
                format!("{shown} -m pelton.dask_driver ended; it needs the packages pelton and distributed (pip install 'pelton[dask]')")
            });
        });
        Ok(DaskWorkers { driver, orders, told, attempts: 0 })
    }
}

fn hear(line: &str, told: &Mutex<Told>) {
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    match serde_json::from_str(line) {
        Ok(Line::Workers { workers }) => told.workers = workers,
        Ok(Line::Ended { ended, how }) => drop(told.ended.insert(ended, AttemptEnd::Ran(how))),
        Ok(Line::NotTaken { not_taken }) => drop(told.ended.insert(not_taken, AttemptEnd::NotTaken)),
        Ok(Line::Fatal { fatal }) => told.failure = Some(fatal),
        Err(_) => told.failure = Some(format!("the driver of Dask said: {line}")),
    }
}

fn order(orders: &Orders, line: &str) -> io::Result<()> {
    let mut orders = orders.lock().unwrap_or_else(PoisonError::into_inner);
    orders.as_mut().map_or(Ok(()), |to| to.write_all(line.as_bytes()))
}

impl Launcher for DaskWorkers {
    fn room(&mut self) -> usize {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).workers
    }

    fn start(&mut self, part: usize) -> io::Result<Box<dyn Attempt>> {
        self.attempts += 1;
        order(&self.orders, &format!("start {} {part}\n", self.attempts))?;
        Ok(Box::new(DaskAttempt {
            number: self.attempts,
            orders: Arc::clone(&self.orders),
            told: Arc::clone(&self.told),
        }))
    }

    fn failure(&mut self) -> Option<String> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).failure.clone()
    }
}

impl Drop for DaskWorkers {
    fn drop(&mut self) {
        // The end of its input makes it cancel what still runs.
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.driver.wait();
    }
}

/// A part on a worker of a Dask cluster.
struct DaskAttempt {
    number: usize,
    orders: Orders,
    told: Arc<Mutex<Told>>,
}

impl Attempt for DaskAttempt {
    fn ended(&mut self) -> Option<AttemptEnd> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).ended.remove(&self.number)
    }
}

impl Drop for DaskAttempt {
    fn drop(&mut self) {
        // Without effect if it has ended; if the driver is gone, nothing runs.
        let _ = order(&self.orders, &format!("cancel {}\n", self.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read() {
        assert_eq!("local:3".parse(), Ok(Target::Local(3)));
        assert_eq!("dask://h:8786".parse(), Ok(Target::Dask(Dask::Plain("h:8786".into()))));
        assert_eq!("dasks://h:1".parse(), Ok(Target::Dask(Dask::Tls("h:1".into()))));
        assert_eq!("dask-file:s.json".parse(), Ok(Target::Dask(Dask::File("s.json".into()))));
        for wrong in ["local:0", "local:x", "local", "dask://", "ssh://h", ""] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_this_machine_is_reached_without_encryption() {
        for (address, is_here) in
            [("localhost:1", true), ("127.0.0.1:8786", true), ("[::1]:1", true), ("10.0.0.1:1", false)]
        {
            assert_eq!(is_loopback(address), is_here, "{address}");
        }
    }
}
