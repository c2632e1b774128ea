//! Formats of -printf.

use crate::message::{self, NameStyle};
use crate::stamp::Stamp;
use crate::subject::{Evaluation, Subject};
use pelton_sys::directories::{self, Kind, Status};
use pelton_sys::users;

/// A parsed format.
#[derive(Debug)]
pub(crate) struct Format {
    parts: Vec<FormatPart>,
}

#[derive(Debug, PartialEq)]
enum FormatPart {
    Text(Vec<u8>),
    Field { left: bool, width: usize, what: Field },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Path,
    Name,
    Directory,
    Start,
    Below,
    Depth,
    KindLetter,
    Target,
    Size,
    Blocks512,
    Blocks1024,
    Inode,
    Links,
    Device,
    ModeOctal,
    ModeLetters,
    UserNumber,
    UserName,
    GroupNumber,
    GroupName,
    Seconds(Stamp),
}

impl Format {
    /// Parses a format. The error names an unsupported directive.
    pub fn new(text: &[u8]) -> Result<Self, String> {
        let mut format = Format { parts: Vec::new() };
        let mut rest = text;
        while let [first, after @ ..] = rest {
            rest = match first {
                b'\\' => format.escape(after)?,
                b'%' => format.field(after)?,
                other => {
                    format.literal(*other);
                    after
                }
            };
        }
        Ok(format)
    }

    /// Whether it prints the last component of a path, or the part before it.
    pub fn splits_paths(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, FormatPart::Field { what: Field::Name | Field::Directory, .. }))
    }

    fn literal(&mut self, byte: u8) {
        match self.parts.last_mut() {
            Some(FormatPart::Text(text)) => text.push(byte),
            _ => self.parts.push(FormatPart::Text(vec![byte])),
        }
    }

    fn escape<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], String> {
        let [letter, rest @ ..] = text else { return Err("a format that ends in a backslash".into()) };
        let byte = match letter {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'\\' => b'\\',
            b'0'..=b'7' => {
                let digits = text.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                let value =
                    text[..digits].iter().fold(0u32, |value, byte| value * 8 + u32::from(byte - b'0'));
                self.literal(value as u8);
                return Ok(&text[digits..]);
            }
            other => return Err(format!("\\{} in a format", other.escape_ascii())),
        };
        self.literal(byte);
        Ok(rest)
    }

    fn field<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], String> {
        if let [b'%', rest @ ..] = text {
            self.literal(b'%');
            return Ok(rest);
        }
        let left = text.first() == Some(&b'-');
        let text = &text[usize::from(left)..];
        // A leading zero is a printf flag.
        let digits = text.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
        let width = text[..digits].iter().fold(0, |value, byte| value * 10 + usize::from(byte - b'0'));
        let odd = || format!("%{} in a format", text.escape_ascii());
        if digits > 3 || text.first() == Some(&b'0') {
            return Err(odd());
        }
        let (what, used) = match &text[digits..] {
            [b'A', b'@', ..] => (Field::Seconds(Stamp::Accessed), 2),
            [b'C', b'@', ..] => (Field::Seconds(Stamp::Changed), 2),
            [b'T', b'@', ..] => (Field::Seconds(Stamp::Modified), 2),
            [letter, ..] => (letter_field(*letter).ok_or_else(odd)?, 1),
            [] => return Err("a format that ends in %".into()),
        };
        if digits > 0 && !what.is_number() {
            // The width of a name depends on its characters.
            return Err(odd());
        }
        self.parts.push(FormatPart::Field { left, width, what });
        Ok(&text[digits + used..])
    }

    /// Prints an entry. Returns false on failure.
    pub fn print(&self, subject: &mut Subject<'_>, said: &mut Evaluation, manner: NameStyle) -> bool {
        let wants_status = self
            .parts
            .iter()
            .any(|part| matches!(part, FormatPart::Field { what, .. } if what.wants_status()));
        let status = if wants_status { subject.status(said, manner) } else { None };
        if wants_status && status.is_none() {
            return false;
        }
        for part in &self.parts {
            match part {
                FormatPart::Text(text) => said.text.extend(text),
                FormatPart::Field { left, width, what } => {
                    let shown = shown(*what, subject, status.as_ref());
                    let padding = width.saturating_sub(shown.len());
                    let pad = |said: &mut Evaluation| said.text.resize(said.text.len() + padding, b' ');
                    if !left {
                        pad(said);
                    }
                    if manner.terminal && what.is_name() {
                        message::for_terminal(&shown, &mut said.text);
                    } else {
                        said.text.extend(&shown);
                    }
                    if *left {
                        pad(said);
                    }
                }
            }
        }
        true
    }
}

fn letter_field(letter: u8) -> Option<Field> {
    Some(match letter {
        b'p' => Field::Path,
        b'f' => Field::Name,
        b'h' => Field::Directory,
        b'H' => Field::Start,
        b'P' => Field::Below,
        b'd' => Field::Depth,
        b'y' => Field::KindLetter,
        b'l' => Field::Target,
        b's' => Field::Size,
        b'b' => Field::Blocks512,
        b'k' => Field::Blocks1024,
        b'i' => Field::Inode,
        b'n' => Field::Links,
        b'D' => Field::Device,
        b'm' => Field::ModeOctal,
        b'M' => Field::ModeLetters,
        b'U' => Field::UserNumber,
        b'u' => Field::UserName,
        b'G' => Field::GroupNumber,
        b'g' => Field::GroupName,
        _ => return None,
    })
}

impl Field {
    fn is_name(self) -> bool {
        use Field::{Below, Directory, Name, Path, Start, Target};
        matches!(self, Path | Name | Directory | Start | Below | Target)
    }

    fn is_number(self) -> bool {
        use Field::{Blocks512, Blocks1024, Depth, Device, Inode, Links, ModeOctal, Size, UserNumber};
        matches!(
            self,
            Depth
                | Size
                | Blocks512
                | Blocks1024
                | Inode
                | Links
                | Device
                | ModeOctal
                | UserNumber
                | Field::GroupNumber
        )
    }

    fn wants_status(self) -> bool {
        !self.is_name() && !matches!(self, Field::Depth | Field::KindLetter)
    }
}

fn shown(what: Field, subject: &Subject<'_>, status: Option<&Status>) -> Vec<u8> {
    let path = || {
        let mut path = Vec::new();
        subject.path(&mut path);
        path
    };
    let start = if subject.location.depth == 0 { usize::MAX } else { subject.location.start };
    let number = |figure: fn(&Status) -> u64| status.map(figure).unwrap_or_default().to_string().into_bytes();
    match what {
        Field::Path => path(),
        Field::Name => subject.base.to_bytes().to_vec(),
        Field::Directory => directory(&path()),
        Field::Start => {
            let path = path();
            path[..start.min(path.len())].to_vec()
        }
        Field::Below => {
            let path = path();
            let below = path.get(start..).unwrap_or_default();
            below.strip_prefix(b"/").unwrap_or(below).to_vec()
        }
        Field::Depth => subject.location.depth.to_string().into_bytes(),
        Field::KindLetter => vec![kind_letter(subject.kind)],
        Field::Target if subject.kind == Kind::Link => {
            let target = directories::read_link(subject.location.at, subject.name);
            target.map(|target| target.into_bytes()).unwrap_or_default()
        }
        Field::Target => Vec::new(),
        Field::Size => number(|status| status.size),
        Field::Blocks512 => number(|status| status.blocks),
        Field::Blocks1024 => number(|status| status.blocks.div_ceil(2)),
        Field::Inode => number(|status| status.inode),
        Field::Links => number(|status| status.links),
        Field::Device => number(|status| status.device),
        Field::ModeOctal => format!("{:o}", status.map_or(0, |status| status.mode & 0o7777)).into_bytes(),
        Field::ModeLetters => mode_letters(status.map_or(0, |status| status.mode), subject.kind),
        Field::UserNumber => number(|status| u64::from(status.user)),
        Field::GroupNumber => number(|status| u64::from(status.group)),
        Field::UserName => {
            let id = status.map_or(0, |status| status.user);
            users::user_name(id).unwrap_or_else(|| id.to_string().into_bytes())
        }
        Field::GroupName => {
            let id = status.map_or(0, |status| status.group);
            users::group_name(id).unwrap_or_else(|| id.to_string().into_bytes())
        }
        Field::Seconds(which) => {
            let time = status.map(|status| which.of(status)).unwrap_or_default();
            format!("{}.{:09}0", time.seconds, time.nanoseconds).into_bytes()
        }
    }
}

fn directory(path: &[u8]) -> Vec<u8> {
    match path.iter().rposition(|byte| *byte == b'/') {
        None => b".".to_vec(),
        Some(slash) => path[..slash].to_vec(),
    }
}

fn kind_letter(kind: Kind) -> u8 {
    match kind {
        Kind::File => b'f',
        Kind::Directory => b'd',
        Kind::Link => b'l',
        Kind::Fifo => b'p',
        Kind::Socket => b's',
        Kind::Block => b'b',
        Kind::Character => b'c',
        Kind::Unknown => b'U',
    }
}

/// Returns permissions as ls -l shows them.
fn mode_letters(mode: u32, kind: Kind) -> Vec<u8> {
    let mut letters = vec![if kind == Kind::File { b'-' } else { kind_letter(kind) }];
    for (shift, special, letter) in [(6, 0o4000, b's'), (3, 0o2000, b's'), (0, 0o1000, b't')] {
        let bits = mode >> shift;
        letters.push(if bits & 4 != 0 { b'r' } else { b'-' });
        letters.push(if bits & 2 != 0 { b'w' } else { b'-' });
        letters.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
            (false, true) => b'x',
            (false, false) => b'-',
        });
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_or_refused() {
        let format = Format::new(b"%-5s\\t%p%%\\101\\n").expect("modelled");
        let size = FormatPart::Field { left: true, width: 5, what: Field::Size };
        let path = FormatPart::Field { left: false, width: 0, what: Field::Path };
        assert_eq!(
            format.parts,
            [size, FormatPart::Text(b"\t".to_vec()), path, FormatPart::Text(b"%A\n".to_vec())]
        );
        for odd in ["%Tc", "%05d", "%10p", "\\c", "%", "\\", "%q"] {
            assert!(Format::new(odd.as_bytes()).is_err(), "{odd}");
        }
    }

    #[test]
    fn modes_read_as_in_a_listing() {
        assert_eq!(mode_letters(0o104755, Kind::File), b"-rwsr-xr-x");
        assert_eq!(mode_letters(0o41666, Kind::Directory), b"drw-rw-rwT");
    }
}
