//! The metrics: what each is, and what a scrape gets.
//!
//! A scrape reads counters that are kept anyway. Its cost depends on the number of packet threads, ports, data networks
//! and kinds of messages, not on that of sessions.

mod catalogue;
mod definition;
mod format;
mod status;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::sync::Arc;

use causeway_dataplane::{DropReason, NamedCounter, RulePlace};
use causeway_ports::{CounterUnit, QosFlowOctets};
use causeway_types::{Direction, Qfi, Time};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;

use self::catalogue as metric;
use self::writer::{Writer, label};
use crate::logging::suppressed_lines;
use crate::watchdog::Pauses;
use crate::worker::{PortCounters, Snapshot};

pub(crate) use self::format::Format;
pub(crate) use self::status::{
    EstablishmentStatus, HistogramStatus, MemoryStatus, MessageCount, N4Status, NetworkStatus, PathStatus,
    PoolStatus,
};

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
    pub(super) fn text(self, format: Format) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(format.convert(text))
    }
}

impl Collector for Exposition {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut writer = Writer(encoder);
        self.process(&mut writer)?;
        self.threads(&mut writer)?;
        self.three_gpp(&mut writer)?;
        self.data_plane(&mut writer)?;
        self.workers(&mut writer)?;
        self.ports(&mut writer)?;
        self.memory(&mut writer)?;
        self.sessions(&mut writer)?;
        self.pfcp(&mut writer)
    }
}

impl Exposition {
    fn process(&self, writer: &mut Writer<'_>) -> fmt::Result {
        writer.info(&metric::BUILD, &label("version", env!("CARGO_PKG_VERSION")))?;
        let started = self.n4.wall.at(self.started).as_nanos() as f64 / 1e9;
        writer.single(&metric::START_TIME, started)?;
        writer.single(&metric::LOG_LINES_SUPPRESSED, suppressed_lines())
    }

    fn threads(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let Some((control, packets)) = self.pauses.split_first() else { return Ok(()) };
        let usage = control.usage();
        writer.single(&metric::CONTROL_PAUSE, control.longest().as_secs_f64())?;
        writer.single(&metric::CONTROL_PAUSES, control.count())?;
        writer.single(&metric::CONTROL_CPU, usage.ran.as_secs_f64())?;
        writer.single(&metric::CONTROL_CPU_WAIT, usage.waited.as_secs_f64())?;
        let usages: Vec<_> = packets.iter().map(|pauses| pauses.usage()).collect();
        let pauses = by_worker(packets);
        let longest = pauses.map(|(worker, pauses)| (worker, pauses.longest().as_secs_f64()));
        writer.family(&metric::WORKER_PAUSE, longest)?;
        let counts = by_worker(packets).map(|(worker, pauses)| (worker, pauses.count()));
        writer.family(&metric::WORKER_PAUSES, counts)?;
        let ran = by_worker(&usages).map(|(worker, usage)| (worker, usage.ran.as_secs_f64()));
        writer.family(&metric::WORKER_CPU, ran)?;
        let waited = by_worker(&usages).map(|(worker, usage)| (worker, usage.waited.as_secs_f64()));
        writer.family(&metric::WORKER_CPU_WAIT, waited)
    }

    /// The names of TS 28.552 as Open5GS spells them.
    fn three_gpp(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let counters = &self.snapshot.counters;
        let (rx, tx) = (counters.gtpu_received, counters.gtpu_sent);
        writer.single(&metric::N3_PACKETS_IN, rx.packets)?;
        writer.single(&metric::N3_PACKETS_OUT, tx.packets)?;
        writer.single(&metric::N3_OCTETS_IN, rx.octets)?;
        writer.single(&metric::N3_OCTETS_OUT, tx.octets)?;
        writer.family(&metric::QOS_FLOW_OCTETS_IN, self.by_qfi(QosFlowOctets::received))?;
        writer.family(&metric::QOS_FLOW_OCTETS_OUT, self.by_qfi(QosFlowOctets::sent))?;
        writer.single(&metric::SESSION_NUMBER, counters.sessions)?;
        let networks = self.n4.networks.iter();
        let flows = networks.map(|network| (label("dnn", network.dnn.as_str()), network.qos_flows));
        writer.family(&metric::QOS_FLOWS, flows)?;
        let requests = &self.n4.establishment;
        writer.single(&metric::ESTABLISHMENTS, requests.requests)?;
        let failed =
            requests.failures.iter().map(|(cause, count)| (label("cause", cause.to_string()), *count));
        writer.family(&metric::ESTABLISHMENTS_FAILED, failed)?;
        writer.single(&metric::REPORTS, self.n4.reports_sent)?;
        writer.single(&metric::REPORTS_ACCEPTED, self.n4.reports_accepted)?;
        writer.single(&metric::PEERS_ACTIVE, self.n4.peers_active)
    }

    /// The octets of all ports by QFI, for the QFIs that occur.
    fn by_qfi(
        &self,
        octets: fn(&QosFlowOctets, Qfi) -> u64,
    ) -> impl Iterator<Item = (Vec<(&'static str, String)>, u64)> {
        let ports = || self.ports.iter().filter_map(|port| port.qos_flows.as_deref());
        let sum = move |qfi| ports().map(|port| octets(port, qfi)).sum::<u64>();
        let all = (0..64).map(Qfi::from_low_bits).map(move |qfi| (qfi, sum(qfi)));
        all.filter(|(_, octets)| *octets > 0)
            .map(|(qfi, octets)| (label("qfi", qfi.value().to_string()), octets))
    }

    fn data_plane(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let counters = &self.snapshot.counters;
        let traffic = [
            ("gtpu", counters.gtpu_received, counters.gtpu_sent),
            ("ip", counters.ip_received, counters.ip_sent),
            ("ethernet", counters.ethernet_received, counters.ethernet_sent),
        ];
        let side = |side: &'static str| label("side", side);
        let values = traffic.map(|(name, rx, _)| (side(name), rx.packets));
        writer.family(&metric::RECEIVED_PACKETS, values)?;
        let values = traffic.map(|(name, rx, _)| (side(name), rx.octets));
        writer.family(&metric::RECEIVED_OCTETS, values)?;
        let values = traffic.map(|(name, _, tx)| (side(name), tx.packets));
        writer.family(&metric::SENT_PACKETS, values)?;
        let values = traffic.map(|(name, _, tx)| (side(name), tx.octets));
        writer.family(&metric::SENT_OCTETS, values)?;
        writer.single(&metric::COPIED_PACKETS, counters.copies)?;
        writer.single(&metric::FORWARDED_PACKETS, counters.forwarded)?;
        writer.single(&metric::CONSUMED_PACKETS, counters.consumed)?;
        writer.single(&metric::BUFFERED_PACKETS, counters.buffered)?;
        let dropped =
            DropReason::ALL.iter().map(|reason| (label("reason", reason.label()), counters.dropped(*reason)));
        writer.family(&metric::DROP, dropped)?;
        let stages = self.stage_packets().map(|stage| (label("stage", stage.name), stage.value));
        writer.family(&metric::STAGE_PACKETS, stages)?;
        writer.single(&metric::UNROUTABLE_PACKETS, self.snapshot.unroutable)?;
        self.heavy_hitters(writer)?;
        self.application_classes(writer)?;
        self.rule_placement(writer)?;
        self.cold_storage(writer)?;
        self.memory_losses(writer)?;
        writer.single(&metric::GTPU_PATHS_DOWN, self.n4.paths.down)?;
        writer.single(&metric::GTPU_PATH_FAILURES, self.n4.paths.failures)
    }

    /// Flows have no labels of their own: there would be as many as UEs.
    fn heavy_hitters(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let list = self.snapshot.heavy_hitters.clone().unwrap_or_default();
        let of = |direction| list.flows.iter().filter(move |hitter| hitter.flow.direction == direction);
        let directions = [("uplink", Direction::Uplink), ("downlink", Direction::Downlink)];
        let values =
            directions.map(|(name, direction)| (label("direction", name), of(direction).count() as u64));
        writer.family(&metric::HEAVY_HITTERS, values)?;
        let values = directions.map(|(name, direction)| {
            (label("direction", name), of(direction).map(|hitter| hitter.bits_per_second / 8).sum::<u64>())
        });
        writer.family(&metric::HEAVY_HITTER_OCTETS, values)?;
        writer.single(&metric::HEAVY_HITTERS_FOUND, list.counts.detector.reports)?;
        let lost = [("unlisted", list.counts.unlisted), ("unsaid", list.counts.unsaid)];
        writer.family(&metric::HEAVY_HITTERS_LOST, lost.map(|(what, count)| (label("what", what), count)))
    }

    /// A model has at most 16 classes.
    fn application_classes(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let classes = &self.snapshot.classes;
        let sessions =
            classes.sessions.iter().map(|(class, count)| (label("class", class.to_string()), *count));
        writer.family(&metric::CLASS_SESSIONS, sessions)?;
        writer.single(&metric::CLASS_CHANGES, classes.changes)?;
        writer.single(&metric::CLASS_CHANGES_UNSAID, classes.unsaid)
    }

    fn rule_placement(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let placement = self.snapshot.rule_placement.unwrap_or_default();
        let rules = RulePlace::ALL.map(|place| (label("place", place.name()), placement.rules_at(place)));
        writer.family(&metric::PLACED_RULES, rules)?;
        let moves = placement.moves;
        let by_move = [
            ("promoted", moves.promoted),
            ("demoted", moves.demoted),
            ("returned", moves.returned),
            ("gave_up", moves.gave_up),
        ];
        writer.family(&metric::RULE_MOVES, by_move.map(|(name, count)| (label("move", name), count)))?;
        let events = [
            ("refused", moves.refused),
            ("again", moves.again),
            ("over_budget", moves.over_budget),
            ("flipped_early", moves.flipped_early),
        ];
        writer.family(&metric::RULE_EVENTS, events.map(|(name, count)| (label("event", name), count)))?;
        let waits = &placement.waits;
        let (sum, buckets) = (waits.sum().as_secs_f64(), waits.by_octave().collect());
        writer.histogram(&metric::RULE_WAITS, &HistogramStatus { sum, count: waits.count(), buckets })?;
        let sides = [("switch", placement.switch), ("software", placement.software)];
        writer
            .family(&metric::PLACED_PACKETS, sides.map(|(side, load)| (label("side", side), load.packets)))?;
        writer
            .family(&metric::PLACED_OCTETS, sides.map(|(side, load)| (label("side", side), load.octets)))?;
        let events = self.snapshot.switch_events.iter();
        writer.family(&metric::SWITCH_EVENTS, events.map(|event| (label("event", event.name), event.value)))
    }

    fn cold_storage(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let state = self.snapshot.cold_storage.unwrap_or_default();
        let places = [("memory", state.in_memory), ("cold", state.cold)];
        writer
            .family(&metric::STORED_SESSIONS, places.map(|(place, count)| (label("place", place), count)))?;
        let events = [
            ("moved", state.evictions),
            ("loaded", state.loads),
            ("read_error", state.read_errors),
            ("write_error", state.write_errors),
            ("lost", state.lost),
        ];
        writer.family(&metric::STORAGE_EVENTS, events.map(|(name, count)| (label("event", name), count)))?;
        writer.single(&metric::STORAGE_WAITING, state.waiting)?;
        let times = &state.load_times;
        let (sum, buckets) = (times.sum().as_secs_f64(), times.by_bound().collect());
        writer.histogram(&metric::STORAGE_LOADS, &HistogramStatus { sum, count: times.count(), buckets })?;
        writer.single(&metric::STORAGE_HELD, state.held_packets)
    }

    fn memory_losses(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let losses = self.snapshot.memory_losses.unwrap_or_default();
        let events = [
            ("failure", losses.failures),
            ("restart", losses.restarts),
            ("lost_state", losses.states),
            ("aged_flow", losses.aged_flows),
        ];
        writer.family(&metric::MEMORY_LOSSES, events.map(|(name, count)| (label("event", name), count)))
    }

    /// Those of the fast path are there whatever the data plane.
    fn stage_packets(&self) -> impl Iterator<Item = NamedCounter> {
        let own = &self.snapshot.stages;
        let absent = FAST_PATH_STAGES.iter().filter(|name| own.iter().all(|stage| stage.name != **name));
        own.iter().copied().chain(absent.map(|name| NamedCounter { name, value: 0 }))
    }

    fn workers(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let workers = || by_worker(&self.workers);
        let sessions = workers().map(|(worker, snapshot)| (worker, snapshot.counters.sessions));
        writer.family(&metric::WORKER_SESSIONS, sessions)?;
        let taken = workers().map(|(worker, snapshot)| (worker, snapshot.counters.received()));
        writer.family(&metric::WORKER_PACKETS, taken)?;
        let handed = workers().map(|(worker, snapshot)| (worker, snapshot.handed));
        writer.family(&metric::WORKER_HANDED_PACKETS, handed)?;
        let turns = workers().flat_map(|(worker, snapshot)| {
            [("packets", snapshot.turns.with_packets), ("none", snapshot.turns.without_packets)]
                .map(|(work, turns)| ([worker.clone(), label("work", work)].concat(), turns))
        });
        writer.family(&metric::WORKER_TURNS, turns)
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
        writer.family(&metric::PORT_PACKETS, of(CounterUnit::Packets))?;
        writer.family(&metric::PORT_OCTETS, of(CounterUnit::Octets))?;
        writer.family(&metric::PORT_CALLS, of(CounterUnit::Calls))?;
        writer.family(&metric::PORT_EVENTS, of(CounterUnit::Times))
    }

    fn memory(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let memory = &self.n4.memory;
        writer.single(&metric::MEMORY_LIMIT, memory.limit)?;
        writer.single(&metric::MEMORY_USED, memory.used)?;
        writer.single(&metric::MEMORY_FOR_SESSIONS, memory.for_sessions)?;
        writer.single(&metric::MEMORY_NEEDED, memory.needed)?;
        writer.single(&metric::MEMORY_REFUSALS, memory.refusals)
    }

    fn sessions(&self, writer: &mut Writer<'_>) -> fmt::Result {
        writer.single(&metric::ASSOCIATIONS, self.n4.associations)?;
        writer.single(&metric::SESSIONS, self.n4.sessions)?;
        writer.single(&metric::SESSION_LIMIT, self.n4.session_limit)?;
        writer.single(&metric::DRAINING, u64::from(self.n4.is_draining))?;
        let networks = self.n4.networks.iter();
        writer.family(
            &metric::SESSIONS_BY_DNN,
            networks.map(|network| (label("dnn", network.dnn.as_str()), network.sessions)),
        )?;
        let of_pool =
            |pool: &PoolStatus| vec![("dnn", pool.dnn.clone()), ("ip", pool.ip_version.to_string())];
        let pools = self.n4.pools.iter();
        writer.family(&metric::POOL_ADDRESSES, pools.clone().map(|pool| (of_pool(pool), pool.addresses)))?;
        writer.family(&metric::POOL_ADDRESSES_USED, pools.map(|pool| (of_pool(pool), pool.used)))?;
        writer.single(&metric::FRAMED_ROUTES, self.n4.routes)
    }

    fn pfcp(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let messages = self.n4.messages.iter().map(|message| {
            let labels = vec![
                ("message_type", message.message_type.as_str()),
                ("direction", message.direction),
                ("result", message.result.as_str()),
            ];
            (labels, message.count)
        });
        writer.family(&metric::MESSAGES, messages)?;
        let latencies = self.n4.latencies.iter();
        writer.histograms(
            &metric::REQUEST_DURATION,
            latencies.map(|(message_type, latency)| (label("message_type", message_type.as_str()), latency)),
        )?;
        writer.single(&metric::N4_ACCELERATED, self.n4.by_packet_thread)?;
        self.chain(writer)?;
        writer.single(&metric::N4_LOST_DATAGRAMS, self.n4.lost_datagrams)?;
        let refused = self.n4.refused_datagrams.iter().filter(|(what, _)| !what.is_empty());
        writer.family(
            &metric::REFUSED_DATAGRAMS,
            refused.map(|(what, count)| (label("interface", what.to_ascii_lowercase()), *count)),
        )?;
        writer.single(&metric::N4_LATE_EVENTS, self.n4.late_events)?;
        writer.single(&metric::N4_LOST_REPORTS, self.n4.lost_reports)?;
        writer.single(&metric::N4_FAILED_PLANS, self.n4.failed_plans)
    }
}

impl Exposition {
    fn chain(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let chain = self.n4.chain.clone().unwrap_or_default();
        writer.single(&metric::CHAIN_MEMBERS, chain.members.len() as u64)?;
        writer.single(&metric::CHAIN_EPOCH, u64::from(chain.epoch))?;
        writer.single(&metric::CHAIN_RECORDS, chain.records)?;
        writer.single(&metric::CHAIN_LAG, chain.lag)?;
        writer.single(&metric::CHAIN_MISSING, chain.missing)?;
        writer.single(&metric::CHAIN_TAKEOVERS, chain.takeovers)?;
        writer.single(&metric::CHAIN_USAGE_RECORDS, chain.usage_records)?;
        writer.single(&metric::CHAIN_USAGE_ROUNDS, chain.usage_rounds)?;
        writer.single(&metric::CHAIN_USAGE_ROUND, chain.usage_round as f64 / 1000.0)?;
        let reached = [("coordinator", chain.coordinator), ("peer", chain.peer)];
        writer.family(&metric::CHAIN_REACHED, reached.map(|(what, is)| (label("what", what), u64::from(is))))
    }
}

/// Each with the label of its packet thread.
fn by_worker<T>(of: &[T]) -> impl Iterator<Item = (Vec<(&'static str, String)>, &T)> {
    (0_u64..).map(|number| label("worker", number.to_string())).zip(of)
}
