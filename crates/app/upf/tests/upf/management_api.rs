//! The management API: what a session does, for programs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use causeway_types::Teid;
use causeway_upf::management::views::{
    ConfigView, Drops, EventView, Interfaces, Peers, Pools, SessionDetail, SessionPage, StatusView,
    TimedEvent, Workers,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::common::smf::Smf;
use crate::common::{Gnb, PATIENCE, Running, SERVER, UE, config, loopback, next, packet, run, until};

const GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

fn start() -> (Running, Smf) {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    (running, smf)
}

fn teid(value: u32) -> Teid {
    Teid::new(value).unwrap()
}

/// The UEs of the sessions of a page.
fn ues(running: &Running, query: &str) -> Vec<String> {
    let (head, body) = running.fetch(&format!("/api/v1/sessions?{query}"));
    assert!(head.starts_with("HTTP/1.1 200"), "{query}: {head} {body}");
    let page: SessionPage = serde_json::from_str(&body).unwrap();
    page.sessions.into_iter().flat_map(|session| session.ue).collect()
}

// Input:  sessions of four users, of which the SMF names three, by equal requests but for their values; each filter alone, two that
//         fit together, and two that contradict each other.
// Output: exactly the sessions that fit, whether an index finds them or not.
#[test]
fn sessions_are_found_by_each_filter() {
    let (running, mut smf) = start();
    let ue = |n: u8| Ipv4Addr::new(10, 45, 0, n);
    let imsi = |n: u8| format!("00101000000000{n}");
    let named = [2, 3, 4].map(|n| smf.establish_of(&imsi(n), ue(n), teid(n.into()), GNB));
    let last = smf.establish_forwarding(ue(5), teid(0x55), Ipv4Addr::new(198, 51, 100, 8));
    let smf_address = smf.local().ip();
    let all = ["10.45.0.2", "10.45.0.3", "10.45.0.4", "10.45.0.5"];
    for (query, expected) in [
        (String::new(), &all[..]),
        ("ue=10.45.0.3".into(), &all[1..2]),
        ("ue=10.45.0.9".into(), &[]),
        (format!("teid={}", named[2].uplink.teid), &all[2..3]),
        (format!("teid={}", named[0].uplink.teid.value()), &all[..1]),
        ("teid=0xfffffff1".into(), &[]),
        (format!("seid={:#x}", last.up_seid.0), &all[3..]),
        (format!("seid={}", last.up_seid.0.wrapping_add(1)), &[]),
        (format!("cp_seid={:#x}", named[1].cp_seid.0), &all[1..2]),
        (format!("cp_seid={:#x}@{smf_address}", named[1].cp_seid.0), &all[1..2]),
        (format!("cp_seid={:#x}@192.0.2.1", named[1].cp_seid.0), &[]),
        (format!("user={}", imsi(4)), &all[2..3]),
        (format!("user=imsi-{}", imsi(3)), &all[1..2]),
        ("user=00101".into(), &[]),
        (format!("smf={smf_address}"), &all[..]),
        ("smf=smf.example".into(), &[]),
        ("gnb=198.51.100.7".into(), &all[..3]),
        ("gnb=198.51.100.8".into(), &all[3..]),
        ("dnn=elsewhere".into(), &[]),
        (format!("ue=10.45.0.3&user={}", imsi(3)), &all[1..2]),
        (format!("ue=10.45.0.3&user={}", imsi(4)), &[]),
    ] {
        let mut found = ues(&running, &query);
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
}

// Input:  the console, a file of it, its address without the last slash, and a file that it does not have.
// Output: HTML and JavaScript under a policy that permits files of the UPF only; a redirection; a refusal.
#[test]
fn the_console_is_served() {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    for (path, kind) in [("/console/", "text/html"), ("/console/app.js", "text/javascript")] {
        let (head, body) = running.fetch(path);
        assert!(
            head.starts_with("HTTP/1.1 200") && head.contains(&format!("content-type: {kind}")),
            "{head}"
        );
        assert!(head.contains("content-security-policy: default-src 'self'; "), "{head}");
        assert!(!body.is_empty() && !head.contains("unsafe"), "{head}");
    }
    let (head, _) = running.fetch("/console");
    assert!(head.starts_with("HTTP/1.1 308") && head.contains("location: /console/"), "{head}");
    for path in ["/console/elsewhere.js", "/console/..%2fapp.js", "/console/app.js/"] {
        let (head, _) = running.fetch(path);
        assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
    }
}

// Input:  300 sessions, of which every hundredth has another gNB; pages of one with that filter.
// Output: each page has one session; following `after` finds all three, each once.
#[test]
fn filtered_pages_continue() {
    let (running, mut smf) = start();
    let others = [loopback(), GNB];
    let mut expected: Vec<String> = (0..300_u16)
        .filter_map(|n| {
            let [a, b] = n.to_be_bytes();
            let ue = Ipv4Addr::new(10, 45, 1 + a, b);
            smf.establish_forwarding(ue, teid(u32::from(n) + 1), others[usize::from(n % 100 == 50)]);
            (n % 100 == 50).then(|| ue.to_string())
        })
        .collect();
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let body = running.fetch(&format!("/api/v1/sessions?limit=1&gnb={GNB}{after}")).1;
        let page: SessionPage = serde_json::from_str(&body).unwrap();
        assert!(page.sessions.len() <= 1 && page.total == 300, "{body}");
        found.extend(page.sessions.into_iter().flat_map(|session| session.ue));
        match page.after {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

// Input:  filters that do not exist, twice the same, and values that are none, in lists and in paths.
// Output: 400, and which parameter is wrong; the known ones for an unknown one. No page: 404; no such method: 405.
#[test]
fn what_is_malformed_is_refused_by_name() {
    let (running, _smf) = start();
    let known = ["seid", "cp_seid", "ue", "teid", "dnn", "user", "smf", "gnb", "after", "limit"];
    for (path, status, says) in [
        ("sessions?imsi=1", 400, vec!["unknown parameter `imsi`"]),
        ("sessions?imsi=1", 400, known.to_vec()),
        (
            "sessions?ue=10.45.0.300",
            400,
            vec!["ue: expected an IP address, for example ", "not \"10.45.0.300\""],
        ),
        ("sessions?ue=", 400, vec!["ue:"]),
        ("sessions?ue=10.45.0.3&ue=10.45.0.4", 400, vec!["more than one parameter `ue`"]),
        ("sessions?teid=0", 400, vec!["teid:", "not zero"]),
        ("sessions?teid=0x1ffffffff", 400, vec!["teid:"]),
        ("sessions?seid=-1", 400, vec!["seid:"]),
        ("sessions?seid=0x%2B1", 400, vec!["seid:"]),
        ("sessions?cp_seid=0x51@", 400, vec!["cp_seid:"]),
        ("sessions?dnn=", 400, vec!["dnn:"]),
        ("sessions?limit=0", 400, vec!["limit: expected a number from 1 to 1000, not \"0\""]),
        ("sessions?limit=1001", 400, vec!["limit:"]),
        ("sessions?after=x", 400, vec!["after:"]),
        ("sessions/nonsense", 400, vec!["`nonsense`", "SEID"]),
        ("sessions/0x12345", 404, vec!["0x12345"]),
        ("nothing", 404, vec!["no such page"]),
        ("associations/192.0.2.1", 405, vec!["method"]),
    ] {
        let (head, body) = running.fetch(&format!("/api/v1/{path}"));
        assert!(head.contains(&format!(" {status} ")), "{path}: {head}");
        assert!(head.contains("content-type: application/problem+json"), "{path}: {head}");
        let problem: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(problem["status"], status, "{path}");
        assert!(!body.contains("deserialize") && !body.contains("field"), "{path}: {body}");
        for part in says {
            assert!(problem["detail"].as_str().unwrap().contains(part), "{path}: {part} is not in {body}");
        }
    }
}

// Input:  a session that counts volumes; two packets from the UE, then three to it, which are buffered.
// Output: its rules as the SMF sent them; the octets that passed, what is left until the threshold, the last packet's time, and
//         what is buffered. A usage query of the SMF afterwards has the same figures: the look has changed nothing.
#[test]
fn one_session_whole() {
    let (mut running, mut smf) = start();
    let (gnb, upf) = (Gnb::new(), running.upf);
    let session = smf.establish_counting(UE);
    let up = packet(UE, SERVER, b"to the server");
    for _ in 0..2 {
        gnb.send(upf, session.uplink.teid, &up);
        next(&mut running.server);
    }
    let down = packet(SERVER, UE, b"to the UE");
    for _ in 0..3 {
        assert!(running.server.push(causeway_packet::Meta::Ip, &down));
    }
    smf.accept_downlink_data(session);
    let path = format!("/api/v1/sessions/{:#x}", session.up_seid.0);
    let detail = || -> SessionDetail { serde_json::from_str(&running.fetch(&path).1).unwrap() };
    until("three packets are buffered", || detail().state.is_some_and(|state| state.buffer.packets == 3));
    let shown = detail();
    let [uplink, downlink] = &shown.pdrs[..] else { panic!("{shown:?}") };
    assert_eq!((uplink.source.as_str(), downlink.source.as_str()), ("access", "core"));
    assert_eq!(uplink.tunnel.as_ref().unwrap().teid, session.uplink.teid.to_string());
    assert_eq!((&downlink.ue[..], &downlink.urrs[..]), (&["10.45.0.2".to_owned()][..], &[1][..]));
    assert_eq!(
        shown.fars.iter().map(|far| far.action.as_str()).collect::<Vec<_>>(),
        ["forward", "buffer_and_notify"]
    );
    assert_eq!(
        (&shown.urrs[0].triggers[..], &shown.urrs[0].measures[..]),
        (&["VOLTH".to_owned()][..], &["volume".to_owned()][..])
    );
    let state = shown.state.unwrap();
    let octets = 2 * up.len() as u64;
    let [usage] = &state.usage[..] else { panic!("{state:?}") };
    assert_eq!((usage.urr, usage.unreported.uplink_octets, usage.unreported.uplink_packets), (1, octets, 2));
    assert_eq!((usage.unreported.downlink_octets, usage.exhausted, usage.active), (0, false, true));
    assert_eq!(usage.until_threshold.volume.as_ref().unwrap().total, Some((1 << 40) - octets));
    assert_eq!(state.buffer.octets, 3 * down.len());
    assert!(state.last_packet.unwrap() >= state.buffer.oldest.unwrap() && usage.since > 0.0);
    assert_eq!(smf.query(session), (octets, 0));
}

/// What would become of a packet, and the status line.
fn explained(running: &Running, packet: &str) -> (String, Value) {
    let at = running.daemon.management_addresses()[0];
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "POST /api/v1/explain HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Type: application/json"
    );
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{packet}", packet.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), serde_json::from_str(body).unwrap())
}

// Input:  an idle UE whose downlink packets are buffered: a packet to it in words, one that is none, one to no UE, one that
//         the words do not describe, octets that are no JSON, and a body of 20,000 octets.
// Output: the session, its PDR and action, and that it would be buffered, which it is not: the buffer stays empty and no report
//         is sent; the drop reasons with what to do; what is wrong with the words.
#[test]
fn a_packet_is_explained_and_not_handled() {
    let (running, mut smf) = start();
    let session = smf.establish();
    let seid = format!("{:#x}", session.up_seid.0);
    let to_ue = r#"{"interface": "n6", "source": "198.51.100.1", "destination": "10.45.0.2", "length": 60}"#;
    for _ in 0..3 {
        let (status, explanation) = explained(&running, to_ue);
        assert_eq!(status, "HTTP/1.1 200 OK", "{explanation}");
        assert_eq!(explanation["disposition"], "buffered");
        assert_eq!(explanation["key"], "UE 10.45.0.2 in internet");
        assert_eq!(explanation["rules"]["seid"], seid.as_str());
        assert_eq!(explanation["rules"]["action"], "buffer_and_notify");
        assert_eq!(explanation["rules"]["direction"], "downlink");
    }
    let detail: SessionDetail =
        serde_json::from_str(&running.fetch(&format!("/api/v1/sessions/{seid}")).1).unwrap();
    assert_eq!(detail.state.unwrap().buffer.packets, 0);
    assert!(smf.receive_waiting().is_empty(), "a report is sent");
    let (_, malformed) = explained(&running, r#"{"interface": "n6", "packet": "45"}"#);
    assert_eq!(malformed["disposition"], "dropped");
    let (_, to_nobody) = explained(&running, &to_ue.replace("10.45.0.2", "10.45.0.3"));
    assert_eq!(to_nobody["reason"]["reason"], "unknown_ue");
    let form = "expected a packet such as {";
    for (wrong, says) in [
        (r#"{"interface": "n6"}"#, ["give source", ""]),
        (r#"{"interface": "n5"}"#, ["give source", ""]),
        (r#"{"interfaces": "n6"}"#, ["unknown name `interfaces`", form]),
        (r#"{"qfi": "nine"}"#, ["qfi: ", form]),
        ("[", ["the body is not JSON", form]),
        ("\u{1}", ["the body is not JSON", form]),
    ] {
        let (status, problem) = explained(&running, wrong);
        assert!(status.starts_with("HTTP/1.1 400"), "{wrong}: {status} {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(says.iter().all(|part| detail.contains(part)), "{wrong}: {detail}");
        assert!(!detail.contains("deserialize") && !detail.contains("request body"), "{wrong}: {detail}");
    }
    let (status, problem) = explained(&running, &format!("{{\"packet\": \"{}\"}}", "4".repeat(20_000)));
    assert!(status.starts_with("HTTP/1.1 413"), "{status}");
    assert_eq!(problem["detail"], "the body has more than 16384 octets, which is the limit");
    assert_eq!(running.metric("causeway_received_packets_total{side=\"ip\"}"), 0.0);
}

// Input:  the OpenAPI description, and its page.
// Output: version 3.1; each path that is read answers; each $ref leads to a schema; the page shows each path and schema, and
//         loads nothing from elsewhere.
#[test]
fn the_description_is_that_of_the_server() {
    let (running, mut smf) = start();
    let session = smf.establish();
    let description: Value = serde_json::from_str(&running.fetch("/api/v1/openapi.json").1).unwrap();
    assert!(description["openapi"].as_str().unwrap().starts_with("3.1"));
    let (head, page) = running.fetch("/api/v1");
    assert!(head.contains("content-type: text/html"), "{head}");
    for (path, item) in description["paths"].as_object().unwrap() {
        assert!(page.contains(path.as_str()), "{path} is not on the page");
        let is_stream = ["/events", "/trace", "/capture"].iter().any(|end| path.ends_with(end));
        if item["get"].is_object() && !is_stream {
            let path = path.replace("{seid}", &session.up_seid.0.to_string());
            assert!(running.fetch(&path).0.starts_with("HTTP/1.1 200"), "{path}");
        }
    }
    let schemas = description["components"]["schemas"].as_object().unwrap();
    let text = description.to_string();
    for name in text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(schemas.contains_key(name) && page.contains(&format!("id=\"{name}\"")), "{name}");
    }
    for part in ["src=", "http://", "https://", "@import", "<link"] {
        assert!(!page.contains(part), "the page has {part}");
    }
}

fn get<T: DeserializeOwned>(running: &Running, page: &str) -> T {
    let (head, body) = running.fetch(&format!("/api/v1/{page}"));
    assert!(head.starts_with("HTTP/1.1 200"), "{page}: {head} {body}");
    serde_json::from_str(&body).unwrap()
}

// Input:  a UPF with Echo Requests and an address pool, one session with a gNB, a packet from its UE, and one to an unknown tunnel.
// Output: status, packet threads, ports, drops, pools, peers and configuration say so; the drop has an explanation.
#[test]
fn the_upf_as_a_whole() {
    let upf = loopback();
    let mut config = config(upf);
    config.upf.gtpu.echo.interval = causeway_types::Span::from_secs(60);
    let mut running = run(&config, upf).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    smf.associate();
    let session = smf.establish_forwarding(UE, teid(7), gnb.address);
    let up = packet(UE, SERVER, b"to the server");
    gnb.send(upf, session.uplink.teid, &up);
    next(&mut running.server);
    gnb.send(upf, teid(session.uplink.teid.value() ^ 1), &up);
    until("the packet is dropped", || get::<StatusView>(&running, "status").dropped_packets == 1);

    let status: StatusView = get(&running, "status");
    assert_eq!((status.associations, status.sessions, status.workers), (1, 1, 1));
    assert_eq!((status.data_plane.as_str(), status.node_id), ("fastpath", upf.to_string()));
    let workers: Workers = get(&running, "workers");
    let [worker] = &workers.workers[..] else { panic!("{workers:?}") };
    assert_eq!((worker.sessions, worker.forwarded_packets, worker.dropped_packets), (1, 1, 1));
    let interfaces: Interfaces = get(&running, "interfaces");
    let n3 = interfaces.interfaces.iter().find(|port| port.name == format!("n3-{upf}")).unwrap();
    assert!(n3.received_packets >= 2 && n3.received_octets > 0, "{n3:?}");
    let drops: Drops = get(&running, "drops");
    let dropped: Vec<_> = drops.drops.iter().filter(|drop| drop.count > 0).collect();
    assert_eq!(dropped.iter().map(|drop| drop.reason.as_str()).collect::<Vec<_>>(), ["unknown_teid"]);
    assert!(dropped[0].meaning.contains("TEID") && dropped[0].remedy.contains("causeway sessions"));
    let pools: Pools = get(&running, "pools");
    assert_eq!((pools.pools[0].dnn.as_str(), pools.pools[0].allocated), ("internet", 0));
    let peers: Peers = get(&running, "peers");
    assert!(peers.supervised && peers.peers[0].up, "{peers:?}");
    assert_eq!((&peers.peers[0].peer, peers.peers[0].fars), (&gnb.address.to_string(), 1));
    let behind: Peers = get(&running, &format!("peers?after={upf}-{}", gnb.address));
    assert_eq!(behind.peers, []);
    assert!(running.fetch("/api/v1/peers?after=x").0.contains(" 400 "));
    let shown: ConfigView = get(&running, "config");
    assert_eq!(shown.upf["gtpu"]["echo"]["interval"], "60s");
}

/// A stream of events, behind its response line and headers.
pub(crate) fn listen(running: &Running) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(running.daemon.management_addresses()[0]).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).unwrap();
        assert!(!line.starts_with("HTTP/1.1") || line.contains(" 200 "), "{line}");
    }
    stream
}

/// The next event that `is_wanted`.
fn next_event(stream: &mut BufReader<TcpStream>, is_wanted: impl Fn(&EventView) -> bool) -> EventView {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream ends");
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let event: TimedEvent = serde_json::from_str(data).unwrap();
        assert!(event.time > 1e9);
        if is_wanted(&event.event) {
            return event.event;
        }
    }
}

// Input:  two clients that listen; then an SMF with a session that is established, has downlink data, is modified and deleted.
// Output: both hear of each of these, in order.
#[test]
fn events_are_told_as_they_happen() {
    let upf = loopback();
    let mut running = run(&config(upf), upf).unwrap();
    let mut streams = [listen(&running), listen(&running)];
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    let session = smf.establish();
    assert!(running.server.push(causeway_packet::Meta::Ip, &packet(SERVER, UE, b"wake up")));
    smf.accept_downlink_data(session);
    smf.forward(session, teid(7), GNB);
    smf.delete(session);
    let (seid, node_id) = (format!("{:#x}", session.up_seid.0), smf.local().ip().to_string());
    let cp_seid = format!("{:#x}", session.cp_seid.0);
    for stream in &mut streams {
        let mut next = || next_event(stream, |_| true);
        assert_eq!(next(), EventView::AssociationUp { node_id: node_id.clone() });
        assert_eq!(next(), EventView::SessionEstablished { seid: seid.clone() });
        let report = next();
        assert!(matches!(&report, EventView::ReportSent { cp_seid: of, .. } if *of == cp_seid), "{report:?}");
        let is_modified = |event: &EventView| !matches!(event, EventView::ReportSent { .. });
        assert_eq!(next_event(stream, is_modified), EventView::SessionModified { seid: seid.clone() });
        assert_eq!(next_event(stream, is_modified), EventView::SessionDeleted { seid: seid.clone() });
    }
}

// Input:  a thousand clients that ask for events, one after the other, and stay.
// Output: at most 16 streams; the others are refused or closed. Pages are served, N4 answers, and an event reaches a stream.
//         When one leaves, another may listen.
#[test]
fn a_thousand_streams_are_bounded() {
    let (running, mut smf) = start();
    let at = running.daemon.management_addresses()[0];
    let mut kept = vec![listen(&running)];
    let (mut good, mut refused) = (1, 0);
    for _ in 0..1000 {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
        let mut start = [0; 12];
        match stream.read_exact(&mut start) {
            Ok(()) if start.ends_with(b"200") => {
                good += 1;
                kept.push(BufReader::new(stream));
            }
            Ok(()) => {
                assert!(start.ends_with(b"503"), "{start:?}");
                refused += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert_eq!((good, refused), (16, 985));
    assert_eq!(running.fetch("/healthz").1, "ok\n");
    smf.heartbeat();
    smf.establish();
    let is_session = |event: &EventView| matches!(event, EventView::SessionEstablished { .. });
    next_event(&mut kept[0], is_session);
    drop(kept.pop());
    until("another may listen", || {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).is_ok() && start.ends_with(b"200")
    });
}
