//! The ping of the system, run over a UE's device.

use std::io::{BufRead, BufReader, Read};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::LabError;
use crate::netns::Namespace;
use crate::patience::{QUIET, wait_while_changing};

/// How long ping itself waits for an answer, in seconds: longer than this process lets it. Once it has one answer, it waits
/// for the others as long as its interval, or twice the longest round trip.
const FOREVER: &str = "2000";

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

/// Pings `to` over `device` `count` times, all at once. It ends with the last answer, or when none has come for ten
/// seconds, in which pauses of the machine do not count.
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
    let count = count.to_string();
    command.args(["-n", "-i", FOREVER, "-W", FOREVER, "-I", device]);
    command.args(["-l", &count, "-c", &count, &to.to_string()]);
    command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = format!("{command:?}").replace('"', "");
    let mut child = namespace.enter(|| command.spawn().map_err(LabError::io(shown.clone())))?;
    let (text, errors) = watch(&mut child).map_err(LabError::io(shown.clone()))?;
    parse(&text).ok_or_else(|| LabError::Command {
        command: shown,
        message: format!("{}{}", text.trim(), errors.trim()),
    })
}

/// Everything that ping prints. It is stopped when nothing new has been printed for [`QUIET`].
fn watch(child: &mut Child) -> std::io::Result<(String, String)> {
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let lines = AtomicUsize::new(0);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut text = String::new();
            let mut output = output.map(BufReader::new);
            while output.as_mut().is_some_and(|output| output.read_line(&mut text).is_ok_and(|n| n > 0)) {
                lines.fetch_add(1, Ordering::Relaxed);
            }
            text
        });
        let complaints = scope.spawn(|| {
            let mut text = String::new();
            // What cannot be read is missing from a message.
            let _ = errors.map(|mut errors| errors.read_to_string(&mut text));
            text
        });
        let look = || Ok::<_, std::io::Error>((lines.load(Ordering::Relaxed), child.try_wait()?.is_some()));
        if !wait_while_changing(QUIET, look, |(_, ended)| *ended)?.1 {
            // On SIGINT it prints what it has counted.
            interrupt(child);
        }
        child.wait()?;
        let joined = |thread: thread::ScopedJoinHandle<'_, String>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok((joined(reader), joined(complaints)))
    })
}

fn interrupt(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may end at this very moment; it has not been waited for, so its number is still its own.
        let _ = kill_process(pid, Signal::INT);
    }
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
