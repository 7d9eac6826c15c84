//! The metrics, in OpenMetrics text.

use std::fmt;
use std::sync::Arc;

use causeway_dataplane::{DropReason, NamedCounter};
use causeway_ports::{CounterUnit, Counters};
use causeway_types::{Time, WallClock};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::writer::{Writer, label};
use crate::logging::suppressed_lines;
use crate::watchdog::Pauses;
use crate::worker::Snapshot;

/// The content type of [`Exposition::text`].
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The counters of a port, under its name.
#[derive(Clone, Debug)]
pub(crate) struct PortCounters {
    pub(crate) name: String,
    pub(crate) counters: Arc<Counters>,
}

/// The figures of N4.
#[derive(Clone, Debug, Default)]
pub(crate) struct N4Status {
    /// Converts the start time.
    pub(crate) wall: WallClock,
    pub(crate) associations: u64,
    pub(crate) sessions: u64,
    pub(crate) routes: u64,
    pub(crate) messages: Vec<MessageCount>,
    /// Datagrams that the kernel dropped because a socket buffer was full.
    pub(crate) lost_datagrams: u64,
    pub(crate) late_events: u64,
    pub(crate) lost_reports: u64,
    pub(crate) failed_plans: u64,
    pub(crate) memory: MemoryStatus,
}

/// Memory, in octets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryStatus {
    /// The memory limit with the least space left, and its usage; zero before the first reading.
    pub(crate) limit: u64,
    pub(crate) used: u64,
    /// The budget of sessions and PFDs, and their estimated need.
    pub(crate) for_sessions: u64,
    pub(crate) needed: u64,
    /// Requests that were refused because memory was short.
    pub(crate) refusals: u64,
}

/// The number of messages of one kind.
#[derive(Clone, Debug)]
pub(crate) struct MessageCount {
    /// For example `session_establishment_request`.
    pub(crate) message_type: String,
    /// `received` or `sent`.
    pub(crate) direction: &'static str,
    /// `ok`, a cause such as `session_context_not_found`, or another result.
    pub(crate) result: String,
    pub(crate) count: u64,
}

/// The stages of the fast path that decide packets.
const FAST_PATH_STAGES: [&str; 2] = ["flow_table", "slow_path"];

/// A snapshot of all metrics.
#[derive(Clone, Debug)]
pub(crate) struct Exposition {
    started: Time,
    workers: Vec<Snapshot>,
    /// The sum of all workers.
    snapshot: Snapshot,
    ports: Vec<PortCounters>,
    n4: N4Status,
    pauses: Vec<Arc<Pauses>>,
}

impl Exposition {
    /// With the counters of each worker, in the order of their numbers.
    pub(super) fn new(started: Time, workers: Vec<Snapshot>, ports: Vec<PortCounters>, n4: N4Status) -> Self {
        let snapshot = workers.iter().fold(Snapshot::default(), Snapshot::with);
        Self { started, workers, snapshot, ports, n4, pauses: Vec::new() }
    }

    /// Adds the pauses of the control thread, then those of each packet thread.
    pub(super) fn with_pauses(self, pauses: Vec<Arc<Pauses>>) -> Self {
        Self { pauses, ..self }
    }

    /// The response to a scrape.
    pub(super) fn text(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

impl Collector for Exposition {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut writer = Writer(encoder);
        self.process(&mut writer)?;
        self.pauses(&mut writer)?;
        self.three_gpp(&mut writer)?;
        self.data_plane(&mut writer)?;
        self.workers(&mut writer)?;
        self.ports(&mut writer)?;
        self.memory(&mut writer)?;
        self.pfcp(&mut writer)
    }
}

impl Exposition {
    fn process(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let mut info = writer.0.encode_descriptor("causeway_build", "Version", None, MetricType::Info)?;
        info.encode_info(&label("version", env!("CARGO_PKG_VERSION")))?;
        let (name, help) = ("process_start_time_seconds", "Start time since the Unix epoch");
        let started = ConstGauge::new(self.n4.wall.at(self.started).as_nanos() as f64 / 1e9);
        started.encode(writer.0.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        let help = "Log lines suppressed: beyond the limits of their kind, or the log reader was too slow";
        writer.counter("causeway_log_lines_suppressed", help, suppressed_lines())
    }

    fn pauses(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let Some((control, packets)) = self.pauses.split_first() else { return Ok(()) };
        let name = "causeway_control_pause_seconds_max";
        let help = "Longest pause of the control thread since the start";
        let longest = ConstGauge::new(control.longest().as_secs_f64());
        longest.encode(writer.0.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        let help = "Times that the control thread did not respond for 0.1 s or more";
        writer.counter("causeway_control_pauses", help, control.count())?;
        let by_worker = || (0_u64..).map(|number| label("worker", number.to_string())).zip(packets);
        let name = "causeway_worker_pause_seconds_max";
        let help = "Longest pause of each packet thread since the start";
        let mut metric = writer.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, pauses) in by_worker() {
            ConstGauge::new(pauses.longest().as_secs_f64()).encode(metric.encode_family(&labels)?)?;
        }
        let help = "Times that each packet thread did not respond for 0.1 s or more";
        let counts = by_worker().map(|(worker, pauses)| (worker, pauses.count()));
        writer.family("causeway_worker_pauses", help, counts)
    }

    /// The names of TS 28.552 as other UPFs spell them.
    fn three_gpp(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let counters = &self.snapshot.counters;
        let (rx, tx) = (counters.gtpu_received, counters.gtpu_sent);
        let prefix = "fivegs_ep_n3_gtp";
        writer.named(&format!("{prefix}_indatapktn3upf"), "GTP-U packets received on N3", rx.packets)?;
        writer.named(&format!("{prefix}_outdatapktn3upf"), "GTP-U packets sent on N3", tx.packets)?;
        writer.named(&format!("{prefix}_indataoctn3upf"), "GTP-U octets received on N3", rx.octets)?;
        writer.named(&format!("{prefix}_outdataoctn3upf"), "GTP-U octets sent on N3", tx.octets)?;
        let sessions = counters.sessions;
        writer.gauge("fivegs_upffunction_upf_sessionnbr", "PDU sessions in the data plane", sessions)
    }

    fn data_plane(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let counters = &self.snapshot.counters;
        let traffic = [
            ("gtpu", counters.gtpu_received, counters.gtpu_sent),
            ("ip", counters.ip_received, counters.ip_sent),
            ("ethernet", counters.ethernet_received, counters.ethernet_sent),
        ];
        let side = |side: &'static str| label("side", side);
        let help = "Packets received, by side of the data plane";
        let values = traffic.map(|(name, rx, _)| (side(name), rx.packets));
        writer.family("causeway_received_packets", help, values)?;
        let help =
            "Octets received, counted from the GTP-U header, the IP header or the frame's first address";
        let values = traffic.map(|(name, rx, _)| (side(name), rx.octets));
        writer.family("causeway_received_octets", help, values)?;
        let help = "Packets sent, signalling included";
        let values = traffic.map(|(name, _, tx)| (side(name), tx.packets));
        writer.family("causeway_sent_packets", help, values)?;
        let help = "Octets sent, counted from the GTP-U header, the IP header or the frame's first address";
        let values = traffic.map(|(name, _, tx)| (side(name), tx.octets));
        writer.family("causeway_sent_octets", help, values)?;
        let help = "Additional copies of frames sent to more than one session";
        writer.counter("causeway_copied_packets", help, counters.copies)?;
        writer.counter("causeway_forwarded_packets", "Packets received and forwarded", counters.forwarded)?;
        writer.counter("causeway_consumed_packets", "Signalling packets consumed", counters.consumed)?;
        let buffered = counters.buffered;
        writer.gauge("causeway_buffered_packets", "Packets buffered for idle UEs", buffered)?;
        let dropped =
            DropReason::ALL.iter().map(|reason| (label("reason", reason.label()), counters.dropped(*reason)));
        writer.family("causeway_drop", "Packets dropped, by reason", dropped)?;
        let help = "Packets by the stage of the data plane that decided them: flow table or slow path";
        let stages = self.stage_packets().map(|stage| (label("by", stage.name), stage.value));
        writer.family("causeway_fastpath_packets", help, stages)?;
        let help = "Packets for an address or network without a port";
        writer.counter("causeway_unroutable_packets", help, self.snapshot.unroutable)
    }

    /// Those of the fast path are there whatever the data plane.
    fn stage_packets(&self) -> impl Iterator<Item = NamedCounter> {
        let own = &self.snapshot.stages;
        let absent = FAST_PATH_STAGES.iter().filter(|name| own.iter().all(|stage| stage.name != **name));
        own.iter().copied().chain(absent.map(|name| NamedCounter { name, value: 0 }))
    }

    fn workers(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let by_worker = || (0_u64..).map(|number| label("worker", number.to_string())).zip(&self.workers);
        let help = "PDU sessions of each packet thread";
        let sessions = by_worker().map(|(worker, snapshot)| (worker, snapshot.counters.sessions));
        writer.gauges("causeway_worker_sessions", help, sessions)?;
        let help = "Packets processed by each packet thread, received by any";
        let taken = by_worker().map(|(worker, snapshot)| (worker, snapshot.counters.received()));
        writer.family("causeway_worker_packets", help, taken)?;
        let help = "Packets that each packet thread received and handed to the owner of their session";
        let handed = by_worker().map(|(worker, snapshot)| (worker, snapshot.handed));
        writer.family("causeway_worker_handed_packets", help, handed)
    }

    fn ports(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let of = |unit: CounterUnit| {
            self.ports.iter().flat_map(move |port| {
                let counters = port.counters.iter().filter(move |(counter, _)| counter.unit() == unit);
                counters.map(|(counter, value)| {
                    (vec![("port", port.name.clone()), ("event", counter.name().to_owned())], value)
                })
            })
        };
        let help = "Packets at a port, by event";
        writer.family("causeway_port_packets", help, of(CounterUnit::Packets))?;
        let help = "Octets received or sent by a port";
        writer.family("causeway_port_octets", help, of(CounterUnit::Octets))?;
        let help = "System calls that received or sent packets at a port, in batches";
        writer.family("causeway_port_calls", help, of(CounterUnit::Calls))?;
        let help = "Times that a port was lost, for example with its interface, or reopened";
        writer.family("causeway_port_events", help, of(CounterUnit::Times))
    }

    fn memory(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let memory = &self.n4.memory;
        let help = "Memory limit with the least space left: upf.memory, a cgroup, the process or the host";
        writer.gauge("causeway_memory_limit_bytes", help, memory.limit)?;
        let help = "Memory in use under that limit, by all processes it covers";
        writer.gauge("causeway_memory_used_bytes", help, memory.used)?;
        let help = "Memory budget of sessions and PFDs";
        writer.gauge("causeway_memory_for_sessions_bytes", help, memory.for_sessions)?;
        let help = "Estimated memory need of the present sessions and PFDs, from their rules";
        writer.gauge("causeway_memory_needed_bytes", help, memory.needed)?;
        let help = "Session and PFD requests refused because memory was short";
        writer.counter("causeway_memory_refusals", help, memory.refusals)
    }

    fn pfcp(&self, writer: &mut Writer<'_>) -> fmt::Result {
        writer.gauge("pfcp_associations", "PFCP associations", self.n4.associations)?;
        writer.gauge("pfcp_sessions", "PFCP sessions", self.n4.sessions)?;
        let help = "Framed routes of sessions, installed in the kernel or not";
        writer.gauge("causeway_framed_routes", help, self.n4.routes)?;
        let messages = self.n4.messages.iter().map(|message| {
            let labels = vec![
                ("message_type", message.message_type.as_str()),
                ("direction", message.direction),
                ("result", message.result.as_str()),
            ];
            (labels, message.count)
        });
        writer.family("pfcp_messages", "PFCP messages, by type, direction and result", messages)?;
        let help = "Datagrams that the kernel dropped because the buffer of an N4 socket was full";
        writer.counter("causeway_n4_lost_datagrams", help, self.n4.lost_datagrams)?;
        let help = "Events of the data plane received after the end of their session";
        writer.counter("causeway_n4_late_events", help, self.n4.late_events)?;
        let help = "Session reports that were discarded";
        writer.counter("causeway_n4_lost_reports", help, self.n4.lost_reports)?;
        let help = "Plans that the data plane refused";
        writer.counter("causeway_n4_failed_plans", help, self.n4.failed_plans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposition() -> Exposition {
        let ports = vec![PortCounters { name: "n6-\"x\"".into(), counters: Arc::default() }];
        let mut snapshot =
            Snapshot { stages: vec![NamedCounter { name: "flow_table", value: 3 }], ..Snapshot::default() };
        snapshot.counters.gtpu_received.count(100);
        snapshot.counters.count_drop(DropReason::UnknownTeid);
        let workers = vec![snapshot, Snapshot { handed: 7, ..Snapshot::default() }];
        Exposition::new(Time::from_secs(5), workers, ports, N4Status::default())
    }

    // Input:  one GTP-U packet of 100 octets that was dropped.
    // Output: the metrics contain it under the names of TS 28.552, and every other drop reason with value 0.
    #[test]
    fn every_drop_reason_is_there_from_the_start() {
        let text = exposition().text().unwrap();
        for line in [
            "fivegs_ep_n3_gtp_indatapktn3upf 1",
            "fivegs_ep_n3_gtp_indataoctn3upf 100",
            "fivegs_ep_n3_gtp_outdatapktn3upf 0",
            "fivegs_upffunction_upf_sessionnbr 0",
            "causeway_drop_total{reason=\"unknown_teid\"} 1",
            "process_start_time_seconds 5.0",
            "pfcp_associations 0",
            "causeway_buffered_packets 0",
            "causeway_fastpath_packets_total{by=\"flow_table\"} 3",
            "causeway_fastpath_packets_total{by=\"slow_path\"} 0",
            "causeway_worker_packets_total{worker=\"0\"} 1",
            "causeway_worker_handed_packets_total{worker=\"1\"} 7",
            "causeway_worker_sessions{worker=\"1\"} 0",
            "causeway_port_packets_total{port=\"n6-\\\"x\\\"\",event=\"tx_no_route\"} 0",
            "causeway_memory_needed_bytes 0",
            "causeway_memory_refusals_total 0",
            "causeway_port_calls_total{port=\"n6-\\\"x\\\"\",event=\"rx_calls\"} 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        for reason in DropReason::ALL {
            assert!(text.contains(&format!("causeway_drop_total{{reason=\"{}\"}}", reason.label())));
        }
        assert!(text.ends_with("# EOF\n"));
    }

    // Input:  the whole exposition.
    // Output: each family is described once, before its samples, as OpenMetrics requires.
    #[test]
    fn each_metric_is_described_once() {
        let text = exposition().text().unwrap();
        let mut described: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")).collect();
        let count = described.len();
        described.sort_unstable();
        described.dedup();
        assert_eq!(described.len(), count);
    }
}
