//! The commands that ask a running UPF, against a real one.

mod access;
mod capture;
mod events;
mod explain;
mod failures;
mod pages;
mod sessions;
mod state;
mod support_bundle;
mod top;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::smf::{Session, Smf};
use crate::common::{Running, file, loopback};

/// The gNB of all sessions but the first.
const GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// A daemon, and an SMF with sessions.
struct Operated {
    at: Ipv4Addr,
    path: PathBuf,
    running: Running,
    smf: Smf,
    sessions: Vec<Session>,
}

/// The UE of the session with this number, from zero on.
fn ue(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 45, 1, number)
}

impl Operated {
    /// A daemon with so many sessions.
    fn with_sessions(count: u8) -> Self {
        Self::with_keys(count, "  management: {capture: everyone}\n")
    }

    /// The same with further keys of `upf`.
    fn with_keys(count: u8, keys: &str) -> Self {
        let at = loopback();
        let path = file(at, "info");
        let of_all = format!("gtpu: {{server: [{{address: {at}");
        let of_dnn = format!("{of_all}, network_instance: internet");
        let text = std::fs::read_to_string(&path).unwrap().replace(&of_all, &of_dnn) + keys;
        std::fs::write(&path, text).unwrap();
        let mut running = Running::start(&["--config", path.to_str().unwrap()]);
        running.until("ready");
        let mut smf = Smf::associated(at);
        let gnb = |number| if number == 0 { Ipv4Addr::new(198, 51, 100, 8) } else { GNB };
        let session =
            |number: u8| smf.establish_whole(ue(number), &format!("00101{number:010}"), gnb(number));
        let sessions = (0..count).map(session).collect();
        Self { at, path, running, smf, sessions }
    }

    /// The SEID of a session, as commands show it.
    fn seid(&self, number: usize) -> String {
        format!("{:#x}", self.sessions[number].seid.0)
    }

    /// A command that asks this daemon.
    fn command(&self, args: &[&str]) -> Command {
        command(&format!("{}:9098", self.at), args)
    }

    /// What a command prints, which must succeed.
    fn text(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same as JSON.
    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[args, &["-o", "json"]].concat())).unwrap()
    }
}

/// A command that asks the daemon at that address.
fn command(management: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CAUSEWAY_")) {
        command.env_remove(name);
    }
    command.args(args).env("CAUSEWAY_MANAGEMENT", management);
    command
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

/// The exit code, standard output and standard error.
fn ended(output: &Output) -> (Option<i32>, &str, &str) {
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}
