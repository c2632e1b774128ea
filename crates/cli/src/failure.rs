//! Errors for the user: what was being done, to what, what went wrong, and what to try.

use crate::diagnose;
use crate::terminal::Look;
use pelton_record::Span;
use std::fmt::Write as _;

/// An error that ends pelton.
#[derive(Debug)]
pub struct Failure {
    /// The exit status.
    pub status: u8,
    message: String,
    help: Option<String>,
    place: Option<Box<TextLocation>>,
}

/// Where in a text the error is.
#[derive(Debug)]
struct TextLocation {
    text: String,
    /// Each with its label; may be empty.
    spans: Vec<(Span, String)>,
    origin: Option<String>,
}

impl Failure {
    /// Creates an error with status 2, as all of pelton's own.
    pub fn new(message: impl Into<String>) -> Self {
        Failure { status: 2, message: message.into(), help: None, place: None }
    }

    /// Describes a failed operation, with the system's reason.
    pub fn io(doing: impl std::fmt::Display, error: &std::io::Error) -> Self {
        Failure::new(format!("{doing}: {}", plain(error)))
    }

    /// Sets another status.
    pub fn with_status(self, status: u8) -> Self {
        Failure { status, ..self }
    }

    /// Adds a hint.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Failure { help: Some(help.into()), ..self }
    }

    /// Points at `span` of `text`, from the file `origin` or the command line.
    pub fn at(self, text: &str, span: Span, origin: Option<String>) -> Self {
        self.at_each(text, vec![(span, String::new())], origin)
    }

    /// Points at several spans, each with its label.
    pub fn at_each(self, text: &str, spans: Vec<(Span, String)>, origin: Option<String>) -> Self {
        Failure { place: Some(Box::new(TextLocation { text: text.into(), spans, origin })), ..self }
    }

    /// Renders text that ends with a newline.
    pub fn render(&self, look: Look) -> String {
        if let Some(place) = &self.place {
            return diagnose::snippet(
                diagnose::Severity::Error,
                &self.message,
                &place.text,
                &place.spans,
                place.origin.as_deref(),
                self.help.as_deref(),
                look,
            );
        }
        let mut text = format!("pelton: {}\n", self.message);
        if let Some(help) = &self.help {
            let _ = writeln!(text, "  try: {help}");
        }
        text
    }
}

/// The system's message.
pub use pelton_sys::errors::words as plain;
