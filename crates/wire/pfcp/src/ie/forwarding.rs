//! The actions of a FAR on packets.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::leaf::{code, flags_ies};
use super::text::Octets;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

flags_ies! {
    /// Apply Action (clause 8.2.26), 1 octet or 2 when received, 2 when sent.
    ApplyAction(u16; 2) = 44, "Apply Action" {
        /// Drop.
        DROP = 0;
        /// Forward.
        FORW = 1;
        /// Buffer.
        BUFF = 2;
        /// Notify the CP function of the first buffered downlink packet.
        NOCP = 3;
        /// Duplicate.
        DUPL = 4;
        /// Accept requests to join an IP multicast group.
        IPMA = 5;
        /// Deny requests to join an IP multicast group.
        IPMD = 6;
        /// Duplicate for redundant transmission.
        DFRT = 7;
        /// Eliminate duplicates of redundant transmission.
        EDRT = 8;
        /// Notify of the first buffered downlink packet, for delivery status.
        BDPN = 9;
        /// Notify of the first discarded downlink packet, for delivery status.
        DDPN = 10;
        /// Forward to a low layer source specific multicast address.
        FSSM = 11;
        /// Forward and replicate multicast data by unicast.
        MBSU = 12;
    }

    /// Loops to avoid when packets are replicated (clause 8.2.130).
    PacketReplication(u8; 1) = 179, "Packet Replication and Detection Carry-On Information" {
        /// Not to the PDU session the packet is from.
        PRIUEAI = 0;
        /// Not if the packet is from N19.
        PRIN19I = 1;
        /// Not if the packet is from N6.
        PRIN6I = 2;
        /// Continue with other matching PDRs.
        DCARONI = 3;
    }

    /// MPTCP applies to the traffic of the PDR (clause 8.2.181).
    MptcpApplicableIndication(u8; 1) = 265, "MPTCP Applicable Indication" {
        /// It applies.
        MAI = 0;
    }
}

/// Forwarding Policy (clause 8.2.23): the name of a policy that is configured in the UP function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ForwardingPolicy<'a>(pub Octets<'a>);

impl<'a> Ie<'a> for ForwardingPolicy<'a> {
    const TYPE: u16 = 41;
    const NAME: &'static str = "Forwarding Policy";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        Ok(Self(Octets(Reader::new(value).counted8()?)))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_counted8(&self.0);
    }
}

code! {
    /// The kind of a redirect address (Table 8.2.20-1).
    RedirectKind {
        /// IPv4 address.
        Ipv4 = 0;
        /// IPv6 address.
        Ipv6 = 1;
        /// URL.
        Url = 2;
        /// SIP URI.
        SipUri = 3;
        /// IPv4 address, and IPv6 address as the other one.
        Ipv4v6 = 4;
        /// Port.
        Port = 5;
        /// IPv4 address and port.
        Ipv4Port = 6;
        /// IPv6 address and port.
        Ipv6Port = 7;
        /// IPv4 address, IPv6 address as the other one, and port.
        Ipv4v6Port = 8;
    }
}

/// Redirect Information (clause 8.2.20): the redirect destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RedirectInformation<'a> {
    /// The kind of address.
    pub kind: RedirectKind,
    /// The address, as text.
    pub server: Octets<'a>,
    /// The other address, as text.
    pub other_server: Option<Octets<'a>>,
    /// The port.
    pub port: Option<u16>,
}

impl<'a> Ie<'a> for RedirectInformation<'a> {
    const TYPE: u16 = 38;
    const NAME: &'static str = "Redirect Information";

    /// Early releases end after the first address. If two octets are left and the kind has a port, they are the
    /// port, not the length of another address.
    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let kind = RedirectKind::from_code(fields.u8()? & 0x0f);
        let server = Octets(fields.counted16()?);
        let has_port = matches!(kind.code(), 5..=8);
        let has_other = fields.remaining() > if has_port { 2 } else { 1 };
        let other_server = fields.when(has_other, Reader::counted16)?.filter(|name| !name.is_empty());
        let port = fields.when(has_port && fields.remaining() > 0, Reader::u16)?;
        Ok(Self { kind, server, other_server: other_server.map(Octets), port })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.kind.code() & 0x0f);
        out.put_counted16(&self.server);
        if self.other_server.is_some() || self.port.is_some() {
            out.put_counted16(&self.other_server.unwrap_or_default());
        }
        self.port.into_iter().for_each(|port| out.put_u16(port));
    }
}

/// Header Enrichment (clause 8.2.67): a header field to add to HTTP requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HeaderEnrichment<'a> {
    /// 0: HTTP. Others are spare, up to 31.
    pub header_type: u8,
    /// Name of the field, at most 255 octets.
    pub name: Octets<'a>,
    /// Its value, at most 255 octets.
    pub value: Octets<'a>,
}

impl<'a> Ie<'a> for HeaderEnrichment<'a> {
    const TYPE: u16 = 98;
    const NAME: &'static str = "Header Enrichment";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let header_type = fields.u8()? & 0x1f;
        let name = Octets(fields.counted8()?);
        Ok(Self { header_type, name, value: Octets(fields.counted8()?) })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.header_type & 0x1f);
        out.put_counted8(&self.name);
        out.put_counted8(&self.value);
    }
}

/// IP Address and Port Number Replacement (clause 8.2.200), in the inner packet.
///
/// The figure has flags in octets "5 to 6", while Table 8.1.2-1 and the text have one octet: there is one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct IpAddressAndPortReplacement {
    /// New destination of IPv4 packets.
    pub destination_ipv4: Option<Ipv4Addr>,
    /// New destination of IPv6 packets.
    pub destination_ipv6: Option<Ipv6Addr>,
    /// New destination port.
    pub destination_port: Option<u16>,
    /// New source of IPv4 packets.
    pub source_ipv4: Option<Ipv4Addr>,
    /// New source of IPv6 packets.
    pub source_ipv6: Option<Ipv6Addr>,
    /// New source port.
    pub source_port: Option<u16>,
}

impl<'a> Ie<'a> for IpAddressAndPortReplacement {
    const TYPE: u16 = 293;
    const NAME: &'static str = "IP Address and Port Number Replacement";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        Ok(Self {
            destination_ipv4: fields.when(flags & 1 != 0, Reader::ipv4)?,
            destination_ipv6: fields.when(flags & 2 != 0, Reader::ipv6)?,
            destination_port: fields.when(flags & 4 != 0, Reader::u16)?,
            source_ipv4: fields.when(flags & 8 != 0, Reader::ipv4)?,
            source_ipv6: fields.when(flags & 16 != 0, Reader::ipv6)?,
            source_port: fields.when(flags & 32 != 0, Reader::u16)?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let present = [
            self.destination_ipv4.is_some(),
            self.destination_ipv6.is_some(),
            self.destination_port.is_some(),
            self.source_ipv4.is_some(),
            self.source_ipv6.is_some(),
            self.source_port.is_some(),
        ];
        out.put_u8(present.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
        self.destination_ipv4.iter().for_each(|ip| out.put(&ip.octets()));
        self.destination_ipv6.iter().for_each(|ip| out.put(&ip.octets()));
        self.destination_port.iter().for_each(|port| out.put_u16(*port));
        self.source_ipv4.iter().for_each(|ip| out.put(&ip.octets()));
        self.source_ipv6.iter().for_each(|ip| out.put(&ip.octets()));
        self.source_port.iter().for_each(|port| out.put_u16(*port));
    }
}
