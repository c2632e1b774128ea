//! The states of the grammar, between two tokens.

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Document,
    /// A value after its `document`, `key` or `element` call.
    Value,
    FirstKey,
    Key,
    Colon,
    AfterMember,
    FirstElement,
    Element,
    AfterElement,
}

impl State {
    /// Describes what is expected.
    pub(crate) fn wanted(self) -> &'static str {
        match self {
            State::Document | State::Value | State::Element => "a value",
            State::FirstElement => "a value or `]`",
            State::FirstKey => "a name in quotes or `}`",
            State::Key => "a name in quotes",
            State::Colon => "`:`",
            State::AfterMember => "`,` or `}`",
            State::AfterElement => "`,` or `]`",
        }
    }
}
