//! The P4 switch whose tables the UPF fills.

use axum::Json;
use axum::extract::State;

use super::refusal::Refusal;
use super::server::{Shared, in_time};
use super::views::{ProblemView, SwitchStateView, SwitchView};

/// The P4 switch: its tables with their fill and stages, and who has access to the accounting tables.
///
/// `switch` is absent where no P4 switch is the data plane. Entries are those that the UPF has written, without those of changes in
/// flight. The answer has one item for each table of the program, about fifty.
#[utoipa::path(
    get, path = "/api/v1/switch", tag = "UPF",
    responses(
        (status = 200, description = "The switch, if there is one", body = SwitchView),
        (status = 503, description = "The daemon is busy or ending", body = ProblemView, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn switch(State(management): Shared) -> Result<Json<SwitchView>, Refusal> {
    let state = in_time(management.workers.switch_state()).await?;
    let upf = management.upf();
    let address = upf.driven_switch().map(|(_, address)| address.to_owned());
    Ok(Json(SwitchView { switch: state.map(|state| SwitchStateView::of(state, address)) }))
}
