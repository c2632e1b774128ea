//! Which stages of a pipeline run on parts of its input, how their outputs become one, and what runs behind that.

use crate::cut::Cuts;
use memchr::memmem;
use pelton_commands::stateless::{Data, NOT_KNOWN, Stateless, Statuses, stateless};
use pelton_commands::{ByteMap, Charset, Class, Facts, Input, OverParts};
use pelton_run::{Call, PortableStage};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Which bytes a part may hold, so that its stages treat it as they would treat all of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Any.
    #[default]
    Bytes,
    /// Any but NUL.
    NoNul,
    /// UTF-8 without NUL.
    Utf8,
}

/// Which statuses a part may end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartStatus {
    /// 0.
    Success,
    /// 0 if it found something, otherwise 1: so does the whole if any part found something.
    Found,
}

/// How the outputs of the parts become one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how", content = "command")]
pub enum Merge {
    /// One after another.
    Concatenated,
    /// They are numbers, and are added.
    Added,
    /// This command reads them, one after another.
    ReadBy(String),
    /// This command merges them, as files.
    MergedBy(String),
    /// They are lines with counts, of which equal ones are added; this command merges the lines without the counts.
    Counted(String),
}

impl Merge {
    /// Returns what it does, in words.
    pub fn describe(&self) -> String {
        match self {
            Merge::Concatenated => "one after another".to_owned(),
            Merge::Added => "their numbers are added".to_owned(),
            Merge::ReadBy(command) => format!("read by {command}"),
            Merge::MergedBy(command) => format!("merged by {command}"),
            Merge::Counted(command) => format!("merged by {command}, the counts of equal lines added"),
        }
    }
}

/// A pipeline, divided.
#[derive(Clone, Debug)]
pub struct Work {
    /// The input files, in order.
    pub files: Vec<PathBuf>,
    /// The stages on each part, as shell texts.
    pub stages: Vec<String>,
    /// Where parts may be cut.
    pub cuts: Cuts,
    /// Their programs.
    pub programs: Vec<PathBuf>,
    /// Which bytes a part may hold.
    pub check: Check,
    /// Which statuses a part may end with.
    pub status: PartStatus,
    /// Whether a part may end before its input, and then no later part is needed.
    pub may_suffice: bool,
    /// How their outputs become one.
    pub merge: Merge,
    /// The stages that read the merged output.
    pub end: Option<String>,
    /// Whether what it prints on a terminal is coloured.
    pub colours: bool,
    /// Whether the last stage runs on the parts: then the end only copies.
    pub ends_on_parts: bool,
    /// Why these do not run on parts, if there are any.
    pub why_end: Option<String>,
}

/// What a stage does with parts.
struct OnParts {
    over: OverParts,
    /// Whether each of its outputs is whole lines.
    makes_lines: bool,
    check: Check,
    status: PartStatus,
    keeps: Kept,
}

/// What a stage leaves as it is, for a later one that judges text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    /// Nothing that is known.
    Nothing,
    /// Its output has no NULs if its input has none.
    NoNul,
    /// Its output is UTF-8 if its input is.
    Characters,
}

impl Work {
    /// Divides a pipeline.
    ///
    /// # Errors
    /// Why it runs on one machine, to follow 'because of'.
    pub fn of(stages: &[PortableStage]) -> Result<Self, String> {
        let Some(first) = stages.first() else { return Err("an empty text".into()) };
        let Source { files, args: reads_on } = source(first)?;
        let mut work = Work {
            files,
            stages: Vec::new(),
            cuts: Cuts::lines(),
            programs: Vec::new(),
            check: Check::Bytes,
            status: PartStatus::Success,
            may_suffice: false,
            merge: Merge::Concatenated,
            end: None,
            colours: false,
            ends_on_parts: false,
            why_end: None,
        };
        let (mut kept, mut taken) = (Kept::Characters, usize::from(reads_on.is_none()));
        while let Some(stage) = stages.get(taken) {
            let on_parts = on_parts(stage, taken == 0, kept).and_then(|found| Ok((found, call(stage)?)));
            let (found, call) = match on_parts {
                Ok(found) => found,
                Err(reason) => {
                    work.why_end = Some(format!("{}: {reason}", stage.candidate.name));
                    break;
                }
            };
            if let OverParts::ConcatenatedBetween(before, behind) = found.over {
                if !work.stages.is_empty() {
                    let why = "what it reads is no file, which could be cut where it may be";
                    work.why_end = Some(format!("{}: {why}", stage.candidate.name));
                    break;
                }
                work.cuts = Cuts { before, behind };
            }
            let args = reads_on.as_ref().filter(|_| taken == 0).unwrap_or(&call.args);
            let text = written(call, args)?;
            taken += 1;
            work.programs.push(call.program.clone());
            work.stages.push(text.clone());
            work.check = work.check.max(found.check);
            work.status = found.status;
            kept = kept.min(found.keeps);
            work.merge = match found.over {
                OverParts::Added => Merge::Added,
                OverParts::ReadAgain => {
                    let facts = stage.candidate.facts();
                    work.may_suffice = facts.is_some_and(Facts::stops_early);
                    Merge::ReadBy(text)
                }
                OverParts::Merged(args) => Merge::MergedBy(written(call, &args)?),
                OverParts::Concatenated
                | OverParts::ConcatenatedBetween(..)
                | OverParts::Counted
                | OverParts::Unknown => Merge::Concatenated,
            };
            if let Some(counting) = stages.get(taken).and_then(|next| counts(stage, next)) {
                work.count(counting)?;
                taken += 1;
                break;
            }
            if work.merge != Merge::Concatenated || !found.makes_lines || stage.writes.is_some() {
                break;
            }
        }
        if work.stages.is_empty() {
            return Err(work.why_end.unwrap_or_else(|| "a pipeline that only copies".to_owned()));
        }
        work.end = end(stages, taken);
        work.ends_on_parts = taken == stages.len();
        let last = stages.last().and_then(stateless_of);
        work.colours = work.ends_on_parts && last.is_some_and(|last| last.data == Data::Json);
        Ok(work)
    }
}

impl Work {
    /// Lets the parts count as well what they have sorted.
    fn count(&mut self, counting: &Call) -> Result<(), String> {
        if let Merge::MergedBy(command) = &self.merge {
            self.stages.push(written(counting, &counting.args)?);
            self.programs.push(counting.program.clone());
            self.merge = Merge::Counted(command.clone());
        }
        Ok(())
    }
}

/// Returns how the stage behind a sort counts its lines, if it only does that and each line stands beside its equals.
fn counts<'a>(sort: &PortableStage, next: &'a PortableStage) -> Option<&'a Call> {
    let breaks_all_ties = sort.candidate.facts().is_some_and(|facts| facts.input.ignores_order);
    let counts = next.candidate.facts().is_some_and(|facts| facts.over_parts == OverParts::Counted);
    let is_bare = sort.writes.is_none() && next.reads.is_none() && next.writes.is_none();
    (breaks_all_ties && counts && is_bare)
        .then_some(next.call.as_ref().ok()?)
        .filter(|call| call.assignments.is_empty())
}

/// Returns the text of the stages that are left.
fn end(stages: &[PortableStage], taken: usize) -> Option<String> {
    let left = stages[taken..].iter().map(|stage| stage.text.clone());
    // The output of the last stage on the parts goes where that stage would have written it.
    let copied = stages[..taken].last().and_then(|last| last.writes.as_ref()).map(|to| format!("cat {to}"));
    let texts: Vec<String> = copied.into_iter().chain(left).collect();
    (!texts.is_empty()).then(|| texts.join(" | "))
}

/// What a pipeline reads.
struct Source {
    files: Vec<PathBuf>,
    /// The arguments with which the first stage reads them from its standard input; `None` if it only copies them.
    args: Option<Vec<Vec<u8>>>,
}

fn source(stage: &PortableStage) -> Result<Source, String> {
    let name = &stage.candidate.name;
    let path = |name: &Vec<u8>| PathBuf::from(OsString::from_vec(name.clone()));
    let call = call(stage).map_err(|reason| format!("{name}: {reason}"))?;
    let command = stage.candidate.command.as_ref().ok();
    if let Some(file) = &stage.reads {
        let inputs = command.map(|accepted| accepted.command.inputs());
        let known = stateless_of(stage).map(|known| vec![known.input]);
        return match inputs.map(<[Input]>::to_vec).or(known) {
            Some(inputs) if inputs == [Input::Stdin] => {
                Ok(Source { files: vec![path(file)], args: Some(call.args.clone()) })
            }
            _ => Err(format!("{name}, of which it is not known what it reads")),
        };
    }
    if let Some(accepted) = command {
        let inputs = accepted.command.inputs();
        let files: Vec<PathBuf> = inputs
            .iter()
            .filter_map(|input| match input {
                Input::File(name) => Some(path(name)),
                Input::Stdin => None,
            })
            .collect();
        let only_files = files.len() == inputs.len() && !files.is_empty();
        if only_files && matches!(accepted.facts.class, Class::Copy) {
            return Ok(Source { files, args: None });
        }
        // A command whose outputs can be merged prints no names of files.
        let prints_alike = accepted.facts.over_parts != OverParts::Unknown;
        if only_files
            && prints_alike
            && let ([Input::File(file)], Some((last, args))) = (inputs, call.args.split_last())
            && last == file
            && args.last().is_none_or(|before| before != b"--")
        {
            return Ok(Source { files, args: Some(args.to_vec()) });
        }
    }
    match stateless_of(stage) {
        Some(Stateless { input: Input::File(file), args, .. }) => {
            Ok(Source { files: vec![path(&file)], args: Some(args) })
        }
        _ => Err(format!("{name}: {}", why_not(stage))),
    }
}

/// Returns how a real command treats lines by themselves. A program of awk whose messages name its input counts as well: a
/// part with a message counts for nothing.
fn stateless_of(stage: &PortableStage) -> Option<Stateless> {
    if let Ok(known) = &stage.candidate.stateless {
        return Some(known.clone());
    }
    let (call, context) = (stage.call.as_ref().ok()?, stage.candidate.context.as_ref()?);
    let named = call.args.iter().cloned().chain([b"/dev/stdin".to_vec()]).collect::<Vec<_>>();
    let known = stateless(stage.candidate.name.as_bytes(), &named, context).ok()?;
    (known.args == call.args).then_some(Stateless { input: Input::Stdin, ..known })
}

/// Returns why nothing is known of how a stage's input could be cut.
fn why_not(stage: &PortableStage) -> String {
    let candidate = &stage.candidate;
    match (&candidate.command, &candidate.stateless) {
        (Ok(_), Err(why)) if why.reason != NOT_KNOWN => why.reason.clone(),
        (Ok(_), _) => "its input is not one file, or it needs all of it in order".to_owned(),
        (Err(why), _) => why.reason.clone(),
    }
}

fn call(stage: &PortableStage) -> Result<&Call, String> {
    stage.call.as_ref().map_err(Clone::clone)
}

/// Returns what a stage does with parts, or why it reads the whole.
fn on_parts(stage: &PortableStage, first: bool, kept: Kept) -> Result<OnParts, String> {
    if stage.reads.is_some() && !first {
        return Err("it reads a file of its own".into());
    }
    let candidate = &stage.candidate;
    let known = stateless_of(stage);
    if !first && !reads_stdin_alone(stage, known.as_ref()) {
        return Err("it reads files of its own".into());
    }
    if let Ok(call) = &stage.call {
        check_args(call)?;
    }
    let facts = candidate.facts();
    let utf8 = candidate.context.as_ref().is_some_and(|context| context.locale.ctype != Charset::C);
    let judges = facts.is_some_and(|facts| facts.input.depends_on_reads);
    let check = match known.as_ref().map(|known| known.data) {
        _ if judges => {
            if utf8 {
                Check::Utf8
            } else {
                Check::NoNul
            }
        }
        Some(Data::Text { utf8: true }) => Check::Utf8,
        Some(Data::Text { utf8: false } | Data::Json) => Check::NoNul,
        Some(Data::Bytes) | None => Check::Bytes,
    };
    let is_kept = match check {
        Check::Bytes => true,
        Check::NoNul => kept >= Kept::NoNul,
        Check::Utf8 => kept >= Kept::Characters,
    };
    if !is_kept {
        return Err("it judges what is text, and a stage before it may make other bytes".into());
    }
    if let Some(known) = known {
        let status = match known.statuses {
            Statuses::Found => PartStatus::Found,
            Statuses::AnyIsTheEnd | Statuses::First => PartStatus::Success,
        };
        let keeps = match facts {
            Some(facts) if matches!(facts.class, Class::LineFilter) => Kept::Characters,
            _ => Kept::Nothing,
        };
        let makes_lines = known.prints_lines;
        return Ok(OnParts { over: OverParts::Concatenated, makes_lines, check, status, keeps });
    }
    let Some(facts) = facts else {
        return Err(candidate.command.as_ref().err().map_or_else(String::new, |why| why.reason.clone()));
    };
    let (over, keeps) = how(facts);
    if matches!(over, OverParts::Unknown | OverParts::Counted) || facts.record_end != b'\n' {
        return Err("it needs all of its input in order".into());
    }
    if facts.output.writes_files() || facts.child.is_some() {
        return Err("it does more than print".into());
    }
    let makes_lines = match &facts.class {
        Class::ByteMap(map) => keeps_line_ends(map),
        _ => true,
    };
    let found = judges && matches!(over, OverParts::Concatenated | OverParts::Added);
    let status = if found { PartStatus::Found } else { PartStatus::Success };
    Ok(OnParts { over, makes_lines, check, status, keeps })
}

/// Whether a stage reads its standard input and nothing else.
fn reads_stdin_alone(stage: &PortableStage, known: Option<&Stateless>) -> bool {
    match &stage.candidate.command {
        Ok(accepted) => accepted.command.inputs() == [Input::Stdin],
        Err(_) => known.is_some_and(|known| known.input == Input::Stdin),
    }
}

/// Declines arguments by which a part would not print what the whole prints.
fn check_args(call: &Call) -> Result<(), String> {
    let holds = |word: &[u8]| call.args.iter().any(|arg| memmem::find(arg, word).is_some());
    if call.args.iter().any(|arg| arg == b"-") {
        return Err("an operand `-`, which it may print".into());
    }
    if holds(b"ENVIRON") || holds(b"$ENV") || holds(b"env") && call.name.ends_with(b"jq") {
        return Err("it looks at the environment, which other machines and other runs need not share".into());
    }
    Ok(())
}

fn how(facts: &Facts) -> (OverParts, Kept) {
    match &facts.class {
        Class::LineFilter | Class::Copy if facts.treats_lines_alike() => {
            (OverParts::Concatenated, Kept::Characters)
        }
        Class::ByteMap(map) => {
            let keeps = if map.creates().contains(0) { Kept::Nothing } else { Kept::NoNul };
            (OverParts::Concatenated, keeps)
        }
        _ => (facts.over_parts.clone(), Kept::NoNul),
    }
}

/// Whether a newline stays one, so that whole lines stay whole.
fn keeps_line_ends(map: &ByteMap) -> bool {
    !map.removes().contains(b'\n')
}

/// Writes a program with arguments as shell text.
fn written(call: &Call, args: &[Vec<u8>]) -> Result<String, String> {
    let not_text = |_| "a word that is not UTF-8".to_owned();
    let quoted = |word: &[u8]| {
        let word = String::from_utf8(word.to_vec()).map_err(not_text)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./,:+@%".contains(&byte);
        let is_plain = !word.is_empty() && word.bytes().all(plain);
        Ok::<_, String>(if is_plain { word } else { format!("'{}'", word.replace('\'', "'\\''")) })
    };
    let mut words = Vec::new();
    for (name, value) in &call.assignments {
        words.push(format!("{name}={}", quoted(value)?));
    }
    words.push(quoted(&call.name)?);
    for arg in args {
        words.push(quoted(arg)?);
    }
    Ok(words.join(" "))
}
