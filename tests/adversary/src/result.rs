//! What became of the attacks.

use std::time::Duration;

use causeway_show::{Cell, Column, Table};
use serde_json::json;

/// What became of one attack.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The attack.
    pub name: &'static str,
    /// Messages or packets that the attacker sent.
    pub sent: u64,
    /// Packets of the good UE that were sent meanwhile, in both directions.
    pub packets: u64,
    /// Those that did not arrive.
    pub lost: u64,
    /// Requests of the good SMF that were answered meanwhile.
    pub requests: u64,
    /// Their round trips: median, 99th percentile, longest.
    pub latency: [Duration; 3],
    /// Octets by which the log of the UPF grew.
    pub log: u64,
    /// The UPF still ran at the end.
    pub alive: bool,
    /// What must hold and did not.
    pub failures: Vec<String>,
}

impl Outcome {
    /// In one line.
    pub(crate) fn line(&self) -> String {
        let held = if self.failures.is_empty() { "held" } else { "FAILED" };
        let [p50, p99, longest] = self.latency.map(|time| time.as_secs_f64() * 1e3);
        format!(
            "{held:6} {:36} {:>8} sent, {} of {} lost, {} requests in {p50:.1} / {p99:.1} / {longest:.1} ms",
            self.name, self.sent, self.lost, self.packets, self.requests
        )
    }
}

/// What became of all attacks of a run.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// In the order of the attacks.
    pub outcomes: Vec<Outcome>,
    /// What did not hold at the end of the run.
    pub at_end: Vec<String>,
}

impl Round {
    /// Everything that did not hold, with the name of its attack.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let of_one = |outcome: &Outcome| {
            let name = outcome.name;
            outcome.failures.iter().map(move |failure| format!("{name}: {failure}")).collect::<Vec<_>>()
        };
        let at_end = self.at_end.iter().map(|failure| format!("at the end: {failure}"));
        self.outcomes.iter().flat_map(of_one).chain(at_end)
    }

    /// For people.
    pub fn table(&self) -> Table {
        let mut table = Table::new(vec![
            Column::new("attack"),
            Column::new("sent"),
            Column::of("good UE's loss", "%"),
            Column::of("good SMF p50", "ms"),
            Column::of("p99", "ms"),
            Column::of("longest", "ms"),
            Column::of("log", "octets"),
            Column::new("result"),
        ]);
        for outcome in &self.outcomes {
            let loss = 100.0 * outcome.lost as f64 / outcome.packets.max(1) as f64;
            let [p50, p99, longest] = outcome.latency.map(milliseconds);
            let result = if outcome.failures.is_empty() { "held" } else { "FAILED" };
            table.row([
                Cell::from(outcome.name),
                Cell::Count(outcome.sent),
                number(loss),
                p50,
                p99,
                longest,
                Cell::Count(outcome.log),
                Cell::from(result),
            ]);
        }
        table
    }

    /// For machines.
    pub fn json(&self) -> serde_json::Value {
        let outcomes = self.outcomes.iter().map(|outcome| {
            json!({
                "attack": outcome.name,
                "sent": outcome.sent,
                "good_packets": outcome.packets,
                "good_packets_lost": outcome.lost,
                "good_requests": outcome.requests,
                "good_latency_s": outcome.latency.map(|time| time.as_secs_f64()),
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
