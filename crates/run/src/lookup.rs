//! Finds a program as a shell does.

use crate::environ::Environment;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the path of the program for the command `name`, or `None` if the shell would report an error
/// instead. A name with a slash is a path; others are searched in PATH, where an empty entry is the working
/// directory.
pub fn find(name: &[u8], environment: &Environment) -> Option<Vec<u8>> {
    let path = environment.get("PATH").map(OsStr::as_bytes);
    find_among(name, path.into_iter().flat_map(|path| path.split(|b| *b == b':')))
}

/// Returns the directories of PATH, each once, for [`find_in`]. Does not check whether they exist: that would
/// cost as much as a lookup in them, and few pipelines have more names than PATH has directories.
pub fn folders(environment: &Environment) -> Vec<Vec<u8>> {
    let Some(path) = environment.get("PATH") else { return Vec::new() };
    let mut folders: Vec<Vec<u8>> = Vec::new();
    for dir in path.as_bytes().split(|b| *b == b':') {
        if !folders.iter().any(|known| known == dir) {
            folders.push(dir.to_vec());
        }
    }
    folders
}

/// Finds programs, and remembers them: each name is looked for once.
pub struct Programs<'a> {
    environment: &'a Environment,
    found: RefCell<BTreeMap<Vec<u8>, Option<Vec<u8>>>>,
}

impl<'a> Programs<'a> {
    /// Makes an empty memory.
    pub fn new(environment: &'a Environment) -> Self {
        Programs { environment, found: RefCell::default() }
    }

    /// As [`find`].
    pub fn find(&self, name: &[u8]) -> Option<Vec<u8>> {
        if let Some(known) = self.found.borrow().get(name) {
            return known.clone();
        }
        let found = find(name, self.environment);
        self.found.borrow_mut().insert(name.to_vec(), found.clone());
        found
    }
}

/// Finds a program in these directories.
pub fn find_in(name: &[u8], folders: &[Vec<u8>]) -> Option<Vec<u8>> {
    find_among(name, folders.iter().map(Vec::as_slice))
}

fn find_among<'f>(name: &[u8], mut folders: impl Iterator<Item = &'f [u8]>) -> Option<Vec<u8>> {
    if name.is_empty() {
        return None;
    }
    if name.contains(&b'/') {
        return is_program(name).then(|| name.to_vec());
    }
    folders.find_map(|dir| Some(join(dir, name)).filter(|candidate| is_program(candidate)))
}

/// Whether execve will accept the file: a binary, or a script whose interpreter exists. Otherwise a shell
/// would read it as a script, or print an error. For an unreadable file, execve decides.
pub fn kernel_can_start(path: &[u8]) -> bool {
    use std::io::Read;
    let Ok(mut file) = std::fs::File::open(std::ffi::OsStr::from_bytes(path)) else { return true };
    let mut head = [0; 256];
    let Ok(n) = file.read(&mut head) else { return true };
    match head[..n].strip_prefix(b"#!") {
        None => head[..n].starts_with(b"\x7fELF"),
        Some(line) => {
            let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
            let blank = |b: &u8| *b == b' ' || *b == b'\t';
            let interpreter = line.split(blank).find(|word| !word.is_empty()).unwrap_or_default();
            is_program(interpreter)
        }
    }
}

/// Returns the path of a shell: by PATH, or in its usual directories if PATH is missing or does not have it.
pub fn find_shell(name: &[u8], environment: &Environment) -> Option<Vec<u8>> {
    let usual = || ["/bin/", "/usr/bin/", "/usr/local/bin/"].map(|dir| [dir.as_bytes(), name].concat());
    find(name, environment).or_else(|| {
        if name.contains(&b'/') { None } else { usual().into_iter().find(|path| is_program(path)) }
    })
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    match dir {
        [] => [b"./", name].concat(),
        [.., b'/'] => [dir, name].concat(),
        _ => [dir, b"/", name].concat(),
    }
}

fn is_program(path: &[u8]) -> bool {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    std::fs::metadata(path).is_ok_and(|m| m.is_file()) && pelton_sys::machine::may_execute(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_path_in_order() {
        let env = Environment::from_pairs(vec![("PATH".into(), "/nonexistent:/bin:/usr/bin".into())]);
        assert_eq!(find(b"sh", &env).as_deref(), Some(&b"/bin/sh"[..]));
        assert_eq!(find(b"/bin/sh", &env).as_deref(), Some(&b"/bin/sh"[..]));
        assert_eq!(find(b"no-such-program", &env), None);
        assert_eq!(find(b"/bin", &env), None);
        assert_eq!(find(b"", &env), None);
    }
}
