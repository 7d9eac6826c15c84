//! The operations on the UPF as a whole.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::response::sse::{KeepAlive, Sse};
use causeway_dataplane::{Counters, DropReason};
use causeway_ports::Counter;

use super::connections::StreamMark;
use super::events::{DURATION, EventStream};
use super::query::{Parameters, PeerQuery};
use super::refusal::Refusal;
use super::server::{Management, ManagementRequest, Shared, in_time};
use super::views::{
    ConfigView, DropView, Drops, InterfaceView, Interfaces, MemoryView, NamedCount, PeerView, Peers, Pools,
    ProblemView, StatusView, TimedEvent, WorkerView, Workers,
};
use crate::config::Upf;
use crate::worker::{PortCounters, Snapshot};

/// Maximum number of paths on one page.
const PATHS: usize = 1000;

/// The interval of comments that keep a stream of events open.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

const fn received(counters: &Counters) -> u64 {
    counters.gtpu_received.packets + counters.ip_received.packets + counters.ethernet_received.packets
}

impl Management {
    async fn snapshots(&self) -> Result<Vec<Snapshot>, Refusal> {
        in_time(self.workers.snapshots()).await
    }
}

/// The state of the UPF in brief.
#[utoipa::path(
    get, path = "/api/v1/status", tag = "UPF",
    responses(
        (status = 200, description = "The present state", body = StatusView),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn status(State(management): Shared) -> Result<Json<StatusView>, Refusal> {
    let n4 = management.ask(ManagementRequest::Status).await?;
    let snapshots = management.snapshots().await?;
    let workers = snapshots.len();
    let counters = snapshots.iter().fold(Snapshot::default(), Snapshot::with).counters;
    let pauses = management.pauses.iter().map(|pauses| pauses.longest()).max().unwrap_or_default();
    let memory = n4.memory;
    Ok(Json(StatusView {
        version: env!("CARGO_PKG_VERSION").into(),
        build: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
        node_id: management.node_id.clone(),
        data_plane: management.upf().dataplane.word().into(),
        started: n4.wall.at(management.started).as_nanos() / 1_000_000_000,
        associations: n4.associations,
        sessions: n4.sessions,
        max_sessions: management.upf().max_sessions.into(),
        draining: n4.is_draining,
        workers,
        received_packets: received(&counters),
        forwarded_packets: counters.forwarded,
        dropped_packets: counters.total_drops(),
        buffered_packets: counters.buffered,
        lost_datagrams: n4.lost_datagrams,
        longest_pause: pauses.as_millis() as f64 / 1e3,
        memory: MemoryView {
            limit: memory.limit,
            used: memory.used,
            for_sessions: memory.for_sessions,
            needed: memory.needed,
            refusals: memory.refusals,
        },
    }))
}

/// The GTP-U peers that are supervised with Echo Requests, in pages of 1000.
#[utoipa::path(
    get, path = "/api/v1/peers", tag = "UPF",
    params(PeerQuery),
    responses(
        (status = 200, description = "A page of paths", body = Peers),
        (status = 400, description = "A parameter is unknown or malformed", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn peers(
    State(management): Shared,
    Parameters(query): Parameters<PeerQuery>,
) -> Result<Json<Peers>, Refusal> {
    let after = query.after();
    let paths = in_time(management.workers.paths(after, PATHS)).await?;
    let text = |(local, peer): (IpAddr, IpAddr)| format!("{local}-{peer}");
    let next = paths.last().filter(|_| paths.len() == PATHS).map(|last| text(last.path));
    let peers = paths.iter().map(|state| PeerView {
        local: state.path.0.to_string(),
        peer: state.path.1.to_string(),
        up: state.is_up,
        fars: state.users,
    });
    let supervised = !management.upf().gtpu.echo.interval.is_zero();
    Ok(Json(Peers { supervised, peers: peers.collect(), after: next }))
}

/// The pools from which the UPF allocates UE addresses.
#[utoipa::path(
    get, path = "/api/v1/pools", tag = "UPF",
    responses(
        (status = 200, description = "All pools", body = Pools),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn pools(State(management): Shared) -> Result<Json<Pools>, Refusal> {
    let pools = management.ask(ManagementRequest::Pools).await?;
    Ok(Json(Pools { pools }))
}

/// The packet threads.
#[utoipa::path(
    get, path = "/api/v1/workers", tag = "UPF",
    responses(
        (status = 200, description = "All packet threads", body = Workers),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn workers(State(management): Shared) -> Result<Json<Workers>, Refusal> {
    let snapshots = management.snapshots().await?;
    // The first pauses are those of the control thread.
    let mut pauses = management.pauses.iter().skip(1);
    let worker = |(number, snapshot): (usize, Snapshot)| {
        let (counters, pauses) = (snapshot.counters, pauses.next());
        WorkerView {
            number,
            sessions: counters.sessions,
            core_seconds: snapshot.core_time.as_millis() as f64 / 1e3,
            received_packets: received(&counters),
            forwarded_packets: counters.forwarded,
            dropped_packets: counters.total_drops(),
            buffered_packets: counters.buffered,
            handed_over_packets: snapshot.handed,
            pauses: pauses.map_or(0, |pauses| pauses.count()),
            longest_pause: pauses.map_or(0.0, |pauses| pauses.longest().as_millis() as f64 / 1e3),
        }
    };
    Ok(Json(Workers { workers: snapshots.into_iter().enumerate().map(worker).collect() }))
}

/// The packet ports with their counters.
#[utoipa::path(
    get, path = "/api/v1/interfaces", tag = "UPF",
    responses(
        (status = 200, description = "All packet ports", body = Interfaces),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn interfaces(State(management): Shared) -> Result<Json<Interfaces>, Refusal> {
    // A snapshot updates what the kernel counts for the ports.
    management.snapshots().await?;
    let networks = networks(&management.upf());
    let interfaces = management.ports.iter().map(|port| interface(port, &networks)).collect();
    Ok(Json(Interfaces { interfaces }))
}

/// The data networks behind each device.
fn networks(upf: &Upf) -> BTreeMap<String, Vec<String>> {
    let mut networks = BTreeMap::<String, Vec<String>>::new();
    let ip = upf.session.iter().map(|session| (&session.dev, &session.dnn));
    for (dev, dnn) in ip.chain(upf.ethernet.iter().map(|network| (&network.dev, &network.dnn))) {
        let of_device = networks.entry(dev.clone()).or_default();
        if !of_device.contains(dnn) {
            of_device.push(dnn.clone());
        }
    }
    networks
}

fn interface(port: &PortCounters, networks: &BTreeMap<String, Vec<String>>) -> InterfaceView {
    let device = port.name.strip_prefix("n6-").unwrap_or_default();
    let of = |device: &str| networks.get(device).cloned();
    // Further packet threads have a number behind the name.
    let dnn = of(device).or_else(|| of(device.rsplit_once('.')?.0)).unwrap_or_default();
    let traffic =
        [Counter::Rx, Counter::RxOctets, Counter::RxCalls, Counter::Tx, Counter::TxOctets, Counter::TxCalls];
    let failures = port.counters.iter().filter(|(counter, count)| *count > 0 && !traffic.contains(counter));
    InterfaceView {
        name: port.name.clone(),
        dnn,
        received_packets: port.counters.value(Counter::Rx),
        received_octets: port.counters.value(Counter::RxOctets),
        sent_packets: port.counters.value(Counter::Tx),
        sent_octets: port.counters.value(Counter::TxOctets),
        failures: failures
            .map(|(counter, count)| NamedCount { name: counter.name().into(), count })
            .collect(),
    }
}

/// Dropped packets by reason, with explanations.
#[utoipa::path(
    get, path = "/api/v1/drops", tag = "UPF",
    responses(
        (status = 200, description = "Every reason", body = Drops),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn drops(State(management): Shared) -> Result<Json<Drops>, Refusal> {
    let snapshots = management.snapshots().await?;
    let counters = snapshots.iter().fold(Snapshot::default(), Snapshot::with).counters;
    let advertises = management.upf().routing.router_advertisement;
    let drops = DropReason::ALL.iter().map(|reason| DropView {
        reason: reason.label().into(),
        count: counters.dropped(*reason),
        meaning: reason.meaning().into(),
        remedy: reason.remedy_with(advertises).into(),
    });
    Ok(Json(Drops { drops: drops.collect() }))
}

/// The configuration in force.
#[utoipa::path(
    get, path = "/api/v1/config", tag = "UPF",
    responses((status = 200, description = "The configuration with its defaults", body = ConfigView)),
)]
pub(super) async fn config(State(management): Shared) -> Json<ConfigView> {
    Json(ConfigView { upf: serde_json::to_value(&*management.upf()).unwrap_or_default() })
}

/// What happens, from now on, as server-sent events.
///
/// Each has the name of its kind, and a `TimedEvent` as data. At most 16 clients may listen at a time. A client that
/// reads too slowly misses events, and is told how many. A stream ends after an hour.
#[utoipa::path(
    get, path = "/api/v1/events", tag = "UPF",
    responses(
        (status = 200, description = "The stream", body = TimedEvent, content_type = "text/event-stream"),
        (status = 503, description = "There are too many streams, or the daemon is busy", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn events(
    State(management): Shared,
    Extension(mark): Extension<StreamMark>,
) -> Result<Sse<impl tokio_stream::Stream<Item = Result<axum::response::sse::Event, axum::Error>>>, Refusal> {
    let permit = management.streams.clone().try_acquire_owned().map_err(|_| Refusal::TooManyStreams)?;
    let (sender, stream) = EventStream::new(permit, DURATION);
    management.ask(|reply| ManagementRequest::Subscribe { sender, reply }).await?;
    mark.set();
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}
