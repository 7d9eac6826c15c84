//! N4 in the packet threads (`upf.pfcp.accelerate`): the same daemon with and without, with one and with several.

use std::net::Ipv4Addr;

use causeway_dataplane::{GtpuEndpoint, Network};
use causeway_pfcp::{
    ApplyAction, AssociationReleaseRequest, Cause, DestinationInterface, Header, Message,
    OuterHeaderCreation, RawIes, SessionDeletionRequest, SessionEstablishmentRequest,
    SessionModificationRequest, UpdateFar, UpdateForwardingParameters, ie_info,
};
use causeway_ports::memory::{MemoryPort, pair};
use causeway_ports::udp::{pfcp_socket_of, pfcp_socket_of_new};
use causeway_types::{DualIp, FSeid, FarId, NetworkInstance, Seid, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::Config;
use causeway_upf::worker::PortSet;

use crate::common::smf::{Session, Smf, decode};
use crate::common::{
    ACCELERATE, Gnb, Running, SERVER, UE, config as plain, loopback, next, one_hop_on, packet, run, until,
};
use crate::management_api::listen;

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
    let smf = associated(&running);
    (running, smf)
}

fn associated(running: &Running) -> Smf {
    let mut smf = Smf::new(loopback().into(), running.n4());
    assert_eq!(smf.associate(), Cause::RequestAccepted);
    smf
}

/// A UPF with so many packet threads, each of which has memory ports as N3 and N6.
struct Threads {
    running: Running,
    /// The far ends of N3, one for each thread.
    gnbs: Vec<MemoryPort>,
    /// Those of N6, but for that of the first thread, which is the server of `running`.
    _servers: Vec<MemoryPort>,
}

impl Threads {
    fn start(config: &Config, upf: Ipv4Addr, count: usize) -> Self {
        let (mut sets, mut gnbs, mut servers) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let ((n3, gnb), (n6, server)) = (pair("n3", "gnb").unwrap(), pair("n6", "server").unwrap());
            let pools = config.upf.session.iter().map(|session| session.subnet).collect();
            let mut set = PortSet::new();
            set.add_gtpu([GtpuEndpoint::new(upf.into())], Box::new(n3));
            set.add_network(Network::new(NetworkInstance::new("internet"), pools), Box::new(n6));
            sets.push(set);
            gnbs.push(gnb);
            servers.push(server);
        }
        let server = servers.remove(0);
        let running = Running { daemon: Daemon::start_with(config, sets).unwrap(), upf, server };
        Self { running, gnbs, _servers: servers }
    }

    fn accelerated(count: usize) -> (Self, Smf) {
        let upf = loopback();
        let threads = Self::start(&config(upf), upf, count);
        let smf = associated(&threads.running);
        (threads, smf)
    }

    /// Waits for so many downlink packets; the tunnels to which each thread sent them.
    fn tunnels(&mut self, count: usize) -> Vec<Vec<u8>> {
        let mut left = vec![Vec::new(); self.gnbs.len()];
        until("every packet leaves", || {
            for (left, gnb) in left.iter_mut().zip(&mut self.gnbs) {
                left.extend(std::iter::from_fn(|| gnb.pop()).map(|(_, datagram)| datagram[7]));
            }
            left.concat().len() == count
        });
        left
    }
}

/// The sessions of the data plane.
fn sessions(running: &Running) -> f64 {
    running.metric("fivegs_upffunction_upf_sessionnbr")
}

/// Datagrams that the packet thread has handled. The control thread handles those that come while it has N4.
fn accelerated(running: &Running) -> f64 {
    running.metric("causeway_n4_accelerated_datagrams_total")
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
// Output: the packet thread handles messages; packets pass; metrics, the session list, its page and the list of associations show
//         the session as any other.
#[test]
fn a_packet_thread_answers_alone() {
    let (mut running, mut smf) = start();
    let gnb = Gnb::new();
    let session = smf.establish_forwarding(UE, teid(0x77), gnb.address);
    assert_eq!(sessions(&running), 1.0);
    let up = packet(UE, SERVER, b"up");
    gnb.send(running.upf, session.uplink.teid, &up);
    assert_eq!(next(&mut running.server), one_hop_on(up));
    let down = packet(SERVER, UE, b"down");
    assert!(running.server.push(causeway_packet::Meta::Ip, &down));
    assert_eq!(gnb.receive()[4..8], 0x77_u32.to_be_bytes());
    smf.forward(session, teid(0x88), gnb.address);
    assert!(running.server.push(causeway_packet::Meta::Ip, &down));
    assert_eq!(gnb.receive()[4..8], 0x88_u32.to_be_bytes());
    assert_eq!(sessions(&running), 1.0);
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
    assert_eq!(sessions(&running), 0.0);
    assert_eq!(running.metric("pfcp_sessions"), 0.0);
    assert!(accelerated(&running) > 0.0);
}

// Input:  a session that buffers and counts, and a packet for its UE; the SMF says where to, and deletes the session.
// Output: the packet is reported, and leaves; the deletion has the volume.
#[test]
fn reports_follow_their_events() {
    let (mut running, mut smf) = start();
    let gnb = Gnb::new();
    let session = smf.establish();
    let down = packet(SERVER, UE, b"down");
    let octets = down.len() as u64;
    assert!(running.server.push(causeway_packet::Meta::Ip, &down));
    smf.accept_downlink_data(session);
    smf.forward(session, teid(0x77), gnb.address);
    assert_eq!(gnb.receive()[4..8], 0x77_u32.to_be_bytes());
    smf.delete(session);
    let counted = smf.establish_counting(UE);
    smf.forward(counted, teid(0x78), gnb.address);
    assert!(running.server.push(causeway_packet::Meta::Ip, &down));
    assert_eq!(gnb.receive()[4..8], 0x78_u32.to_be_bytes());
    assert_eq!(smf.delete(counted), Some((0, octets)));
    assert_eq!(sessions(&running), 0.0);
}

// Input:  sessions; their SMF sends heartbeats, restarts, establishes again, and releases its association.
// Output: heartbeats change nothing; the restart and the release remove all sessions from the data plane.
#[test]
fn a_restart_and_a_release_end_sessions() {
    let (running, smf) = start();
    restarts_and_releases(&running, smf);
}

// Input:  the same with several packet threads.
// Output: the same.
#[test]
fn a_restart_and_a_release_end_sessions_of_all_threads() {
    let (threads, smf) = Threads::accelerated(3);
    restarts_and_releases(&threads.running, smf);
}

fn restarts_and_releases(running: &Running, mut smf: Smf) {
    let ues: Vec<Ipv4Addr> = (1..=20).map(|n| Ipv4Addr::new(10, 45, 1, n)).collect();
    assert_eq!(smf.establish_all(&ues), 20);
    smf.heartbeat();
    assert_eq!(sessions(running), 20.0);
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
    until("the sessions before the restart are removed", || sessions(running) == 0.0);
    assert_eq!(smf.establish_all(&ues), 20);
    assert_eq!(sessions(running), 20.0);
    let release = AssociationReleaseRequest::new(smf.node());
    let answer = smf.request(release.into(), None);
    assert!(matches!(decode(&answer).1, Message::AssociationReleaseResponse(_)));
    until("the sessions of the association are removed", || sessions(running) == 0.0);
    assert_eq!(smf.try_establish(UE), Cause::NoEstablishedAssociation);
}

// Input:  sessions of several packet threads, each of which receives N4; each session gets a tunnel and a packet, one request for it is repeated, and it
//         is deleted.
// Output: every request is accepted; a repetition has the same response, whatever thread it reaches; every packet leaves at the thread that has its
//         session, to its tunnel; all threads have some.
#[test]
fn several_packet_threads_share_the_sessions() {
    let (mut threads, mut smf) = Threads::accelerated(3);
    let ue = |number: u8| Ipv4Addr::new(10, 45, 1, number);
    let numbers = 1..=48_u8;
    let established: Vec<Session> = numbers
        .clone()
        .map(|number| smf.establish_forwarding(ue(number), teid(number.into()), GNB))
        .collect();
    for (number, session) in numbers.clone().zip(&established) {
        let sequence = 0x1000 + u32::from(number);
        let responses = [0, 1].map(|_| {
            smf.send(to_gnb(0x100 + u32::from(number)).into(), Some(session.up_seid), sequence);
            loop {
                let received = smf.receive();
                if decode(&received).0.sequence == sequence {
                    return received;
                }
            }
        });
        assert_eq!(responses[0], responses[1]);
        assert!(threads.running.server.push(causeway_packet::Meta::Ip, &packet(SERVER, ue(number), b"down")));
    }
    let left = threads.tunnels(numbers.len());
    assert!(left.iter().all(|tunnels| !tunnels.is_empty()), "{left:?}");
    let mut all = left.concat();
    all.sort_unstable();
    assert_eq!(all, numbers.collect::<Vec<u8>>());
    assert_eq!(sessions(&threads.running), 48.0);
    for session in established {
        smf.delete(session);
    }
    assert_eq!(sessions(&threads.running), 0.0);
    assert!(accelerated(&threads.running) > 0.0);
}

// Input:  sessions of three packet threads, with CP SEIDs in steps of one and of two, and any sequence numbers.
// Output: each gets a SEID of the thread of its CP F-SEID, which its establishment has reached, so that this thread has all of it; all threads have some.
#[test]
fn a_session_stays_with_the_thread_of_its_establishment() {
    let (_threads, smf) = Threads::accelerated(3);
    for (step, first) in [(1, 1), (2, 65)] {
        let mut counts = [0; 3];
        for number in 0..64 {
            let (cp_seid, sequence) = (0x3000 * step + step * number, 0x100 * step as u32 + number as u32);
            let cp = FSeid { seid: Seid(cp_seid), addr: DualIp::from(smf.local().ip()) };
            let ue = Ipv4Addr::new(10, 45, 4, (first + number) as u8);
            let request = smf.request_for(cp, ue);
            smf.send(request.into(), Some(Seid(0)), sequence);
            let response = smf.receive();
            let Message::SessionEstablishmentResponse(response) = decode(&response).1 else {
                panic!("{response:?}")
            };
            let thread = pfcp_socket_of(response.up_f_seid.unwrap().seid.0, 3);
            assert_eq!(thread, pfcp_socket_of_new(cp_seid, 3));
            counts[thread] += 1;
        }
        assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
    }
}

// Input:  establishments whose IEs come in another order, so that the kernel does not see their CP F-SEID, at three packet threads; each twice.
// Output: each gets a SEID of the thread of its CP F-SEID, and its repetition the same response: the thread that receives one gives it to that thread.
#[test]
fn a_thread_gives_another_one_what_is_for_it() {
    let (threads, smf) = Threads::accelerated(3);
    let before = accelerated(&threads.running);
    for number in 0..48_u32 {
        let cp = FSeid { seid: Seid(0x7000 + u64::from(number)), addr: DualIp::from(smf.local().ip()) };
        let request = smf.request_for(cp, Ipv4Addr::new(10, 45, 7, 1 + number as u8));
        let mut octets = Vec::new();
        Message::from(request).encode(Some(Seid(0)), 0x4000 + number, &mut octets).unwrap();
        let mut ies: Vec<_> = RawIes::new(&octets[16..]).map(Result::unwrap).collect();
        ies.rotate_left(1);
        let mut turned = octets[..16].to_vec();
        ies.iter().for_each(|ie| ie.write(&mut turned));
        smf.send_raw(&turned);
        let response = smf.receive();
        let Message::SessionEstablishmentResponse(established) = decode(&response).1 else {
            panic!("{response:?}")
        };
        assert_eq!(established.cause, Cause::RequestAccepted);
        let thread = pfcp_socket_of(established.up_f_seid.unwrap().seid.0, 3);
        assert_eq!(thread, pfcp_socket_of_new(cp.seid.0, 3));
        smf.send_raw(&turned);
        assert_eq!(smf.receive(), response);
    }
    // The control thread handles what comes during its turns.
    let counted = accelerated(&threads.running) - before;
    assert!((1.0..=96.0).contains(&counted), "{counted}");
}

// Input:  sessions of several packet threads, of two SMFs; for each a handover and, without waiting for its response, the deletion, many in flight;
//         packets for the UEs beside.
// Output: all requests are accepted, those of a session in their order; no session is left.
#[test]
fn requests_of_a_session_keep_their_order_across_threads() {
    const IN_FLIGHT: usize = 16;
    let (mut threads, first) = Threads::accelerated(3);
    let mut smfs = [first, associated(&threads.running)];
    let ue = |smf: usize, number: usize| Ipv4Addr::new(10, 45, 3 + smf as u8, number as u8);
    let mut seids = [const { Vec::new() }; 2];
    for (which, (smf, seids)) in smfs.iter_mut().zip(&mut seids).enumerate() {
        for number in 1..=96 {
            seids.push(smf.establish_forwarding(ue(which, number), teid(1), GNB).up_seid);
        }
    }
    for some in (0..96).collect::<Vec<_>>().chunks(IN_FLIGHT) {
        for (which, smf) in smfs.iter().enumerate() {
            for number in some {
                let (seid, sequence) = (Some(seids[which][*number]), 0x2000 + 2 * *number as u32);
                let down = packet(SERVER, ue(which, number + 1), b"down");
                assert!(threads.running.server.push(causeway_packet::Meta::Ip, &down));
                smf.send(to_gnb(2).into(), seid, sequence);
                smf.send(SessionDeletionRequest::default().into(), seid, sequence + 1);
            }
        }
        for smf in &smfs {
            let mut accepted = Vec::new();
            while accepted.len() < 2 * IN_FLIGHT {
                let received = smf.receive();
                match decode(&received) {
                    (header, Message::SessionModificationResponse(it)) if it.cause.is_accepted() => {
                        accepted.push(header.sequence);
                    }
                    (header, Message::SessionDeletionResponse(it)) if it.cause.is_accepted() => {
                        assert!(accepted.contains(&(header.sequence - 1)), "deleted before the handover");
                        accepted.push(header.sequence);
                    }
                    (_, Message::HeartbeatRequest(_) | Message::SessionReportRequest(_)) => {}
                    (_, other) => panic!("{other:?}"),
                }
            }
        }
        // Packets beside: what becomes of them depends on time.
        threads.gnbs.iter_mut().for_each(|gnb| while gnb.pop().is_some() {});
    }
    assert_eq!(sessions(&threads.running), 0.0);
    assert_eq!(threads.running.metric("pfcp_sessions"), 0.0);
}

// Input:  establishments and deletions on several packet threads, while somebody is told of each message, and afterwards.
// Output: the control thread handles them, then the packet threads again; all are accepted.
#[test]
fn the_control_thread_handles_what_is_observed() {
    let (threads, mut smf) = Threads::accelerated(3);
    let ues: Vec<Ipv4Addr> = (1..=40).map(|n| Ipv4Addr::new(10, 45, 7, n)).collect();
    let listener = listen(&threads.running);
    let before = accelerated(&threads.running);
    assert_eq!(smf.establish_all(&ues), 40);
    assert_eq!(accelerated(&threads.running), before);
    drop(listener);
    until("the packet threads handle requests again", || {
        let before = accelerated(&threads.running);
        let session = smf.establish_counting(UE);
        smf.delete(session);
        accelerated(&threads.running) > before
    });
    assert_eq!(sessions(&threads.running), 40.0);
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
    threads: Threads,
    smf: Smf,
    /// The UPF's SEIDs.
    seids: Vec<Seid>,
}

impl Side {
    fn new(count: usize, accelerate: bool) -> Self {
        let upf = loopback();
        let mut config = plain(upf);
        config.upf.pfcp.accelerate = accelerate;
        let threads = Threads::start(&config, upf, count);
        let smf = associated(&threads.running);
        Self { threads, smf, seids: Vec::new() }
    }

    fn metric(&self, name: &str) -> f64 {
        self.threads.running.metric(name)
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

// Input:  ten thousand random requests about a dozen sessions, with and without URRs, some of them repeated, refused, or about keys of
//         other sessions or sessions that are gone; the same to UPFs with acceleration, of one and of three packet threads, and to one without.
// Output: the same answers but for SEIDs and TEIDs; the same sessions in the end.
#[test]
fn nothing_differs_for_an_smf() {
    let mut sides = [Side::new(1, true), Side::new(3, true), Side::new(1, false)];
    let mut random = fastrand::Rng::with_seed(7);
    let mut last: Vec<Option<(u32, u64, bool)>> = vec![None; 12];
    let mut is_there = [false; 12];
    for sequence in 100..10_100_u32 {
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
        for answer in &answers[..2] {
            assert_eq!(answer, &answers[2], "request {sequence} about session {session}");
        }
    }
    let without = &sides[2];
    for side in &sides {
        assert_eq!(side.metric("causeway_n4_late_events_total"), 0.0);
        for sessions in ["pfcp_sessions", "fivegs_upffunction_upf_sessionnbr"] {
            assert_eq!(side.metric(sessions), without.metric(sessions), "{sessions}");
        }
    }
    let handled = sides.each_ref().map(|side| accelerated(&side.threads.running));
    assert!(handled[0] > 1000.0 && handled[1] > 1000.0 && handled[2] == 0.0, "{handled:?}");
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
