//! The grouped IEs of the class.

use std::net::Ipv4Addr;

use causeway_pfcp as pfcp;
use causeway_types::{Bitrate, FarId, Interface, PdrId, Precedence, QerId, Qfi, Teid};
use pfcp::Ie;

use super::Misfit;
use super::ies::Ies;

const PDR_ID: u16 = PdrId::TYPE;
const PRECEDENCE: u16 = Precedence::TYPE;
const PDI: u16 = <pfcp::Pdi<'_> as Ie<'_>>::TYPE;
const OUTER_HEADER_REMOVAL: u16 = pfcp::OuterHeaderRemoval::TYPE;
const FAR_ID: u16 = FarId::TYPE;
const QER_ID: u16 = QerId::TYPE;
const SOURCE_INTERFACE: u16 = pfcp::SourceInterface::TYPE;
const F_TEID: u16 = pfcp::FTeid::TYPE;
const NETWORK_INSTANCE: u16 = <pfcp::NetworkInstance<'_> as Ie<'_>>::TYPE;
const UE_IP_ADDRESS: u16 = pfcp::UeIpAddress::TYPE;
const QFI: u16 = Qfi::TYPE;
const INTERFACE_TYPE: u16 = pfcp::InterfaceType::TYPE;
const APPLY_ACTION: u16 = pfcp::ApplyAction::TYPE;
const FORWARDING_PARAMETERS: u16 = <pfcp::ForwardingParameters<'_> as Ie<'_>>::TYPE;
const UPDATE_FORWARDING_PARAMETERS: u16 = <pfcp::UpdateForwardingParameters<'_> as Ie<'_>>::TYPE;
const DESTINATION_INTERFACE: u16 = pfcp::DestinationInterface::TYPE;
const OUTER_HEADER_CREATION: u16 = pfcp::OuterHeaderCreation::TYPE;
const FLAGS: u16 = pfcp::SessionModificationFlags::TYPE;
const GATE_STATUS: u16 = pfcp::GateStatus::TYPE;
const MBR: u16 = pfcp::Mbr::TYPE;

/// Bit 32 of the ID of a FAR or QER: the rule is predefined in the UPF (TS 29.244 clauses 8.2.74 and 8.2.75).
const PREDEFINED: u32 = 1 << 31;

/// Source and destination interfaces (clauses 8.2.2 and 8.2.24).
const ACCESS: u8 = 0;
const CORE: u8 = 1;
const SGI_LAN: u8 = 2;

/// The side of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The radio network.
    Access,
    /// The data network.
    Core(CoreSide),
}

/// How the SMF names the side of the data network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreSide {
    /// Core.
    Core,
    /// SGi-LAN/N6-LAN.
    SgiLan,
}

impl From<CoreSide> for Interface {
    fn from(side: CoreSide) -> Self {
        match side {
            CoreSide::Core => Self::Core,
            CoreSide::SgiLan => Self::SgiLan,
        }
    }
}

/// A Create PDR of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewPdr<'a> {
    /// The id.
    pub id: PdrId,
    /// The precedence.
    pub precedence: Precedence,
    /// Where packets come from.
    pub source: CoreSide,
    /// The local tunnel; `None`: packets come from the data network.
    pub tunnel: Option<TunnelRequest>,
    /// The octets of the Network Instance.
    pub network: Option<&'a [u8]>,
    /// The UE address.
    pub ue: Option<Ipv4Addr>,
    /// The QFI of packets.
    pub qfi: Option<Qfi>,
    /// The header to remove is GTP-U over either IP version; otherwise GTP-U over IPv4.
    pub removes_either: bool,
    /// The FAR.
    pub far: FarId,
    /// The QER.
    pub qer: Option<QerId>,
}

impl NewPdr<'_> {
    /// Where packets come from.
    pub const fn side(&self) -> Side {
        if self.tunnel.is_some() { Side::Access } else { Side::Core(self.source) }
    }
}

/// The Local F-TEID of an uplink PDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TunnelRequest {
    /// The SMF assigns it.
    Assigned(Teid, Ipv4Addr),
    /// The UPF chooses it.
    Choose {
        /// An IPv6 address is requested as well.
        v6: bool,
        /// The CHOOSE ID.
        id: Option<u8>,
    },
}

/// A Create FAR of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewFar<'a> {
    /// The id.
    pub id: FarId,
    /// FORW; otherwise DROP.
    pub forwards: bool,
    /// Forwarding Parameters.
    pub parameters: Option<Parameters<'a>>,
}

/// An Update FAR of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FarUpdate<'a> {
    /// The id.
    pub id: FarId,
    /// FORW or DROP, if the action is sent.
    pub forwards: Option<bool>,
    /// Update Forwarding Parameters.
    pub parameters: Option<Parameters<'a>>,
    /// SNDEM: the previous tunnel gets an End Marker.
    pub end_marker: bool,
}

/// Forwarding parameters of a FAR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters<'a> {
    /// The destination; always there in a new FAR.
    pub destination: Option<Side>,
    /// The octets of the Network Instance.
    pub network: Option<&'a [u8]>,
    /// The tunnel of the gNB.
    pub peer: Option<Peer>,
}

/// The remote end of a GTP-U tunnel over IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// The TEID.
    pub teid: Teid,
    /// The address.
    pub addr: Ipv4Addr,
}

/// A Create QER of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Qer {
    /// The id.
    pub id: QerId,
    /// The uplink gate is open.
    pub uplink_open: bool,
    /// The downlink gate is open.
    pub downlink_open: bool,
    /// The maximum bit rates, uplink and downlink.
    pub mbr: Option<(Bitrate, Bitrate)>,
    /// The QFI of downlink packets.
    pub qfi: Option<Qfi>,
}

const OF_PDR: [u16; 6] = [PDR_ID, PRECEDENCE, PDI, OUTER_HEADER_REMOVAL, FAR_ID, QER_ID];
const OF_PDI: [u16; 6] = [SOURCE_INTERFACE, F_TEID, NETWORK_INSTANCE, UE_IP_ADDRESS, QFI, INTERFACE_TYPE];
const OF_FAR: [u16; 3] = [FAR_ID, APPLY_ACTION, FORWARDING_PARAMETERS];
const OF_UPDATE: [u16; 3] = [FAR_ID, APPLY_ACTION, UPDATE_FORWARDING_PARAMETERS];
const OF_PARAMETERS: [u16; 5] =
    [DESTINATION_INTERFACE, NETWORK_INSTANCE, OUTER_HEADER_CREATION, FLAGS, INTERFACE_TYPE];
const OF_QER: [u16; 4] = [QER_ID, GATE_STATUS, MBR, QFI];

pub(super) fn create_pdr(mut ies: Ies<'_>) -> Result<NewPdr<'_>, Misfit> {
    let id = PdrId(u16::from_be_bytes(ies.mandatory_array(PDR_ID)?));
    let precedence = Precedence(u32::from_be_bytes(ies.mandatory_array(PRECEDENCE)?));
    let mut pdi = Ies::new(ies.mandatory(PDI)?);
    let [source] = pdi.mandatory_array(SOURCE_INTERFACE)?;
    let tunnel = pdi.optional(F_TEID)?.map(f_teid).transpose()?;
    let network = network(&mut pdi)?;
    let ue = pdi.optional(UE_IP_ADDRESS)?.map(|value| ue_address(value, source)).transpose()?;
    let qfi = qfi(&mut pdi)?;
    interface_type(&mut pdi)?;
    pdi.finish(&OF_PDI)?;
    let removal = ies.optional(OUTER_HEADER_REMOVAL)?.map(removal).transpose()?;
    let far = FarId(rule_id(FAR_ID, ies.mandatory_array(FAR_ID)?)?);
    let qer = ies.array(QER_ID)?.map(|octets| rule_id(QER_ID, octets)).transpose()?.map(QerId);
    ies.finish(&OF_PDR)?;
    let pdr = |source, removes_either| NewPdr {
        id,
        precedence,
        source,
        tunnel,
        network,
        ue,
        qfi,
        removes_either,
        far,
        qer,
    };
    match (source, tunnel, removal) {
        (ACCESS, None, _) => Err(Misfit::Missing(F_TEID)),
        (ACCESS, Some(_), None) => Err(Misfit::Missing(OUTER_HEADER_REMOVAL)),
        (ACCESS, Some(_), Some(either)) => Ok(pdr(CoreSide::Core, either)),
        (_, Some(_), _) => Err(Misfit::Value(F_TEID)),
        (_, None, Some(_)) => Err(Misfit::Value(OUTER_HEADER_REMOVAL)),
        _ if ue.is_none() => Err(Misfit::Missing(UE_IP_ADDRESS)),
        _ if qfi.is_some() => Err(Misfit::Value(QFI)),
        (CORE, None, None) => Ok(pdr(CoreSide::Core, false)),
        (SGI_LAN, None, None) => Ok(pdr(CoreSide::SgiLan, false)),
        _ => Err(Misfit::Value(SOURCE_INTERFACE)),
    }
}

pub(super) fn create_far(mut ies: Ies<'_>) -> Result<NewFar<'_>, Misfit> {
    let id = FarId(rule_id(FAR_ID, ies.mandatory_array(FAR_ID)?)?);
    let forwards = action(ies.mandatory(APPLY_ACTION)?)?;
    let given = ies.group(FORWARDING_PARAMETERS)?.map(|group| parameters(group, false)).transpose()?;
    ies.finish(&OF_FAR)?;
    let parameters = given.map(|(parameters, _)| parameters);
    if parameters.is_some_and(|parameters| parameters.destination.is_none()) {
        return Err(Misfit::Missing(DESTINATION_INTERFACE));
    }
    if forwards && parameters.is_none() {
        return Err(Misfit::Missing(FORWARDING_PARAMETERS));
    }
    Ok(NewFar { id, forwards, parameters })
}

pub(super) fn update_far(mut ies: Ies<'_>, end_markers: bool) -> Result<FarUpdate<'_>, Misfit> {
    let id = FarId(rule_id(FAR_ID, ies.mandatory_array(FAR_ID)?)?);
    let forwards = ies.optional(APPLY_ACTION)?.map(action).transpose()?;
    let given = ies.group(UPDATE_FORWARDING_PARAMETERS)?.map(|group| parameters(group, true)).transpose()?;
    ies.finish(&OF_UPDATE)?;
    let end_marker = given.is_some_and(|(_, end_marker)| end_marker);
    if end_marker && !end_markers {
        return Err(Misfit::Value(FLAGS));
    }
    Ok(FarUpdate { id, forwards, parameters: given.map(|(parameters, _)| parameters), end_marker })
}

pub(super) fn create_qer(mut ies: Ies<'_>) -> Result<Qer, Misfit> {
    let id = QerId(rule_id(QER_ID, ies.mandatory_array(QER_ID)?)?);
    let [gates] = ies.mandatory_array(GATE_STATUS)?;
    let mbr = ies.array(MBR)?.map(mbr);
    let qfi = qfi(&mut ies)?;
    ies.finish(&OF_QER)?;
    if gates > 0x0f {
        return Err(Misfit::Value(GATE_STATUS));
    }
    Ok(Qer { id, uplink_open: gates & 0x0c == 0, downlink_open: gates & 0x03 == 0, mbr, qfi })
}

/// The parameters, and whether an End Marker is requested.
fn parameters(mut ies: Ies<'_>, is_update: bool) -> Result<(Parameters<'_>, bool), Misfit> {
    let destination = match ies.array(DESTINATION_INTERFACE)? {
        None => None,
        Some([ACCESS]) => Some(Side::Access),
        Some([CORE]) => Some(Side::Core(CoreSide::Core)),
        Some([SGI_LAN]) => Some(Side::Core(CoreSide::SgiLan)),
        Some(_) => return Err(Misfit::Value(DESTINATION_INTERFACE)),
    };
    let network = network(&mut ies)?;
    let peer = ies.optional(OUTER_HEADER_CREATION)?.map(peer).transpose()?;
    let flags = if is_update { ies.array(FLAGS)? } else { None };
    interface_type(&mut ies)?;
    ies.finish(&OF_PARAMETERS)?;
    let sndem = pfcp::SessionModificationFlags::SNDEM.bits();
    let end_marker = match flags {
        None | Some([0]) => false,
        Some([flags]) if flags == sndem => true,
        Some(_) => return Err(Misfit::Value(FLAGS)),
    };
    Ok((Parameters { destination, network, peer }, end_marker))
}

/// FORW alone is true, DROP alone false; one octet or two.
fn action(value: &[u8]) -> Result<bool, Misfit> {
    match value {
        [0x02] | [0x02, 0] => Ok(true),
        [0x01] | [0x01, 0] => Ok(false),
        _ => Err(Misfit::Value(APPLY_ACTION)),
    }
}

/// CHOOSE needs no IP version: some SMFs send none.
fn f_teid(value: &[u8]) -> Result<TunnelRequest, Misfit> {
    const V4: u8 = 1;
    const V6: u8 = 2;
    const CHOOSE: u8 = 4;
    const CHOOSE_ID: u8 = 8;
    let is_v6 = |flags: u8| flags & V6 != 0;
    match *value {
        [V4, t0, t1, t2, t3, a, b, c, d] => match Teid::new(u32::from_be_bytes([t0, t1, t2, t3])) {
            Some(teid) => Ok(TunnelRequest::Assigned(teid, Ipv4Addr::new(a, b, c, d))),
            None => Err(Misfit::Value(F_TEID)),
        },
        [flags] if flags & !(V4 | V6) == CHOOSE && flags & (V4 | V6) != V6 => {
            Ok(TunnelRequest::Choose { v6: is_v6(flags), id: None })
        }
        [flags, id] if flags & !(V4 | V6) == CHOOSE | CHOOSE_ID && flags & (V4 | V6) != V6 => {
            Ok(TunnelRequest::Choose { v6: is_v6(flags), id: Some(id) })
        }
        _ => Err(Misfit::Value(F_TEID)),
    }
}

/// An IPv4 address. For packets of the access it must be the source; for those of a data network it is the destination
/// whatever the S/D flag says, which some SMFs leave at zero.
fn ue_address(value: &[u8], source: u8) -> Result<Ipv4Addr, Misfit> {
    const V4: u8 = 2;
    const DESTINATION: u8 = 4;
    match *value {
        [V4, a, b, c, d] => Ok(Ipv4Addr::new(a, b, c, d)),
        [flags, a, b, c, d] if flags == V4 | DESTINATION && source != ACCESS => Ok(Ipv4Addr::new(a, b, c, d)),
        _ => Err(Misfit::Value(UE_IP_ADDRESS)),
    }
}

/// GTP-U/UDP/IPv4 is false, GTP-U/UDP/IP true; a second octet may delete nothing.
fn removal(value: &[u8]) -> Result<bool, Misfit> {
    match value {
        [0] | [0, 0] => Ok(false),
        [6] | [6, 0] => Ok(true),
        _ => Err(Misfit::Value(OUTER_HEADER_REMOVAL)),
    }
}

/// GTP-U/UDP/IPv4 to a known tunnel.
fn peer(value: &[u8]) -> Result<Peer, Misfit> {
    let [1, 0, t0, t1, t2, t3, a, b, c, d] = *value else { return Err(Misfit::Value(OUTER_HEADER_CREATION)) };
    let teid = Teid::new(u32::from_be_bytes([t0, t1, t2, t3])).ok_or(Misfit::Value(OUTER_HEADER_CREATION))?;
    Ok(Peer { teid, addr: Ipv4Addr::new(a, b, c, d) })
}

/// The name is not empty.
fn network<'a>(ies: &mut Ies<'a>) -> Result<Option<&'a [u8]>, Misfit> {
    match ies.optional(NETWORK_INSTANCE)? {
        Some([]) => Err(Misfit::Value(NETWORK_INSTANCE)),
        name => Ok(name),
    }
}

/// 3GPP Interface Type: information, but not without a value, which would remove an earlier one.
fn interface_type(ies: &mut Ies<'_>) -> Result<(), Misfit> {
    ies.array::<1>(INTERFACE_TYPE).map(drop)
}

fn qfi(ies: &mut Ies<'_>) -> Result<Option<Qfi>, Misfit> {
    match ies.array(QFI)? {
        None => Ok(None),
        Some([octet]) => Qfi::new(octet).map(Some).ok_or(Misfit::Value(QFI)),
    }
}

fn rule_id(ie: u16, octets: [u8; 4]) -> Result<u32, Misfit> {
    let id = u32::from_be_bytes(octets);
    if id & PREDEFINED == 0 { Ok(id) } else { Err(Misfit::Value(ie)) }
}

fn mbr([u0, u1, u2, u3, u4, d0, d1, d2, d3, d4]: [u8; 10]) -> (Bitrate, Bitrate) {
    // Five octets are exactly the range of a bit rate.
    let rate = |octets| Bitrate::from_kbps(u64::from_be_bytes(octets)).unwrap_or(Bitrate::MAX);
    (rate([0, 0, 0, u0, u1, u2, u3, u4]), rate([0, 0, 0, d0, d1, d2, d3, d4]))
}
