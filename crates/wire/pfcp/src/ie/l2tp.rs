//! L2TP tunnels and sessions.

use std::net::{IpAddr, Ipv4Addr};

use super::addr;
use super::leaf::{flags_ies, integer_ies, octets_ies};
use super::text::Octets;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

octets_ies! {
    /// Password of the tunnel, plain text (clause 8.2.212).
    TunnelPassword = 313, "Tunnel Password";
    /// Calling number, for example an MSISDN (clause 8.2.190).
    CallingNumber = 282, "Calling Number";
    /// Called number, for example a DNN (clause 8.2.191).
    CalledNumber = 283, "Called Number";
}

integer_ies! {
    /// MTU of the link, octets (clause 8.2.195).
    MaximumReceiveUnit(u16) = 287, "Maximum Receive Unit";
}

flags_ies! {
    /// Requests to the LNS (clause 8.2.192).
    L2tpSessionIndications(u8; 1) = 284, "L2TP Session Indications" {
        /// UE IP address.
        REUIA = 0;
        /// DNS server address.
        REDSA = 1;
        /// NBNS server address.
        RENSA = 2;
    }
}

/// LNS Address (clause 8.2.188).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LnsAddress(pub IpAddr);

impl<'a> Ie<'a> for LnsAddress {
    const TYPE: u16 = 280;
    const NAME: &'static str = "LNS Address";

    /// The length determines the IP version; any other is invalid.
    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        match value.len() {
            4 => Ok(Self(fields.ipv4()?.into())),
            16 => Ok(Self(fields.ipv6()?.into())),
            _ => Err(IeError::length()),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        addr::write_ip(self.0, out);
    }
}

macro_rules! ipv4_ies {
    ($( $(#[$meta:meta])* $name:ident = $type:literal, $label:literal; )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub Ipv4Addr);

        impl<'a> Ie<'a> for $name {
            const TYPE: u16 = $type;
            const NAME: &'static str = $label;

            fn decode(value: &'a [u8]) -> Result<Self, IeError> {
                Ok(Self(Reader::new(value).ipv4()?))
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.put(&self.0.octets());
            }
        }
    )*};
}

ipv4_ies! {
    /// DNS Server Address (clause 8.2.193).
    DnsServerAddress = 285, "DNS Server Address";
    /// NBNS Server Address (clause 8.2.194).
    NbnsServerAddress = 286, "NBNS Server Address";
}

/// Tunnel Preference (clause 8.2.189), 24 bits; lower is preferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TunnelPreference(pub u32);

impl<'a> Ie<'a> for TunnelPreference {
    const TYPE: u16 = 281;
    const NAME: &'static str = "Tunnel Preference";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        Ok(Self(Reader::new(value).u24()?))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u24(self.0);
    }
}

/// L2TP User Authentication (clause 8.2.187), fields as the AVPs of RFC 2661.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct L2tpUserAuthentication<'a> {
    /// Proxy Authen Type.
    pub auth_type: u16,
    /// Proxy Authen Name.
    pub name: Option<Octets<'a>>,
    /// Proxy Authen Challenge.
    pub challenge: Option<Octets<'a>>,
    /// Proxy Authen Response.
    pub response: Option<Octets<'a>>,
    /// Proxy Authen ID.
    pub id: Option<u8>,
}

impl<'a> Ie<'a> for L2tpUserAuthentication<'a> {
    const TYPE: u16 = 278;
    const NAME: &'static str = "L2TP User Authentication";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let auth_type = fields.u16()?;
        let flags = fields.u8()?;
        Ok(Self {
            auth_type,
            name: fields.when(flags & 1 != 0, Reader::counted8)?.map(Octets),
            challenge: fields.when(flags & 2 != 0, Reader::counted8)?.map(Octets),
            response: fields.when(flags & 4 != 0, Reader::counted8)?.map(Octets),
            id: fields.when(flags & 8 != 0, Reader::u8)?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let texts = [self.name, self.challenge, self.response];
        let present = texts.iter().rev().fold(0, |bits, text| bits << 1 | u8::from(text.is_some()));
        out.put_u16(self.auth_type);
        out.put_u8(present | u8::from(self.id.is_some()) << 3);
        texts.iter().flatten().for_each(|text| out.put_counted8(text));
        self.id.into_iter().for_each(|id| out.put_u8(id));
    }
}
