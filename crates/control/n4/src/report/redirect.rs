//! The receiver of reports, which may be another SMF than the one that assigned the session's F-SEID (TS 29.244 clauses
//! 5.22.2 and 5.22.3).

use std::net::SocketAddr;
use std::ops::Range;

use causeway_pfcp::{Ie, RawIes};
use causeway_types::{FSeid, Seid};

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

/// The destination of the reports of a session: the address of the CP F-SEID, of the IP version that its node uses if
/// it has one, and the port of requests to the node.
pub(super) fn address_of(cp: &FSeid, peer: SocketAddr) -> SocketAddr {
    let mut to = peer;
    let same_version = cp.addr.iter().find(|ip| ip.is_ipv4() == peer.is_ipv4());
    let ip = same_version.or(cp.addr.preferred()).unwrap_or(peer.ip());
    if ip != peer.ip() {
        to.set_ip(ip);
    }
    to
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use causeway_pfcp::{Header, Message, ReportType, SessionReportRequest};

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
