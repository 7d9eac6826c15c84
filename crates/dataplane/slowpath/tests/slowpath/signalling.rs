//! GTP-U signalling: echo, error indication, end marker, extension headers.

use std::sync::Arc;

use causeway_dataplane::{Dataplane, Disposition, DropReason, EchoConfig, Egress, Event, Op, PacketEngine};
use causeway_packet::gtpu::{Extension, Message, Packet, Repr};
use causeway_types::Span;

use crate::common::*;

// Input: an Echo Request with sequence number 77.
// Output: an Echo Response with that number and the Recovery element, to the sender.
#[test]
fn an_echo_is_answered() {
    let mut setup = Bench::new();
    assert_eq!(setup.gtpu(&Repr::echo_request(77).to_vec().unwrap()), Disposition::Consumed);
    let (egress, packet) = &setup.sent[0];
    assert_eq!(*egress, Egress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None });
    assert_eq!(packet[..], [0x32, 2, 0, 6, 0, 0, 0, 0, 0, 77, 0, 0, 14, 0]);
}

// Input: three packets to an unknown tunnel at the same time, one a second later.
// Output: two Error Indications that name the tunnel and the local address.
#[test]
fn error_indications_are_limited_to_one_a_second() {
    let mut setup = Bench::new();
    let lost = g_pdu(teid(0xdead), QFI, &from_ue(1));
    for _ in 0..3 {
        setup.gtpu(&lost);
    }
    assert_eq!(setup.sent.len(), 1);
    setup.now = setup.now + Span::from_secs(1);
    setup.gtpu(&lost);
    assert_eq!(setup.sent.len(), 2);
    let packet = Packet::parse(&setup.sent[0].1).unwrap();
    let Message::ErrorIndication(indication) = packet.message else { panic!("{packet:?}") };
    assert_eq!((indication.teid, indication.peer), (Some(teid(0xdead)), UPF.into()));
}

// Input: an Error Indication about the gNB's tunnel, and one about an unused tunnel.
// Output: an event for the session; nothing for the other.
#[test]
fn a_received_error_indication_finds_its_session() {
    let mut setup = Bench::new();
    for raw in [0x2001, 0x2002] {
        let message = Repr::error_indication(Some(teid(raw)), GNB.into(), &[]).to_vec().unwrap();
        assert_eq!(setup.gtpu(&message), Disposition::Consumed);
    }
    let tunnel = gnb_tunnel(GNB, 0x2001);
    assert_eq!(setup.events(), [Event::ErrorIndication { session: SESSION, tunnel }]);
}

// Input: a handover that requests an End Marker.
// Output: exactly one, to the old tunnel, and no user packet to it afterwards.
#[test]
fn an_end_marker_ends_the_old_tunnel() {
    let mut setup = Bench::new();
    let old = gnb_tunnel(GNB, 0x2001);
    let far = to_gnb(gnb_tunnel(GNB2, 0x3001));
    setup
        .apply(vec![Op::PutFar(far.clone().into()), Op::SendEndMarker { far: far.id, tunnel: old }])
        .unwrap();
    setup.downlink(&to_ue(1));
    let sent = setup.take_sent();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].0, Egress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None });
    assert_eq!(sent[0].1[..], [0x30, 254, 0, 0, 0, 0, 0x20, 0x01]);
    assert_eq!(sent[1].1[4..8], 0x3001_u32.to_be_bytes());
}

// Input: an End Marker from a gNB on a known and on an unknown tunnel.
// Output: consumed; dropped as unknown, without an Error Indication.
#[test]
fn an_end_marker_is_not_user_data() {
    let mut setup = Bench::new();
    assert_eq!(setup.gtpu(&Repr::end_marker(n3().teid).to_vec().unwrap()), Disposition::Consumed);
    let unknown = Repr::end_marker(teid(0xdead)).to_vec().unwrap();
    assert_eq!(setup.gtpu(&unknown), Disposition::Dropped(DropReason::UnknownTeid));
    assert!(setup.sent.is_empty());
}

// Input: a G-PDU with an extension header that an endpoint must understand and does not, and with one it may skip.
// Output: rejected with a Supported Extension Headers Notification; forwarded.
#[test]
fn extension_headers_are_understood_or_refused() {
    for (kind, expected) in
        [(0xc2, Disposition::Dropped(DropReason::UnsupportedExtension)), (0x03, Disposition::Forwarded)]
    {
        let mut setup = Bench::new();
        let user = from_ue(1);
        let header = causeway_packet::gtpu::Header { teid: Some(n3().teid), sequence: None, n_pdu: None };
        let extensions = [Extension::Other { kind, content: &[0, 0] }];
        let packet = Repr { header, extensions: &extensions, message: Message::GPdu(&user) };
        assert_eq!(setup.gtpu(&packet.to_vec().unwrap()), expected);
        let answered = Packet::parse(&setup.sent[0].1)
            .is_ok_and(|packet| matches!(packet.message, Message::SupportedExtensionHeaders(_)));
        assert_eq!(answered, expected != Disposition::Forwarded);
        assert_eq!(setup.plane.counters().gtpu_received.packets, 1);
    }
}

// Input:  a session; Echo Requests each minute are switched on, answered, set to each ten minutes, and switched off while
//         the path is down.
// Output: a request at once, the next one after a minute; after the change the next one ten minutes behind the last; the
//         path is reported as unused, and nothing is sent or due any more.
#[test]
fn echo_settings_change_while_sessions_go_on() {
    let mut setup = Bench::new();
    let echo = |setup: &mut Bench, seconds: u64| {
        let mut settings = setup.plane.topology().settings();
        settings.echo =
            EchoConfig { interval: Span::from_secs(seconds), retries: 0, ..EchoConfig::default() };
        setup.plane.reconfigure(setup.now, &Arc::new(settings));
    };
    let pass = |setup: &mut Bench, seconds: u64| {
        setup.now = setup.now + Span::from_secs(seconds);
        setup.plane.advance(setup.now);
        setup.plane.flush(&mut setup.sent);
        setup.take_sent().iter().filter(|(_, packet)| packet[1] == 1).count()
    };
    assert_eq!(pass(&mut setup, 100), 0);
    echo(&mut setup, 60);
    assert_eq!(pass(&mut setup, 0), 1);
    setup.gtpu(&Repr::echo_response(1).to_vec().unwrap());
    assert_eq!((pass(&mut setup, 59), pass(&mut setup, 1)), (0, 1));
    setup.gtpu(&Repr::echo_response(2).to_vec().unwrap());
    echo(&mut setup, 600);
    assert_eq!((pass(&mut setup, 599), pass(&mut setup, 1)), (0, 1));
    assert_eq!(pass(&mut setup, 5), 0);
    let path = (UPF.into(), GNB.into());
    let (local, peer) = path;
    assert_eq!(setup.events(), [Event::PathDown { local, peer }]);
    assert_eq!(setup.plane.supervised_paths(None, 10).len(), 1);
    echo(&mut setup, 0);
    assert_eq!(setup.events(), [Event::PathUnused { local, peer }]);
    assert_eq!((pass(&mut setup, 3600), setup.plane.supervised_paths(None, 10).len()), (0, 0));
}
