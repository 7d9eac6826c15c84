//! Which received frames are for this port, and why the others are not. Pure functions.

use std::collections::HashSet;
use std::net::IpAddr;

use causeway_packet::{EtherType, Ethernet, Ip, MacAddr, Meta};

use super::checksum::is_incomplete;
use super::{ChecksumState, Received};
use crate::{Counter, outer};

/// An accepted frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AcceptedFrame<'a> {
    pub(super) meta: Meta,
    pub(super) data: &'a [u8],
    /// The sender left the checksum after the IP header to hardware, which did not complete it.
    pub(super) needs_checksum: bool,
}

/// The datagram to a UDP port of a local address in a frame to the local Ethernet address.
pub(crate) fn datagram<'a>(
    received: &Received<'a>,
    mac: MacAddr,
    (ours, port): (&[IpAddr], u16),
) -> Result<AcceptedFrame<'a>, Counter> {
    let (ip, _) = ip_to(received, mac, |dst| ours.contains(&dst))?;
    let summed = match received.sum {
        ChecksumState::Unverified => true,
        ChecksumState::Verified | ChecksumState::Incomplete => false,
        ChecksumState::Unknown => !is_incomplete(&ip),
    };
    let (meta, data) = outer::unwrap_of_port(&ip, summed, port)?;
    Ok(AcceptedFrame { meta, data, needs_checksum: false })
}

/// The IP packet in a frame to the local Ethernet address that is not for this host itself.
pub(super) fn ip<'a>(
    received: &Received<'a>,
    mac: MacAddr,
    local: &HashSet<IpAddr>,
) -> Result<AcceptedFrame<'a>, Counter> {
    let (ip, octets) = ip_to(received, mac, |dst| !dst.is_multicast() && !local.contains(&dst))?;
    let data = octets.get(..ip.total_len()).unwrap_or(octets);
    let unsummed = match received.sum {
        ChecksumState::Incomplete => true,
        ChecksumState::Unknown => is_incomplete(&ip),
        ChecksumState::Unverified | ChecksumState::Verified => false,
    };
    Ok(AcceptedFrame { meta: Meta::Ip, data, needs_checksum: unsummed })
}

/// The IP packet in a frame, with its octets and any padding.
fn ip_to<'a>(
    received: &Received<'a>,
    mac: MacAddr,
    wanted: impl Fn(IpAddr) -> bool,
) -> Result<(Ip<'a>, &'a [u8]), Counter> {
    // A tag other than a priority tag belongs to a VLAN interface, which is a port of its own.
    if received.vlan.is_some_and(|tag| tag & 0x0fff != 0) {
        return Err(Counter::RxNotForUs);
    }
    if received.data.len() < received.len {
        return Err(Counter::RxTruncated);
    }
    let ethernet = Ethernet::parse(received.data).map_err(|_| Counter::RxMalformed)?;
    let inner_tag = ethernet.tags.iter().flatten().any(|tag| tag.id() != 0);
    if ethernet.dst != mac || inner_tag {
        return Err(Counter::RxNotForUs);
    }
    let Some(EtherType::IPV4 | EtherType::IPV6) = ethernet.ether_type else {
        return Err(Counter::RxNotForUs);
    };
    let ip = outer::ip(ethernet.payload).map_err(|reason| match reason {
        // The frame is complete, so its packet never was.
        Counter::RxTruncated => Counter::RxMalformed,
        reason => reason,
    })?;
    if wanted(ip.dst()) { Ok((ip, ethernet.payload)) } else { Err(Counter::RxNotForUs) }
}

#[cfg(test)]
mod tests {
    use causeway_packet::{IpProtocol, checksum::Checksum};
    use proptest::prelude::*;

    use super::*;
    use crate::outer::GTPU_PORT;

    fn gtpu<'a>(
        received: &Received<'a>,
        mac: MacAddr,
        ours: &[IpAddr],
    ) -> Result<AcceptedFrame<'a>, Counter> {
        datagram(received, mac, (ours, GTPU_PORT))
    }

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn whole(data: &[u8]) -> Received<'_> {
        Received { data, len: data.len(), sum: ChecksumState::Unverified, vlan: None }
    }

    fn frame(local: &str, peer: &str, payload: &[u8]) -> Vec<u8> {
        let header =
            outer::wrap(peer.parse().unwrap(), local.parse().unwrap(), (0, None), 0, payload).unwrap();
        let kind: [u8; 2] = if header.len() == 28 { [8, 0] } else { [0x86, 0xdd] };
        [&MAC.0, [2, 0, 0, 0, 0, 2].as_slice(), &kind, &header, payload].concat()
    }

    fn ours() -> [IpAddr; 2] {
        ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()]
    }

    fn reason(frame: &[u8]) -> Option<Counter> {
        gtpu(&whole(frame), MAC, &ours()).err()
    }

    // Input:  GTP-U to local addresses of both families, the shorter one with padding.
    // Output: the payload without padding.
    #[test]
    fn gtpu_to_a_local_address_is_accepted() {
        for (local, peer) in [("192.0.2.1:2152", "192.0.2.9:1"), ("[2001:db8::1]:2152", "[2001:db8::9]:1")] {
            let padded = [frame(local, peer, b"gtpu"), vec![0; 20]].concat();
            assert_eq!(
                gtpu(&whole(&padded), MAC, &ours()).map(|accepted| accepted.data),
                Ok(b"gtpu".as_slice())
            );
        }
    }

    // Input:  frames to another Ethernet address, in a VLAN, of ARP, to another IP address; truncated and malformed
    //         ones.
    // Output: each has its own counter.
    #[test]
    fn each_other_frame_has_its_counter() {
        let good = frame("192.0.2.1:2152", "192.0.2.9:1", b"gtpu");
        let change = |at: usize, to: u8| {
            let mut frame = good.clone();
            frame[at] = to;
            frame
        };
        assert_eq!(reason(&good), None);
        assert_eq!(reason(&change(5, 9)), Some(Counter::RxNotForUs));
        assert_eq!(reason(&change(13, 6)), Some(Counter::RxNotForUs));
        assert_eq!(reason(&frame("192.0.2.2:2152", "192.0.2.9:1", b"x")), Some(Counter::RxNotForUs));
        assert_eq!(reason(&change(22, 1)), Some(Counter::RxChecksum));
        assert_eq!(reason(&good[..good.len() - 1]), Some(Counter::RxMalformed));
        assert_eq!(reason(&good[..13]), Some(Counter::RxMalformed));
        let cut = Received { len: 100, ..whole(&good) };
        assert_eq!(gtpu(&cut, MAC, &ours()), Err(Counter::RxTruncated));
        let tagged = Received { vlan: Some(5), ..whole(&good) };
        assert_eq!(gtpu(&tagged, MAC, &ours()), Err(Counter::RxNotForUs));
        assert!(gtpu(&Received { vlan: Some(0x2000), ..tagged }, MAC, &ours()).is_ok());
    }

    // Input:  an IPv6 datagram with a wrong sum, unverified, marked as verified, and marked as not computed.
    // Output: refused, accepted.
    #[test]
    fn a_sum_is_verified_unless_the_kernel_has_done_so() {
        let mut frame = frame("[2001:db8::1]:2152", "[2001:db8::9]:1", b"gtpu");
        frame[60] ^= 1;
        assert_eq!(reason(&frame), Some(Counter::RxChecksum));
        for sum in [ChecksumState::Verified, ChecksumState::Incomplete] {
            assert!(gtpu(&Received { sum, ..whole(&frame) }, MAC, &ours()).is_ok());
        }
        let unsure = Received { sum: ChecksumState::Unknown, ..whole(&frame) };
        assert_eq!(gtpu(&unsure, MAC, &ours()), Err(Counter::RxChecksum));
    }

    // Input:  a datagram whose sum is only that of its pseudo header, as a sender leaves it to hardware, on a device
    //         that does not report this.
    // Output: GTP-U is accepted; an IP packet needs completion, unless its sum is complete.
    #[test]
    fn an_incomplete_sum_shows_in_the_field() {
        for (local, peer) in [("192.0.2.1:2152", "192.0.2.9:1"), ("[2001:db8::1]:2152", "[2001:db8::9]:1")] {
            let mut frame = frame(local, peer, b"gtpu");
            let whole_sum = frame.clone();
            let place = frame.len() - 6;
            let field = pseudo_sum(&frame[14..]);
            frame[place..place + 2].copy_from_slice(&field);
            let unsure = |data| Received { sum: ChecksumState::Unknown, ..whole(data) };
            assert!(gtpu(&unsure(&frame), MAC, &ours()).is_ok());
            assert!(ip(&unsure(&frame), MAC, &HashSet::new()).unwrap().needs_checksum);
            assert!(!ip(&unsure(&whole_sum), MAC, &HashSet::new()).unwrap().needs_checksum);
        }
    }

    fn pseudo_sum(packet: &[u8]) -> [u8; 2] {
        let ip = Ip::parse(packet).unwrap();
        let sum = Checksum::new().pseudo(ip.src(), ip.dst(), IpProtocol::UDP, 12).unwrap();
        (!sum.finish()).to_be_bytes()
    }

    // Input:  an IP packet to be routed, and one to a local address.
    // Output: the first is accepted without padding, the second is for the kernel.
    #[test]
    fn routed_ip_is_accepted() {
        let frame = [frame("10.45.0.2:1", "198.51.100.7:1", b"data"), vec![0; 9]].concat();
        let none = HashSet::new();
        assert_eq!(ip(&whole(&frame), MAC, &none).map(|accepted| accepted.data.len()), Ok(32));
        let local = HashSet::from(["10.45.0.2".parse().unwrap()]);
        assert_eq!(ip(&whole(&frame), MAC, &local), Err(Counter::RxNotForUs));
    }

    proptest! {
        // Input:  any octets, alone and after a valid Ethernet header, with any flags.
        // Output: no panic; accepted or one counter of reception, and accepted data lie in the frame.
        #[test]
        fn any_frame_is_accepted_or_counted(
            octets in prop::collection::vec(any::<u8>(), 0..120), sum in 0_usize..4, vlan: Option<u16>, longer in 0_usize..3,
        ) {
            let sum = [ChecksumState::Unverified, ChecksumState::Verified, ChecksumState::Incomplete, ChecksumState::Unknown][sum];
            for kind in [[8, 0], [0x86, 0xdd]] {
                let framed = [&MAC.0, [0; 6].as_slice(), &kind, &octets].concat();
                for data in [&octets, &framed] {
                    let received = Received { data, len: data.len() + longer, sum, vlan };
                    let results = [gtpu(&received, MAC, &ours()), ip(&received, MAC, &HashSet::new())];
                    for result in results {
                        match result {
                            Ok(accepted) => prop_assert!(accepted.data.len() <= data.len()),
                            Err(reason) => prop_assert!(reason.name().starts_with("rx_")),
                        }
                    }
                }
            }
        }
    }
}
