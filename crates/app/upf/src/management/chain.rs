//! The chain of two daemons.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::refusal::Refusal;
use super::server::{ManagementRequest, Shared};
use super::views::ProblemView;
use crate::chain::ChainStatus;

/// The chain, if there is one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
pub(super) struct ChainReply {
    /// The chain; absent where the daemon is in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<ChainStatus>,
}

/// The chain of two daemons whose primary this is: its epoch and members, and how far the standby is.
#[utoipa::path(
    get, path = "/api/v1/chain", tag = "UPF",
    responses(
        (status = 200, description = "The chain, if there is one", body = ChainReply),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn chain(State(management): Shared) -> Result<Json<ChainReply>, Refusal> {
    let status = management.ask(ManagementRequest::Status).await?;
    Ok(Json(ChainReply { chain: status.chain }))
}
