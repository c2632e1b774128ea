//! `pelton last`: figures of a long line that was typed in an interactive shell, after it has ended.
//!
//! The shell tells a sampler, by files, when a line begins and ends (`sampler.rs`; the shell's part is in `init/`). The
//! sampler keeps a record of each long line (`kept.rs`), which this verb shows.

pub mod kept;
mod sampler;
mod typed_text;

use crate::ending::Ending;
use crate::failure::Failure;
use crate::manual::Completing;
use crate::output::{self, OutputTarget};
use crate::terminal::{Look, When};
use clap::{Args, ValueHint};
use kept::Kept;
use pelton_record::Run;
use pelton_report::Format;
use pelton_sys::clock;
use std::path::PathBuf;

/// Show what a line cost that was typed plainly and took long: the table and the verdict of `pelton time`, afterwards.
///
/// `pelton init` prepares a shell for it; it is off until a key turns it on: Ctrl-X Ctrl-L in bash and zsh, Alt-Shift-L in
/// fish. From then on, the figures of every line that takes 2 seconds or more ($PELTON_LAST) are kept: the last 20 of
/// them, in a file that only you can read. Nothing is kept of a line that begins with a space.
///
/// A program is first looked at when the line has run for that long. Its figures are the kernel's accounts of its whole
/// life; programs that had ended by then have no row, and the notes below the table say so.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton last                    the last long line of this shell
  pelton last 2                  the one before it
  pelton last --list             all that are kept, the last one first
  pelton last --html last.html   what each stage did when, as a page
  pelton last --json | jq .wall_ns
  pelton last --forget           delete all that is kept

Turn it on with Ctrl-X Ctrl-L (fish: Alt-Shift-L), with `pelton_last on`, or
always:
  PELTON_LAST=2; eval \"$(pelton init bash)\"         in ~/.bashrc; zsh likewise
  set -g PELTON_LAST 2; pelton init fish | source   in config.fish

Exit status: 0; 2 if nothing is kept, or it cannot be read.")]
pub struct LastArgs {
    /// Which of the kept lines; 1 is the last one
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub number: u32,

    /// List the lines that are kept
    #[arg(long, conflicts_with_all = ["number", "json", "html", "all"])]
    pub list: bool,

    /// Lines of all shells. By default those of the calling shell, if any of its lines are kept
    #[arg(long)]
    pub everywhere: bool,

    /// Show every figure
    #[arg(short, long)]
    pub all: bool,

    /// The record, for programs
    #[arg(long)]
    pub json: bool,

    /// Write a page for a browser to FILE: timeline, pipes, rates, table
    #[arg(long, value_name = "FILE", conflicts_with = "json", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Delete what is kept of all shells
    #[arg(long, exclusive = true)]
    pub forget: bool,

    /// Start the sampler of this shell; for the shell code of `pelton init`
    #[arg(long, value_name = "PID", hide = true, requires = "shell")]
    pub sampler: Option<u32>,

    /// Which shell that is
    #[arg(long, hide = true)]
    pub shell: Option<Completing>,

    /// Be the sampler
    #[arg(long, hide = true, requires = "sampler")]
    pub stay: bool,
}

/// Runs `pelton last`.
pub fn last(args: &LastArgs, color: When) -> Result<Ending, Failure> {
    if let (Some(pid), Some(shell)) = (args.sampler, args.shell) {
        return if args.stay { sampler::stay(pid, shell) } else { sampler::start(pid, shell) };
    }
    if args.forget {
        kept::forget()?;
        return Ok(Ending::Status(0));
    }
    let lines = lines(args.everywhere)?;
    if args.list {
        let lines: Vec<&Run> = lines.iter().map(|line| &line.run).collect();
        let style = Look::of_stdout(color).style(false);
        output::print(&pelton_report::kept_lines(&lines, clock::unix_ms(), &style), "the list")?;
        return Ok(Ending::Status(0));
    }
    let found = (args.number as usize).checked_sub(1).and_then(|index| lines.get(index));
    let Some(line) = found else {
        let message = format!("there is no line {}: {} kept", args.number, counted(lines.len()));
        return Err(Failure::new(message).with_help("pelton last --list"));
    };
    show(args, &line.run, color)?;
    Ok(Ending::Status(0))
}

fn counted(lines: usize) -> String {
    if lines == 1 { "1 line is".to_owned() } else { format!("{lines} lines are") }
}

fn show(args: &LastArgs, run: &Run, color: When) -> Result<(), Failure> {
    if let Some(path) = &args.html {
        let style = Look::of_file(When::Never).style(args.all);
        return OutputTarget::prepare(Some(path))?.write(&pelton_report::render(run, Format::Html, &style));
    }
    let format = if args.json { Format::Json } else { Format::Table };
    let style = Look::of_stdout(color).style(args.all);
    let heading =
        if args.json { String::new() } else { pelton_report::kept_line(run, clock::unix_ms(), &style) };
    output::print(&(heading + &pelton_report::render(run, format, &style)), "the line's figures")
}

/// Returns the kept lines of the calling shell, or of all shells; the last one first.
fn lines(everywhere: bool) -> Result<Vec<kept::Line>, Failure> {
    let mut lines = Kept::read()?.lines;
    lines.reverse();
    if !everywhere {
        let shell = kept::calling_shell();
        if lines.iter().any(|line| line.shell == shell) {
            lines.retain(|line| line.shell == shell);
        }
    }
    if lines.is_empty() {
        return Err(Failure::new("no line is kept yet: `pelton last` keeps only lines that take long, once it is turned on").with_help(
            "turn it on by Ctrl-X Ctrl-L (fish: Alt-Shift-L), in a shell whose start file has eval \"$(pelton init bash)\"",
        ));
    }
    Ok(lines)
}
