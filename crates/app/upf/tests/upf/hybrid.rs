//! The daemon with a switch in front of its fast path: rules move under traffic over real sockets.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use causeway_packet::Meta;
use causeway_types::{Bitrate, Qfi, Span, Teid};
use causeway_upf::config::{Config, DataPlane, HybridKeys, Overrides, SwitchModel, Upf};
use causeway_upf::management::views::PlacementView;

use crate::common::smf::{Session, Smf};
use crate::common::{
    Gnb, PATIENCE, Running, SERVER, UE, config, loopback, next, one_hop_on, packet, run, until,
};

/// Packets of a burst, and those that are under way at most.
const BURST: u32 = 16;
const UNDER_WAY: u32 = 48;

const OTHER_UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);

/// A UE at a gNB of its own, whose packets are numbered in both directions. Each must arrive once, and in order.
struct Ue {
    address: Ipv4Addr,
    downlink: Teid,
    headers: usize,
    gnb: Gnb,
    session: Session,
    sent: u32,
    received: [u32; 2],
}

impl Ue {
    /// Its packets are of a QoS flow, so that the switch can forward them.
    fn attach(smf: &mut Smf, address: Ipv4Addr, downlink: u32) -> Self {
        let session = smf.establish_flow(address, Qfi::new(9).unwrap());
        Self::of(smf, session, address, downlink, 16)
    }

    /// With downlink packets of a session behind headers of so many octets.
    fn of(smf: &mut Smf, session: Session, address: Ipv4Addr, downlink: u32, headers: usize) -> Self {
        let (gnb, downlink) = (Gnb::new(), Teid::new(downlink).unwrap());
        smf.forward(session, downlink, gnb.address);
        Self { address, downlink, headers, gnb, session, sent: 0, received: [0; 2] }
    }

    fn up(&self, number: u32) -> Vec<u8> {
        packet(self.address, SERVER, &[&number.to_be_bytes()[..], &[1; 400]].concat())
    }

    fn down(&self, number: u32) -> Vec<u8> {
        packet(SERVER, self.address, &[&number.to_be_bytes()[..], &[2; 600]].concat())
    }

    /// Sends a burst each way, of which so many packets may be under way still on return.
    fn burst(&mut self, running: &mut Running, under_way: u32) {
        for number in self.sent..self.sent + BURST {
            self.gnb.send(running.upf, self.session.uplink.teid, &self.up(number));
            assert!(running.server.push(Meta::Ip, &self.down(number)));
        }
        self.sent += BURST;
        self.receive_until(running, self.sent.saturating_sub(under_way));
    }

    fn receive_until(&mut self, running: &mut Running, number: u32) {
        while self.received[0] < number {
            assert_eq!(next(&mut running.server), one_hop_on(self.up(self.received[0])));
            self.received[0] += 1;
        }
        while self.received[1] < number {
            let datagram = self.gnb.receive();
            assert_eq!(datagram[4..8], self.downlink.value().to_be_bytes());
            assert_eq!(datagram[self.headers..], one_hop_on(self.down(self.received[1])));
            self.received[1] += 1;
        }
    }

    fn receive_all(&mut self, running: &mut Running) {
        self.receive_until(running, self.sent);
    }

    /// Octets each way, from this packet on.
    fn octets(&self, from: u32) -> (u64, u64) {
        let packets = u64::from(self.sent - from);
        (packets * self.up(0).len() as u64, packets * self.down(0).len() as u64)
    }
}

/// A UPF whose rules move at a low rate, with other keys as given.
fn hybrid(keys: HybridKeys) -> (Config, Ipv4Addr) {
    let upf = loopback();
    let mut config = config(upf);
    config.upf.dataplane = DataPlane::Hybrid;
    config.upf.hybrid = HybridKeys {
        promote_at: Bitrate::from_kbps(16).unwrap(),
        // Switch and software share a thread: packets of different batches never overtake each other.
        longest_stay: Span::from_micros(1),
        strict: true,
        ..keys
    };
    (config, upf)
}

fn associated(running: &Running) -> Smf {
    let mut smf = Smf::new(loopback().into(), running.n4());
    smf.associate();
    smf
}

fn placement(running: &Running, query: &str) -> PlacementView {
    let (head, body) = running.fetch(&format!("/api/v1/placement{query}"));
    assert!(head.contains("200 OK"), "{head}\n{body}");
    serde_json::from_str(&body).unwrap()
}

// Input:  a UE that counts, with bursts in both directions whose rate exceeds `promote_at`, while its rules move; usage is
//         queried while they are on the switch; after more bursts the UE is silent, sends again, and its session ends.
// Output: the switch takes packets; every packet arrives once, in order; all reports are exact to the octet. The placement
//         shows both rules on the switch, later back in software, where the last packets are.
#[test]
fn a_busy_ue_moves_to_the_switch_and_loses_nothing() {
    let (config, upf) = hybrid(HybridKeys::default());
    let mut running = run(&config, upf).unwrap();
    let mut smf = associated(&running);
    let mut ue = Ue::attach(&mut smf, UE, 0x77);
    let of_session = format!("?seid={}", ue.session.up_seid);
    let start = Instant::now();
    let there = loop {
        ue.burst(&mut running, UNDER_WAY);
        let seen = placement(&running, &of_session);
        if seen.switch.packets >= 500 && seen.rules.switch == 2 {
            break seen;
        }
        assert!(start.elapsed() < PATIENCE, "{seen:?}");
    };
    ue.receive_all(&mut running);
    assert!(there.enabled && there.software.packets > 0 && there.moves.promoted >= 2, "{there:?}");
    let mut rules = there.listed;
    rules.sort_by(|one, other| one.direction.cmp(&other.direction));
    let seid = ue.session.up_seid.to_string();
    for (rule, direction) in rules.iter().zip(["downlink", "uplink"]) {
        assert_eq!((&*rule.direction, &*rule.place, &rule.seid), (direction, "switch", &seid));
        assert_eq!((&rule.ue[..], rule.since.is_some()), (&[UE.to_string()][..], true), "{rule:?}");
    }
    assert_eq!(rules.len(), 2);
    let waits = &there.waits;
    assert!(waits.count >= 2 && 0.0 < waits.p50_ms && waits.p50_ms <= waits.p99_ms, "{waits:?}");
    let flipped = placement(&running, "").moves.flipped as f64;
    assert_eq!(running.metric("causeway_hybrid_wait_seconds_count"), flipped);
    assert_eq!(running.metric("causeway_hybrid_wait_seconds_bucket{le=\"+Inf\"}"), flipped);
    assert_eq!(smf.query(ue.session), ue.octets(0));

    let (before, by_switch) = (ue.sent, there.switch.packets);
    while placement(&running, "").switch.packets < by_switch + 500 {
        ue.burst(&mut running, UNDER_WAY);
        assert!(start.elapsed() < 2 * PATIENCE, "{:?}", placement(&running, ""));
    }
    ue.receive_all(&mut running);
    let both = f64::from(2 * ue.sent);
    assert_eq!(running.metric("causeway_forwarded_packets_total"), both);
    let series = |series: &str| running.metric(&format!("causeway_hybrid_{series}"));
    assert_eq!(series("packets_total{side=\"switch\"}") + series("packets_total{side=\"software\"}"), both);

    until("slow rules move back", || placement(&running, "").rules.software == 2);
    let back = placement(&running, "");
    assert_eq!((back.total, back.moves.flipped_early), (0, 0), "{back:?}");
    assert!(back.moves.demoted >= 2, "{back:?}");
    assert_eq!(series("moves_total{move=\"demoted\"}"), back.moves.demoted as f64);
    ue.burst(&mut running, 0);
    assert!(placement(&running, "").software.packets > back.software.packets);

    assert_eq!(smf.delete(ue.session), Some(ue.octets(before)));
    let (head, _) = running.fetch(&format!("/api/v1/placement{of_session}"));
    assert!(head.contains("404"), "{head}");
    assert_eq!(placement(&running, "").total, 0);
    let sessions = "fivegs_upffunction_upf_sessionnbr";
    until("the session is gone", || running.metric(sessions) == 0.0);
}

// Input:  a UE whose downlink packets are of no QoS flow, with bursts in both directions.
// Output: the uplink moves to the switch; the downlink stays in software and is listed with the reason. Nothing is lost.
#[test]
fn a_rule_that_the_switch_cannot_forward_stays_and_says_why() {
    let (config, upf) = hybrid(HybridKeys::default());
    let mut running = run(&config, upf).unwrap();
    let mut smf = associated(&running);
    let session = smf.establish_counting(UE);
    let mut ue = Ue::of(&mut smf, session, UE, 0x77, 8);
    let start = Instant::now();
    let seen = loop {
        ue.burst(&mut running, UNDER_WAY);
        let seen = placement(&running, "");
        if seen.rules.switch == 1 && seen.moves.refused > 0 {
            break seen;
        }
        assert!(start.elapsed() < PATIENCE, "{seen:?}");
    };
    ue.receive_all(&mut running);
    let mut listed = seen.listed;
    listed.sort_by(|one, other| other.direction.cmp(&one.direction));
    let shown: Vec<_> = listed.iter().map(|rule| (&*rule.direction, &*rule.place)).collect();
    assert_eq!(shown, [("uplink", "switch"), ("downlink", "software")], "{listed:?}");
    assert!(listed[1].why.starts_with("not taken: ") && listed[1].why.contains("QFI"), "{listed:?}");
    assert_eq!(smf.query(ue.session), ue.octets(0));
}

// Input:  a switch for one rule; a UE with bursts in both directions, then also one with several times its rate.
// Output: never more than one rule leaves the software; the faster UE gets the entry; the other's rules say that the switch is
//         full. Every packet arrives once, in order, and the usage of both is exact.
#[test]
fn a_switch_for_one_rule_has_the_fastest() {
    let (config, upf) = hybrid(HybridKeys { capacity: 1, ..HybridKeys::default() });
    let mut running = run(&config, upf).unwrap();
    let mut smf = associated(&running);
    let mut ues = [Ue::attach(&mut smf, UE, 0x77), Ue::attach(&mut smf, OTHER_UE, 0x78)];
    let placed_for = |running: &Running, ue: &Ue| {
        let seen = placement(running, "");
        assert!(seen.total <= 1, "{seen:?}");
        let is_of = |rule: &&causeway_upf::management::views::PlacedRuleView| {
            rule.place == "switch" && rule.seid == ue.session.up_seid.to_string()
        };
        seen.listed.iter().any(|rule| is_of(&rule))
    };
    let start = Instant::now();
    while !placed_for(&running, &ues[0]) {
        ues[0].burst(&mut running, 0);
        assert!(start.elapsed() < PATIENCE, "{:?}", placement(&running, ""));
    }
    while !placed_for(&running, &ues[1]) {
        ues[0].burst(&mut running, 0);
        (0..8).for_each(|_| ues[1].burst(&mut running, 0));
        assert!(start.elapsed() < 2 * PATIENCE, "{:?}", placement(&running, ""));
    }
    let full = "the switch is full: no rule there is clearly slower";
    loop {
        ues[0].burst(&mut running, 0);
        (0..8).for_each(|_| ues[1].burst(&mut running, 0));
        let slower = placement(&running, &format!("?seid={}", ues[0].session.up_seid)).listed;
        if slower.iter().all(|rule| rule.why == full) {
            break;
        }
        assert!(start.elapsed() < 3 * PATIENCE, "{slower:?}");
    }
    for ue in &ues {
        assert_eq!(smf.query(ue.session), ue.octets(0));
    }
}

// Input:  a switch of whose requests three in ten fail, are answered late or not at all, or are half done; bursts of a UE each
//         way, with pauses in which its rules return, until they have moved to the switch three times.
// Output: every packet arrives once, in order, and the usage is exact.
#[test]
fn a_faulty_switch_loses_nothing() {
    let model = SwitchModel { faults: 300, ..SwitchModel::default() };
    let keys = HybridKeys { model, demote_after: Span::from_millis(100), ..HybridKeys::default() };
    let (config, upf) = hybrid(keys);
    let mut running = run(&config, upf).unwrap();
    let mut smf = associated(&running);
    let mut ue = Ue::attach(&mut smf, UE, 0x77);
    let start = Instant::now();
    for round in 1..=3 {
        let promoted = placement(&running, "").moves.promoted;
        let by_switch = placement(&running, "").switch.packets;
        loop {
            ue.burst(&mut running, UNDER_WAY);
            let seen = placement(&running, "");
            if seen.moves.promoted > promoted && seen.switch.packets > by_switch {
                break;
            }
            assert!(start.elapsed() < 4 * PATIENCE, "round {round}: {seen:?}");
        }
        ue.receive_all(&mut running);
        while placement(&running, "").total > 0 {
            std::thread::sleep(Duration::from_millis(20));
            assert!(start.elapsed() < 4 * PATIENCE, "round {round}: {:?}", placement(&running, ""));
        }
    }
    assert_eq!(smf.query(ue.session), ue.octets(0));
    assert_eq!(running.metric("causeway_forwarded_packets_total"), f64::from(2 * ue.sent));
}

// Input:  a UE whose rules are on the switch under traffic, and a firewall that denies one server; packets from and to that server between the
//         others; then a reload denies another server instead.
// Output: the switch drops what is denied, in place of the software, and it is counted under its direction; all else arrives once, in order;
//         usage is that of the packets that arrive. After the reload packets of the former server arrive.
#[test]
fn the_switch_denies_what_the_software_denies() {
    let (config, upf) = hybrid(HybridKeys::default());
    let with = |rules: &str| -> Upf {
        let text = format!("upf:\n  firewall:\n    rules: |\n{rules}");
        let read = Config::parse(None, &text, &Overrides::default()).unwrap();
        Upf { firewall: read.upf.firewall, ..config.upf.clone() }
    };
    let denied = Ipv4Addr::new(198, 51, 100, 66);
    let both = "      deny in ip from any to 198.51.100.66\n      deny out ip from 198.51.100.66 to any\n";
    let mut running = run(&Config { upf: with(both), ..config.clone() }, upf).unwrap();
    let mut smf = associated(&running);
    let mut ue = Ue::attach(&mut smf, UE, 0x77);
    let start = Instant::now();
    while placement(&running, "").rules.switch < 2 {
        ue.burst(&mut running, UNDER_WAY);
        assert!(start.elapsed() < PATIENCE, "{:?}", placement(&running, ""));
    }
    ue.receive_all(&mut running);
    let drops = |running: &Running, direction: &str| {
        running.metric(&format!("causeway_drop_total{{reason=\"firewall_{direction}\"}}"))
    };
    let before = placement(&running, "").switch.packets;
    for number in 1..=20 {
        let (up, down) = (packet(UE, denied, b"denied"), packet(denied, UE, b"denied"));
        ue.gnb.send(running.upf, ue.session.uplink.teid, &up);
        assert!(running.server.push(Meta::Ip, &down));
        ue.burst(&mut running, 0);
        until("both are dropped", || {
            ["uplink", "downlink"].map(|direction| drops(&running, direction)) == [f64::from(number); 2]
        });
    }
    let after = placement(&running, "").switch.packets;
    // A denied packet is one that the switch has handled; rules may have moved back by then.
    assert!(after >= before + u64::from(BURST), "{before} {after}");
    assert_eq!(smf.query(ue.session), ue.octets(0));

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(running.daemon.reload(with("      deny in ip from any to 198.51.100.67\n"))).unwrap();
    // A packet thread executes what it is told in order: now it has the firewall.
    smf.query(ue.session);
    let passes = packet(UE, denied, b"passes");
    ue.gnb.send(running.upf, ue.session.uplink.teid, &passes);
    assert_eq!(next(&mut running.server), one_hop_on(passes));
    ue.gnb.send(running.upf, ue.session.uplink.teid, &packet(UE, Ipv4Addr::new(198, 51, 100, 67), b"denied"));
    ue.burst(&mut running, 0);
    until("the other server is denied", || drops(&running, "uplink") == 21.0);
}
