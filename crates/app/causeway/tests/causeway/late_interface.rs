//! `causeway run` while an interface is not there yet, in a network namespace of its own.

use std::path::PathBuf;
use std::process::Command;

use crate::common::{Running, loopback};

/// Why no network namespace can be made here, if so.
fn why_no_namespace() -> Option<String> {
    match Command::new("unshare").args(["--net", "ip", "link", "set", "lo", "up"]).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    }
}

/// A daemon in a namespace with nothing but loopback, whose N3 is on the interface `late0`; `None`: skipped.
fn start(test: &str, timeout: &str) -> Option<Running> {
    if let Some(why) = why_no_namespace() {
        eprintln!("SKIPPED causeway::{test}: needs netns ({why})");
        return None;
    }
    let at = loopback();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("late-{at}.yaml"));
    let text = format!(
        "upf:\n  interface_timeout: {timeout}\n  pfcp: {{server: [{{address: {at}}}], release_timeout: 200ms}}\n  \
         gtpu: {{server: [{{dev: late0}}]}}\n  session: []\n  metrics: {{server: [{{address: {at}}}]}}\n"
    );
    std::fs::write(&path, text).unwrap();
    let script = "ip link set lo up && exec \"$0\" run -c \"$1\"";
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", script, env!("CARGO_BIN_EXE_causeway")]).arg(path);
    Some(Running::of(&mut command))
}

/// Runs `ip` in the namespace of the daemon.
fn ip(running: &Running, words: &str) {
    let target = running.child.id().to_string();
    let status =
        Command::new("nsenter").args(["-t", &target, "-n", "ip"]).args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}");
}

// Input:  a configuration with an interface that is created after the start, and gets its address later.
// Output: the log says what is waited for, and how long at most; then N3 is on that address, and the UPF is ready.
#[test]
fn an_interface_that_comes_late_is_waited_for() {
    let test = "an_interface_that_comes_late_is_waited_for";
    let Some(mut running) = start(test, "10m") else { return };
    running.until("waiting for interface late0 (upf.gtpu.server[0].dev), at most 600.0 s more");
    ip(&running, "link add late0 type veth peer name late1");
    running.until("waiting for an address of interface late0 (upf.gtpu.server[0].dev)");
    ip(&running, "link set late0 up");
    ip(&running, "address add 192.0.2.9/24 dev late0");
    running.until("all interfaces and addresses are there after ");
    running.until("N3 on 192.0.2.9:2152 over UDP");
    running.until("ready");
    running.signal("TERM");
    running.until("stopped:");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

// Input:  the same, but the interface never comes; and SIGTERM while it is waited for.
// Output: the time ends with the error that a start without waiting has, and code 1; the signal ends it with 0.
#[test]
fn waiting_for_an_interface_ends() {
    let test = "waiting_for_an_interface_ends";
    let Some(mut running) = start(test, "300ms") else { return };
    running.until("waiting for interface late0");
    running.until("upf.gtpu.server[0].dev: interface late0 does not exist");
    assert_eq!(running.child.wait().unwrap().code(), Some(1));
    let Some(mut running) = start(test, "10m") else { return };
    running.until("waiting for interface late0");
    running.signal("TERM");
    running.until("stopped:");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}
