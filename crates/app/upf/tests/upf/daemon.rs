//! The whole daemon over real sockets, without privileges: the data network is a memory port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use causeway_pfcp::{Cause, Message, SessionDeletionRequest};
use causeway_types::{PdrId, Seid, Teid};
use causeway_upf::config::{Config, DataPlane, PfcpServer};

use crate::common::smf::{Smf, decode};
use crate::common::{Gnb, SERVER, UE, config, loopback, next, one_hop_on, packet, run};

const DOWNLINK: u32 = 0x77;

fn downlink() -> Teid {
    Teid::new(DOWNLINK).unwrap()
}

// Input:  an SMF sets up a session; the UE sends, is idle, is sent to, and is connected again.
// Output: the uplink packet leaves; the downlink packet waits, is reported, and leaves with the modification;
//         metrics and the API show it; a stop asks the SMF to let go, and ends.
#[test]
fn a_session_lives_from_setup_to_graceful_stop() {
    // On the fast path and over external memory a flow entry handles the uplink packet, the slow path the buffered one.
    for (dataplane, by_line) in
        [(DataPlane::FastPath, 1.0), (DataPlane::SlowPath, 0.0), (DataPlane::XPlane, 1.0)]
    {
        let upf = loopback();
        let mut config = config(upf);
        config.upf.dataplane = dataplane;
        live(&config, upf, by_line);
    }
}

fn live(config: &Config, upf: Ipv4Addr, by_line: f64) {
    let mut running = run(config, upf).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    assert_eq!(smf.associate(), Cause::RequestAccepted);
    let session = smf.establish();

    let up = packet(UE, SERVER, b"up");
    gnb.send(upf, session.uplink.teid, &up);
    assert_eq!(next(&mut running.server), one_hop_on(up));

    let down = packet(SERVER, UE, b"down");
    assert!(running.server.push(causeway_packet::Meta::Ip, &down));
    assert_eq!(smf.accept_downlink_data(session), PdrId(2));
    assert_eq!(running.metric("causeway_buffered_packets"), 1.0);
    smf.forward(session, downlink(), gnb.address);
    let datagram = gnb.receive();
    assert_eq!((&datagram[4..8], &datagram[8..]), (&DOWNLINK.to_be_bytes()[..], &one_hop_on(down)[..]));

    assert_eq!(running.metric("causeway_stage_packets_total{stage=\"flow_table\"}"), by_line);
    assert_eq!(running.metric("causeway_stage_packets_total{stage=\"slow_path\"}"), by_line);
    assert_eq!(running.metric("fivegs_ep_n3_gtp_indatapktn3upf"), 1.0);
    assert_eq!(running.metric("fivegs_ep_n3_gtp_outdatapktn3upf"), 1.0);
    assert_eq!(running.metric("fivegs_upffunction_upf_sessionnbr"), 1.0);
    assert_eq!((running.metric("pfcp_sessions"), running.metric("pfcp_associations")), (1.0, 1.0));
    let port = format!("causeway_port_packets_total{{port=\"n3-{upf}\",event=\"rx\"}}");
    assert_eq!(running.metric(&port), 1.0);
    let sessions = running.fetch("/api/v1/sessions").1;
    let seid = format!("\"seid\":\"{:#x}\"", session.up_seid.0);
    for part in [seid.as_str(), "\"cp_seid\":\"0x51\"", "\"ue\":[\"10.45.0.2\"]", "\"pdr\":2", "\"total\":1"]
    {
        assert!(sessions.contains(part), "{part} is not in {sessions}");
    }

    smf.delete(session);
    assert_eq!(running.metric("fivegs_upffunction_upf_sessionnbr"), 0.0);
    running.daemon.stop();
    smf.release();
    let totals = running.daemon.wait().unwrap();
    assert_eq!(totals.data_plane.counters.forwarded, 2);
    assert!(totals.to_string().starts_with("received 1 packets on N3 and 1 on N6, forwarded 2, dropped 0"));
}

// Input:  a packet thread that is to run on a core that no machine has, and one that shall look for packets without pause.
// Output: an error that names the key and the cores there are; the other runs.
#[test]
fn a_packet_thread_runs_only_where_it_may() {
    let upf = loopback();
    let mut config = config(upf);
    config.upf.workers.pin = vec![9999];
    let error = run(&config, upf).map(drop).unwrap_err().to_string();
    let says = "upf.workers.pin: this process may not run on core 9999, only on ";
    assert!(error.starts_with(says), "{error}");
    let allowed = error.trim_start_matches(says).split(", ").map(|core| core.parse().unwrap());
    config.upf.workers.pin = allowed.take(1).collect();
    config.upf.workers.busy_poll = true;
    let running = run(&config, upf).unwrap();
    assert_eq!(running.metric("causeway_forwarded_packets_total"), 0.0);
}

// Input:  requests for every page, one that does not exist, and pages of the sessions.
// Output: what each is for, with its content type; errors where the request is wrong.
#[test]
fn the_management_server_answers_every_page() {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    smf.establish();
    let (head, body) = running.fetch("/metrics");
    assert!(head.starts_with("HTTP/1.1 200"));
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert!(
        body.contains(
            "pfcp_messages_total{message_type=\"association_setup_request\",direction=\"received\""
        )
    );
    assert!(!body.contains("# EOF"), "that is OpenMetrics");
    assert_eq!(running.fetch("/healthz").1, "ok\n");
    assert!(running.fetch("/").1.contains("/api/v1/associations"));
    let associations = running.fetch("/api/v1/associations").1;
    let peer = format!("\"peer\":\"{}\"", smf.local());
    for part in [peer.as_str(), "\"path_up\":true", "\"sessions\":1"] {
        assert!(associations.contains(part), "{part} is not in {associations}");
    }
    assert!(running.fetch("/api/v1/sessions?after=0xffffffffffffffff").1.contains("\"sessions\":[]"));
    assert!(running.fetch("/api/v1/sessions?limit=1").1.contains("\"seid\""));
    for (path, status) in
        [("/none", "404"), ("/api/v1/sessions?after=x", "400"), ("/api/v1/sessions?limit=x", "400")]
    {
        assert_eq!(running.fetch(path).0.split(' ').nth(1), Some(status), "{path}");
    }
}

// Input:  random datagrams, a request for a session that does not exist, and one from an unassociated peer.
// Output: the causes that the specification asks for; the UPF goes on.
#[test]
fn bad_requests_are_refused_and_counted() {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    let stray = std::net::UdpSocket::bind((loopback(), 0)).unwrap();
    for len in 0..64_usize {
        stray.send_to(&vec![0xff; len], running.n4()).unwrap();
    }
    let refused = smf.request(SessionDeletionRequest::default().into(), Some(Seid(99)));
    let Message::SessionDeletionResponse(response) = decode(&refused).1 else { panic!() };
    assert!(!response.cause.is_accepted());
    smf.heartbeat();
    assert_eq!(smf.associate(), Cause::RequestAccepted);
    assert_eq!(running.metric("pfcp_sessions"), 0.0);
}

// Input:  N4 on an IPv4 and an IPv6 address.
// Output: both answer; an SMF on IPv6 can set up a session.
#[test]
fn n4_is_reachable_over_both_ip_versions() {
    if std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        eprintln!("SKIPPED n4_is_reachable_over_both_ip_versions: this machine has no IPv6 loopback address");
        return;
    }
    let upf = loopback();
    let mut config = config(upf);
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    config.upf.pfcp.server.push(PfcpServer::at(v6, 0));
    let running = run(&config, upf).unwrap();
    Smf::new(loopback().into(), running.n4()).heartbeat();
    let mut smf = Smf::new(v6, running.daemon.pfcp_addresses()[1]);
    assert_eq!(smf.associate(), Cause::RequestAccepted);
    smf.establish();
    assert_eq!(running.metric("pfcp_sessions"), 1.0);
}

// Input:  an SMF that the configuration tells to associate with.
// Output: it is asked, from our N4 address.
#[test]
fn the_upf_asks_for_the_associations_of_its_configuration() {
    let upf = loopback();
    let socket = std::net::UdpSocket::bind((loopback(), 0)).unwrap();
    socket.set_read_timeout(Some(crate::common::PATIENCE)).unwrap();
    let at = socket.local_addr().unwrap();
    let mut config = config(upf);
    config.upf.pfcp.client.smf = vec![causeway_upf::config::Smf { address: at.ip(), port: at.port() }];
    let running = run(&config, upf).unwrap();
    let mut buffer = [0; 2048];
    let (len, from) = socket.recv_from(&mut buffer).unwrap();
    assert_eq!(from, running.n4());
    assert!(matches!(decode(&buffer[..len]).1, Message::AssociationSetupRequest(_)));
}

// Input:  an SMF that does not answer when the UPF stops; then the demand to stop at once.
// Output: the UPF waits for its release time at the most, and does not wait at all.
#[test]
fn a_silent_smf_delays_a_stop_only_so_long() {
    let upf = loopback();
    let mut patient = config(upf);
    patient.upf.pfcp.release_timeout = Duration::from_millis(300);
    let running = run(&patient, upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    smf.establish();
    let start = Instant::now();
    running.daemon.stop();
    running.daemon.wait().unwrap();
    assert!(start.elapsed() >= Duration::from_millis(250), "{:?}", start.elapsed());

    let upf = loopback();
    patient = config(upf);
    patient.upf.pfcp.release_timeout = 10 * crate::common::PATIENCE;
    let running = run(&patient, upf).unwrap();
    Smf::new(loopback().into(), running.n4()).associate();
    let start = Instant::now();
    running.daemon.stop_now();
    running.daemon.wait().unwrap();
    assert!(start.elapsed() < patient.upf.pfcp.release_timeout);
}

// Input:  a second daemon on the addresses of the first: N3, then N4, then the metrics.
// Output: one line each, with the key, the address and what to do.
#[test]
fn a_bind_error_says_how_to_find_the_owner() {
    let upf = loopback();
    let first = run(&config(upf), upf).unwrap();
    let error = run(&config(upf), upf).err().unwrap().to_string();
    assert_eq!(
        error,
        format!(
            "upf.gtpu.server[0]: cannot bind {upf}:2152: address in use: is another GTP-U process running? \
             see `ss -ulnp sport = :2152`"
        )
    );
    let n4 = first.n4();
    let mut second = config(loopback());
    second.upf.pfcp.server = vec![PfcpServer::at(n4.ip(), n4.port())];
    let error = run(&second, upf).err().unwrap().to_string();
    assert!(
        error.starts_with(&format!("upf.pfcp.server[0]: cannot listen on {n4}: address in use")),
        "{error}"
    );
    let at = first.daemon.management_addresses()[0];
    let mut third = config(loopback());
    third.upf.metrics.server[0].address = at.ip();
    third.upf.metrics.server[0].port = at.port();
    let error = run(&third, upf).err().unwrap().to_string();
    assert!(
        error.starts_with(&format!("upf.metrics.server[0]: cannot listen on {at}: address in use")),
        "{error}"
    );
}

#[test]
fn an_address_of_no_interface_is_named_with_the_cure() {
    let mut config = config(loopback());
    config.upf.gtpu.server[0].address = Some([192, 0, 2, 1].into());
    let error = run(&config, loopback()).err().unwrap().to_string();
    assert!(
        error.starts_with("upf.gtpu.server[0]: cannot bind 192.0.2.1:2152: no interface here has that"),
        "{error}"
    );
}

// Input:  a daemon that is dropped.
// Output: its sockets are free again at once.
#[test]
fn a_dropped_daemon_leaves_nothing_behind() {
    let upf = loopback();
    let config = config(upf);
    drop(run(&config, upf).unwrap());
    drop(run(&config, upf).unwrap());
}
