//! One look at the UPF.

use std::collections::BTreeMap;
use std::time::Instant;

use causeway_upf::management::views::{
    InterfaceView, Interfaces, SessionDetail, SessionPage, StatusView, WorkerView, Workers,
};

use crate::client::{Client, ClientError};
use crate::commands::sessions::Filters;

/// What the UPF showed at a time.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) at: Instant,
    pub(super) status: StatusView,
    /// Sessions by SEID.
    pub(super) sessions: BTreeMap<String, SessionDetail>,
    pub(super) interfaces: Vec<InterfaceView>,
    pub(super) workers: Vec<WorkerView>,
}

impl Reading {
    /// Looks at at most so many sessions that match the filters.
    pub(super) fn take(client: &Client, filters: &Filters, limit: u16) -> Result<Self, ClientError> {
        let mut parameters = filters.parameters();
        parameters.push(("limit", limit.to_string()));
        let page: SessionPage = client.get("/api/v1/sessions", &parameters)?;
        let mut sessions = BTreeMap::new();
        for session in page.sessions {
            match client.get::<SessionDetail>(&format!("/api/v1/sessions/{}", session.seid), &[]) {
                Ok(detail) => drop(sessions.insert(session.seid, detail)),
                // It has ended meanwhile.
                Err(ClientError::Refused { status: 404, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let interfaces: Interfaces = client.get("/api/v1/interfaces", &[])?;
        let workers: Workers = client.get("/api/v1/workers", &[])?;
        let status = client.get("/api/v1/status", &[])?;
        let (interfaces, workers) = (interfaces.interfaces, workers.workers);
        Ok(Self { at: Instant::now(), status, sessions, interfaces, workers })
    }
}
