//! The Ethernet parts of PDIs and forwarding parameters.

use causeway_model::{EthernetFilter, MacMatch, MacRange, PduSessionType, Proxying, TagMatch, VlanTags};
use causeway_pfcp::{
    CTag, EthernetFilterId, EthernetFilterProperties, EthernetPacketFilter, EthernetPduSessionInformation,
    Ethertype, Ie, MacAddress, OuterHeaderCreation, OuterHeaders, Pdi, PdnType, Proxying as ProxyingFlags,
    STag, VlanTag,
};
use causeway_types::MacAddr;

use super::flow;
use super::ie_support::CheckSupport;
use crate::edits::EthernetDraft;
use crate::{Reason, ie};

/// Maximum number of MAC address IEs in one filter (table 7.5.2.2-3).
const MACS_PER_FILTER: usize = 16;

/// The PDU session type that a PDN type stands for; IP if there is none.
pub(super) fn session_type(pdn_type: Option<PdnType>) -> Result<PduSessionType, Reason> {
    match pdn_type {
        Some(PdnType::Ethernet) => Ok(PduSessionType::Ethernet),
        Some(PdnType::NonIp) => Err(Reason::Unsupported { ie: ie::PDN_TYPE, what: "a Non-IP session" }),
        _ => Ok(PduSessionType::Ip),
    }
}

/// ETHI is set; the IE with the flag at zero has no effect and is refused.
pub(super) fn whole_session(flags: Option<EthernetPduSessionInformation>) -> Result<bool, Reason> {
    match flags {
        None => Ok(false),
        Some(flags) if flags.contains(EthernetPduSessionInformation::ETHI) => Ok(true),
        Some(_) => incorrect(EthernetPduSessionInformation::TYPE, "ETHI shall be set"),
    }
}

/// The Ethernet Packet Filters of a PDI.
pub(super) fn filters(pdi: &Pdi<'_>) -> Result<Vec<EthernetDraft>, Reason> {
    pdi.ethernet_packet_filters.iter().map(|group| filter(&group)).collect()
}

/// A filter of this PDR, one that both directions share, or the id of a shared one.
fn filter(group: &EthernetPacketFilter<'_>) -> Result<EthernetDraft, Reason> {
    group.refuse_unsupported()?;
    let properties = group.ethernet_filter_properties.unwrap_or_default();
    let bidirectional = properties.contains(EthernetFilterProperties::BIDE);
    let filter = EthernetFilter {
        shared: group.ethernet_filter_id.map(|id| id.0).filter(|_| bidirectional),
        macs: macs(group)?,
        ether_type: group.ethertype.map(ether_type).transpose()?,
        c_tag: group.c_tag.map(|CTag(tag)| tag_match(tag)),
        s_tag: group.s_tag.map(|STag(tag)| tag_match(tag)),
        flows: Vec::new(),
    };
    let flows: Vec<_> = group.sdf_filters.iter().map(|flow| flow::draft(&flow)).collect::<Result<_, _>>()?;
    let empty = EthernetFilter { shared: filter.shared, ..EthernetFilter::default() };
    let says_nothing = flows.is_empty() && filter == empty;
    match group.ethernet_filter_id {
        None if bidirectional => {
            let reason = "the filter is bidirectional";
            Err(Reason::ConditionalMissing { ie: EthernetFilterId::TYPE, why: reason })
        }
        Some(id) if says_nothing && !bidirectional => Ok(EthernetDraft::Shared(id.0)),
        _ if says_nothing => incorrect(EthernetPacketFilter::TYPE, "an Ethernet filter without definition"),
        Some(id) if !bidirectional => Ok(EthernetDraft::Changed(id.0, filter, flows)),
        _ => Ok(EthernetDraft::Given(filter, flows)),
    }
}

fn macs(group: &EthernetPacketFilter<'_>) -> Result<Vec<MacMatch>, Reason> {
    let macs: Vec<_> = group.mac_addresses.iter().map(|mac| mac_match(&mac)).collect::<Result<_, _>>()?;
    if macs.len() > MACS_PER_FILTER {
        return Err(Reason::TooMany { what: "MAC addresses in an Ethernet filter", limit: MACS_PER_FILTER });
    }
    Ok(macs)
}

fn mac_match(mac: &MacAddress) -> Result<MacMatch, Reason> {
    let source = range(mac.source, mac.upper_source)?;
    let destination = range(mac.destination, mac.upper_destination)?;
    match (source, destination) {
        (None, None) => incorrect(MacAddress::TYPE, "no address in it"),
        _ => Ok(MacMatch { source, destination }),
    }
}

fn range(first: Option<MacAddr>, last: Option<MacAddr>) -> Result<Option<MacRange>, Reason> {
    match (first, last) {
        (None, None) => Ok(None),
        (Some(first), None) => Ok(Some(first.into())),
        (None, Some(_)) => incorrect(MacAddress::TYPE, "an upper address without the lower one"),
        (Some(first), Some(last)) => match MacRange::new(first, last) {
            Some(range) => Ok(Some(range)),
            None => incorrect(MacAddress::TYPE, "the upper address is below the lower one"),
        },
    }
}

/// A number below 0x0600 is the length of a frame, not its type.
fn ether_type(Ethertype(number): Ethertype) -> Result<u16, Reason> {
    const LOWEST: u16 = 0x0600;
    if number < LOWEST { incorrect(Ethertype::TYPE, "no Ethertype is below 0x0600") } else { Ok(number) }
}

fn tag_match(tag: VlanTag) -> TagMatch {
    TagMatch { priority: tag.pcp, drop_eligible: tag.dei, vid: tag.vid }
}

/// The VLAN tags that Outer Header Creation sets, if it sets any.
pub(super) fn tags(creation: &OuterHeaderCreation) -> Result<Option<VlanTags>, Reason> {
    let tag = |header, tag: Option<VlanTag>| match (creation.description.contains(header), tag) {
        (false, _) => Ok(None),
        (true, Some(tag)) => Ok(Some(tag_match(tag))),
        (true, None) => incorrect(OuterHeaderCreation::TYPE, "no VLAN tag in it"),
    };
    let tags = VlanTags {
        customer: tag(OuterHeaders::C_TAG, creation.c_tag)?,
        service: tag(OuterHeaders::S_TAG, creation.s_tag)?,
    };
    Ok(Some(tags).filter(|tags| *tags != VlanTags::default()))
}

/// The requests that the UPF answers as a proxy. No flag set means none.
pub(super) fn proxying(flags: Option<ProxyingFlags>) -> Proxying {
    let flags = flags.unwrap_or_default();
    Proxying {
        arp: flags.contains(ProxyingFlags::ARP),
        neighbour_solicitation: flags.contains(ProxyingFlags::INS),
    }
}

fn incorrect<T>(ie: u16, reason: &'static str) -> Result<T, Reason> {
    Err(Reason::Incorrect { ie, why: reason })
}
