//! Column lists: which columns, in which order.
//!
//! | text | meaning |
//! | --- | --- |
//! | `name` | the column of that name; the first, if there are several |
//! | `"a,b"` | a quoted name |
//! | `3` | the third column; a name that is a number must be quoted |
//! | `2-4`, `name-other`, `3-`, `-2` | a range; backwards too |
//! | `!name`, `!2-4` | all but these, if it stands first |

use std::fmt;

use crate::header::Header;

/// A list of columns as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    ranges: Vec<Range>,
    /// Whether the list excludes its columns.
    others: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    from: End,
    to: End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Name(Vec<u8>),
    /// Counted from 1.
    Number(usize),
    First,
    Last,
}

/// A syntax error in a column list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnError {
    /// Byte offset.
    pub at: usize,
    /// The error in words.
    pub reason: &'static str,
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl Columns {
    /// Parses a list.
    ///
    /// # Errors
    /// A syntax error and its position.
    pub fn parse(text: &str) -> Result<Self, ColumnError> {
        let mut reader = Reader { text, at: 0 };
        let others = reader.take('!');
        let mut ranges = Vec::new();
        loop {
            ranges.push(reader.range()?);
            if reader.at == text.len() {
                return Ok(Columns { ranges, others });
            }
            if !reader.take(',') {
                return Err(ColumnError { at: reader.at, reason: "`,` is expected between columns" });
            }
        }
    }

    /// Parses a single column, as in a condition.
    pub(crate) fn one(name: &str) -> Result<Self, ColumnError> {
        let columns = Columns::parse(name)?;
        match columns.ranges.as_slice() {
            [range] if !columns.others && range.from == range.to => Ok(columns),
            _ => Err(ColumnError { at: 0, reason: "one column is expected" }),
        }
    }

    /// Returns the column indices, from 0.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn resolve(&self, header: &Header) -> Result<Vec<usize>, String> {
        let mut chosen = Vec::new();
        for range in &self.ranges {
            let (from, to) = (range.from.resolve(header)?, range.to.resolve(header)?);
            if from <= to { chosen.extend(from..=to) } else { chosen.extend((to..=from).rev()) }
        }
        Ok(match self.others {
            true => (0..header.count).filter(|column| !chosen.contains(column)).collect(),
            false => chosen,
        })
    }
}

impl End {
    fn resolve(&self, header: &Header) -> Result<usize, String> {
        match self {
            End::First => Ok(0),
            End::Last => Ok(header.count.saturating_sub(1)),
            End::Number(number) if (1..=header.count).contains(number) => Ok(number - 1),
            End::Number(number) => Err(format!("there is no column {number}: {}", header.shown())),
            End::Name(name) => header.find(name).ok_or_else(|| {
                format!("there is no column `{}`: {}", String::from_utf8_lossy(name), header.shown())
            }),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn take(&mut self, token: char) -> bool {
        let there = self.rest().starts_with(token);
        self.at += if there { token.len_utf8() } else { 0 };
        there
    }

    fn range(&mut self) -> Result<Range, ColumnError> {
        if self.take('-') {
            let to = self.end()?;
            return Ok(Range { from: End::First, to });
        }
        let from = self.end()?;
        if !self.take('-') {
            return Ok(Range { to: from.clone(), from });
        }
        let to = if self.rest().is_empty() || self.rest().starts_with(',') { End::Last } else { self.end()? };
        Ok(Range { from, to })
    }

    fn end(&mut self) -> Result<End, ColumnError> {
        let at = self.at;
        if self.take('"') {
            let Some(quote) = self.rest().find('"') else {
                return Err(ColumnError { at, reason: "this quote is never closed" });
            };
            let name = self.rest().as_bytes()[..quote].to_vec();
            self.at += quote + 1;
            return Ok(End::Name(name));
        }
        let end = self.rest().find([',', '-']).unwrap_or(self.rest().len());
        let name = &self.rest()[..end];
        if name.is_empty() {
            return Err(ColumnError { at, reason: "a column is expected: a name, or a number from 1" });
        }
        let end_of = match name.parse::<usize>() {
            Ok(0) => return Err(ColumnError { at, reason: "columns are counted from 1" }),
            Ok(number) => End::Number(number),
            Err(_) => End::Name(name.as_bytes().to_vec()),
        };
        self.at += end;
        Ok(end_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let names = ["id", "name", "a-b", "x", "7"].map(|name| name.as_bytes().to_vec());
        Header { count: names.len(), names: names.into() }
    }

    #[test]
    fn columns_by_name_number_and_range() {
        let cases: [(&str, &[usize]); 12] = [
            ("name", &[1]),
            ("2,1", &[1, 0]),
            ("id,id", &[0, 0]),
            ("\"a-b\"", &[2]),
            ("\"7\"", &[4]),
            ("2-4", &[1, 2, 3]),
            ("4-2", &[3, 2, 1]),
            ("name-x", &[1, 2, 3]),
            ("4-", &[3, 4]),
            ("-2", &[0, 1]),
            ("!name", &[0, 2, 3, 4]),
            ("!2-4,1", &[4]),
        ];
        for (text, columns) in cases {
            assert_eq!(
                Columns::parse(text).expect(text).resolve(&header()).as_deref(),
                Ok(columns),
                "{text}"
            );
        }
    }

    #[test]
    fn what_names_no_column() {
        for (text, at) in [("", 0), ("a,", 2), (",a", 0), ("\"a", 0), ("0", 0), ("\"a\"b", 3), ("!", 1)] {
            assert_eq!(Columns::parse(text).expect_err(text).at, at, "{text}");
        }
        let none = Columns::parse("nam").expect("a name").resolve(&header());
        assert_eq!(none, Err("there is no column `nam`: the columns are id, name, a-b, x, 7".to_owned()));
        assert!(Columns::parse("6").expect("a number").resolve(&header()).is_err());
    }
}
