//! The grouped IEs of the class.

use std::net::Ipv4Addr;

use causeway_pfcp as pfcp;
use causeway_types::{Bitrate, FarId, Interface, PdrId, Precedence, QerId, Qfi, Teid};
use pfcp::Ie;

use super::ies::{Fields, exactly};
use super::{Class, Misfit, Order};

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
    /// Which packets.
    pub pdi: NewPdi<'a>,
    /// The header to remove is GTP-U over either IP version; otherwise GTP-U over IPv4.
    pub removes_either: bool,
    /// The FAR.
    pub far: FarId,
    /// The QERs, in the order in which they are enforced.
    pub qers: QerIds,
}

/// Most QERs of a PDR, and of a session.
pub const QERS: usize = 3;

/// The QERs of a PDR, in the order in which they are enforced.
pub type QerIds = [Option<QerId>; QERS];

/// The QERs of a message or session.
pub type Qers = [Option<Qer>; QERS];

/// All of these QERs are there, each once in its list.
pub(crate) fn are_there(ids: &QerIds, qers: &Qers) -> bool {
    ids.iter().flatten().all(|id| qers.iter().flatten().any(|qer| qer.id == *id))
}

/// An Update PDR of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PdrUpdate<'a> {
    /// The id.
    pub id: PdrId,
    /// The precedence, if it is sent.
    pub precedence: Option<Precedence>,
    /// The PDI, if it is sent: it replaces the previous one.
    pub pdi: Option<NewPdi<'a>>,
    /// The header to remove, if it is sent, as in [`NewPdr`].
    pub removes_either: Option<bool>,
    /// The FAR, if it is sent.
    pub far: Option<FarId>,
    /// The QERs; none: they stay.
    pub qers: QerIds,
}

/// A PDI of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewPdi<'a> {
    /// Where packets come from.
    pub source: Side,
    /// The local tunnel of packets from the access; `None`: packets come from the data network.
    pub tunnel: Option<TunnelRequest>,
    /// The octets of the Network Instance.
    pub network: Option<&'a [u8]>,
    /// The UE address.
    pub ue: Option<Ipv4Addr>,
    /// The QFI of packets.
    pub qfi: Option<Qfi>,
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

/// The action of a FAR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// DROP.
    Drop,
    /// FORW.
    Forward,
    /// BUFF; the SMF is told of the first packet if NOCP is there as well.
    Buffer {
        /// NOCP.
        notify: bool,
    },
}

/// A Create FAR of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewFar<'a> {
    /// The id.
    pub id: FarId,
    /// What happens to packets.
    pub action: Action,
    /// Forwarding Parameters.
    pub parameters: Option<Parameters<'a>>,
}

/// An Update FAR of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FarUpdate<'a> {
    /// The id.
    pub id: FarId,
    /// What happens to packets, if it is sent.
    pub action: Option<Action>,
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

const OF_PDR: [u16; 8] = [PDR_ID, PRECEDENCE, PDI, OUTER_HEADER_REMOVAL, FAR_ID, QER_ID, QER_ID, QER_ID];
const OF_PDI: [u16; 6] = [SOURCE_INTERFACE, F_TEID, NETWORK_INSTANCE, UE_IP_ADDRESS, QFI, INTERFACE_TYPE];
const OF_FAR: [u16; 3] = [FAR_ID, APPLY_ACTION, FORWARDING_PARAMETERS];
const OF_UPDATE: [u16; 3] = [FAR_ID, APPLY_ACTION, UPDATE_FORWARDING_PARAMETERS];
const OF_PARAMETERS: [u16; 4] =
    [DESTINATION_INTERFACE, NETWORK_INSTANCE, OUTER_HEADER_CREATION, INTERFACE_TYPE];
const OF_UPDATE_PARAMETERS: [u16; 5] =
    [DESTINATION_INTERFACE, NETWORK_INSTANCE, OUTER_HEADER_CREATION, FLAGS, INTERFACE_TYPE];
const OF_QER: [u16; 4] = [QER_ID, GATE_STATUS, MBR, QFI];

pub(super) fn create_pdr<'a>(octets: &'a [u8], class: &Class) -> Result<NewPdr<'a>, Misfit> {
    let ies = Fields::read(octets, &OF_PDR, class.order)?;
    let PdrUpdate { id, precedence, pdi, removes_either, far, qers } = pdr(&ies, class)?;
    let precedence = precedence.ok_or(Misfit::Missing(PRECEDENCE))?;
    let pdi = pdi.ok_or(Misfit::Missing(PDI))?;
    let far = far.ok_or(Misfit::Missing(FAR_ID))?;
    let removes_either = match (pdi.source, removes_either) {
        (Side::Access, None) => return Err(Misfit::Missing(OUTER_HEADER_REMOVAL)),
        (_, removal) => removal.unwrap_or(false),
    };
    Ok(NewPdr { id, precedence, pdi, removes_either, far, qers })
}

pub(super) fn update_pdr<'a>(octets: &'a [u8], class: &Class) -> Result<PdrUpdate<'a>, Misfit> {
    pdr(&Fields::read(octets, &OF_PDR, class.order)?, class)
}

/// What a PDR has; most may be absent in an update.
fn pdr<'a>(ies: &Fields<'a, 8>, class: &Class) -> Result<PdrUpdate<'a>, Misfit> {
    let id = PdrId(u16::from_be_bytes(ies.mandatory_array(PDR_ID)?));
    let precedence = ies.array(PRECEDENCE)?.map(|octets| Precedence(u32::from_be_bytes(octets)));
    let pdi = ies.optional(PDI).map(|octets| new_pdi(octets, class)).transpose()?;
    let removes_either = ies.optional(OUTER_HEADER_REMOVAL).map(removal).transpose()?;
    let far = ies.array(FAR_ID)?.map(|octets| rule_id(FAR_ID, octets)).transpose()?.map(FarId);
    let qer_id = |value| rule_id(QER_ID, exactly(QER_ID, value)?).map(QerId);
    let qers: QerIds = ies.several(QER_ID, class.qers, qer_id)?;
    if !are_distinct(qers.iter().flatten()) {
        return Err(Misfit::References);
    }
    // Only packets from the access have a header to remove.
    let from_core = pdi.is_some_and(|pdi| pdi.source != Side::Access);
    if from_core && removes_either.is_some() {
        return Err(Misfit::Value(OUTER_HEADER_REMOVAL));
    }
    Ok(PdrUpdate { id, precedence, pdi, removes_either, far, qers })
}

fn new_pdi<'a>(octets: &'a [u8], class: &Class) -> Result<NewPdi<'a>, Misfit> {
    let ies = Fields::read(octets, &OF_PDI, class.order)?;
    let [source] = ies.mandatory_array(SOURCE_INTERFACE)?;
    let tunnel = ies.optional(F_TEID).map(f_teid).transpose()?;
    let network = network(&ies)?;
    let ue = ies.optional(UE_IP_ADDRESS).map(|value| ue_address(value, source)).transpose()?;
    let qfi = qfi(&ies)?;
    interface_type(&ies)?;
    let source = match source {
        ACCESS if tunnel.is_none() => return Err(Misfit::Missing(F_TEID)),
        ACCESS => Side::Access,
        _ if tunnel.is_some() => return Err(Misfit::Value(F_TEID)),
        _ if ue.is_none() => return Err(Misfit::Missing(UE_IP_ADDRESS)),
        _ if qfi.is_some() => return Err(Misfit::Value(QFI)),
        CORE => Side::Core(CoreSide::Core),
        SGI_LAN => Side::Core(CoreSide::SgiLan),
        _ => return Err(Misfit::Value(SOURCE_INTERFACE)),
    };
    Ok(NewPdi { source, tunnel, network, ue, qfi })
}

pub(super) fn create_far<'a>(octets: &'a [u8], class: &Class) -> Result<NewFar<'a>, Misfit> {
    let ies = Fields::read(octets, &OF_FAR, class.order)?;
    let id = FarId(rule_id(FAR_ID, ies.mandatory_array(FAR_ID)?)?);
    let action = action(ies.mandatory(APPLY_ACTION)?, class)?;
    let group = ies.optional(FORWARDING_PARAMETERS);
    let parameters = match group.map(|octets| Fields::read(octets, &OF_PARAMETERS, class.order)) {
        Some(ies) => Some(parameters(&ies?)?),
        None => None,
    };
    if parameters.is_some_and(|parameters| parameters.destination.is_none()) {
        return Err(Misfit::Missing(DESTINATION_INTERFACE));
    }
    if action == Action::Forward && parameters.is_none() {
        return Err(Misfit::Missing(FORWARDING_PARAMETERS));
    }
    Ok(NewFar { id, action, parameters })
}

pub(super) fn update_far<'a>(octets: &'a [u8], class: &Class) -> Result<FarUpdate<'a>, Misfit> {
    let ies = Fields::read(octets, &OF_UPDATE, class.order)?;
    let id = FarId(rule_id(FAR_ID, ies.mandatory_array(FAR_ID)?)?);
    let action = ies.optional(APPLY_ACTION).map(|value| action(value, class)).transpose()?;
    let Some(group) = ies.optional(UPDATE_FORWARDING_PARAMETERS) else {
        return Ok(FarUpdate { id, action, parameters: None, end_marker: false });
    };
    let ies = Fields::read(group, &OF_UPDATE_PARAMETERS, class.order)?;
    let sndem = pfcp::SessionModificationFlags::SNDEM.bits();
    let end_marker = match ies.array(FLAGS)? {
        None | Some([0]) => false,
        Some([flags]) if flags == sndem && class.end_markers => true,
        Some(_) => return Err(Misfit::Value(FLAGS)),
    };
    Ok(FarUpdate { id, action, parameters: Some(parameters(&ies)?), end_marker })
}

pub(super) fn create_qer(octets: &[u8], order: Order) -> Result<Qer, Misfit> {
    let ies = Fields::read(octets, &OF_QER, order)?;
    let id = QerId(rule_id(QER_ID, ies.mandatory_array(QER_ID)?)?);
    let [gates] = ies.mandatory_array(GATE_STATUS)?;
    let mbr = ies.array(MBR)?.map(mbr);
    let qfi = qfi(&ies)?;
    if gates > 0x0f {
        return Err(Misfit::Value(GATE_STATUS));
    }
    Ok(Qer { id, uplink_open: gates & 0x0c == 0, downlink_open: gates & 0x03 == 0, mbr, qfi })
}

/// No two are equal.
pub(super) fn are_distinct<T: PartialEq>(all: impl Iterator<Item = T> + Clone) -> bool {
    let mut rest = all;
    while let Some(one) = rest.next() {
        if rest.clone().any(|other| other == one) {
            return false;
        }
    }
    true
}

fn parameters<'a, const N: usize>(ies: &Fields<'a, N>) -> Result<Parameters<'a>, Misfit> {
    let destination = match ies.array(DESTINATION_INTERFACE)? {
        None => None,
        Some([ACCESS]) => Some(Side::Access),
        Some([CORE]) => Some(Side::Core(CoreSide::Core)),
        Some([SGI_LAN]) => Some(Side::Core(CoreSide::SgiLan)),
        Some(_) => return Err(Misfit::Value(DESTINATION_INTERFACE)),
    };
    let network = network(ies)?;
    let peer = ies.optional(OUTER_HEADER_CREATION).map(peer).transpose()?;
    interface_type(ies)?;
    Ok(Parameters { destination, network, peer })
}

/// One action; one octet or two.
fn action(value: &[u8], class: &Class) -> Result<Action, Misfit> {
    let ([flags] | [flags, 0]) = *value else { return Err(Misfit::Value(APPLY_ACTION)) };
    match flags {
        0x01 => Ok(Action::Drop),
        0x02 => Ok(Action::Forward),
        0x04 if class.buffering => Ok(Action::Buffer { notify: false }),
        0x0c if class.buffering => Ok(Action::Buffer { notify: true }),
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
fn network<'a, const N: usize>(ies: &Fields<'a, N>) -> Result<Option<&'a [u8]>, Misfit> {
    match ies.optional(NETWORK_INSTANCE) {
        Some([]) => Err(Misfit::Value(NETWORK_INSTANCE)),
        name => Ok(name),
    }
}

/// 3GPP Interface Type: information, but not without a value, which would remove an earlier one.
fn interface_type<const N: usize>(ies: &Fields<'_, N>) -> Result<(), Misfit> {
    ies.array::<1>(INTERFACE_TYPE).map(drop)
}

fn qfi<const N: usize>(ies: &Fields<'_, N>) -> Result<Option<Qfi>, Misfit> {
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
