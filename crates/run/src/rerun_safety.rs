//! Decides whether a text may be run a second time, for `--check`: only if it is known to only read and
//! print.

use crate::environ::Environment;
use crate::native::Stays;
use crate::plan::{ListItem, Plan, Request};
use crate::stage::{Kind, StagePlan, Surroundings};
use pelton_commands::lookup;
use pelton_syntax::{Command, RedirectKind, Word};
use pelton_sys::spawn::Action;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Why a text should not be run twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RerunHazards {
    /// Stages that write files: the second run would write them again, and may see what the first one wrote.
    pub writes: Vec<Stays>,
    /// Stages that write a file anew that nothing else in the text names: the second run leaves what a single one would.
    pub overwrites: Vec<Stays>,
    /// Commands that may do more than print.
    pub unknown: Vec<Stays>,
}

/// Returns what prevents running the text twice.
pub fn rerun_hazards(plan: &Plan, request: &Request, environment: &Environment) -> RerunHazards {
    let mut hazards = RerunHazards::default();
    let Plan::Steps(steps) = plan else { return hazards };
    let around = request.surroundings(environment, &[]);
    let lists = steps.iter().filter_map(|step| match step {
        ListItem::List(list) => Some(list),
        ListItem::Set(_) => None,
    });
    for stage in lists.flatten().flat_map(|(_, pipeline)| &pipeline.stages) {
        let at = |reason: String| Stays { span: stage.span, reason };
        for redirect in &stage.syntax.redirects {
            let Some(target) = written(&redirect.kind) else { continue };
            let Some(name) = target.static_text() else {
                hazards
                    .writes
                    .push(at("writes a file that depends on variables, and would write it twice".to_owned()));
                continue;
            };
            let hazard = at(format!("writes `{name}`, and would write it twice"));
            match overwrites(&redirect.kind) && is_only_written(steps, &name) {
                _ if name == "/dev/null" => {}
                true => hazards.overwrites.push(hazard),
                false => hazards.writes.push(hazard),
            }
        }
        hazards.unknown.extend(more_than_print(stage, &around).map(at));
    }
    hazards
}

/// Returns the file that a redirection writes, if any.
fn written(kind: &RedirectKind) -> Option<&Word> {
    match kind {
        RedirectKind::Write(word)
        | RedirectKind::Clobber(word)
        | RedirectKind::Append(word)
        | RedirectKind::ReadWrite(word)
        | RedirectKind::WriteBoth(word)
        | RedirectKind::AppendBoth(word) => Some(word),
        _ => None,
    }
}

/// Whether a second run finds and leaves this file as a single one would: the text is one pipeline, all of whose words are
/// known, none of them names the file otherwise, and it is a plain file, or none yet.
fn is_only_written(steps: &[ListItem], name: &str) -> bool {
    let [ListItem::List(list)] = steps else { return false };
    let [(_, pipeline)] = list.as_slice() else { return false };
    let Some(words) = pipeline.stages.iter().map(static_words).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let words = words.concat();
    let base = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let named: usize = words.iter().map(|word| word.matches(&base).count()).sum();
    let id = |found: &Metadata| (found.dev(), found.ino());
    match std::fs::symlink_metadata(name) {
        _ if named != 1 => false,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(file) => {
            let by_link = |word: &&String| std::fs::metadata(word).is_ok_and(|found| id(&found) == id(&file));
            file.is_file() && file.nlink() == 1 && words.iter().filter(by_link).count() == 1
        }
    }
}

/// Returns all words of a simple command and its redirections, if they are known.
fn static_words(stage: &StagePlan) -> Option<Vec<String>> {
    let Command::Simple(simple) = &stage.syntax.command else { return None };
    if !simple.assignments.is_empty() {
        return None;
    }
    let targets = stage.syntax.redirects.iter().map(|redirect| match &redirect.kind {
        RedirectKind::Read(word) => Some(word.static_text()),
        RedirectKind::HereString(_) | RedirectKind::HereDoc(_) => None,
        RedirectKind::Opaque(_) => Some(None),
        kind => written(kind).map(Word::static_text),
    });
    let targets = targets.flatten();
    simple.words.iter().map(Word::static_text).chain(targets).collect()
}

/// Whether it leaves nothing of what was in the file before.
fn overwrites(kind: &RedirectKind) -> bool {
    matches!(kind, RedirectKind::Write(_) | RedirectKind::Clobber(_) | RedirectKind::WriteBoth(_))
}

/// Returns why the stage may do more than print, if so.
fn more_than_print(stage: &StagePlan, around: &Surroundings<'_>) -> Option<String> {
    match &stage.kind {
        Kind::Builtin(_) => return None,
        Kind::ShellBuiltin { name } if BUILTIN_PRINTERS.contains(&name.as_str()) => return None,
        Kind::Shell { .. } | Kind::ShellBuiltin { .. } => {
            let reason = stage.kind.shell_reason().unwrap_or_default();
            return Some(format!("run by the shell, because of {reason}: may do anything"));
        }
        Kind::Program => {}
    }
    // A missing program fails in both runs.
    let Action::Exec(exec) = stage.program(around).ok()?.child.action else { return None };
    let args: Vec<String> =
        exec.argv.iter().skip(1).map(|arg| String::from_utf8_lossy(arg.as_bytes()).into_owned()).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    only_prints(&stage.name, &args).err()
}

/// Builtins that only print.
const BUILTIN_PRINTERS: [&str; 5] = ["echo", "printf", "pwd", "test", "["];

/// Programs without a tool row that only read and print, with any arguments.
const PRINTERS: [&str; 37] = [
    "[",
    "b2sum",
    "base32",
    "cksum",
    "cmp",
    "column",
    "df",
    "diff",
    "du",
    "egrep",
    "expr",
    "factor",
    "fgrep",
    "file",
    "fmt",
    "hostname",
    "id",
    "ls",
    "md5sum",
    "nproc",
    "numfmt",
    "od",
    "pr",
    "printenv",
    "ps",
    "pwd",
    "sha512sum",
    "sleep",
    "stat",
    "strings",
    "sum",
    "test",
    "uname",
    "yes",
    "xzcat",
    "bzcat",
    "zstdcat",
];

/// Checks that this command is known to only read and print. The error is the reason.
fn only_prints(name: &str, args: &[&str]) -> Result<(), String> {
    let has = |wanted: &str| args.iter().any(|arg| arg.starts_with(wanted));
    let harmless = match (lookup(name.as_bytes()), name) {
        (Some(tool), _) => (tool.only_prints)(args),
        (None, "date") => !has("-s") && !has("--s"),
        // An option may be among other letters: any `o` after a dash counts.
        (None, "iconv") => !args.iter().any(|arg| arg.starts_with('-') && arg.contains('o')),
        (None, name) => PRINTERS.contains(&name),
    };
    if harmless {
        Ok(())
    } else {
        Err(format!("`{name}` may do more than print here, and would do it twice"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_harmless(command: &str) -> bool {
        let mut words = command.split(' ');
        let name = words.next().unwrap_or_default();
        only_prints(name, &words.collect::<Vec<_>>()).is_ok()
    }

    #[test]
    fn printers_are_known() {
        for command in [
            "grep -c x f",
            "sort -rn -k2,2 f",
            "uniq -c",
            "uniq -c f",
            "sed s/a/b/g",
            "sed s/where/here/",
            "sed -n 1,5p",
            "sed 1d events.csv",
            "sed -E s/a/b/ where",
            "awk {print$1}",
            "awk -F: $3>1000||/x/{print($1>0),$2}",
            "awk {print>\"/dev/stderr\"}",
            "find . -name x",
            "tee",
            "zcat f",
            "gzip -cd f",
            "sha256sum f",
            "date +%s",
            "echo >",
        ] {
            assert!(is_harmless(command), "{command}");
        }
    }

    #[test]
    fn writers_and_strangers_are_not() {
        for command in [
            "sort -o f f",
            "sort -uof f",
            "sort --output=f",
            "uniq a b",
            "sed -i s/a/b/ f",
            "sed -ni p f",
            "sed w\u{20}f",
            "sed s/a/b/w",
            "sed s/a/b/e",
            "sed --in-place p f",
            "awk {print>\"f\"}",
            "awk {system(1)}",
            "awk -F: {print|\"sh\"}",
            "awk {\"rm\"|getline}",
            "gawk @include\"inplace\";{print}",
            "gawk -E p",
            "gawk -nf p",
            "gawk -d {print}",
            "mawk -W exec p",
            "gawk {getline<\"/inet/tcp/0/h/1\"}",
            "awk $1>3{printf$1>>$2}",
            "awk {print>\"x\"",
            "awk -f p",
            "find . -delete",
            "tee f",
            "gzip -d f",
            "gunzip --keep f",
            "date -s now",
            "rm f",
            "curl x",
            "python3 x",
            "xargs rm",
            "sh",
        ] {
            assert!(!is_harmless(command), "{command}");
        }
    }
}
