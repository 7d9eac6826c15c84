//! What the log says about sessions and interfaces, read as an operator reads it.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use crate::common::namespace::{in_namespace, ip};
use crate::common::smf::Smf;
use crate::common::{PATIENCE, config, loopback, run};
use causeway_pfcp::Cause;
use causeway_upf::Daemon;
use causeway_upf::config::Session;
use serde_json::Value;

/// The log of this process.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<Value>>>);

impl io::Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(serde_json::from_slice(line).unwrap());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) static LOG: LazyLock<Lines> = LazyLock::new(|| {
    let lines = Lines::default();
    let written = lines.clone();
    let json = tracing_subscriber::fmt().json().flatten_event(true).with_max_level(tracing::Level::DEBUG);
    json.with_writer(move || written.clone()).init();
    lines
});

impl Lines {
    /// The first line that all of this is true for, once it is there.
    pub(crate) fn until(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let find = || self.0.lock().unwrap().iter().find(|line| is_it(line)).cloned();
        let start = Instant::now();
        loop {
            if let Some(line) = find() {
                return line;
            }
            assert!(start.elapsed() < PATIENCE, "{what}: {:#?}", self.0.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn has(&self, is_it: impl Fn(&Value) -> bool) -> bool {
        self.0.lock().unwrap().iter().any(is_it)
    }
}

pub(crate) fn says(line: &Value, text: &str) -> bool {
    line["message"].as_str().is_some_and(|message| message.contains(text))
}

// Input:  a session with a UE address of the subnet, and one with an address of no subnet of its network.
// Output: both are accepted. Each has a line with SEID and UE address; the second one also a warning, with the data network, that
//         says what to do.
#[test]
fn an_address_outside_the_subnets_is_a_warning() {
    let log = &*LOG;
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    let (inside, outside) = (Ipv4Addr::new(10, 45, 77, 1), Ipv4Addr::new(10, 99, 77, 1));
    for ue in [inside, outside] {
        assert_eq!(smf.try_establish(ue), Cause::RequestAccepted);
        let of_ue = |line: &Value| line["ue"] == ue.to_string();
        let line = log.until("the session", |line| of_ue(line) && says(line, ": established, "));
        assert_eq!(line["level"], "DEBUG");
        let seid = line["seid"].as_str().unwrap();
        assert!(seid.starts_with("0x") && says(&line, &format!("session {seid}: ")), "{line}");
    }
    let warning = |ue: Ipv4Addr| {
        move |line: &Value| {
            line["level"] == "WARN" && line["ue"] == ue.to_string() && line["dnn"] == "internet"
        }
    };
    let line = log.until("the warning", warning(outside));
    assert!(
        says(&line, "is in no subnet of data network internet")
            && says(&line, "add its subnet to upf.session")
    );
    assert!(!log.has(warning(inside)));
}

// Input:  the TUN device of a daemon goes down and up again.
// Output: a warning, then a line that it is up, both with the name of the interface.
#[test]
fn an_interface_that_goes_down_and_up_is_logged() {
    in_namespace("log_lines::an_interface_that_goes_down_and_up_is_logged", || {
        let log = &*LOG;
        let mut config = config(loopback());
        config.upf.session = vec![Session { dev: "n6log".into(), ..Session::default() }];
        let _daemon = Daemon::start(&config).unwrap();
        let of_device = |line: &Value| line["interface"] == "n6log";
        assert!(!log.has(of_device));
        ip("link set n6log down");
        let line = log.until("the interface is down", of_device);
        assert_eq!((&line["level"], says(&line, "interface n6log is down")), (&"WARN".into(), true));
        ip("link set n6log up");
        log.until("the interface is up", |line| of_device(line) && says(line, "interface n6log is up"));
    });
}
