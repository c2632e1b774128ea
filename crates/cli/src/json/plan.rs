//! Interprets the command line: parses its paths and templates.

use super::JsonArgs;
use crate::failure::Failure;
use pelton_json::Rules;
use pelton_json::formats::{OutputField, Piece, Shown, parse_template};
use pelton_json::select::{PathError, PathStep, Paths, parse, parse_list};
use pelton_record::Span;
use std::ffi::OsString;

/// What to read, what to select, and how to show it.
pub struct JsonPlan {
    pub files: Vec<OsString>,
    /// `None`: everything.
    pub paths: Option<Paths>,
    pub show: Show,
    /// Printed first.
    pub header: Vec<u8>,
}

/// How to print it.
#[derive(Clone)]
pub enum Show {
    Lines,
    Tokens,
    Gron,
    Values { raw: bool },
    Records { fields: Paths, count: usize, parts: Vec<OutputField>, shown: Shown },
    Template { value: Vec<Piece>, open: Vec<Piece>, close: Vec<Piece> },
}

impl Show {
    /// Returns the default limit on the nesting depth.
    pub fn max_depth(&self) -> usize {
        let is_path = |piece: &Piece| matches!(piece, Piece::Path);
        match self {
            Show::Lines | Show::Gron => Rules::MAX_DEPTH_OF_PATHS,
            Show::Template { value, open, close }
                if [value, open, close].into_iter().flatten().any(is_path) =>
            {
                Rules::MAX_DEPTH_OF_PATHS
            }
            _ => Rules::default().max_depth,
        }
    }
}

impl JsonPlan {
    /// Parses `args`.
    pub fn of(args: &JsonArgs) -> Result<Self, Failure> {
        let (mut paths, mut files) = (Vec::new(), Vec::new());
        for word in &args.words {
            match word.to_str().filter(|text| files.is_empty() && is_path(text)) {
                Some(text) => paths.push(parse(text).map_err(|error| wrong("path", text, &error))?),
                None => files.push(word.clone()),
            }
        }
        if files.is_empty() {
            files.push("-".into());
        }
        let selects = !paths.is_empty();
        let show = show(args, selects)?;
        // Without a path, each document is selected.
        if matches!(show, Show::Records { .. } | Show::Values { .. }) && !selects {
            paths.push(Vec::new());
        }
        let paths = (!paths.is_empty()).then(|| Paths::new(&paths)).transpose().map_err(Failure::new)?;
        let header = match (&args.tsv, args.header) {
            (Some(list), true) => list.split(',').map(str::trim).collect::<Vec<_>>().join("\t") + "\n",
            _ => String::new(),
        };
        if let (Show::Records { .. }, Some(paths)) = (&show, &paths)
            && paths.nests()
        {
            let message = "records are selected by one path without `..`, so that none lies within another";
            return Err(Failure::new(message).with_help("pelton json '.items[]' --tsv .id,.name"));
        }
        Ok(JsonPlan { files, paths, show, header: header.into_bytes() })
    }
}

/// `./x` and `../x` are files.
fn is_path(text: &str) -> bool {
    text.starts_with(['.', '[', '$']) && !text.starts_with("./") && !text.starts_with("../")
}

fn show(args: &JsonArgs, selects: bool) -> Result<Show, Failure> {
    if let Some(list) = &args.tsv {
        let columns = parse_list(list).map_err(|error| wrong("list of columns", list, &error))?;
        let mut parts = Vec::new();
        for number in 0..columns.len() {
            parts.extend([OutputField::Field(number), OutputField::Text(b"\t".to_vec())]);
        }
        parts.pop();
        parts.push(OutputField::Text(b"\n".to_vec()));
        return records(&columns, parts, Shown::Columns);
    }
    if let Some(text) = &args.format {
        return format(args, text);
    }
    Ok(match (args.lines, args.tokens, args.gron) {
        (true, ..) => Show::Lines,
        (_, true, _) => Show::Tokens,
        (_, _, true) => Show::Gron,
        _ if selects || args.raw => Show::Values { raw: args.raw },
        _ => Show::Lines,
    })
}

fn format(args: &JsonArgs, text: &str) -> Result<Show, Failure> {
    let read = |text: &str| {
        let mut pieces = parse_template(text).map_err(|error| wrong("template", text, &error))?;
        pieces.push(Piece::Text(b"\n".to_vec()));
        Ok::<_, Failure>(pieces)
    };
    let value = read(text)?;
    let fields = value.iter().filter(|piece| matches!(piece, Piece::Field(_))).count();
    if fields > 0 {
        return fields_of(args, value);
    }
    let [open, close] = [&args.format_open, &args.format_close]
        .map(|text| text.as_deref().filter(|text| !text.is_empty()).map_or(Ok(Vec::new()), read));
    let (open, close) = (open?, close?);
    if open.iter().chain(&close).any(|piece| matches!(piece, Piece::Field(_))) {
        return Err(Failure::new("paths have no meaning where a container begins or ends"));
    }
    Ok(Show::Template { value, open, close })
}

/// Reads a template with paths.
fn fields_of(args: &JsonArgs, pieces: Vec<Piece>) -> Result<Show, Failure> {
    if args.format_open.is_some() || args.format_close.is_some() {
        return Err(Failure::new(
            "--format-open and --format-close go with a template of each value, without paths",
        ));
    }
    let (mut columns, mut parts) = (Vec::new(), Vec::new());
    for piece in pieces {
        parts.push(match piece {
            Piece::Text(text) => OutputField::Text(text),
            Piece::Field(steps) => {
                columns.push(steps);
                OutputField::Field(columns.len() - 1)
            }
            _ => {
                let message =
                    "a template has either paths or the places of each value, {path}, {value} and so on";
                return Err(Failure::new(message)
                    .with_help("--format '{.id}: {.name}' or --format '{path}: {value}'"));
            }
        });
    }
    records(&columns, parts, Shown::Plain)
}

fn records(columns: &[Vec<PathStep>], parts: Vec<OutputField>, shown: Shown) -> Result<Show, Failure> {
    if columns.iter().flatten().any(|step| matches!(step, PathStep::If(_))) {
        return Err(Failure::new(
            "a condition cannot stand in a column: it belongs into the PATH of the records",
        ));
    }
    let fields = Paths::new(columns).map_err(Failure::new)?;
    Ok(Show::Records { fields, count: columns.len(), parts, shown })
}

/// Underlines the error.
fn wrong(what: &str, text: &str, error: &PathError) -> Failure {
    let message = format!("this {what} cannot be read: {error}");
    let end = text[error.at..].chars().next().map_or(error.at, |next| error.at + next.len_utf8());
    Failure::new(message).at(text, Span { start: error.at, end }, None)
}
