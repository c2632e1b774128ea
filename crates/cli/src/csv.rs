//! `pelton csv`: selects columns and records of separated values, and converts them.

use crate::ending::Ending;
use crate::failure::{Failure, plain};
use crate::shared_options::CoreArgs;
use crate::terminal;
use clap::{Args, ValueEnum};
use pelton_csv::{CHUNK_BYTES, Columns, Condition, Format, Options, RECORD_BYTES_MAX, Share, read};
use pelton_record::Span;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// Select columns and records of CSV, as CSV, tab-separated lines or JSON: read as a stream, on all cores.
///
/// Fields may be quoted and then hold delimiters, quotes (doubled) and line ends. Records end with a line feed, alone or
/// behind a carriage return. Records come out as they are read.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pelton csv -s name,city people.csv                two columns, in this order
  pelton csv -s 2-4,id -w 'city=Oslo' people.csv    of the records that are of
                                                    Oslo
  pelton csv -w 'price>=10' -w 'name~^A' goods.csv  all conditions must hold
  pelton csv --to tsv --drop-header people.csv | sort -t$'\\t' -k2
                                                    for the next stage: one line
                                                    for each record
  pelton csv --to ndjson --numbers people.csv       an object for each record

Columns: names; numbers from 1; ranges (2-4, name-city, 3-, -2), backwards too;
!id for all others. A name with `,` or `-` in it, or one that is a number,
stands in \"quotes\".

Conditions: COLUMN=TEXT, COLUMN!=TEXT, COLUMN~REGEX, COLUMN!~REGEX, and
COLUMN<NUMBER with < <= > >=, of what a field means, without its quotes.
Expressions are those of Rust's regex crate, of bytes. What is no number is
neither less nor more.

CSV comes out with quotes only where a field needs them. In --to tsv, \\t, \\n,
\\r and \\\\ stand for what would end a field or a line. JSON holds strings,
unless --numbers; bytes that are no UTF-8 become U+FFFD.

The text must be what RFC 4180 has it: a quote in a field without quotes around
it, something behind a closing quote, and a record with more or fewer fields
than the first (but see --ragged) are errors, and so is a record of more than 64
MiB: quotes that are never closed make one of all that follows. Empty lines are
skipped, and so is a byte order mark at the beginning. What was printed before
an error stays printed.

Exit status: 0; 2 if an input is wrong, has no such column or cannot be read.
The message names the line, the column (the byte, from 1) and the record.")]
pub struct CsvArgs {
    /// The columns to show, in this order [default: all]
    #[arg(short, long, value_name = "COLUMNS", allow_hyphen_values = true)]
    select: Option<String>,

    /// Show only records for which this holds; may be repeated
    #[arg(short, long = "where", value_name = "CONDITION")]
    wanted: Vec<String>,

    /// How to show them
    #[arg(short, long, value_name = "FORMAT", default_value = "csv")]
    to: To,

    /// What separates fields: a character of ASCII, or `tab`
    #[arg(short, long, value_name = "CHARACTER", default_value = ",", value_parser = parse_delimiter)]
    delimiter: u8,

    /// The first record is data: columns have numbers only
    #[arg(short, long)]
    no_header: bool,

    /// Do not show the names of the columns
    #[arg(long)]
    drop_header: bool,

    /// In JSON, show fields that are numbers there as such
    #[arg(long)]
    numbers: bool,

    /// Allow records with more or fewer fields than the first; what is not there is empty
    #[arg(long)]
    ragged: bool,

    #[command(flatten)]
    cores: CoreArgs,

    /// How many bytes are read at once; for tests
    #[arg(long, value_name = "N", hide = true, default_value_t = CHUNK_BYTES)]
    chunk_bytes: usize,

    /// Files; `-` for standard input, which is also read if none is given. Each has a header of its own, that of the
    /// first is shown
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    /// Separated values again, with commas
    Csv,
    /// Tab-separated lines
    Tsv,
    /// An array of objects
    Json,
    /// An object a line
    Ndjson,
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => Err("one character of ASCII is wanted that is no quote and no line end, or `tab`".to_owned()),
    }
}

impl CsvArgs {
    fn options(&self) -> Result<Options, Failure> {
        let columns = self.select.as_deref().map(|text| {
            Columns::parse(text).map_err(|error| {
                let message = format!("this list of columns cannot be read: {error}");
                let end = text[error.at..].chars().next().map_or(error.at, |next| error.at + next.len_utf8());
                Failure::new(message).at(text, Span { start: error.at, end }, None)
            })
        });
        let condition = |text: &String| {
            let help = |failure: Failure| failure.with_help("-w 'city=Oslo', -w 'price>=10' or -w 'name~^A'");
            Condition::parse(text).map_err(|error| help(Failure::new(error.to_string())))
        };
        Ok(Options {
            delimiter: self.delimiter,
            named: !self.no_header,
            columns: columns.transpose()?,
            conditions: self.wanted.iter().map(condition).collect::<Result<_, _>>()?,
            format: match self.to {
                To::Csv => Format::Separated(b','),
                To::Tsv => Format::Tabs,
                To::Json => Format::Array,
                To::Ndjson => Format::Lines,
            },
            numbers: self.numbers,
            header: !self.drop_header,
            ragged: self.ragged,
        })
    }
}

/// Runs `pelton csv`.
///
/// # Errors
/// If the command line is invalid. An error in an input is printed, and the next input is read.
pub fn csv(args: &CsvArgs) -> Result<Ending, Failure> {
    pelton_sys::signals::default_sigpipe();
    let options = args.options()?;
    let share = Share { threads: args.cores.threads()?, chunk: args.chunk_bytes, record: RECORD_BYTES_MAX };
    let out = io::stdout().as_fd().try_clone_to_owned();
    let mut out =
        out.map(File::from).map_err(|error| Failure::io("cannot write to standard output", &error))?;
    let standard_input = [OsString::from("-")];
    let files = if args.files.is_empty() { &standard_input[..] } else { &args.files };
    let (mut begun, mut status) = (false, 0);
    for file in files {
        let outcome = open(file).map_err(pelton_csv::Failure::Read);
        let outcome =
            outcome.and_then(|input| read(input, &options, share, &mut begun, |bytes| out.write_all(bytes)));
        if let Err(failure) = outcome {
            terminal::say(&complaint(file, &failure));
            status = 2;
            if matches!(failure, pelton_csv::Failure::Write(_)) {
                return Ok(Ending::Status(status));
            }
        }
    }
    if let Err(error) = out.write_all(options.format.ending(begun)) {
        terminal::say(&complaint(OsStr::new("-"), &pelton_csv::Failure::Write(error)));
        status = 2;
    }
    Ok(Ending::Status(status))
}

fn open(file: &OsStr) -> io::Result<File> {
    if file == "-" { Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?)) } else { File::open(file) }
}

fn complaint(file: &OsStr, failure: &pelton_csv::Failure) -> String {
    let name = if file == "-" { "standard input".into() } else { file.to_string_lossy() };
    match failure {
        pelton_csv::Failure::Syntax(error) => format!("pelton: {name}: {error}\n"),
        pelton_csv::Failure::Columns(reason) => format!("pelton: {name}: {reason}\n"),
        pelton_csv::Failure::Read(error) => format!("pelton: cannot read {name}: {}\n", plain(error)),
        pelton_csv::Failure::Write(error) => {
            format!("pelton: cannot write to standard output: {}\n", plain(error))
        }
    }
}
