//! Which rules are on a switch.

use axum::Json;
use axum::extract::State;
use causeway_dataplane::PlacedRule;

use super::query::{Parameters, PlacementQuery};
use super::refusal::Refusal;
use super::server::{ManagementRequest, Shared, in_time};
use super::views::{PlacedRuleView, PlacementView, ProblemView};

/// Which rules are on the switch of the hybrid data plane, and why; what each side handles, and what has moved.
///
/// A rule is one direction of a session. Without `seid` the rules that are not at rest in the software are listed, and those that
/// the switch did not take, the highest rates first; with it both rules of that session.
#[utoipa::path(
    get, path = "/api/v1/placement", tag = "UPF",
    params(PlacementQuery),
    responses(
        (status = 200, description = "The placement", body = PlacementView),
        (status = 400, description = "A parameter is unknown or malformed", body = ProblemView, content_type = "application/problem+json"),
        (status = 404, description = "There is no such session", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn placement(
    State(management): Shared,
    Parameters(query): Parameters<PlacementQuery>,
) -> Result<Json<PlacementView>, Refusal> {
    let wanted = query.seid();
    let (placement, rules) = in_time(management.workers.placed_rules(wanted, query.limit())).await?;
    let seids = rules.iter().map(|rule| rule.session).chain(wanted).collect();
    let (clock, sessions) = management.ask(|reply| ManagementRequest::SessionsOf { seids, reply }).await?;
    if let Some(seid) = wanted.filter(|seid| !sessions.contains_key(seid)) {
        return Err(Refusal::UnknownSession(seid));
    }
    let figures = placement.as_ref().map(PlacementView::of).unwrap_or_default();
    let keys = management.upf().hybrid.clone();
    let is_full = figures.total >= figures.rules.capacity;
    let view = |rule: &PlacedRule| {
        let session = sessions.get(&rule.session);
        PlacedRuleView {
            ue: session.map(|session| session.ue.clone()).unwrap_or_default(),
            smf: session.map(|session| session.node_id.clone()),
            ..PlacedRuleView::of(rule, clock, &keys, is_full)
        }
    };
    Ok(Json(PlacementView { listed: rules.iter().map(view).collect(), ..figures }))
}
