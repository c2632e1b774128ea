//! The formats a record can be shown in.
//!
//! A format is a module with a `render`: a pure function from a [`Subject`] and a [`Style`] to text, which ends with a
//! newline.

use std::{error, fmt, str::FromStr};

use pelton_record::Run;

use crate::inside;
use crate::style::Style;

/// Declares the module of each format, and all that is asked of formats.
macro_rules! registry {
    ($($(#[$mark:ident])? mod $module:ident as $format:ident, $name:literal: $about:literal;)*) => {
        $(pub mod $module;)*

        /// A way to show a record.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Format {
            $(#[doc = $about] $(#[$mark])? $format,)*
        }

        impl Format {
            /// All formats, the default one first.
            pub const ALL: &[Format] = &[$(Format::$format),*];

            /// Returns its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Format::$format => $name,)*
                }
            }

            /// Describes it for help and manual.
            pub fn about(self) -> &'static str {
                match self {
                    $(Format::$format => $about,)*
                }
            }

            fn render(self, subject: &Subject<'_>, style: &Style) -> String {
                match self {
                    $(Format::$format => $module::render(subject, style),)*
                }
            }
        }
    };
}

// One line per format: its file, its name in the code, its name for `--format`, and a sentence for help and manual.
registry! {
    // ANCHOR: formats
    #[default]
    mod table as Table, "table": "For people: a row per stage, then the verdict in words.";
    mod json as Json, "json": "The record itself, every field of it.";
    mod csv as Csv, "csv": "A row per stage with raw figures, for spreadsheets and data frames; the last row is ALL.";
    mod markdown as Markdown, "markdown": "The table for an issue, a wiki page or a README.";
    mod posix as Posix, "posix": "The three lines of `time -p`.";
    mod shell_style as ShellStyle, "shell-style": "A line per stage in the layout of a shell's `time`.";
    mod trace as Trace, "trace": "What each stage did when, for Perfetto and chrome://tracing; see --trace.";
    mod html as Html, "html": "The same as one page for a browser, with the table and the verdict; see --html.";
    mod prometheus as Prometheus, "prometheus": "Metrics in text, for the textfile collector of node_exporter; see --output.";
    // ANCHOR_END: formats
}

impl Format {
    /// Lists the names, in the order of [`Format::ALL`].
    pub fn names() -> impl Iterator<Item = &'static str> {
        Format::ALL.iter().map(|format| format.name())
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
        let found = Format::ALL.iter().copied().find(|format| format.name() == name);
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

/// What a format shows.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The record.
    pub run: &'a Run,
    /// The record as people see it: for a followed program, the pipelines that it ran; otherwise `run`.
    pub shown: &'a Run,
}

/// Renders `run` in `format`. The text ends with a newline.
pub fn render(run: &Run, format: Format, style: &Style) -> String {
    let inner = inside::inner_pipelines(run, style);
    format.render(&Subject { run, shown: inner.as_ref().unwrap_or(run) }, style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_formats() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(*format));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "yaml".parse::<Format>().unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with(r#"no format is called "yaml"; there are table, json, "#), "{said}");
        assert!(Format::names().all(|name| said.contains(name)), "{said}");
    }
}
