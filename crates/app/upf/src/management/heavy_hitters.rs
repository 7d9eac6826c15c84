//! The heavy hitters.

use std::cmp::Reverse;

use axum::Json;
use axum::extract::State;
use causeway_dataplane::{HeavyHitter, Threshold};

use super::query::{HeavyHitterQuery, Parameters};
use super::refusal::Refusal;
use super::server::{ManagementRequest, Shared, in_time};
use super::views::{HeavyHitterView, HeavyHittersView, ProblemView};
use crate::worker::Snapshot;

/// The flows that are heavy hitters now, the highest rates first.
#[utoipa::path(
    get, path = "/api/v1/heavy-hitters", tag = "UPF",
    params(HeavyHitterQuery),
    responses(
        (status = 200, description = "The flows", body = HeavyHittersView),
        (status = 400, description = "A parameter is unknown or malformed", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn heavy_hitters(
    State(management): Shared,
    Parameters(query): Parameters<HeavyHitterQuery>,
) -> Result<Json<HeavyHittersView>, Refusal> {
    let snapshots = in_time(management.workers.snapshots()).await?;
    let list = snapshots.iter().fold(Snapshot::default(), Snapshot::with).heavy_hitters.unwrap_or_default();
    let mut flows = list.flows;
    let total = flows.len();
    let upf = management.upf();
    let config = upf.traffic.heavy_hitters.clone();
    let window = config.window_of(upf.dataplane);
    let rate = |hitter: &HeavyHitter| match config.threshold.map(|threshold| threshold.0) {
        Some(Threshold::PacketsPerSecond(_)) => hitter.packets_per_second,
        _ => hitter.bits_per_second,
    };
    flows.sort_by_key(|hitter| (Reverse(rate(hitter)), hitter.since));
    flows.truncate(query.limit());
    let seids = flows.iter().filter_map(|hitter| hitter.flow.session).collect();
    let (clock, sessions) = management.ask(|reply| ManagementRequest::SessionsOf { seids, reply }).await?;
    let view = |hitter: &HeavyHitter| {
        let session = hitter.flow.session.and_then(|seid| sessions.get(&seid));
        let smf = session.map(|session| session.node_id.clone());
        HeavyHitterView { smf, ..HeavyHitterView::of(hitter, clock) }
    };
    Ok(Json(HeavyHittersView {
        enabled: config.threshold.is_some(),
        threshold: config.threshold.map(|threshold| threshold.to_string()),
        window_ms: u64::try_from(window.as_millis()).unwrap_or(u64::MAX),
        total,
        flows: flows.iter().map(view).collect(),
        unlisted: list.counts.unlisted,
    }))
}
