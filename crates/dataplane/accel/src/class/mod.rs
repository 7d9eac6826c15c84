//! The class: which octets are a request that the data plane answers itself.
//!
//! Each message and group has a fixed number of places for IEs, by their type ([`Fields`]). The next two octets decide
//! which one an IE takes, as in the parser of a switch (AccelUPF section 3.3). Whatever has no place is no error: N4
//! decides.

mod groups;
mod ies;

use std::fmt;
use std::net::Ipv4Addr;

use causeway_pfcp as pfcp;
use causeway_types::{FSeid, Seid};
use pfcp::{Ie, MessageType, request_digest};

pub(crate) use groups::are_there;
pub use groups::{
    Action, CoreSide, FarUpdate, NewFar, NewPdi, NewPdr, Parameters, PdrUpdate, Peer, QERS, Qer, QerIds,
    Qers, Side, TunnelRequest,
};
use ies::Fields;

/// Octets of a header with SEID.
pub(crate) const HEADER: usize = 16;

/// Version 1 with a SEID, without a message that follows; the message priority may be there.
const FLAGS: u8 = 0x21;
const PRIORITY: u8 = 0x02;

/// How much the class takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// PDRs and FARs of one message, each: 1 as in the paper, or 2, which real SMFs send.
    pub pairs: usize,
    /// QERs of one message and of one PDR, each; at most [`QERS`].
    pub qers: usize,
    /// Update PDRs of one message, at most 2.
    pub pdr_updates: usize,
    /// In which order IEs may be.
    pub order: Order,
    /// A downlink FAR may buffer (BUFF, with or without NOCP).
    pub buffering: bool,
    /// A modification may request an End Marker (SNDEM).
    pub end_markers: bool,
    /// The longest message without its header, in octets.
    pub octets: usize,
}

/// The order of IEs in a message and in its groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// That of TS 29.244.
    Standard,
    /// Any, as N4 takes them.
    Any,
}

impl Class {
    /// As published: one PDR and one FAR a message (AccelUPF section 3.3).
    pub const PUBLISHED: Self = Self {
        pairs: 1,
        qers: 1,
        pdr_updates: 0,
        order: Order::Standard,
        buffering: false,
        end_markers: false,
        octets: 255,
    };
    /// What real SMFs send for a session of one pair of PDRs without URRs.
    pub const SMFS: Self = Self {
        pairs: 2,
        qers: QERS,
        pdr_updates: 2,
        order: Order::Any,
        buffering: true,
        end_markers: true,
        octets: 512,
    };
}

/// Why a message is not of the class. It goes to N4, unchanged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Misfit {
    /// The header: another version, no SEID, spare bits, or another message follows.
    Header,
    /// A message of another type, for example one about the node.
    Message,
    /// A length that does not fit what contains it, or too many octets.
    Length,
    /// This IE is of the class, but not at this place, or not so often.
    Order(u16),
    /// The class has no such IE here.
    Excluded(u16),
    /// The class does not take this value.
    Value(u16),
    /// This IE is missing.
    Missing(u16),
    /// The rules of the message do not make a pair of PDR and FAR for each direction.
    References,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |ie: &u16| pfcp::ie_name(*ie).unwrap_or("an IE of another release or of a vendor");
        match self {
            Self::Header => f.write_str("header"),
            Self::Message => f.write_str("message type"),
            Self::Length => f.write_str("length"),
            Self::Order(ie) => write!(f, "{}: order or number", name(ie)),
            Self::Excluded(ie) => write!(f, "{}: not in the class", name(ie)),
            Self::Value(ie) => write!(f, "{}: value", name(ie)),
            Self::Missing(ie) => write!(f, "{}: missing", name(ie)),
            Self::References => f.write_str("references between rules"),
        }
    }
}

impl std::error::Error for Misfit {}

/// A request of the class. Names of networks and references to existing rules are not checked yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request<'a> {
    /// The SEID of the header.
    pub seid: Seid,
    /// The sequence number, 24 bits.
    pub sequence: u32,
    /// A digest of SEID and body, which tells a repeated request from another one with its number.
    pub digest: u64,
    /// What is requested.
    pub kind: Kind<'a>,
}

/// What a request of the class requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind<'a> {
    /// A session.
    Establish(Establishment<'a>),
    /// Changes of a session.
    Modify(Modification<'a>),
    /// The end of a session.
    Delete {
        /// The CP F-SEID, which some SMFs send although TS 29.244 has no such IE here.
        cp: Option<CpFSeid>,
    },
}

/// A PFCP Session Establishment Request of the class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Establishment<'a> {
    /// The SMF's Node ID.
    pub node: Ipv4Addr,
    /// The CP F-SEID.
    pub cp: CpFSeid,
    /// The uplink.
    pub uplink: Direction<'a>,
    /// The downlink.
    pub downlink: Option<Direction<'a>>,
    /// The QERs.
    pub qers: Qers,
}

/// A PDR with its FAR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Direction<'a> {
    /// The PDR.
    pub pdr: NewPdr<'a>,
    /// Its FAR.
    pub far: NewFar<'a>,
}

/// A PFCP Session Modification Request of the class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Modification<'a> {
    /// The CP F-SEID, if it is sent again.
    pub cp: Option<CpFSeid>,
    /// The downlink, if it is created.
    pub downlink: Option<Direction<'a>>,
    /// The QERs that are created.
    pub qers: Qers,
    /// Changes of PDRs.
    pub pdrs: [Option<PdrUpdate<'a>>; 2],
    /// Changes of FARs.
    pub fars: [Option<FarUpdate<'a>>; 2],
}

/// A CP F-SEID with an IPv4 address alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpFSeid {
    /// The SEID, not zero.
    pub seid: Seid,
    /// The address.
    pub addr: Ipv4Addr,
}

/// The request in a datagram, if it is of the class.
///
/// # Errors
/// The first reason why it is not. N4 decides what to do with it.
///
/// ```
/// use causeway_accel::{Class, Kind, Misfit, fits};
/// use causeway_pfcp::{HeartbeatRequest, Message, RecoveryTimeStamp, SessionDeletionRequest};
/// use causeway_types::{NtpSeconds, Seid};
///
/// let mut deletion = Vec::new();
/// Message::from(SessionDeletionRequest::default()).encode(Some(Seid(7)), 1, &mut deletion)?;
/// assert_eq!(fits(&Class::SMFS, &deletion)?.kind, Kind::Delete { cp: None });
///
/// let mut heartbeat = Vec::new();
/// Message::from(HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(1)))).encode(None, 2, &mut heartbeat)?;
/// assert_eq!(fits(&Class::SMFS, &heartbeat), Err(Misfit::Header));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fits<'a>(class: &Class, datagram: &'a [u8]) -> Result<Request<'a>, Misfit> {
    let (head, body) = datagram.split_first_chunk::<HEADER>().ok_or(Misfit::Header)?;
    let [flags, message, high, low, rest @ ..] = *head;
    if flags & !PRIORITY != FLAGS {
        return Err(Misfit::Header);
    }
    if usize::from(u16::from_be_bytes([high, low])) + 4 != datagram.len() {
        return Err(Misfit::Length);
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7, n0, n1, n2, _] = rest;
    let seid = Seid(u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]));
    let kind = match MessageType::from_code(message) {
        Some(MessageType::SessionEstablishmentRequest) if seid == Seid(0) => {
            Kind::Establish(establishment(class, body)?)
        }
        Some(MessageType::SessionEstablishmentRequest) => return Err(Misfit::Header),
        Some(MessageType::SessionModificationRequest) => Kind::Modify(modification(class, body)?),
        Some(MessageType::SessionDeletionRequest) => {
            let ies = Fields::read(body, &OF_DELETION, class.order)?;
            Kind::Delete { cp: ies.optional(F_SEID).map(cp_f_seid).transpose()? }
        }
        _ => return Err(Misfit::Message),
    };
    // Last, so that what makes a message long is the reason.
    if body.len() > class.octets {
        return Err(Misfit::Length);
    }
    let sequence = u32::from_be_bytes([0, n0, n1, n2]);
    Ok(Request { seid, sequence, digest: request_digest(Some(seid), body), kind })
}

const NODE_ID: u16 = <pfcp::NodeId<'_> as Ie<'_>>::TYPE;
const F_SEID: u16 = FSeid::TYPE;
const CREATE_PDR: u16 = <pfcp::CreatePdr<'_> as Ie<'_>>::TYPE;
const CREATE_FAR: u16 = <pfcp::CreateFar<'_> as Ie<'_>>::TYPE;
const CREATE_QER: u16 = <pfcp::CreateQer<'_> as Ie<'_>>::TYPE;
const UPDATE_PDR: u16 = <pfcp::UpdatePdr<'_> as Ie<'_>>::TYPE;
const UPDATE_FAR: u16 = <pfcp::UpdateFar<'_> as Ie<'_>>::TYPE;
const PDN_TYPE: u16 = pfcp::PdnType::TYPE;
const DNN: u16 = <pfcp::Dnn<'_> as Ie<'_>>::TYPE;

/// The types of an establishment, of a modification and of a deletion, in the order of TS 29.244.
const OF_ESTABLISHMENT: [u16; 11] = [
    NODE_ID, F_SEID, CREATE_PDR, CREATE_PDR, CREATE_FAR, CREATE_FAR, CREATE_QER, CREATE_QER, CREATE_QER,
    PDN_TYPE, DNN,
];
const OF_MODIFICATION: [u16; 10] = [
    F_SEID, CREATE_PDR, CREATE_FAR, CREATE_QER, CREATE_QER, CREATE_QER, UPDATE_PDR, UPDATE_PDR, UPDATE_FAR,
    UPDATE_FAR,
];
const OF_DELETION: [u16; 1] = [F_SEID];

/// PDN Type IPv4 (TS 29.244 clause 8.2.79).
const IPV4: u8 = 1;

/// The flag of an IPv4 address in an F-SEID, and the type of an IPv4 Node ID.
const F_SEID_V4: u8 = 2;
const NODE_ID_V4: u8 = 0;

fn establishment<'a>(class: &Class, octets: &'a [u8]) -> Result<Establishment<'a>, Misfit> {
    let ies = Fields::read(octets, &OF_ESTABLISHMENT, class.order)?;
    let [kind, a, b, c, d] = ies.mandatory_array(NODE_ID)?;
    if kind != NODE_ID_V4 {
        return Err(Misfit::Value(NODE_ID));
    }
    let node = Ipv4Addr::new(a, b, c, d);
    let cp = cp_f_seid(ies.mandatory(F_SEID)?)?;
    let pdrs = ies.several(CREATE_PDR, class.pairs, |group| groups::create_pdr(group, class))?;
    let [Some(first), second] = pdrs else { return Err(Misfit::Missing(CREATE_PDR)) };
    let fars = ies.several(CREATE_FAR, class.pairs, |group| groups::create_far(group, class))?;
    let [Some(_), further] = fars else { return Err(Misfit::Missing(CREATE_FAR)) };
    let qers = new_qers(class, &ies)?;
    if ies.array::<1>(PDN_TYPE)?.is_some_and(|[kind]| kind != IPV4) {
        return Err(Misfit::Value(PDN_TYPE));
    }
    // The DNN is information for the UPF's operator; N4 ignores it.
    let is_uplink = |pdr: &NewPdr<'_>| pdr.pdi.source == Side::Access;
    let (uplink, downlink) = match (is_uplink(&first), second) {
        (true, None) => (first, None),
        (true, Some(second)) if !is_uplink(&second) => (first, Some(second)),
        (false, Some(second)) if is_uplink(&second) => (second, Some(first)),
        _ => return Err(Misfit::References),
    };
    let uplink = paired(uplink, &fars, &qers)?;
    let downlink = downlink.map(|pdr| paired(pdr, &fars, &qers)).transpose()?;
    let is_one_pair = match &downlink {
        None => further.is_none(),
        Some(downlink) => {
            uplink.pdr.id != downlink.pdr.id
                && uplink.far.id != downlink.far.id
                && uplink.pdr.pdi.ue.is_none_or(|ue| Some(ue) == downlink.pdr.pdi.ue)
        }
    };
    // Buffering is for packets to the UE.
    let buffers = matches!(uplink.far.action, Action::Buffer { .. });
    if is_one_pair && !buffers {
        Ok(Establishment { node, cp, uplink, downlink, qers })
    } else {
        Err(Misfit::References)
    }
}

fn modification<'a>(class: &Class, octets: &'a [u8]) -> Result<Modification<'a>, Misfit> {
    let ies = Fields::read(octets, &OF_MODIFICATION, class.order)?;
    let cp = ies.optional(F_SEID).map(cp_f_seid).transpose()?;
    let pdr = ies.optional(CREATE_PDR).map(|group| groups::create_pdr(group, class)).transpose()?;
    let far = ies.optional(CREATE_FAR).map(|group| groups::create_far(group, class)).transpose()?;
    let qers = new_qers(class, &ies)?;
    let pdrs: [Option<PdrUpdate<'_>>; 2] =
        ies.several(UPDATE_PDR, class.pdr_updates, |group| groups::update_pdr(group, class))?;
    let fars: [Option<FarUpdate<'_>>; 2] =
        ies.several(UPDATE_FAR, class.pairs, |group| groups::update_far(group, class))?;
    let downlink = match (pdr, far) {
        (None, None) => None,
        (Some(pdr), Some(far)) if pdr.pdi.source != Side::Access && pdr.far == far.id => {
            Some(Direction { pdr, far })
        }
        _ => return Err(Misfit::References),
    };
    let is_once = groups::are_distinct(pdrs.iter().flatten().map(|pdr| pdr.id))
        && groups::are_distinct(fars.iter().flatten().map(|far| far.id));
    if is_once { Ok(Modification { cp, downlink, qers, pdrs, fars }) } else { Err(Misfit::References) }
}

/// The Create QERs, each with an id of its own.
fn new_qers<const N: usize>(class: &Class, ies: &Fields<'_, N>) -> Result<Qers, Misfit> {
    let qers: Qers = ies.several(CREATE_QER, class.qers, |group| groups::create_qer(group, class.order))?;
    let is_once = groups::are_distinct(qers.iter().flatten().map(|qer| qer.id));
    if is_once { Ok(qers) } else { Err(Misfit::References) }
}

/// The PDR with its FAR among these; it refers to these QERs or none.
fn paired<'a>(pdr: NewPdr<'a>, fars: &[Option<NewFar<'a>>], qers: &Qers) -> Result<Direction<'a>, Misfit> {
    let far = fars.iter().flatten().find(|far| far.id == pdr.far).ok_or(Misfit::References)?;
    if are_there(&pdr.qers, qers) { Ok(Direction { pdr, far: *far }) } else { Err(Misfit::References) }
}

fn cp_f_seid(value: &[u8]) -> Result<CpFSeid, Misfit> {
    let [flags, s0, s1, s2, s3, s4, s5, s6, s7, a, b, c, d] =
        *<&[u8; 13]>::try_from(value).map_err(|_| Misfit::Value(F_SEID))?;
    let seid = Seid(u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]));
    if flags != F_SEID_V4 || seid == Seid(0) {
        return Err(Misfit::Value(F_SEID));
    }
    Ok(CpFSeid { seid, addr: Ipv4Addr::new(a, b, c, d) })
}
