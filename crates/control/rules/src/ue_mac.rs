//! MAC addresses behind a UE, in reports and requests (TS 29.244 clauses 5.13.5 and 5.13.6).

use std::collections::BTreeMap;

use causeway_model::{MacChanges, UeMac};
use causeway_pfcp::{
    EthernetContextInformation, EthernetTrafficInformation, MacAddressesDetected, MacAddressesRemoved,
    MacList, VlanTag,
};
use causeway_types::MacAddr;

/// Maximum number of addresses of one list (clause 8.2.103).
const PER_LIST: usize = u8::MAX as usize;

/// The IE of a usage report, if there are changes.
pub(crate) fn information(changes: &MacChanges) -> Option<EthernetTrafficInformation<'static>> {
    let detected: Vec<_> = lists(&changes.detected).into_iter().map(MacAddressesDetected).collect();
    let removed: Vec<_> = lists(&changes.removed).into_iter().map(MacAddressesRemoved).collect();
    (!changes.is_empty()).then(|| EthernetTrafficInformation {
        mac_addresses_detected: detected.into(),
        mac_addresses_removed: removed.into(),
        ..EthernetTrafficInformation::default()
    })
}

/// A list for each pair of VLANs, and several if it would be too long.
fn lists(macs: &[UeMac]) -> Vec<MacList<'static>> {
    let mut by_tags: BTreeMap<_, Vec<[u8; 6]>> = BTreeMap::new();
    for UeMac { c_vid, s_vid, mac } in macs {
        by_tags.entry((c_vid, s_vid)).or_default().push(mac.0);
    }
    let tag = |vid: Option<u16>| vid.map(|vid| VlanTag { vid: Some(vid), ..VlanTag::default() });
    let list = |(c_vid, s_vid): (&Option<u16>, &Option<u16>), macs: &[[u8; 6]]| MacList {
        macs: macs.to_vec().into(),
        c_tag: tag(*c_vid),
        s_tag: tag(*s_vid),
    };
    by_tags.iter().flat_map(|(tags, macs)| macs.chunks(PER_LIST).map(move |macs| list(*tags, macs))).collect()
}

/// The addresses of the session's old anchor.
pub(crate) fn given(group: &EthernetContextInformation<'_>) -> Vec<UeMac> {
    let vid = |tag: Option<VlanTag>| tag.and_then(|tag| tag.vid).filter(|vid| *vid != 0);
    let lists: Vec<_> = group.mac_addresses_detected.iter().map(|MacAddressesDetected(list)| list).collect();
    let of = |list: &MacList<'_>| {
        let (c_vid, s_vid) = (vid(list.c_tag), vid(list.s_tag));
        list.macs.iter().map(|mac| UeMac { c_vid, s_vid, mac: MacAddr(*mac) }).collect::<Vec<_>>()
    };
    let mut macs: Vec<_> = lists.iter().flat_map(of).collect();
    macs.sort_unstable();
    macs.dedup();
    macs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(last: u16, c_vid: Option<u16>) -> UeMac {
        let [high, low] = last.to_be_bytes();
        UeMac { c_vid, s_vid: None, mac: MacAddr([2, 0, 0, 0, high, low]) }
    }

    // Input:  300 addresses without VLAN and one in VLAN 5, given back as the context of a session.
    // Output: three lists, none longer than its count allows; the same addresses.
    #[test]
    fn lists_are_by_vlan_and_not_too_long() {
        let mut macs: Vec<_> = (0..300).map(|last| mac(last, None)).collect();
        macs.push(mac(7, Some(5)));
        let lists = lists(&macs);
        assert_eq!(lists.iter().map(|list| list.macs.len()).collect::<Vec<_>>(), [255, 45, 1]);
        let lists: Vec<_> = lists.into_iter().map(MacAddressesDetected).collect();
        assert_eq!(given(&EthernetContextInformation::new(lists)), macs);
    }
}
