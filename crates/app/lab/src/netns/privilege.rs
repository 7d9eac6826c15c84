//! The privilege to create namespaces: root, or an unprivileged user namespace.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::mount::{MountFlags, mount};

use super::{RUN_DIR, run_program};
use crate::LabError;

/// Set for the process inside the user namespace.
const INSIDE: &str = "CAUSEWAY_LAB_USERNS";

const UNSHARE: [&str; 5] = ["--user", "--map-root-user", "--net", "--mount", "--"];

/// CAP_NET_ADMIN and CAP_SYS_ADMIN, as bits of `CapEff` in `/proc/self/status`.
const NEEDED_CAPS: u64 = 1 << 12 | 1 << 21;

/// Where the right to make namespaces comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Privilege {
    /// Root of this machine or container.
    Root,
    /// A user namespace made for this process alone.
    UserNamespace,
}

/// Sees to it that this process may make namespaces and TUN devices.
///
/// Without the right it starts the same command line anew inside an unprivileged user namespace, and does not
/// return then. To be called before any thread is started.
///
/// # Errors
/// [`LabError::Missing`]: what the machine lacks, and how to provide it.
pub fn acquire_privilege() -> Result<Privilege, LabError> {
    require_programs(&["ip", "ping", "unshare"])?;
    let privilege = if std::env::var_os(INSIDE).is_some() {
        own_run_directory()?;
        Privilege::UserNamespace
    } else if effective_caps() & NEEDED_CAPS == NEEDED_CAPS {
        Privilege::Root
    } else {
        return Err(enter_user_namespace());
    };
    require_tun()?;
    Ok(privilege)
}

/// Sees whether this process, as it is, may make namespaces and TUN devices. Unlike [`acquire_privilege`] it changes nothing.
///
/// # Errors
/// [`LabError::Missing`]: what the process or the machine lacks, and how to provide it.
pub fn check_privilege() -> Result<(), LabError> {
    require_programs(&["ip"])?;
    if effective_caps() & NEEDED_CAPS != NEEDED_CAPS {
        let cure = "it makes network namespaces and takes CAP_NET_ADMIN and CAP_SYS_ADMIN: run it as root";
        return Err(LabError::Missing(format!("not root: {cure}")));
    }
    require_tun()
}

/// Returns only with the reason why it could not be done.
fn enter_user_namespace() -> LabError {
    if let Err(error) = run_program("unshare", UNSHARE.into_iter().chain(["true"]), "") {
        return LabError::Missing(format!(
            "not root, and the kernel permits no unprivileged user namespace ({error}). Run it as root, or as \
             root permit them: {}",
            userns_advice()
        ));
    }
    let own_image = match std::env::current_exe() {
        Ok(path) => path,
        Err(error) => return LabError::io("find this program's own file")(error),
    };
    let mut command = Command::new("unshare");
    command.args(UNSHARE).arg(own_image).args(std::env::args_os().skip(1));
    command.env(INSIDE, "1").env("PATH", search_path());
    LabError::io("start unshare")(command.exec())
}

/// Settings that forbid user namespaces, each with the value that does, and what permits them again. `scripts/setup` has the same.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
];

/// What is left if no setting forbids them.
const IN_A_CONTAINER: &str = "in a container, start it with --privileged";

/// What permits user namespaces on this machine.
fn userns_advice() -> &'static str {
    let is = |key: &str, value: &str| {
        std::fs::read_to_string(format!("/proc/sys/{key}")).is_ok_and(|content| content.trim() == value)
    };
    let forbids = SETTINGS.iter().find(|(key, value, _)| is(key, value));
    forbids.map_or(IN_A_CONTAINER, |(_, _, advice)| advice)
}

/// Puts an empty directory of our own in place of `/run`, so that names of namespaces can be kept there.
fn own_run_directory() -> Result<(), LabError> {
    mount("tmpfs", "/run", "tmpfs", MountFlags::empty(), None::<&std::ffi::CStr>)
        .map_err(LabError::io("mount a tmpfs on /run"))?;
    std::fs::create_dir_all(RUN_DIR).map_err(LabError::io(RUN_DIR))
}

fn require_programs(programs: &[&str]) -> Result<(), LabError> {
    let path = search_path();
    let found = |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    let missing: Vec<_> = programs.iter().filter(|program| !found(program)).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(LabError::Missing(format!(
        "missing programs: {}. On Debian or Ubuntu: apt-get install iproute2 iputils-ping util-linux",
        missing.join(", ")
    )))
}

/// The PATH with the places of system programs, which a plain user's often lacks.
fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

fn require_tun() -> Result<(), LabError> {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    opened.map(drop).map_err(|error| {
        LabError::Missing(format!(
            "/dev/net/tun cannot be opened ({error}). As root: {}",
            match error.kind() {
                std::io::ErrorKind::NotFound =>
                    "modprobe tun, or: mkdir -p /dev/net && mknod -m 666 /dev/net/tun c 10 200",
                _ => "chmod 666 /dev/net/tun",
            }
        ))
    })
}

fn effective_caps() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    parse_caps(&status).unwrap_or(0)
}

fn parse_caps(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the status of a process with all capabilities, of one without, and nonsense.
    // Output: the set; what cannot be read counts as none.
    #[test]
    fn capabilities_are_read_from_the_status() {
        let root = "Name:\tx\nCapEff:\t000001ffffffffff\n";
        assert_eq!(parse_caps(root).map(|caps| caps & NEEDED_CAPS), Some(NEEDED_CAPS));
        assert_eq!(parse_caps("CapEff:\t0000000000000000\n"), Some(0));
        assert_eq!(parse_caps("Name: x\n"), None);
    }

    // Input:  `scripts/setup`, which looks for the same privilege before anything is built.
    // Output: it starts unshare as this module does, reads the same settings in the same order of precedence, and gives the same advice.
    #[test]
    fn the_setup_script_gives_the_same_advice() {
        let script = include_str!("../../../../../scripts/setup");
        assert!(script.contains(&["unshare", &UNSHARE.join(" "), "true"].join(" ")));
        let checks = SETTINGS.map(|(key, value, advice)| {
            let at = script.find(&format!("! setting {key} {value} ||")).unwrap_or_else(|| panic!("{key}"));
            let named = script[at..].split('"').nth(1);
            assert_eq!(named, Some(advice), "{key}");
            at
        });
        assert!(checks.is_sorted_by(|first, second| first > second), "the last check of the script counts");
        assert!(script.contains(IN_A_CONTAINER));
    }

    // Input:  a program that no machine has, beside one that all have.
    // Output: only the missing one is named, with the packages to install.
    #[test]
    fn a_missing_program_is_named() {
        let error = require_programs(&["sh", "causeway-no-such-program"]).unwrap_err().to_string();
        assert!(error.starts_with("missing programs: causeway-no-such-program. "), "{error}");
    }
}
