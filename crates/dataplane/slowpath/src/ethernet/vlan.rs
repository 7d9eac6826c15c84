//! VLAN tags, set and removed (TS 29.244 clauses 8.2.56 and 8.2.64).

use causeway_dataplane::DropReason;
use causeway_model::{TagMatch, VlanRemoval, VlanTags};
use causeway_packet::{Ethernet, VlanTag};

use super::Frame;

/// The frame without the tags that a PDR removes, the outer one first.
///
/// # Errors
/// [`DropReason::OuterHeaderMismatch`] when it has fewer.
pub(crate) fn remove_tags(frame: &Frame<'_>, removal: VlanRemoval) -> Result<Vec<u8>, DropReason> {
    let tags = match (removal, frame.ethernet.tags) {
        (VlanRemoval::Pop, [Some(_), inner]) => [inner, None],
        (VlanRemoval::PopPop, [Some(_), Some(_)]) => [None, None],
        _ => return Err(DropReason::OuterHeaderMismatch),
    };
    written(&Ethernet { tags, ..frame.ethernet })
}

/// The frame with the tags that a FAR sets. In an existing tag, the fields that the FAR names are changed; a missing
/// tag is inserted, the service tag outside the customer tag. So a frame has at most these two.
///
/// # Errors
/// [`DropReason::MalformedFrame`] when it is no frame.
pub(crate) fn set_tags(bytes: &[u8], tags: VlanTags) -> Result<Vec<u8>, DropReason> {
    let frame = Frame::parse(bytes)?;
    let tag = |held: Option<VlanTag>, requested: Option<TagMatch>, service| match (held, requested) {
        (held, None) => held,
        (held, Some(requested)) => Some(changed(held.unwrap_or(VlanTag { service, control: 0 }), requested)),
    };
    let customer = tag(frame.customer_tag(), tags.customer, false);
    let service = tag(frame.service_tag(), tags.service, true);
    let tags = match (service, customer) {
        (None, customer) => [customer, None],
        (service, customer) => [service, customer],
    };
    written(&Ethernet { tags, ..frame.ethernet })
}

fn changed(tag: VlanTag, requested: TagMatch) -> VlanTag {
    let priority = u16::from(requested.priority.unwrap_or(tag.priority()) & 7);
    let drop_eligible = u16::from(requested.drop_eligible.unwrap_or(tag.drop_eligible()));
    let vid = requested.vid.unwrap_or(tag.id()) & 0x0fff;
    VlanTag { control: priority << 13 | drop_eligible << 12 | vid, ..tag }
}

fn written(ethernet: &Ethernet<'_>) -> Result<Vec<u8>, DropReason> {
    let mut bytes = Vec::new();
    ethernet.write(&mut bytes).map_err(|_| DropReason::MalformedFrame)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use causeway_packet::{EtherType, MacAddr};

    use super::*;

    const C: fn(u16) -> Option<VlanTag> = |control| Some(VlanTag { service: false, control });
    const S: fn(u16) -> Option<VlanTag> = |control| Some(VlanTag { service: true, control });

    fn frame(tags: [Option<VlanTag>; 2]) -> Vec<u8> {
        let (dst, src) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2]));
        written(&Ethernet { dst, src, tags, ether_type: Some(EtherType::ARP), payload: &[7; 46] }).unwrap()
    }

    fn vid(vid: u16) -> Option<TagMatch> {
        Some(TagMatch { vid: Some(vid), ..TagMatch::default() })
    }

    // Input:  frames without a tag, with one, with two; the customer tag, the service tag or both set.
    // Output: an existing tag is changed, a missing one is inserted, the service tag outside; the payload is the
    //         same.
    #[test]
    fn tags_are_set_where_they_belong() {
        for (before, customer, service, after) in [
            ([None, None], vid(5), None, [C(5), None]),
            ([None, None], vid(5), vid(9), [S(9), C(5)]),
            ([C(0x7003), None], vid(5), None, [C(0x7005), None]),
            ([C(3), None], None, vid(9), [S(9), C(3)]),
            ([S(9), None], vid(5), None, [S(9), C(5)]),
            ([S(9), C(3)], vid(5), vid(8), [S(8), C(5)]),
            ([C(9), C(3)], None, vid(8), [C(8), C(3)]),
        ] {
            let set = set_tags(&frame(before), VlanTags { customer, service }).unwrap();
            assert_eq!(set, frame(after), "{before:?}");
        }
        let all = TagMatch { priority: Some(6), drop_eligible: Some(true), vid: Some(5) };
        let set = set_tags(&frame([None, None]), VlanTags { customer: Some(all), service: None }).unwrap();
        assert_eq!(set, frame([C(0xd005), None]));
    }

    // Input:  one tag or two removed from frames with none, one and two.
    // Output: the outer one is removed first; a frame with too few is dropped.
    #[test]
    fn the_outer_tag_is_removed_first() {
        let mismatch = Err(DropReason::OuterHeaderMismatch);
        for (before, removal, after) in [
            ([None, None], VlanRemoval::Pop, None),
            ([C(3), None], VlanRemoval::Pop, Some([None, None])),
            ([S(9), C(3)], VlanRemoval::Pop, Some([C(3), None])),
            ([C(3), None], VlanRemoval::PopPop, None),
            ([S(9), C(3)], VlanRemoval::PopPop, Some([None, None])),
        ] {
            let bytes = frame(before);
            let left = remove_tags(&Frame::parse(&bytes).unwrap(), removal);
            assert_eq!(left, after.map_or(mismatch.clone(), |after| Ok(frame(after))), "{before:?}");
        }
    }
}
