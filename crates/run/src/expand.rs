//! Expands words with only one possible meaning; all others are declined, and the shell expands them.
//!
//! File names are matched when a stage starts, not before: an earlier command may create files.

use crate::environ::{self, Environment};
use pelton_syntax::{Simple, Word, WordPart};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The reason why the shell expands a word, to follow 'because it uses'.
pub type Declined = String;

/// A piece of an expanded word, before file names are matched.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    AnyText,
    AnyChar,
}

/// Expands `words` to arguments: each word may become several (a pattern), never none.
pub fn arguments(words: &[Word], environment: &Environment) -> Result<Vec<Vec<u8>>, Declined> {
    let mut arguments = Vec::with_capacity(words.len());
    for word in words {
        let pieces = pieces(word, environment, Splitting::Matters)?;
        match as_text(&pieces) {
            Some(text) => arguments.push(text),
            None => arguments.extend(match_files(&pieces, environment)?),
        }
    }
    Ok(arguments)
}

/// Expands a word where neither splitting nor file names apply: an assignment, a here-string.
pub fn value(word: &Word, environment: &Environment) -> Result<Vec<u8>, Declined> {
    Ok(written(&pieces(word, environment, Splitting::Never)?))
}

/// Expands a redirection's target to one file name.
pub fn file_name(word: &Word, environment: &Environment) -> Result<Vec<u8>, Declined> {
    let pieces = pieces(word, environment, Splitting::Matters)?;
    let name = as_text(&pieces).ok_or("a pattern as a redirection's target")?;
    // bash opens some of these itself, and the others mean descriptors that pelton has not set up yet.
    const PLAIN_DEVICES: [&[u8]; 6] =
        [b"/dev/null", b"/dev/zero", b"/dev/full", b"/dev/tty", b"/dev/random", b"/dev/urandom"];
    let devices = [&b"/dev/"[..], b"/proc/"];
    if devices.iter().any(|d| name.starts_with(d)) && !PLAIN_DEVICES.contains(&name.as_slice()) {
        return Err("a special file as a redirection's target".into());
    }
    Ok(name)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Splitting {
    Matters,
    Never,
}

fn pieces(word: &Word, environment: &Environment, splitting: Splitting) -> Result<Vec<Piece>, Declined> {
    let mut pieces = Vec::with_capacity(word.parts.len());
    for part in &word.parts {
        pieces.push(match part {
            WordPart::Bare(text) | WordPart::Quoted(text) => Piece::Text(text.clone().into_bytes()),
            WordPart::AnyText => Piece::AnyText,
            WordPart::AnyChar => Piece::AnyChar,
            WordPart::Tilde => Piece::Text(home(environment)?),
            WordPart::Variable { name, quoted } => {
                let value = variable(name, environment)?;
                if splitting == Splitting::Matters && !quoted {
                    check_unsplit(name, &value)?;
                }
                Piece::Text(value)
            }
            WordPart::Opaque { reason, .. } => return Err(reason.describe().into()),
        });
    }
    Ok(pieces)
}

fn home(environment: &Environment) -> Result<Vec<u8>, Declined> {
    match environment.get("HOME") {
        Some(home) if !home.is_empty() => Ok(home.as_bytes().to_vec()),
        _ => Err("`~` without HOME".into()),
    }
}

fn variable(name: &str, environment: &Environment) -> Result<Vec<u8>, Declined> {
    if name == "PWD" {
        return Ok(environment.pwd().into_vec());
    }
    if environ::is_special(name) {
        return Err(format!("the variable {name}, which the shell computes"));
    }
    match environment.get(name) {
        Some(value) => Ok(value.as_bytes().to_vec()),
        None => Err(format!("`${name}`, a variable that is not in the environment")),
    }
}

/// Checks that an unquoted value stays one word: it must hold nothing to split or to match.
fn check_unsplit(name: &str, value: &[u8]) -> Result<(), Declined> {
    let splits = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'*' | b'?' | b'[' | b'\\');
    if value.is_empty() || value.iter().any(splits) {
        return Err(format!(
            "the unquoted variable {name}, whose value is empty or would be split or matched"
        ));
    }
    Ok(())
}

/// Joins the pieces to one text, if there is no pattern.
fn as_text(pieces: &[Piece]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(bytes) => text.extend_from_slice(bytes),
            Piece::AnyText | Piece::AnyChar => return None,
        }
    }
    Some(text)
}

/// Returns the file names that a pattern matches, sorted; the pattern itself if there are none.
fn match_files(pieces: &[Piece], environment: &Environment) -> Result<Vec<Vec<u8>>, Declined> {
    if environment.get("GLOBIGNORE").is_some() {
        return Err("a pattern while GLOBIGNORE is set".into());
    }
    let components = components(pieces)?;
    if components.iter().any(|component| as_text(component).is_none() && begins_with_dot(component)) {
        return Err("a pattern for hidden names: whether it matches `.` and `..` depends on the shell".into());
    }
    let mut found = vec![Vec::new()];
    for (i, component) in components.iter().enumerate() {
        let last = i + 1 == components.len();
        let mut next = Vec::new();
        for base in &found {
            extend(base, component, last, &mut next)?;
        }
        found = next;
    }
    if found.is_empty() {
        return Ok(vec![written(pieces)]);
    }
    if found.len() > 1 && !bytes_are_the_order(environment) {
        return Err("a pattern that matches several files in a locale with an order of its own".into());
    }
    found.sort_unstable();
    Ok(found)
}

fn bytes_are_the_order(environment: &Environment) -> bool {
    matches!(environment.collation().as_str(), "C" | "POSIX" | "C.UTF-8" | "C.utf8")
}

/// Returns the pieces as text, with patterns as written.
fn written(pieces: &[Piece]) -> Vec<u8> {
    pieces.iter().fold(Vec::new(), |mut text, piece| {
        match piece {
            Piece::Text(bytes) => text.extend_from_slice(bytes),
            Piece::AnyText => text.push(b'*'),
            Piece::AnyChar => text.push(b'?'),
        }
        text
    })
}

/// Splits the pattern at its slashes. A leading empty component stands for the root.
fn components(pieces: &[Piece]) -> Result<Vec<Vec<Piece>>, Declined> {
    let mut components = vec![Vec::new()];
    for piece in pieces {
        let Piece::Text(bytes) = piece else {
            components.last_mut().expect("never empty").push(piece.clone());
            continue;
        };
        for (i, part) in bytes.split(|b| *b == b'/').enumerate() {
            if i > 0 {
                components.push(Vec::new());
            }
            if !part.is_empty() {
                components.last_mut().expect("never empty").push(Piece::Text(part.to_vec()));
            }
        }
    }
    if components.iter().skip(1).any(Vec::is_empty) {
        return Err("a pattern with an empty path component".into());
    }
    Ok(components)
}

/// Appends to `next` every path of this component under `base`.
fn extend(base: &[u8], component: &[Piece], last: bool, next: &mut Vec<Vec<u8>>) -> Result<(), Declined> {
    if let Some(text) = as_text(component) {
        let mut path = base.to_vec();
        path.extend_from_slice(&text);
        if last {
            if std::fs::symlink_metadata(OsStr::from_bytes(&path)).is_ok() {
                next.push(path);
            }
        } else {
            path.push(b'/');
            next.push(path);
        }
        return Ok(());
    }
    let directory = if base.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(base)) };
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name().into_vec();
        if !matches_name(component, &name)? {
            continue;
        }
        let mut path = [base, name.as_slice()].concat();
        if !last {
            if !Path::new(OsStr::from_bytes(&path)).is_dir() {
                continue;
            }
            path.push(b'/');
        }
        next.push(path);
    }
    Ok(())
}

fn begins_with_dot(component: &[Piece]) -> bool {
    matches!(component.first(), Some(Piece::Text(text)) if text.first() == Some(&b'.'))
}

fn matches_name(component: &[Piece], name: &[u8]) -> Result<bool, Declined> {
    if name.first() == Some(&b'.') {
        return Ok(false);
    }
    if component.contains(&Piece::AnyChar) && !name.is_ascii() {
        return Err("`?` against a file name that is not ASCII".into());
    }
    Ok(matches(component, name))
}

fn matches(pattern: &[Piece], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((Piece::Text(text), rest)) => {
            name.strip_prefix(text.as_slice()).is_some_and(|name| matches(rest, name))
        }
        Some((Piece::AnyChar, rest)) => !name.is_empty() && matches(rest, &name[1..]),
        Some((Piece::AnyText, rest)) => (0..=name.len()).any(|skip| matches(rest, &name[skip..])),
    }
}

/// Returns the value of the word that names a command, if known.
pub(crate) fn command_name(simple: &Simple, environment: &Environment) -> Option<Vec<u8>> {
    let first = simple.words.first()?;
    match arguments(std::slice::from_ref(first), environment).ok()?.as_slice() {
        [name] => Some(name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_record::Span;

    fn word(parts: Vec<WordPart>) -> Word {
        Word { parts, span: Span::default() }
    }

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs.iter().map(|(n, v)| (n.into(), v.into())).collect())
    }

    fn variable(name: &str, quoted: bool) -> WordPart {
        WordPart::Variable { name: name.into(), quoted }
    }

    #[test]
    fn quoted_variables_keep_everything() {
        let env = environment(&[("X", "a  b*")]);
        let parts = vec![WordPart::Bare("<".into()), variable("X", true), WordPart::Bare(">".into())];
        assert_eq!(arguments(&[word(parts)], &env), Ok(vec![b"<a  b*>".to_vec()]));
    }

    #[test]
    fn what_would_be_split_or_is_unknown_is_declined() {
        let env = environment(&[("X", "a b"), ("EMPTY", ""), ("RANDOM", "4")]);
        for (name, quoted) in [("X", false), ("EMPTY", false), ("UNSET", true), ("RANDOM", true)] {
            assert!(arguments(&[word(vec![variable(name, quoted)])], &env).is_err(), "{name}");
        }
        assert_eq!(arguments(&[word(vec![variable("EMPTY", true)])], &env), Ok(vec![vec![]]));
    }

    #[test]
    fn tilde_is_home() {
        let env = environment(&[("HOME", "/h")]);
        assert_eq!(
            arguments(&[word(vec![WordPart::Tilde, WordPart::Bare("/x".into())])], &env),
            Ok(vec![b"/h/x".to_vec()])
        );
        assert!(arguments(&[word(vec![WordPart::Tilde])], &environment(&[])).is_err());
    }

    #[test]
    fn patterns_match_sorted_names_and_skip_dots() {
        let dir = tempfile::tempdir().expect("temporary directory");
        for name in ["b.log", "a.log", ".c.log", "d.txt"] {
            std::fs::write(dir.path().join(name), "").expect("writable");
        }
        let base = format!("{}/", dir.path().display());
        let pattern = |parts: Vec<WordPart>| {
            let parts = std::iter::once(WordPart::Bare(base.clone())).chain(parts).collect();
            let found = arguments(&[word(parts)], &environment(&[])).expect("modelled");
            let strip = |path: &Vec<u8>| String::from_utf8_lossy(&path[base.len()..]).into_owned();
            found.iter().map(strip).collect::<Vec<_>>()
        };
        assert_eq!(pattern(vec![WordPart::AnyText, WordPart::Bare(".log".into())]), ["a.log", "b.log"]);
        assert_eq!(pattern(vec![WordPart::AnyChar, WordPart::Quoted(".txt".into())]), ["d.txt"]);
        assert_eq!(pattern(vec![WordPart::AnyText, WordPart::Bare(".none".into())]), ["*.none"]);
        let hidden = vec![WordPart::Bare(format!("{base}.")), WordPart::AnyText];
        assert!(arguments(&[word(hidden)], &environment(&[])).is_err_and(|why| why.contains("hidden")));
        let foreign = environment(&[("LC_ALL", "de_DE.UTF-8")]);
        let parts = vec![WordPart::Bare(base.clone()), WordPart::AnyText, WordPart::Bare(".log".into())];
        assert!(arguments(&[word(parts)], &foreign).is_err());
    }

    #[test]
    fn redirection_targets_are_plain_files() {
        let name = |text: &str| file_name(&word(vec![WordPart::Bare(text.into())]), &environment(&[]));
        assert_eq!(name("out"), Ok(b"out".to_vec()));
        assert_eq!(name("/dev/null"), Ok(b"/dev/null".to_vec()));
        assert!(name("/dev/stdin").is_err());
        assert!(name("/dev/tcp/localhost/1").is_err());
    }
}
