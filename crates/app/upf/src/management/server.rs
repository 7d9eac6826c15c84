//! The HTTP server: routes and their answers.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use causeway_types::{Seid, Time};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::metrics::{self, Exposition, N4Status, PortCounters};
use super::views::{AssociationView, SessionPage};
use crate::worker::SnapshotClient;

/// How long an answer may take before the daemon counts as unwell.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sessions on one page, at most.
const PAGE: usize = 1000;

const ROOT: &str = "<!doctype html><title>Causeway UPF</title><h1>Causeway UPF</h1><ul>\
    <li><a href=/metrics>/metrics</a> counters and gauges in OpenMetrics text\
    <li><a href=/healthz>/healthz</a> 200 when the control plane and the packet threads answer\
    <li><a href=/api/v1/associations>/api/v1/associations</a> the SMFs\
    <li><a href=/api/v1/sessions>/api/v1/sessions</a> the PFCP sessions; ?limit=N&amp;after=SEID for pages\
    </ul>\n";

/// What the server asks of the control plane.
#[derive(Debug)]
pub(crate) enum Ask {
    /// The figures of N4.
    Status(oneshot::Sender<N4Status>),
    /// All associations.
    Associations(oneshot::Sender<Vec<AssociationView>>),
    /// Sessions with a SEID above `after`, so many of them.
    Sessions { after: Seid, limit: usize, reply: oneshot::Sender<SessionPage> },
}

/// What the answers are made of.
pub(crate) struct Management {
    pub(crate) started: Time,
    pub(crate) control: mpsc::Sender<Ask>,
    pub(crate) workers: SnapshotClient,
    pub(crate) ports: Vec<PortCounters>,
}

impl Management {
    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        let exchange = async {
            self.control.send(ask(reply)).await.ok()?;
            answer.await.ok()
        };
        timeout(PATIENCE, exchange).await.ok().flatten()
    }

    async fn exposition(&self) -> Option<Exposition> {
        let n4 = self.ask(Ask::Status).await?;
        let workers = timeout(PATIENCE, self.workers.snapshots()).await.ok().flatten()?;
        Some(Exposition::new(self.started, workers, self.ports.clone(), n4))
    }
}

type Shared = State<Arc<Management>>;

/// Answers requests until the runtime ends.
pub(crate) async fn serve(listener: TcpListener, management: Arc<Management>) -> std::io::Result<()> {
    let router = Router::new()
        .route("/", get(async || Html(ROOT)))
        .route("/metrics", get(metrics))
        .route("/healthz", get(health))
        .route("/api/v1/associations", get(associations))
        .route("/api/v1/sessions", get(sessions))
        .with_state(management);
    axum::serve(listener, router).await
}

fn unwell() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "the daemon does not answer in time\n").into_response()
}

async fn metrics(State(management): Shared) -> Response {
    let text = management.exposition().await.and_then(|exposition| exposition.text().ok());
    let headers = [(CONTENT_TYPE, metrics::CONTENT_TYPE)];
    text.map_or_else(unwell, |text| (headers, text).into_response())
}

async fn health(State(management): Shared) -> Response {
    management.exposition().await.map_or_else(unwell, |_| "ok\n".into_response())
}

async fn associations(State(management): Shared) -> Response {
    let associations = management.ask(Ask::Associations).await;
    associations
        .map_or_else(unwell, |associations| Json(json!({ "associations": associations })).into_response())
}

/// The query of `/api/v1/sessions`.
#[derive(Deserialize)]
struct Page {
    after: Option<String>,
    limit: Option<usize>,
}

async fn sessions(State(management): Shared, Query(page): Query<Page>) -> Response {
    let Some(after) = page.after.as_deref().map_or(Some(0), number) else {
        return (StatusCode::BAD_REQUEST, "after: give a SEID, for example 0x2a\n").into_response();
    };
    let (after, limit) = (Seid(after), page.limit.unwrap_or(PAGE).clamp(1, PAGE));
    let page = management.ask(|reply| Ask::Sessions { after, limit, reply }).await;
    page.map_or_else(unwell, |page| Json(page).into_response())
}

/// A SEID in decimal or, after `0x`, hexadecimal.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
