//! The memory of the host and of this process.

use std::fs;

/// Octets that could be allocated without anything being thrown out; `None` where the kernel does not say.
pub fn available_memory() -> Option<u64> {
    field("/proc/meminfo", "MemAvailable:")
}

/// Octets of this process that are in memory; `None` where the kernel does not say.
pub fn resident_memory() -> Option<u64> {
    field("/proc/self/status", "VmRSS:")
}

/// A line such as `VmRSS:  1234 kB`, in octets.
fn field(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = rest.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  16 MiB that are written to.
    // Output: they are among the memory of the process.
    #[test]
    fn what_is_written_is_resident() {
        let block = std::hint::black_box(vec![1_u8; 16 << 20]);
        assert!(resident_memory().unwrap_or(u64::MAX) >= block.len() as u64);
        assert_eq!(field("/proc/self/status", "NoSuchField:"), None);
    }
}
