//! Identity, load and reports of nodes.

use std::net::IpAddr;

use causeway_types::DualIp;

use super::leaf::{flags_ies, integer_ies};
use super::network::NetworkInstance;
use super::text::Fqdn;
use super::{DestinationInterface, addr};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

integer_ies! {
    /// Order of load or overload information (clause 8.2.33).
    SequenceNumber(u32) = 52, "Sequence Number";
}

flags_ies! {
    /// The content of a Node Report (clause 8.2.69).
    NodeReportType(u8; 1) = 101, "Node Report Type" {
        /// User Plane Path Failure Report.
        UPFR = 0;
        /// User Plane Path Recovery Report.
        UPRR = 1;
        /// Clock Drift Report.
        CKDR = 2;
        /// GTP-U Path QoS Report.
        GPQR = 3;
        /// Peer GTP-U entity Restart Report.
        PURR = 4;
        /// Vendor-Specific Report.
        VSR = 5;
    }

    /// Flags of overload control information (clause 8.2.76).
    OciFlags(u8; 1) = 110, "OCI Flags" {
        /// The information belongs to the Node ID.
        AOCI = 0;
    }

    /// The UP function requests a release (clause 8.2.77).
    ReleaseRequestFlags(u8; 1) = 111, "PFCP Association Release Request" {
        /// Release of the association requested.
        SARR = 0;
        /// All non-zero usage reports were sent.
        URSS = 1;
    }

    /// IP versions of a pool (clause 8.2.177).
    IpVersion(u8; 1) = 258, "IP version" {
        /// IPv4.
        V4 = 0;
        /// IPv6.
        V6 = 1;
    }
}

/// Metric (clause 8.2.34): a percentage, 0 to 100; other values are treated as 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Metric(pub u8);

impl<'a> Ie<'a> for Metric {
    const TYPE: u16 = 53;
    const NAME: &'static str = "Metric";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let percent = Reader::new(value).u8()?;
        Ok(Self(if percent <= 100 { percent } else { 0 }))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.0);
    }
}

/// Node ID (clause 8.2.38).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeId<'a> {
    /// By address.
    Ip(IpAddr),
    /// By name.
    Fqdn(Fqdn<'a>),
}

impl NodeId<'_> {
    /// An owned copy.
    pub fn to_owned(&self) -> causeway_types::NodeId {
        match self {
            Self::Ip(ip) => causeway_types::NodeId::Ip(*ip),
            Self::Fqdn(name) => causeway_types::NodeId::Fqdn(name.to_string()),
        }
    }
}

impl<'a> From<&'a causeway_types::NodeId> for NodeId<'a> {
    fn from(node: &'a causeway_types::NodeId) -> Self {
        match node {
            causeway_types::NodeId::Ip(ip) => Self::Ip(*ip),
            causeway_types::NodeId::Fqdn(name) => Self::Fqdn(Fqdn::new(name)),
        }
    }
}

impl<'a> Ie<'a> for NodeId<'a> {
    const TYPE: u16 = 60;
    const NAME: &'static str = "Node ID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        match fields.u8()? & 0x0f {
            0 => Ok(Self::Ip(fields.ipv4()?.into())),
            1 => Ok(Self::Ip(fields.ipv6()?.into())),
            2 => Ok(Self::Fqdn(Fqdn::from_labels(fields.rest())?)),
            _ => Err(IeError::incorrect()),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ip(IpAddr::V4(ip)) => {
                out.put_u8(0);
                out.put(&ip.octets());
            }
            Self::Ip(IpAddr::V6(ip)) => {
                out.put_u8(1);
                out.put(&ip.octets());
            }
            Self::Fqdn(name) => {
                out.put_u8(2);
                name.write(out);
            }
        }
    }
}

/// SMF Set ID (clause 8.2.131): the name of a set of SMFs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmfSetId<'a>(pub Fqdn<'a>);

impl<'a> Ie<'a> for SmfSetId<'a> {
    const TYPE: u16 = 180;
    const NAME: &'static str = "SMF Set ID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        fields.u8()?;
        Ok(Self(Fqdn::from_labels(fields.rest())?))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(0);
        self.0.write(out);
    }
}

/// Alternative SMF IP Address (clause 8.2.129).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AlternativeSmfIpAddress {
    /// The address, IPv4 or IPv6 or both.
    pub addr: DualIp,
    /// To be preferred when a PFCP entity is selected again.
    pub preferred: bool,
}

impl<'a> Ie<'a> for AlternativeSmfIpAddress {
    const TYPE: u16 = 178;
    const NAME: &'static str = "Alternative SMF IP Address";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        Ok(Self { addr: addr::read_some(&mut fields, flags)?, preferred: flags & 4 != 0 })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(addr::flags_v6_first(self.addr) | u8::from(self.preferred) << 2);
        addr::write(self.addr, out);
    }
}

/// Remote GTP-U Peer (clause 8.2.70).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteGtpuPeer<'a> {
    /// Its address, IPv4 or IPv6.
    pub addr: DualIp,
    /// Its interface.
    pub interface: Option<DestinationInterface>,
    /// Its network.
    pub network_instance: Option<NetworkInstance<'a>>,
}

impl<'a> Ie<'a> for RemoteGtpuPeer<'a> {
    const TYPE: u16 = 103;
    const NAME: &'static str = "Remote GTP-U Peer";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let addr = addr::read_some(&mut fields, flags)?;
        let interface = fields.when(flags & 4 != 0, Reader::counted16)?;
        let network_instance = fields.when(flags & 8 != 0, Reader::counted16)?;
        Ok(Self {
            addr,
            interface: interface.map(DestinationInterface::decode).transpose()?,
            network_instance: network_instance.map(NetworkInstance::decode).transpose()?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let interface = u8::from(self.interface.is_some()) << 2;
        let network = u8::from(self.network_instance.is_some()) << 3;
        out.put_u8(addr::flags_v6_first(self.addr) | interface | network);
        addr::write(self.addr, out);
        if let Some(interface) = self.interface {
            out.put_counted16(&[interface.code() & 0x0f]);
        }
        if let Some(network_instance) = self.network_instance {
            let mut name = Vec::new();
            network_instance.encode(&mut name);
            out.put_counted16(&name);
        }
    }
}

/// Number of UE IP Addresses (clause 8.2.183).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NumberOfUeIpAddresses {
    /// IPv4 addresses.
    pub ipv4: Option<u32>,
    /// IPv6 addresses or prefixes.
    pub ipv6: Option<u32>,
}

impl<'a> Ie<'a> for NumberOfUeIpAddresses {
    const TYPE: u16 = 268;
    const NAME: &'static str = "Number of UE IP Addresses";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let ipv4 = fields.when(flags & 1 != 0, Reader::u32)?;
        let ipv6 = fields.when(flags & 2 != 0, Reader::u32)?;
        Ok(Self { ipv4, ipv6 })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(u8::from(self.ipv4.is_some()) | u8::from(self.ipv6.is_some()) << 1);
        [self.ipv4, self.ipv6].into_iter().flatten().for_each(|number| out.put_u32(number));
    }
}

/// Vendor-Specific Node Report Type (clause 8.2.217).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VendorNodeReportType<'a> {
    /// The enterprise number.
    pub enterprise: u16,
    /// The bits that this enterprise defines, at least one octet.
    pub bits: &'a [u8],
}

impl<'a> Ie<'a> for VendorNodeReportType<'a> {
    const TYPE: u16 = 320;
    const NAME: &'static str = "Vendor-Specific Node Report Type";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let enterprise = fields.u16()?;
        match fields.rest() {
            [] => Err(IeError::length()),
            bits => Ok(Self { enterprise, bits }),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(self.enterprise);
        out.put(self.bits);
    }
}
