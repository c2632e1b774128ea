//! `pelton init`: prints shell code for completions and key bindings.
//!
//! A key sends the line to `pelton line`, which prints the replacement, or why the line stays as it is.

mod line;

use crate::ending::Ending;
use crate::failure::Failure;
use crate::manual::{Completing, told};
use crate::output;
use crate::terminal;
use clap::Args;
use std::io::Read;

/// Print what gives an interactive shell completions, and keys that run the current line through pelton.
///
/// In bash and zsh, Ctrl-X Ctrl-P runs the line by `pelton run`, and Ctrl-X Ctrl-T by `pelton time`; in fish, Alt-Shift-P
/// and Alt-Shift-T. The line changes before it runs, so that what runs is what is seen, also in the history.
///
/// A line that means something else outside of this shell (it sets or uses a variable that is not exported, a function,
/// `cd`, a job) stays as it is, and the reason is shown. Without pelton on the PATH the keys are the Enter key.
///
/// Ctrl-X Ctrl-L (fish: Alt-Shift-L) turns `pelton last` on, which keeps figures of long lines, and off again.
#[derive(Args)]
#[command(after_help = "\
Examples:
  eval \"$(pelton init bash)\"      in ~/.bashrc
  eval \"$(pelton init zsh)\"       in ~/.zshrc, behind compinit
  pelton init fish | source       in ~/.config/fish/config.fish

Other keys: bind yours to the widgets pelton-run, pelton-time and pelton-last
(zsh), to the functions _pelton_run, _pelton_time and _pelton_last_key (fish),
or to a macro of the keys above (bash).

Exit status: 0; 2 if it cannot be printed.")]
pub struct InitArgs {
    /// The shell that evaluates it
    pub shell: Completing,
}

/// What a key asks; no help mentions it. Standard input tells what the shell knows, a line each: `function NAME`,
/// `alias NAME VALUE`, `option NAME`.
#[derive(Args)]
pub struct LineArgs {
    /// Whose line it is
    pub shell: Completing,
    /// What is to run it: run or time
    pub verb: String,
    /// The line
    pub line: String,
}

/// Prints the shell code; `command` is the command line of pelton.
pub fn init(args: &InitArgs, command: &clap::Command) -> Result<Ending, Failure> {
    let text = match args.shell {
        Completing::Bash => concat!(include_str!("bash.sh"), include_str!("last.bash")).to_owned(),
        Completing::Zsh => concat!(include_str!("zsh.zsh"), include_str!("last.zsh")).to_owned(),
        Completing::Fish => {
            let mut text = concat!(include_str!("fish.fish"), include_str!("last.fish")).as_bytes().to_vec();
            clap_complete::generate(clap_complete::Shell::Fish, &mut told(command), "pelton", &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
    };
    output::print(&text, "it")?;
    Ok(Ending::Status(0))
}

/// Prints the replacement for `args.line`; or the reason to keep the line, with status 1.
pub fn line(args: &LineArgs) -> Result<Ending, Failure> {
    let mut known = Vec::new();
    std::io::stdin()
        .read_to_end(&mut known)
        .map_err(|error| Failure::io("cannot read what the shell knows", &error))?;
    let known = line::Known::read(&String::from_utf8_lossy(&known));
    let exported = |name: &str| std::env::var_os(name).is_some();
    match line::rewritten(&args.line, args.shell, &known, &exported) {
        Ok(text) => {
            let text = format!("pelton {} {}\n", args.verb, line::quoted(&text, args.shell));
            output::print(&text, "the line")?;
            Ok(Ending::Status(0))
        }
        Err(reason) => {
            terminal::say(&format!("pelton: only the shell can run this line, because of {reason}\n"));
            Ok(Ending::Status(1))
        }
    }
}
