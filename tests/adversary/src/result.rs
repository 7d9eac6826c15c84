//! The results of the attacks.

use std::time::Duration;

use causeway_show::{Cell, Column, Table};
use serde_json::json;

/// Pauses of threads of the UPF, as its metrics report them. The UPF checks each thread four times a second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stalls {
    /// Pauses of 0.1 s or more.
    pub count: u64,
    /// The longest pause; [`None`] if one before the attack, on the same UPF, was as long.
    pub longest: Option<Duration>,
}

impl Stalls {
    fn with(self, other: Self) -> Self {
        Self { count: self.count + other.count, longest: self.longest.max(other.longest) }
    }
}

/// The result of one attack.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The attack.
    pub name: &'static str,
    /// Messages or packets that the attacker sent.
    pub sent: u64,
    /// Packets of the good UE during the attack, in both directions.
    pub packets: u64,
    /// Those that did not arrive.
    pub lost: u64,
    /// The round trips of the good SMF's requests during the attack, unordered.
    pub latencies: Vec<Duration>,
    /// Requests of the good SMF without a response to any repetition.
    pub unanswered: u64,
    /// The growth of the UPF's log, in octets; the maximum of several runs.
    pub log: u64,
    /// The pauses of the UPF's control thread, and of its packet threads.
    pub stalls: [Stalls; 2],
    /// The UPF still ran at the end.
    pub alive: bool,
    /// The failed checks.
    pub failures: Vec<String>,
}

impl Outcome {
    /// The result as one line.
    pub(crate) fn line(&self) -> String {
        let held = if self.failures.is_empty() { "held" } else { "FAILED" };
        let [p50, p99, longest] = self.latency().map(|time| time.as_secs_f64() * 1e3);
        format!(
            "{held:6} {:36} {:>8} sent, {} of {} lost, {} requests in {p50:.1} / {p99:.1} / {longest:.1} ms",
            self.name,
            self.sent,
            self.lost,
            self.packets,
            self.latencies.len()
        )
    }

    /// Round trips of the good SMF's requests: median, 99th percentile, longest.
    pub fn latency(&self) -> [Duration; 3] {
        let mut times = self.latencies.clone();
        times.sort_unstable();
        let at = |part: usize| times.get((times.len() * part / 100).min(times.len().saturating_sub(1)));
        [at(50), at(99), times.last()].map(|time| time.copied().unwrap_or_default())
    }

    /// Adds another result of the same attack.
    fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.packets += other.packets;
        self.lost += other.lost;
        self.unanswered += other.unanswered;
        self.latencies.extend(other.latencies);
        self.log = self.log.max(other.log);
        let [control, packet] = self.stalls;
        let [more_control, more_packet] = other.stalls;
        self.stalls = [control.with(more_control), packet.with(more_packet)];
        self.alive &= other.alive;
        self.failures.extend(other.failures);
    }
}

/// The results of all attacks of a run.
#[derive(Clone, Debug, Default)]
pub struct RunResult {
    /// In the order of the attacks.
    pub outcomes: Vec<Outcome>,
    /// The failed checks at the end of the run.
    pub at_end: Vec<String>,
}

impl RunResult {
    /// Adds another run, attack by attack.
    pub fn add(&mut self, other: Self) {
        for outcome in other.outcomes {
            match self.outcomes.iter_mut().find(|before| before.name == outcome.name) {
                Some(before) => before.add(outcome),
                None => self.outcomes.push(outcome),
            }
        }
        self.at_end.extend(other.at_end);
    }

    /// All failed checks, with the name of the attack.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let of_one = |outcome: &Outcome| {
            let name = outcome.name;
            outcome.failures.iter().map(move |failure| format!("{name}: {failure}")).collect::<Vec<_>>()
        };
        let at_end = self.at_end.iter().map(|failure| format!("at the end: {failure}"));
        self.outcomes.iter().flat_map(of_one).chain(at_end)
    }

    /// The results as a table.
    pub fn table(&self) -> Table {
        let mut table = Table::new(vec![
            Column::new("attack"),
            Column::new("sent"),
            Column::of("good UE's loss", "%"),
            Column::new("good SMF unanswered"),
            Column::of("p50", "ms"),
            Column::of("p99", "ms"),
            Column::of("longest", "ms"),
            Column::new("pauses of control"),
            Column::of("longest", "ms"),
            Column::new("of packet threads"),
            Column::of("longest", "ms"),
            Column::of("log", "octets"),
            Column::new("result"),
        ]);
        for outcome in &self.outcomes {
            let loss = 100.0 * outcome.lost as f64 / outcome.packets.max(1) as f64;
            let [p50, p99, longest] = outcome.latency().map(milliseconds);
            let [control, packet] = outcome.stalls;
            let pause = |stalls: Stalls| stalls.longest.map_or(Cell::Missing, milliseconds);
            let result = if outcome.failures.is_empty() { "held" } else { "FAILED" };
            table.row([
                Cell::from(outcome.name),
                Cell::Count(outcome.sent),
                number(loss),
                Cell::Count(outcome.unanswered),
                p50,
                p99,
                longest,
                Cell::Count(control.count),
                pause(control),
                Cell::Count(packet.count),
                pause(packet),
                Cell::Count(outcome.log),
                Cell::from(result),
            ]);
        }
        table
    }

    /// The results as JSON.
    pub fn json(&self) -> serde_json::Value {
        let outcomes = self.outcomes.iter().map(|outcome| {
            json!({
                "attack": outcome.name,
                "sent": outcome.sent,
                "good_packets": outcome.packets,
                "good_packets_lost": outcome.lost,
                "good_requests": outcome.latencies.len(),
                "good_requests_unanswered": outcome.unanswered,
                "good_latency_s": outcome.latency().map(|time| time.as_secs_f64()),
                "pauses": outcome.stalls.map(|stalls| stalls.count),
                "longest_pause_s": outcome.stalls.map(|stalls| stalls.longest.map(|time| time.as_secs_f64())),
                "log_octets": outcome.log,
                "failures": outcome.failures,
            })
        });
        json!({ "attacks": outcomes.collect::<Vec<_>>(), "failures_at_end": self.at_end })
    }
}

fn milliseconds(time: Duration) -> Cell {
    number(time.as_secs_f64() * 1e3)
}

fn number(value: f64) -> Cell {
    Cell::Number(value, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &'static str, times: std::ops::RangeInclusive<u64>, longest: Option<u64>) -> Outcome {
        let stalls =
            Stalls { count: u64::from(longest.is_some()), longest: longest.map(Duration::from_millis) };
        Outcome {
            name,
            latencies: times.rev().map(Duration::from_millis).collect(),
            stalls: [stalls, Stalls::default()],
            ..Outcome::default()
        }
    }

    // Input:  the times 1 to 200 ms in a wrong order; none.
    // Output: 101, 199 and 200 ms; zeros.
    #[test]
    fn percentiles_are_those_of_sorted_times() {
        assert_eq!(outcome("a", 1..=200, None).latency(), [101, 199, 200].map(Duration::from_millis));
        assert_eq!(Outcome::default().latency(), [Duration::ZERO; 3]);
    }

    // Input:  two rounds of two attacks in different orders; one of them had a pause of 300 ms, then one of unknown length, the other
    //         none.
    // Output: a row for each attack; percentiles over both rounds, the pause that is known, and both counted.
    #[test]
    fn rounds_are_added_attack_by_attack() {
        let unknown = Stalls { count: 1, longest: None };
        let mut round = RunResult::default();
        round.add(RunResult {
            outcomes: vec![outcome("a", 1..=100, Some(300)), outcome("b", 7..=7, None)],
            at_end: vec!["one".into()],
        });
        round.add(RunResult {
            outcomes: vec![
                outcome("b", 9..=9, None),
                Outcome {
                    stalls: [unknown, Stalls::default()],
                    failures: vec!["late".into()],
                    ..outcome("a", 101..=200, None)
                },
            ],
            at_end: Vec::new(),
        });
        let [a, b] = round.outcomes.as_slice() else { panic!("{round:?}") };
        assert_eq!(a.latency(), [101, 199, 200].map(Duration::from_millis));
        assert_eq!(a.stalls[0], Stalls { count: 2, longest: Some(Duration::from_millis(300)) });
        assert_eq!((b.latencies.len(), b.stalls), (2, [Stalls::default(); 2]));
        assert_eq!(round.failures().collect::<Vec<_>>(), ["a: late", "at the end: one"]);
    }
}
