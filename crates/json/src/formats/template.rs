//! A user-defined text for each value and for the beginning and end of each container: the callbacks of the
//! two-stage parser.

use std::io;

use crate::decode::decode;
use crate::out::Out;
use crate::select::{PathError, PathStep, parse};
use crate::selected::{Format, Prints};
use crate::trail::{Trail, Written};
use crate::visit::{Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::{Raw, Text};

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Literal text.
    Text(Vec<u8>),
    /// `{path}`: `@."menu".0`
    Path,
    /// `{key}`: the name or number of the last step, without quotes.
    Key,
    /// `{value}`: as written; for a container, its bracket.
    Value,
    /// `{text}`: the same, but strings decoded.
    Meaning,
    /// `{type}`: object, array, string, number, boolean or null.
    Type,
    /// `{depth}`: the number of enclosing containers.
    Depth,
    /// `{.name}`: the value that the path selects in a record.
    Field(Vec<PathStep>),
}

/// Parses a template: placeholders in braces, `{{` and `}}` for braces, `\n`, `\t` and `\\`.
///
/// # Errors
/// A syntax error and its position.
pub fn parse_template(text: &str) -> Result<Vec<Piece>, PathError> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        let fails = |reason: String| Err(PathError { at, reason });
        let pair = [("{{", '{'), ("}}", '}'), ("\\n", '\n'), ("\\t", '\t'), ("\\\\", '\\')];
        if let Some((_, meant)) = pair.iter().find(|(escape, _)| rest.starts_with(escape)) {
            plain.push(*meant);
            rest = &rest[2..];
        } else if first == '{' {
            let Some(end) = rest.find('}') else {
                return fails("unclosed `{`: write `{{` for a literal brace".into());
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain).into_bytes()));
            }
            pieces.push(place(&rest[1..end]).map_err(|error| match error {
                Some(error) => PathError { at: at + 1 + error.at, ..error },
                None => PathError { at, reason: format!("there is no `{}`", &rest[..=end]) },
            })?);
            rest = &rest[end + 1..];
        } else if first == '}' {
            return fails("unmatched `}`: write `}}` for a literal brace".into());
        } else {
            plain.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain.into_bytes()));
    }
    Ok(pieces)
}

fn place(name: &str) -> Result<Piece, Option<PathError>> {
    Ok(match name {
        "path" => Piece::Path,
        "key" => Piece::Key,
        "value" => Piece::Value,
        "text" => Piece::Meaning,
        "type" => Piece::Type,
        "depth" => Piece::Depth,
        _ if name.starts_with(['.', '$', '[']) => Piece::Field(parse(name).map_err(Some)?),
        _ => return Err(None),
    })
}

/// Prints templates. A string of any length is held in memory until its end.
pub struct Template<'a> {
    trail: Trail<Written>,
    value: Vec<Piece>,
    open: Vec<Piece>,
    close: Vec<Piece>,
    depth: usize,
    /// A string that is reported in pieces.
    long: Vec<u8>,
    shows: bool,
    out: Out<'a>,
}

impl<'a> Template<'a> {
    /// Makes a format from the templates for values, container beginnings and container ends.
    /// [`Piece::Field`] prints nothing here.
    pub fn new(out: Out<'a>, value: Vec<Piece>, open: Vec<Piece>, close: Vec<Piece>) -> Self {
        Template { trail: Trail::new(), value, open, close, depth: 0, long: Vec::new(), shows: true, out }
    }

    fn print(&mut self, which: fn(&Self) -> &Vec<Piece>, raw: &[u8], kind: &str) {
        if !self.shows {
            return;
        }
        let mut line = std::mem::take(self.out.text());
        for piece in which(self) {
            match piece {
                Piece::Text(bytes) => line.extend(bytes),
                Piece::Path => line.put((self.trail.path(),)),
                Piece::Key => line.extend(last_step(self.trail.path().bytes())),
                Piece::Value => line.extend(raw),
                Piece::Meaning if raw[0] == b'"' => {
                    let mut meant = Vec::new();
                    decode(raw, &mut meant);
                    line.extend(&meant);
                }
                Piece::Meaning => line.extend(raw),
                Piece::Type => line.extend(kind.as_bytes()),
                Piece::Depth => line.extend(self.depth.to_string().as_bytes()),
                Piece::Field(_) => {}
            }
        }
        *self.out.text() = line;
        self.out.relieve();
    }

    fn scalar_bytes(&mut self, raw: &[u8]) {
        let kind = match raw[0] {
            b'"' => "string",
            b't' | b'f' => "boolean",
            b'n' => "null",
            _ => "number",
        };
        self.print(|this| &this.value, raw, kind);
    }
}

/// Returns the last step of a path as written, without quotes.
fn last_step(path: &[u8]) -> &[u8] {
    match path {
        [start @ .., b'"'] => {
            // Finds the opening quote: unescaped, and after a point.
            let mut quote = start.len();
            while quote > 1
                && !(start[quote - 1] == b'"' && start[quote - 2] == b'.' && !escaped(start, quote - 1))
            {
                quote -= 1;
            }
            &start[quote..]
        }
        _ => path.rsplit(|byte| *byte == b'.').next().unwrap_or_default(),
    }
}

fn escaped(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

fn name_of(kind: Kind) -> &'static str {
    if kind == Kind::Object { "object" } else { "array" }
}

impl Prints for Template<'_> {
    fn printed(&mut self) -> &mut Text {
        self.out.text()
    }
}

impl Format for Template<'_> {
    fn show(&mut self, shows: bool) {
        self.shows = shows;
    }
}

impl Visitor for Template<'_> {
    fn document(&mut self) -> Interest {
        self.trail.document();
        self.depth = 0;
        Interest::Visit
    }

    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.trail.key(raw);
        Interest::Visit
    }

    fn element(&mut self) -> Interest {
        self.trail.element();
        Interest::Visit
    }

    fn open(&mut self, kind: Kind) -> Interest {
        self.print(|this| &this.open, &[kind.opening()], name_of(kind));
        self.trail.open(kind);
        self.depth += 1;
        Interest::Visit
    }

    fn close(&mut self, kind: Kind) {
        self.trail.close();
        self.depth -= 1;
        self.print(|this| &this.close, &[kind.closing()], name_of(kind));
    }

    fn scalar(&mut self, raw: Raw<'_>) {
        self.scalar_bytes(&raw);
    }

    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        self.long.extend_from_slice(raw);
        if place == StringPosition::Last {
            let long = std::mem::take(&mut self.long);
            self.scalar_bytes(&long);
        }
    }

    fn path(&self) -> Vec<u8> {
        self.trail.path().bytes().to_vec()
    }

    fn pause(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
