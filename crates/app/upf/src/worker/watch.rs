//! Watches: packets of one session that a client looks at while they are processed.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrayvec::ArrayVec;
use causeway_dataplane::{Disposition, Egress, Explanation, Ingress, MatchedRules, ReceiveSource, Transmit};
use causeway_model::{PduSessionType, RuleSet};
use causeway_packet::{BATCH, Batch, Frame, Meta, gtpu};
use causeway_ports::PortError;
use causeway_ports::capture::{Passage, outer_headers};
use causeway_types::{IpNet, Seid, Teid, Time};
use tokio::sync::mpsc;

use super::context::WorkerContext;
use super::session_keys::{SessionKey, keys_of_pdrs, of_far};

/// Maximum number of watches at a time.
pub(crate) const WATCHES: usize = 8;

/// Between two packets that one thread observes, in nanoseconds, in the long run; others are processed like those of nobody. An observed
/// packet is processed alone, with system calls of its own: packets behind it wait for one, not for many.
const INTERVAL: u64 = 500_000;

/// Maximum number of packets in a row that it observes, after as many intervals without any.
const IN_A_ROW: u64 = 64;

/// Maximum number of observations that wait for one client. Further ones are lost to it, and counted.
const QUEUE: usize = 1024;

/// Maximum number of octets of packets that wait for one client. Further observations are lost to it, and counted.
const QUEUED_OCTETS: usize = 4 << 20;

/// The packets that a watch concerns: those to the local tunnels of a session, and those from a data network to its UE; of an
/// Ethernet session, the frames that the data plane has for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct WatchKeys {
    tunnels: Vec<(IpAddr, Teid)>,
    ues: Vec<IpNet>,
    /// The tunnels that its FARs lead to, for packets that no received one causes.
    remotes: Vec<(IpAddr, Teid)>,
    /// The session, if it is an Ethernet session.
    frames_of: Option<Seid>,
}

impl WatchKeys {
    /// The keys of the packets to which these rules of a session apply.
    pub(crate) fn of_rules(session: Seid, rules: &RuleSet) -> Self {
        let frames_of = (rules.pdu_type == PduSessionType::Ethernet).then_some(session);
        let mut keys = Self { frames_of, ..Self::default() };
        let of_fars = rules.fars.values().flat_map(of_far);
        for key in keys_of_pdrs(rules.pdrs.values()).into_iter().chain(of_fars) {
            match key {
                SessionKey::Tunnel(local, teid) => keys.tunnels.push((local, teid)),
                SessionKey::Ue(net) => keys.ues.push(net),
                SessionKey::Remote(peer, teid) => keys.remotes.push((peer, teid)),
            }
        }
        keys
    }

    /// No packet has one of them.
    pub(crate) fn is_empty(&self) -> bool {
        self.tunnels.is_empty() && self.ues.is_empty() && !self.is_ethernet()
    }

    /// They are those of an Ethernet session.
    pub(crate) const fn is_ethernet(&self) -> bool {
        self.frames_of.is_some()
    }

    /// A received frame has one of the keys.
    fn admit(&self, source: ReceiveSource, frame: &Frame<'_>) -> bool {
        match (source, frame.meta) {
            (ReceiveSource::Gtpu, Meta::Gtpu { local, .. }) => {
                teid(frame.data).is_some_and(|teid| self.tunnels.contains(&(local, teid)))
            }
            (ReceiveSource::Network(_), _) => self.has_ue(ends(frame.data).map(|(_, to)| to)),
            _ => false,
        }
    }

    /// A packet that no received one causes belongs to the session: it goes to its UE or comes from it, or it is for one of
    /// the tunnels of its FARs. New tunnels are not known yet when packets leave a buffer for them.
    fn admit_released(&self, egress: &Egress, packet: &[u8]) -> bool {
        match egress {
            Egress::Gtpu { peer, .. } => {
                let is_of_tunnel = teid(packet).is_some_and(|teid| self.remotes.contains(&(peer.ip(), teid)));
                is_of_tunnel || self.has_ue(user_packet(packet).and_then(ends).map(|(_, to)| to))
            }
            Egress::Ip { .. } => self.has_ue(ends(packet).map(|(from, _)| from)),
            Egress::Ethernet { .. } => false,
        }
    }

    /// A frame from an Ethernet data network is for the session.
    fn admit_frame(&self, context: &WorkerContext, source: ReceiveSource, frame: &Frame<'_>) -> bool {
        self.frames_of.is_some_and(|session| context.is_frame_for(source, frame, session))
    }

    /// The part of an observed frame from a network that concerns the session: a group frame is copied to others, too.
    fn part_of(&self, processed: &ProcessedPacket) -> ProcessedPacket {
        let mut part = processed.clone();
        part.sent.retain(|sent| match (&sent.egress, sent.teid) {
            (Egress::Gtpu { peer, .. }, Some(teid)) => self.remotes.contains(&(peer.ip(), teid)),
            (Egress::Gtpu { .. }, None) => false,
            (Egress::Ip { .. } | Egress::Ethernet { .. }, _) => true,
        });
        let is_own = |rules: &MatchedRules| Some(rules.session) == self.frames_of;
        part.explanation = part.explanation.filter(|it| it.rules.as_ref().is_none_or(is_own));
        if let Some(explanation) = &mut part.explanation {
            explanation.sessions.retain(|trial| Some(trial.session) == self.frames_of);
        }
        part
    }

    fn has_ue(&self, address: Option<IpAddr>) -> bool {
        address.is_some_and(|ip| self.ues.iter().any(|net| net.contains(&ip)))
    }
}

/// The TEID of a GTP-U message.
fn teid(message: &[u8]) -> Option<Teid> {
    let [_, _, _, _, teid @ ..] = message.first_chunk::<8>()?;
    Teid::new(u32::from_be_bytes(*teid))
}

/// The user's packet in a GTP-U message.
fn user_packet(message: &[u8]) -> Option<&[u8]> {
    match gtpu::Packet::parse(message).ok()?.message {
        gtpu::Message::GPdu(packet) => Some(packet),
        _ => None,
    }
}

/// The source and the destination address of an IP packet.
fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let [.., a, b, c, d, e, f, g, h] = *packet.first_chunk::<20>()?;
            Some(([a, b, c, d].into(), [e, f, g, h].into()))
        }
        6 => {
            let from = *packet.get(8..)?.first_chunk::<16>()?;
            let to = *packet.get(24..)?.first_chunk::<16>()?;
            Some((from.into(), to.into()))
        }
        _ => None,
    }
}

/// What a watch sees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Observation {
    /// A packet was processed.
    Processed(ProcessedPacket),
    /// A packet left a buffer, or was sent because of a change of rules or a timer. Only captures see these.
    Released {
        /// When it was sent.
        time: SystemTime,
        /// The packet.
        packet: SentPacket,
    },
}

/// A received packet, with what the data plane said and did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ProcessedPacket {
    /// When it was processed.
    pub(crate) time: SystemTime,
    /// Where it was received.
    pub(crate) ingress: Ingress,
    /// Its length from the GTP-U or IP header on, in octets.
    pub(crate) octets: usize,
    /// Its octets; `None`: no watch asks for them.
    pub(crate) image: Option<PacketImage>,
    /// Its rules, as they were just before it; `None`: the data plane does not explain it.
    pub(crate) explanation: Option<Explanation>,
    /// What became of it.
    pub(crate) disposition: Disposition,
    /// The packets that were sent because of it.
    pub(crate) sent: Vec<SentPacket>,
}

impl Observation {
    /// The octets of its packets.
    fn stored(&self) -> usize {
        let of = |image: &Option<PacketImage>| image.as_ref().map_or(0, |image| image.data.len());
        match self {
            Self::Processed(packet) => {
                of(&packet.image) + packet.sent.iter().map(|sent| of(&sent.image)).sum::<usize>()
            }
            Self::Released { packet, .. } => of(&packet.image),
        }
    }
}

/// A packet that was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SentPacket {
    /// Where to.
    pub(crate) egress: Egress,
    /// Its length from the GTP-U or IP header on, in octets.
    pub(crate) octets: usize,
    /// The TEID of a GTP-U message.
    pub(crate) teid: Option<Teid>,
    /// Its octets; `None`: no watch asks for them.
    pub(crate) image: Option<PacketImage>,
}

impl SentPacket {
    /// A packet with at most so many of its octets.
    pub(super) fn new(egress: Egress, packet: &[u8], snaplen: usize) -> Self {
        let teid = if matches!(egress, Egress::Gtpu { .. }) { teid(packet) } else { None };
        let image = PacketImage::of(Passage::Out, egress.meta(), packet, snaplen);
        Self { egress, octets: packet.len(), teid, image }
    }
}

/// A packet from the IP or Ethernet header on; a GTP-U message with IP and UDP headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PacketImage {
    /// The length of the packet, in octets.
    pub(crate) length: usize,
    /// Its first octets.
    pub(crate) data: Vec<u8>,
}

impl PacketImage {
    /// At most `most` octets of a frame; `None`: zero are asked for, or it is too long for the outer headers.
    pub(super) fn of(passage: Passage, meta: Meta, frame: &[u8], most: usize) -> Option<Self> {
        if most == 0 {
            return None;
        }
        let mut data = outer_headers(passage, meta, frame).ok()?;
        let length = data.len() + frame.len();
        let rest = most.saturating_sub(data.len());
        data.truncate(most);
        data.extend_from_slice(frame.get(..rest).unwrap_or(frame));
        Some(Self { length, data })
    }
}

/// Packets that a client does not see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Missed {
    /// Observations that the full queue of the client did not take.
    pub(crate) lost: u64,
    /// Packets beyond the rate that a thread observes.
    pub(crate) not_observed: u64,
}

impl Missed {
    /// All of them.
    pub(crate) const fn total(self) -> u64 {
        self.lost + self.not_observed
    }
}

/// The same by where packets come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct MissedPackets {
    /// From GTP-U peers.
    pub(crate) gtpu: Missed,
    /// From data networks.
    pub(crate) network: Missed,
    /// From buffers, or sent because of a change of rules or a timer.
    pub(crate) released: Missed,
}

/// A count of missed packets.
#[derive(Debug, Default)]
struct MissedCount {
    lost: AtomicU64,
    not_observed: AtomicU64,
}

impl MissedCount {
    fn now(&self) -> Missed {
        Missed {
            lost: self.lost.load(Ordering::Relaxed),
            not_observed: self.not_observed.load(Ordering::Relaxed),
        }
    }
}

/// What the packet threads and the client of a watch share beside the queue.
#[derive(Debug, Default)]
struct QueueState {
    /// The octets of the packets that wait.
    octets: AtomicUsize,
    gtpu: MissedCount,
    network: MissedCount,
    released: MissedCount,
}

impl QueueState {
    /// The count of packets that are received there.
    const fn received(&self, source: ReceiveSource) -> &MissedCount {
        match source {
            ReceiveSource::Gtpu => &self.gtpu,
            ReceiveSource::Network(_) | ReceiveSource::Ethernet(_) => &self.network,
        }
    }
}

/// The observations of a watch, which lasts as long as this does.
#[derive(Debug)]
pub(crate) struct Observations {
    queue: mpsc::Receiver<Arc<Observation>>,
    state: Arc<QueueState>,
}

impl Observations {
    /// The next one; it does not return while there is none. A call that is cancelled loses none.
    pub(crate) async fn next(&mut self) -> Arc<Observation> {
        match self.queue.recv().await {
            Some(observation) => self.taken(observation),
            // The packet threads have ended.
            None => std::future::pending().await,
        }
    }

    /// Ends the watch. What was observed before waits.
    pub(crate) fn close(&mut self) {
        self.queue.close();
    }

    /// The next one, if it is there already.
    pub(crate) fn waiting(&mut self) -> Option<Arc<Observation>> {
        let observation = self.queue.try_recv().ok()?;
        Some(self.taken(observation))
    }

    fn taken(&self, observation: Arc<Observation>) -> Arc<Observation> {
        self.state.octets.fetch_sub(observation.stored(), Ordering::Relaxed);
        observation
    }

    /// The packets that were missed so far.
    pub(crate) fn missed(&self) -> MissedPackets {
        let QueueState { gtpu, network, released, .. } = &*self.state;
        MissedPackets { gtpu: gtpu.now(), network: network.now(), released: released.now() }
    }
}

/// A watch, as the packet threads have it. It ends when its [`Observations`] are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    keys: WatchKeys,
    /// The octets of each packet that are observed; zero: none.
    snaplen: usize,
    queue: mpsc::Sender<Arc<Observation>>,
    state: Arc<QueueState>,
}

impl Watch {
    /// A watch for packets with these keys and up to `snaplen` octets of each, and its observations.
    pub(crate) fn new(keys: WatchKeys, snaplen: usize) -> (Self, Observations) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let state = Arc::<QueueState>::default();
        (Self { keys, snaplen, queue: sender, state: Arc::clone(&state) }, Observations { queue, state })
    }

    /// The same watch with other keys.
    pub(crate) fn with_keys(&self, keys: WatchKeys) -> Self {
        Self { keys, ..self.clone() }
    }

    /// A received frame concerns the watch.
    fn admits(&self, context: &WorkerContext, source: ReceiveSource, frame: &Frame<'_>) -> bool {
        self.keys.admit(source, frame) || self.keys.admit_frame(context, source, frame)
    }

    /// Queues an observation, if it fits.
    fn queue(&self, missed: &MissedCount, observation: &Arc<Observation>) {
        let octets = observation.stored();
        let fits = self.state.octets.fetch_add(octets, Ordering::Relaxed) + octets <= QUEUED_OCTETS;
        if fits && self.queue.try_send(Arc::clone(observation)).is_ok() {
            return;
        }
        self.state.octets.fetch_sub(octets, Ordering::Relaxed);
        if !self.queue.is_closed() {
            missed.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// How many packets may be observed.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    /// When as many in a row may be observed again as ever, in nanoseconds.
    rested_at: u64,
}

impl Rate {
    /// One more packet may be observed at this time.
    const fn admit(&mut self, nanoseconds: u64) -> bool {
        let wait = self.rested_at.saturating_sub(nanoseconds);
        // The wall clock may have been set back.
        let wait = if wait > IN_A_ROW * INTERVAL { 0 } else { wait };
        let admits = wait <= (IN_A_ROW - 1) * INTERVAL;
        if admits {
            self.rested_at = nanoseconds + wait + INTERVAL;
        }
        admits
    }
}

/// The watches that see the packets which no received one causes.
pub(super) struct ReleasedPackets {
    watches: ArrayVec<Watch, WATCHES>,
    rate: Rate,
}

impl ReleasedPackets {
    /// Shows a packet to the watches that it concerns.
    fn see(&mut self, egress: &Egress, packet: &[u8]) {
        let concerned = self.watches.iter().filter(|watch| watch.keys.admit_released(egress, packet));
        let concerned: ArrayVec<&Watch, WATCHES> = concerned.collect();
        let Some(snaplen) = concerned.iter().map(|watch| watch.snaplen).max() else { return };
        let time = SystemTime::now();
        let nanoseconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        if !self.rate.admit(u64::try_from(nanoseconds).unwrap_or(u64::MAX)) {
            for watch in concerned {
                watch.state.released.not_observed.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        let packet = SentPacket::new(egress.clone(), packet, snaplen);
        let observation = Arc::new(Observation::Released { time, packet });
        concerned.iter().for_each(|watch| watch.queue(&watch.state.released, &observation));
    }
}

/// Transmits packets, of which watches see some.
pub(super) struct WatchedTransmitter<'a, T> {
    pub(super) out: &'a mut T,
    pub(super) seen: &'a mut ReleasedPackets,
}

impl<T: Transmit> Transmit for WatchedTransmitter<'_, T> {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        self.seen.see(egress, packet);
        self.out.transmit(egress, packet);
    }
}

/// The watches of one packet thread.
pub(super) struct Watches {
    watches: ArrayVec<Watch, WATCHES>,
    /// The frames between two observed ones.
    run: Batch,
    rate: Rate,
}

impl Watches {
    pub(super) fn new(frame_size: usize) -> Self {
        Self { watches: ArrayVec::new(), run: Batch::with_frame_size(frame_size), rate: Rate::default() }
    }

    /// Adds a watch, or replaces the keys of the one with the same queue.
    pub(super) fn put(&mut self, watch: Watch) {
        self.watches.retain(|known| !known.queue.is_closed() && !known.queue.same_channel(&watch.queue));
        // The management server limits their number.
        let _ = self.watches.try_push(watch);
    }

    /// The watches that see packets which no received one causes.
    pub(super) fn of_released(&self) -> Option<Box<ReleasedPackets>> {
        let watches: ArrayVec<_, WATCHES> =
            self.watches.iter().filter(|watch| watch.snaplen > 0).cloned().collect();
        (!watches.is_empty()).then(|| Box::new(ReleasedPackets { watches, rate: self.rate }))
    }

    /// All watches have ended.
    pub(super) fn have_ended(&mut self) -> bool {
        self.watches.retain(|watch| !watch.queue.is_closed());
        self.watches.is_empty()
    }

    /// Processes a batch, the observed frames one by one and those between them together, in order.
    ///
    /// # Errors
    /// [`PortError::Lost`] when a port has failed for good.
    pub(super) fn process(
        &mut self,
        context: &mut WorkerContext,
        now: Time,
        source: ReceiveSource,
        batch: &mut Batch,
    ) -> Result<(), PortError> {
        let chosen: ArrayVec<bool, BATCH> =
            batch.frames().map(|frame| self.choose(context, now, source, &frame)).collect();
        if !chosen.contains(&true) {
            return context.process(now, source, batch);
        }
        self.run.clear();
        for (frame, is_chosen) in batch.frames().zip(chosen) {
            // A frame that is larger than those of the run is processed alone, too.
            if !is_chosen && self.run.push(frame) {
                continue;
            }
            if !self.run.is_empty() {
                context.process(now, source, &mut self.run)?;
                self.run.clear();
            }
            if !is_chosen && self.run.push(frame) {
                continue;
            }
            let Some(ingress) = context.topology().ingress(source, &frame.meta) else { continue };
            let admits = |watch: &&Watch| is_chosen && watch.admits(context, source, &frame);
            let own: ArrayVec<&Watch, WATCHES> = self.watches.iter().filter(admits).collect();
            let snaplen = own.iter().map(|watch| watch.snaplen).max().unwrap_or(0);
            let processed = context.observe(now, ingress, frame.data, snaplen)?;
            if matches!(source, ReceiveSource::Ethernet(_)) {
                for watch in own {
                    let part = Arc::new(Observation::Processed(watch.keys.part_of(&processed)));
                    watch.queue(watch.state.received(source), &part);
                }
            } else {
                let observation = Arc::new(Observation::Processed(processed));
                own.iter().for_each(|watch| watch.queue(watch.state.received(source), &observation));
            }
        }
        if self.run.is_empty() { Ok(()) } else { context.process(now, source, &mut self.run) }
    }

    /// A frame is to be observed: a watch concerns it, and the rate admits it.
    fn choose(
        &mut self,
        context: &WorkerContext,
        now: Time,
        source: ReceiveSource,
        frame: &Frame<'_>,
    ) -> bool {
        if !self.watches.iter().any(|watch| watch.admits(context, source, frame)) {
            return false;
        }
        let admits = self.rate.admit(now.as_nanos());
        if !admits {
            for watch in self.watches.iter().filter(|watch| watch.admits(context, source, frame)) {
                watch.state.received(source).not_observed.fetch_add(1, Ordering::Relaxed);
            }
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv6Addr, SocketAddr};

    use causeway_packet::{Ip, IpProtocol, IpRepr, Ipv6Repr, Udp, UdpChecksum, UdpRepr, gtpu::prefix};
    use causeway_types::NetworkInstance;

    use super::*;

    const UE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xcafe, 1, 0, 0, 0, 2);
    const SERVER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);
    const PEER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);

    fn packet(src: Ipv6Addr, dst: Ipv6Addr) -> Vec<u8> {
        let mut packet = Vec::new();
        let ip = IpRepr::V6(Ipv6Repr::new(src, dst, IpProtocol::UDP));
        ip.write_udp(UdpRepr { src_port: 1, dst_port: 2 }, true, &[&[7; 100]], &mut packet).unwrap();
        packet
    }

    fn message(teid: u32, user: &[u8]) -> Vec<u8> {
        let header = prefix::without_extensions(Teid::new(teid).unwrap(), user.len()).unwrap();
        [&header[..], user].concat()
    }

    fn to_peer() -> Egress {
        let peer = SocketAddr::new(PEER.into(), 2152);
        Egress::Gtpu { local: SERVER.into(), peer, tos: 0, hops: None }
    }

    // Input:  a GTP-U message to a peer with an IPv6 address: whole, cut, cut within the outer headers, and not asked for.
    // Output: the first octets of the packet with outer headers, whose UDP checksum is that of the whole packet.
    #[test]
    fn an_image_is_the_begin_of_the_packet() {
        let message = message(7, &packet(SERVER, UE));
        let image = |most| PacketImage::of(Passage::Out, to_peer().meta(), &message, most);
        let whole = image(65535).unwrap();
        assert_eq!((whole.length, whole.data.len()), (message.len() + 48, message.len() + 48));
        let Ip::V6(ip) = Ip::parse(&whole.data).unwrap() else { panic!() };
        let udp = Udp::parse(ip.payload()).unwrap();
        assert_eq!(udp.checksum(SERVER.into(), PEER.into()), UdpChecksum::Valid);
        assert_eq!((udp.src_port(), udp.payload()), (2152, message.as_slice()));
        for most in [60, 48, 20] {
            assert_eq!(
                image(most),
                Some(PacketImage { length: whole.length, data: whole.data[..most].to_vec() })
            );
        }
        assert_eq!(image(0), None);
    }

    // Input:  packets that no received one caused: to the UE in a tunnel that is not known yet, an End Marker in a known tunnel, a
    //         packet from the UE; to another UE, in another tunnel, and from another UE; an Echo Request.
    // Output: the first three belong to the session.
    #[test]
    fn released_packets_belong_to_their_session() {
        let keys = WatchKeys {
            tunnels: Vec::new(),
            ues: vec!["2001:db8:cafe:1::/64".parse().unwrap()],
            remotes: vec![(PEER.into(), Teid::new(7).unwrap())],
            frames_of: None,
        };
        let other = Ipv6Addr::new(0x2001, 0xdb8, 0xcafe, 2, 0, 0, 0, 2);
        let network = Egress::Ip { network: NetworkInstance::new("internet") };
        let marker = |teid: u8| vec![0x30, 254, 0, 0, 0, 0, 0, teid];
        for (egress, packet, is_own) in [
            (to_peer(), message(8, &packet(SERVER, UE)), true),
            (to_peer(), marker(7), true),
            (network.clone(), packet(UE, SERVER), true),
            (to_peer(), message(8, &packet(SERVER, other)), false),
            (to_peer(), marker(8), false),
            (network.clone(), packet(other, SERVER), false),
            (network, Vec::new(), false),
            (to_peer(), vec![0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0], false),
        ] {
            assert_eq!(keys.admit_released(&egress, &packet), is_own, "{packet:02x?}");
        }
    }

    // Input:  more packets at a time than are observed in a row; packets all the time for a while; then a clock that is set back.
    // Output: so many in a row, then one in each interval; the same after the clock was set back.
    #[test]
    fn packets_are_observed_at_intervals() {
        let (mut rate, start) = (Rate::default(), INTERVAL * 1000);
        let at_once = |rate: &mut Rate, at| (0..200).filter(|_| rate.admit(at)).count() as u64;
        assert_eq!(at_once(&mut rate, start), IN_A_ROW);
        assert!(!rate.admit(start + INTERVAL - 1));
        let later: Vec<u64> = (1..=100).map(|n| at_once(&mut rate, start + n * INTERVAL)).collect();
        assert_eq!(later, [1; 100]);
        assert_eq!(at_once(&mut rate, INTERVAL), IN_A_ROW);
    }
}
