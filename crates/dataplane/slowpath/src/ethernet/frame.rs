//! The Ethernet frame of a user, as the rules match it.

use causeway_packet::{EtherType, Ethernet, UserPacket, VlanTag};

use causeway_dataplane::DropReason;
use causeway_model::UeMac;

/// A frame, parsed as far as filters need.
#[derive(Clone, Debug)]
pub(crate) struct Frame<'a> {
    /// The octets of the frame, from the destination address on.
    pub(crate) bytes: &'a [u8],
    /// Its headers.
    pub(crate) ethernet: Ethernet<'a>,
    /// The IP packet in it, if it is well-formed.
    pub(crate) user: Option<UserPacket<'a>>,
}

impl<'a> Frame<'a> {
    /// Parses a frame.
    ///
    /// # Errors
    /// [`DropReason::MalformedFrame`].
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, DropReason> {
        let ethernet = Ethernet::parse(bytes).map_err(|_| DropReason::MalformedFrame)?;
        if ethernet.src.is_multicast() {
            return Err(DropReason::MalformedFrame);
        }
        let is_ip = matches!(ethernet.ether_type, Some(EtherType::IPV4 | EtherType::IPV6));
        let user = UserPacket::parse(ethernet.payload).ok().filter(|_| is_ip);
        Ok(Self { bytes, ethernet, user })
    }

    /// The service tag: the outer one of two, or a single one of that type.
    pub(crate) fn service_tag(&self) -> Option<VlanTag> {
        let [outer, inner] = self.ethernet.tags;
        outer.filter(|tag| tag.service || inner.is_some())
    }

    /// The customer tag: the inner one of two, or a single one that is no service tag.
    pub(crate) fn customer_tag(&self) -> Option<VlanTag> {
        let [outer, inner] = self.ethernet.tags;
        inner.or(outer.filter(|tag| !tag.service))
    }

    /// Its source, as the UE sees it.
    pub(crate) fn as_source(&self) -> UeMac {
        let Vlans { service, customer } = self.vlans();
        UeMac { c_vid: customer, s_vid: service, mac: self.ethernet.src }
    }

    /// The VLANs of the frame.
    pub(crate) fn vlans(&self) -> Vlans {
        // A tag with the identifier 0 only carries a priority (IEEE 802.1Q clause 6.9.1).
        let id = |tag: Option<VlanTag>| tag.map(VlanTag::id).filter(|id| *id != 0);
        Vlans { service: id(self.service_tag()), customer: id(self.customer_tag()) }
    }
}

/// The VLANs of a frame. The same MAC address in another VLAN is another station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Vlans {
    /// Of the service tag.
    pub(crate) service: Option<u16>,
    /// Of the customer tag.
    pub(crate) customer: Option<u16>,
}
