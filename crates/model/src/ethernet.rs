//! The Ethernet parts of rules (TS 29.244 clause 5.13).

use causeway_types::{MacAddr, Transfer};

use super::SdfFilter;

/// An Ethernet Packet Filter (TS 29.244 table 7.5.2.2-3). Every part that is present must match.
///
/// Written for the downlink, as its addresses and flows are: an uplink frame is compared with source and
/// destination exchanged (clause 5.13.3A).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct EthernetFilter {
    /// The id of a bidirectional filter: PDRs of both directions share it (clause 5.13.4). `None`: the filter
    /// belongs to this PDR only.
    pub shared: Option<u32>,
    /// The addresses: at least one must match; empty matches any.
    pub macs: Vec<MacMatch>,
    /// The Ethertype of the payload, after the VLAN tags; 0x0600 or above.
    pub ether_type: Option<u16>,
    /// The customer VLAN tag.
    pub c_tag: Option<TagMatch>,
    /// The service VLAN tag.
    pub s_tag: Option<TagMatch>,
    /// The IP flows: at least one must match the packet in the frame; empty matches any frame.
    pub flows: Vec<SdfFilter>,
}

/// Addresses of a frame (TS 29.244 clause 8.2.93). An absent part matches any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MacMatch {
    /// The source of downlink frames.
    pub source: Option<MacRange>,
    /// The destination of downlink frames.
    pub destination: Option<MacRange>,
}

impl MacMatch {
    /// Both addresses, in the order of downlink frames, match.
    pub fn covers(&self, source: MacAddr, destination: MacAddr) -> bool {
        self.source.is_none_or(|range| range.contains(source))
            && self.destination.is_none_or(|range| range.contains(destination))
    }
}

/// Addresses from the first to the last, both included; the first is not above the last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MacRange {
    first: MacAddr,
    last: MacAddr,
}

impl MacRange {
    /// `None` if the first is above the last.
    pub fn new(first: MacAddr, last: MacAddr) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// The address, if it is only one.
    pub fn single(&self) -> Option<MacAddr> {
        (self.first == self.last).then_some(self.first)
    }

    /// The address is one of them.
    pub fn contains(&self, mac: MacAddr) -> bool {
        (self.first..=self.last).contains(&mac)
    }
}

/// One address as a range.
impl From<MacAddr> for MacRange {
    fn from(mac: MacAddr) -> Self {
        Self { first: mac, last: mac }
    }
}

/// The required or new content of a VLAN tag (TS 29.244 clauses 8.2.94 and 8.2.95): an absent part matches any, and
/// leaves that of an existing tag unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TagMatch {
    /// Priority Code Point, 0 to 7.
    pub priority: Option<u8>,
    /// Drop Eligible Indicator.
    pub drop_eligible: Option<bool>,
    /// VLAN identifier, 0 to 4095.
    pub vid: Option<u16>,
}

/// The VLAN tags that Outer Header Creation sets (TS 29.244 clause 8.2.56). At least one is present.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct VlanTags {
    /// The customer tag.
    pub customer: Option<TagMatch>,
    /// The service tag, outside the customer tag.
    pub service: Option<TagMatch>,
}

/// The VLAN tags that Outer Header Removal removes, the outer one first (TS 29.244 clause 8.2.64).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VlanRemoval {
    /// One tag (description 7).
    Pop,
    /// Two tags (description 8).
    PopPop,
}

/// The requests that the UPF answers as a proxy (Proxying, TS 29.244 clause 8.2.97).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Proxying {
    /// ARP requests.
    pub arp: bool,
    /// IPv6 Neighbour Solicitations.
    pub neighbour_solicitation: bool,
}

impl Transfer for MacRange {
    fn put(&self, out: &mut Vec<u8>) {
        (self.first, self.last).put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let (first, last) = Transfer::take(input)?;
        Self::new(first, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(last: u8) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, last])
    }

    // Input:  a range of addresses, one address, and a range with its ends exchanged.
    // Output: both ends are inside, their neighbours are not; the last is `None`.
    #[test]
    fn a_range_has_both_its_ends() {
        let range = MacRange::new(mac(3), mac(5)).unwrap();
        assert_eq!(
            (2..=6).map(|last| range.contains(mac(last))).collect::<Vec<_>>(),
            [false, true, true, true, false]
        );
        assert!(MacRange::from(mac(3)).contains(mac(3)) && !MacRange::from(mac(3)).contains(mac(4)));
        assert_eq!(MacRange::new(mac(5), mac(4)), None);
        assert_eq!([range, mac(3).into()].map(|range| range.single()), [None, Some(mac(3))]);
    }
}
