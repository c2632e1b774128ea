//! For how long processes of the machine stalled: pressure stall information, counted by the kernel since 4.20.

/// What is stalled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A CPU.
    Cpu,
    /// Memory that has to be reclaimed or read back first.
    Memory,
    /// A disk.
    Io,
}

/// Returns for how long at least one process stalled since boot, nanoseconds; `None` if the kernel does not count it.
pub fn stalled_ns(resource: Resource) -> Option<u64> {
    let name = match resource {
        Resource::Cpu => "cpu",
        Resource::Memory => "memory",
        Resource::Io => "io",
    };
    total_ns(&std::fs::read_to_string(format!("/proc/pressure/{name}")).ok()?)
}

fn total_ns(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some.split(' ').find_map(|field| field.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()? * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_some() {
        let text = "some avg10=41.00 avg60=54.83 avg300=61.21 total=21731\nfull avg10=0.00 total=7\n";
        assert_eq!(total_ns(text), Some(21_731_000));
        assert_eq!(total_ns(""), None);
    }
}
