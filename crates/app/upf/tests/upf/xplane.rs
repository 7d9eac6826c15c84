//! The daemon with its tables in external memory: of its own process, and of a memory server on a UDP socket.

use std::net::{Ipv4Addr, SocketAddr};

use causeway_packet::Meta;
use causeway_packet::roce::Rkey;
use causeway_types::Teid;
use causeway_upf::config::{Config, DataPlane, XPlaneKeys};

use crate::common::smf::{Session, Smf};
use crate::common::{Gnb, Running, SERVER, UE, config, loopback, next, one_hop_on, packet, run, until};
use crate::management_trace::Trace;

#[path = "../../../../dataplane/xplane/tests/xplane/service.rs"]
mod service;

use service::Service;

/// Octets of the memory server.
const SIZE: usize = 64 << 20;

fn xplane(server: Option<SocketAddr>) -> (Config, Ipv4Addr) {
    let upf = loopback();
    let mut config = config(upf);
    config.upf.dataplane = DataPlane::XPlane;
    config.upf.xplane = XPlaneKeys { server, ..XPlaneKeys::default() };
    (config, upf)
}

/// A UE at a gNB, whose packets are numbered.
struct Site {
    gnb: Gnb,
    session: Session,
    smf: Smf,
}

const DOWNLINK: u32 = 0x77;

impl Site {
    /// The UE is idle: the downlink waits.
    fn attach(running: &Running) -> Self {
        let mut smf = Smf::new(loopback().into(), running.n4());
        smf.associate();
        let session = smf.establish_counting(UE);
        Self { gnb: Gnb::new(), session, smf }
    }

    fn connect(&mut self) {
        self.smf.forward(self.session, Teid::new(DOWNLINK).unwrap(), self.gnb.address);
    }

    fn up(number: u32) -> Vec<u8> {
        packet(UE, SERVER, &[&number.to_be_bytes()[..], &[1; 400]].concat())
    }

    fn down(number: u32) -> Vec<u8> {
        packet(SERVER, UE, &[&number.to_be_bytes()[..], &[2; 600]].concat())
    }

    /// Sends packets each way, all at once.
    fn send(&self, running: &mut Running, numbers: std::ops::Range<u32>) {
        for number in numbers {
            self.gnb.send(running.upf, self.session.uplink.teid, &Self::up(number));
            assert!(running.server.push(Meta::Ip, &Self::down(number)));
        }
    }

    /// They arrive, in order.
    fn receive(&self, running: &mut Running, numbers: std::ops::Range<u32>) {
        for number in numbers {
            assert_eq!(next(&mut running.server), one_hop_on(Self::up(number)));
            let datagram = self.gnb.receive();
            assert_eq!(datagram[4..8], DOWNLINK.to_be_bytes());
            assert_eq!(datagram[8..], one_hop_on(Self::down(number)));
        }
    }

    fn octets(count: u64) -> (u64, u64) {
        (count * Self::up(0).len() as u64, count * Self::down(0).len() as u64)
    }
}

// Input:  over memory of the process and over a memory server, twenty packets for an idle UE, which is then connected; bursts in both
//         directions.
// Output: every packet arrives once, in order, those that waited first; the usage is exact to the octet. Most packets were decided by tables in
//         the memory, whose server has executed reads and writes.
#[test]
fn packets_pass_by_tables_in_external_memory() {
    for with_server in [false, true] {
        let memory = with_server.then(|| Service::start((loopback(), 0).into(), 1, Rkey(1), SIZE));
        let (config, upf) = xplane(memory.as_ref().map(|memory| memory.address));
        let mut running = run(&config, upf).unwrap();
        let mut site = Site::attach(&running);
        for number in 0..20 {
            assert!(running.server.push(Meta::Ip, &Site::down(number)));
        }
        site.smf.accept_downlink_data(site.session);
        until("packets wait", || running.metric("causeway_buffered_packets") == 20.0);
        site.connect();
        for number in 0..20 {
            assert_eq!(site.gnb.receive()[8..], one_hop_on(Site::down(number)));
        }
        assert_eq!(site.smf.query(site.session), (0, Site::octets(20).1));
        for burst in 0..10 {
            let numbers = burst * 16..(burst + 1) * 16;
            site.send(&mut running, numbers.clone());
            site.receive(&mut running, numbers);
        }
        assert_eq!(site.smf.query(site.session), Site::octets(160));
        let decided = running.metric("causeway_stage_packets_total{stage=\"flow_table\"}");
        assert!(decided > 250.0, "{decided} of 320 packets");

        assert_eq!(site.smf.delete(site.session), Some((0, 0)));
        drop(running);
        if let Some(memory) = memory {
            let work = memory.stop().work;
            assert!(work.reads > 300 && work.writes > 300, "{work:?}");
        }
    }
}

// Input:  a daemon starts while there is no memory server; then there is one that is too small, then another run of it with enough memory.
// Output: the daemon starts; the slow path forwards until the third, whose tables then decide; no packet is lost.
#[test]
fn without_a_memory_server_the_slow_path_forwards() {
    let nowhere: SocketAddr = (loopback(), 4791).into();
    let (config, upf) = xplane(Some(nowhere));
    let mut running = run(&config, upf).unwrap();
    let mut site = Site::attach(&running);
    site.connect();
    site.send(&mut running, 0..16);
    site.receive(&mut running, 0..16);
    let decided = |running: &Running| running.metric("causeway_stage_packets_total{stage=\"flow_table\"}");
    assert_eq!(decided(&running), 0.0);

    let small = Service::start(nowhere, 1, Rkey(1), 4096);
    let mut number = 16;
    let mut exchange = |running: &mut Running| {
        site.send(running, number..number + 4);
        site.receive(running, number..number + 4);
        number += 4;
    };
    (0..8).for_each(|_| exchange(&mut running));
    assert_eq!(decided(&running), 0.0);
    small.stop();

    let memory = Service::start(nowhere, 2, Rkey(2), SIZE);
    until("tables in memory decide", || {
        exchange(&mut running);
        decided(&running) > 0.0
    });
    memory.stop();
}

// Input:  over a memory server, 20 times four packets for each of two UEs by turns, of which one is traced: while its packets come, those of
//         the other are in flight.
// Output: all arrive. Each packet of the trace was sent once, and nothing else was sent because of it.
#[test]
fn a_trace_has_no_packets_of_others_in_flight() {
    let memory = Service::start((loopback(), 0).into(), 1, Rkey(1), SIZE);
    let (config, upf) = xplane(Some(memory.address));
    let mut running = run(&config, upf).unwrap();
    let other = Ipv4Addr::new(10, 45, 0, 3);
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    smf.associate();
    let session = smf.establish_forwarding(UE, Teid::new(7).unwrap(), gnb.address);
    smf.establish_forwarding(other, Teid::new(8).unwrap(), gnb.address);
    let mut trace = Trace::of(&running, session, "?packets=80");
    for _ in 0..20 {
        for _ in 0..4 {
            assert!(running.server.push(Meta::Ip, &packet(SERVER, other, b"of the other")));
            assert!(running.server.push(Meta::Ip, &packet(SERVER, UE, b"own")));
        }
        (0..8).for_each(|_| drop(gnb.receive()));
        (0..4).for_each(|_| assert_eq!(trace.packet().sent.len(), 1));
    }
    drop(running);
    memory.stop();
}
