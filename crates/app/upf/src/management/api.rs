//! The operations of the management API.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::ORIGIN;
use axum::http::{HeaderMap, StatusCode};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::filter::SessionFilter;
use super::query::{Parameters, SessionQuery, nodes_of, seid_of};
use super::refusal::Refusal;
use super::server::{Management, ManagementRequest, Shared};
use super::views::{
    Associations, EndedAssociation, ProblemView, RequestedRelease, SessionDetail, SessionPage,
};
use super::{capture, chain, explain, heavy_hitters, operate, placement, switch, system, trace};

/// Maximum number of requests to the control thread for one page. If few sessions match, a page has fewer sessions than
/// requested.
const REQUESTS_PER_PAGE: usize = 256;

#[derive(OpenApi)]
#[openapi(info(
    title = "Causeway management API",
    description = "Sessions, associations and state of one UPF.",
    license(name = "Apache-2.0", identifier = "Apache-2.0"),
))]
struct Description;

/// The routes with their description.
pub(super) fn router() -> OpenApiRouter<Arc<Management>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(associations))
        .routes(routes!(end))
        .routes(routes!(release))
        .routes(routes!(sessions))
        .routes(routes!(session))
        .routes(routes!(explain::explain))
        .routes(routes!(trace::trace))
        .routes(routes!(capture::capture))
        .routes(routes!(system::status))
        .routes(routes!(system::peers))
        .routes(routes!(system::pools))
        .routes(routes!(system::workers))
        .routes(routes!(system::interfaces))
        .routes(routes!(system::drops))
        .routes(routes!(heavy_hitters::heavy_hitters))
        .routes(routes!(switch::switch))
        .routes(routes!(placement::placement))
        .routes(routes!(chain::chain))
        .routes(routes!(system::config))
        .routes(routes!(system::events))
        .routes(routes!(operate::reload))
        .routes(routes!(operate::log_level))
        .routes(routes!(operate::drain))
}

/// The associations with SMFs.
#[utoipa::path(
    get, path = "/api/v1/associations", tag = "N4",
    responses(
        (status = 200, description = "All associations, the oldest first", body = Associations),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
async fn associations(State(management): Shared) -> Result<Json<Associations>, Refusal> {
    let associations = management.ask(ManagementRequest::Associations).await?;
    Ok(Json(Associations { associations }))
}

/// The refusal of a call that changes state and comes from a web page in a browser.
pub(super) fn refuse_change(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(ORIGIN) { Err(Refusal::WebPage) } else { Ok(()) }
}

/// Ends an association immediately; its sessions are removed.
#[utoipa::path(
    delete, path = "/api/v1/associations/{node}", tag = "N4",
    params(("node" = String, Path, description = "The Node ID of the SMF: an address or a host name", example = "192.0.2.21")),
    responses(
        (status = 200, description = "The association has ended", body = EndedAssociation),
        (status = 403, description = "Not from there, or from a web page", body = ProblemView, content_type = "application/problem+json"),
        (status = 404, description = "There is no such association", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
async fn end(
    State(management): Shared,
    headers: HeaderMap,
    Path(node): Path<String>,
) -> Result<Json<EndedAssociation>, Refusal> {
    refuse_change(&headers)?;
    for node in nodes_of(&node) {
        if let Some(sessions) = management.ask(|reply| ManagementRequest::End { node, reply }).await? {
            return Ok(Json(EndedAssociation { sessions: sessions as u64 }));
        }
    }
    Err(Refusal::UnknownAssociation)
}

/// Requests an SMF to release its association.
#[utoipa::path(
    post, path = "/api/v1/associations/{node}/release", tag = "N4",
    params(("node" = String, Path, description = "The Node ID of the SMF: an address or a host name", example = "192.0.2.21")),
    responses(
        (status = 202, description = "The SMF was requested to release the association", body = RequestedRelease),
        (status = 403, description = "Not from there, or from a web page", body = ProblemView, content_type = "application/problem+json"),
        (status = 404, description = "There is no such association", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
async fn release(
    State(management): Shared,
    headers: HeaderMap,
    Path(node): Path<String>,
) -> Result<(StatusCode, Json<RequestedRelease>), Refusal> {
    refuse_change(&headers)?;
    for known in nodes_of(&node) {
        if management.ask(|reply| ManagementRequest::Release { node: known, reply }).await? {
            return Ok((StatusCode::ACCEPTED, Json(RequestedRelease { node_id: node })));
        }
    }
    Err(Refusal::UnknownAssociation)
}

/// The PFCP sessions, in pages.
///
/// Filters restrict them; each one given must match. `seid`, `teid`, `cp_seid` with an address, and a `ue` to which
/// packets from a data network go are looked up in an index. Other filters are compared with every session, in steps: a
/// page may end early, with fewer sessions or none, and `after` continues it.
#[utoipa::path(
    get, path = "/api/v1/sessions", tag = "Sessions",
    params(SessionQuery),
    responses(
        (status = 200, description = "A page of sessions", body = SessionPage),
        (status = 400, description = "A parameter is unknown or malformed", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
async fn sessions(
    State(management): Shared,
    Parameters(query): Parameters<SessionQuery>,
) -> Result<Json<SessionPage>, Refusal> {
    let (after, most) = (query.after(), query.limit());
    let filter = Arc::new(query.filter());
    if after.is_none() && filter.is_indexed() {
        let wanted = Arc::clone(&filter);
        let find = |reply| ManagementRequest::FindSessions { most, filter: wanted, reply };
        if let Some(found) = management.ask(find).await? {
            let mut page = SessionPage { total: found.total, sessions: found.sessions, after: None };
            management.add_classes(&mut page.sessions).await?;
            return Ok(Json(page));
        }
    }
    let mut page = page(&management, after.unwrap_or(0), most, &filter).await?;
    management.add_classes(&mut page.sessions).await?;
    Ok(Json(page))
}

/// A page of sessions from an index on. O(page).
async fn page(
    management: &Management,
    mut from: u64,
    most: usize,
    filter: &Arc<SessionFilter>,
) -> Result<SessionPage, Refusal> {
    let mut page = SessionPage { total: 0, sessions: Vec::new(), after: None };
    for _ in 0..REQUESTS_PER_PAGE {
        let (most, filter) = (most - page.sessions.len(), Arc::clone(filter));
        let part = management.ask(|reply| ManagementRequest::Sessions { from, most, filter, reply }).await?;
        page.total = part.total;
        let is_full = part.sessions.len() >= most;
        page.sessions.extend(part.sessions);
        page.after = part.next.map(|next| format!("{next:#x}"));
        match part.next {
            Some(next) if !is_full => from = next,
            _ => break,
        }
    }
    Ok(page)
}

/// One session with its rules and its state in the data plane.
#[utoipa::path(
    get, path = "/api/v1/sessions/{seid}", tag = "Sessions",
    params(("seid" = String, Path, pattern = "^(0x[0-9a-fA-F]{1,16}|[0-9]{1,19})$", description = "The UPF's SEID, in decimal or, after `0x`, hexadecimal", example = "0x2a")),
    responses(
        (status = 200, description = "The session", body = SessionDetail),
        (status = 400, description = "This is no SEID", body = ProblemView, content_type = "application/problem+json"),
        (status = 404, description = "There is no such session", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
async fn session(
    State(management): Shared,
    Path(text): Path<String>,
) -> Result<Json<SessionDetail>, Refusal> {
    let seid = seid_of(&text).ok_or(Refusal::NoSeid(text))?;
    let found = management.ask(|reply| ManagementRequest::Session { seid, reply }).await?;
    let session = found.ok_or(Refusal::UnknownSession(seid))?;
    let mut detail = session.with_state(management.state_of(seid).await?);
    management.add_classes(std::slice::from_mut(&mut detail.session)).await?;
    Ok(Json(detail))
}
