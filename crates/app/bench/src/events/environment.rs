//! The daemon with many sessions: N4 and N3 on the loopback, the data network in memory.

use std::net::{Ipv4Addr, SocketAddr};

use causeway_dataplane::Network;
use causeway_lab::smf::{BulkSmf, Downlink, Session, SessionPlan, SmfEvent};
use causeway_packet::gtpu::prefix;
use causeway_packet::{Batch, Frame, IpProtocol, IpRepr, Ipv4Repr, Meta, UdpRepr};
use causeway_ports::Port;
use causeway_ports::memory::{MemoryPort, pair_with};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_types::{Bitrate, DualIp, FTeid, NetworkInstance, Qfi, Teid};
use causeway_upf::config::{Config, GtpuServer, Metrics, PFCP_PORT, PfcpServer, Session as Pool, Upf};
use causeway_upf::{Daemon, open};

use super::changes::TunnelChange;
use crate::BenchError;
use crate::kit::Progress;
use crate::upf::{Cores, Running};

/// Octets of the user's packets.
pub(super) const SIZE: usize = 128;
/// A session reports each time after so many packets, or fewer: each session has a number of its own.
pub(super) const SPREAD: u32 = 64;

const DNN: &str = "internet";
const QFI: u8 = 9;
const POOL: &str = "10.0.0.0/8";
const FIRST_UE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
const GTPU_PORT: u16 = 2152;
/// More than comes.
const RATE_KBPS: u64 = 100_000_000;
/// Requests in flight while sessions are set up.
const WINDOW: usize = 64;
/// Packets that wait at the data network at most.
const QUEUE: usize = 1 << 14;
/// Octets of an IPv4 and a UDP header.
const USER: usize = 28;

/// A UPF, and all that talks to it.
pub(super) struct Environment {
    pub(super) smf: BulkSmf,
    pub(super) sessions: Vec<Session>,
    /// After how many packets each session reports.
    pub(super) periods: Vec<u32>,
    gnb: UdpPort,
    server: MemoryPort,
    peer: Meta,
    address: Ipv4Addr,
    batch: Batch,
    /// The sequence number of the last change that was asked for.
    changed: Option<u32>,
    _upf: Running,
}

/// Addresses on the loopback that are this process's own.
fn loopback(last: u8) -> Ipv4Addr {
    let [.., a, b] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 128 | (a & 63), b, last)
}

impl Environment {
    /// Starts the daemon and sets the sessions up, all connected to the gNB.
    ///
    /// # Errors
    /// [`BenchError`] with what cannot be opened or was refused.
    pub(super) fn open(
        sessions: u32,
        busy_poll: bool,
        cores: Cores,
        random: &mut fastrand::Rng,
        progress: &mut Progress,
    ) -> Result<Self, BenchError> {
        let [upf, smf, address] = [1, 2, 3].map(loopback);
        let (n6, server) = pair_with("n6", "server", QUEUE, 1500)?;
        let config = config(upf, sessions, busy_poll, cores);
        let running = Running::begin(cores, || {
            let mut ports = open::gtpu_ports(&config)?;
            let pool = POOL.parse().into_iter().collect();
            ports.add_network(Network::new(NetworkInstance::new(DNN), pool), Box::new(n6));
            Ok(Daemon::start_with(&config, vec![ports])?)
        })?;
        let gnb = UdpPort::bind("gnb", (address, GTPU_PORT).into(), &UdpOptions::default())?;
        let mut smf = BulkSmf::open(smf, SocketAddr::from((upf, PFCP_PORT)))?;
        smf.associate()?;
        let peer = Meta::Gtpu { local: address.into(), peer: (upf, GTPU_PORT).into(), tos: 0, hops: None };
        let periods: Vec<_> = (0..sessions).map(|_| random.u32(1..=SPREAD)).collect();
        let mut world = Self {
            smf,
            sessions: Vec::with_capacity(sessions as usize),
            periods,
            gnb,
            server,
            peer,
            address,
            batch: Batch::new(),
            changed: None,
            _upf: running,
        };
        world.attach(progress)?;
        Ok(world)
    }

    fn attach(&mut self, progress: &mut Progress) -> Result<(), BenchError> {
        let plans: Vec<_> =
            self.periods.iter().zip(0..).map(|(period, number)| plan(number, *period)).collect();
        for plans in plans.chunks(1000) {
            let sessions = self.smf.establish(plans, WINDOW)?;
            let first = self.sessions.len();
            let address = self.address;
            let downlink = |number| Downlink::Forward(tunnel(address, (first + number) as u32 + 1));
            self.smf.set_downlink(&sessions, WINDOW, downlink)?;
            self.sessions.extend(sessions);
            progress.set_progress(self.sessions.len() as u64, self.periods.len() as u64);
        }
        Ok(())
    }

    /// Asks for the downlink of a session to go to another tunnel of the gNB. Returns the sequence number of the request.
    pub(super) fn hand_over(&mut self, number: usize, teid: u32) -> Result<Option<u32>, BenchError> {
        let Some(session) = self.sessions.get(number) else { return Ok(None) };
        let downlink = Downlink::HandOver(tunnel(self.address, teid));
        Ok(Some(self.smf.ask_downlink(session, downlink)?))
    }

    /// A packet of the session's UE to the server. `false` when the kernel did not take it.
    pub(super) fn send_uplink(&mut self, number: usize) -> Result<bool, BenchError> {
        let Some(session) = self.sessions.get(number) else { return Ok(false) };
        let mut data = prefix::uplink(session.uplink.teid, Qfi::from_low_bits(QFI), SIZE)?.to_vec();
        user_packet(ue(number as u32), SERVER, 0, &mut data)?;
        Ok(self.gnb.send(&[Frame { meta: self.peer, data: &data }])? == 1)
    }

    /// Takes what has arrived at the server. Returns how many packets that were.
    pub(super) fn drain_server(&mut self) -> u64 {
        std::iter::from_fn(|| self.server.pop()).count() as u64
    }

    /// Takes what has arrived at the gNB, and tells TEID and mark of each G-PDU with a user's packet.
    pub(super) fn drain_gnb(&mut self, mut arrived: impl FnMut(u32, u64)) -> Result<(), BenchError> {
        while self.gnb.receive(&mut self.batch)? > 0 {
            for (teid, mark) in self.batch.frames().filter_map(|frame| told(frame.data)) {
                arrived(teid, mark);
            }
        }
        Ok(())
    }
}

impl TunnelChange for Environment {
    fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn change(&mut self, session: usize, teid: u32) -> Result<(), BenchError> {
        self.changed = self.hand_over(session, teid)?;
        Ok(())
    }

    fn is_done(&mut self) -> Result<bool, BenchError> {
        while let Some(heard) = self.smf.poll()? {
            if matches!(heard, SmfEvent::Response(sequence) if Some(sequence) == self.changed) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn send_downlink(&mut self, number: usize, mark: u64) -> Result<bool, BenchError> {
        let mut data = Vec::with_capacity(SIZE);
        user_packet(SERVER, ue(number as u32), mark, &mut data)?;
        Ok(self.server.push(Meta::Ip, &data))
    }

    fn receive_downlink(&mut self, arrived: impl FnMut(u32, u64)) -> Result<(), BenchError> {
        self.drain_gnb(arrived)
    }
}

/// TEID and mark of a G-PDU with a user's packet; an End Marker is shorter.
pub(super) fn told(datagram: &[u8]) -> Option<(u32, u64)> {
    let teid = datagram.get(4..)?.first_chunk()?;
    let payload = datagram.len().checked_sub(SIZE - USER)?;
    let mark = datagram.get(payload..)?.first_chunk()?;
    Some((u32::from_be_bytes(*teid), u64::from_be_bytes(*mark)))
}

fn config(upf: Ipv4Addr, sessions: u32, busy_poll: bool, cores: Cores) -> Config {
    let mut config = Config::default();
    let at = || Some(upf.into());
    config.upf = Upf {
        max_sessions: sessions,
        metrics: Metrics { server: Vec::new(), ..Metrics::default() },
        session: vec![Pool {
            subnet: POOL.parse().unwrap_or(Pool::default().subnet),
            gateway: None,
            ..Pool::default()
        }],
        ..Upf::default()
    };
    config.upf.gtpu.server = vec![GtpuServer { address: at(), ..GtpuServer::default() }];
    config.upf.pfcp.server =
        vec![PfcpServer { address: at(), dev: None, port: PFCP_PORT, advertise: Vec::new() }];
    config.upf.workers.pin = vec![cores.packets];
    config.upf.workers.busy_poll = busy_poll;
    config
}

fn ue(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(FIRST_UE) + number)
}

fn plan(number: u32, period: u32) -> SessionPlan {
    SessionPlan {
        ue: ue(number).into(),
        dnn: NetworkInstance::new(DNN),
        qfi: Qfi::from_low_bits(QFI),
        mbr: Bitrate::from_kbps(RATE_KBPS).unwrap_or_default(),
        volume_threshold: u64::from(period) * SIZE as u64,
    }
}

fn tunnel(gnb: Ipv4Addr, teid: u32) -> FTeid {
    const FIRST: Teid = match Teid::new(1) {
        Some(teid) => teid,
        None => unreachable!(),
    };
    FTeid { teid: Teid::new(teid).unwrap_or(FIRST), addr: DualIp::from(gnb) }
}

/// A user's packet of [`SIZE`] octets with a mark in it.
pub(super) fn user_packet(
    src: Ipv4Addr,
    dst: Ipv4Addr,
    mark: u64,
    out: &mut Vec<u8>,
) -> Result<(), BenchError> {
    let mut payload = [0; SIZE - USER];
    payload[..8].copy_from_slice(&mark.to_be_bytes());
    let ip = IpRepr::V4(Ipv4Repr::new(src, dst, IpProtocol::UDP));
    Ok(ip.write_udp(UdpRepr { src_port: 8000, dst_port: 8000 }, true, &[&payload], out)?)
}
