//! Which stages of a pipeline run on parts of its input, how their outputs become one, and what runs behind that.

use crate::cut::Cuts;
use memchr::memmem;
use pelton_commands::stateless::{Data, Stateless, Statuses, stateless};
use pelton_commands::{Charset, Class, Facts, Input, OverParts, decompressor};
use pelton_run::script::quoted;
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

/// Which parts suffice, so that others are not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suffices {
    /// None: all are needed.
    Never,
    /// One that ended before its input, with all before it.
    EndedEarly,
    /// One with status 0, alone.
    Success,
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
    /// This command of awk adds up what each part has left, and runs its END.
    Folded(String),
    /// One after another, each line with its number in the part, as wide as this, which becomes that in the whole.
    Numbered(usize),
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
            Merge::Folded(_) => "their sums are added, and END runs".to_owned(),
            Merge::Numbered(_) => {
                "one after another, with the numbers that lines have in the whole".to_owned()
            }
        }
    }
}

/// What of a pipeline runs on each part, and what becomes of that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Division {
    /// The command that makes each input file into what is read of it (`zcat`).
    pub decoder: Option<String>,
    /// The stages that run on each part, which is their standard input; none before a command that is folded.
    pub stages: String,
    /// Those that run on the first part, if they are others.
    pub first: Option<String>,
    /// How many lines the first part must have at least.
    pub first_lines: u64,
    /// Which bytes a part may hold.
    pub check: Check,
    /// Whether the outputs must be UTF-8 without NULs.
    pub output_is_text: bool,
    /// Which statuses a part may end with.
    pub status: PartStatus,
    /// Which parts suffice.
    pub suffices: Suffices,
    /// How the outputs of the parts become one.
    pub merge: Merge,
    /// The stages that read the merged output on the driver's machine.
    pub end: Option<String>,
    /// Whether the last stage of the text runs on the parts: then the end only copies, and theirs is the status.
    pub ends_on_parts: bool,
}

impl Division {
    /// Returns the command behind the stages whose sums over the part are taken, if there is one.
    pub fn fold(&self) -> Option<&String> {
        match &self.merge {
            Merge::Folded(command) => Some(command),
            _ => None,
        }
    }
}

/// A pipeline, divided.
#[derive(Clone, Debug)]
pub struct Work {
    /// The input files, in order.
    pub files: Vec<PathBuf>,
    /// Where parts may be cut.
    pub cuts: Cuts,
    /// What runs where.
    pub division: Division,
    /// The programs of the stages on the parts.
    pub programs: Vec<PathBuf>,
    /// Whether what it prints on a terminal is coloured.
    pub colours: bool,
    /// Why the stages of the end do not run on parts, if there are any.
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
        let Source { files, args, decoder } = source(first)?;
        let mut taking = Taking {
            taken: usize::from(args.is_none()),
            first_args: args,
            kept: Kept::Characters,
            cuts: if decoder.is_some() { Cuts::Files } else { Cuts::lines() },
            texts: Vec::new(),
            programs: decoder
                .iter()
                .filter_map(|_| Some(first.call.as_ref().ok()?.program.clone()))
                .collect(),
            first_lines: 0,
            check: Check::Bytes,
            output_is_text: false,
            status: PartStatus::Success,
            suffices: Suffices::Never,
            merge: Merge::Concatenated,
        };
        let mut why_end = None;
        while let Some(stage) = stages.get(taking.taken) {
            match taking.take(stage, stages.get(taking.taken + 1)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(reason) => {
                    why_end = Some(format!("{}: {reason}", stage.candidate.name));
                    break;
                }
            }
        }
        if taking.texts.is_empty() && !matches!(taking.merge, Merge::Folded(_)) {
            return Err(why_end.unwrap_or_else(|| "a pipeline that only copies".to_owned()));
        }
        let (on_first, on_others) = taking.written();
        let ends_on_parts = taking.taken == stages.len();
        let last = stages.last().and_then(stateless_of);
        Ok(Work {
            files,
            cuts: taking.cuts,
            division: Division {
                decoder,
                first: (on_first != on_others).then_some(on_first),
                stages: on_others,
                first_lines: taking.first_lines,
                check: taking.check,
                output_is_text: taking.output_is_text,
                status: taking.status,
                suffices: taking.suffices,
                merge: taking.merge,
                end: end(stages, taking.taken),
                ends_on_parts,
            },
            programs: taking.programs,
            colours: ends_on_parts && last.is_some_and(|last| last.data == Data::Json),
            why_end,
        })
    }
}

/// The stages on the parts, while one is taken after the other.
struct Taking {
    /// How many stages of the text are taken; a first one that only copies is none of the texts.
    taken: usize,
    /// The arguments of the first stage, to read its standard input.
    first_args: Option<Vec<Vec<u8>>>,
    kept: Kept,
    cuts: Cuts,
    texts: Vec<OnEach>,
    programs: Vec<PathBuf>,
    first_lines: u64,
    check: Check,
    output_is_text: bool,
    status: PartStatus,
    suffices: Suffices,
    merge: Merge,
}

/// The text of a stage.
struct OnEach {
    first: String,
    /// On all parts but the first; `None`: it copies.
    others: Option<String>,
}

impl Taking {
    /// Takes a stage, and `next` as well if that counts what this one sorts. Returns whether others may follow.
    ///
    /// # Errors
    /// Why it does not run on parts.
    fn take(&mut self, stage: &PortableStage, next: Option<&PortableStage>) -> Result<bool, String> {
        let found = on_parts(stage, self.taken == 0, self.kept)?;
        let facts = stage.candidate.facts();
        let order_shows = facts.is_some_and(|facts| facts.output.order_is_unspecified)
            && !next.is_some_and(|next| stage.candidate.is_sorted_by(&next.candidate));
        if found.over == OverParts::Folded && order_shows {
            return Err("it prints in an order that only the real one knows".into());
        }
        let call = call(stage)?;
        if let OverParts::ConcatenatedBetween(before, behind) = found.over {
            if !self.texts.is_empty() || self.cuts == Cuts::Files {
                return Err("what it reads is no file, which could be cut where it may be".into());
            }
            self.cuts = Cuts::Between(before, behind);
        }
        if matches!(found.over, OverParts::Numbered(_)) && !self.texts.is_empty() {
            return Err("it numbers lines, of which a stage before it may drop or add some".into());
        }
        let args = self.first_args.take().unwrap_or_else(|| call.args.clone());
        let text = written(call, &args)?;
        let mut others = Some(text.clone());
        if let OverParts::AfterFirst { lines, options } = &found.over {
            if !self.texts.is_empty() {
                return Err("it needs all of its input in order".into());
            }
            self.first_lines = *lines;
            others = options
                .as_ref()
                .map(|options| written(call, &[options.as_slice(), &args].concat()))
                .transpose()?;
        }
        let counting = match found.over {
            OverParts::Merged(_) => next.and_then(|next| counts(stage, next)),
            _ => None,
        };
        self.output_is_text = counting.is_some() && facts.is_some_and(|facts| !facts.input.ignores_order);
        let counting =
            counting.map(|call| Ok::<_, String>((call, written(call, &call.args)?))).transpose()?;
        let decides = found.over == OverParts::AnySuccess;
        self.merge = match found.over {
            OverParts::Added => Merge::Added,
            OverParts::ReadAgain => Merge::ReadBy(text.clone()),
            OverParts::Merged(args) if counting.is_some() => Merge::Counted(written(call, &args)?),
            OverParts::Merged(args) => Merge::MergedBy(written(call, &args)?),
            OverParts::FirstLines(most) => Merge::ReadBy(format!("head -n {most}")),
            OverParts::Numbered(width) => Merge::Numbered(width),
            OverParts::Folded => Merge::Folded(text.clone()),
            OverParts::Concatenated
            | OverParts::ConcatenatedBetween(..)
            | OverParts::AfterFirst { .. }
            | OverParts::AnySuccess
            | OverParts::Counted
            | OverParts::Unknown => Merge::Concatenated,
        };
        let stops_early = facts.is_some_and(Facts::stops_early);
        self.suffices = match self.merge {
            _ if decides => Suffices::Success,
            Merge::ReadBy(_) if stops_early => Suffices::EndedEarly,
            _ => Suffices::Never,
        };
        self.check = self.check.max(found.check);
        self.status = found.status;
        self.kept = self.kept.min(found.keeps);
        if matches!(self.merge, Merge::Folded(_)) {
            self.taken += 1;
            self.programs.push(call.program.clone());
            return Ok(false);
        }
        self.add(call, OnEach { first: text, others });
        if let Some((call, text)) = counting {
            self.add(call, OnEach { first: text.clone(), others: Some(text) });
        }
        let may_go_on = self.merge == Merge::Concatenated && self.suffices == Suffices::Never;
        Ok(may_go_on && found.makes_lines && stage.writes.is_none())
    }

    /// Returns the stages on the first part, and on the others.
    fn written(&self) -> (String, String) {
        let first: Vec<&str> = self.texts.iter().map(|text| text.first.as_str()).collect();
        let others: Vec<&str> = self.texts.iter().filter_map(|text| text.others.as_deref()).collect();
        let copies = others.is_empty() && !first.is_empty();
        (first.join(" | "), if copies { "cat".to_owned() } else { others.join(" | ") })
    }

    fn add(&mut self, call: &Call, text: OnEach) {
        self.taken += 1;
        self.programs.push(call.program.clone());
        self.texts.push(text);
    }
}

/// Returns how the stage behind a sort counts its lines, if it only does that and each line stands beside its equals.
fn counts<'a>(sort: &PortableStage, next: &'a PortableStage) -> Option<&'a Call> {
    let breaks_all_ties = sort
        .candidate
        .facts()
        .is_some_and(|facts| facts.input.ignores_order || facts.input.ignores_order_of_text);
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
    /// The command that makes each file into what is read of it; the first stage then is none of the others.
    decoder: Option<String>,
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
                Ok(Source { files: vec![path(file)], args: Some(call.args.clone()), decoder: None })
            }
            _ => Err(format!("{name}, of which it is not known what it reads")),
        };
    }
    if let Some(found) = decompressor(&call.name, &call.args) {
        let decoder = Some(written(call, &found.options)?);
        return Ok(Source { files: found.files.iter().map(path).collect(), args: None, decoder });
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
            return Ok(Source { files, args: None, decoder: None });
        }
        // A command whose outputs can be merged prints no names of files.
        let prints_alike = accepted.facts.over_parts != OverParts::Unknown;
        if only_files
            && prints_alike
            && let ([Input::File(file)], Some((last, args))) = (inputs, call.args.split_last())
            && last == file
            && args.last().is_none_or(|before| before != b"--")
        {
            return Ok(Source { files, args: Some(args.to_vec()), decoder: None });
        }
    }
    match stateless_of(stage) {
        Some(Stateless { input: Input::File(file), args, .. }) => {
            Ok(Source { files: vec![path(&file)], args: Some(args), decoder: None })
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
    let accepted = match &candidate.command {
        Ok(accepted) => accepted,
        Err(why) => return why.reason.clone(),
    };
    match accepted.command.inputs() {
        [] | [Input::Stdin] => "its input is no file",
        [_] => "it prints the name of its file, or needs all of its input in order",
        _ => "it reads several files by itself (`cat FILES | …` may be divided)",
    }
    .to_owned()
}

fn call(stage: &PortableStage) -> Result<&Call, String> {
    stage.call.as_ref().map_err(Clone::clone)
}

/// Returns what a stage does with parts, or why it reads the whole.
fn on_parts(stage: &PortableStage, first: bool, kept: Kept) -> Result<OnParts, String> {
    let known = stateless_of(stage);
    if !first && (stage.reads.is_some() || !reads_stdin_alone(stage, known.as_ref())) {
        return Err(match &stage.candidate.command {
            Err(why) if stage.reads.is_none() => why.reason.clone(),
            _ => "it reads files of its own".to_owned(),
        });
    }
    if let Ok(call) = &stage.call {
        check_args(call, known.as_ref())?;
    }
    let check = check(stage, known.as_ref());
    let is_kept = match check {
        Check::Bytes => true,
        Check::NoNul => kept >= Kept::NoNul,
        Check::Utf8 => kept >= Kept::Characters,
    };
    if !is_kept {
        return Err("it judges what is text, and a stage before it may make other bytes".into());
    }
    match (known, &stage.candidate.command) {
        (Some(known), _) => Ok(by_lines(&known, stage.candidate.facts(), check)),
        (None, Ok(accepted)) => by_facts(&accepted.facts, check),
        (None, Err(why)) => Err(why.reason.clone()),
    }
}

/// Returns which bytes a stage treats in parts as in the whole.
fn check(stage: &PortableStage, known: Option<&Stateless>) -> Check {
    let utf8 = stage.candidate.context.as_ref().is_some_and(|context| context.locale.ctype != Charset::C);
    let judges = stage.candidate.facts().is_some_and(|facts| facts.input.depends_on_reads);
    match known.map(|known| known.data) {
        _ if judges && utf8 => Check::Utf8,
        _ if judges => Check::NoNul,
        Some(Data::Text { utf8: true }) => Check::Utf8,
        Some(Data::Text { utf8: false } | Data::Json) => Check::NoNul,
        Some(Data::Bytes) | None => Check::Bytes,
    }
}

/// Returns what a real command does that treats lines by themselves.
fn by_lines(known: &Stateless, facts: Option<&Facts>, check: Check) -> OnParts {
    let filters = facts.is_some_and(|facts| matches!(facts.class, Class::LineFilter));
    OnParts {
        over: OverParts::Concatenated,
        makes_lines: known.prints_lines,
        check,
        status: match known.statuses {
            Statuses::Found => PartStatus::Found,
            Statuses::AnyIsTheEnd | Statuses::First => PartStatus::Success,
        },
        keeps: if filters { Kept::Characters } else { Kept::Nothing },
    }
}

/// Returns what an accepted command does with parts, or why it reads the whole.
fn by_facts(facts: &Facts, check: Check) -> Result<OnParts, String> {
    let (over, keeps) = how(facts);
    if over == OverParts::Folded && facts.input.nul_ends_lines {
        return Err("it needs all of its input in order".into());
    }
    if matches!(over, OverParts::Unknown | OverParts::Counted) || facts.record_end != b'\n' {
        return Err("it needs all of its input in order".into());
    }
    if facts.output.writes_files() || facts.child.is_some() {
        return Err("it does more than print".into());
    }
    let makes_lines = match &facts.class {
        // A newline stays one.
        Class::ByteMap(map) => !map.removes().contains(b'\n'),
        _ => true,
    };
    // Only a search judges what it reads.
    let searches = facts.input.depends_on_reads || matches!(facts.class, Class::LineFilter);
    let finds = over == OverParts::AnySuccess || searches && !matches!(over, OverParts::AfterFirst { .. });
    let status = if finds { PartStatus::Found } else { PartStatus::Success };
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
fn check_args(call: &Call, known: Option<&Stateless>) -> Result<(), String> {
    let holds = |word: &[u8]| call.args.iter().any(|arg| memmem::find(arg, word).is_some());
    let is_json = known.is_some_and(|known| known.data == Data::Json);
    if call.args.iter().any(|arg| arg == b"-") {
        return Err("an operand `-`, which it may print".into());
    }
    if holds(b"ENVIRON") || holds(b"$ENV") || is_json && holds(b"env") {
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

/// Writes a program with arguments as shell text.
fn written(call: &Call, args: &[Vec<u8>]) -> Result<String, String> {
    let not_text = |_| "a word that is not UTF-8".to_owned();
    let shown = |word: &[u8]| {
        let word = String::from_utf8(word.to_vec()).map_err(not_text)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./,:+@%".contains(&byte);
        let is_plain = !word.is_empty() && word.bytes().all(plain);
        Ok::<_, String>(if is_plain { word } else { quoted(&word) })
    };
    let mut words = Vec::new();
    for (name, value) in &call.assignments {
        words.push(format!("{name}={}", shown(value)?));
    }
    words.push(shown(&call.name)?);
    for arg in args {
        words.push(shown(arg)?);
    }
    Ok(words.join(" "))
}
