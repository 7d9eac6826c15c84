//! The fields of a packet that filters compare.

use std::net::IpAddr;

use causeway_packet::Flow;
use causeway_types::{Direction, Qfi};

use super::lane::{COLUMNS, LABEL, LOCAL, REMOTE, SPI, word};

/// The fields that nearly every filter compares, packed like the lanes. All numbers in host byte order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PacketKey {
    pub(super) word: u32,
    pub(super) ports: u32,
    /// The first word of the remote address.
    pub(super) remote: u32,
}

impl PacketKey {
    /// An IPv4 packet with ports; `tos` is its type of service, and the local port is in the upper half of `ports`.
    #[inline]
    pub const fn v4(remote: u32, ports: u32, protocol: u8, tos: u8) -> Self {
        Self { word: word::of(protocol, tos) | word::HAS_PORTS, ports, remote }
    }

    /// An IPv6 packet with or without ports, given the first word of its remote address: without flow label and
    /// Security Parameter Index, for filters that do not compare them.
    #[inline(always)]
    pub(crate) const fn v6(remote: u32, ports: Option<u32>, protocol: u8, tos: u8) -> Self {
        let word = word::of(protocol, tos) | word::IS_V6;
        match ports {
            Some(ports) => Self { word: word | word::HAS_PORTS, ports, remote },
            None => Self { word, ports: 0, remote },
        }
    }

    /// Whether the packet has ports.
    pub(crate) const fn has_ports(&self) -> bool {
        self.word & word::HAS_PORTS != 0
    }

    /// Whether the protocol has a Security Parameter Index, which is not in this key.
    pub(crate) const fn may_have_spi(&self) -> bool {
        matches!(self.word as u8, 50 | 51)
    }

    /// The inverse of [`PacketKey::parts`].
    #[inline(always)]
    pub(crate) const fn of_parts(word: u32, ports: u32, remote: u32) -> Self {
        Self { word, ports, remote }
    }

    /// The words that are compared.
    #[inline(always)]
    pub(crate) const fn parts(self) -> (u32, u32, u32) {
        (self.word, self.ports, self.remote)
    }

    /// The QFI of the tunnel header.
    #[inline]
    #[must_use]
    pub const fn with_qfi(mut self, qfi: Qfi) -> Self {
        self.word |= word::qfi(qfi);
        self
    }

    /// Sets which ends are addresses of the UE: the meaning of `assigned` in a filter.
    #[inline]
    #[must_use]
    pub const fn with_ue(&self, is_remote: bool, is_local: bool) -> Self {
        let ends = (word::REMOTE_IS_UE * is_remote as u32) | (word::LOCAL_IS_UE * is_local as u32);
        Self { word: self.word | ends, ports: self.ports, remote: self.remote }
    }

    /// Removes the ports, unless the packet has them. Without branches, since many packets are processed together.
    #[inline(always)]
    #[must_use]
    pub(crate) const fn ports_if(self, has_ports: bool) -> Self {
        let mask = (has_ports as u32).wrapping_neg();
        Self { word: self.word & (mask | !word::HAS_PORTS), ports: self.ports & mask, ..self }
    }

    /// Reverts [`PacketKey::with_ue`].
    #[inline]
    #[must_use]
    pub(crate) const fn without_ue(self) -> Self {
        Self { word: self.word & !(word::REMOTE_IS_UE | word::LOCAL_IS_UE), ..self }
    }

    /// The remote address, if the packet is IPv4.
    #[inline]
    pub const fn remote(&self) -> u32 {
        self.remote
    }

    /// The type of service.
    #[inline]
    pub const fn tos(&self) -> u8 {
        word::tos(self.word)
    }

    /// The protocol.
    pub(crate) const fn protocol(&self) -> u8 {
        self.word as u8
    }

    /// The packet's QFI, if it has one.
    #[inline]
    pub(super) const fn has_qfi(&self, qfi: Qfi) -> bool {
        self.word & word::qfi_mask(1) == word::qfi(qfi)
    }
}

/// All fields of a packet that filters compare, packed like the lanes. All numbers in host byte order.
///
/// `local` is the UE's side and `remote` the other, whatever the direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FullPacketKey {
    pub(super) key: PacketKey,
    pub(super) columns: [u32; COLUMNS],
    pub(super) is_v6: bool,
}

impl FullPacketKey {
    /// An IPv4 packet; `tos` is its type of service.
    #[inline]
    pub const fn v4(remote: u32, local: u32, protocol: u8, tos: u8) -> Self {
        let mut columns = [0; COLUMNS];
        columns[REMOTE[0]] = remote;
        columns[LOCAL[0]] = local;
        let packet_key = PacketKey { word: word::of(protocol, tos), ports: 0, remote };
        Self { key: packet_key, columns, is_v6: false }
    }

    /// An IPv4 packet, given its packet key and local address.
    pub const fn of_v4(packet_key: PacketKey, local: u32) -> Self {
        let mut columns = [0; COLUMNS];
        columns[REMOTE[0]] = packet_key.remote;
        columns[LOCAL[0]] = local;
        Self { key: packet_key, columns, is_v6: false }
    }

    /// An IPv6 packet; `protocol` is the upper-layer protocol, `tos` the traffic class.
    #[inline]
    pub const fn v6(remote: u128, local: u128, protocol: u8, tos: u8) -> Self {
        let mut columns = [0; COLUMNS];
        let mut at = 0;
        while at < 4 {
            columns[REMOTE[at]] = (remote >> (96 - 32 * at)) as u32;
            columns[LOCAL[at]] = (local >> (96 - 32 * at)) as u32;
            at += 1;
        }
        let word = word::of(protocol, tos) | word::IS_V6;
        Self { key: PacketKey { word, ports: 0, remote: columns[REMOTE[0]] }, columns, is_v6: true }
    }

    /// Removes the Security Parameter Index.
    #[cfg(test)]
    #[must_use]
    pub(crate) const fn without_spi(mut self) -> Self {
        self.key.word &= !word::HAS_SPI;
        self.columns[SPI] = 0;
        self
    }

    /// Sets the ports: not for later fragments, nor for protocols without ports.
    #[inline]
    #[must_use]
    pub const fn with_ports(mut self, remote: u16, local: u16) -> Self {
        self.key.word |= word::HAS_PORTS;
        self.key.ports = remote as u32 | (local as u32) << 16;
        self
    }

    /// Sets the Security Parameter Index of ESP or AH.
    #[inline]
    #[must_use]
    pub const fn with_spi(mut self, spi: u32) -> Self {
        self.key.word |= word::HAS_SPI;
        self.columns[SPI] = spi;
        self
    }

    /// Sets the flow label of IPv6, 20 bits.
    #[inline]
    #[must_use]
    pub const fn with_flow_label(mut self, label: u32) -> Self {
        self.key.word |= word::HAS_LABEL;
        self.columns[LABEL] = label;
        self
    }

    /// Sets the type of service.
    #[inline]
    #[must_use]
    pub const fn with_tos(mut self, tos: u8) -> Self {
        self.key.word = word::with_tos(self.key.word, tos);
        self
    }

    /// Sets the QFI of the tunnel header.
    #[inline]
    #[must_use]
    pub const fn with_qfi(mut self, qfi: Qfi) -> Self {
        self.key = self.key.with_qfi(qfi);
        self
    }

    /// Sets which ends are addresses of the UE: the meaning of `assigned` in a filter.
    #[inline]
    #[must_use]
    pub const fn with_ue(mut self, is_remote: bool, is_local: bool) -> Self {
        self.key = self.key.with_ue(is_remote, is_local);
        self
    }

    /// The key of a parsed packet. `is_assigned` returns whether an address is the UE's own.
    pub fn from_flow(
        flow: &Flow,
        direction: Direction,
        qfi: Option<Qfi>,
        is_assigned: impl Fn(IpAddr) -> bool,
    ) -> Self {
        let ports = flow.ports.map(|ports| (ports.src, ports.dst));
        let (remote, local, ports) = match direction {
            Direction::Uplink => (flow.dst, flow.src, ports.map(|(src, dst)| (dst, src))),
            Direction::Downlink => (flow.src, flow.dst, ports),
        };
        let key = Self::between(remote, local, flow.protocol.0, flow.tos)
            .with_ue(is_assigned(remote), is_assigned(local));
        let key = ports.map_or(key, |(remote, local)| key.with_ports(remote, local));
        let key = flow.spi.map_or(key, |spi| key.with_spi(spi));
        let key = flow.flow_label.map_or(key, |label| key.with_flow_label(label.value()));
        qfi.map_or(key, |qfi| key.with_qfi(qfi))
    }

    /// The two ends of a [`Flow`] are always of one family.
    fn between(remote: IpAddr, local: IpAddr, protocol: u8, tos: u8) -> Self {
        let wide = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => u128::from(ip.to_ipv6_mapped()),
            IpAddr::V6(ip) => u128::from(ip),
        };
        match (remote, local) {
            (IpAddr::V4(remote), IpAddr::V4(local)) => Self::v4(remote.into(), local.into(), protocol, tos),
            _ => Self::v6(wide(remote), wide(local), protocol, tos),
        }
    }
}
