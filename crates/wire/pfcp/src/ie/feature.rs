//! Features that nodes advertise, and flags of messages.

use super::leaf::{bits, flags_ies};
use crate::read::Put;
use crate::{Ie, IeError};

bitflags::bitflags! {
    /// UP Function Features (Table 8.2.25-1), octet 5 in the low byte. Any length when received; the necessary
    /// number of octets, at least 2, when sent.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    pub struct UpFeatures: u64 {
        /// Downlink data buffering in the CP function.
        const BUCP = 1;
        /// Downlink Data Notification Delay.
        const DDND = 1 << 1;
        /// DL Buffering Duration.
        const DLBD = 1 << 2;
        /// Traffic steering.
        const TRST = 1 << 3;
        /// F-TEIDs are allocated by the UP function.
        const FTUP = 1 << 4;
        /// PFD management.
        const PFDM = 1 << 5;
        /// Header enrichment of uplink traffic.
        const HEEU = 1 << 6;
        /// Traffic redirection.
        const TREU = 1 << 7;
        /// End markers are sent.
        const EMPU = 1 << 8;
        /// PDI optimised signalling: traffic endpoints.
        const PDIU = 1 << 9;
        /// Uplink and downlink buffering control.
        const UDBC = 1 << 10;
        /// Quota action.
        const QUOAC = 1 << 11;
        /// Trace.
        const TRACE = 1 << 12;
        /// Framed routing.
        const FRRT = 1 << 13;
        /// PFD contents with several values.
        const PFDE = 1 << 14;
        /// Enhanced association release.
        const EPFAR = 1 << 15;
        /// Deferred PDR activation and deactivation.
        const DPDRA = 1 << 16;
        /// Predefined PDRs.
        const ADPDP = 1 << 17;
        /// UE IP addresses are allocated by the UP function.
        const UEIP = 1 << 18;
        /// Sessions controlled by a set of SMFs.
        const SSET = 1 << 19;
        /// Packets are counted.
        const MNOP = 1 << 20;
        /// Several traffic endpoints in a PDI.
        const MTE = 1 << 21;
        /// Bundled messages.
        const BUNDL = 1 << 22;
        /// 5G VN group communication.
        const GCOM = 1 << 23;
        /// Several associations with a set of SMFs.
        const MPAS = 1 << 24;
        /// Redundant transmission at transport layer.
        const RTTL = 1 << 25;
        /// Quota validity time.
        const VTIME = 1 << 26;
        /// Number of reports.
        const NORP = 1 << 27;
        /// IPTV.
        const IPTV = 1 << 28;
        /// IPv6 prefix lengths other than 64.
        const IP6PL = 1 << 29;
        /// Time sensitive communication.
        const TSCU = 1 << 30;
        /// MPTCP proxy.
        const MPTCP = 1 << 31;
        /// ATSSS-LL.
        const ATSSS_LL = 1 << 32;
        /// QoS monitoring for each QoS flow.
        const QFQM = 1 << 33;
        /// QoS monitoring for each GTP-U path.
        const GPQM = 1 << 34;
        /// Sizes of downlink packets are reported.
        const MT_EDT = 1 << 35;
        /// Cellular IoT.
        const CIOT = 1 << 36;
        /// Ethernet anchor relocation.
        const ETHAR = 1 << 37;
        /// Downlink data delivery status.
        const DDDS = 1 << 38;
        /// Reliable data service.
        const RDS = 1 << 39;
        /// Round trip time without PMF.
        const RTTWP = 1 << 40;
        /// Exemptions from quota action.
        const QUASF = 1 << 41;
        /// Start of pause of charging is notified.
        const NSPOC = 1 << 42;
        /// L2TP.
        const L2TP = 1 << 43;
        /// Uplink buffering during relocation of an edge application server.
        const UPBER = 1 << 44;
        /// Restoration of sets of sessions.
        const RESPS = 1 << 45;
        /// IP address and port replacement.
        const IPREP = 1 << 46;
        /// Steering by DNS query.
        const DNSTS = 1 << 47;
        /// Direct reporting of QoS monitoring.
        const DRQOS = 1 << 48;
        /// Multicast by individual delivery.
        const MBSN4 = 1 << 49;
        /// Resource management per slice.
        const PSUPRM = 1 << 50;
        /// Enhanced provisioning of paging policy indicators.
        const EPPPI = 1 << 51;
        /// Redirection to ports.
        const RATP = 1 << 52;
        /// User plane inactivity for each PDR.
        const UPIDP = 1 << 53;
    }
}

impl<'a> Ie<'a> for UpFeatures {
    const TYPE: u16 = 43;
    const NAME: &'static str = "UP Function Features";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        bits(value).map(Self::from_bits_truncate)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let octets = self.bits().to_le_bytes();
        let last = octets.iter().rposition(|octet| *octet != 0).unwrap_or_default();
        out.put(&octets[..=last.max(1)]);
    }
}

bitflags::bitflags! {
    /// CP Function Features (Table 8.2.58-1), octet 5 in the low byte. Any length when received; 1 octet or 2
    /// when sent.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    pub struct CpFeatures: u32 {
        /// Load control.
        const LOAD = 1;
        /// Overload control.
        const OVRL = 1 << 1;
        /// Enhanced association release.
        const EPFAR = 1 << 2;
        /// Sessions controlled by a set of SMFs.
        const SSET = 1 << 3;
        /// Bundled messages.
        const BUNDL = 1 << 4;
        /// Several associations of a set of SMFs with one UPF.
        const MPAS = 1 << 5;
        /// Additional usage reports in the deletion response.
        const ARDR = 1 << 6;
        /// Usage reports of UE IP addresses.
        const UIAUR = 1 << 7;
        /// Partial success.
        const PSUCC = 1 << 8;
        /// Restart reports of peer GTP-U entities.
        const RPGUR = 1 << 9;
    }
}

impl<'a> Ie<'a> for CpFeatures {
    const TYPE: u16 = 89;
    const NAME: &'static str = "CP Function Features";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        bits(value).map(|bits| Self::from_bits_truncate(bits as u32))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let octets = self.bits().to_le_bytes();
        out.put(if self.bits() > 0xff { &octets[..2] } else { &octets[..1] });
    }
}

flags_ies! {
    /// Flags of a Session Establishment Request (clause 8.2.136).
    SessionEstablishmentFlags(u8; 1) = 186, "PFCPSEReq-Flags" {
        /// Restores a session.
        RESTI = 0;
        /// Stop measuring to pause charging.
        SUMPC = 1;
    }

    /// Flags of a Session Modification Request (clause 8.2.31).
    SessionModificationFlags(u8; 1) = 49, "PFCPSMReq-Flags" {
        /// Drop buffered packets.
        DROBU = 0;
        /// Send end markers.
        SNDEM = 1;
        /// Query all URRs.
        QAURR = 2;
        /// Stop measuring to pause charging.
        SUMPC = 3;
        /// Resume measuring.
        RUMUC = 4;
        /// Delete all downlink multicast F-TEIDs.
        DETEID = 5;
    }

    /// Flags of a Session Deletion Response (clause 8.2.215).
    SessionDeletionResponseFlags(u8; 1) = 318, "PFCPSDRsp-Flags" {
        /// Usage reports are pending.
        PURU = 0;
    }

    /// Flags of a Session Report Request (clause 8.2.119).
    SessionReportFlags(u8; 1) = 161, "PFCPSRReq-Flags" {
        /// The UP function deletes the session.
        PSDBU = 0;
    }

    /// Flags of a Session Report Response (clause 8.2.32).
    SessionReportResponseFlags(u8; 1) = 50, "PFCPSRRsp-Flags" {
        /// Drop buffered packets.
        DROBU = 0;
    }

    /// The content of a Session Report Request (clause 8.2.21).
    ReportType(u8; 1) = 39, "Report Type" {
        /// Downlink data.
        DLDR = 0;
        /// Usage.
        USAR = 1;
        /// Error indication.
        ERIR = 2;
        /// User plane inactivity.
        UPIR = 3;
        /// TSC management information.
        TMIR = 4;
        /// Session report.
        SESR = 5;
        /// A request of the UP function.
        UISR = 6;
    }

    /// Flags of an Association Setup Request (clause 8.2.178).
    AssociationSetupFlags(u8; 1) = 259, "PFCPASReq-Flags" {
        /// The UPF is configured for IPUPS.
        UUPSI = 0;
    }

    /// Flags of an Association Setup Response (clause 8.2.134).
    AssociationSetupResponseFlags(u8; 1) = 184, "PFCPASRsp-Flags" {
        /// Sessions were retained.
        PSREI = 0;
        /// The UPF is configured for IPUPS.
        UUPSI = 1;
    }

    /// Flags of an Association Update Request (clause 8.2.120).
    AssociationUpdateFlags(u8; 1) = 162, "PFCPAUReq-Flags" {
        /// The release of the association is being prepared.
        PARPS = 0;
    }

    /// Reliable Data Service (clause 8.2.180).
    RdsConfigurationInformation(u8; 1) = 262, "RDS configuration information" {
        /// Requested, or applied.
        RDS = 0;
    }
}
