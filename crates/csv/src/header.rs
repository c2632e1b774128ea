//! Column names.

use crate::field::meaning;

/// The first record or, if that is data, only the number of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The decoded names; empty if the columns have no names.
    pub names: Vec<Vec<u8>>,
    /// Number of columns.
    pub count: usize,
}

impl Header {
    /// Makes a header from the fields of the first record.
    pub(crate) fn of(fields: &[&[u8]], named: bool) -> Self {
        let names =
            if named { fields.iter().map(|raw| meaning(raw).into_owned()).collect() } else { Vec::new() };
        Header { names, count: fields.len() }
    }

    /// Returns the index of the first column with this name, from 0.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// Returns the name of a column, or its number from 1.
    pub(crate) fn name(&self, column: usize) -> Vec<u8> {
        self.names.get(column).cloned().unwrap_or_else(|| (column + 1).to_string().into_bytes())
    }

    /// Lists the columns, for messages.
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
