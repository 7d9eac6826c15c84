//! Multi-access PDU sessions: steering, switching, splitting.

use causeway_types::{DualIp, MacAddr};

use super::addr;
use super::ethernet::mac;
use super::leaf::{code, code_ies, flags_ies, integer_ies};
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

integer_ies! {
    /// Share of the traffic over one access, percent; above 100 it counts as 0 (clause 8.2.126).
    Weight(u8) = 173, "Weight";
}

flags_ies! {
    /// Steering mode options (clause 8.2.197).
    SteeringModeIndicator(u8; 1) = 289, "Steering Mode Indicator" {
        /// Autonomous load balancing.
        ALBI = 0;
        /// Assistance by the UE.
        UEAI = 1;
    }

    /// Required MPTCP functions (clause 8.2.154).
    MptcpControlInformation(u8; 1) = 222, "MPTCP Control Information" {
        /// Transport converter.
        TCI = 0;
    }

    /// Required ATSSS-LL functions (clause 8.2.155).
    AtsssLlControlInformation(u8; 1) = 223, "ATSSS-LL Control Information" {
        /// ATSSS-LL is required.
        LLI = 0;
    }

    /// Allocated ATSSS-LL functions (clause 8.2.160).
    AtsssLlInformation(u8; 1) = 231, "ATSSS-LL Information" {
        /// ATSSS-LL is allocated.
        LLI = 0;
    }

    /// Reported changes of access (clause 8.2.152).
    RequestedAccessAvailabilityInformation(u8; 1) = 217, "Requested Access Availability Information" {
        /// Becoming available or unavailable.
        RRCA = 0;
    }
}

code_ies! {
    /// Steering function of the traffic of a multi-access session (clause 8.2.124).
    SteeringFunctionality & 0x0f = 171, "Steering Functionality" {
        /// ATSSS-LL.
        AtsssLl = 0;
        /// MPTCP.
        Mptcp = 1;
    }

    /// Steering mode of the traffic (clause 8.2.125).
    SteeringMode & 0x0f = 172, "Steering Mode" {
        /// Active-Standby.
        ActiveStandby = 0;
        /// Smallest delay.
        SmallestDelay = 1;
        /// Load balancing.
        LoadBalancing = 2;
        /// By priority.
        PriorityBased = 3;
    }

    /// Rank of an access (clause 8.2.127).
    Priority & 0x0f = 174, "Priority" {
        /// Active.
        Active = 0;
        /// Standby.
        Standby = 1;
        /// No standby.
        NoStandby = 2;
        /// High.
        High = 3;
        /// Low.
        Low = 4;
    }
}

bitflags::bitflags! {
    /// Flags of [`PmfControlInformation`].
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    pub struct PmfControl: u8 {
        /// PMF is required.
        const PMFI = 1;
        /// Round trip time must not be measured.
        const DRTTI = 1 << 1;
        /// QoS flows are measured one by one.
        const PQPM = 1 << 2;
    }
}

/// PMF Control Information (clause 8.2.156).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PmfControlInformation<'a> {
    /// The flags.
    pub flags: PmfControl,
    /// With PQPM: the QoS flows, one per octet, at most 255.
    pub qfis: &'a [u8],
}

impl<'a> Ie<'a> for PmfControlInformation<'a> {
    const TYPE: u16 = 224;
    const NAME: &'static str = "PMF Control Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = PmfControl::from_bits_truncate(fields.u8()?);
        let qfis = fields.when(flags.contains(PmfControl::PQPM), Reader::counted8)?;
        Ok(Self { flags, qfis: qfis.unwrap_or_default() })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.flags.bits());
        if self.flags.contains(PmfControl::PQPM) {
            out.put_counted8(self.qfis);
        }
    }
}

code! {
    /// An access of a multi-access session (Table 8.2.153-1).
    AccessType {
        /// 3GPP.
        ThreeGpp = 0;
        /// Non-3GPP.
        NonThreeGpp = 1;
    }
}

/// Access Availability Information (clause 8.2.153).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AccessAvailabilityInformation {
    /// The access.
    pub access: AccessType,
    /// 0: it became unavailable; 1: available; 2 and 3 are spare.
    pub status: u8,
}

impl<'a> Ie<'a> for AccessAvailabilityInformation {
    const TYPE: u16 = 219;
    const NAME: &'static str = "Access Availability Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let octet = Reader::new(value).u8()?;
        Ok(Self { access: AccessType::from_code(octet & 3), status: octet >> 2 & 3 })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8((self.status & 3) << 2 | self.access.code() & 3);
    }
}

/// MPTCP Address Information (clause 8.2.157): the MPTCP proxy in the UPF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MptcpAddressInformation {
    /// Kind of proxy (TS 24.193 clause 6.1.4).
    pub proxy_type: u8,
    /// TCP port.
    pub port: u16,
    /// Its address.
    pub addr: DualIp,
}

impl<'a> Ie<'a> for MptcpAddressInformation {
    const TYPE: u16 = 228;
    const NAME: &'static str = "MPTCP Address Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let [flags, proxy_type] = fields.array()?;
        let port = fields.u16()?;
        Ok(Self { proxy_type, port, addr: addr::read_v4_first(&mut fields, flags)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put(&[addr::flags_v4_first(self.addr), self.proxy_type]);
        out.put_u16(self.port);
        addr::write(self.addr, out);
    }
}

/// UE Link-Specific IP Address (clause 8.2.158).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct UeLinkSpecificIpAddress {
    /// For 3GPP access.
    pub three_gpp: DualIp,
    /// For non-3GPP access.
    pub non_three_gpp: DualIp,
}

impl<'a> Ie<'a> for UeLinkSpecificIpAddress {
    const TYPE: u16 = 229;
    const NAME: &'static str = "UE Link-Specific IP Address";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let three_gpp = addr::read_v4_first(&mut fields, flags)?;
        Ok(Self { three_gpp, non_three_gpp: addr::read_v4_first(&mut fields, flags >> 2)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let non_three_gpp = addr::flags_v4_first(self.non_three_gpp) << 2;
        out.put_u8(addr::flags_v4_first(self.three_gpp) | non_three_gpp);
        addr::write(self.three_gpp, out);
        addr::write(self.non_three_gpp, out);
    }
}

/// PMF Address Information (clause 8.2.159).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PmfAddressInformation {
    /// Its address, for IP sessions.
    pub addr: DualIp,
    /// UDP ports for 3GPP and non-3GPP access, with an address.
    pub ports: Option<(u16, u16)>,
    /// MAC addresses for 3GPP and non-3GPP access, for Ethernet sessions.
    pub macs: Option<(MacAddr, MacAddr)>,
}

impl<'a> Ie<'a> for PmfAddressInformation {
    const TYPE: u16 = 230;
    const NAME: &'static str = "PMF Address Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let addr = addr::read_v4_first(&mut fields, flags)?;
        let ports = fields.when(flags & 3 != 0, |fields| Ok((fields.u16()?, fields.u16()?)))?;

        Ok(Self { addr, ports, macs: fields.when(flags & 4 != 0, |f| Ok((mac(f)?, mac(f)?)))? })
    }

    /// Ports are sent with an address, as zero if there is none.
    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(addr::flags_v4_first(self.addr) | u8::from(self.macs.is_some()) << 2);
        addr::write(self.addr, out);
        if !self.addr.is_empty() {
            let (three_gpp, non_three_gpp) = self.ports.unwrap_or_default();
            out.put_u16(three_gpp);
            out.put_u16(non_three_gpp);
        }
        if let Some((three_gpp, non_three_gpp)) = self.macs {
            out.put(&three_gpp.0);
            out.put(&non_three_gpp.0);
        }
    }
}

/// Thresholds (clause 8.2.196).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Thresholds {
    /// Round trip time, milliseconds.
    pub rtt: Option<u16>,
    /// Packet loss, percent; above 100 it counts as 0.
    pub packet_loss: Option<u8>,
}

impl<'a> Ie<'a> for Thresholds {
    const TYPE: u16 = 288;
    const NAME: &'static str = "Thresholds";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let rtt = fields.when(flags & 1 != 0, Reader::u16)?;
        Ok(Self { rtt, packet_loss: fields.when(flags & 2 != 0, Reader::u8)? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(u8::from(self.rtt.is_some()) | u8::from(self.packet_loss.is_some()) << 1);
        self.rtt.into_iter().for_each(|rtt| out.put_u16(rtt));
        self.packet_loss.into_iter().for_each(|loss| out.put_u8(loss));
    }
}
