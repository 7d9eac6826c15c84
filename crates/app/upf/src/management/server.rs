//! The HTTP server: routes and their answers.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::header::{CONTENT_TYPE, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use causeway_types::{NodeId, Time};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::connections::Server;
use super::metrics::{self, Exposition, N4Status, PortCounters};
use super::views::{AssociationView, SessionPage, SessionPart};
use crate::watchdog::Pauses;
use crate::worker::SnapshotClient;

/// The response timeout of the control thread, after which the daemon counts as unhealthy.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of sessions on one page.
const PAGE: usize = 1000;

/// Number of session indexes that the control thread reads for one request. It does other work between requests.
const INDEXES_PER_REQUEST: usize = 64;

/// Maximum number of requests for one page. If most indexes are empty, a page has fewer sessions than requested.
const REQUESTS_PER_PAGE: usize = 256;

/// Maximum size of a request body, in octets.
const BODY: usize = 16 * 1024;

const ROOT: &str = "<!doctype html><title>Causeway UPF</title><h1>Causeway UPF</h1><ul>\
    <li><a href=/metrics>/metrics</a> counters and gauges in OpenMetrics text\
    <li><a href=/healthz>/healthz</a> 200 when the control plane and the packet threads answer\
    <li><a href=/api/v1/associations>/api/v1/associations</a> the SMFs; DELETE .../NODE-ID ends one, POST .../NODE-ID/release asks its SMF to\
    <li><a href=/api/v1/sessions>/api/v1/sessions</a> the PFCP sessions; ?limit=N for pages, &amp;after= what the page before says\
    </ul>\n";

/// A request of the server to the control plane.
#[derive(Debug)]
pub(crate) enum ManagementRequest {
    /// The figures of N4.
    Status(oneshot::Sender<N4Status>),
    /// All associations.
    Associations(oneshot::Sender<Vec<AssociationView>>),
    /// The sessions in a range of indexes.
    Sessions { from: u64, places: usize, reply: oneshot::Sender<SessionPart> },
    /// End the association of this node immediately. The result is the number of its sessions; `None`: there is no
    /// association.
    End { node: NodeId, reply: oneshot::Sender<Option<usize>> },
    /// Request the SMF of this node to release its association. `false`: there is none.
    Release { node: NodeId, reply: oneshot::Sender<bool> },
}

/// The state of the server.
pub(crate) struct Management {
    pub(crate) started: Time,
    pub(crate) control: mpsc::Sender<ManagementRequest>,
    pub(crate) workers: SnapshotClient,
    pub(crate) ports: Vec<PortCounters>,
    /// The pauses of the control thread, then of each packet thread.
    pub(crate) pauses: Vec<Arc<Pauses>>,
    /// The server is reachable from this host only, so that changes are allowed.
    pub(crate) may_change: bool,
}

impl Management {
    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> ManagementRequest) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        let exchange = async {
            self.control.send(ask(reply)).await.ok()?;
            answer.await.ok()
        };
        timeout(TIMEOUT, exchange).await.ok().flatten()
    }

    /// A page of sessions from an index on. O(page).
    async fn page(&self, mut from: u64, limit: usize) -> Option<SessionPage> {
        let mut page = SessionPage { total: 0, sessions: Vec::new(), after: None };
        for _ in 0..REQUESTS_PER_PAGE {
            let places = INDEXES_PER_REQUEST.min(limit - page.sessions.len());
            let part = self.ask(|reply| ManagementRequest::Sessions { from, places, reply }).await?;
            page.total = part.total;
            page.sessions.extend(part.sessions);
            page.after = part.next.map(|next| format!("{next:#x}"));
            match part.next {
                Some(next) if page.sessions.len() < limit => from = next,
                _ => break,
            }
        }
        Some(page)
    }

    async fn exposition(&self) -> Option<Exposition> {
        let n4 = self.ask(ManagementRequest::Status).await?;
        let workers = timeout(TIMEOUT, self.workers.snapshots()).await.ok().flatten()?;
        let exposition = Exposition::new(self.started, workers, self.ports.clone(), n4);
        Some(exposition.with_pauses(self.pauses.clone()))
    }
}

type Shared = State<Arc<Management>>;

/// Starts a thread that answers requests until the handle is dropped.
///
/// # Errors
/// The system has no free thread, or the runtime does not accept the listeners.
pub(crate) fn start(listeners: Vec<TcpListener>, management: Management) -> io::Result<Server> {
    let router = Router::new()
        .route("/", get(async || Html(ROOT)))
        .route("/metrics", get(metrics))
        .route("/healthz", get(health))
        .route("/api/v1/associations", get(associations))
        .route("/api/v1/associations/{node}", delete(end))
        .route("/api/v1/associations/{node}/release", post(release))
        .route("/api/v1/sessions", get(sessions))
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(Arc::new(management));
    Server::start(listeners, &router)
}

fn unhealthy() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "the daemon does not respond in time\n").into_response()
}

async fn metrics(State(management): Shared) -> Response {
    let text = management.exposition().await.and_then(|exposition| exposition.text().ok());
    let headers = [(CONTENT_TYPE, metrics::CONTENT_TYPE)];
    text.map_or_else(unhealthy, |text| (headers, text).into_response())
}

async fn health(State(management): Shared) -> Response {
    management.exposition().await.map_or_else(unhealthy, |_| "ok\n".into_response())
}

async fn associations(State(management): Shared) -> Response {
    let associations = management.ask(ManagementRequest::Associations).await;
    associations
        .map_or_else(unhealthy, |associations| Json(json!({ "associations": associations })).into_response())
}

/// The refusal of a call that changes state: it may come from another host, or from a web page in a browser.
fn forbidden(management: &Management, headers: &HeaderMap) -> Option<Response> {
    let why = if !management.may_change {
        "calls that change state are accepted only if every upf.metrics.server is a loopback address\n"
    } else if headers.contains_key(ORIGIN) {
        "calls that change state are not accepted from web pages\n"
    } else {
        return None;
    };
    Some((StatusCode::FORBIDDEN, why).into_response())
}

fn node_of(text: &str) -> NodeId {
    text.parse().map_or_else(|_| NodeId::Fqdn(text.to_owned()), NodeId::Ip)
}

fn no_association() -> Response {
    (StatusCode::NOT_FOUND, "there is no association with this Node ID; see /api/v1/associations\n")
        .into_response()
}

/// Ends an association immediately.
async fn end(State(management): Shared, headers: HeaderMap, Path(node): Path<String>) -> Response {
    if let Some(refusal) = forbidden(&management, &headers) {
        return refusal;
    }
    match management.ask(|reply| ManagementRequest::End { node: node_of(&node), reply }).await {
        None => unhealthy(),
        Some(None) => no_association(),
        Some(Some(sessions)) => Json(json!({ "sessions": sessions })).into_response(),
    }
}

/// Requests an SMF to release its association.
async fn release(State(management): Shared, headers: HeaderMap, Path(node): Path<String>) -> Response {
    if let Some(refusal) = forbidden(&management, &headers) {
        return refusal;
    }
    match management.ask(|reply| ManagementRequest::Release { node: node_of(&node), reply }).await {
        None => unhealthy(),
        Some(false) => no_association(),
        Some(true) => {
            (StatusCode::ACCEPTED, "the SMF was requested to release the association\n").into_response()
        }
    }
}

/// The query of `/api/v1/sessions`.
#[derive(Deserialize)]
struct Page {
    after: Option<String>,
    limit: Option<usize>,
}

async fn sessions(State(management): Shared, Query(page): Query<Page>) -> Response {
    let Some(after) = page.after.as_deref().map_or(Some(0), number) else {
        return (StatusCode::BAD_REQUEST, "after: give what the page before says, for example 0x2a\n")
            .into_response();
    };
    let limit = page.limit.unwrap_or(PAGE).clamp(1, PAGE);
    management.page(after, limit).await.map_or_else(unhealthy, |page| Json(page).into_response())
}

/// A number in decimal or, after `0x`, hexadecimal.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
