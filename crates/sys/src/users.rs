//! Looks up users and groups by name and number, in any database of the machine.
//!
//! The C library's functions load modules if the machine configures other sources than files, and the module
//! for systemd, which Debian configures, crashes a statically linked program. So files are read here, and
//! names not found there are looked up with the system's getent(1).

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Returns the number of a user.
pub fn user_id(name: &CStr) -> Option<u32> {
    PASSWD.id(name)
}

/// Returns the number of a group.
pub fn group_id(name: &CStr) -> Option<u32> {
    GROUP.id(name)
}

/// Returns the name of a user.
pub fn user_name(id: u32) -> Option<Vec<u8>> {
    PASSWD.name(id)
}

/// Returns the name of a group.
pub fn group_name(id: u32) -> Option<Vec<u8>> {
    GROUP.name(id)
}

/// A database of nsswitch.conf(5).
struct Database {
    name: &'static str,
    file: &'static str,
    /// Cache by number: a name printed for every file is looked up once.
    names: Mutex<BTreeMap<u32, Option<Vec<u8>>>>,
}

static PASSWD: Database = Database::new("passwd", "/etc/passwd");
static GROUP: Database = Database::new("group", "/etc/group");
const ORDER_FILE: &str = "/etc/nsswitch.conf";

/// An entry of a database.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    name: Vec<u8>,
    id: Option<u32>,
}

impl Entry {
    /// Parses `name:password:number:…`; both files begin so.
    fn parse(line: &[u8]) -> Option<Entry> {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with(b"#"))?;
        let id = std::str::from_utf8(fields.nth(1)?).ok().and_then(|id| id.parse().ok());
        Some(Entry { name: name.to_vec(), id })
    }
}

impl Database {
    const fn new(name: &'static str, file: &'static str) -> Self {
        Database { name, file, names: Mutex::new(BTreeMap::new()) }
    }

    fn id(&self, name: &CStr) -> Option<u32> {
        let name = OsStr::from_bytes(name.to_bytes());
        self.find(name, |entry| entry.name == name.as_bytes())?.id
    }

    fn name(&self, id: u32) -> Option<Vec<u8>> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = || Some(self.find(id.to_string().as_ref(), |entry| entry.id == Some(id))?.name);
        names.entry(id).or_insert_with(ask).clone()
    }

    fn find(&self, key: &OsStr, is_it: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let order = std::fs::read(ORDER_FILE).unwrap_or_default();
        let in_file = || first(&std::fs::read(self.file).ok()?, &is_it);
        let found = is_first_in_files(&order, self.name).then(in_file).flatten();
        found.or_else(|| first(&self.ask(key)?, &is_it))
    }

    /// Runs getent, which treats a key of digits as a number.
    fn ask(&self, key: &OsStr) -> Option<Vec<u8>> {
        let mut getent = Command::new("getent");
        getent.args(["--", self.name]).arg(key).stdin(Stdio::null()).stderr(Stdio::null());
        Some(getent.output().ok()?.stdout)
    }
}

fn first(text: &[u8], is_it: impl Fn(&Entry) -> bool) -> Option<Entry> {
    text.split(|byte| *byte == b'\n').filter_map(Entry::parse).find(is_it)
}

/// Whether this database is looked up in files first, as is the default.
fn is_first_in_files(order: &[u8], database: &str) -> bool {
    let text = String::from_utf8_lossy(order);
    let said = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(database)?.trim_start().strip_prefix(':'));
    said.is_none_or(|sources| sources.split_ascii_whitespace().next() == Some("files"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_both_ways() {
        assert_eq!(user_id(c"root"), Some(0));
        assert_eq!(user_name(0).as_deref(), Some(&b"root"[..]));
        assert_eq!(group_id(c"root"), Some(0));
        assert_eq!(group_name(0).as_deref(), Some(&b"root"[..]));
    }

    /// When linked statically, the C library would crash the program here.
    #[test]
    fn who_is_unknown_has_no_name_and_no_number() {
        assert_eq!(user_id(c"no such user"), None);
        assert_eq!(group_id(c"no such group"), None);
        assert_eq!(user_id(c""), None);
        assert_eq!(user_name(3_999_999_999), None);
        assert_eq!(group_name(3_999_999_999), None);
        // A number is no name.
        assert_eq!(user_id(c"0"), None);
    }

    #[test]
    fn entries_and_their_order() {
        let entry = Entry::parse(b"man:x:6:12:man:/var/cache/man:/usr/sbin/nologin").expect("an entry");
        assert_eq!(entry, Entry { name: b"man".to_vec(), id: Some(6) });
        assert_eq!(Entry::parse(b"# a comment:x:1"), None);
        assert_eq!(Entry::parse(b"+"), None);
        let first = |text: &str| is_first_in_files(text.as_bytes(), "passwd");
        assert!(first("") && first("group: sss\n") && first("passwd:\tfiles systemd\n"));
        assert!(!first("passwd: sss files") && !first("  passwd : compat"));
    }
}
