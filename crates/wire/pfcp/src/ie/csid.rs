//! Sets of sessions that fail together.

use std::net::IpAddr;

use super::leaf::code;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

code! {
    /// Kind of node of an FQ-CSID (Table 8.2.43-2).
    CsidNode {
        /// MME.
        Mme = 0;
        /// SGW-C.
        SgwC = 1;
        /// PGW-C or SMF.
        PgwC = 2;
        /// ePDG.
        Epdg = 3;
        /// TWAN.
        Twan = 4;
        /// PGW-U, SGW-U or UPF.
        Upf = 5;
    }
}

/// The node that allocated a CSID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CsidAddress {
    /// By IPv4 or IPv6 address.
    Ip(IpAddr),
    /// By operator: 20 bits of MCC * 1000 + MNC, 12 bits that the operator chose.
    Operator(u32),
}

/// FQ-CSID (clause 8.2.43): sets of sessions that one partial failure affects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FqCsid<'a> {
    /// The node.
    pub address: CsidAddress,
    /// The CSIDs, in network byte order; none to remove the provisioned ones.
    pub csids: &'a [[u8; 2]],
    /// The kind of node; absent from senders of early releases.
    pub node: Option<CsidNode>,
}

impl<'a> Ie<'a> for FqCsid<'a> {
    const TYPE: u16 = 65;
    const NAME: &'static str = "FQ-CSID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let first = fields.u8()?;
        let address = match first >> 4 {
            0 => CsidAddress::Ip(fields.ipv4()?.into()),
            1 => CsidAddress::Ip(fields.ipv6()?.into()),
            2 => CsidAddress::Operator(fields.u32()?),
            _ => return Err(IeError::incorrect()),
        };
        let csids = fields.arrays(usize::from(first & 0x0f))?;
        let node = fields.when(fields.remaining() > 0, Reader::u8)?;
        Ok(Self { address, csids, node: node.map(|node| CsidNode::from_code(node & 0x0f)) })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let csids = self.csids.get(..0x0f).unwrap_or(self.csids);
        let mut address = Vec::with_capacity(16);
        let kind = match self.address {
            CsidAddress::Ip(IpAddr::V4(ip)) => (address.put(&ip.octets()), 0).1,
            CsidAddress::Ip(IpAddr::V6(ip)) => (address.put(&ip.octets()), 1).1,
            CsidAddress::Operator(id) => (address.put_u32(id), 2).1,
        };
        out.put_u8(kind << 4 | csids.len() as u8);
        out.put(&address);
        out.put(csids.as_flattened());
        if let Some(node) = self.node {
            out.put_u8(node.code() & 0x0f);
        }
    }
}
