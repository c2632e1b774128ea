//! What the disks of the machine have done since boot.

/// A disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its name in /dev.
    pub name: String,
    /// For how long it had requests.
    pub busy_ns: u64,
    /// Bytes read from it.
    pub read_bytes: u64,
    /// Bytes written to it.
    pub written_bytes: u64,
}

/// The kernel counts sectors of this size, whatever the disk's are.
const SECTOR_BYTES: u64 = 512;

/// Returns all disks, without their partitions.
pub fn all() -> Vec<Disk> {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let is_whole = |disk: &Disk| {
        let entry = format!("/sys/block/{}", disk.name.replace('/', "!"));
        std::path::Path::new(&entry).exists()
    };
    text.lines().filter_map(parse).filter(is_whole).collect()
}

fn parse(line: &str) -> Option<Disk> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Disk {
        name: (*fields.get(2)?).to_owned(),
        busy_ns: number(12)? * 1_000_000,
        read_bytes: number(5)? * SECTOR_BYTES,
        written_bytes: number(9)? * SECTOR_BYTES,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel() {
        let line = " 254       0 vda 100 5 2048 30 200 7 4096 60 0 90 95 0 0 0 0";
        let disk =
            Disk { name: "vda".into(), busy_ns: 90_000_000, read_bytes: 1 << 20, written_bytes: 2 << 20 };
        assert_eq!(parse(line), Some(disk));
        assert_eq!(parse("254 0 vda 1"), None);
    }
}
