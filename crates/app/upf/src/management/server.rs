//! The HTTP server: its state, and its routes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use causeway_dataplane::SessionState;
use causeway_types::{NodeId, Seid, Time, WallClock};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::timeout;

use super::connections::Server;
use super::description::with_access;
use super::details::SessionRules;
use super::events::{EventSender, STREAMS};
use super::filter::SessionFilter;
use super::listener::Listener;
use super::metrics::{Exposition, Format, N4Status};
use super::query::seid_of;
use super::refusal::Refusal;
use super::views::{AssociationView, PoolView, SessionView};
use super::{api, console, page};
use crate::config::Upf;
use crate::owner::OwnerRequest;
use crate::watchdog::Pauses;
use crate::worker::{PortCounters, SnapshotClient, WATCHES};

/// The response timeout of the control thread, after which the daemon counts as unhealthy.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum size of a request body, in octets.
pub(super) const BODY: usize = 16 * 1024;

/// Sessions for whose application classes the packet threads are asked at a time.
const CLASSES: usize = 64;

/// Maximum number of queued requests to the control plane.
const REQUESTS: usize = 64;

/// A request of the server to the control plane.
#[derive(Debug)]
pub(crate) enum ManagementRequest {
    /// The figures of N4.
    Status(oneshot::Sender<N4Status>),
    /// All associations.
    Associations(oneshot::Sender<Vec<AssociationView>>),
    /// The next sessions that the filter admits, at most `most`, from an index on. Few indexes are read for one request.
    Sessions { from: u64, most: usize, filter: Arc<SessionFilter>, reply: oneshot::Sender<SessionPart> },
    /// The sessions that the filter admits. The result is `None` when no index finds them, or when there are more than
    /// `most`.
    FindSessions { most: usize, filter: Arc<SessionFilter>, reply: oneshot::Sender<Option<SessionPart>> },
    /// Those of these sessions that exist, and the wall clock.
    SessionsOf { seids: Vec<Seid>, reply: oneshot::Sender<(WallClock, BTreeMap<Seid, SessionView>)> },
    /// A session with its rules.
    Session { seid: Seid, reply: oneshot::Sender<Option<Box<SessionRules>>> },
    /// The UE address pools.
    Pools(oneshot::Sender<Vec<PoolView>>),
    /// Send the events from now on.
    Subscribe { sender: EventSender, reply: oneshot::Sender<()> },
    /// End the association of this node immediately. The result is the number of its sessions; `None`: there is no
    /// association.
    End { node: NodeId, reply: oneshot::Sender<Option<usize>> },
    /// Request the SMF of this node to release its association. `false`: there is none.
    Release { node: NodeId, reply: oneshot::Sender<bool> },
    /// Begin or end draining. The result is the number of sessions.
    Drain { is_draining: bool, reply: oneshot::Sender<u64> },
}

impl ManagementRequest {
    /// The sender of the server, and what the control plane receives.
    pub(crate) fn channel() -> (mpsc::Sender<Self>, mpsc::Receiver<Self>) {
        mpsc::channel(REQUESTS)
    }
}

/// Some of the sessions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SessionPart {
    /// The number of all sessions.
    pub(crate) total: u64,
    /// The sessions.
    pub(crate) sessions: Vec<SessionView>,
    /// The next index; `None`: no session follows.
    pub(crate) next: Option<u64>,
}

/// The state of the server.
pub(crate) struct Management {
    pub(crate) started: Time,
    pub(crate) control: mpsc::Sender<ManagementRequest>,
    pub(crate) workers: SnapshotClient,
    pub(crate) ports: Vec<PortCounters>,
    /// The pauses of the control thread, then of each packet thread.
    pub(crate) pauses: Vec<Arc<Pauses>>,
    /// The configuration in force, and the Node ID that it leads to.
    pub(crate) upf: watch::Receiver<Arc<Upf>>,
    /// Requests to the owner of the daemon.
    pub(crate) owner: mpsc::Sender<OwnerRequest>,
    pub(crate) node_id: String,
    /// The streams of events that may still begin.
    pub(crate) streams: Arc<Semaphore>,
    /// The sessions that may still be watched.
    pub(crate) watches: Arc<Semaphore>,
}

impl Management {
    /// The permits of streams of events.
    pub(crate) fn stream_permits() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(STREAMS))
    }

    /// The permits of watches.
    pub(crate) fn watch_permits() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(WATCHES))
    }

    /// The configuration in force.
    pub(super) fn upf(&self) -> Arc<Upf> {
        Arc::clone(&self.upf.borrow())
    }

    /// Asks the owner of the daemon.
    pub(super) async fn ask_owner<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<T>) -> OwnerRequest,
    ) -> Result<T, Refusal> {
        let (reply, answer) = oneshot::channel();
        let exchange = async {
            self.owner.send(ask(reply)).await.ok()?;
            answer.await.ok()
        };
        in_time(exchange).await
    }

    /// Asks the control thread.
    pub(super) async fn ask<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<T>) -> ManagementRequest,
    ) -> Result<T, Refusal> {
        let (reply, answer) = oneshot::channel();
        let exchange = async {
            self.control.send(ask(reply)).await.ok()?;
            answer.await.ok()
        };
        in_time(exchange).await
    }

    /// The state of a session in the data plane, with the number of its packet thread; `None`: no thread can tell.
    pub(super) async fn state_of(&self, seid: Seid) -> Result<Option<(usize, SessionState)>, Refusal> {
        in_time(async { self.workers.session_state(seid).await }).await
    }

    /// Adds the application classes of sessions, which packet threads know, if there is a model of classes.
    pub(super) async fn add_classes(&self, sessions: &mut [SessionView]) -> Result<(), Refusal> {
        if self.upf().traffic.classes.model.is_none() {
            return Ok(());
        }
        for part in sessions.chunks_mut(CLASSES) {
            let seids = part.iter().map(|session| seid_of(&session.seid).unwrap_or_default()).collect();
            let classes = in_time(self.workers.application_classes(seids)).await?;
            for (session, class) in part.iter_mut().zip(classes) {
                session.class = class.map(|class| class.to_string());
            }
        }
        Ok(())
    }

    async fn exposition(&self) -> Result<Exposition, Refusal> {
        let n4 = self.ask(ManagementRequest::Status).await?;
        let workers = in_time(self.workers.snapshots()).await?;
        let exposition = Exposition::new(self.started, workers, self.ports.clone(), n4);
        Ok(exposition.with_pauses(self.pauses.clone()))
    }
}

/// The result, if it comes in time.
pub(super) async fn in_time<T>(result: impl Future<Output = Option<T>>) -> Result<T, Refusal> {
    timeout(TIMEOUT, result).await.ok().flatten().ok_or(Refusal::Unhealthy)
}

pub(super) type Shared = State<Arc<Management>>;

/// Starts a thread that answers requests until the handle is dropped.
///
/// # Errors
/// The system has no free thread, or the runtime does not accept the listeners.
pub(crate) fn start(listeners: Vec<Listener>, management: Management) -> io::Result<Server> {
    Server::start(listeners, &router(Arc::new(management)))
}

fn router(management: Arc<Management>) -> Router {
    let (api, description) = api::router().split_for_parts();
    let description = with_access(description);
    let listing = page::of_api(&description);
    api.merge(console::router())
        .route("/", get(async || Html(page::ROOT)))
        .route("/metrics", get(metrics))
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
        .route("/api/v1", get(async move || Html(listing.clone())))
        .route("/api/v1/openapi.json", get(async move || Json(description.clone())))
        .fallback(async || Refusal::UnknownPath)
        .method_not_allowed_fallback(async || Refusal::Method)
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(management)
}

async fn metrics(State(management): Shared, headers: HeaderMap) -> Result<Response, Refusal> {
    let format = Format::accepted(headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()));
    let text = management.exposition().await?.text(format).map_err(|_| Refusal::Unhealthy)?;
    Ok(([(CONTENT_TYPE, format.content_type()), (VARY, "accept")], text).into_response())
}

async fn health(State(management): Shared) -> Result<&'static str, Refusal> {
    management.exposition().await.map(|_| "ok\n")
}

/// Whether SMFs should select this UPF for new sessions.
async fn ready(State(management): Shared) -> Result<&'static str, Refusal> {
    let status = management.ask(ManagementRequest::Status).await?;
    if status.is_draining { Err(Refusal::Draining) } else { Ok("ok\n") }
}
