//! The formats a record can be shown in.
//!
//! A format is a module with a `render`. To add one: its file, a line in [`Format`], one in [`Format::ALL`], one in
//! [`Format::name`], one in [`Format::about`] and one in [`render`].

use std::{error, fmt, str::FromStr};

use pelton_record::Run;

use crate::inside;

pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod posix;
pub mod shell_style;
pub mod table;
pub mod trace;

/// A way to show a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// For people: a row per stage, then the verdict in words.
    #[default]
    Table,
    /// The record itself.
    Json,
    /// A row per stage with raw figures, for spreadsheets and data frames.
    Csv,
    /// The table for an issue, a wiki page or a README.
    Markdown,
    /// The three lines of `time -p`.
    Posix,
    /// A line per stage in the layout of a shell's `time`.
    ShellStyle,
    /// What each stage did when, in Chrome's trace format.
    Trace,
    /// The same as one HTML page, with the table.
    Html,
}

impl Format {
    /// All formats, the default one first.
    pub const ALL: [Format; 8] = [
        Format::Table,
        Format::Json,
        Format::Csv,
        Format::Markdown,
        Format::Posix,
        Format::ShellStyle,
        Format::Trace,
        Format::Html,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Markdown => "markdown",
            Format::Posix => "posix",
            Format::ShellStyle => "shell-style",
            Format::Trace => "trace",
            Format::Html => "html",
        }
    }

    /// Describes it for help and manual.
    pub fn about(self) -> &'static str {
        match self {
            Format::Table => "For people: a row per stage, then the verdict in words.",
            Format::Json => "The record itself, every field of it.",
            Format::Csv => {
                "A row per stage with raw figures, for spreadsheets and data frames; the last row is ALL."
            }
            Format::Markdown => "The table for an issue, a wiki page or a README.",
            Format::Posix => "The three lines of `time -p`.",
            Format::ShellStyle => "A line per stage in the layout of a shell's `time`.",
            Format::Trace => "What each stage did when, for Perfetto and chrome://tracing; see --trace.",
            Format::Html => "The same as one page for a browser, with the table and the verdict; see --html.",
        }
    }

    /// Lists the names, in the order of [`Format::ALL`].
    pub fn names() -> impl Iterator<Item = &'static str> {
        Format::ALL.into_iter().map(Format::name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// The error for an unknown format name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(
    /// The name as given.
    pub String,
);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Format::names().collect();
        write!(f, "no format is called {:?}; there are {}", self.0, names.join(", "))
    }
}

impl error::Error for UnknownFormat {}

/// What the output can show, and how much the user asked for. Formats for programs ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The terminal's columns; `None` for lines of any length.
    pub width: Option<usize>,
    /// Whether to use SGR sequences. No figure or mark depends on them.
    pub color: bool,
    /// Whether characters outside ASCII can be shown. If not, output is pure ASCII.
    pub unicode: bool,
    /// Show all figures, in as many tables as the width requires.
    pub all: bool,
}

/// Renders `run` in `format`. The text ends with a newline.
pub fn render(run: &Run, format: Format, style: &Style) -> String {
    // For a followed program, people see the pipelines that it ran.
    let inner = inside::looked_into(run, style);
    let shown = inner.as_ref().unwrap_or(run);
    match format {
        Format::Table => table::render(shown, run, style),
        Format::Json => json::render(run),
        Format::Csv => csv::render(run),
        Format::Markdown => markdown::render(shown, style),
        Format::Posix => posix::render(run),
        Format::ShellStyle => shell_style::render(shown, style),
        Format::Trace => trace::render(shown),
        Format::Html => html::render(shown, run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_formats() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "yaml".parse::<Format>().unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"no format is called "yaml"; there are table, json, csv, markdown, posix, shell-style, trace, html"#
        );
    }
}
