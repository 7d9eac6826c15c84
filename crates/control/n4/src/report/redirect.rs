//! Reports to an SMF other than the one that assigned the session's F-SEID (TS 29.244 clauses 5.22.2 and 5.22.3).

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use causeway_pfcp::{Cause, Header, Ie, Message, RawIes, SessionReportResponse};
use causeway_types::{FSeid, Seid, Time};

use crate::transaction::Purpose;
use crate::transaction::UnansweredRequest;
use crate::{MessageResult, N4, Notice};

/// The offsets of length and SEID in a header that has a SEID (TS 29.244 clause 7.2.2.3).
const LENGTH: Range<usize> = 2..4;
const SEID: Range<usize> = 4..12;
/// The length of a header with a SEID.
const HEADER: usize = 16;

/// Changes a Session Report Request for an SMF that may not know the session: without SEID, and with the F-SEID that
/// the former SMF assigned.
pub(crate) fn readdress_report(bytes: &mut Vec<u8>, old: FSeid) {
    set_seid(bytes, Seid(0));
    let body = bytes.get(HEADER..).unwrap_or_default();
    if RawIes::new(body).map_while(Result::ok).any(|ie| ie.ie_type == FSeid::TYPE) {
        return;
    }
    let mut value = Vec::new();
    old.encode(&mut value);
    let length = u16::try_from(value.len()).unwrap_or_default();
    // Type and length of the IE are as long as the part of the header that the message length does not count.
    let Ok(counted) = u16::try_from(bytes.len() + value.len()) else { return };
    bytes.extend(FSeid::TYPE.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(value);
    if let Some(field) = bytes.get_mut(LENGTH) {
        field.copy_from_slice(&counted.to_be_bytes());
    }
}

/// Changes the SEID in the header.
pub(crate) fn set_seid(bytes: &mut [u8], seid: Seid) {
    if let Some(field) = bytes.get_mut(SEID) {
        field.copy_from_slice(&seid.0.to_be_bytes());
    }
}

impl N4 {
    /// Sends a report that got no response to the next SMF that may respond. Returns the report if there is none.
    pub(super) fn resend_to_next_peer(
        &mut self,
        now: Time,
        session: Seid,
        unanswered: UnansweredRequest<Purpose>,
    ) -> Option<UnansweredRequest<Purpose>> {
        let Some(to) = self.next_peer(session) else {
            // All were tried; the next attempt begins with the first.
            if let Some(session) = self.sessions.get_mut(session) {
                session.forget_tried();
            }
            return Some(unanswered);
        };
        let Some(held) = self.sessions.get_mut(session) else { return Some(unanswered) };
        held.get_or_create_extras().tried.push(to.ip());
        let cp = held.cp;
        self.out.notice(Notice::ReportRedirected { session, from: unanswered.to, to });
        self.transactions.resend(now, unanswered, to, |bytes| readdress_report(bytes, cp), &mut self.out);
        None
    }

    /// Follows a response that redirects a report to another SMF. False if it does not, or to an SMF that was tried
    /// already.
    pub(crate) fn handle_redirection(
        &mut self,
        now: Time,
        from: SocketAddr,
        header: &Header,
        answer: &Message<'_>,
    ) -> bool {
        let Message::SessionReportResponse(answer) = answer else { return false };
        let Some((session, ip)) = self.redirection(from, header, answer) else { return false };
        let Some(held) = self.sessions.get_mut(session) else { return false };
        held.get_or_create_extras().tried.push(ip);
        let cp = held.cp;
        let Some(association) = self.associations.get(held.association) else { return false };
        let known = self.associations.of_set(association.id).find(|it| it.peer.ip() == ip).map(|it| it.peer);
        let to = known.unwrap_or(SocketAddr::new(ip, association.peer.port()));
        let sent =
            self.transactions.redirect_one(now, header.sequence, to, |bytes| readdress_report(bytes, cp));
        let Some((request, bytes)) = sent else { return false };
        self.out.notice(Notice::ReportRedirected { session, from, to });
        self.out.send(to, request, MessageResult::Repeated, bytes);
        true
    }

    /// The session whose report is redirected, and the destination: an SMF of its set that has not received it.
    fn redirection(
        &self,
        from: SocketAddr,
        header: &Header,
        answer: &SessionReportResponse<'_>,
    ) -> Option<(Seid, IpAddr)> {
        let ip = answer.alternative_smf_ip_address.filter(|_| answer.cause == Cause::RedirectionRequested)?;
        let ip = ip.addr.preferred()?;
        let Purpose::Report { session, .. } = self.transactions.purpose(from, header.sequence)? else {
            return None;
        };
        let held = self.sessions.get(*session)?;
        let may = !held.has_tried(ip) && ip != from.ip() && self.is_host_of(held.association, ip);
        may.then_some((*session, ip))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use causeway_pfcp::{ReportType, SessionReportRequest};

    use super::*;

    // Input:  a report to the SMF that assigned SEID 7, changed for another SMF, twice.
    // Output: SEID 0 and the F-SEID once; it decodes.
    #[test]
    fn another_smf_gets_the_former_f_seid() {
        let mut bytes = Vec::new();
        let request = SessionReportRequest::new(ReportType::UPIR);
        Message::from(request).encode(Some(Seid(7)), 5, &mut bytes).unwrap();
        let old = FSeid { seid: Seid(7), addr: Ipv4Addr::new(192, 0, 2, 9).into() };
        readdress_report(&mut bytes, old);
        let once = bytes.clone();
        readdress_report(&mut bytes, old);
        assert_eq!(bytes, once);
        let (header, body, rest) = Header::decode(&bytes).unwrap();
        assert_eq!((header.seid, header.sequence, rest), (Some(Seid(0)), 5, &[][..]));
        let Ok(Message::SessionReportRequest(request)) = Message::decode(&header, body) else { panic!() };
        assert_eq!(request.old_cp_f_seid, Some(old));
    }
}
