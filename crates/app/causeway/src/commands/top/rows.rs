//! Rates from two looks.

use std::collections::BTreeMap;

use causeway_upf::management::views::{SessionDetail, UsageView};

use super::reading::Reading;
use crate::output::{bit_rate, number, printable, rate};

/// What the rates are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum By {
    /// Sessions
    Session,
    /// Data networks
    Dnn,
    /// gNBs and other GTP-U peers
    Gnb,
    /// Packet threads
    Worker,
}

impl By {
    pub(super) const ALL: [Self; 4] = [Self::Session, Self::Dnn, Self::Gnb, Self::Worker];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Session => "sessions",
            Self::Dnn => "DNNs",
            Self::Gnb => "gNBs",
            Self::Worker => "packet threads",
        }
    }

    /// The headings: how many of text come first, then those of numbers.
    pub(super) const fn headings(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Session => (&["SEID", "UE", "DNN", "PEER"], &["UP", "DOWN", "PACKETS", "BUFFERED"]),
            Self::Dnn => (&["DNN", "INTERFACE"], &["UP", "DOWN", "PACKETS", "FAILURES"]),
            Self::Gnb => (&["GTP-U PEER"], &["UP", "DOWN", "PACKETS", "SESSIONS"]),
            Self::Worker => (&["THREAD"], &["LOAD", "RECEIVED", "FORWARDED", "DROPPED", "SESSIONS"]),
        }
    }
}

/// A number with its text.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Figure {
    pub(super) value: f64,
    pub(super) text: String,
}

impl Figure {
    fn bits(value: f64) -> Self {
        Self { value, text: bit_rate(value) }
    }

    fn packets(value: f64) -> Self {
        Self { value, text: rate(value) }
    }

    fn count(value: u64) -> Self {
        Self { value: value as f64, text: number(value) }
    }

    fn percent(part: f64) -> Self {
        let value = (part * 100.0).clamp(0.0, 100.0);
        Self { value, text: format!("{value:.0} %") }
    }
}

/// A line of the table.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row {
    pub(super) texts: Vec<String>,
    pub(super) figures: Vec<Figure>,
}

/// The lines of a table.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Rows(pub(super) Vec<Row>);

impl Rows {
    pub(super) fn new(by: By, before: &Reading, now: &Reading) -> Self {
        let seconds = now.at.duration_since(before.at).as_secs_f64();
        let rates = Rates { seconds };
        Self(match by {
            By::Session => sessions(before, now, &rates),
            By::Dnn => networks(before, now, &rates),
            By::Gnb => peers(before, now, &rates),
            By::Worker => workers(before, now, &rates),
        })
    }

    /// The largest first, by one of the figures.
    pub(super) fn sort(&mut self, column: usize, is_reversed: bool) {
        let value = |row: &Row| row.figures.get(column).map_or(0.0, |figure| figure.value);
        self.0.sort_by(|a, b| value(b).total_cmp(&value(a)).then_with(|| a.texts.cmp(&b.texts)));
        if is_reversed {
            self.0.reverse();
        }
    }
}

/// Increases in a time.
struct Rates {
    seconds: f64,
}

impl Rates {
    /// Per second; zero after a restart of the UPF, and before the second look.
    fn of(&self, before: u64, now: u64) -> f64 {
        if self.seconds > 0.0 { now.saturating_sub(before) as f64 / self.seconds } else { 0.0 }
    }
}

/// What the URRs of a session have counted. Several may count the same packets, so the one that has counted most stands for all.
fn usage(session: Option<&SessionDetail>) -> UsageView {
    let all = session.and_then(|session| session.state.as_ref()).map(|state| state.usage.iter());
    let most = all.and_then(|all| {
        all.map(|urr| &urr.total).max_by_key(|total| total.uplink_octets + total.downlink_octets)
    });
    most.cloned().unwrap_or_default()
}

/// Uplink and downlink in bit/s, and packets per second.
fn traffic(seid: &str, before: &Reading, now: &Reading, rates: &Rates) -> [f64; 3] {
    let Some(earlier) = before.sessions.get(seid) else { return [0.0; 3] };
    let (old, new) = (usage(Some(earlier)), usage(now.sessions.get(seid)));
    [
        8.0 * rates.of(old.uplink_octets, new.uplink_octets),
        8.0 * rates.of(old.downlink_octets, new.downlink_octets),
        rates.of(old.uplink_packets + old.downlink_packets, new.uplink_packets + new.downlink_packets),
    ]
}

/// The address of a tunnel.
fn address(tunnel: &str) -> &str {
    tunnel.split_once('@').map_or(tunnel, |(_, address)| address)
}

fn sessions(before: &Reading, now: &Reading, rates: &Rates) -> Vec<Row> {
    let first = |texts: &[String]| texts.first().map_or_else(|| "-".into(), |text| printable(text));
    let row = |(seid, detail): (&String, &SessionDetail)| {
        let [up, down, packets] = traffic(seid, before, now, rates);
        let buffered = detail.state.as_ref().map_or(0, |state| state.buffer.packets as u64);
        let session = &detail.session;
        Row {
            texts: vec![
                seid.clone(),
                first(&session.ue),
                first(&session.network_instances),
                session.peers.first().map_or_else(|| "-".into(), |peer| printable(address(peer))),
            ],
            figures: vec![
                Figure::bits(up),
                Figure::bits(down),
                Figure::packets(packets),
                Figure::count(buffered),
            ],
        }
    };
    now.sessions.iter().map(row).collect()
}

/// By the interfaces of data networks, which count every packet.
fn networks(before: &Reading, now: &Reading, rates: &Rates) -> Vec<Row> {
    let of_networks = now.interfaces.iter().filter(|port| !port.dnn.is_empty());
    let row = |port: &causeway_upf::management::views::InterfaceView| {
        let old = before.interfaces.iter().find(|old| old.name == port.name).unwrap_or(port);
        let packets =
            rates.of(old.received_packets + old.sent_packets, port.received_packets + port.sent_packets);
        let failures = port.failures.iter().map(|failure| failure.count).sum();
        Row {
            texts: vec![printable(&port.dnn.join(",")), printable(&port.name)],
            figures: vec![
                Figure::bits(8.0 * rates.of(old.sent_octets, port.sent_octets)),
                Figure::bits(8.0 * rates.of(old.received_octets, port.received_octets)),
                Figure::packets(packets),
                Figure::count(failures),
            ],
        }
    };
    of_networks.map(row).collect()
}

/// The sessions that are looked at, together by the addresses of their peers.
fn peers(before: &Reading, now: &Reading, rates: &Rates) -> Vec<Row> {
    let mut sums: BTreeMap<&str, ([f64; 3], u64)> = BTreeMap::new();
    for (seid, detail) in &now.sessions {
        let Some(peer) = detail.session.peers.first() else { continue };
        let (sum, sessions) = sums.entry(address(peer)).or_default();
        for (sum, rate) in sum.iter_mut().zip(traffic(seid, before, now, rates)) {
            *sum += rate;
        }
        *sessions += 1;
    }
    let row = |(address, ([up, down, packets], sessions)): (&str, ([f64; 3], u64))| Row {
        texts: vec![printable(address)],
        figures: vec![
            Figure::bits(up),
            Figure::bits(down),
            Figure::packets(packets),
            Figure::count(sessions),
        ],
    };
    sums.into_iter().map(row).collect()
}

fn workers(before: &Reading, now: &Reading, rates: &Rates) -> Vec<Row> {
    let row = |worker: &causeway_upf::management::views::WorkerView| {
        let old = before.workers.iter().find(|old| old.number == worker.number).unwrap_or(worker);
        let load =
            if rates.seconds > 0.0 { (worker.core_seconds - old.core_seconds) / rates.seconds } else { 0.0 };
        Row {
            texts: vec![worker.number.to_string()],
            figures: vec![
                Figure::percent(load),
                Figure::packets(rates.of(old.received_packets, worker.received_packets)),
                Figure::packets(rates.of(old.forwarded_packets, worker.forwarded_packets)),
                Figure::packets(rates.of(old.dropped_packets, worker.dropped_packets)),
                Figure::count(worker.sessions),
            ],
        }
    };
    now.workers.iter().map(row).collect()
}
