//! The memory map of a process: which part of which file is where.

use pelton_sys::{other_process, processes};

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    /// Where it starts in the file.
    pub offset: u64,
    pub executable: bool,
    /// The inode of the file.
    pub inode: u64,
    /// The file; empty for anonymous memory.
    pub path: String,
}

/// All mappings of a process.
pub struct Maps {
    pub pid: u32,
    all: Vec<Mapping>,
}

impl Maps {
    /// Reads /proc/PID/maps; `None` if not permitted, or if the process has ended.
    pub fn read(pid: u32) -> Option<Self> {
        let all: Vec<Mapping> = processes::file(pid, "maps")?.lines().filter_map(parse).collect();
        (!all.is_empty()).then_some(Maps { pid, all })
    }

    /// Returns the mapping at `address`.
    pub fn at(&self, address: u64) -> Option<&Mapping> {
        self.all.iter().find(|one| (one.start..one.end).contains(&address))
    }

    /// Returns the paths of mapped programs and libraries.
    pub fn files(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = Vec::new();
        for one in self.all.iter().filter(|one| one.executable && one.path.starts_with('/')) {
            if !paths.contains(&one.path.as_str()) {
                paths.push(&one.path);
            }
        }
        paths
    }

    /// Returns where the first byte of the file `path` is mapped.
    pub fn base(&self, path: &str) -> Option<u64> {
        self.all.iter().find(|one| one.path == path && one.offset == 0).map(|one| one.start)
    }

    /// Returns the path by which this process can read the file. In another mount namespace, a path begins at the root there;
    /// of a process that has changed its root, at this one's.
    pub fn readable(&self, path: &str) -> String {
        let path = path.trim_end_matches(" (deleted)");
        let there = format!("/proc/{}/root{path}", self.pid);
        if std::path::Path::new(&there).exists() { there } else { path.to_owned() }
    }

    /// Returns the inode of the file `path`: containers have other files of the same name.
    pub fn inode(&self, path: &str) -> u64 {
        self.all.iter().find(|one| one.path == path).map_or(0, |one| one.inode)
    }

    /// Reads a number of 8 bytes.
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.bytes(address, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Reads a number of 4 bytes.
    pub fn half_word(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.bytes(address, &mut bytes)?;
        Some(u32::from_le_bytes(bytes))
    }

    /// Reads one byte.
    pub fn byte(&self, address: u64) -> Option<u8> {
        let mut bytes = [0];
        self.bytes(address, &mut bytes)?;
        Some(bytes[0])
    }

    /// Fills `buffer` from `address`.
    pub fn bytes(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        let wanted = buffer.len();
        (other_process::memory(self.pid, address, buffer)?.len() == wanted).then_some(())
    }
}

fn parse(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let rights = words.next()?;
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let inode = words.nth(1)?.parse().ok()?;
    let path = words.next().unwrap_or_default().trim_start().to_owned();
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        offset,
        executable: rights.contains('x'),
        inode,
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_lines() {
        let line = "55e0c0a00000-55e0c0a02000 r-xp 00002000 fe:00 1234                       /usr/bin/a b";
        let mapping = parse(line).expect("parses");
        assert_eq!(
            (mapping.offset, mapping.executable, mapping.inode, mapping.path.as_str()),
            (0x2000, true, 1234, "/usr/bin/a b")
        );
        let nameless = parse("7ffd1000-7ffd3000 rw-p 00000000 00:00 0 ").expect("parses");
        assert_eq!(nameless.path, "");
    }

    #[test]
    fn reads_this_process() {
        let maps = Maps::read(std::process::id()).expect("own maps");
        let value = 0x0123_4567_89ab_cdefu64;
        assert_eq!(maps.word(std::ptr::from_ref(&value) as u64), Some(value));
        assert!(maps.files().iter().all(|file| maps.base(file).is_some()));
    }
}
