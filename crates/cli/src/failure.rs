//! Errors as a user reads them: what was being done, to what, what went wrong, and what to try.

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

/// Where in a text an error lies.
#[derive(Debug)]
struct TextLocation {
    text: String,
    /// Each with what is to be said of it; may be empty.
    spans: Vec<(Span, String)>,
    origin: Option<String>,
}

impl Failure {
    /// pelton's own refusals and failures end with status 2.
    pub fn new(message: impl Into<String>) -> Self {
        Failure { status: 2, message: message.into(), help: None, place: None }
    }

    /// What could not be done, and the system's reason for it.
    pub fn io(doing: impl std::fmt::Display, error: &std::io::Error) -> Self {
        Failure::new(format!("{doing}: {}", plain(error)))
    }

    /// With another status.
    pub fn with_status(self, status: u8) -> Self {
        Failure { status, ..self }
    }

    /// With something to try.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Failure { help: Some(help.into()), ..self }
    }

    /// Pointing into `text`, which came from `origin` (a file) or the command line.
    pub fn at(self, text: &str, span: Span, origin: Option<String>) -> Self {
        self.at_each(text, vec![(span, String::new())], origin)
    }

    /// The same for several places, each with what is to be said of it.
    pub fn at_each(self, text: &str, spans: Vec<(Span, String)>, origin: Option<String>) -> Self {
        Failure { place: Some(Box::new(TextLocation { text: text.into(), spans, origin })), ..self }
    }

    /// As text that ends with a newline.
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

/// The system's words.
pub use pelton_sys::errors::words as plain;
