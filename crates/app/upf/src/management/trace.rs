//! The trace of a session: each of its packets with its rules and what became of it, as server-sent events.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, UNIX_EPOCH};

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::sse::{self, KeepAlive, Sse};
use causeway_dataplane::{Disposition, Ingress};
use causeway_types::{NetworkInstance, Seid};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_stream::Stream;

use super::connections::StreamMark;
use super::explain::{disposition, reason, sent, shown};
use super::query::{Parameters, seid_of};
use super::refusal::Refusal;
use super::server::{Management, ManagementRequest, Shared, in_time};
use super::views::{ProblemView, TraceEnd, TraceEvent, TracedPacketView};
use crate::worker::{Missed, Observation, Watch, WatchKeys};

/// The limits of a trace: how long it takes, and the packets that it shows.
const SECONDS: u16 = 60;
const MAX_SECONDS: u16 = 3600;
const PACKETS: u32 = 1000;
const MAX_PACKETS: u32 = 1_000_000;

/// Events that wait for the connection.
const QUEUE: usize = 16;

/// The interval in which the keys follow the rules of the session, and what was missed is told.
const REFRESH: Duration = Duration::from_secs(1);

/// The interval of comments that keep the stream open.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The bounds of a trace.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceQuery {
    /// How long it takes at most, in seconds; 60 by default.
    #[param(minimum = 1, maximum = 3600)]
    seconds: Option<u16>,
    /// The number of packets after which it ends; 1000 by default.
    #[param(minimum = 1, maximum = 1000000)]
    packets: Option<u32>,
}

impl TraceQuery {
    fn bounds(&self) -> Result<(Duration, u32), Refusal> {
        let (seconds, packets) = (self.seconds.unwrap_or(SECONDS), self.packets.unwrap_or(PACKETS));
        if !(1..=MAX_SECONDS).contains(&seconds) {
            return Err(Refusal::Query(format!("seconds is from 1 to {MAX_SECONDS}")));
        }
        if !(1..=MAX_PACKETS).contains(&packets) {
            return Err(Refusal::Query(format!("packets is from 1 to {MAX_PACKETS}")));
        }
        Ok((Duration::from_secs(seconds.into()), packets))
    }
}

/// The packets of a session from now on, as server-sent events.
///
/// Each has the name of its kind, and a `TraceEvent` as data. It shows headers' keys and rules, no user data. A packet
/// thread observes at most 2000 packets in a second; others are counted, and processed as ever. So are those that a slow
/// client misses. The keys follow the rules of the session within a second. Packets that leave a buffer are not shown
/// again. At most 8 sessions are watched at a time.
#[utoipa::path(
    get, path = "/api/v1/sessions/{seid}/trace", tag = "Sessions",
    params(
        ("seid" = String, Path, description = "The UPF's SEID, in decimal or, after `0x`, hexadecimal", example = "0x2a"),
        TraceQuery,
    ),
    responses(
        (status = 200, description = "The stream", body = TraceEvent, content_type = "text/event-stream"),
        (status = 400, description = "This is no SEID, or a parameter is unknown or malformed", body = ProblemView, content_type = "application/problem+json"),
        (status = 404, description = "There is no such session", body = ProblemView, content_type = "application/problem+json"),
        (status = 501, description = "The packets of the data plane pass elsewhere", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "Too many sessions are watched, or the daemon is busy", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn trace(
    State(management): Shared,
    Extension(mark): Extension<StreamMark>,
    Path(text): Path<String>,
    Parameters(query): Parameters<TraceQuery>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, axum::Error>>>, Refusal> {
    let seid = seid_of(&text).ok_or(Refusal::NoSeid(text))?;
    let (duration, packets) = query.bounds()?;
    let permit = management.watches.clone().try_acquire_owned().map_err(|_| Refusal::TooManyWatches)?;
    let keys = keys(&management, seid).await?.ok_or(Refusal::UnknownSession(seid))?;
    if keys.is_empty() {
        return Err(Refusal::Unexplained);
    }
    let (watch, observations, missed) = Watch::new(keys.clone());
    management.workers.watch(&watch);
    // The answers come behind the watch: it is in force now.
    probe(&management).await?;
    let (sender, events) = mpsc::channel(QUEUE);
    let ends = Instant::now() + duration;
    let tracer =
        Tracer { management, seid, keys, watch, observations, missed, sender, packets, _permit: permit };
    tokio::spawn(tracer.run(ends));
    mark.set();
    Ok(Sse::new(TraceStream(events)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// The keys of a session's packets; `None`: there is no such session.
async fn keys(management: &Management, seid: Seid) -> Result<Option<WatchKeys>, Refusal> {
    let found = management.ask(|reply| ManagementRequest::Session { seid, reply }).await?;
    Ok(found.map(|session| WatchKeys::of_rules(&session.rules)))
}

/// Refuses where packets are not explained, as in a data plane whose packets pass elsewhere.
async fn probe(management: &Management) -> Result<(), Refusal> {
    let network = NetworkInstance::new("");
    let explained = in_time(management.workers.explain(Ingress::Ip { network }, Vec::new())).await?;
    explained.map(drop).ok_or(Refusal::Unexplained)
}

/// The task behind a trace.
struct Tracer {
    management: Arc<Management>,
    seid: Seid,
    keys: WatchKeys,
    watch: Watch,
    observations: mpsc::Receiver<Observation>,
    missed: Arc<Missed>,
    sender: mpsc::Sender<TraceEvent>,
    /// The packets that are still shown.
    packets: u32,
    _permit: OwnedSemaphorePermit,
}

impl Tracer {
    /// Passes observations to the client until a bound is reached, the session has ended, or the client has left.
    async fn run(mut self, ends: Instant) {
        let mut refresh = interval(REFRESH);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let end = loop {
            let sender = self.sender.clone();
            let event = tokio::select! {
                biased;
                () = sender.closed() => return,
                () = sleep_until(ends) => break TraceEnd::Seconds,
                _ = refresh.tick() => match self.refresh().await {
                    Err(end) => break end,
                    Ok(None) => continue,
                    Ok(Some(event)) => event,
                },
                Some(observation) = self.observations.recv() => {
                    self.packets -= 1;
                    TraceEvent::Packet(Box::new(packet(observation)))
                }
            };
            // A client that does not read holds the trace up until its time is over.
            match tokio::time::timeout_at(ends, self.sender.send(event)).await {
                Ok(Ok(())) if self.packets > 0 => {}
                Ok(Ok(())) => break TraceEnd::Packets,
                Ok(Err(_)) | Err(_) => return,
            }
        };
        let (lost, not_observed) = self.missed.take();
        // The client may have left, or not read.
        let _ = self.sender.try_send(TraceEvent::Ended { end, lost, not_observed });
    }

    /// Follows the rules of the session. Returns what was missed, if anything was.
    async fn refresh(&mut self) -> Result<Option<TraceEvent>, TraceEnd> {
        match keys(&self.management, self.seid).await {
            Ok(None) => return Err(TraceEnd::Session),
            Ok(Some(keys)) if keys != self.keys => {
                self.watch = self.watch.with_keys(keys.clone());
                self.keys = keys;
                self.management.workers.watch(&self.watch);
            }
            // The daemon is busy: the keys stay until the next time.
            Ok(Some(_)) | Err(_) => {}
        }
        Ok(match self.missed.take() {
            (0, 0) => None,
            (lost, not_observed) => Some(TraceEvent::Missed { lost, not_observed }),
        })
    }
}

fn packet(observation: Observation) -> TracedPacketView {
    let Observation { time, ingress, octets, explanation, disposition: what, sent: packets } = observation;
    let from = match &ingress {
        Ingress::Gtpu { peer, .. } => format!("GTP-U peer {peer}"),
        Ingress::Ip { network } => format!("data network {network}"),
        Ingress::Ethernet { network } => format!("Ethernet data network {network}"),
    };
    TracedPacketView {
        time: time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64()),
        from,
        octets,
        disposition: disposition(what).into(),
        reason: if let Disposition::Dropped(why) = what { Some(reason(why)) } else { None },
        sent: packets.iter().map(|(egress, octets)| sent(egress, *octets)).collect(),
        explanation: explanation.map(shown),
    }
}

/// The events, as they are sent.
struct TraceStream(mpsc::Receiver<TraceEvent>);

impl Stream for TraceStream {
    type Item = Result<sse::Event, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = self.0.poll_recv(context);
        event.map(|event| event.map(|event| sse::Event::default().event(event.name()).json_data(event)))
    }
}
