//! Who may be an SMF on N4, and how an operator ends an association.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use causeway_pfcp::{Cause, Message};
use causeway_upf::Daemon;
use causeway_upf::config::PfcpServer;

use crate::common::far::far_end;
use crate::common::namespace::{in_namespace, ip};
use crate::common::smf::{Smf, decode};
use crate::common::{PATIENCE, config, loopback, run, until};

const N4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 33);

/// What the far end of the link is given.
const COMMANDS: &[&str] =
    &["address add 198.51.100.9/24 dev far", "link set far up", "route add 192.0.2.32/28 dev far"];

/// The status line and the body of an answer of the management server.
fn call(daemon: &Daemon, what: &str, header: &str) -> (String, String) {
    let at = daemon.management_addresses()[0];
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "{what} HTTP/1.1\r\nHost: {at}\r\n{header}Content-Length: 0\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

// Input:  an SMF with a session; calls of the management server that end its association: of another node, from a web page, and one
//         that is good; then one that asks the SMF for the release.
// Output: 404, 403, and how many sessions went; the SMF has to set up its association again. It is asked by N4 to release that.
#[test]
fn an_operator_ends_an_association() {
    let upf = loopback();
    let running = run(&config(upf), upf).unwrap();
    let mut smf = Smf::new(loopback().into(), running.n4());
    assert_eq!(smf.associate(), Cause::RequestAccepted);
    smf.establish();
    let path = format!("/api/v1/associations/{}", smf.local().ip());
    let daemon = &running.daemon;
    assert!(call(daemon, "DELETE /api/v1/associations/192.0.2.99", "").0.contains(" 404 "));
    let (status, why) = call(daemon, &format!("DELETE {path}"), "Origin: http://192.0.2.80\r\n");
    assert!(status.contains(" 403 ") && why.contains("web page"), "{status} {why}");
    assert_eq!(running.metric("pfcp_sessions"), 1.0);
    let (status, said) = call(daemon, &format!("DELETE {path}"), "");
    assert!(status.contains(" 200 ") && said.contains(r#""sessions":1"#), "{status} {said}");
    assert_eq!(running.metric("pfcp_associations"), 0.0);
    until("its session goes", || running.metric("pfcp_sessions") == 0.0);

    assert_eq!(smf.associate(), Cause::RequestAccepted);
    assert!(call(daemon, &format!("POST {path}/release"), "").0.contains(" 202 "));
    let asked = smf.receive();
    assert!(matches!(decode(&asked).1, Message::AssociationUpdateRequest(_)));
}

// Input:  N4 on an interface with the network 192.0.2.32/28, without `upf.pfcp.allow`; an SMF on that link with an address of another
//         network. Then the same with that network in `allow`.
// Output: its association is refused, with cause 64; then it is accepted.
#[test]
fn smfs_are_of_the_connected_networks_unless_said_otherwise() {
    in_namespace("n4_trust::smfs_are_of_the_connected_networks_unless_said_otherwise", || {
        let socket = far_end("n4", "192.0.2.33/28", COMMANDS, ([198, 51, 100, 9].into(), 0));
        ip("route add 198.51.100.0/24 dev n4");
        let mut config = config(loopback());
        config.upf.pfcp.server = vec![PfcpServer::at(N4.into(), 8805)];
        let over = |daemon: &Daemon| Smf::over(socket.try_clone().unwrap(), daemon.pfcp_addresses()[0]);
        let running = run(&config, N4).unwrap();
        assert_eq!(over(&running.daemon).associate(), Cause::RequestRejected);
        drop(running);
        config.upf.pfcp.allow = vec!["198.51.100.0/24".parse().unwrap()];
        let running = run(&config, N4).unwrap();
        assert_eq!(over(&running.daemon).associate(), Cause::RequestAccepted);
    });
}
