//! Responses to the UPF's requests.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use causeway_pfcp::{
    AssociationReleaseResponse, AssociationSetupResponse, AssociationUpdateResponse, Cause,
    HeartbeatResponse, Message, NodeReportResponse, RecoveryTimeStamp, SessionReportRequest,
    SessionReportResponse,
};
use causeway_types::{NtpSeconds, Seid};

use super::build::node;
use super::decode;
use super::model::SessionReport;

/// The UPF's SEIDs by the SMF's, of the established sessions.
pub(super) type Sessions = Arc<Mutex<HashMap<Seid, Seid>>>;

/// What answering takes.
pub(super) struct Server {
    pub(super) address: Ipv4Addr,
    pub(super) recovery: NtpSeconds,
    pub(super) sessions: Sessions,
    pub(super) reports: Sender<SessionReport>,
}

impl Server {
    /// The response to a request, and to whom it goes: the SEID of the receiver. `None` leaves it unanswered.
    pub(super) fn answer(&self, request: &[u8]) -> Option<(Message<'static>, Option<Seid>)> {
        let (header, message) = decode::message(request).ok()?;
        let node = node(self.address);
        let accepted = Cause::RequestAccepted;
        let recovery = RecoveryTimeStamp(self.recovery);
        let response: Message<'static> = match message {
            Message::HeartbeatRequest(_) => HeartbeatResponse::new(recovery).into(),
            Message::AssociationSetupRequest(_) => {
                let response = AssociationSetupResponse::new(node, accepted);
                AssociationSetupResponse { recovery_time_stamp: Some(recovery), ..response }.into()
            }
            Message::AssociationUpdateRequest(_) => AssociationUpdateResponse::new(node, accepted).into(),
            Message::AssociationReleaseRequest(_) => AssociationReleaseResponse::new(node, accepted).into(),
            Message::NodeReportRequest(_) => NodeReportResponse::new(node, accepted).into(),
            Message::SessionReportRequest(report) => return self.report(header.seid?, &report),
            _ => return None,
        };
        Some((response, None))
    }

    fn report(
        &self,
        session: Seid,
        report: &SessionReportRequest<'_>,
    ) -> Option<(Message<'static>, Option<Seid>)> {
        let known = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).get(&session).copied();
        let Some(up_seid) = known else {
            let refused = SessionReportResponse::new(Cause::SessionContextNotFound);
            return Some((refused.into(), Some(Seid(0))));
        };
        let downlink_data = report.downlink_data_report.iter().flat_map(|data| data.pdr_ids.iter());
        let errors = report.error_indication_report.iter().flat_map(|report| report.remote_f_teids.iter());
        let report = SessionReport {
            session,
            downlink_data: downlink_data.collect(),
            usage: decode::usage(&report.usage_reports),
            error_indications: errors.filter_map(|tunnel| tunnel.assigned()).collect(),
        };
        // Nobody may be interested any more; the UPF gets its answer all the same.
        let _ = self.reports.send(report);
        Some((SessionReportResponse::new(Cause::RequestAccepted).into(), Some(up_seid)))
    }
}
