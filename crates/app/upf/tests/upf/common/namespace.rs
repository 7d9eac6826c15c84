//! Tests in a network namespace of their own.

use std::process::Command;

/// Set inside the namespace.
const INSIDE: &str = "CAUSEWAY_TEST_INSIDE";

/// Runs `body` in a network namespace where this process is root.
pub fn in_namespace(test: &str, body: impl FnOnce()) {
    within(&["--user", "--map-root-user", "--net", "--"], test, body);
}

/// Runs `body` in a network namespace if this process is root in earnest, for what the kernel grants nobody else.
pub fn in_namespace_of_root(test: &str, body: impl FnOnce()) {
    within(&["--net", "--"], test, body);
}

fn within(namespace: &[&str], test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        return body();
    }
    let permitted = Command::new("unshare").args(namespace).args(["ip", "link"]).output();
    if !permitted.is_ok_and(|output| output.status.success())
        || !std::fs::exists("/dev/net/tun").unwrap_or(false)
    {
        eprintln!("SKIPPED {test}: needs netns (network namespaces or TUN devices are not permitted here)");
        return;
    }
    let again = Command::new("unshare")
        .args(namespace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stdout) + String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success(), "inside the namespace:\n{said}");
    assert!(said.contains("1 passed"), "inside the namespace:\n{said}");
    said.lines().filter(|line| line.starts_with("SKIPPED")).for_each(|line| eprintln!("{line}"));
}

/// Runs `ip` with these words.
pub fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}");
}
