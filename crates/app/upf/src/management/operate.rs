//! Operations on the UPF as a whole: reload, log level, draining.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::HeaderMap;

use super::api::refuse_change;
use super::refusal::Refusal;
use super::server::{ManagementRequest, Shared};
use super::views::{DrainRequest, DrainView, LogLevelView, ProblemView, ReloadedView};
use crate::config::Level;
use crate::owner::OwnerRequest;

/// Reads the configuration file again, and applies the keys that a running UPF follows.
///
/// A file with an error changes nothing. Sessions, associations and packets are not touched. `GET /api/v1/config` shows
/// what is in force; `causeway config keys` lists the keys with their effect.
#[utoipa::path(
    post, path = "/api/v1/reload", tag = "UPF",
    responses(
        (status = 200, description = "What changed", body = ReloadedView),
        (status = 403, description = "Not from there, or from a web page", body = ProblemView, content_type = "application/problem+json"),
        (status = 422, description = "The file has errors; the configuration in force stays", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn reload(
    State(management): Shared,
    headers: HeaderMap,
) -> Result<Json<ReloadedView>, Refusal> {
    refuse_change(&headers)?;
    let reloaded = management.ask_owner(|reply| OwnerRequest::Reload { reply }).await?;
    let reloaded = reloaded.map_err(|errors| Refusal::Configuration(errors.to_string()))?;
    Ok(Json(ReloadedView { applied: reloaded.applied, at_restart: reloaded.at_restart }))
}

/// Sets the level of the logs, until the next start or reload.
#[utoipa::path(
    put, path = "/api/v1/log-level", tag = "UPF",
    request_body = LogLevelView,
    responses(
        (status = 200, description = "The level is in force", body = LogLevelView),
        (status = 400, description = "This is no level", body = ProblemView, content_type = "application/problem+json"),
        (status = 403, description = "Not from there, or from a web page", body = ProblemView, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn log_level(
    State(management): Shared,
    headers: HeaderMap,
    body: Result<Json<LogLevelView>, JsonRejection>,
) -> Result<Json<LogLevelView>, Refusal> {
    refuse_change(&headers)?;
    let form = r#"{"level": "info"}, or error, warn, debug or trace"#;
    let Json(view) = body.map_err(|rejection| Refusal::of_body(&rejection, form))?;
    let named = Level::ALL.iter().find(|level| level.word() == view.level);
    let level = *named.ok_or_else(|| Refusal::NoLevel(view.level.clone()))?;
    management.ask_owner(|reply| OwnerRequest::LogLevel { level, reply }).await?;
    Ok(Json(view))
}

/// Begins or ends draining: whether new sessions are accepted.
///
/// While the UPF is being drained, it rejects new sessions with PFCP cause 75 (No resources available), reports a load of
/// 100 % to SMFs that support load control, and `/readyz` answers 503. Associations and existing sessions stay. A restart
/// ends it.
#[utoipa::path(
    put, path = "/api/v1/drain", tag = "UPF",
    request_body = DrainRequest,
    responses(
        (status = 200, description = "The state from now on", body = DrainView),
        (status = 400, description = "This is no state", body = ProblemView, content_type = "application/problem+json"),
        (status = 403, description = "Not from there, or from a web page", body = ProblemView, content_type = "application/problem+json"),
        (status = 413, description = "The body is too large", body = ProblemView, content_type = "application/problem+json"),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn drain(
    State(management): Shared,
    headers: HeaderMap,
    body: Result<Json<DrainRequest>, JsonRejection>,
) -> Result<Json<DrainView>, Refusal> {
    refuse_change(&headers)?;
    let form = r#"{"draining": true} or {"draining": false}"#;
    let Json(DrainRequest { draining }) = body.map_err(|rejection| Refusal::of_body(&rejection, form))?;
    let ask = |reply| ManagementRequest::Drain { is_draining: draining, reply };
    let sessions = management.ask(ask).await?;
    Ok(Json(DrainView { draining, sessions }))
}
