//! The ping of the system, run over a UE's device.

use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

use crate::LabError;
use crate::netns::Namespace;

/// What ping counted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PingResult {
    /// Echo requests sent.
    pub sent: u32,
    /// Echo replies received.
    pub received: u32,
    /// Average round trip, if there was a reply.
    pub round_trip: Option<Duration>,
}

impl PingResult {
    /// Every request was answered, and there was at least one.
    pub fn is_lossless(&self) -> bool {
        self.sent > 0 && self.sent == self.received
    }
}

/// Pings `to` over `device` `count` times, five a second, and waits ten seconds for the last answers.
///
/// # Errors
/// [`LabError::Command`] when ping cannot run or its output cannot be understood. Loss is a result, no error.
pub fn ping(
    namespace: &Namespace,
    device: &str,
    to: impl Into<IpAddr>,
    count: u32,
) -> Result<PingResult, LabError> {
    let to = to.into();
    let mut command = Command::new("ping");
    command.args(["-n", "-q", "-i", "0.2", "-W", "10", "-I", device]);
    command.args(["-c", &count.to_string(), &to.to_string()]);
    command.env("LC_ALL", "C");
    let shown = format!("{command:?}").replace('"', "");
    let output = namespace.enter(|| command.output().map_err(LabError::io(shown.clone())))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).ok_or_else(|| LabError::Command {
        command: shown,
        message: format!("{}{}", text.trim(), String::from_utf8_lossy(&output.stderr).trim()),
    })
}

/// Reads the two closing lines of ping.
fn parse(output: &str) -> Option<PingResult> {
    let counts = output.lines().find(|line| line.contains("packets transmitted"))?;
    let mut numbers = counts.split(", ").filter_map(|part| part.split(' ').next()?.parse().ok());
    let (sent, received) = (numbers.next()?, numbers.next()?);
    let round_trip = output.lines().find_map(|line| {
        let (_, values) = line.strip_prefix("rtt ")?.split_once(" = ")?;
        let average: f64 = values.split('/').nth(1)?.parse().ok()?;
        Duration::try_from_secs_f64(average / 1000.0).ok()
    });
    Some(PingResult { sent, received, round_trip })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the closing lines of a ping with five answers of five, and of one without any.
    // Output: the counts and the average; no average without an answer.
    #[test]
    fn the_closing_lines_of_ping_are_understood() {
        let good = "PING 10.6.0.2 (10.6.0.2) from 10.45.0.2 ue1: 56(84) bytes of data.\n\n--- 10.6.0.2 ping statistics ---\n\
                    5 packets transmitted, 5 received, 0% packet loss, time 808ms\n\
                    rtt min/avg/max/mdev = 0.210/0.250/0.310/0.020 ms\n";
        let result = parse(good).unwrap();
        assert_eq!(result.round_trip, Some(Duration::from_micros(250)));
        assert!(result.is_lossless());
        let bad = "3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2043ms\n";
        let result = parse(bad).unwrap();
        assert_eq!(result, PingResult { sent: 3, received: 0, round_trip: None });
        assert!(!result.is_lossless());
        assert_eq!(parse("ping: unknown iface ue1"), None);
    }
}
