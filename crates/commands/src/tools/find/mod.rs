//! `find`: GNU findutils, as a source. Its kernel walks with one thread, prints names, and replaces an -exec
//! command that only reads files. What depends on the time of reading, or on the locale of this process, is
//! left to the real find.

mod exec;
mod kernel;

use crate::Family;
use crate::tool::cost;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable};
use crate::tool::versions::OtherVersions;
use exec::Exec;
use kernel::FindKernel;
use pelton_find::{CommandLine, Query, Surroundings};
use pelton_stream::Kernel;

use crate::tool::in_process_exec::{self, Program};
use crate::{
    Accept, Charset, ChildProgram, Command, Content, Context, Declined, Diagnostics, Facts, Input, Locale,
    OutputFacts,
};

/// Primaries with side effects besides printing.
const EFFECTS: &[(&[u8], &str)] = &[
    (b"-delete", "removes files"),
    (b"-execdir", "runs commands of its own"),
    (b"-ok", "asks before it runs commands"),
    (b"-okdir", "asks before it runs commands"),
    (b"-fls", "writes a file"),
    (b"-fprint", "writes a file"),
    (b"-fprint0", "writes a file"),
    (b"-fprintf", "writes a file"),
    (b"-files0-from", "reads where to start"),
];

/// Most bytes of an argument list for the words of a command.
const MOST_WORDS_BYTES: usize = 1984;

#[derive(Debug)]
struct Find {
    args: Vec<Vec<u8>>,
    locale: Locale,
    /// The command of -exec.
    command: Option<Runs>,
    prints_names: bool,
}

#[derive(Debug)]
struct Runs {
    name: String,
    program: Program,
    gathers: bool,
}

/// The difference of tests that 4.10.0 reads or judges otherwise, by its NEWS: links to themselves, and numbers of
/// users and groups.
fn since_4_10(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let tests: [&[u8]; 7] = [b"-xtype", b"-user", b"-group", b"-uid", b"-gid", b"-inum", b"-links"];
    let differs = |arg: &Vec<u8>| tests.contains(&arg.as_slice()) || arg.starts_with(b"-O");
    args.iter().any(differs).then_some("tests of links to themselves, users and groups")
}

/// The tool row of `find`.
pub(crate) static TOOL: Tool = Tool {
    name: "find",
    family: Family::GnuFindutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints,
    io_errors: IoErrors { catalogue: Some("findutils"), ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[
        Unsuitable::Variable("POSIXLY_CORRECT"),
        Unsuitable::Variable("FIND_BLOCK_SIZE"),
        Unsuitable::MessagesBetweenOutput,
    ],
    probes: &[],
    cost: cost::unknown,
    other_versions: &[OtherVersions::but(&["4.10.0"], since_4_10)],
    verifiable: false,
    grammar: Grammar {
        role: Role::Source,
        needs: &[],
        options: &["-P", "-H", "-L"],
        operands: &[
            "@f",
            "@f @f -type f",
            "@f nosuch",
            "@f -name '*a*' -o -print",
            "nosuch -prune",
            "@f -size -2k",
            "@f -print0",
            "@f @f -type f -exec cat {} +",
            "@f nosuch @f -exec grep -c @r {} +",
            "@f @f -exec grep -n @r {} \\;",
            "@f @f -exec wc {} \\;",
            "@f . @f -maxdepth 0 -exec head -n @n {} \\;",
            "@f . @f -maxdepth 0 -exec cut -c @l {} +",
            "@f @f -type f -exec sort {} +",
            "@f @f -exec tail -n @p {} +",
            "@f -exec sed s/a/b/ {} \\;",
            "@f . -maxdepth 1 -exec basename {} a \\;",
            "@f . -maxdepth 1 -exec dirname {} +",
        ],
    },
};

fn only_prints(args: &[&str]) -> bool {
    !args
        .iter()
        .any(|arg| ["-delete", "-exec", "-ok", "-fprint", "-fls"].iter().any(|start| arg.starts_with(start)))
}

/// Parses the arguments. Does not tell a primary from another primary's argument: that can only decline too
/// much.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let effect = |arg: &Vec<u8>| EFFECTS.iter().find(|(word, _)| arg == word);
    if let Some((word, effect)) = args.iter().find_map(effect) {
        return Declined::because(format!("{} {effect}", word.escape_ascii()));
    }
    let mut find =
        Find { args: args.to_vec(), locale: context.locale.clone(), command: None, prints_names: true };
    if args.iter().any(|arg| arg == b"-exec") {
        let query = find.query()?;
        find.prints_names = query.prints_names();
        let reads =
            |line: &CommandLine| line.words.first().is_some_and(|name| in_process_exec::reads_files(name));
        if query.command().is_some_and(|line| line.gathers && reads(line)) && query.commands_everything() {
            return Declined::because("-exec names directories as well, of which no kernel makes anything");
        }
        find.command = query.command().map(|line| command(line, &context.locale)).transpose()?;
    }
    Ok(Box::new(find))
}

/// Returns the command of -exec, if it only reads files.
fn command(line: &CommandLine, locale: &Locale) -> Accept<Runs> {
    let (name, words) = line.words.split_first().map_or((&[][..], &[][..]), |(name, rest)| (&name[..], rest));
    let when = if line.gathers { "as many files as fit an argument list" } else { "each file" };
    let runs = || format!("-exec runs {} for {when}", name.escape_ascii());
    if !in_process_exec::is_known(name) {
        return Declined::because(runs());
    }
    if line.words.iter().map(|word| word.len() + 1).sum::<usize>() > MOST_WORDS_BYTES {
        return Declined::because("an argument list whose length the system may limit");
    }
    let replace = (!line.gathers).then_some(&b"{}"[..]);
    let program = Program::new(name, words, replace, !line.gathers, locale)
        .map_err(|declined| Declined::new(format!("{} ({})", runs(), declined.reason)))?;
    Ok(Runs { name: String::from_utf8_lossy(name).into_owned(), program, gathers: line.gathers })
}

impl Find {
    fn query(&self) -> Accept<Query> {
        self.locale.messages.in_english()?;
        let utf8 = match self.locale.charset_for(self.args.iter().any(|arg| arg.starts_with(b"-i"))) {
            Charset::C => false,
            Charset::Utf8 => true,
            Charset::Other => return Declined::because("another character set than UTF-8"),
        };
        // Its standard input may be a terminal: it then warns about likely mistakes, which is left to the
        // real find.
        let around = Surroundings { utf8, output_is_terminal: false, input_is_terminal: true };
        let query =
            pelton_find::parse(&self.args, around).map_err(|reason| Declined::new(reason.to_string()))?;
        query.is_portable().map_err(Declined::new)?;
        Ok(query)
    }
}

impl Command for Find {
    fn facts(&self) -> Facts {
        let runs = self.command.as_ref();
        // File names have no NUL.
        let prints_nul = runs.is_some() || self.args.iter().any(|arg| arg == b"-print0");
        let content = if prints_nul { Content::Bytes } else { Content::NoNul };
        // Measured over thousands of small files: opening them is most of the cost.
        let reads_no_faster = runs.is_some_and(|runs| runs.gathers && matches!(&*runs.name, "grep" | "head"));
        Facts {
            output: OutputFacts { content, ..OutputFacts::default() },
            diagnostics: Diagnostics { show_name: true, overtake_output: self.prints_names },
            child: runs.map(|runs| ChildProgram { name: runs.name.clone(), starts_often: !runs.gathers }),
            no_gain_alone: reads_no_faster.then_some("alone, the real one reads a list of files as fast"),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &[]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let exec = self.command.as_ref().map(|runs| Exec::new(runs.program.clone(), runs.gathers));
        Ok(Box::new(FindKernel::new(self.query()?, exec)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation};

    #[test]
    fn it_is_a_source_unless_it_does_more_than_print() {
        let context =
            Context { locale: Locale::C, implementation: Implementation::tested(Family::GnuFindutils) };
        let find = |line: &str| {
            let args: Vec<Vec<u8>> = line.split(' ').map(|arg| arg.as_bytes().to_vec()).collect();
            accept(&args, &context)
        };
        let source = find(". -name *.rs -print0").unwrap();
        assert!(source.facts().output.content == Content::Bytes && source.inputs().is_empty());
        let reason = |line: &str| find(line).unwrap().kernel().err().map(|declined| declined.reason);
        assert_eq!(reason(". -name *.rs -o ! -type d -size +3k").as_deref(), None);
        assert_eq!(reason(". -print0").as_deref(), None);
        for line in
            [". -name [ab]", ". -iname a", ". -regex a", ". -mmin 1", ". -depth", ". -type f -maxdepth 2"]
        {
            assert!(reason(line).is_some(), "{line}");
        }
        let reason = |line: &str| find(line).unwrap_err().reason;
        assert_eq!(
            reason(". -name a -exec rm {} +"),
            "-exec runs rm for as many files as fit an argument list"
        );
        assert_eq!(
            reason(". -exec grep x nosuch{} ;").split(" (").next(),
            Some("-exec runs grep for each file")
        );
        for line in [
            ". -name a -exec grep x {} +",
            ". -type f -exec wc -l {} ;",
            ". -name a -prune -o -exec grep {} -e x ;",
            ". ! -exec sort {} ;",
            ". ! -type d -exec cat {} + -print",
            ". ( -name a -o -name b ) -exec cat {} +",
            ". -exec cat {} ;",
        ] {
            assert!(find(line).unwrap().kernel().is_ok(), "{line}");
        }
        let alone = |line: &str| find(line).unwrap().facts().no_gain_alone.is_none();
        assert!(!alone(". -type f -exec grep x {} +") && alone(". -type f -exec wc {} +"));
        assert!(alone(". -type f -exec grep x {} ;") && alone(". -type f"));
        for line in [
            ". -exec grep -q x {} ; -print",
            ". -exec grep -q x {} ; -o -print",
            ". -exec cat {} ; -exec cat {} ;",
            ". -type f -exec cat {} + -quit",
            ". -exec cat {} +",
            ". -maxdepth 2 -exec cat {} + -type f",
            ". -name a -prune -o -exec cat {} +",
            ". -depth -type f -exec cat {} +",
            ". -exec cat {} {} ;",
            ". -exec cat x{} ;",
            ". -exec cat x ;",
            ". -exec cat {}",
            ". -type f -exec grep x f {} +",
            ". -type f -exec grep -P x {} +",
            ". -type f -exec /bin/cat {} +",
        ] {
            assert!(find(line).is_err(), "{line}");
        }
        assert_eq!(reason(". -execdir wc {} +"), "-execdir runs commands of its own");
        assert_eq!(find("-files0-from -").unwrap_err().reason, "-files0-from reads where to start");
    }
}
