//! Packet threads that answer session requests themselves (`upf.pfcp.accelerate`): the same daemon with and without.

use std::net::Ipv4Addr;

use causeway_pfcp::{
    ApplyAction, AssociationReleaseRequest, Cause, DestinationInterface, Header, Message,
    OuterHeaderCreation, RawIes, SessionDeletionRequest, SessionEstablishmentRequest,
    SessionModificationRequest, UpdateFar, UpdateForwardingParameters, ie_info,
};
use causeway_types::{DualIp, FSeid, FarId, Seid, Teid};
use causeway_upf::config::Config;

use crate::common::smf::{Session, Smf, decode};
use crate::common::{
    ACCELERATE, Gnb, Running, SERVER, UE, config as plain, loopback, next, one_hop_on, packet, run, until,
};

const GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

fn teid(value: u32) -> Teid {
    Teid::new(value).unwrap()
}

fn config(upf: Ipv4Addr) -> Config {
    let mut config = plain(upf);
    config.upf.pfcp.accelerate = true;
    config
}

fn start() -> (Running, Smf) {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    assert_eq!(smf.associate(), Cause::RequestAccepted);
    (running, smf)
}

/// Requests that packet threads answered, sessions of theirs, sessions that N4 has adopted, and sessions of the data plane.
fn figures(running: &Running) -> [f64; 4] {
    [
        "causeway_n4_accelerated_requests_total",
        "causeway_n4_accelerated_sessions",
        "causeway_n4_adopted_sessions_total",
        "fivegs_upffunction_upf_sessionnbr",
    ]
    .map(|name| running.metric(name))
}

/// A request to send the downlink to a gNB.
fn to_gnb(teid: u32) -> SessionModificationRequest<'static> {
    let parameters = UpdateForwardingParameters {
        destination_interface: Some(DestinationInterface::Access),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, DualIp::from(GNB))),
        ..UpdateForwardingParameters::default()
    };
    let far = UpdateFar {
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(parameters),
        ..UpdateFar::new(FarId(2))
    };
    SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }
}

/// Tests of the daemon that say the same with acceleration.
const SAME: [&str; 7] = [
    "daemon::",
    "n4_trust::",
    "management::",
    "management_api::",
    "management_trace::",
    "routing::",
    "wall_clock::",
];

// Input:  tests of the daemon, in another process in which all daemons accelerate.
// Output: they pass.
#[test]
fn other_tests_of_the_daemon_pass() {
    let this = std::env::current_exe().unwrap();
    let output = std::process::Command::new(this).args(SAME).env(ACCELERATE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("daemon::a_session_lives"), "{said}");
}

// Input:  a session that an SMF establishes, hands to a gNB and deletes; a packet each way.
// Output: the packet thread alone answers; packets pass; metrics, the session list, its page and the list of associations show
//         the session as any other.
#[test]
fn a_packet_thread_answers_alone() {
    let (mut running, mut smf) = start();
    let gnb = Gnb::new();
    let session = smf.establish_forwarding(UE, teid(0x77), gnb.address);
    assert_eq!(figures(&running), [1.0, 1.0, 0.0, 1.0]);
    let up = packet(UE, SERVER, b"up");
    gnb.send(running.upf, session.uplink.teid, &up);
    assert_eq!(next(&mut running.server), one_hop_on(up));
    let down = packet(SERVER, UE, b"down");
    assert!(running.server.push(causeway_packet::Meta::Ip, &down));
    assert_eq!(gnb.receive()[4..8], 0x77_u32.to_be_bytes());
    smf.forward(session, teid(0x88), gnb.address);
    assert!(running.server.push(causeway_packet::Meta::Ip, &down));
    assert_eq!(gnb.receive()[4..8], 0x88_u32.to_be_bytes());
    assert_eq!(figures(&running), [2.0, 1.0, 0.0, 1.0]);
    let seid = format!("{:#x}", session.up_seid.0);
    for page in ["", "?ue=10.45.0.2", "?cp_seid=0x51", "?dnn=internet", &format!("?seid={seid}")] {
        let sessions = running.fetch(&format!("/api/v1/sessions{page}")).1;
        let dnn = page == "?dnn=internet";
        for part in [format!("\"seid\":\"{seid}\""), "\"ue\":[\"10.45.0.2\"]".into(), "\"pdr\":2".into()] {
            // Its rules name no network.
            assert_eq!(sessions.contains(&part), !dnn, "{page}: {part}: {sessions}");
        }
    }
    let detail = running.fetch(&format!("/api/v1/sessions/{seid}")).1;
    assert!(detail.contains("136@198") || detail.contains(&gnb.address.to_string()), "{detail}");
    assert!(running.fetch("/api/v1/associations").1.contains("\"sessions\":1"));
    assert_eq!(
        (running.metric("pfcp_sessions"), running.metric("causeway_sessions{dnn=\"internet\"}")),
        (1.0, 1.0)
    );
    let accepted = |message: &str| {
        let labels = format!("message_type=\"{message}\",direction=\"received\",result=\"request_accepted\"");
        running.metric(&format!("pfcp_messages_total{{{labels}}}"))
    };
    assert_eq!(accepted("session_establishment_request"), 1.0);
    assert_eq!(accepted("session_modification_request"), 1.0);
    assert_eq!(running.metric("fivegs_upffunction_sm_n4sessionestabreq"), 1.0);
    smf.delete(session);
    assert_eq!(figures(&running), [3.0, 0.0, 0.0, 0.0]);
    assert_eq!(running.metric("pfcp_sessions"), 0.0);
    let passed = running.metric("causeway_n4_passed_datagrams_total{reason=\"header\"}");
    assert!(passed >= 1.0, "the association");
}

/// Sends a request again, octet by octet.
fn again(smf: &Smf, octets: &[u8]) -> Vec<u8> {
    smf.send_raw(octets);
    smf.receive()
}

fn octets(message: Message<'_>, seid: Seid, sequence: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    message.encode(Some(seid), sequence, &mut octets).unwrap();
    octets
}

// Input:  a session that a packet thread has, whose requests are repeated; then a request that is not of the class, after which
//         the requests are repeated again, and a simple one and the deletion follow.
// Output: repeated requests get the same octets before and after; N4 has adopted the session once, and answers what follows.
#[test]
fn n4_adopts_a_session_with_its_answers() {
    let (running, mut smf) = start();
    let cp = FSeid { seid: Seid(0x99), addr: DualIp::from(smf.local().ip()) };
    let establishment = octets(smf.request_for(cp, UE).into(), Seid(0), 0x1000);
    let established = again(&smf, &establishment);
    let (_, message) = decode(&established);
    let Message::SessionEstablishmentResponse(response) = message else { panic!("{message:?}") };
    let up_seid = response.up_f_seid.unwrap().seid;
    let modification = octets(to_gnb(5).into(), up_seid, 0x1001);
    let modified = again(&smf, &modification);
    let repeated = |smf: &Smf| {
        assert_eq!(again(smf, &establishment), established);
        assert_eq!(again(smf, &modification), modified);
    };
    repeated(&smf);
    assert_eq!(figures(&running), [4.0, 1.0, 0.0, 1.0]);
    let tunnel = response.created_pdrs.iter().find_map(|pdr| pdr.local_f_teid?.assigned()).unwrap();
    let session = Session { up_seid, cp_seid: cp.seid, uplink: tunnel };
    // Into a tunnel of another UPF.
    smf.relay(session, teid(9), GNB);
    assert_eq!(figures(&running), [4.0, 0.0, 1.0, 1.0]);
    repeated(&smf);
    let handover = octets(to_gnb(6).into(), up_seid, 0x1002);
    let accepted = again(&smf, &handover);
    assert_eq!(accepted[1], 53);
    assert_eq!(again(&smf, &handover), accepted);
    let seid = format!("{:#x}", up_seid.0);
    assert!(running.fetch("/api/v1/sessions").1.contains(&format!("\"seid\":\"{seid}\"")));
    smf.delete(session);
    repeated(&smf);
    assert_eq!(figures(&running), [4.0, 0.0, 1.0, 0.0]);
}

// Input:  a session that buffers, and a packet for its UE.
// Output: N4 adopts the session and reports the packet, which leaves when the SMF says where to.
#[test]
fn n4_adopts_a_session_for_a_report() {
    let (mut running, mut smf) = start();
    let gnb = Gnb::new();
    let session = smf.establish();
    assert!(running.server.push(causeway_packet::Meta::Ip, &packet(SERVER, UE, b"down")));
    smf.accept_downlink_data(session);
    smf.forward(session, teid(0x77), gnb.address);
    assert_eq!(gnb.receive()[4..8], 0x77_u32.to_be_bytes());
    assert_eq!(figures(&running), [1.0, 0.0, 1.0, 1.0]);
    smf.delete(session);
    assert_eq!(figures(&running)[3], 0.0);
}

// Input:  sessions of packet threads; their SMF sends heartbeats, restarts, establishes again, and releases its association.
// Output: heartbeats change nothing; the restart and the release remove all sessions from the data plane, as N4 does.
#[test]
fn a_restart_and_a_release_end_sessions() {
    let (running, mut smf) = start();
    let ues: Vec<Ipv4Addr> = (1..=20).map(|n| Ipv4Addr::new(10, 45, 1, n)).collect();
    assert_eq!(smf.establish_all(&ues), 20);
    smf.heartbeat();
    assert_eq!(figures(&running), [20.0, 20.0, 0.0, 20.0]);
    smf.send_raw(&smf.association(true));
    // The UPF asks whether it is so.
    let mut answers = Vec::new();
    while !answers.contains(&6) {
        let received = smf.receive();
        let (header, message) = decode(&received);
        if matches!(message, Message::HeartbeatRequest(_)) {
            smf.answer_heartbeat(header.sequence, true);
        }
        answers.push(received[1]);
    }
    until("the sessions before the restart are removed", || figures(&running)[3] == 0.0);
    assert_eq!(figures(&running), [20.0, 0.0, 20.0, 0.0]);
    assert_eq!(smf.establish_all(&ues), 20);
    assert_eq!(figures(&running), [40.0, 20.0, 20.0, 20.0]);
    let release = AssociationReleaseRequest::new(smf.node());
    let answer = smf.request(release.into(), None);
    assert!(matches!(decode(&answer).1, Message::AssociationReleaseResponse(_)));
    until("the sessions of the association are removed", || figures(&running)[3] == 0.0);
    assert_eq!(smf.try_establish(UE), Cause::NoEstablishedAssociation);
}

// Input:  a session of a packet thread; another SMF asks for its UE address, in a request for a packet thread and in one for N4;
//         a session of N4, whose address the first SMF asks for.
// Output: the same causes as without acceleration.
#[test]
fn keys_have_one_owner_in_the_whole_upf() {
    let causes = [true, false].map(|accelerate| {
        let upf = loopback();
        let mut config = plain(upf);
        config.upf.pfcp.accelerate = accelerate;
        config.upf.session[0].framed_routes = vec!["172.16.0.0/12".parse().unwrap()];
        let running = run(&config, upf).unwrap();
        let mut smfs = [(); 2].map(|()| Smf::new(loopback().into(), running.n4()));
        smfs.iter_mut().for_each(|smf| assert_eq!(smf.associate(), Cause::RequestAccepted));
        let [one, other] = &mut smfs;
        let routed = Ipv4Addr::new(10, 45, 0, 9);
        let causes = [
            one.try_establish(UE),
            other.try_establish(UE),
            other.try_establish_with_routes(UE, &["172.16.0.0/24"]).0,
            other.try_establish_with_routes(routed, &["172.16.1.0/24"]).0,
            one.try_establish(routed),
            // A UE behind the other SMF's session.
            one.try_establish(Ipv4Addr::new(172, 16, 1, 7)),
            // Again by the same SMF: the older session is replaced.
            one.try_establish(UE),
        ];
        (causes, running.metric("pfcp_sessions"))
    });
    assert_eq!(causes[0], causes[1]);
    assert!(causes[0].0[0].is_accepted() && !causes[0].0[1].is_accepted(), "{causes:?}");
}

/// What an answer says, without the numbers that the UPF chose.
fn masked(octets: &[u8]) -> Vec<u8> {
    fn ies(octets: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        for ie in RawIes::new(octets).map(Result::unwrap) {
            let is_group = ie_info(ie.ie_type).is_some_and(|info| !info.fields.is_empty());
            let mut value = if is_group { ies(ie.value) } else { ie.value.to_vec() };
            match ie.ie_type {
                57 => value[1..9].fill(0),
                21 => value[1..5].fill(0),
                // Addresses of this UPF, and times.
                60 | 75 | 76 | 96 => value.fill(0),
                _ => {}
            }
            if ie.ie_type == 57 || ie.ie_type == 21 {
                let at = value.len() - 4;
                value[at..].fill(0);
            }
            all.extend(ie.ie_type.to_be_bytes());
            all.extend(value);
        }
        all
    }
    let (_, body, _) = Header::decode(octets).unwrap();
    [&octets[..2], &octets[12..16], &ies(body)].concat()
}

/// A UPF with an SMF.
struct Side {
    running: Running,
    smf: Smf,
    /// The UPF's SEIDs.
    seids: Vec<Seid>,
}

impl Side {
    fn new(accelerate: bool) -> Self {
        let upf = loopback();
        let mut config = plain(upf);
        config.upf.pfcp.accelerate = accelerate;
        let running = run(&config, upf).unwrap();
        let mut smf = Smf::new(loopback().into(), running.n4());
        assert_eq!(smf.associate(), Cause::RequestAccepted);
        Self { running, smf, seids: Vec::new() }
    }

    /// Sends a message about the session with this number, and waits for the answer.
    fn send(&mut self, session: usize, sequence: u32, message: &dyn Fn(&Smf) -> Message<'static>) -> Vec<u8> {
        let message = message(&self.smf);
        let is_new = matches!(message, Message::SessionEstablishmentRequest(_));
        let seid = if is_new { Seid(0) } else { self.seids.get(session).copied().unwrap_or(Seid(1)) };
        self.smf.send(message, Some(seid), sequence);
        loop {
            let answer = self.smf.receive();
            match decode(&answer) {
                (header, _) if header.sequence != sequence => {}
                (_, Message::SessionEstablishmentResponse(response)) => {
                    self.seids.resize(self.seids.len().max(session + 1), Seid(1));
                    self.seids[session] = response.up_f_seid.map_or(self.seids[session], |it| it.seid);
                    return answer;
                }
                (_, Message::HeartbeatRequest(_)) => {}
                _ => return answer,
            }
        }
    }
}

// Input:  two thousand random requests about a dozen sessions, most of the class, some not, some repeated, some about keys of
//         other sessions or sessions that are gone; the same to a UPF with acceleration and to one without.
// Output: the same answers but for SEIDs and TEIDs; the same sessions in the end.
#[test]
fn nothing_differs_for_an_smf() {
    let mut sides = [Side::new(true), Side::new(false)];
    let mut random = fastrand::Rng::with_seed(7);
    let mut last: Vec<Option<(u32, u64, bool)>> = vec![None; 12];
    let mut is_there = [false; 12];
    for sequence in 100..1100_u32 {
        let session = random.usize(..12);
        let seed = random.u64(..);
        // One in ten repeats the last request of its session.
        let begins = is_there[session] == (random.u8(..12) == 0);
        let (sequence, seed, begins) = match last[session].filter(|_| random.u8(..10) == 0) {
            Some(before) => before,
            None => (sequence, seed, begins),
        };
        last[session] = Some((sequence, seed, begins));
        let answers = sides.each_mut().map(|side| {
            let message = |smf: &Smf| random_message(smf, session, seed, begins);
            let answer = side.send(session, sequence, &message);
            match answer[1] {
                51 => is_there[session] |= begins,
                55 => is_there[session] = false,
                _ => {}
            }
            masked(&answer)
        });
        assert_eq!(answers[0], answers[1], "request {sequence} about session {session}");
    }
    let lists = sides.each_ref().map(|side| {
        assert_eq!(side.running.metric("causeway_n4_late_events_total"), 0.0);
        side.running.metric("pfcp_sessions")
    });
    assert_eq!(lists[0], lists[1]);
    assert_eq!(
        sides[0].running.metric("fivegs_upffunction_upf_sessionnbr"),
        sides[1].running.metric("fivegs_upffunction_upf_sessionnbr")
    );
    let [answered, _, adopted, _] = figures(&sides[0].running);
    assert!(answered > 200.0 && adopted > 20.0, "{answered} answered, {adopted} adopted");
}

/// The message of a seed.
fn random_message(smf: &Smf, session: usize, seed: u64, begins: bool) -> Message<'static> {
    let mut random = fastrand::Rng::with_seed(seed);
    // Now and then one that another session has.
    let cp = FSeid { seid: Seid(0x100 + random.u64(..500)), addr: DualIp::from(smf.local().ip()) };
    // Some UEs are wanted by two sessions.
    let ue = Ipv4Addr::new(10, 45, 2, (session as u8).min(10));
    match random.u8(..10) {
        choice if begins && choice < 8 => smf.request_for(cp, ue).into(),
        _ if begins => SessionEstablishmentRequest {
            pdn_type: Some(causeway_pfcp::PdnType::Ipv4),
            create_urrs: [smf.counting()].into(),
            ..smf.request_for(cp, ue)
        }
        .into(),
        0..=4 => to_gnb(random.u32(1..4)).into(),
        5 => {
            let far = UpdateFar {
                apply_action: Some(ApplyAction::BUFF | ApplyAction::NOCP),
                ..UpdateFar::new(FarId(2))
            };
            SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }
                .into()
        }
        6 if random.bool() => SessionModificationRequest {
            remove_fars: [causeway_pfcp::RemoveFar::new(FarId(9))].into(),
            ..SessionModificationRequest::default()
        }
        .into(),
        7..=8 => SessionDeletionRequest::default().into(),
        _ => to_gnb(9).into(),
    }
}
