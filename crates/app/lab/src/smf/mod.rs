//! An emulated SMF on a real N4 socket, with a blocking interface.
//!
//! It sets up sessions of one structure: an uplink and a downlink PDR, a FAR for each, one QER and one URR. Requests
//! are retransmitted as TS 29.244 clause 6.4 specifies; a thread responds to the UPF's requests immediately.

mod build;
mod bulk;
mod decode;
mod describe;
mod exchange;
mod model;
mod responses;

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use causeway_pfcp::{Cause, Header, Message, OffendingIe};
use causeway_types::{NodeId, NtpSeconds, Seid, WallTime};

pub use bulk::{BulkSmf, SmfEvent};
pub use model::*;

use crate::LabError;
use crate::netns::Namespace;
use crate::timeline::Timeline;
use exchange::{Exchange, RetransmissionTimer};
use responses::{Server, Sessions};

/// T1 and N1 of all requests but the first.
const TIMEOUT: RetransmissionTimer = RetransmissionTimer { t1: Duration::from_millis(500), times: 20 };

/// One SMF towards one UPF.
pub struct Smf {
    exchange: Exchange,
    address: Ipv4Addr,
    recovery: NtpSeconds,
    next_seid: AtomicU64,
    sessions: Sessions,
    reports: Mutex<Receiver<SessionReport>>,
}

/// What the UPF said when the association was set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Association {
    /// Who it is.
    pub node: NodeId,
    /// What it can do beyond the mandatory, by the names of TS 29.244 table 8.2.25-1.
    pub features: String,
}

impl Smf {
    /// Opens the N4 socket in the namespace. Nothing is sent yet.
    ///
    /// # Errors
    /// [`LabError::Io`], for example when the address is not there or port 8805 is taken.
    pub fn open(
        namespace: &Namespace,
        address: Ipv4Addr,
        upf: Ipv4Addr,
        timeline: Timeline,
    ) -> Result<Self, LabError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let recovery = WallTime::from_secs(since.as_secs()).to_ntp();
        let (sender, reports) = channel();
        let sessions = Sessions::default();
        let server = Server { address, recovery, sessions: sessions.clone(), reports: sender };
        let exchange = Exchange::open(namespace, address, upf, server, timeline)?;
        let next_seid = AtomicU64::new(1);
        Ok(Self { exchange, address, recovery, next_seid, sessions, reports: Mutex::new(reports) })
    }

    /// Sends one Heartbeat Request, which needs no association.
    ///
    /// # Errors
    /// [`LabError::Timeout`] when it is not answered in time.
    pub fn probe(&self, within: Duration) -> Result<(), LabError> {
        let patience = RetransmissionTimer { t1: within, times: 1 };
        let response = self.exchange.request(build::heartbeat(self.recovery), None, patience)?;
        match decode::message(&response)?.1 {
            Message::HeartbeatResponse(_) => Ok(()),
            other => Err(decode::unexpected(&other)),
        }
    }

    /// Sets up the association.
    ///
    /// # Errors
    /// [`LabError::Timeout`], or [`LabError::Peer`] with the cause of a refusal.
    pub fn associate(&self) -> Result<Association, LabError> {
        let request = build::association(self.address, self.recovery);
        let response = self.exchange.request(request, None, TIMEOUT)?;
        let Message::AssociationSetupResponse(response) = decode::message(&response)?.1 else {
            return Err(LabError::Peer("the UPF did not answer the association setup as such".into()));
        };
        decode::accepted("association", response.cause, None)?;
        let features = response.up_function_features.unwrap_or_default();
        let names: Vec<_> = features.iter_names().map(|(name, _)| name).collect();
        Ok(Association { node: response.node_id.to_owned(), features: names.join(" ") })
    }

    /// Sets up a session. Its downlink is buffered until [`Smf::set_downlink`].
    ///
    /// # Errors
    /// As [`Smf::associate`]; also when the UPF chose no tunnel or no SEID.
    pub fn establish(&self, plan: &SessionPlan) -> Result<Session, LabError> {
        let cp_seid = Seid(self.next_seid.fetch_add(1, Ordering::Relaxed));
        let request = build::establishment(self.address, cp_seid, plan);
        let response = self.exchange.request(request, Some(Seid(0)), TIMEOUT)?;
        let (header, message) = decode::message(&response)?;
        let Message::SessionEstablishmentResponse(response) = message else {
            return Err(decode::unexpected(&message));
        };
        decode::accepted("session", response.cause, response.offending_ie)?;
        own(header, cp_seid)?;
        let no_seid = || LabError::Peer("the UPF gave no F-SEID".into());
        let up_seid = response.up_f_seid.ok_or_else(no_seid)?.seid;
        self.sessions().insert(cp_seid, up_seid);
        Ok(Session { cp_seid, up_seid, uplink: decode::uplink(&response.created_pdrs)? })
    }

    /// Changes what becomes of a session's downlink.
    ///
    /// # Errors
    /// As [`Smf::associate`].
    pub fn set_downlink(&self, session: &Session, downlink: Downlink) -> Result<(), LabError> {
        self.modify(session, build::downlink(downlink)).map(drop)
    }

    /// Asks for the usage since the last report, and lets the volume threshold count from zero: without giving
    /// it anew, what is reported here would still count towards it (TS 29.244 clause 5.2.2.3.1).
    ///
    /// # Errors
    /// As [`Smf::associate`].
    pub fn query_and_rearm(&self, session: &Session, volume_threshold: u64) -> Result<Vec<Usage>, LabError> {
        self.modify(session, build::query_and_rearm(volume_threshold))
    }

    fn modify(&self, session: &Session, request: Message<'_>) -> Result<Vec<Usage>, LabError> {
        let response = self.exchange.request(request, Some(session.up_seid), TIMEOUT)?;
        let (header, message) = decode::message(&response)?;
        let Message::SessionModificationResponse(response) = message else {
            return Err(decode::unexpected(&message));
        };
        self.answered(header, session, "modification", response.cause, response.offending_ie)?;
        Ok(decode::usage(&response.usage_reports))
    }

    /// Deletes a session. Returns its final usage.
    ///
    /// # Errors
    /// As [`Smf::associate`].
    pub fn delete(&self, session: &Session) -> Result<Vec<Usage>, LabError> {
        let response = self.exchange.request(build::deletion(), Some(session.up_seid), TIMEOUT)?;
        let (header, message) = decode::message(&response)?;
        let Message::SessionDeletionResponse(response) = message else {
            return Err(decode::unexpected(&message));
        };
        self.answered(header, session, "deletion", response.cause, response.offending_ie)?;
        self.sessions().remove(&session.cp_seid);
        Ok(decode::usage(&response.usage_reports))
    }

    /// Releases the association.
    ///
    /// # Errors
    /// As [`Smf::associate`].
    pub fn release(&self) -> Result<(), LabError> {
        let request = build::association_release(self.address);
        let response = self.exchange.request(request, None, TIMEOUT)?;
        match decode::message(&response)?.1 {
            Message::AssociationReleaseResponse(response) => {
                decode::accepted("association release", response.cause, None)
            }
            other => Err(decode::unexpected(&other)),
        }
    }

    /// The next Session Report Request, which has been answered already. Each is told once.
    ///
    /// # Errors
    /// [`LabError::Timeout`] when none arrives in time.
    pub fn next_report(&self, within: Duration) -> Result<SessionReport, LabError> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let late = || LabError::Timeout { what: "a Session Report Request".into(), within };
        let report = reports.try_recv().ok();
        report.or_else(|| exchange::within(within, |wait| reports.recv_timeout(wait).ok())).ok_or_else(late)
    }

    /// Retransmitted requests of the SMF.
    pub fn retransmissions(&self) -> u64 {
        self.exchange.retransmissions()
    }

    fn answered(
        &self,
        header: Header,
        session: &Session,
        what: &str,
        cause: Cause,
        offending: Option<OffendingIe>,
    ) -> Result<(), LabError> {
        decode::accepted(what, cause, offending)?;
        own(header, session.cp_seid)
    }

    fn sessions(&self) -> MutexGuard<'_, std::collections::HashMap<Seid, Seid>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A response carries our SEID (TS 29.244 clause 7.2.2.4.2).
fn own(header: Header, cp_seid: Seid) -> Result<(), LabError> {
    if header.seid == Some(cp_seid) {
        return Ok(());
    }
    Err(LabError::Peer(format!("the UPF answered session {cp_seid} with SEID {:?}", header.seid)))
}

#[cfg(test)]
mod tests;
