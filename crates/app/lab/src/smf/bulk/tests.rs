//! The SMF for many sessions, against an emulated UPF.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_pfcp::{
    Cause, Message, ReportType, SessionDeletionResponse, SessionModificationResponse, SessionReportRequest,
};
use causeway_types::{DualIp, FTeid, Seid, Teid};

use super::{BulkSmf, SmfEvent, decode};
use crate::smf::{Downlink, Session};

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn over_loopback() -> (BulkSmf, UdpSocket) {
    let (upf, smf) = (UdpSocket::bind((HERE, 0)).unwrap(), UdpSocket::bind((HERE, 0)).unwrap());
    upf.connect(smf.local_addr().unwrap()).unwrap();
    smf.connect(upf.local_addr().unwrap()).unwrap();
    upf.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    (BulkSmf::with_socket(smf, HERE).unwrap(), upf)
}

fn sessions(count: u64) -> Vec<Session> {
    let uplink = FTeid { teid: Teid::new(1).unwrap(), addr: DualIp::from(HERE) };
    (1..=count).map(|seid| Session { cp_seid: Seid(seid), up_seid: Seid(seid * 10), uplink }).collect()
}

/// The SEID and the sequence number of the next request.
fn receive(upf: &UdpSocket) -> (Seid, u32) {
    let mut buffer = [0; 2048];
    let length = upf.recv(&mut buffer).unwrap();
    let (header, _) = decode::message(&buffer[..length]).unwrap();
    (header.seid.unwrap(), header.sequence)
}

fn answer<'a>(upf: &UdpSocket, response: impl Into<Message<'a>>, sequence: u32) {
    let mut octets = Vec::new();
    response.into().encode(Some(Seid(1)), sequence, &mut octets).unwrap();
    upf.send(&octets).unwrap();
}

// Input:  three deletions, two of them in flight; a UPF that answers the first two in reverse, and refuses
//         the third.
// Output: two requests come before any answer, the third after one; the refusal is an error that names it.
#[test]
fn requests_are_kept_under_way_and_answers_come_in_any_order() {
    let (mut smf, upf) = over_loopback();
    let playing = std::thread::spawn(move || {
        let (first, second) = (receive(&upf), receive(&upf));
        assert_eq!((first.0, second.0), (Seid(10), Seid(20)));
        answer(&upf, SessionDeletionResponse::new(Cause::RequestAccepted), second.1);
        let third = receive(&upf);
        assert_eq!(third.0, Seid(30));
        answer(&upf, SessionDeletionResponse::new(Cause::RequestAccepted), first.1);
        answer(&upf, SessionDeletionResponse::new(Cause::SessionContextNotFound), third.1);
    });
    let refusal = smf.delete(&sessions(3), 2).unwrap_err().to_string();
    assert!(
        refusal.contains("refuses the deletion") && refusal.contains("SessionContextNotFound"),
        "{refusal}"
    );
    playing.join().unwrap();
}

// Input:  a handover without a waiting caller; a report about a session, twice, and the answer.
// Output: report and answer are heard once, and the report has been answered both times.
#[test]
fn what_the_upf_says_is_heard_in_passing() {
    let (mut smf, upf) = over_loopback();
    let [session] = sessions(1).try_into().unwrap();
    let asked = smf.ask_downlink(&session, Downlink::Buffer).unwrap();
    let (_, sequence) = receive(&upf);
    assert_eq!(sequence, asked);
    assert_eq!(smf.poll().unwrap(), None);
    answer(&upf, SessionReportRequest::new(ReportType::USAR), 77);
    answer(&upf, SessionReportRequest::new(ReportType::USAR), 77);
    answer(&upf, SessionModificationResponse::new(Cause::RequestAccepted), sequence);
    let mut heard = Vec::new();
    let start = Instant::now();
    while heard.len() < 2 && start.elapsed() < Duration::from_secs(5) {
        heard.extend(smf.poll().unwrap());
    }
    assert_eq!(heard, [SmfEvent::Report(Seid(1), 0), SmfEvent::Response(asked)]);
    assert_eq!((receive(&upf).1, receive(&upf).1, smf.duplicate_reports()), (77, 77, 1));
}
