//! The trace of a session: each of its packets with its rules and what became of it, as server-sent events.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, UNIX_EPOCH};

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::sse::{self, KeepAlive, Sse};
use causeway_dataplane::{Disposition, Ingress};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_stream::Stream;

use super::connections::StreamMark;
use super::explain::{disposition, reason, sent, shown};
use super::query::{NumberUpTo, Parameters, Parsed};
use super::refusal::Refusal;
use super::server::Shared;
use super::session_watch::{SessionWatch, Step, StreamClient, WatchEnd};
use super::views::{ProblemView, TraceEnd, TraceEvent, TracedPacketView};
use crate::worker::{Missed, MissedPackets, Observation, ProcessedPacket, SentPacket};

/// The limits of a trace: how long it takes, and the packets that it shows.
const SECONDS: u64 = 60;
pub(super) const MAX_SECONDS: u64 = 3600;
const PACKETS: u32 = 1000;
const MAX_PACKETS: u64 = 1_000_000;

/// The interval of comments that keep the stream open.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The bounds of a trace.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceQuery {
    /// How long it takes at most, in seconds; 60 by default.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 3600)]
    seconds: Option<Parsed<NumberUpTo<MAX_SECONDS>>>,
    /// The number of packets after which it ends; 1000 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000000)]
    packets: Option<Parsed<NumberUpTo<MAX_PACKETS>>>,
}

impl TraceQuery {
    fn bounds(&self) -> (Duration, u32) {
        let seconds = self.seconds.as_ref().map_or(SECONDS, |seconds| seconds.0);
        let packets = self.packets.as_ref().map_or(PACKETS, |packets| packets.0 as u32);
        (Duration::from_secs(seconds), packets)
    }
}

/// The packets of a session from now on, as server-sent events.
///
/// Each has the name of its kind, and a `TraceEvent` as data. It shows headers' keys and rules, no user data. A packet
/// thread observes at most 2000 packets in a second; others are counted, and processed as ever. So are those that a slow
/// client misses. The connection of a client that takes nothing for 10 s is closed. The keys follow the rules of the
/// session within a second. Packets that leave a buffer are not shown again. At most 8 sessions are watched at a time.
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
    let (duration, packets) = query.bounds();
    let watch = SessionWatch::begin(management, text, 0, duration).await?;
    let (client, events) = StreamClient::new(mark.clone());
    tokio::spawn(run(watch, packets, client));
    mark.set();
    Ok(Sse::new(TraceStream(events)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Passes observations to the client until a bound is reached, the session has ended, or the client has left.
async fn run(mut watch: SessionWatch, mut packets: u32, client: StreamClient<TraceEvent>) {
    let mut told = Missed::default();
    let end = loop {
        let event = tokio::select! {
            biased;
            () = client.left() => return,
            step = watch.next() => match step {
                Step::Ended(WatchEnd::Session) => break TraceEnd::Session,
                Step::Ended(WatchEnd::Seconds) => break TraceEnd::Seconds,
                Step::Refreshed => match since(&mut told, &watch) {
                    Missed { lost: 0, not_observed: 0 } => continue,
                    Missed { lost, not_observed } => TraceEvent::Missed { lost, not_observed },
                },
                Step::Observation(observation) => {
                    // A trace asks for no octets, and sees no other packets.
                    let Observation::Processed(processed) = Arc::unwrap_or_clone(observation) else { continue };
                    packets -= 1;
                    TraceEvent::Packet(Box::new(packet(processed)))
                }
            },
        };
        if client.send(event).await.is_err() {
            return;
        }
        if packets == 0 {
            break TraceEnd::Packets;
        }
    };
    let Missed { lost, not_observed } = since(&mut told, &watch);
    // Another client may watch a session now.
    drop(watch);
    // The client may have left.
    let _ = client.send(TraceEvent::Ended { end, lost, not_observed }).await;
}

/// What was missed and not told yet.
fn since(told: &mut Missed, watch: &SessionWatch) -> Missed {
    let MissedPackets { gtpu, network, .. } = watch.missed();
    let all =
        Missed { lost: gtpu.lost + network.lost, not_observed: gtpu.not_observed + network.not_observed };
    let before = std::mem::replace(told, all);
    Missed { lost: all.lost - before.lost, not_observed: all.not_observed - before.not_observed }
}

fn packet(processed: ProcessedPacket) -> TracedPacketView {
    let ProcessedPacket { time, ingress, octets, explanation, disposition: what, sent: packets, image: _ } =
        processed;
    let from = origin(&ingress);
    TracedPacketView {
        time: time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64()),
        from,
        octets,
        disposition: disposition(what).into(),
        reason: if let Disposition::Dropped(why) = what { Some(reason(why)) } else { None },
        sent: packets.iter().map(|SentPacket { egress, octets, .. }| sent(egress, *octets)).collect(),
        explanation: explanation.map(shown),
    }
}

/// Where a packet came from.
pub(super) fn origin(ingress: &Ingress) -> String {
    match ingress {
        Ingress::Gtpu { peer, .. } => format!("GTP-U peer {peer}"),
        Ingress::Ip { network } => format!("data network {network}"),
        Ingress::Ethernet { network } => format!("Ethernet data network {network}"),
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
