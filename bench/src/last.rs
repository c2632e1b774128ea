//! What `pelton last` costs an interactive shell: time of a line that does nothing, and CPU while a long line is sampled.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;
use serde_json::json;

use super::results::{Claim, Results};
use super::{Bench, stats};
use workbench::Outcome;

/// How long the sampled pipeline runs, and from when on its sampling is measured.
const PIPELINE_S: u64 = 24;
const SKIPPED_S: u64 = 3;
const MEASURED_S: u64 = 20;
const PATIENCE: Duration = Duration::from_secs(30);

/// A shell, the command that starts it in `home`, and its start file.
struct Shell {
    name: &'static str,
    command: &'static [&'static str],
    file: &'static str,
    start: &'static str,
}

const SHELLS: [Shell; 3] = [
    Shell {
        name: "bash",
        command: &["bash", "--rcfile", ".rc"],
        file: ".rc",
        start: "PS1='ready $((ended++))> '; ended=0; bind 'set enable-bracketed-paste off'; eval \"$(pelton init bash)\"\n",
    },
    Shell {
        name: "zsh",
        command: &["zsh", "-o", "no_global_rcs"],
        file: ".zshrc",
        start: "setopt prompt_subst; PS1='ready $((ended++))> '; ended=0; HISTSIZE=100; eval \"$(pelton init zsh)\"\n",
    },
    Shell {
        name: "fish",
        command: &["fish"],
        file: ".config/fish/config.fish",
        start: "set -g fish_greeting; set -g ended 0; function fish_prompt; echo -n \"ready $ended> \"; end\n\
                function count_lines --on-event fish_postexec; set -g ended (math $ended + 1); end\n\
                pelton init fish | source\n",
    },
];

/// An interactive shell on a pseudo-terminal.
struct Session {
    keyboard: File,
    child: Child,
    /// Lines that have ended, which stands in the prompt: fish shows a prompt again when a line is typed.
    lines: usize,
}

impl Session {
    fn start(bench: &Bench, home: &Path, shell: &Shell, last: &str) -> Outcome<Self> {
        fs::create_dir_all(home.join("bin"))?;
        fs::create_dir_all(home.join(shell.file).parent().unwrap_or(home))?;
        fs::write(home.join(shell.file), shell.start)?;
        let link = home.join("bin/pelton");
        if !link.exists() {
            std::os::unix::fs::symlink(&bench.pelton, link)?;
        }
        let path = format!("{}:{}", home.join("bin").display(), std::env::var("PATH")?);
        let terminal = openpty(None, None)?;
        let slave = File::from(terminal.slave);
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(shell.command).current_dir(home).env_clear();
        command.env("HOME", home).env("PATH", path).env("TERM", "dumb").env("LC_ALL", "C.UTF-8");
        command.env("PELTON_LAST", last).env("XDG_RUNTIME_DIR", runtime(home));
        command
            .stdin(Stdio::from(slave.try_clone()?))
            .stdout(Stdio::from(slave.try_clone()?))
            .stderr(Stdio::from(slave));
        let child = command.spawn()?;
        drop(command);
        let mut session = Session { keyboard: File::from(terminal.master), child, lines: 0 };
        session.await_prompt()?;
        // What comes late of a start.
        std::thread::sleep(Duration::from_millis(500));
        Ok(session)
    }

    /// Reads until the prompt comes.
    fn await_prompt(&mut self) -> Outcome {
        let begun = Instant::now();
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        let prompt = format!("ready {}> ", self.lines).into_bytes();
        while !seen.windows(prompt.len()).any(|window| window == prompt) {
            if begun.elapsed() > PATIENCE {
                return Err(format!("no prompt came, but: {}", String::from_utf8_lossy(&seen)).into());
            }
            let mut polled = [PollFd::new(self.keyboard.as_fd(), PollFlags::POLLIN)];
            if poll(&mut polled, PollTimeout::from(1000u16))? > 0 {
                let n = self.keyboard.read(&mut buffer)?;
                seen.extend_from_slice(&buffer[..n]);
            }
        }
        Ok(())
    }

    /// Runs a line that does nothing; returns the seconds until the next prompt.
    fn line(&mut self) -> Outcome<f64> {
        self.lines += 1;
        let begun = Instant::now();
        self.keyboard.write_all(b":\r")?;
        self.await_prompt()?;
        Ok(begun.elapsed().as_secs_f64())
    }

    fn sampler(&self) -> Outcome<u32> {
        let wanted = format!("--sampler\0{}\0", self.child.id());
        let found = fs::read_dir("/proc")?.flatten().find_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            String::from_utf8_lossy(&line).ends_with(&wanted).then_some(pid)
        });
        found.ok_or_else(|| "the shell has no sampler".into())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The shell ends with its terminal, at the latest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a directory in memory, if there is one, as systems have for each user.
fn runtime(home: &Path) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let path = if memory.is_dir() { memory.join("pelton-bench-last") } else { home.join("run") };
    let _ = fs::create_dir_all(&path);
    path
}

/// Returns the CPU time of a process so far, in seconds.
fn cpu_s(pid: u32) -> Outcome<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let ns: u64 = text.split_whitespace().next().unwrap_or_default().parse()?;
    Ok(ns as f64 / 1e9)
}

/// The figures of one shell.
struct Figures {
    without: Vec<f64>,
    with: Vec<f64>,
    sampler_s: f64,
}

/// Runs lines in two shells in turns.
fn pairs(bench: &Bench, home: &Path, shell: &Shell, lines: usize) -> Outcome<Figures> {
    let mut off = Session::start(bench, home, shell, "0")?;
    let mut on = Session::start(bench, home, shell, "2")?;
    let sampler = on.sampler()?;
    let before_s = cpu_s(sampler)?;
    let mut figures = Figures { without: Vec::new(), with: Vec::new(), sampler_s: 0.0 };
    for i in 0..lines {
        if i % 2 == 0 {
            figures.without.push(off.line()?);
            figures.with.push(on.line()?);
        } else {
            figures.with.push(on.line()?);
            figures.without.push(off.line()?);
        }
    }
    figures.sampler_s = (cpu_s(sampler)? - before_s) / lines as f64;
    Ok(figures)
}

/// Returns the sampler's share of a core while a busy pipeline of five stages runs.
fn share(bench: &Bench, home: &Path, shell: &Shell) -> Outcome<f64> {
    let mut session = Session::start(bench, home, shell, "2")?;
    let sampler = session.sampler()?;
    let line = format!("timeout {PIPELINE_S} cat /dev/zero | tr '\\000' a | tr a b | cat | wc -c\r");
    session.keyboard.write_all(line.as_bytes())?;
    std::thread::sleep(Duration::from_secs(SKIPPED_S));
    let (begun, before_s) = (Instant::now(), cpu_s(sampler)?);
    std::thread::sleep(Duration::from_secs(MEASURED_S));
    Ok((cpu_s(sampler)? - before_s) / begun.elapsed().as_secs_f64())
}

/// Measures each installed shell.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let lines = bench.runs(2000);
    let home = bench.data.join("last");
    let mut results = Results {
        name: "last",
        about: format!(
            "{lines} lines `:` typed into a shell with `pelton last` and into one without, in turns, each after the prompt \
             of the line before it; then the sampler's CPU time over {MEASURED_S} s of a busy pipeline of five stages."
        ),
        body: "| shell | a line without | with | more | of it the sampler's CPU | CPU while sampling |\n\
               | --- | ---: | ---: | ---: | ---: | ---: |\n"
            .into(),
        data: json!({}),
        claims: Vec::new(),
    };
    for shell in &SHELLS {
        let installed = Command::new(shell.name).arg("--version").stdout(Stdio::null()).status();
        if !installed.is_ok_and(|status| status.success()) {
            continue;
        }
        let Figures { without, with, sampler_s } = pairs(bench, &home, shell, lines)?;
        let share = share(bench, &home, shell)?;
        let more_ms = stats::median_difference(&with, &without) * 1e3;
        let ms = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
        results.body += &format!(
            "| {} | {} | {} | {more_ms:.3} ms | {} | {:.2}% of a core |\n",
            shell.name,
            ms(stats::median(&without)),
            ms(stats::median(&with)),
            ms(sampler_s),
            share * 100.0
        );
        results.claims.push(Claim::at_most(&format!("{}: more for a line", shell.name), more_ms, 1.0, "ms"));
        results.claims.push(Claim::at_most(
            &format!("{}: sampling", shell.name),
            share * 100.0,
            0.3,
            "% of a core",
        ));
        results.data[shell.name] = json!({"without_s": without, "with_s": with, "sampler_s_per_line": sampler_s, "sampling_share": share});
    }
    fs::remove_dir_all(&home)?;
    Ok(results)
}
