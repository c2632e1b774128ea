//! The names of columns.

use crate::field::meaning;

/// The first record, or numbers where it is data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// As they are meant; empty if the columns have none.
    pub names: Vec<Vec<u8>>,
    /// How many columns there are.
    pub count: usize,
}

impl Header {
    /// From the fields of the first record.
    pub(crate) fn of(fields: &[&[u8]], named: bool) -> Self {
        let names =
            if named { fields.iter().map(|raw| meaning(raw).into_owned()).collect() } else { Vec::new() };
        Header { names, count: fields.len() }
    }

    /// The column of that name, from 0; the first of several.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// What a column is called: its name or its number, from 1.
    pub(crate) fn name(&self, column: usize) -> Vec<u8> {
        self.names.get(column).cloned().unwrap_or_else(|| (column + 1).to_string().into_bytes())
    }

    /// What there is, for messages.
    pub(crate) fn shown(&self) -> String {
        const MOST: usize = 12;
        if self.names.is_empty() {
            return format!("there are {} columns, without names", self.count);
        }
        let names = self.names.iter().take(MOST).map(|name| String::from_utf8_lossy(name).into_owned());
        let more = if self.count > MOST { ", …" } else { "" };
        format!("the columns are {}{more}", names.collect::<Vec<_>>().join(", "))
    }
}
