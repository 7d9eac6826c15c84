//! The emulated network by itself: namespaces, RAN and user traffic around a UPF of twenty lines.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use causeway_lab::LabError;
use causeway_lab::capture::Capture;
use causeway_lab::cleanup::Cleanup;
use causeway_lab::netns::{Namespace, remove_stale};
use causeway_lab::ran::{Bearer, GnbId, GnbSite, Ran, UeId, UeSite};
use causeway_lab::timeline::Timeline;
use causeway_lab::topology::{self, DN, GNBS, POOL_GATEWAY, Topology, UPF_N3};
use causeway_lab::traffic::Sequence;
use causeway_lab::traffic::ping::ping;
use causeway_lab::traffic::sequenced::{Sender, Sink};
use causeway_packet::gtpu::{self, Message, Packet};
use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::{Port, wait};
use causeway_types::{DualIp, FTeid, Qfi, Teid};

const UES: u8 = 2;
const PORT: u16 = 7000;

/// A namespace needs root; without it the test says so and passes.
fn may_make_namespaces() -> bool {
    let cleanup = Cleanup::default();
    let made = Namespace::create("probe", &cleanup);
    cleanup.run();
    if let Err(error) = &made {
        eprintln!("SKIPPED network: needs root ({error})");
    }
    made.is_ok()
}

/// Takes tunnels off and puts them on, and knows nothing else.
struct Bridge {
    n3: UdpPort,
    n6: TunPort,
    tunnels: HashMap<Ipv4Addr, (IpAddr, Teid)>,
}

impl Bridge {
    fn open(upf: &Namespace, tunnels: HashMap<Ipv4Addr, (IpAddr, Teid)>) -> Result<Self, LabError> {
        upf.enter(|| {
            let addresses = vec![format!("{POOL_GATEWAY}/16").parse().unwrap()];
            let options =
                TunOptions { device: "core".into(), addresses, mtu: Some(1400), ..TunOptions::default() };
            let here = SocketAddr::new(UPF_N3.into(), gtpu::PORT);
            let n3 = UdpPort::bind("n3", here, &UdpOptions::default())?;
            Ok(Self { n3, n6: TunPort::open("n6", &options)?, tunnels })
        })
    }

    fn run(mut self, stop: &AtomicBool) {
        let mut batch = Batch::new();
        while !stop.load(Ordering::Relaxed) {
            let ports: [&dyn Port; 2] = [&self.n3, &self.n6];
            wait(ports, None, Some(Duration::from_millis(20))).unwrap();
            self.n3.receive(&mut batch).unwrap();
            for frame in batch.frames() {
                if let Message::GPdu(user) = Packet::parse(frame.data).unwrap().message {
                    self.n6.send(&[Frame { meta: Meta::Ip, data: user }]).unwrap();
                }
            }
            self.n6.receive(&mut batch).unwrap();
            for frame in batch.frames() {
                let ue = Ipv4Addr::from(*frame.data[16..].first_chunk::<4>().unwrap());
                let Some((gnb, teid)) = self.tunnels.get(&ue) else { continue };
                let header = gtpu::prefix::downlink(*teid, Qfi::new(1).unwrap(), false, frame.data.len());
                let data = [&header.unwrap()[..], frame.data].concat();
                let peer = SocketAddr::new(*gnb, gtpu::PORT);
                let meta = Meta::Gtpu { local: UPF_N3.into(), peer, tos: 0, hops: None };
                self.n3.send(&[Frame { meta, data: &data }]).unwrap();
            }
        }
    }
}

fn ran(topology: &Topology) -> Ran {
    let gnbs = topology.gnbs.iter().zip(GNBS).map(|(namespace, address)| GnbSite { namespace, address });
    let gnbs = gnbs.map(|site| site.open().unwrap()).collect();
    let ues = (0..UES).map(|n| {
        let device = format!("ue{}", n + 1);
        let address = Some(topology::ue_address(n));
        let site = UeSite { namespace: &topology.ue, device: &device, address, mtu: 1400, table: n + 1 };
        site.open().unwrap()
    });
    Ran::start(gnbs, ues.collect(), Timeline::default()).unwrap()
}

// Input:  two UEs at two gNBs, a bridge in place of a UPF; a ping from each UE, and 20 numbered packets to one.
// Output: no loss, all numbers in order, exact octets at the gNB, a capture of each packet on N6; afterwards not
//         one namespace is left.
#[test]
fn traffic_passes_between_ues_and_the_data_network() {
    if !may_make_namespaces() {
        return;
    }
    remove_stale();
    let cleanup = Cleanup::default();
    let guard = cleanup.guard();
    let topology = Topology::build(&cleanup).unwrap();
    let names: Vec<_> = [&topology.upf, &topology.ue].iter().map(|ns| ns.name().to_owned()).collect();
    let ran = ran(&topology);
    let uplink = FTeid { teid: Teid::new(1).unwrap(), addr: DualIp::from(UPF_N3) };
    let bearer = Bearer { uplink, qfi: Qfi::new(1).unwrap() };
    let mut tunnels = HashMap::new();
    let mut teids = Vec::new();
    for n in 0..UES {
        let gnb = usize::from(n);
        let tunnel = ran.connect(UeId(gnb), GnbId(gnb), bearer).unwrap();
        tunnels.insert(topology::ue_address(n), (IpAddr::V4(GNBS[gnb]), tunnel.teid));
        teids.push(tunnel.teid);
    }
    let file = std::env::temp_dir().join(format!("causeway-lab-{}.pcap", std::process::id()));
    let capture = Capture::start(&file, &[&topology.dn], &cleanup).unwrap();
    let bridge = Bridge::open(&topology.upf, tunnels).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let bridge = std::thread::spawn(move || bridge.run(&stopped));

    for device in ["ue1", "ue2"] {
        let result = ping(&topology.ue, device, DN, 3).unwrap();
        assert!(result.is_lossless(), "{device}: {result:?}");
    }
    let to = SocketAddrV4::new(topology::ue_address(1), PORT);
    let before = ran.tunnel(GnbId(1), teids[1]);
    let sink = Sink::open(&topology.ue, to).unwrap();
    Sender::open(&topology.dn, None, to).unwrap().send(20, 500, Duration::from_micros(200)).unwrap();
    let seen = Sequence::compare(20, sink.wait_for(20, Duration::from_secs(2)));
    assert!(seen.is_perfect(), "{seen}");
    let after = ran.tunnel(GnbId(1), teids[1]);
    assert_eq!((after.packets - before.packets, after.octets - before.octets), (20, 10_000));
    assert_eq!(ran.ue(UeId(0)).uplink_packets, 3);

    stop.store(true, Ordering::Relaxed);
    bridge.join().unwrap();
    drop(capture);
    drop(ran);
    drop(guard);
    // Six echoes and six replies, twenty numbered packets, and what ARP needed.
    let mut frames = pcap_file::pcap::PcapReader::new(std::fs::File::open(&file).unwrap()).unwrap();
    let mut udp = 0;
    while let Some(frame) = frames.next_packet() {
        udp += u32::from(frame.unwrap().data.len() == 514);
    }
    assert_eq!(udp, 20);
    std::fs::remove_file(&file).unwrap();
    for name in names {
        assert!(!std::path::Path::new("/run/netns").join(&name).exists(), "{name} is left");
    }
}
