//! Explicit Congestion Notification through tunnels (RFC 6040, normal mode).

use std::borrow::Cow;

use causeway_dataplane::DropReason;
use causeway_packet::rewrite::{Ecn, set_ecn};

/// The outer field when a packet enters a tunnel: that of the inner one.
pub(crate) const fn outer(inner_tos: u8) -> u8 {
    inner_tos & 0x03
}

/// The packet after decapsulation: the congestion mark of the outer header is copied to the inner one (RFC 6040
/// figure 4).
///
/// # Errors
/// [`DropReason::Congested`] when the packet cannot carry the mark.
pub(crate) fn decapsulate(outer_tos: u8, inner_tos: u8, packet: &[u8]) -> Result<Cow<'_, [u8]>, DropReason> {
    let (outer, inner) = (Ecn::of_tos(outer_tos), Ecn::of_tos(inner_tos));
    let merged = match (inner, outer) {
        (Ecn::NotCapable, Ecn::Congested) => return Err(DropReason::Congested),
        (Ecn::NotCapable | Ecn::Congested, _) => inner,
        (_, Ecn::Congested) => Ecn::Congested,
        (Ecn::Capable0, Ecn::Capable1) => Ecn::Capable1,
        _ => inner,
    };
    if merged == inner {
        return Ok(Cow::Borrowed(packet));
    }
    let mut packet = packet.to_vec();
    set_ecn(&mut packet, merged).map_err(|_| DropReason::MalformedIp)?;
    Ok(Cow::Owned(packet))
}

#[cfg(test)]
mod tests {
    use causeway_packet::{IpProtocol, Ipv4Repr, UserPacket};

    use super::*;

    // Input:  every pair of inner and outer field.
    // Output: the table of RFC 6040 figure 4; `None` is a drop.
    #[test]
    fn every_pair_of_fields() {
        let expected = [
            [Some(0), Some(0), Some(0), None],
            [Some(1), Some(1), Some(1), Some(3)],
            [Some(2), Some(1), Some(2), Some(3)],
            [Some(3), Some(3), Some(3), Some(3)],
        ];
        for (inner, row) in (0_u8..).zip(expected) {
            for (outer, expected) in (0_u8..).zip(row) {
                let tos = 0xb8 | inner;
                let header = Ipv4Repr {
                    tos,
                    ..Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), IpProtocol(99))
                };
                let mut packet = Vec::new();
                header.write(&[], &[], &mut packet).unwrap();
                let left = decapsulate(outer, tos, &packet).ok();
                let tos = left.map(|packet| UserPacket::parse(&packet).unwrap().flow.tos);
                assert_eq!(tos, expected.map(|ecn| 0xb8 | ecn), "inner {inner}, outer {outer}");
            }
        }
    }
}
