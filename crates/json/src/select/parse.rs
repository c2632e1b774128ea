//! Parses paths, in the syntax that jq and JSONPath share.
//!
//! | text | meaning |
//! | --- | --- |
//! | `.` or `$` | the whole document |
//! | `.name`, `."a name"`, `["a name"]` | the member of that name |
//! | `.*`, `[]`, `[*]` | every member and every element |
//! | `[3]`, `[2:5]`, `[:5]`, `[2:]` | elements by number, from 0; the end is not included |
//! | `..name`, `..[0]`, `..*` | the same at any level |
//! | `[?name]`, `[?a.b == 1]` | the members and elements that have it, or for which the comparison holds |

use std::fmt;

use super::compile::{Comparison, Condition, PathStep};
use crate::decode::decode;

/// A syntax error in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    /// Byte offset.
    pub at: usize,
    /// The error in words.
    pub reason: String,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// Parses a path.
///
/// # Errors
/// A syntax error and its position.
pub fn parse(text: &str) -> Result<Vec<PathStep>, PathError> {
    let mut reader = Reader { text, at: 0 };
    let steps = reader.path(false)?;
    if reader.at < text.len() {
        return reader.fails("`.`, `[` or the end of the path is expected");
    }
    Ok(steps)
}

/// Parses paths separated by commas.
///
/// # Errors
/// A syntax error in one of them, and its position.
pub fn parse_list(text: &str) -> Result<Vec<Vec<PathStep>>, PathError> {
    let mut reader = Reader { text, at: 0 };
    let mut paths = Vec::new();
    loop {
        reader.blanks();
        paths.push(reader.path(false)?);
        reader.blanks();
        if reader.at == text.len() {
            return Ok(paths);
        }
        if !reader.take(",") {
            return reader.fails("`,`, `.`, `[` or the end is expected");
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

    fn fails<T>(&self, reason: &str) -> Result<T, PathError> {
        Err(PathError { at: self.at, reason: reason.to_owned() })
    }

    /// Consumes `token`, if it comes next.
    fn take(&mut self, token: &str) -> bool {
        let there = self.rest().starts_with(token);
        self.at += if there { token.len() } else { 0 };
        there
    }

    fn blanks(&mut self) {
        while self.take(" ") {}
    }

    /// Parses as many steps as there are. In a condition the first name needs no point.
    fn path(&mut self, bare: bool) -> Result<Vec<PathStep>, PathError> {
        let mut steps = Vec::new();
        let rooted = self.take("$") || bare && self.take("@");
        if bare && !rooted && !self.rest().starts_with(['.', '[']) {
            steps.push(self.name()?);
        }
        if !rooted && steps.is_empty() && !self.rest().starts_with(['.', '[']) {
            return self.fails("a path begins with `.`, `[` or `$`");
        }
        loop {
            if self.take("..") {
                steps.push(PathStep::Deep);
                if !self.rest().is_empty() && !self.rest().starts_with('[') {
                    steps.push(self.name()?);
                } else if self.rest().is_empty() {
                    break;
                }
            } else if self.take(".") {
                // `.` alone is the whole document; in `.[` the point is redundant.
                if steps.is_empty() && !self.rest().starts_with(|c| begins_name(c) || c == '/')
                    || self.rest().starts_with('[')
                {
                    continue;
                }
                steps.push(self.name()?);
            } else if self.take("[") {
                steps.push(self.bracket()?);
            } else {
                break;
            }
        }
        Ok(steps)
    }

    /// Parses what follows a point.
    fn name(&mut self) -> Result<PathStep, PathError> {
        if self.take("*") {
            return Ok(PathStep::Any);
        }
        if self.rest().starts_with(['"', '\'']) {
            return self.quoted().map(PathStep::Key);
        }
        let end = self.rest().find(|c| !is_in_name(c)).unwrap_or(self.rest().len());
        if end == 0 {
            return self.fails("a name is expected here: `.name`, or `.\"a name\"` in quotes");
        }
        let name = self.rest().as_bytes()[..end].to_vec();
        self.at += end;
        Ok(PathStep::Key(name))
    }

    /// Parses a quoted name, in either kind of quotes, with JSON escapes.
    fn quoted(&mut self) -> Result<Vec<u8>, PathError> {
        let bytes = self.rest().as_bytes();
        let quote = bytes[0];
        let mut end = 1;
        while end < bytes.len() && bytes[end] != quote {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() {
            return self.fails("this quote is never closed");
        }
        let mut name = Vec::new();
        if quote == b'"' {
            decode(&bytes[..=end], &mut name);
        } else {
            name.extend(&bytes[1..end]);
        }
        self.at += end + 1;
        Ok(name)
    }

    /// Parses a bracketed step, after its opening bracket.
    fn bracket(&mut self) -> Result<PathStep, PathError> {
        self.blanks();
        let step = if self.take("*") || self.rest().starts_with(']') {
            PathStep::Any
        } else if self.take("?") {
            PathStep::If(self.condition()?)
        } else if self.rest().starts_with(['"', '\'']) {
            PathStep::Key(self.quoted()?)
        } else {
            self.slice()?
        };
        self.blanks();
        if self.rest().starts_with(',') {
            return self.fails("several are given as several paths: '.a' '.b'");
        }
        if self.take("]") { Ok(step) } else { self.fails("`]` is expected") }
    }

    fn slice(&mut self) -> Result<PathStep, PathError> {
        let start = self.at;
        let from = self.number()?;
        self.blanks();
        if !self.take(":") {
            return match from {
                Some(from) => Ok(PathStep::Slice(from, from + 1)),
                None => self
                    .fails("a number, a slice `2:5`, a name in quotes, `*` or `?` is expected in brackets"),
            };
        }
        self.blanks();
        let to = self.number()?.unwrap_or(u64::MAX);
        let from = from.unwrap_or(0);
        if from >= to {
            self.at = start;
            return self.fails("this slice is empty");
        }
        Ok(PathStep::Slice(from, to))
    }

    fn number(&mut self) -> Result<Option<u64>, PathError> {
        if self.rest().starts_with('-') {
            return self
                .fails("counting from the end needs the whole array, which is never there: count from 0");
        }
        let end = self.rest().find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest().len());
        if end == 0 {
            return Ok(None);
        }
        match self.rest()[..end].parse::<u64>() {
            Ok(number) if number < u64::MAX => {
                self.at += end;
                Ok(Some(number))
            }
            _ => self.fails("this number is too large"),
        }
    }

    /// Parses a condition such as `name`, `a.b == 1`, `(@.x > 2 && @.y)`.
    fn condition(&mut self) -> Result<Condition, PathError> {
        self.blanks();
        let parenthesis = self.take("(");
        let mut tests = Vec::new();
        loop {
            self.blanks();
            let path = self.path(true)?;
            if path.iter().any(|step| matches!(step, PathStep::If(_))) {
                return self.fails("a condition within a condition is not supported");
            }
            self.blanks();
            let comparison = [
                ("==", Comparison::Equal),
                ("!=", Comparison::Unequal),
                ("<=", Comparison::AtMost),
                (">=", Comparison::AtLeast),
                ("<", Comparison::Less),
                (">", Comparison::Greater),
            ];
            let comparison = comparison.into_iter().find(|(token, _)| self.take(token));
            let test = match comparison {
                None => (path, None),
                Some((_, comparison)) => (path, Some((comparison, self.literal()?))),
            };
            tests.push(test);
            self.blanks();
            if !self.take("&&") {
                break;
            }
        }
        if self.rest().starts_with("||") {
            return self.fails("`||` is not supported: give two paths");
        }
        if parenthesis && !self.take(")") {
            return self.fails("`)` is expected");
        }
        Condition::new(tests).map_err(|reason| PathError { at: self.at, reason })
    }

    /// Parses a JSON scalar in the form that comparisons use: strings decoded, after a quote.
    fn literal(&mut self) -> Result<Vec<u8>, PathError> {
        self.blanks();
        if self.rest().starts_with(['"', '\'']) {
            let mut literal = b"\"".to_vec();
            literal.extend(self.quoted()?);
            return Ok(literal);
        }
        let end = self.rest().find([' ', ')', ']', '&', '|']).unwrap_or(self.rest().len());
        let text = &self.rest()[..end];
        if crate::scalar::read_whole(text.as_bytes()) {
            let literal = text.as_bytes().to_vec();
            self.at += end;
            return Ok(literal);
        }
        self.fails("a number, a string in quotes, true, false or null is expected")
    }
}

fn is_in_name(character: char) -> bool {
    !character.is_whitespace() && !".[]()\"'*?=!<>&|,:;@$/\\{}".contains(character)
}

fn begins_name(character: char) -> bool {
    is_in_name(character) || matches!(character, '"' | '\'' | '*' | '[')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> PathStep {
        PathStep::Key(name.into())
    }

    #[test]
    fn paths_of_all_kinds() {
        let cases: [(&str, &[PathStep]); 16] = [
            (".", &[]),
            ("$", &[]),
            (".a", &[key("a")]),
            ("$.a.b-c", &[key("a"), key("b-c")]),
            (".\"a b\".'c.d'", &[key("a b"), key("c.d")]),
            ("[\"a\\u0062\"]", &[key("ab")]),
            (".[]", &[PathStep::Any]),
            (".a[]", &[key("a"), PathStep::Any]),
            (".a[*].*", &[key("a"), PathStep::Any, PathStep::Any]),
            (".a.[3]", &[key("a"), PathStep::Slice(3, 4)]),
            ("[ 2 : 5 ]", &[PathStep::Slice(2, 5)]),
            ("[:5][2:]", &[PathStep::Slice(0, 5), PathStep::Slice(2, u64::MAX)]),
            ("..a", &[PathStep::Deep, key("a")]),
            ("$..*", &[PathStep::Deep, PathStep::Any]),
            (".a..[0]", &[key("a"), PathStep::Deep, PathStep::Slice(0, 1)]),
            ("..", &[PathStep::Deep]),
        ];
        for (text, steps) in cases {
            assert_eq!(parse(text).as_deref(), Ok(steps), "{text}");
        }
    }

    #[test]
    fn conditions() {
        for text in [
            ".a[?b]",
            "[?(@.b)]",
            "[?@.b.c == 1]",
            "[?b=='x' && c<-2.5e3]",
            "..[?a >= \"x\"].b",
            "[? . == true ]",
            "[?@ != null]",
            "[?a[0] > 1]",
            "[?..x]",
        ] {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn what_is_no_path_is_refused_with_a_reason() {
        for (text, at) in [
            ("a", 0),
            ("", 0),
            (".a.", 3),
            (".a b", 2),
            ("[", 1),
            ("[1", 2),
            ("[-1]", 1),
            ("[5:5]", 1),
            ("[a]", 1),
            ("[\"a]", 1),
            ("[1,2]", 2),
            ("[?]", 2),
            ("[?a ==]", 6),
            ("[?a == b]", 7),
            ("[?(a]", 4),
            ("[?a || b]", 4),
            ("[99999999999999999999]", 1),
            ("...a", 2),
            ("[?a[?b]]", 7),
            (".a]", 2),
            ("./a", 1),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.at, at, "{text}: {error}");
        }
    }
}
