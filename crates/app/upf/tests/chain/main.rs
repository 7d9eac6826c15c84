//! A chain of two daemons in network namespaces, whose processes are killed. A program of its own, since the daemons are processes: this
//! program again, with the role in its environment.

#[path = "../upf/common/mod.rs"]
mod common;
mod load;
mod network;
mod process;
mod usage;

use std::net::Ipv4Addr;
use std::time::Instant;

use causeway_types::Teid;

use common::namespace::in_namespace;
use common::{Gnb, UE, until};
use load::Load;
use network::{GNB, Network, SERVICE, Server};

/// The tunnel of the gNB.
fn downlink() -> Teid {
    Teid::new(0x77).unwrap()
}

/// A packet of the UE reaches the server and its reply the UE, within the patience of a test.
fn traffic_passes(gnb: &Gnb, server: &Server, uplink: Teid) {
    // A reply to an earlier packet may still be under way.
    let mark = fastrand::u64(..).to_be_bytes();
    until("a packet to the server and back", || {
        gnb.send(SERVICE, uplink, &common::packet(UE, network::SERVER, &mark));
        server.reply();
        gnb.receive_waiting().iter().any(|datagram| datagram.ends_with(&mark))
    });
}

// Input:  no `pfcp.allow`; a session with packets in both directions; the primary is killed; later the member that took over, after the first has returned. Then
//         the session is modified and deleted.
// Output: the SMF, in the network of `chain.dev`, is accepted; packets pass again each time, with no word to the SMF; the Recovery Time Stamp stays; the SMF repeats nothing.
#[test]
fn a_session_outlives_the_primary() {
    in_namespace("a_session_outlives_the_primary", || {
        let mut network = Network::new();
        network.start_member(1);
        network.start_member(2);
        network.await_standby();
        let (mut smf, gnb, server) = (network.smf(), Gnb::at(GNB), Server::new());
        let primary = network.primary();
        let is_complete = || network.metric(primary, "causeway_chain_members").as_deref() == Some("2");
        until("a complete chain in the metrics", is_complete);
        assert_eq!(network.metric(primary, "causeway_chain_takeovers_total").as_deref(), Some("1"));
        assert!(smf.associate().is_accepted());
        let session = smf.establish_forwarding(UE, downlink(), GNB);
        let recovery = smf.recovery_of_upf();
        traffic_passes(&gnb, &server, session.uplink.teid);
        for _ in 0..2 {
            let killed = network.kill_primary();
            let begin = Instant::now();
            traffic_passes(&gnb, &server, session.uplink.teid);
            eprintln!("packets pass {} ms after the primary was killed", begin.elapsed().as_millis());
            assert_eq!(smf.recovery_of_upf(), recovery);
            smf.forward(session, downlink(), GNB);
            network.start_member(killed);
            network.await_standby();
        }
        // TEIDs and SEIDs of new sessions are others.
        let other = smf.establish_forwarding(Ipv4Addr::new(10, 45, 0, 3), downlink(), GNB);
        assert!(other.uplink.teid != session.uplink.teid && other.up_seid != session.up_seid);
        smf.delete(session);
        smf.delete(other);
    });
}

// Input:  an SMF that establishes, modifies and deletes sessions at 10,000 requests a second, as far as the machine has them, and repeats what is not answered;
//         members are killed at random, each when the chain is complete; the primary while the standby is cut off for a moment. Beside them a session that
//         nothing changes, with packets.
// Output: after each kill some thousand requests more are answered, each within the patience of a test, and packets of that session pass in both directions; each
//         session whose establishment was accepted and whose deletion was not is there in the end, with the downlink of its last acknowledged
//         modification, and no other.
#[test]
fn no_acknowledged_session_is_lost() {
    in_namespace("no_acknowledged_session_is_lost", || {
        let kills =
            std::env::var("CAUSEWAY_CHAIN_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
        let mut network = Network::new();
        network.start_member(1);
        network.start_member(2);
        network.await_standby();
        let (mut smf, gnb, server) = (network.smf(), Gnb::at(GNB), Server::new());
        assert!(smf.associate().is_accepted());
        let session = smf.establish_forwarding(UE, downlink(), GNB);
        traffic_passes(&gnb, &server, session.uplink.teid);
        let load = Load::begin(network::SMF, SERVICE, 10_000);
        let mut random = fastrand::Rng::new();
        for _ in 0..kills {
            load.await_progress();
            let node = 1 + random.u8(..2);
            let is_primary = node == network.primary();
            if is_primary {
                // What the primary acknowledged to the SMF from now on would be lost.
                network.set_connected(3 - node, false);
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            network.kill(node);
            if is_primary {
                network.set_connected(3 - node, true);
            }
            load.await_progress();
            traffic_passes(&gnb, &server, session.uplink.teid);
            network.start_member(node);
            network.await_standby();
        }
        let outcome = load.end();
        eprintln!(
            "{} requests in {:.1} s, {} repeated, longest without a response {} ms, {} sessions",
            outcome.answered,
            outcome.seconds,
            outcome.repeated,
            outcome.longest_pause.as_millis(),
            outcome.sessions.len()
        );
        assert!(outcome.longest_pause < common::PATIENCE);
        outcome.check(&gnb, &server);
        traffic_passes(&gnb, &server, session.uplink.teid);
    });
}

// Input:  3,000 sessions, or as many as CAUSEWAY_CHAIN_SESSIONS says, each established and modified; then the primary is killed.
// Output: packets of the last session established pass again; the log of the new primary says when it had planned the sessions, when the data plane had
//         them, and when the addresses were there.
#[test]
fn many_sessions_are_taken_over_at_once() {
    in_namespace("many_sessions_are_taken_over_at_once", || {
        let mut network = Network::new();
        network.start_member(1);
        network.start_member(2);
        network.await_standby();
        let (mut smf, gnb, server) = (network.smf(), Gnb::at(GNB), Server::new());
        assert!(smf.associate().is_accepted());
        let load = Load::begin(network::SMF, SERVICE, 50_000);
        load.await_answers(2);
        let outcome = load.end();
        let session = smf.establish_forwarding(UE, downlink(), GNB);
        traffic_passes(&gnb, &server, session.uplink.teid);
        let killed = network.kill_primary();
        let begin = Instant::now();
        traffic_passes(&gnb, &server, session.uplink.teid);
        let millis = begin.elapsed().as_millis();
        eprintln!(
            "{} sessions: packets pass {millis} ms after the primary was killed",
            outcome.sessions.len()
        );
        let log = network.log(3 - killed);
        let said = |what: &str| log.lines().rfind(|line| line.contains(what)).map(str::to_owned);
        for what in ["sessions continue", "the data plane has the sessions", "the service addresses are here"]
        {
            eprintln!("{}", said(what).expect(what));
        }
        outcome.check(&gnb, &server);
    });
}

// Input:  a primary and a standby, whose hosts do not forward IPv4; the primary is killed.
// Output: each says so when it becomes the primary, as without a chain, and its owner hears that the daemon has started; the standby does neither before.
#[test]
fn a_primary_starts_as_a_upf_without_a_chain() {
    in_namespace("a_primary_starts_as_a_upf_without_a_chain", || {
        let mut network = Network::new();
        for node in [1, 2] {
            network.set_forwarding(node, false);
        }
        let says = |network: &Network, node| {
            let log = network.log(node);
            log.contains("ip_forward") && log.contains("the owner knows that the daemon has started")
        };
        network.start_member(1);
        network.await_primary();
        until("the log of the primary", || says(&network, 1));
        network.start_member(2);
        network.await_standby();
        let log = network.log(2);
        assert!(!log.contains("ip_forward") && !log.contains("has started"), "{log}");
        network.kill(1);
        network.await_primary();
        until("the log of the primary", || says(&network, 2));
    });
}

// Input:  the standby is killed, and returns; the coordinator is killed, and returns; meanwhile sessions come.
// Output: they are accepted after a pause at most; with the standby back, the session is on both.
#[test]
fn the_primary_goes_on_alone() {
    in_namespace("the_primary_goes_on_alone", || {
        let mut network = Network::new();
        network.start_member(1);
        network.start_member(2);
        network.await_standby();
        let mut smf = network.smf();
        assert!(smf.associate().is_accepted());
        let ue = |last| Ipv4Addr::new(10, 45, 0, last);
        let mut sessions = vec![smf.establish_forwarding(ue(2), downlink(), GNB)];
        let standby = network.kill_standby();
        sessions.push(smf.establish_forwarding(ue(3), downlink(), GNB));
        network.restart_coordinator();
        sessions.push(smf.establish_forwarding(ue(4), downlink(), GNB));
        network.start_member(standby);
        network.await_standby();
        network.kill_primary();
        network.await_primary();
        for session in sessions {
            smf.forward(session, downlink(), GNB);
        }
    });
}

// Input:  the primary is cut off from everybody, and its network comes back; then the member that took over is killed.
// Output: the other one takes over; the first stops in the meantime, and joins again; the session is there each time.
#[test]
fn a_primary_that_is_cut_off_stops() {
    in_namespace("a_primary_that_is_cut_off_stops", || {
        let mut network = Network::with_silence(5);
        network.start_member(1);
        network.start_member(2);
        network.await_standby();
        let mut smf = network.smf();
        assert!(smf.associate().is_accepted());
        let session = smf.establish_forwarding(UE, downlink(), GNB);
        let cut_off = network.primary();
        network.set_connected(cut_off, false);
        until("another primary", || network.primary() != cut_off);
        network.await_primary();
        smf.forward(session, downlink(), GNB);
        until("the end of the first", || network.log(cut_off).contains("is outside in epoch"));
        network.set_connected(cut_off, true);
        network.await_standby();
        network.kill_primary();
        network.await_primary();
        smf.forward(session, downlink(), GNB);
    });
}

// Input:  a member whose other one is not there for a while; then the primary is cut off from the coordinator alone, and its network comes back.
// Output: the log names the key of what was not reached; the other one takes over, and hears of it, so that only one of them has the service addresses; the
//         first joins again.
#[test]
fn a_primary_that_the_coordinator_misses_stops() {
    in_namespace("a_primary_that_the_coordinator_misses_stops", || {
        let mut network = Network::with_silence(5);
        network.start_member(1);
        until("the other one is missed", || {
            network.log(1).contains("no connection to upf.chain.peer 10.0.0.12:8806 for 5s: ")
        });
        network.start_member(2);
        network.await_standby();
        let mut smf = network.smf();
        assert!(smf.associate().is_accepted());
        let session = smf.establish_forwarding(UE, downlink(), GNB);
        let missed = network.primary();
        network.set_coordinated(missed, false);
        until("another primary with the addresses", || {
            network.primary() != missed && network.has_addresses(3 - missed)
        });
        until("the end of the first", || !network.has_addresses(missed));
        network.await_primary();
        smf.forward(session, downlink(), GNB);
        network.set_coordinated(missed, true);
        network.await_standby();
        assert_eq!(network.primary(), 3 - missed);
    });
}

// Input:  a service manager of the standby that wants to hear every half second that it is alive; then the primary is killed.
// Output: it hears so again and again from the standby, and from the primary that the standby becomes.
#[test]
fn the_service_manager_of_a_standby_hears_that_it_is_alive() {
    in_namespace("the_service_manager_of_a_standby_hears_that_it_is_alive", || {
        let mut network = Network::new();
        network.start_member(1);
        until("a primary", || network.has_primary());
        let manager = network.manager(2);
        let hear = || manager.recv_timeout(common::PATIENCE).expect("to be told in time");
        network.start_member(2);
        while hear() != "STATUS=not the primary of the chain" {}
        network.await_standby();
        for _ in 0..4 {
            assert_eq!(hear(), "WATCHDOG=1");
        }
        network.kill(1);
        while hear() != "STATUS=primary of the chain" {}
        for _ in 0..4 {
            assert_eq!(hear(), "WATCHDOG=1");
        }
    });
}

// Input:  standby and primary reload a file with a new forwarding policy; a session with this policy is established; the primary is killed.
// Output: the standby says what it will start with; the session is there, and another one with the policy is accepted; the killed member joins with the new file.
#[test]
fn a_standby_takes_over_with_what_it_has_reloaded() {
    in_namespace("a_standby_takes_over_with_what_it_has_reloaded", || {
        let mut network = Network::new();
        network.start_member(1);
        network.start_member(2);
        network.await_standby();
        let mut smf = network.smf();
        assert!(smf.associate().is_accepted());
        let (primary, steered) = (network.primary(), |last| Ipv4Addr::new(10, 45, 0, last));
        assert!(smf.try_establish_steered(steered(3), "gold").is_err());
        let policy = "forwarding_policy: [{name: gold, dscp: 46}]";
        for node in [3 - primary, primary] {
            network.reload(node, policy);
        }
        let log = network.log(3 - primary);
        assert!(
            log.contains("changed when this member is the primary: upf.forwarding_policy: gold added"),
            "{log}"
        );
        let session = smf.try_establish_steered(steered(3), "gold").unwrap();
        network.kill(primary);
        network.await_primary();
        smf.forward(session, downlink(), GNB);
        assert!(smf.try_establish_steered(steered(4), "gold").is_ok());
        network.start_member_with(primary, policy);
        network.await_standby();
    });
}

// Input:  a member of another Node ID.
// Output: the coordinator does not take it, and the log says so; the chain goes on without it.
#[test]
fn a_member_with_another_configuration_is_not_taken() {
    in_namespace("a_member_with_another_configuration_is_not_taken", || {
        let mut network = Network::new();
        network.start_member(1);
        let mut smf = network.smf();
        until("the association", || network.has_primary());
        assert!(smf.associate().is_accepted());
        network.start_member_with(2, "node_id: other.example");
        until("the refusal in the log", || network.log(2).contains("configuration is not that of the chain"));
        let session = smf.establish_forwarding(UE, downlink(), GNB);
        smf.delete(session);
        assert!(!network.has_standby());
    });
}

// Input:  from the host of the standby, and from another one, 60 times: octets that are no frame, one that is cut off, a member of another version, one with another
//         configuration, and a state from the neighbour of an epoch that nobody knows.
// Output: the primary goes on, and the log names what is wrong, not each time; the standby that comes afterwards gets the session.
#[test]
fn bad_input_changes_nothing() {
    in_namespace("bad_input_changes_nothing", || {
        let mut network = Network::new();
        network.start_member(1);
        let mut smf = network.smf();
        assert!(smf.associate().is_accepted());
        let session = smf.establish_forwarding(UE, downlink(), GNB);
        let hello = |version: u8, settings: &str| {
            format!(r"\x00\x00\x00\x11\x01\x00\x0{version}\x00\x02\x00\x00\x00\x07{settings}")
        };
        let foreign = r"\x00\x00\x00\x00\x00\x00\x00\x00";
        let update = r"\x00\x00\x00\x1d\x02\xff\xff\xff\xff\x00\x00\x00\x01\x02\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00";
        for octets in
            [r"\xff\xff\xff\xff", r"\x00\x00\x00\x11\x01\x00", &hello(9, foreign), &hello(1, foreign), update]
        {
            network.send_to_member(1, octets);
        }
        until("the log", || {
            let log = network.log(1);
            ["is longer than", "another version of the protocol", "has another configuration"]
                .iter()
                .all(|what| log.contains(what))
        });
        for _ in 0..60 {
            std::net::TcpStream::connect(("10.0.0.11", 8806)).unwrap();
        }
        until("the log", || network.log(1).contains("connections of other hosts: "));
        assert!(network.log(1).matches("is not upf.chain.peer").count() < 60);
        smf.forward(session, downlink(), GNB);
        network.start_member(2);
        network.await_standby();
        network.kill(1);
        network.await_primary();
        smf.forward(session, downlink(), GNB);
    });
}

/// Does nothing, unless the environment gives this process a role.
#[test]
fn process() {
    process::run();
}
