//! Values: numbers, strings, and what came from the input, which is a number if it looks like one.

use std::sync::Arc;

use super::number;

/// Bytes; a few of them need no memory of their own.
#[derive(Clone)]
pub(super) enum Text {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Arc<[u8]>),
}

const SHORT: usize = 22;

impl Text {
    pub(super) const EMPTY: Text = Text::Short { length: 0, bytes: [0; SHORT] };

    #[inline]
    pub(super) fn new(text: &[u8]) -> Text {
        if text.len() > SHORT {
            return Text::Long(text.into());
        }
        Text::Short { length: text.len() as u8, bytes: short(text) }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Text::Short { length, bytes } => &bytes[..usize::from(*length)],
            Text::Long(bytes) => bytes,
        }
    }
}

/// A copy in pieces of fixed sizes, which may overlap: no call for a few bytes.
#[inline]
fn short(text: &[u8]) -> [u8; SHORT] {
    let (mut bytes, length) = ([0; SHORT], text.len());
    if let (Some(first), Some(last)) = (text.first_chunk::<16>(), text.last_chunk::<16>()) {
        bytes[..16].copy_from_slice(first);
        bytes[length - 16..][..16].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        bytes[..8].copy_from_slice(first);
        bytes[length - 8..][..8].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        bytes[..4].copy_from_slice(first);
        bytes[length - 4..][..4].copy_from_slice(last);
    } else {
        bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
    }
    bytes
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.bytes()))
    }
}

/// What a variable holds.
#[derive(Clone, Debug, Default)]
pub(super) enum Value {
    /// 0 and the empty string at once.
    #[default]
    Unset,
    Number(f64),
    Text(Text),
    /// From the input: a number if it looks like one.
    Input(Text),
}

impl Value {
    pub(super) fn text(bytes: &[u8]) -> Value {
        Value::Text(Text::new(bytes))
    }

    pub(super) fn input(bytes: &[u8]) -> Value {
        Value::Input(Text::new(bytes))
    }

    /// A number in the place of whatever it was. Nothing but the number is written if it was one: a value that is read as a whole
    /// when a part of it has just been written makes the processor wait.
    #[inline]
    pub(super) fn be_number(&mut self, to: f64) {
        match self {
            Value::Number(number) => *number = to,
            other => *other = Value::Number(to),
        }
    }

    /// The same as another, likewise.
    #[inline]
    pub(super) fn be_like(&mut self, other: &Value) {
        match other {
            Value::Number(number) => self.be_number(*number),
            other => *self = other.clone(),
        }
    }

    #[inline]
    pub(super) fn number(&self) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Unset => 0.0,
            Value::Text(text) | Value::Input(text) => number::prefix(text.bytes()),
        }
    }

    #[inline]
    pub(super) fn is_true(&self) -> bool {
        match self {
            Value::Number(number) => *number != 0.0,
            Value::Unset => false,
            Value::Text(text) => !text.bytes().is_empty(),
            Value::Input(text) => input_is_true(text.bytes()),
        }
    }

    /// Its characters, unless it is a number that would have to be written.
    #[inline]
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Number(_) => None,
            Value::Unset => Some(b""),
            Value::Text(text) | Value::Input(text) => Some(text.bytes()),
        }
    }

    /// Appends it as a string.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Number(number) => number::write(*number, out),
            Value::Unset => {}
            Value::Text(text) | Value::Input(text) => out.extend_from_slice(text.bytes()),
        }
    }

    /// For a comparison: a number, if it is to be compared as one.
    pub(super) fn as_operand(&self) -> Operand<'_> {
        match self {
            Value::Number(number) => Operand::Number(*number),
            Value::Unset => Operand::Both(0.0, b""),
            Value::Text(text) => Operand::Text(text.bytes()),
            Value::Input(text) => Operand::of_input(text.bytes()),
        }
    }
}

/// Whether what came from the input is true: not 0 if it looks like a number, else not empty.
pub(super) fn input_is_true(text: &[u8]) -> bool {
    match number::looks_like(text) {
        Some(number) => number != 0.0,
        None => !text.is_empty(),
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand<'a> {
    Number(f64),
    /// Came from the input and looks like a number; or is nothing at all.
    Both(f64, &'a [u8]),
    Text(&'a [u8]),
}

impl<'a> Operand<'a> {
    pub(super) fn of_input(text: &'a [u8]) -> Self {
        match number::looks_like(text) {
            Some(number) => Operand::Both(number, text),
            None => Operand::Text(text),
        }
    }
}
