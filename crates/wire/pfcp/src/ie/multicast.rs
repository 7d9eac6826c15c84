//! Multicast and broadcast sessions.

use std::net::IpAddr;

use super::addr;
use super::leaf::{flags_ies, integer_ies};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

integer_ies! {
    /// Part of a location dependent multicast service (clause 8.2.213).
    AreaSessionId(u16) = 314, "Area Session ID";
    /// Identifies a unicast leg of a multicast session (clause 8.2.210).
    MbsUnicastParametersId(u16) = 309, "MBS Unicast Parameters ID";
}

flags_ies! {
    /// Requests to an MB-UPF (clause 8.2.208).
    Mbsn4mbReqFlags(u8; 1) = 307, "MBSN4mbReq-Flags" {
        /// Provide a lower layer source specific multicast address.
        PLLSSM = 0;
        /// Join the source specific multicast of the session.
        JMBSSM = 1;
        /// Restores a session.
        MBS_RESTI = 2;
    }

    /// Actions of a UPF for a multicast session (clause 8.2.211).
    Mbsn4RespFlags(u8; 1) = 312, "MBSN4Resp-Flags" {
        /// A new N19mb downlink tunnel.
        NN19DT = 0;
        /// Joined the multicast tree of the MB-UPF.
        JMTI = 1;
        /// The N19mb downlink tunnel is removed.
        N19DTR = 2;
    }
}

/// A source specific IP multicast address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SourceSpecificMulticast {
    /// The group.
    pub group: IpAddr,
    /// The source.
    pub source: IpAddr,
}

impl SourceSpecificMulticast {
    fn read(fields: &mut Reader<'_>) -> Result<Self, IeError> {
        Ok(Self { group: read_ip(fields)?, source: read_ip(fields)? })
    }

    fn put(self, out: &mut Vec<u8>) {
        for ip in [self.group, self.source] {
            out.put_u8(if ip.is_ipv4() { 4 } else { 1 << 6 | 16 });
            addr::write_ip(ip, out);
        }
    }
}

/// An address after two bits of type and six bits of length.
fn read_ip(fields: &mut Reader<'_>) -> Result<IpAddr, IeError> {
    match fields.u8()? {
        0x04 => Ok(fields.ipv4()?.into()),
        0x50 => Ok(fields.ipv6()?.into()),
        _ => Err(IeError::incorrect()),
    }
}

/// MBS Session Identifier (clause 8.2.206).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MbsSessionIdentifier {
    /// Temporary Mobile Group Identity (TS 24.008).
    pub tmgi: Option<[u8; 6]>,
    /// Source specific multicast address.
    pub ssm: Option<SourceSpecificMulticast>,
    /// Network identifier: 11 hexadecimal digits, then a zero digit.
    pub nid: Option<[u8; 6]>,
}

impl<'a> Ie<'a> for MbsSessionIdentifier {
    const TYPE: u16 = 305;
    const NAME: &'static str = "MBS Session Identifier";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        Ok(Self {
            tmgi: fields.when(flags & 1 != 0, Reader::array)?,
            ssm: fields.when(flags & 2 != 0, SourceSpecificMulticast::read)?,
            nid: fields.when(flags & 4 != 0, Reader::array)?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let present = [self.tmgi.is_some(), self.ssm.is_some(), self.nid.is_some()];
        out.put_u8(present.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
        self.tmgi.into_iter().for_each(|tmgi| out.put(&tmgi));
        self.ssm.into_iter().for_each(|ssm| ssm.put(out));
        self.nid.into_iter().for_each(|nid| out.put(&nid));
    }
}

/// Multicast Transport Information (clause 8.2.207).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MulticastTransportInformation {
    /// Common TEID, one for each multicast session.
    pub common_teid: u32,
    /// Distribution address and source.
    pub ssm: SourceSpecificMulticast,
}

impl<'a> Ie<'a> for MulticastTransportInformation {
    const TYPE: u16 = 306;
    const NAME: &'static str = "Multicast Transport Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        fields.u8()?;
        let common_teid = fields.u32()?;
        Ok(Self { common_teid, ssm: SourceSpecificMulticast::read(&mut fields)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(0);
        out.put_u32(self.common_teid);
        self.ssm.put(out);
    }
}
