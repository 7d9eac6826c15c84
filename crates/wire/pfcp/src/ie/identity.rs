//! Identifiers of rules, applications, slices and users.

use causeway_types::{BarId, FarId, PdrId, Precedence, QerId, UrrId};

pub use causeway_types::SNssai;

use super::leaf::{code, code_ies, integer_ies, integer_impl, octets_ies};
use super::text::Octets;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

integer_impl!(PdrId(u16) = 56, "PDR ID");
integer_impl!(FarId(u32) = 108, "FAR ID");
integer_impl!(QerId(u32) = 109, "QER ID");
integer_impl!(UrrId(u32) = 81, "URR ID");
integer_impl!(BarId(u8) = 88, "BAR ID");
integer_impl!(Precedence(u32) = 29, "Precedence");

integer_ies! {
    /// URR whose usage report triggers one of this URR (clause 8.2.55).
    LinkedUrrId(u32) = 82, "Linked URR ID";
    /// URR of a credit pool (clause 8.2.85).
    AggregatedUrrId(u32) = 120, "Aggregated URR ID";
    /// Correlates QERs of several sessions (clause 8.2.10).
    QerCorrelationId(u32) = 28, "QER Correlation ID";
    /// Multi-Access Rule ID (clause 8.2.123).
    MarId(u16) = 170, "MAR ID";
    /// Session Reporting Rule ID (clause 8.2.151).
    SrrId(u8) = 215, "SRR ID";
    /// Traffic endpoint of a session (clause 8.2.92).
    TrafficEndpointId(u8) = 131, "Traffic Endpoint ID";
    /// Reference of a query request for URRs (clause 8.2.90).
    QueryUrrReference(u32) = 125, "Query URR Reference";
    /// Order in which usage reports of one URR were generated (clause 8.2.71).
    UrSeqn(u32) = 104, "UR-SEQN";
}

octets_ies! {
    /// Identifies an application detection filter (clause 8.2.6).
    ApplicationId = 24, "Application ID";
    /// Identifies an instance of a detected application (clause 8.2.60).
    ApplicationInstanceId = 91, "Application Instance ID";
    /// Names of predefined rules to activate (clause 8.2.72).
    ActivatePredefinedRules = 106, "Activate Predefined Rules";
    /// Names of predefined rules to deactivate (clause 8.2.73).
    DeactivatePredefinedRules = 107, "Deactivate Predefined Rules";
    /// Names of active predefined rules (clause 8.2.205).
    PredefinedRulesName = 299, "Predefined Rules Name";
    /// Identifies a group of sessions, for restoration (clause 8.2.198).
    GroupId = 291, "Group ID";
    /// Data network access identifier (clause 8.2.161).
    DataNetworkAccessIdentifier = 232, "Data Network Access Identifier";
}

code_ies! {
    /// Type of the PDN connection or PDU session (clause 8.2.79).
    PdnType & 0x07 = 113, "PDN Type" {
        /// IPv4.
        Ipv4 = 1;
        /// IPv6.
        Ipv6 = 2;
        /// IPv4 and IPv6.
        Ipv4v6 = 3;
        /// Unstructured.
        NonIp = 4;
        /// Ethernet.
        Ethernet = 5;
    }

    /// Radio access technology (clause 8.2.186).
    RatType & 0xff = 275, "RAT Type" {
        /// UTRAN.
        Utran = 1;
        /// GERAN.
        Geran = 2;
        /// WLAN.
        Wlan = 3;
        /// GAN.
        Gan = 4;
        /// HSPA Evolution.
        HspaEvolution = 5;
        /// Wide-band E-UTRAN.
        Eutran = 6;
        /// Virtual.
        Virtual = 7;
        /// NB-IoT.
        NbIot = 8;
        /// LTE-M.
        LteM = 9;
        /// New Radio.
        Nr = 10;
    }
}

code! {
    /// Kind of a rule that failed (clause 8.2.80).
    RuleKind {
        /// Packet Detection Rule.
        Pdr = 0;
        /// Forwarding Action Rule.
        Far = 1;
        /// QoS Enforcement Rule.
        Qer = 2;
        /// Usage Reporting Rule.
        Urr = 3;
        /// Buffering Action Rule.
        Bar = 4;
        /// Multi-Access Rule.
        Mar = 5;
        /// Session Reporting Rule.
        Srr = 6;
    }
}

impl RuleKind {
    /// Octets of the rule's ID. Spare kinds are treated as FAR (Table 8.2.80-1).
    const fn id_octets(self) -> usize {
        match self {
            Self::Pdr | Self::Mar => 2,
            Self::Bar | Self::Srr => 1,
            Self::Far | Self::Qer | Self::Urr | Self::Spare(_) => 4,
        }
    }
}

/// Failed Rule ID (clause 8.2.80): the rule that could not be created or modified.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FailedRuleId {
    /// The kind of rule.
    pub kind: RuleKind,
    /// Its ID, of 1, 2 or 4 octets on the wire depending on the kind.
    pub id: u32,
}

impl<'a> Ie<'a> for FailedRuleId {
    const TYPE: u16 = 114;
    const NAME: &'static str = "Failed Rule ID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let kind = RuleKind::from_code(fields.u8()? & 0x1f);
        let octets = fields.take(kind.id_octets())?;
        let id = octets.iter().fold(0, |id, octet| id << 8 | u32::from(*octet));
        Ok(Self { kind, id })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.kind.code() & 0x1f);
        out.put(&self.id.to_be_bytes()[4 - self.kind.id_octets()..]);
    }
}

impl<'a> Ie<'a> for SNssai {
    const TYPE: u16 = 257;
    const NAME: &'static str = "S-NSSAI";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        Ok(Self { sst: fields.u8()?, sd: fields.u24()? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.sst);
        out.put_u24(self.sd);
    }
}

/// NF Instance ID (clause 8.2.175): the UUID of a UPF.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NfInstanceId(pub [u8; 16]);

impl<'a> Ie<'a> for NfInstanceId {
    const TYPE: u16 = 253;
    const NAME: &'static str = "NF Instance ID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        Ok(Self(Reader::new(value).array()?))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put(&self.0);
    }
}

/// User ID (clause 8.2.101). Each identity has the coding of TS 29.274 or TS 29.571.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct UserId<'a> {
    /// IMSI in TBCD digits.
    pub imsi: Option<Octets<'a>>,
    /// IMEI in TBCD digits.
    pub imei: Option<Octets<'a>>,
    /// MSISDN in TBCD digits.
    pub msisdn: Option<Octets<'a>>,
    /// Network access identifier, text.
    pub nai: Option<Octets<'a>>,
    /// SUPI that is a Global Cable or Line Identifier, text.
    pub supi: Option<Octets<'a>>,
    /// GPSI that is an External Identifier, text.
    pub gpsi: Option<Octets<'a>>,
    /// PEI that is a MAC address or an extended unique identifier, text.
    pub pei: Option<Octets<'a>>,
}

impl<'a> Ie<'a> for UserId<'a> {
    const TYPE: u16 = 141;
    const NAME: &'static str = "User ID";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        let mut identity = |bit: u8| {
            let octets = fields.when(flags & 1 << bit != 0, Reader::counted8)?;
            Ok::<_, IeError>(octets.map(Octets))
        };
        Ok(Self {
            imsi: identity(0)?,
            imei: identity(1)?,
            msisdn: identity(2)?,
            nai: identity(3)?,
            supi: identity(4)?,
            gpsi: identity(5)?,
            pei: identity(6)?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let identities = [self.imsi, self.imei, self.msisdn, self.nai, self.supi, self.gpsi, self.pei];
        let present = |(bit, identity): (u8, &Option<_>)| u8::from(identity.is_some()) << bit;
        out.put_u8((0..).zip(&identities).map(present).sum());
        identities.iter().flatten().for_each(|identity| out.put_counted8(identity));
    }
}
