//! `pelton json`: flattens documents to lines, or selects values by path.

mod plan;

use crate::ending::Ending;
use crate::failure::{Failure, plain};
use crate::shared_options::CoreArgs;
use crate::terminal;
use clap::Args;
use pelton_json::feed::WINDOW_BYTES;
use pelton_json::formats::{Gron, Lines, Records, Template, Tokens, Values};
use pelton_json::ndjson::{CHUNK_BYTES, Share, read_lines};
use pelton_json::{Format, Out, Prints, Rules, Selected, Visitor};
use plan::{JsonPlan, Show};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// Flatten JSON to lines that grep, sort and awk can work with, or select values by path: read once, in constant memory.
///
/// Without a PATH, each value becomes a line with its path, each object and array a line where it begins and one where it
/// ends. With one, only the values that it leads to are printed, one a line. What comes out comes as it is read, in the
/// order of the document. Strings, numbers and names stay as written.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton json data.json                  a line for each value
  curl -s example.org/api | pelton json  from standard input, while it comes
  pelton json .menu.id data.json         one value
  pelton json '.items[].name' data.json  one of each element; -r shows strings
                                         without quotes
  pelton json '..[?price < 10].title' data.json
                                         at any level, where a condition holds
  pelton json '.items[]' --tsv '.id,.name' data.json | sort -k2
                                         columns for the next stage
  pelton json '.items[]' --format '{.id}: {.name}' data.json
                                         a text for each
  pelton json --format '{path} is {type} {text}' data.json
                                         a text for each value
  pelton json --ndjson .status log.ndjson | sort | uniq -c
                                         a document a line, on all cores

Paths:
  .                    the whole document; $ too
  .name .\"a name\" [\"a\"]
                       the member of that name; without quotes, a name has none
                       of .[]()\"'*?=!<>&|,:;@$/\\{}
  .* [] [*]            every member and every element
  [3] [2:5] [:5] [2:]  elements, counted from 0, the last one not included
  ..name ..[0] ..*     the same, at any level
  [?name]              every member and element that has it
  [?a.b == 1 && c != 'x']
                       or for which that holds: == != < <= > >= with a number,
                       a string, true, false or null; strings compare by their
                       characters, numbers as doubles, values of different kinds
                       not at all
Several paths select what any of them does, in the order of the document, each
value once; one within another follows it. Values that conditions judge, and
values in which others may be wanted (.. or several paths), are held in memory
one at a time. A PATH begins with `.`, `[` or `$`; a file of such a name is
written ./name.

Places in --format: {path} {key} {value} {text} (strings as they are meant)
{type} {depth}; or paths, {.name}, which are looked up in each selected value.
Braces are {{ and }}; \\n, \\t and \\\\ are known.

The text must be JSON as RFC 8259 has it, in UTF-8, also where nothing is
selected, and may hold any number of documents, one after another. Names that an
object has twice are two members, half of a surrogate pair stays as written (and
is U+FFFD where strings are shown as they are meant), a byte order mark at the
beginning is skipped. What was printed before an error stays printed.

Exit status: 0; 2 if an input is no JSON, ends too early or cannot be read. The
message names the line, the column (in bytes), and the path.")]
pub struct JsonArgs {
    /// Print a line for each value in what is selected, with its path
    #[arg(long, group = "form")]
    lines: bool,

    /// Print a token a line
    #[arg(long, group = "form")]
    tokens: bool,

    /// Print assignments as gron does (but in the order of the document)
    #[arg(long, group = "form")]
    gron: bool,

    /// Print a line for each selected value, with what these paths lead to in it as columns. Strings are shown as they
    /// are meant, with \t, \n, \r and \\ for what would end a column; null, and what is not there, is empty
    #[arg(long, group = "form", value_name = "PATH,…")]
    tsv: Option<String>,

    /// Print this and a line end for each value, or, with paths in it, for each selected one
    #[arg(long, group = "form", value_name = "TEXT")]
    format: Option<String>,

    /// With --format: print this and a line end where a container begins [default: nothing]
    #[arg(long, value_name = "TEXT", requires = "format")]
    format_open: Option<String>,

    /// With --format: print this and a line end where a container ends [default: nothing]
    #[arg(long, value_name = "TEXT", requires = "format")]
    format_close: Option<String>,

    /// With --tsv: first a line with the paths
    #[arg(long, requires = "tsv")]
    header: bool,

    /// Show selected strings as they are meant, without quotes and escapes
    #[arg(short, long, conflicts_with = "form")]
    raw: bool,

    /// Every document is on a line of its own; with several threads
    #[arg(long)]
    ndjson: bool,

    /// Each input must hold exactly one document
    #[arg(long, conflicts_with = "ndjson")]
    one: bool,

    /// Refuse documents with more levels of objects and arrays [default: 10000 where paths are printed, which grow with
    /// each level; else 1000000]
    #[arg(long, value_name = "N")]
    max_depth: Option<usize>,

    #[command(flatten)]
    cores: CoreArgs,

    /// How many bytes are read at once; for tests
    #[arg(long, value_name = "N", hide = true)]
    window_bytes: Option<usize>,

    /// Paths, then files; `-` for standard input, which is also read if no file is given
    #[arg(value_name = "PATH | FILE")]
    words: Vec<OsString>,
}

/// Runs `pelton json`.
///
/// # Errors
/// If the command line is invalid. An error in an input is printed, and the next input is read.
pub fn json(args: &JsonArgs) -> Result<Ending, Failure> {
    pelton_sys::signals::default_sigpipe();
    let plan = JsonPlan::of(args)?;
    let rules = Rules { max_depth: args.max_depth.unwrap_or(plan.show.max_depth()), single: args.one };
    let threads = if args.ndjson { args.cores.threads()? } else { 1 };
    let reading =
        Reading { plan: &plan, rules, window: args.window_bytes, threads: args.ndjson.then_some(threads) };
    let mut out = standard_output()?;
    if !plan.header.is_empty() && write(&mut out, &plan.header).is_err() {
        return Ok(Ending::Status(2));
    }
    let paths = plan.paths.clone();
    match plan.show.clone() {
        Show::Lines => reading.either(out, Lines::new),
        Show::Tokens => reading.either(out, Tokens::new),
        Show::Gron => reading.either(out, Gron::new),
        Show::Values { raw } => {
            let nests = paths.as_ref().is_some_and(pelton_json::select::Paths::nests);
            reading.either(out, move |out| Values::new(out, raw, nests))
        }
        Show::Records { fields, count, parts, shown } => {
            reading.either(out, move |out| Records::new(out, fields.clone(), count, parts.clone(), shown))
        }
        Show::Template { value, open, close } => {
            reading.either(out, move |out| Template::new(out, value.clone(), open.clone(), close.clone()))
        }
    }
}

/// Opens standard output unbuffered: `Out` has a buffer.
fn standard_output() -> Result<File, Failure> {
    let fd = io::stdout().as_fd().try_clone_to_owned();
    fd.map(File::from).map_err(|error| Failure::io("cannot write to standard output", &error))
}

fn write(out: &mut File, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes).inspect_err(|error| {
        terminal::say(&format!("pelton: cannot write to standard output: {}\n", plain(error)));
    })
}

/// How the inputs are read.
struct Reading<'a> {
    plan: &'a JsonPlan,
    rules: Rules,
    window: Option<usize>,
    /// With this many threads, line by line.
    threads: Option<usize>,
}

impl Reading<'_> {
    /// Prints all, or what is selected.
    fn either<F: Format + Prints>(
        &self,
        out: File,
        format: impl Fn(Out<'static>) -> F + Clone + Send + Sync + 'static,
    ) -> Result<Ending, Failure> {
        match self.plan.paths.clone() {
            None => self.all(out, format),
            Some(paths) => self.all(out, move |out| Selected::new(paths.clone(), format(out))),
        }
    }

    fn all<V: Visitor + Prints>(
        &self,
        out: File,
        visitor: impl Fn(Out<'static>) -> V + Clone + Send + Sync + 'static,
    ) -> Result<Ending, Failure> {
        let out = RefCell::new(out);
        let copy = out
            .borrow()
            .try_clone()
            .map_err(|error| Failure::io("cannot write to standard output", &error))?;
        let mut one = visitor(Out::new(copy));
        let mut status = 0;
        for file in &self.plan.files {
            let outcome = match (open(file), self.threads) {
                (Err(error), _) => Err(pelton_json::Failure::Read(error)),
                (Ok(mut input), None) => {
                    pelton_json::read(&mut input, self.rules, self.window.unwrap_or(WINDOW_BYTES), &mut one)
                }
                (Ok(input), Some(threads)) => {
                    let share = Share { threads, chunk: self.window.unwrap_or(CHUNK_BYTES) };
                    let visitor = visitor.clone();
                    let print = |bytes: &[u8]| out.borrow_mut().write_all(bytes);
                    read_lines(input, self.rules, share, move || visitor(Out::kept()), print)
                }
            };
            if let Err(failure) = outcome {
                terminal::say(&complaint(file, &failure));
                status = 2;
                if matches!(failure, pelton_json::Failure::Write(_)) {
                    break;
                }
            }
        }
        Ok(Ending::Status(status))
    }
}

fn open(file: &OsStr) -> io::Result<File> {
    if file == "-" { Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?)) } else { File::open(file) }
}

fn complaint(file: &OsStr, failure: &pelton_json::Failure) -> String {
    let name = if file == "-" { "standard input".into() } else { file.to_string_lossy() };
    match failure {
        pelton_json::Failure::Syntax(error) => format!("pelton: {name}: {error}\n"),
        pelton_json::Failure::Read(error) => format!("pelton: cannot read {name}: {}\n", plain(error)),
        pelton_json::Failure::Write(error) => {
            format!("pelton: cannot write to standard output: {}\n", plain(error))
        }
    }
}
