//! Endpoints of tunnels and sessions.

use causeway_types::{DualIp, FSeid, Seid, Teid};

use super::addr;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

/// F-TEID (clause 8.2.3): a tunnel endpoint, or the request to choose one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FTeid {
    /// The endpoint.
    Assigned {
        /// The TEID. Zero is legal on the wire and identifies no tunnel.
        teid: u32,
        /// Its address: IPv4 or IPv6 or both.
        addr: DualIp,
    },
    /// The UP function chooses. Some SMFs set neither IP version, though one is required.
    Choose {
        /// With an IPv4 address.
        v4: bool,
        /// With an IPv6 address.
        v6: bool,
        /// PDRs of one request with the same CHOOSE ID get the same F-TEID.
        choose_id: Option<u8>,
    },
}

impl FTeid {
    /// The endpoint as the type of `causeway-types`; `None` if it is to be chosen or the TEID is zero.
    pub fn assigned(&self) -> Option<causeway_types::FTeid> {
        match *self {
            Self::Assigned { teid, addr } => Some(causeway_types::FTeid { teid: Teid::new(teid)?, addr }),
            Self::Choose { .. } => None,
        }
    }
}

impl From<causeway_types::FTeid> for FTeid {
    fn from(end: causeway_types::FTeid) -> Self {
        Self::Assigned { teid: end.teid.value(), addr: end.addr }
    }
}

impl<'a> Ie<'a> for FTeid {
    const TYPE: u16 = 21;
    const NAME: &'static str = "F-TEID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        if flags & 7 == 0 {
            return Err(IeError::incorrect());
        }
        if flags & 4 == 0 {
            let teid = fields.u32()?;
            return Ok(Self::Assigned { teid, addr: addr::read_v4_first(&mut fields, flags)? });
        }
        let choose_id = fields.when(flags & 8 != 0, Reader::u8)?;
        Ok(Self::Choose { v4: flags & 1 != 0, v6: flags & 2 != 0, choose_id })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Assigned { teid, addr } => {
                out.put_u8(addr::flags_v4_first(addr));
                out.put_u32(teid);
                addr::write(addr, out);
            }
            Self::Choose { v4, v6, choose_id } => {
                let with_id = u8::from(choose_id.is_some()) << 3;
                out.put_u8(u8::from(v4) | u8::from(v6) << 1 | 4 | with_id);
                choose_id.into_iter().for_each(|id| out.put_u8(id));
            }
        }
    }
}

impl<'a> Ie<'a> for FSeid {
    const TYPE: u16 = 57;
    const NAME: &'static str = "F-SEID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let seid = Seid(fields.u64()?);
        Ok(Self { seid, addr: addr::read_some(&mut fields, flags)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(addr::flags_v6_first(self.addr));
        out.put_u64(self.seid.0);
        addr::write(self.addr, out);
    }
}

/// Local Ingress Tunnel (clause 8.2.209): a UDP/IP tunnel for multicast, or the request to choose one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LocalIngressTunnel {
    /// The endpoint.
    Assigned {
        /// UDP port.
        port: u16,
        /// Its address.
        addr: DualIp,
    },
    /// The UP function chooses.
    Choose {
        /// With an IPv4 address.
        v4: bool,
        /// With an IPv6 address.
        v6: bool,
    },
}

impl<'a> Ie<'a> for LocalIngressTunnel {
    const TYPE: u16 = 308;
    const NAME: &'static str = "Local Ingress Tunnel";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        if flags & 4 != 0 {
            return Ok(Self::Choose { v4: flags & 1 != 0, v6: flags & 2 != 0 });
        }
        let port = fields.u16()?;
        Ok(Self::Assigned { port, addr: addr::read_v4_first(&mut fields, flags)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Choose { v4, v6 } => out.put_u8(u8::from(v4) | u8::from(v6) << 1 | 4),
            Self::Assigned { port, addr } => {
                out.put_u8(addr::flags_v4_first(addr));
                out.put_u16(port);
                addr::write(addr, out);
            }
        }
    }
}
