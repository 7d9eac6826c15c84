//! ARP for IPv4 over Ethernet (RFC 826).

use std::net::Ipv4Addr;

use causeway_types::MacAddr;

use crate::reader::Reader;
use crate::{Layer, ParseError};

/// Hardware type Ethernet, protocol type IPv4, address lengths six and four.
const ETHERNET_IPV4: [u8; 6] = [0, 1, 8, 0, 6, 4];
const REQUEST: u16 = 1;
const REPLY: u16 = 2;

/// An ARP packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Arp {
    /// A request for the target's MAC address; otherwise a reply with the sender's.
    pub is_request: bool,
    /// The sender.
    pub sender: (MacAddr, Ipv4Addr),
    /// The requested address, with any MAC address; or the receiver of the reply.
    pub target: (MacAddr, Ipv4Addr),
}

impl Arp {
    /// Parses the payload of a frame. `None` for other hardware, other protocols and other operations.
    ///
    /// # Errors
    /// [`ParseError::Truncated`].
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, ParseError> {
        let mut reader = Reader::new(Layer::Ethernet, bytes);
        let kind: [u8; 6] = *reader.array()?;
        let operation = reader.u16()?;
        if kind != ETHERNET_IPV4 || !matches!(operation, REQUEST | REPLY) {
            return Ok(None);
        }
        let mut end = || Ok((MacAddr(*reader.array()?), Ipv4Addr::from(*reader.array::<4>()?)));
        Ok(Some(Self { is_request: operation == REQUEST, sender: end()?, target: end()? }))
    }

    /// Appends the packet.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(ETHERNET_IPV4);
        out.extend(if self.is_request { REQUEST } else { REPLY }.to_be_bytes());
        for (mac, ip) in [self.sender, self.target] {
            out.extend(mac.0);
            out.extend(ip.octets());
        }
    }

    /// The packet is an unsolicited announcement of the sender, or a probe whether an address is free.
    pub fn is_announcement(&self) -> bool {
        self.sender.1 == self.target.1 || self.sender.1.is_unspecified()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 1, 0, 1));
    const B: (MacAddr, Ipv4Addr) = (MacAddr([0; 6]), Ipv4Addr::new(10, 1, 0, 2));

    // Input:  a request, written; cut at each octet; and with another hardware type, protocol and operation.
    // Output: what was written; an error; nothing.
    #[test]
    fn what_is_written_is_read() {
        let arp = Arp { is_request: true, sender: A, target: B };
        let mut bytes = Vec::new();
        arp.write(&mut bytes);
        assert_eq!(bytes.len(), 28);
        assert_eq!(Arp::parse(&bytes), Ok(Some(arp)));
        for len in 0..bytes.len() {
            assert!(Arp::parse(&bytes[..len]).is_err(), "{len}");
        }
        for at in [1, 3, 7] {
            let mut other = bytes.clone();
            other[at] = 9;
            assert_eq!(Arp::parse(&other), Ok(None), "{at}");
        }
    }

    // Input:  a request for another's address, one for the sender's own, and one from no address.
    // Output: the last two announce or probe.
    #[test]
    fn an_announcement_is_no_question() {
        let arp = Arp { is_request: true, sender: A, target: B };
        assert!(!arp.is_announcement());
        assert!(Arp { target: (B.0, A.1), ..arp }.is_announcement());
        assert!(Arp { sender: (A.0, Ipv4Addr::UNSPECIFIED), ..arp }.is_announcement());
    }
}
