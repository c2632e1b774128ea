//! How xargs splits its input into items.

/// How items end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// At blanks and newlines; quotes and backslashes protect them.
    Blanks,
    /// At newlines only, for -I; otherwise like `Blanks`.
    Lines,
    /// At this byte; no other byte is special (-0, -d).
    Delimiter(u8),
}

/// The effect of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteEffect {
    /// It belongs to an item.
    Taken,
    /// It lies between items.
    Skipped,
    /// It ended an item; `line`: also a line that counts for -L.
    Ended { line: bool },
    /// The real xargs prints a message.
    Trouble(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Between,
    Plain,
    Quoted(u8),
    Escaped,
}

/// The reader's state between two bytes.
#[derive(Clone, Debug)]
pub(super) struct Items {
    reading: Reading,
    state: State,
    previous: u8,
    /// The current item so far.
    pub(super) item: Vec<u8>,
}

impl Items {
    pub(super) fn new(reading: Reading) -> Self {
        Items { reading, state: State::Between, previous: 0, item: Vec::new() }
    }

    /// Processes a byte. After [`ByteEffect::Ended`] the caller empties `item`.
    pub(super) fn step(&mut self, byte: u8) -> ByteEffect {
        let previous = std::mem::replace(&mut self.previous, byte);
        if let Reading::Delimiter(delimiter) = self.reading {
            return match byte {
                _ if byte == delimiter => self.end(true),
                0 => ByteEffect::Trouble("a NUL in an item"),
                _ => self.take(byte),
            };
        }
        if self.state == State::Between {
            if matches!(byte, b' ' | b'\t'..=b'\r') {
                return ByteEffect::Skipped;
            }
            self.state = State::Plain;
        }
        match (self.state, byte) {
            (_, 0) => ByteEffect::Trouble("a NUL in an item"),
            (State::Plain, b'\n') => self.end(!matches!(previous, b' ' | b'\t')),
            (State::Plain, b' ' | b'\t') if self.reading == Reading::Blanks => self.end(false),
            (State::Plain, b'\\') => self.become_(State::Escaped),
            (State::Plain, b'\'' | b'"') => self.become_(State::Quoted(byte)),
            (State::Quoted(_), b'\n') => ByteEffect::Trouble("a quote without its end"),
            (State::Quoted(quote), _) if byte == quote => self.become_(State::Plain),
            (State::Escaped, _) => {
                self.state = State::Plain;
                self.take(byte)
            }
            _ => self.take(byte),
        }
    }

    /// Ends the input. Returns `Some` if an item ended, or for an error. An empty item does not count, even
    /// with quotes.
    pub(super) fn finish(&self) -> Option<ByteEffect> {
        match self.state {
            _ if self.item.is_empty() => None,
            State::Quoted(_) => Some(ByteEffect::Trouble("a quote without its end")),
            _ => Some(ByteEffect::Ended { line: false }),
        }
    }

    /// Returns a short text that leads from between items to this state, while the item is empty.
    pub(super) fn shortest(&self) -> Vec<u8> {
        match self.state {
            State::Between => Vec::new(),
            State::Plain => b"''".to_vec(),
            State::Quoted(quote) => vec![quote],
            State::Escaped => b"\\".to_vec(),
        }
    }

    /// Whether no item has begun.
    pub(super) fn is_between(&self) -> bool {
        self.state == State::Between
    }

    fn take(&mut self, byte: u8) -> ByteEffect {
        if self.state == State::Between {
            self.state = State::Plain;
        }
        self.item.push(byte);
        ByteEffect::Taken
    }

    fn become_(&mut self, state: State) -> ByteEffect {
        self.state = state;
        ByteEffect::Taken
    }

    fn end(&mut self, line: bool) -> ByteEffect {
        self.state = State::Between;
        ByteEffect::Ended { line }
    }
}
