//! Fragmentation of IPv4 packets, as a router does it (RFC 791 clause 3.2, RFC 1812 clause 4.2.2.7).

use crate::{BuildError, Ipv4, Ipv4Repr, ParseError};

/// The unit of fragment offsets, in octets.
const UNIT: usize = 8;
/// The bit of an option's type that puts it into every fragment.
const COPIED: u8 = 0x80;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;

/// Why a packet was not fragmented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FragmentError {
    /// It is not an IPv4 packet.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// Its sender forbids it; the sender is sent an ICMP Fragmentation Needed.
    #[error("the packet must not be fragmented")]
    Forbidden,
    /// Not even eight octets fit after the header.
    #[error("an MTU of {0} octets is too small for a fragment")]
    MtuTooSmall(usize),
    /// A fragment cannot be written.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Splits an IPv4 packet into fragments of at most `mtu` octets, in order; a packet that fits is its own only
/// fragment. A fragment may be fragmented again. Octets after the packet are left out.
///
/// # Errors
/// [`FragmentError`]
pub fn fragment_v4(packet: &[u8], mtu: usize) -> Result<Vec<Vec<u8>>, FragmentError> {
    let ip = Ipv4::parse(packet)?;
    if ip.total_len() <= mtu {
        return Ok(vec![packet.get(..ip.total_len()).unwrap_or(packet).to_vec()]);
    }
    if ip.dont_fragment() {
        return Err(FragmentError::Forbidden);
    }
    let room = mtu.saturating_sub(ip.header_len()) / UNIT * UNIT;
    if room == 0 {
        return Err(FragmentError::MtuTooSmall(mtu));
    }
    let later_options = copied_options(ip.options());
    let mut fragments = Vec::new();
    let mut rest = ip.payload();
    let mut units = ip.repr().fragment_units;
    while !rest.is_empty() || fragments.is_empty() {
        let (part, others) = rest.split_at(room.min(rest.len()));
        let header = Ipv4Repr {
            more_fragments: ip.more_fragments() || !others.is_empty(),
            fragment_units: units,
            ..ip.repr()
        };
        let options = if fragments.is_empty() { ip.options() } else { &later_options };
        let mut fragment = Vec::new();
        header.write(options, part, &mut fragment)?;
        fragments.push(fragment);
        // Each part but the last is a multiple of the unit, and the whole has at most 65,535 octets.
        units += (part.len() / UNIT) as u16;
        rest = others;
    }
    Ok(fragments)
}

/// The options of every fragment, padded to whole words. A truncated option ends the list.
fn copied_options(options: &[u8]) -> Vec<u8> {
    let mut copied = Vec::new();
    let mut rest = options;
    while let Some(&kind) = rest.first() {
        let length = match kind {
            END_OF_OPTIONS => break,
            NO_OPERATION => 1,
            _ => rest.get(1).map_or(0, |length| usize::from(*length)),
        };
        let Some((option, others)) = rest.split_at_checked(length).filter(|_| length > 0) else { break };
        if kind & COPIED != 0 {
            copied.extend_from_slice(option);
        }
        rest = others;
    }
    copied.resize(copied.len().next_multiple_of(4), END_OF_OPTIONS);
    copied
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::IpProtocol;

    const TIMESTAMP: [u8; 4] = [68, 4, 5, 0];
    const SECURITY: [u8; 4] = [130, 3, 7, NO_OPERATION];

    fn packet(payload: &[u8], options: &[u8], change: impl FnOnce(&mut Ipv4Repr)) -> Vec<u8> {
        let mut repr = Ipv4Repr::new([10, 45, 0, 2].into(), [198, 51, 100, 9].into(), IpProtocol::UDP);
        repr.identification = 7;
        change(&mut repr);
        let mut packet = Vec::new();
        repr.write(options, payload, &mut packet).unwrap();
        packet
    }

    /// The joined payload of fragments, and its end if the last fragment is present.
    fn reassembled(fragments: &[Vec<u8>]) -> (Vec<u8>, bool) {
        let mut parts = BTreeMap::new();
        let mut is_whole = false;
        for fragment in fragments {
            let ip = Ipv4::parse(fragment).unwrap();
            assert!(ip.checksum_is_valid());
            parts.insert(ip.fragment_offset(), ip.payload().to_vec());
            is_whole |= !ip.more_fragments();
        }
        let first = parts.keys().next().copied().unwrap_or(0);
        let mut payload = Vec::new();
        for (offset, part) in parts {
            assert_eq!(offset - first, payload.len(), "no gap and no overlap");
            payload.extend(part);
        }
        (payload, is_whole)
    }

    // Input: a packet of 100 octets with a copied and a local option, and an MTU for 24 octets of payload.
    // Output: the first fragment has both options, the others only the copied one; each fits.
    #[test]
    fn options_follow_their_copied_bit() {
        let options = [TIMESTAMP, SECURITY].concat();
        let fragments = fragment_v4(&packet(&[9; 72], &options, |_| {}), 52).unwrap();
        let options: Vec<_> =
            fragments.iter().map(|it| Ipv4::parse(it).unwrap().options().to_vec()).collect();
        assert_eq!(options[0], [TIMESTAMP, SECURITY].concat());
        assert!(options[1..].iter().all(|options| *options == [130, 3, 7, 0]));
        assert!(fragments.iter().all(|fragment| fragment.len() <= 52));
        assert_eq!(reassembled(&fragments).0, [9; 72]);
    }

    // Input: a packet that fits; one with DF; MTUs without space for payload; not IPv4.
    // Output: the packet, without padding; an error each.
    #[test]
    fn what_is_not_fragmented() {
        let small = packet(&[1; 20], &[], |repr| repr.dont_fragment = true);
        let padded = [small.as_slice(), &[0; 6]].concat();
        assert_eq!(fragment_v4(&padded, 40), Ok(vec![small.clone()]));
        assert_eq!(fragment_v4(&small, 39), Err(FragmentError::Forbidden));
        let large = packet(&[1; 20], &[], |_| {});
        assert_eq!(fragment_v4(&large, 27), Err(FragmentError::MtuTooSmall(27)));
        assert!(matches!(fragment_v4(&[0x60; 60], 40), Err(FragmentError::Malformed(_))));
    }

    // Input: options with a wrong length.
    // Output: whole options before them are copied; no panic.
    #[test]
    fn broken_options_end_the_list() {
        assert_eq!(copied_options(&[130, 3, 7, 131, 40, 0, 0, 0]), [130, 3, 7, 0]);
        assert_eq!(copied_options(&[130, 0, 7, 1]), [0; 0]);
        assert_eq!(copied_options(&[130]), [0; 0]);
    }

    proptest! {
        // Input: any packet, possibly a fragment, split for any MTU, and the fragments split again.
        // Output: every fragment fits, has a valid checksum, and together they are the packet's payload.
        #[test]
        fn fragments_reassemble(
            payload in proptest::collection::vec(any::<u8>(), 0..3000),
            units in 0..1000_u16,
            more: bool,
            mtu in 28..1600_usize,
            again in 28..1600_usize,
        ) {
            let payload = if more { &payload[..payload.len() / UNIT * UNIT] } else { &payload };
            let original = packet(payload, &[], |repr| (repr.fragment_units, repr.more_fragments) = (units, more));
            let once = fragment_v4(&original, mtu).unwrap();
            let twice: Vec<_> = once.iter().flat_map(|it| fragment_v4(it, again).unwrap()).collect();
            for (fragments, mtu) in [(once, mtu), (twice, again)] {
                prop_assert!(fragments.iter().all(|fragment| fragment.len() <= mtu));
                let first = Ipv4::parse(&fragments[0]).unwrap();
                prop_assert_eq!((first.fragment_offset(), first.identification()), (usize::from(units) * UNIT, 7));
                prop_assert_eq!(reassembled(&fragments), (payload.to_vec(), !more));
            }
        }
    }
}
