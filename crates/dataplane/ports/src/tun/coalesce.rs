//! Coalesces packets of one flow that the kernel, or the network card, will segment into the same octets again.
//!
//! Coalesced packets are reproduced exactly: equal headers except for fields that count from packet to packet, valid
//! checksums, and equal lengths except for the last. All others are sent unchanged. Packets of one flow keep their
//! order; those of different flows may change theirs.

use std::net::IpAddr;

use arrayvec::ArrayVec;
use causeway_packet::checksum::checksum;
use causeway_packet::{Ip, TcpFlags};

use super::layout::{IPV6, Layout, MOST_HEADERS, Transport, double, put, word};
use super::virtio::{Gso, PartialChecksum, VirtioHeader};

/// The maximum number of packets that are considered together.
pub(super) const MAX_COALESCE: usize = 64;

/// The maximum number of octets of a coalesced packet.
const MOST_OCTETS: usize = 65_535;

/// TCP flags that only the last packet of a run may have.
const LAST: TcpFlags = TcpFlags::FIN.union(TcpFlags::PSH);

/// A packet to send.
#[derive(Clone, Copy)]
pub(super) struct Packet<'a> {
    pub(super) data: &'a [u8],
    layout: Option<Layout>,
    /// Equal for packets between the same hosts.
    hosts: u64,
}

impl<'a> Packet<'a> {
    pub(super) fn new(data: &'a [u8], ip: &Ip<'_>) -> Self {
        let hosts = fold(ip.src()).rotate_left(32) ^ fold(ip.dst());
        Self { data, layout: Layout::in_packet(ip, data.len()), hosts }
    }

    /// The two ports.
    fn ports(&self) -> Option<(Transport, u32)> {
        self.layout.map(|layout| (layout.transport, double(self.data, layout.header)))
    }

    /// The IP and transport headers permit coalescing.
    fn can_coalesce(&self, layout: &Layout, kinds: GsoKinds) -> bool {
        layout.is_plain()
            && layout.payload < layout.len
            && match layout.transport {
                Transport::Tcp => {
                    let others = TcpFlags::all() - LAST - TcpFlags::ECE;
                    kinds.tcp && self.flags(layout) & others == TcpFlags::ACK
                }
                Transport::Udp => kinds.udp && word(self.data, layout.header + 6) != 0,
            }
    }

    fn flags(&self, layout: &Layout) -> TcpFlags {
        TcpFlags::from_bits_retain(self.data.get(layout.header + 13).copied().unwrap_or(0))
    }

    fn payload(&self, layout: &Layout) -> &'a [u8] {
        self.data.get(layout.payload..).unwrap_or_default()
    }

    /// The checksums are those that would be computed.
    fn has_valid_checksums(&self, layout: &Layout) -> bool {
        let (Some(ip), Some(octets)) = (self.data.get(..layout.header), self.data.get(layout.header..))
        else {
            return false;
        };
        // All ones is as valid as zero, but not what would be computed.
        let written =
            word(octets, layout.transport.checksum_field()) != 0xffff || layout.transport == Transport::Udp;
        let ip_is_right = layout.src.is_ipv6() || (word(ip, 10) != 0xffff && checksum(ip) == 0);
        written && ip_is_right && layout.pseudo(octets.len()).with(octets).finish() == 0
    }
}

/// The packets that the kernel segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct GsoKinds {
    pub(super) tcp: bool,
    pub(super) udp: bool,
}

/// One packet, or several that are coalesced.
#[derive(Clone, Copy)]
pub(super) struct CoalescedPacket {
    hosts: u64,
    ports: Option<(Transport, u32)>,
    /// The first packet.
    first: usize,
    /// The last one so far.
    last: usize,
    /// Their number.
    count: usize,
    /// Octets of all payloads.
    octets: usize,
    /// Another packet may be added.
    is_open: bool,
    /// The checksums of the first packet were verified.
    verified: bool,
}

impl CoalescedPacket {
    fn new(index: usize, packet: &Packet<'_>, kinds: GsoKinds) -> Self {
        let joinable = packet.layout.filter(|layout| packet.can_coalesce(layout, kinds));
        let open = joinable.is_some_and(|layout| {
            layout.transport == Transport::Udp || !packet.flags(&layout).intersects(LAST)
        });
        Self {
            hosts: packet.hosts,
            ports: packet.ports(),
            first: index,
            last: index,
            count: 1,
            octets: packet.layout.map_or(0, |layout| layout.len - layout.payload),
            is_open: open,
            verified: false,
        }
    }

    /// The number of packets.
    pub(super) const fn len(&self) -> usize {
        self.count
    }
}

/// Packets in the order of transmission.
pub(super) struct CoalescedRuns<'a> {
    packets: &'a [Packet<'a>],
    runs: ArrayVec<CoalescedPacket, MAX_COALESCE>,
    /// The packet that follows each in its run.
    next: [u8; MAX_COALESCE],
}

impl<'a> CoalescedRuns<'a> {
    /// Coalesces up to [`MAX_COALESCE`] packets where possible.
    pub(super) fn of(packets: &'a [Packet<'a>], kinds: GsoKinds) -> Self {
        let mut runs = Self { packets, runs: ArrayVec::new(), next: [0; MAX_COALESCE] };
        for (index, packet) in packets.iter().enumerate().take(MAX_COALESCE) {
            if !runs.coalesce(index, packet, kinds) {
                runs.runs.push(CoalescedPacket::new(index, packet, kinds));
            }
        }
        runs
    }

    /// The runs.
    pub(super) fn iter(&self) -> impl Iterator<Item = &CoalescedPacket> {
        self.runs.iter()
    }

    /// The packets of a run.
    pub(super) fn packets(&self, run: &CoalescedPacket) -> impl Iterator<Item = &'a Packet<'a>> {
        let mut index = run.first;
        (0..run.count).filter_map(move |_| {
            let packet = self.packets.get(index);
            index = usize::from(self.next.get(index).copied().unwrap_or(0));
            packet
        })
    }

    /// The payloads of a run of several packets.
    pub(super) fn payloads(&self, run: &CoalescedPacket) -> impl Iterator<Item = &'a [u8]> {
        self.packets(run).filter_map(|packet| packet.layout.map(|layout| packet.payload(&layout)))
    }

    /// The headers of a run of several packets.
    pub(super) fn headers(
        &self,
        run: &CoalescedPacket,
    ) -> Option<(VirtioHeader, ArrayVec<u8, MOST_HEADERS>)> {
        let (first, last) = (self.packets.get(run.first)?, self.packets.get(run.last)?);
        let layout = first.layout?;
        let mut headers = ArrayVec::<u8, MOST_HEADERS>::new();
        headers.try_extend_from_slice(first.data.get(..layout.payload)?).ok()?;
        let len = layout.payload + run.octets;
        match layout.src {
            IpAddr::V4(_) => {
                put(&mut headers, 2, &(len as u16).to_be_bytes());
                put(&mut headers, 10, &[0; 2]);
                let sum = checksum(headers.get(..layout.header)?);
                put(&mut headers, 10, &sum.to_be_bytes());
            }
            IpAddr::V6(_) => put(&mut headers, 4, &((len - IPV6) as u16).to_be_bytes()),
        }
        let octets = len - layout.header;
        match layout.transport {
            Transport::Tcp => {
                let flags = first.flags(&layout) | (last.flags(&layout) & LAST);
                put(&mut headers, layout.header + 13, &[flags.bits()]);
            }
            Transport::Udp => put(&mut headers, layout.header + 4, &(octets as u16).to_be_bytes()),
        }
        let field = layout.transport.checksum_field();
        put(&mut headers, layout.header + field, &(!layout.pseudo(octets).finish()).to_be_bytes());
        let kind = match (layout.transport, layout.src) {
            (Transport::Tcp, IpAddr::V4(_)) => Gso::Tcp4,
            (Transport::Tcp, IpAddr::V6(_)) => Gso::Tcp6,
            (Transport::Udp, _) => Gso::Udp,
        };
        let segment = u16::try_from(layout.len - layout.payload).ok()?;
        let partial = PartialChecksum { start: layout.header as u16, field: field as u16 };
        let gso = Some((kind, segment));
        Some((VirtioHeader { gso, hdr_len: layout.payload as u16, partial: Some(partial) }, headers))
    }

    /// Adds a packet to the run of its flow. `false` when it starts a run of its own; the flow's earlier run is then
    /// complete, so that nothing overtakes the packet.
    fn coalesce(&mut self, index: usize, packet: &Packet<'_>, kinds: GsoKinds) -> bool {
        let Some((layout, ports)) = packet.layout.zip(packet.ports()) else {
            self.close_all(packet.hosts);
            return false;
        };
        let (packets, mut runs) = (self.packets, self.runs.iter_mut().rev());
        let is_flow =
            |run: &&mut CoalescedPacket| run.is_open && run.hosts == packet.hosts && run.ports == Some(ports);
        let Some(run) = runs.find(is_flow) else { return false };
        run.is_open = packet.can_coalesce(&layout, kinds) && fits(run, packets, packet, &layout);
        if !run.is_open {
            return false;
        }
        let octets = layout.len - layout.payload;
        let segment =
            packets.get(run.first).and_then(|first| first.layout).map(|first| first.len - first.payload);
        run.is_open = segment == Some(octets)
            && (layout.transport == Transport::Udp || !packet.flags(&layout).intersects(LAST));
        if let Some(next) = self.next.get_mut(run.last) {
            *next = index as u8;
        }
        (run.last, run.count, run.octets) = (index, run.count + 1, run.octets + octets);
        true
    }

    /// A packet of an unknown flow must not be overtaken by any between the same hosts.
    fn close_all(&mut self, hosts: u64) {
        self.runs.iter_mut().filter(|run| run.hosts == hosts).for_each(|run| run.is_open = false);
    }
}

/// The packet continues the run, and segmentation would reproduce it.
fn fits(run: &mut CoalescedPacket, packets: &[Packet<'_>], packet: &Packet<'_>, layout: &Layout) -> bool {
    let Some((first, first_layout)) =
        packets.get(run.first).and_then(|first| first.layout.map(|layout| (first, layout)))
    else {
        return false;
    };
    let octets = layout.len - layout.payload;
    let fits = (first_layout.header, first_layout.payload) == (layout.header, layout.payload)
        && octets <= first_layout.len - first_layout.payload
        && first_layout.payload + run.octets + octets <= MOST_OCTETS
        && continues_ip(run, first.data, packet.data)
        && continues_transport(run, layout, first.data, packet.data);
    if !fits {
        return false;
    }
    run.verified = run.verified || first.has_valid_checksums(&first_layout);
    run.verified && packet.has_valid_checksums(layout)
}

fn continues_ip(run: &CoalescedPacket, first: &[u8], packet: &[u8]) -> bool {
    let same = |from: usize, to: usize| first.get(from..to) == packet.get(from..to);
    // Lengths and checksums are compared by meaning; the identification counts up.
    match first.first().map(|octet| octet >> 4) {
        Some(4) => {
            same(0, 2)
                && same(6, 10)
                && same(12, 20)
                && word(packet, 4) == word(first, 4).wrapping_add(run.count as u16)
        }
        _ => same(0, 4) && same(6, 40),
    }
}

fn continues_transport(run: &CoalescedPacket, layout: &Layout, first: &[u8], packet: &[u8]) -> bool {
    let Layout { header, payload, transport, .. } = *layout;
    let same = |from: usize, to: usize| first.get(from..to) == packet.get(from..to);
    if transport == Transport::Udp {
        return same(header, header + 4);
    }
    let flags =
        |octets: &[u8]| TcpFlags::from_bits_retain(octets.get(header + 13).copied().unwrap_or(0)) - LAST;
    double(packet, header + 4) == double(first, header + 4).wrapping_add(run.octets as u32)
        && same(header, header + 4)
        && same(header + 8, header + 13)
        && flags(first) == flags(packet)
        && same(header + 14, header + 16)
        && same(header + 18, payload)
}

/// A hash of an address.
fn fold(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(v4) => u64::from(v4.to_bits()),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            (bits >> 64) as u64 ^ (bits as u64).rotate_left(17)
        }
    }
}
