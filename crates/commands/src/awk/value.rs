//! Values: numbers, strings, and input, which is a number if it looks like one.

use std::borrow::Cow;

use super::number;
use super::rules;
use super::text::Text;

/// The content of a variable.
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

    /// Sets a number. An existing number is overwritten in place: reading a value as a whole after writing a
    /// part of it stalls the processor.
    #[inline]
    pub(super) fn be_number(&mut self, to: f64) {
        match self {
            Value::Number(number) => *number = to,
            other => *other = Value::Number(to),
        }
    }

    /// Copies another value, likewise in place.
    #[inline]
    pub(super) fn be_like(&mut self, other: &Value) {
        match other {
            Value::Number(number) => self.be_number(*number),
            Value::Text(text @ Text::Short { .. }) => self.be_text(text.bytes()),
            Value::Input(text @ Text::Short { .. }) => self.be_input(text.bytes()),
            other => *self = other.clone(),
        }
    }

    /// Sets a string, likewise in place.
    #[inline]
    pub(super) fn be_text(&mut self, bytes: &[u8]) {
        match self {
            Value::Text(text) => text.be(bytes),
            other => *other = Value::text(bytes),
        }
    }

    /// Sets a string to the content of a buffer, which may be taken.
    pub(super) fn take_text(&mut self, buffer: &mut Vec<u8>) {
        match self {
            Value::Text(text) => text.take(buffer),
            other => {
                let mut text = Text::EMPTY;
                text.take(buffer);
                *other = Value::Text(text);
            }
        }
    }

    /// Appends to it as a string, which it then is.
    pub(super) fn append(&mut self, more: &[u8]) {
        if let Value::Text(text) = self {
            return text.append(more);
        }
        let mut whole = Vec::new();
        self.write(&mut whole);
        whole.extend_from_slice(more);
        self.take_text(&mut whole);
    }

    /// Sets input, likewise in place.
    #[inline]
    pub(super) fn be_input(&mut self, bytes: &[u8]) {
        match self {
            Value::Input(text) => text.be(bytes),
            other => *other = Value::input(bytes),
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
            Value::Number(number) => number_is_true(*number),
            Value::Unset => false,
            Value::Text(text) => !text.bytes().is_empty(),
            Value::Input(text) => input_is_true(text.bytes()),
        }
    }

    /// Returns its bytes, unless it is a number that must be formatted.
    #[inline]
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Number(_) => None,
            Value::Unset => Some(b""),
            Value::Text(text) | Value::Input(text) => Some(text.bytes()),
        }
    }

    /// Returns it as a string.
    pub(super) fn as_text(&self) -> Cow<'_, [u8]> {
        self.bytes().map_or_else(|| number::written(self.number()).into(), Cow::from)
    }

    /// Appends it as a string.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Number(number) => number::write(*number, out),
            Value::Unset => {}
            Value::Text(text) | Value::Input(text) => text.write(out),
        }
    }

    /// Returns the operand of a comparison: a number, if it is compared as one.
    pub(super) fn as_operand(&self) -> Operand<'_> {
        match self {
            Value::Number(number) => Operand::Number(*number),
            Value::Unset => Operand::Both(0.0, b""),
            Value::Text(text) => Operand::Text(text.bytes()),
            Value::Input(text) => Operand::of_input(text.bytes()),
        }
    }
}

/// Whether a number is true: NaN is to all but the one true awk.
#[inline]
pub(super) fn number_is_true(number: f64) -> bool {
    number != 0.0 && !(number.is_nan() && rules::is_one_true())
}

/// Whether input is true: not 0 if it looks like a number, otherwise not empty.
pub(super) fn input_is_true(text: &[u8]) -> bool {
    match number::looks_like(text) {
        Some(number) => number_is_true(number),
        None => !text.is_empty(),
    }
}

/// An operand of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand<'a> {
    Number(f64),
    /// From the input and looks like a number; or unset.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_made_anew_or_in_the_place_of_another() {
        let text = b"abcdefghijklmnopqrstuvwxyzabcdefghijk";
        let mut values: Vec<Value> = vec![Value::Unset, Value::Number(2.5)];
        for length in 0..text.len() {
            values.extend([Value::text(&text[..length]), Value::input(&text[length / 3..length])]);
        }
        for old in &values {
            for new in &values {
                let mut value = old.clone();
                value.be_like(new);
                assert_eq!(format!("{value:?}"), format!("{new:?}"));
            }
        }
    }
}
