//! `pelton man` and `pelton completions`: derived from the definition that parses the command line and prints
//! `--help`, so they cannot differ from it.

mod markdown;
mod page;
mod roff;
mod schema;
mod sections;
mod topics;
mod verbs;

use crate::ending::Ending;
use crate::failure::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use page::Page;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Show a manual page, of pelton, of a verb, or of what verbs have in common; for man(1), or as Markdown.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton man time | man -l -                     read it
  pelton man --output ~/.local/share/man         install all of them, for `man
                                                 pelton-time`
  pelton man --markdown --output docs/reference  the pages of pelton's book

Topics: the verbs, and
  formats      the formats of `pelton time` and `run --stats`
  exit-status  the exit statuses of all verbs
  record       the fields of `pelton time --json`
  diagnosis    the fields of `pelton doctor --json`

Exit status: 0; 2 if there is no such page or it cannot be written.")]
pub struct ManArgs {
    /// What the page is about [default: pelton]
    #[arg(value_name = "TOPIC")]
    pub topic: Option<String>,

    /// As Markdown
    #[arg(long)]
    pub markdown: bool,

    /// Write all pages into DIRECTORY, those for man in its man1, man5 and man7
    #[arg(short, long, value_name = "DIRECTORY", conflicts_with = "topic")]
    pub output: Option<PathBuf>,
}

/// Print what makes a shell complete pelton's verbs, options and their values.
///
/// `pelton init` loads it when it is first wanted, and brings keys as well.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton completions bash > ~/.local/share/bash-completion/completions/pelton
  pelton completions zsh > ~/.zfunc/_pelton          a directory in $fpath
  pelton completions fish > ~/.config/fish/completions/pelton.fish

Exit status: 0; 2 if it cannot be printed.")]
pub struct CompletionsArgs {
    /// The shell that completes
    pub shell: Completing,
}

/// A shell with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Completing {
    Bash,
    Zsh,
    Fish,
}

impl From<Completing> for clap_complete::Shell {
    fn from(shell: Completing) -> Self {
        match shell {
            Completing::Bash => clap_complete::Shell::Bash,
            Completing::Zsh => clap_complete::Shell::Zsh,
            Completing::Fish => clap_complete::Shell::Fish,
        }
    }
}

/// Prints a page, or writes all of them.
pub fn man(args: &ManArgs, command: clap::Command) -> Result<Ending, Failure> {
    let pages = pages(command);
    match &args.output {
        Some(dir) => pages.iter().try_for_each(|page| write(page, dir, args.markdown))?,
        None => {
            let page = rendered(wanted(&pages, args)?, args.markdown);
            if args.markdown || !is_shown_by_man(&page) {
                output::print(&page, "the page")?;
            }
        }
    }
    Ok(Ending::Status(0))
}

/// Lets man(1) show a page, if standard output is a terminal and man can.
fn is_shown_by_man(page: &str) -> bool {
    if !io::stdout().is_terminal() {
        return false;
    }
    let shown = tempfile::NamedTempFile::new().and_then(|mut file| {
        file.write_all(page.as_bytes())?;
        Command::new("man").arg("-l").arg(file.path()).status()
    });
    shown.is_ok_and(|status| status.success())
}

/// Prints a shell's completions of this command line.
pub fn completions(args: &CompletionsArgs, command: &clap::Command) -> Result<Ending, Failure> {
    let mut text = Vec::new();
    let shell = clap_complete::Shell::from(args.shell);
    clap_complete::generate(shell, &mut told(command), "pelton", &mut text);
    output::print(&String::from_utf8_lossy(&text), "the completions")?;
    Ok(Ending::Status(0))
}

/// Removes what no help mentions from the command line.
pub fn told(command: &clap::Command) -> clap::Command {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    clap::Command::new(command.get_name().to_owned())
        .about(about.lines().next().unwrap_or_default().to_owned())
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(told))
}

/// Returns all pages.
fn pages(mut command: clap::Command) -> Vec<Page> {
    command.build();
    let verbs: Vec<Page> = verbs::shown(&command).map(verbs::page).collect();
    let topics = [topics::formats(), topics::exit_status(&command), schema::record(), schema::diagnosis()];
    std::iter::once(verbs::whole(&command)).chain(verbs).chain(topics).collect()
}

fn wanted<'p>(pages: &'p [Page], args: &ManArgs) -> Result<&'p Page, Failure> {
    let topic = args.topic.as_deref().unwrap_or("pelton");
    pages.iter().find(|page| page.topic == topic).ok_or_else(|| {
        let topics: Vec<&str> = pages.iter().map(|page| page.topic.as_str()).collect();
        Failure::new(format!("there is no page on `{topic}`")).with_help(topics.join(", "))
    })
}

fn rendered(page: &Page, markdown: bool) -> String {
    if markdown { markdown::render(page) } else { roff::render(page) }
}

fn write(page: &Page, dir: &Path, markdown: bool) -> Result<(), Failure> {
    let path = if markdown {
        dir.join(format!("{}.md", page.topic))
    } else {
        dir.join(format!("man{}", page.section)).join(format!("{}.{}", page.called(), page.section))
    };
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(&path, rendered(page, markdown)))
        .map_err(|error| Failure::io(format!("cannot write `{}`", path.display()), &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_description_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_has_a_page_with_examples_and_exit_statuses() {
        let pages = pages(Cli::command());
        for page in pages.iter().filter(|page| page.section == 1 && page.topic != "pelton") {
            for heading in ["Usage", "Options", "Examples", "Exit status"] {
                assert!(page.headings().any(|found| found == heading), "{}: {heading}", page.topic);
            }
        }
        assert!(pages.iter().all(|page| page.topic != "stamp"), "a verb of pelton's own is no user's");
    }

    #[test]
    fn pages_have_every_option_that_help_shows() {
        let mut command = Cli::command();
        command.build();
        for verb in verbs::shown(&command) {
            let text = rendered(&verbs::page(verb), true);
            for option in
                verb.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long())
            {
                assert!(text.contains(&format!("--{option}")), "{}: --{option}", verb.get_name());
            }
        }
    }
}
