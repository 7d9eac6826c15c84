//! Namespaces that a killed run has left.

use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::{PREFIX, RUN_DIR, run_program};

/// Deletes namespaces whose process is gone, and ends what still runs inside. Returns how many there were.
pub fn remove_stale() -> usize {
    let Ok(entries) = std::fs::read_dir(RUN_DIR) else { return 0 };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let stale: Vec<_> = names.filter(|name| owner(name).is_some_and(is_gone)).collect();
    for name in &stale {
        kill_inside(name);
        // A namespace that will not go does no harm to this run: names never repeat.
        let _ = run_program("ip", ["netns", "delete", name], "");
    }
    stale.len()
}

/// The process that created the namespace, if it is one of this crate.
fn owner(name: &str) -> Option<u32> {
    let (pid, role) = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split_once('-')?;
    pid.parse().ok().filter(|_| !role.is_empty())
}

fn is_gone(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

fn kill_inside(name: &str) {
    let Ok(output) = Command::new("ip").args(["netns", "pids", name]).output() else { return };
    let pids = String::from_utf8_lossy(&output.stdout);
    for pid in pids.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
        // It may have ended by itself meanwhile.
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  names of namespaces, of this crate and of others.
    // Output: the process id of those of this crate; none for the others, which are never changed.
    #[test]
    fn only_our_own_names_are_recognised() {
        assert_eq!(owner("causeway-812-gnb1"), Some(812));
        for other in
            ["causeway", "causeway-", "causeway-812", "causeway-812-", "causeway-x-upf", "docker-1-a"]
        {
            assert_eq!(owner(other), None, "{other}");
        }
    }

    // Input:  our own process id, and one above the kernel's limit.
    // Output: that of the running process remains, the other is removed.
    #[test]
    fn a_living_process_keeps_its_namespaces() {
        assert!(!is_gone(std::process::id()));
        assert!(is_gone(u32::MAX));
    }
}
