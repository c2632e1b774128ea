//! What gawk says of a program while it runs, in the user's language.

use std::sync::Arc;

use crate::{Accept, Declined, Messages};

/// A text of gawk's catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    CommandLine,
    Fatal,
    Warning,
    Field,
    FieldCount,
    Division,
    DivisionAssigned,
    Remainder,
    RemainderAssigned,
    Domain,
    ExpRange,
    NotCharacters,
}

impl Text {
    const ALL: [Text; 12] = [
        Text::CommandLine,
        Text::Fatal,
        Text::Warning,
        Text::Field,
        Text::FieldCount,
        Text::Division,
        Text::DivisionAssigned,
        Text::Remainder,
        Text::RemainderAssigned,
        Text::Domain,
        Text::ExpRange,
        Text::NotCharacters,
    ];

    /// Returns it in English, as gawk 5.2 and later have it.
    fn english(self) -> &'static str {
        match self {
            Text::CommandLine => "cmd. line:",
            Text::Fatal => "fatal: ",
            Text::Warning => "warning: ",
            Text::Field => "attempt to access field %ld",
            Text::FieldCount => "NF set to negative value",
            Text::Division => "division by zero attempted",
            Text::DivisionAssigned => "division by zero attempted in `/='",
            Text::Remainder => "division by zero attempted in `%%'",
            Text::RemainderAssigned => "division by zero attempted in `%%='",
            Text::Domain => "%s: received negative argument %g",
            Text::ExpRange => "exp: argument %g is out of range",
            Text::NotCharacters => {
                "Invalid multibyte data detected. There may be a mismatch between your data and your locale"
            }
        }
    }
}

/// The texts in one language, in the order of [`Text::ALL`]. `None`: as they are in English.
#[derive(Clone, Debug, Default)]
pub(super) struct GawkMessages(Option<Arc<[Vec<u8>]>>);

impl GawkMessages {
    /// Looks the texts up.
    ///
    /// # Errors
    /// If one of them is not in a catalogue that has others: it may be of another version than gawk is. If a translation takes
    /// its figures in another order.
    pub(super) fn in_language_of(messages: &Messages) -> Accept<Self> {
        if *messages == Messages::English {
            return Ok(GawkMessages::default());
        }
        let found = Text::ALL.map(|text| messages.text("gawk", text.english()));
        let found = found.into_iter().collect::<Accept<Vec<_>>>()?;
        let is_english = |at: usize| found[at] == Text::ALL[at].english().as_bytes();
        if (0..found.len()).all(is_english) {
            return Ok(GawkMessages::default());
        }
        if (0..found.len()).any(is_english) {
            return Declined::because("a message that gawk's catalogue does not have in your language");
        }
        let is_alike =
            |(text, found): (&Text, &Vec<u8>)| conversions(text.english().as_bytes()) == conversions(found);
        match Text::ALL.iter().zip(&found).all(is_alike) {
            true => Ok(GawkMessages(Some(found.into()))),
            false => Declined::because("a message that takes its figures in another order in your language"),
        }
    }

    /// Returns a text with `figures` in the place of its conversions.
    pub(super) fn say(&self, text: Text, figures: &[&[u8]]) -> Vec<u8> {
        let form = match &self.0 {
            None => text.english().as_bytes(),
            Some(texts) => &texts[text as usize],
        };
        let (mut said, mut figures) = (Vec::new(), figures.iter());
        let mut rest = form;
        while let Some(at) = memchr::memchr(b'%', rest) {
            said.extend_from_slice(&rest[..at]);
            rest = match &rest[at + 1..] {
                [b'%', rest @ ..] => {
                    said.push(b'%');
                    rest
                }
                [b'l', b'd', rest @ ..] | [_, rest @ ..] => {
                    said.extend_from_slice(figures.next().copied().unwrap_or_default());
                    rest
                }
                [] => &[],
            };
        }
        said.extend_from_slice(rest);
        said
    }
}

/// Returns the letters of a format's conversions: `sg` for `%s: %g`. A `$` or a width is one of its own, and never alike.
fn conversions(form: &[u8]) -> Vec<u8> {
    let (mut found, mut rest) = (Vec::new(), form);
    while let Some(at) = memchr::memchr(b'%', rest) {
        let Some((&letter, behind)) = rest[at + 1..].split_first() else { break };
        found.extend((letter != b'%').then_some(letter));
        rest = behind;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_where_the_text_has_them() {
        assert!(Text::ALL.iter().enumerate().all(|(at, text)| *text as usize == at));
        let english = GawkMessages::default();
        assert_eq!(english.say(Text::Domain, &[b"log", b"-1"]), b"log: received negative argument -1");
        assert_eq!(english.say(Text::Field, &[b"-3"]), b"attempt to access field -3");
        assert_eq!(conversions(b"%s: 100%% of %ld"), b"sl");
        assert_eq!(english.say(Text::RemainderAssigned, &[]), b"division by zero attempted in `%='");
    }
}
