//! A daemon as a process, with its log.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod smf;

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Longer than a loaded machine takes for any line of the log.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A loopback address that no other test, in this process or another, uses at the same time.
pub fn loopback() -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [.., a, b] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 128 | (a & 63), b, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A configuration on that address, without data networks: it needs no privilege.
pub fn file(at: Ipv4Addr, level: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("run-{at}.yaml"));
    let text = format!(
        "logger: {{level: {level}}}\nupf:\n  pfcp: {{server: [{{address: {at}}}], release_timeout: 200ms}}\n  \
         gtpu: {{server: [{{address: {at}}}]}}\n  session: []\n  metrics: {{server: [{{address: {at}}}]}}\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

/// A daemon that runs, with its log.
pub struct Running {
    pub child: Child,
    pub log: Receiver<String>,
    /// Lines that were read.
    pub seen: Vec<String>,
}

impl Running {
    pub fn start(args: &[&str]) -> Self {
        Self::of(Command::new(env!("CARGO_BIN_EXE_causeway")).arg("run").args(args))
    }

    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (to, log) = mpsc::channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| to.send(line)));
        Self { child, log, seen: Vec::new() }
    }

    /// Reads the log up to a line that contains `text`, and returns that line.
    pub fn until(&mut self, text: &str) -> String {
        let mut seen = String::new();
        loop {
            let line = self.log.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|e| panic!("`{text}` is not in the log ({e}):\n{seen}"));
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
            seen.push_str(&line);
            seen.push('\n');
        }
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only a test that failed leaves it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
