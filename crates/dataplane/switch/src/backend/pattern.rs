//! Match patterns of table entries.

use causeway_p4::names::key;

use super::segments::Tenant;
use crate::driver::{FieldMatch, MatchKind, Table, ones};
use crate::tables::is_uplink;

/// A masked value of a field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Bits {
    pub(super) value: u128,
    pub(super) mask: u128,
}

impl Bits {
    /// Any value.
    pub(super) const ANY: Self = Self { value: 0, mask: 0 };

    /// This value of `width` bits.
    pub(super) const fn exactly(value: u128, width: u8) -> Self {
        Self { value, mask: ones(width) }
    }

    /// The first `prefix` of `width` bits.
    pub(super) const fn prefix(value: u128, prefix: u8, width: u8) -> Self {
        let mask = ones(width) & !ones(width.saturating_sub(prefix));
        Self { value: value & mask, mask }
    }

    /// The values that match both; `None`: there are none.
    fn intersect(self, other: Self) -> Option<Self> {
        let is_apart = (self.value ^ other.value) & self.mask & other.mask != 0;
        (!is_apart).then_some(Self { value: self.value | other.value, mask: self.mask | other.mask })
    }

    /// Whether every value that matches `other` matches this.
    pub(super) const fn contains(self, other: Self) -> bool {
        self.mask & !other.mask == 0 && (self.value ^ other.value) & self.mask == 0
    }
}

/// A field of a packet that a table may lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Filtered {
    Qfi,
    Source,
    Destination,
    Protocol,
    Dscp,
    SourcePort,
    DestinationPort,
}

/// A property that no table can express.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inexpressible(pub(super) &'static str);

/// The packets that an entry matches: fields of the user packet, and the received tunnel.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Pattern {
    /// The data network that it comes from, if it comes without a tunnel.
    pub(super) tenant: Tenant,
    pub(super) teid: Option<u32>,
    pub(super) qfi: Bits,
    pub(super) source: Bits,
    pub(super) destination: Bits,
    pub(super) protocol: Bits,
    pub(super) dscp: Bits,
    pub(super) source_port: Bits,
    pub(super) destination_port: Bits,
    /// The packet has ports.
    pub(super) has_ports: bool,
}

impl Pattern {
    /// The fields that filters compare, in any order.
    const fn filtered(&self) -> [Bits; 6] {
        let Self { source, destination, protocol, dscp, source_port, destination_port, .. } = self;
        [*source, *destination, *protocol, *dscp, *source_port, *destination_port]
    }

    /// Packets that match both, whatever their tunnel; `None`: there are none.
    pub(super) fn intersect(&self, other: &Self) -> Option<Self> {
        Some(Self {
            source: self.source.intersect(other.source)?,
            destination: self.destination.intersect(other.destination)?,
            protocol: self.protocol.intersect(other.protocol)?,
            dscp: self.dscp.intersect(other.dscp)?,
            source_port: self.source_port.intersect(other.source_port)?,
            destination_port: self.destination_port.intersect(other.destination_port)?,
            has_ports: self.has_ports || other.has_ports,
            ..self.clone()
        })
    }

    /// Whether it matches all packets that the other one matches, whatever their tunnel.
    pub(super) fn contains(&self, other: &Self) -> bool {
        let mut fields = self.filtered().into_iter().zip(other.filtered());
        (other.has_ports || !self.has_ports) && fields.all(|(ours, theirs)| ours.contains(theirs))
    }

    /// The number of bits that it compares: lower than that of any other pattern that it contains.
    pub(super) fn bits(&self) -> i32 {
        let bits: u32 = self.filtered().iter().map(|field| field.mask.count_ones()).sum();
        i32::try_from(bits).unwrap_or(i32::MAX - 1) + i32::from(self.has_ports)
    }

    /// The keys of an entry in a table.
    pub(super) fn fields(&self, table: &Table) -> Result<Vec<FieldMatch>, Inexpressible> {
        let is_uplink = is_uplink(&table.name);
        let mut matched = Vec::with_capacity(table.keys.len());
        let mut fields = Vec::with_capacity(table.keys.len());
        for key in &table.keys {
            let (field, bits) = match key.name.as_str() {
                key::IS_UPLINK => (None, Bits::exactly(self.teid.is_some().into(), 1)),
                key::TENANT => (None, Bits::exactly(self.tenant.0.into(), 8)),
                key::IS_IPV4 | key::IS_IPV6 => (None, Bits::exactly(1, 1)),
                key::TEID => (None, self.teid.map_or(Bits::ANY, |teid| Bits::exactly(teid.into(), 24))),
                key::QFI => (Some(Filtered::Qfi), self.qfi),
                key::REMOTE_ADDRESS if is_uplink => (Some(Filtered::Destination), self.destination),
                key::REMOTE_ADDRESS | key::SOURCE_ADDRESS => (Some(Filtered::Source), self.source),
                key::DESTINATION_ADDRESS | key::UE_ADDRESS => (Some(Filtered::Destination), self.destination),
                key::UE_PREFIX => (Some(Filtered::Destination), upper_half(self.destination)?),
                key::PROTOCOL => (Some(Filtered::Protocol), self.protocol),
                key::DSCP => (Some(Filtered::Dscp), self.dscp),
                key::SOURCE_PORT => (Some(Filtered::SourcePort), self.source_port),
                key::DESTINATION_PORT => (Some(Filtered::DestinationPort), self.destination_port),
                key::HAS_PORTS if self.has_ports => (None, Bits::exactly(1, 1)),
                key::HAS_PORTS => (None, Bits::ANY),
                _ => return Err(Inexpressible("the program has an unknown key")),
            };
            matched.extend(field);
            let all = ones(key.width);
            fields.push(match key.kind {
                MatchKind::Exact if bits.mask == all => FieldMatch::Exact(bits.value),
                MatchKind::Exact => return Err(Inexpressible("a rule without a tunnel or UE address")),
                MatchKind::Ternary => FieldMatch::Ternary { value: bits.value, mask: bits.mask },
                MatchKind::Lpm => return Err(Inexpressible("the program matches rules by prefixes")),
            });
        }
        let asked = [
            (Filtered::Qfi, self.qfi),
            (Filtered::Source, self.source),
            (Filtered::Destination, self.destination),
            (Filtered::Protocol, self.protocol),
            (Filtered::Dscp, self.dscp),
            (Filtered::SourcePort, self.source_port),
            (Filtered::DestinationPort, self.destination_port),
        ];
        let is_expressed = |(field, bits): &(Filtered, Bits)| bits.mask == 0 || matched.contains(field);
        match asked.iter().all(is_expressed) {
            true => Ok(fields),
            false => Err(Inexpressible("the table for the rule has no key for a field of its filter")),
        }
    }
}

/// The bits of an IPv6 address that identify a UE.
fn upper_half(bits: Bits) -> Result<Bits, Inexpressible> {
    if bits.mask != !ones(64) {
        return Err(Inexpressible("a UE whose IPv6 prefix has other than 64 bits"));
    }
    Ok(Bits::exactly(bits.value >> 64, 64))
}

/// The fewest prefixes that make up a range of ports.
pub(super) fn port_prefixes(first: u16, last: u16) -> Vec<Bits> {
    let (mut next, last) = (u32::from(first), u32::from(last));
    let mut parts = Vec::new();
    while next <= last {
        let remaining = (last - next + 1).ilog2();
        let bits = remaining.min(next.trailing_zeros()).min(16) as u8;
        parts.push(Bits::prefix(next.into(), 16 - bits, 16));
        next += 1 << bits;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  all ranges of ports with ends near powers of two, and some others.
    // Output: each port of the range matches exactly one prefix, all other ports none.
    #[test]
    fn ports_of_a_range_fit_exactly_one_part() {
        for (first, last) in [(0, 65535), (1, 65534), (80, 80), (1000, 2000), (1023, 1025), (65535, 65535)] {
            let parts = port_prefixes(first, last);
            for port in 0..=u16::MAX {
                let fits = |bits: &&Bits| u128::from(port) & bits.mask == bits.value;
                let found = parts.iter().filter(fits).count();
                assert_eq!(found, usize::from((first..=last).contains(&port)), "{port} of {first}-{last}");
            }
        }
        assert_eq!(port_prefixes(0, 65535), [Bits::ANY]);
    }
}
