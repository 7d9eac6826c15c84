//! The local end of segments: their datagrams.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrayvec::ArrayVec;
use causeway_packet::rewrite::set_ecn;
use causeway_packet::vxlan::{self, Vxlan};
use causeway_packet::{BATCH, Batch, Frame, FrameMut, Meta};

use super::flow;
use super::frame::{self, Content};
use super::port::VxlanPort;
use super::{INNER, Segment, SegmentTraffic};
use crate::outer;
use crate::{Counter, Counters, Port, PortError};

/// The local end of all segments of one address: a VTEP. Its ports belong to one thread.
#[derive(Clone)]
pub struct VxlanEndpoint {
    shared: Arc<Mutex<Shared>>,
}

/// What the ports of an endpoint share. One thread owns the ports, so the lock is free whenever it is taken, once for each
/// batch.
pub(super) struct Shared {
    carrier: Box<dyn Port>,
    /// What sends datagrams of flows, each from a source port of its own; if there is none, the carrier does.
    senders: Vec<Sender>,
    local: SocketAddr,
    lost: Lost,
    members: Vec<Member>,
    /// Memory for frames that are sent from no batch.
    copies: Option<Box<Batch>>,
}

/// A port that only sends.
struct Sender {
    port: Box<dyn Port>,
    lost: Lost,
    /// The frames of a batch that leave by it.
    frames: ArrayVec<usize, BATCH>,
}

/// A segment at this end.
struct Member {
    segment: Segment,
    traffic: SegmentTraffic,
    /// Frames that arrived while another port received.
    waiting: Batch,
    /// The VXLAN and Ethernet headers of IPv4 and of IPv6 packets.
    headers: [[u8; INNER]; 2],
    /// The metadata of datagrams with each ECN field.
    metas: [Meta; 4],
    /// The begin of nearly all datagrams that are received.
    common: CommonBegin,
    counters: Arc<Counters>,
    ipv4_id: u16,
}

/// The losses of the carrier that the ports have counted.
struct Lost([u64; Counter::ALL.len()]);

impl Lost {
    const NONE: Self = Self([0; Counter::ALL.len()]);

    /// Counts what the carrier has lost since the last call.
    fn count(&mut self, carrier: &Counters, counters: &Counters) {
        for (seen, (counter, value)) in self.0.iter_mut().zip(carrier.iter()) {
            let is_traffic =
                matches!(counter, Counter::Rx | Counter::RxOctets | Counter::Tx | Counter::TxOctets);
            if value != *seen && !is_traffic {
                counters.add(counter, value.wrapping_sub(*seen));
            }
            *seen = value;
        }
    }
}

/// What becomes of a received datagram.
enum Arrival {
    /// It is of this member, and was unwrapped in place.
    Packet(usize),
    /// An ARP request or a Neighbour Solicitation of this member, and the frame that answers it.
    Request(usize, Vec<u8>),
    /// It is lost, for this reason.
    Lost(Option<usize>, Counter),
}

impl VxlanEndpoint {
    /// An endpoint on this carrier, which moves UDP datagrams of `local` as frames of GTP-U.
    pub fn new(carrier: Box<dyn Port>, local: SocketAddr) -> Self {
        let shared = Shared {
            carrier,
            senders: Vec::new(),
            local,
            lost: Lost::NONE,
            members: Vec::new(),
            copies: None,
        };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// The same, which sends the datagrams of flows from other source ports than that of the carrier (RFC 7348 section 5): each
    /// flow from that of one of these ports, in order, so that the underlay can spread flows over paths, and the other end over
    /// queues. The ports have the local address, and receive nothing.
    #[must_use]
    pub fn with_senders(self, ports: Vec<Box<dyn Port>>) -> Self {
        let sender = |port| Sender { port, lost: Lost::NONE, frames: ArrayVec::new() };
        self.lock().senders = ports.into_iter().map(sender).collect();
        self
    }

    /// Adds a segment. Its VNI must not be in use at this endpoint.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn add(&self, name: &str, segment: Segment, traffic: SegmentTraffic) -> Result<VxlanPort, PortError> {
        let mut shared = self.lock();
        let overhead = super::overhead(segment.remote.is_ipv4());
        let mtu = shared.carrier.mtu().saturating_sub(overhead);
        let fd: Option<OwnedFd> = match shared.carrier.poll_fd() {
            Some(fd) => Some(fd.try_clone_to_owned().map_err(|source| PortError::System {
                operation: format!("opening VXLAN segment {}", segment.vni),
                source,
            })?),
            None => None,
        };
        let counters: Arc<Counters> = Arc::default();
        let number = shared.members.len();
        let (waiting, own) = (Batch::with_frame_size(mtu as usize + 64), Arc::clone(&counters));
        let headers = [false, true].map(|is_ipv6| frame::headers(&segment, is_ipv6));
        let metas = [0, 1, 2, 3].map(|ecn| meta(shared.local, segment.remote, ecn));
        let common = CommonBegin::of(&segment);
        let member = Member { segment, traffic, waiting, headers, metas, common, counters: own, ipv4_id: 0 };
        shared.members.push(member);
        Ok(VxlanPort { endpoint: self.clone(), number, name: name.to_owned(), mtu, counters, fd })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    pub(super) fn receive(&mut self, number: usize, batch: &mut Batch) -> Result<usize, PortError> {
        let Some(member) = self.members.get_mut(number).filter(|member| !member.waiting.is_empty()) else {
            return self.receive_all(number, batch);
        };
        batch.clear();
        let (mut count, mut octets) = (0, 0);
        for frame in member.waiting.frames() {
            if batch.push(frame) {
                (count, octets) = (count + 1, octets + frame.data.len());
            } else {
                member.counters.add(Counter::RxTruncated, 1);
            }
        }
        member.waiting.clear();
        member.counters.received(count, octets);
        Ok(count)
    }

    fn receive_all(&mut self, number: usize, batch: &mut Batch) -> Result<usize, PortError> {
        let received = self.carrier.receive(batch);
        let Some(own) = self.members.get(number).map(|member| Arc::clone(&member.counters)) else {
            return Ok(0);
        };
        self.lost.count(self.carrier.counters(), &own);
        received?;
        let Unwrapped { mut kept, lost, mut octets } = match self.members.get(number) {
            Some(member) => member.unwrap_common(batch),
            None => Unwrapped::default(),
        };
        let mut others = first_bits(batch.len()) & !(kept | lost);
        while others != 0 {
            let index = others.trailing_zeros() as usize;
            others &= others - 1;
            let Some(mut frame) = batch.frame_mut(index) else { continue };
            match self.arrival(&mut frame) {
                Arrival::Packet(member) if member == number => {
                    kept |= 1 << index;
                    octets += frame.len();
                }
                Arrival::Packet(member) => {
                    self.keep(member, Frame { meta: frame.meta(), data: frame.data() });
                }
                Arrival::Request(member, answer) => self.answer(member, &answer),
                Arrival::Lost(member, reason) => {
                    let counters = member.and_then(|member| Some(&self.members.get(member)?.counters));
                    counters.unwrap_or(&own).add(reason, 1);
                }
            }
        }
        if kept.count_ones() as usize != batch.len() {
            let mut index = 0;
            batch.retain(|_| {
                index += 1;
                kept >> (index - 1) & 1 != 0
            });
        }
        own.received(batch.len(), octets);
        Ok(batch.len())
    }

    /// A datagram of any begin.
    #[cold]
    fn arrival(&self, frame: &mut FrameMut<'_>) -> Arrival {
        let Meta::Gtpu { peer, tos, .. } = frame.meta() else {
            return Arrival::Lost(None, Counter::RxError);
        };
        let inner = match Vxlan::parse(frame.data()) {
            Ok(inner) => inner,
            Err(_) => return Arrival::Lost(None, Counter::RxVxlanHeader),
        };
        let vni = inner.vni;
        let Some((number, member)) =
            self.members.iter().enumerate().find(|(_, member)| member.segment.vni == vni)
        else {
            return Arrival::Lost(None, Counter::RxUnknownVni);
        };
        if !is_of(&peer, &member.segment.remote) {
            return Arrival::Lost(Some(number), Counter::RxUnknownVtep);
        }
        match frame::content(&member.segment, inner.frame) {
            Ok(Content::Ip) => {}
            Ok(Content::Request(answer)) => return Arrival::Request(number, answer),
            Err(reason) => return Arrival::Lost(Some(number), reason),
        }
        // The frame was parsed: it is longer.
        let _ = frame.trim_front(INNER);
        match member.unwrap(frame, tos) {
            Ok(()) => Arrival::Packet(number),
            Err(reason) => Arrival::Lost(Some(number), reason),
        }
    }

    /// Keeps a frame for the port of its segment.
    fn keep(&mut self, member: usize, frame: Frame<'_>) {
        let Some(member) = self.members.get_mut(member) else { return };
        if !member.waiting.push(frame) {
            let is_long = frame.data.len() > member.waiting.frame_size();
            member.counters.add(if is_long { Counter::RxTruncated } else { Counter::RxOverrun }, 1);
        }
    }

    fn answer(&mut self, member: usize, answer: &[u8]) {
        let Some(member) = self.members.get(member) else { return };
        let datagram = [&vxlan::header(member.segment.vni)[..], answer].concat();
        let meta = meta(self.local, member.segment.remote, 0);
        // An answer that is lost is asked for again.
        let _ = self.carrier.send(&[Frame { meta, data: &datagram }]);
        self.lost.count(self.carrier.counters(), &member.counters);
    }

    /// Sends frames that are in no batch: a copy of each gets the headers.
    pub(super) fn send(&mut self, number: usize, mtu: u32, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        let new = || Box::new(Batch::with_frame_size(mtu as usize));
        let mut copies = self.copies.take().unwrap_or_else(new);
        let mut sent = 0;
        for chunk in frames.chunks(BATCH) {
            copies.clear();
            for frame in chunk {
                if !copies.push(*frame)
                    && let Some(member) = self.members.get(number)
                {
                    member.counters.add(Counter::TxTooBig, 1);
                }
            }
            let all: ArrayVec<usize, BATCH> = (0..copies.len()).collect();
            sent += self.send_from(number, mtu, (&mut copies, &all))?;
        }
        self.copies = Some(copies);
        Ok(sent)
    }

    /// Sends frames of a batch: the headers are written before each, where it is.
    pub(super) fn send_from(
        &mut self,
        number: usize,
        mtu: u32,
        (batch, frames): (&mut Batch, &[usize]),
    ) -> Result<usize, PortError> {
        let Self { carrier, senders, lost, members, .. } = self;
        let Some(member) = members.get_mut(number) else { return Ok(0) };
        let mut sent = 0;
        for chunk in frames.chunks(BATCH) {
            // The flow is that of the frame as it is now.
            let mut places = [0; BATCH];
            if !senders.is_empty() {
                for (index, place) in chunk.iter().zip(&mut places) {
                    let Some(frame) = batch.frame(*index) else { continue };
                    *place = flow::choose(flow::number(&frame.meta, frame.data), senders.len());
                }
            }
            let (failed, octets) = member.wrap_all(batch, chunk, mtu as usize);
            let is_wrapped = |at: usize| failed >> at & 1 == 0;
            let wrapped = chunk.len() - failed.count_ones() as usize;
            let mut accepted = 0;
            if senders.is_empty() {
                let end = if failed == 0 {
                    carrier.send_from(batch, chunk)
                } else {
                    let some = chunk.iter().enumerate().filter(|(at, _)| is_wrapped(*at));
                    let some: ArrayVec<usize, BATCH> = some.map(|(_, index)| *index).collect();
                    carrier.send_from(batch, &some)
                };
                lost.count(carrier.counters(), &member.counters);
                accepted += end?;
            } else {
                for ((at, index), place) in chunk.iter().enumerate().zip(places) {
                    if let Some(sender) = senders.get_mut(place).filter(|_| is_wrapped(at)) {
                        // There are no more frames than places.
                        let _ = sender.frames.try_push(*index);
                    }
                }
            }
            for Sender { port, lost, frames } in senders.iter_mut().filter(|it| !it.frames.is_empty()) {
                let end = port.send_from(batch, frames);
                frames.clear();
                lost.count(port.counters(), &member.counters);
                accepted += end?;
            }
            // Of frames that were not all accepted, the octets are an average.
            let is_all = accepted == wrapped;
            member.counters.sent(accepted, if is_all { octets } else { octets * accepted / wrapped });
            sent += accepted;
        }
        Ok(sent)
    }

    pub(super) fn has_pending(&self, number: usize) -> bool {
        self.carrier.has_pending()
            || self.members.get(number).is_some_and(|member| !member.waiting.is_empty())
    }

    pub(super) fn fill_percent(&self) -> Option<u8> {
        self.carrier.fill_percent()
    }

    pub(super) fn count_losses(&mut self, number: usize) {
        self.carrier.count_losses();
        if let Some(member) = self.members.get(number) {
            self.lost.count(self.carrier.counters(), &member.counters);
        }
    }

    pub(super) fn use_counters(&mut self, number: usize, counters: &Arc<Counters>) {
        if let Some(member) = self.members.get_mut(number) {
            member.counters = Arc::clone(counters);
        }
    }
}

/// The metadata of a datagram.
const fn meta(local: SocketAddr, remote: SocketAddr, tos: u8) -> Meta {
    Meta::Gtpu { local: local.ip(), peer: remote, tos, hops: None }
}

impl Member {
    /// Turns the IP packet of a frame into what the port carries. `outer`: the type of service of the outer header.
    #[inline(always)]
    fn unwrap(&self, frame: &mut FrameMut<'_>, outer: u8) -> Result<(), Counter> {
        // Nothing changes without a mark outside.
        if outer & 0x03 != 0 {
            mark(frame, outer)?;
        }
        match &self.traffic {
            SegmentTraffic::Ip => {
                frame.set_meta(Meta::Ip);
                Ok(())
            }
            SegmentTraffic::Gtpu(addresses) => unwrap_gtpu(addresses, frame),
        }
    }

    /// The same for all frames of a batch that are datagrams which begin as nearly all of the segment do.
    #[inline(never)]
    fn unwrap_common(&self, batch: &mut Batch) -> Unwrapped {
        let mut done = Unwrapped::default();
        for (place, mut frame) in batch.frames_mut().enumerate() {
            let Meta::Gtpu { peer, tos, .. } = frame.meta_mut() else { continue };
            let (is_peer, tos) = (is_of(peer, &self.segment.remote), *tos);
            if !is_peer || !self.common.is_of(frame.data()) {
                continue;
            }
            // The frame is longer.
            let _ = frame.trim_front(INNER);
            match self.unwrap(&mut frame, tos) {
                Ok(()) => {
                    done.kept |= 1 << place;
                    done.octets += frame.len();
                }
                Err(reason) => {
                    done.lost |= 1 << place;
                    self.counters.add(reason, 1);
                }
            }
        }
        done
    }

    /// Turns frames into datagrams: writes the headers before each, and its metadata. Returns which of them are none, a bit for
    /// the place of each, and the octets that the others had. The counters have the reasons.
    #[inline(never)]
    fn wrap_all(&mut self, batch: &mut Batch, frames: &[usize], mtu: usize) -> (u64, usize) {
        let (mut failed, mut octets) = (0_u64, 0);
        for (place, index) in frames.iter().enumerate() {
            let Some(mut frame) = batch.frame_mut(*index) else {
                failed |= 1 << place;
                continue;
            };
            let len = match (&self.traffic, frame.meta_mut()) {
                (SegmentTraffic::Ip, Meta::Ip) => self.wrap_ip(&mut frame, mtu),
                _ => self.wrap_gtpu(&mut frame, mtu),
            };
            match len {
                Ok(len) => octets += len,
                Err(reason) => {
                    failed |= 1 << place;
                    self.counters.add(reason, 1);
                }
            }
        }
        (failed, octets)
    }

    /// The same for an IP packet. Returns the length that it had.
    #[inline(always)]
    fn wrap_ip(&self, frame: &mut FrameMut<'_>, mtu: usize) -> Result<usize, Counter> {
        let len = frame.len();
        if len > mtu {
            return Err(Counter::TxTooBig);
        }
        let (head, data) = frame.prepend_chunk::<INNER>().ok_or(Counter::TxNoBuffer)?;
        let is_ipv6 = data.first().is_some_and(|first| first >> 4 == 6);
        let ecn = frame::tos(data) & 0x03;
        *head = self.headers[usize::from(is_ipv6)];
        frame.set_meta(self.metas[usize::from(ecn)]);
        Ok(len)
    }

    /// The same for GTP-U; what the segment does not carry ends here, too.
    #[inline(never)]
    fn wrap_gtpu(&mut self, frame: &mut FrameMut<'_>, mtu: usize) -> Result<usize, Counter> {
        let meta = frame.meta();
        let data = frame.data();
        let len = data.len();
        match (&self.traffic, meta) {
            (SegmentTraffic::Gtpu(addresses), Meta::Gtpu { local, peer, tos, hops }) => {
                let first = addresses.iter().copied().find(|ip| ip.is_ipv4() == peer.is_ipv4());
                let local = if local.is_unspecified() { first.unwrap_or(local) } else { local };
                if !addresses.contains(&local) || local.is_ipv4() != peer.is_ipv4() {
                    return Err(Counter::TxBadSource);
                }
                self.ipv4_id = self.ipv4_id.wrapping_add(1);
                let local = SocketAddr::new(local, outer::GTPU_PORT);
                let headers = outer::wrap(local, peer, (tos, hops), self.ipv4_id, data)
                    .map_err(|_| Counter::TxTooBig)?;
                if headers.len() + len > mtu {
                    return Err(Counter::TxTooBig);
                }
                prepend(frame, &headers)?;
                prepend(frame, &self.headers[usize::from(peer.is_ipv6())])?;
                frame.set_meta(self.metas[usize::from(tos & 0x03)]);
                Ok(len)
            }
            _ => Err(Counter::TxWrongKind),
        }
    }
}

/// What became of the frames of a batch, a bit for each, and the octets of those that are kept. The others are to be looked at.
#[derive(Default)]
struct Unwrapped {
    kept: u64,
    lost: u64,
    octets: usize,
}

/// The lowest bits, so many.
const fn first_bits(count: usize) -> u64 {
    if count < BATCH { (1 << count) - 1 } else { u64::MAX }
}

/// The begin of nearly all datagrams of a segment: with the headers of the other end, no reserved bit set.
struct CommonBegin {
    /// The VXLAN header.
    vxlan: u64,
    /// The MAC address of this end, in the first octets of a word.
    mac: u64,
    /// Whether an IPv6 packet may be a Neighbour Solicitation for this end.
    has_ipv6: bool,
}

/// The octets of a MAC address in a word.
const MAC: u64 = u64::from_ne_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);

impl CommonBegin {
    const fn of(segment: &Segment) -> Self {
        let [d0, d1, d2, d3, d4, d5] = segment.mac.0;
        Self {
            vxlan: u64::from_ne_bytes(vxlan::header(segment.vni)),
            mac: u64::from_ne_bytes([d0, d1, d2, d3, d4, d5, 0, 0]),
            has_ipv6: segment.address6.is_some(),
        }
    }

    /// Whether a datagram begins so, with an IP packet in its frame.
    #[inline(always)]
    fn is_of(&self, datagram: &[u8]) -> bool {
        let Some(head) = datagram.first_chunk::<INNER>() else { return false };
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = *head;
        let vxlan = u64::from_ne_bytes([a, b, c, d, e, f, g, h]);
        let mac = u64::from_ne_bytes([i, j, k, l, m, n, o, p]);
        ((vxlan ^ self.vxlan) | ((mac ^ self.mac) & MAC)) == 0
            && match [head[INNER - 2], head[INNER - 1]] {
                [0x08, 0x00] => true,
                [0x86, 0xdd] => !self.has_ipv6,
                _ => false,
            }
    }
}

/// Whether a datagram is of this end, from any port: the source port is chosen by the sender (RFC 7348 section 5).
#[inline(always)]
fn is_of(peer: &SocketAddr, remote: &SocketAddr) -> bool {
    match (peer, remote) {
        (SocketAddr::V4(peer), SocketAddr::V4(remote)) => peer.ip() == remote.ip(),
        (SocketAddr::V6(peer), SocketAddr::V6(remote)) => peer.ip() == remote.ip(),
        _ => false,
    }
}

/// Gives a packet the mark of its outer header.
#[inline(never)]
fn mark(frame: &mut FrameMut<'_>, outer: u8) -> Result<(), Counter> {
    if let Some(ecn) = frame::ecn(outer, frame::tos(frame.data()))? {
        set_ecn(frame.data(), ecn).map_err(|_| Counter::RxMalformed)?;
    }
    Ok(())
}

/// Turns the IP packet of a frame into GTP-U, for one of these addresses.
#[inline(never)]
fn unwrap_gtpu(addresses: &[IpAddr], frame: &mut FrameMut<'_>) -> Result<(), Counter> {
    let packet: &[u8] = frame.data();
    let ip = outer::ip(packet)?;
    if !addresses.contains(&ip.dst()) {
        return Err(Counter::RxNotForUs);
    }
    let (meta, payload) = outer::unwrap(&ip, true)?;
    let start = payload.as_ptr() as usize - packet.as_ptr() as usize;
    let len = payload.len();
    // Both are within the frame.
    let _ = frame.trim_front(start) && frame.resize(len);
    frame.set_meta(meta);
    Ok(())
}

/// Writes octets before a frame.
///
/// # Errors
/// [`Counter::TxNoBuffer`] when there is no space before it.
#[inline(always)]
fn prepend(frame: &mut FrameMut<'_>, octets: &[u8]) -> Result<(), Counter> {
    frame.prepend(octets.len()).ok_or(Counter::TxNoBuffer)?.copy_from_slice(octets);
    Ok(())
}
