//! Preparation of a switch once this controller is primary: its program, and what the program needs before any rule.

use tonic::{Code, Status};
use tracing::warn;

use super::calls::Calls;
use super::error::SessionError;
use super::options::CopySession;
use super::worker::Shared;
use crate::info::{Addresses, Schema};
use crate::wire::{
    Atomicity, CloneSession, Cookie, Entity, ForwardingPipelineConfig, P4Error, Replica, ReplicationEntry,
    ReplicationKind, Status as WireStatus, Update, UpdateKind, What,
};

/// Ensures that the switch runs the program; true if it was loaded, with empty tables.
pub(super) async fn prepare(shared: &Shared, calls: &Calls) -> Result<bool, SessionError> {
    let runs = calls.pipeline().await.map_err(SessionError::NoProgram)?;
    let runs_this_program = runs.is_some_and(|runs| runs_this_program(shared, &runs));
    if !runs_this_program {
        let config = ForwardingPipelineConfig {
            p4info: Some(shared.info.encoded.clone()),
            device_config: shared.device_config.clone(),
            cookie: Some(Cookie { cookie: shared.cookie }),
        };
        calls.load(config).await.map_err(SessionError::ProgramRefused)?;
    }
    for update in local_addresses(shared) {
        set_up(shared, calls, "the local addresses in the parser's value sets", update).await?;
    }
    for copies in &shared.options.copies {
        set_up(shared, calls, "a clone session for copies", clone_session(*copies)).await?;
    }
    Ok(!runs_this_program)
}

/// Whether the switch runs the configured program: it returns the same cookie, or, if only a P4Info is configured, the
/// same P4Info.
fn runs_this_program(shared: &Shared, runs: &ForwardingPipelineConfig) -> bool {
    if runs.cookie.is_some_and(|cookie| cookie.cookie == shared.cookie) {
        return true;
    }
    let theirs = runs.p4info.as_ref().and_then(|info| Schema::of_encoded(info).ok());
    shared.device_config.is_empty() && theirs.is_some_and(|theirs| theirs == shared.info.schema)
}

/// The value sets of addresses. That of GTP-U stays as it is if there are none; those of the underlay are of programs with VXLAN alone.
fn local_addresses(shared: &Shared) -> Vec<Update> {
    let sets = shared.info.schema.value_sets.iter().filter(|set| set.key.1.width == 32);
    let values = sets.filter_map(|set| Some((set, set.addresses?)));
    let values = values.map(|(set, of)| (set, of.values(&shared.options.local, &shared.options.underlay)));
    let written = values.filter(|(set, values)| set.addresses != Some(Addresses::Gtpu) || !values.is_empty());
    written.map(|(set, values)| update(UpdateKind::Modify, What::ValueSet(set.to_wire(&values)))).collect()
}

fn clone_session(copies: CopySession) -> Update {
    let replica = Replica { egress_port: copies.port, instance: 1 };
    let session = CloneSession { session_id: copies.session, replicas: vec![replica] };
    let kind = Some(ReplicationKind::Clone(session));
    update(UpdateKind::Insert, What::Replication(ReplicationEntry { kind }))
}

fn update(kind: UpdateKind, what: What) -> Update {
    Update { kind: kind as i32, entity: Some(Entity::from(what)) }
}

/// Writes configuration that not every switch supports over P4Runtime: where it is unsupported, it must be configured
/// by other means, and a warning is logged.
async fn set_up(
    shared: &Shared,
    calls: &Calls,
    what: &'static str,
    update: Update,
) -> Result<(), SessionError> {
    let Err(status) = calls.send_batch(vec![update], Atomicity::ContinueOnError).await else { return Ok(()) };
    let part = WireStatus::parts(status.details(), 1).and_then(|parts| parts.into_iter().next());
    let (code, message) = match part {
        Some(P4Error { canonical_code, message }) => (Code::from(canonical_code), message),
        None => (status.code(), status.message().to_owned()),
    };
    match code {
        Code::AlreadyExists => Ok(()),
        Code::Unimplemented => {
            let switch = &shared.options.address;
            warn!(switch, "the switch does not support {what} over P4Runtime: {message}");
            Ok(())
        }
        code => Err(SessionError::SetUpRefused { what, status: Status::new(code, message) }),
    }
}
