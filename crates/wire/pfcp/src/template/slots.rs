//! The slots of a request: the places of the values that differ among requests of one template.

use std::net::Ipv4Addr;
use std::ops::Range;

use causeway_types::{FSeid, FTeidV4, FarId, NtpSeconds, PdrId, QerId, Seid, Teid};

use crate::{
    CreateFar, CreatePdr, CreateQer, CreateTrafficEndpoint, FTeid, ForwardingParameters, Gbr, Ie, Mbr,
    NodeId, OuterHeaderCreation, Pdi, RawIes, RecoveryTimeStamp, SdfFilter, UeIpAddress, UpdateFar,
    UpdateForwardingParameters, UpdatePdr, UserId,
};

/// The most tunnels of each kind in slots.
pub const MAX_TUNNELS: usize = 2;

/// The flags of a UE IP Address that contains an IPv4 address only: V4, with either value of S/D.
const V4: u8 = 0x02;
const DESTINATION: u8 = 0x04;

/// The flags of an assigned F-TEID, over IPv4 alone, and over both IP versions.
const TUNNEL_V4: u8 = 0x01;
const TUNNEL_DUAL: u8 = 0x03;
/// The flag of an F-TEID that the UPF chooses, which is no parameter.
const CHOOSE: u8 = 0x04;

/// The flags of an F-SEID with an IPv4 address only.
const FSEID_V4: u8 = 0x02;

/// The flags of an SDF Filter: it has a flow description; and an SDF Filter ID, by which other PDRs refer to it.
const FLOW: u8 = 0x01;
const BIDIRECTIONAL: u8 = 0x10;

/// Octets of MBR and GBR.
const RATES: usize = 10;

/// The description of GTP-U over IPv4 in Outer Header Creation.
const GTPU_IPV4: [u8; 2] = [1, 0];

/// The octets of one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    at: Range<usize>,
    what: SlotKind,
}

impl Slot {
    pub(super) const fn at(&self) -> &Range<usize> {
        &self.at
    }

    /// The marker that replaces the value in the hash. Two different tunnels have other markers than one tunnel
    /// that occurs twice.
    pub(super) const fn marker(&self) -> u8 {
        match self.what {
            SlotKind::AssignedTeid(number) => number as u8,
            _ => u8::MAX,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SlotKind {
    /// The IPv4 address of the UE, the same in all PDIs.
    Ue,
    /// The remote tunnel of a FAR: TEID and address. Neither is zero, which would have another meaning.
    Remote,
    /// A local tunnel: its TEID and address.
    Local,
    /// The TEID of a local tunnel that the SMF assigned: its index among those of the session, from zero.
    AssignedTeid(usize),
    /// CP F-SEID.
    CpFSeid,
    /// Recovery Time Stamp.
    RecoveryTimeStamp,
    /// User ID, on which no rule depends.
    User,
    /// MBR or GBR.
    Rate,
    /// The text of a flow description.
    Flow,
}

impl SlotKind {
    /// The slot holds a bit rate or a flow description.
    const fn is_policy(self) -> bool {
        matches!(self, Self::Rate | Self::Flow)
    }
}

/// The slots of a request, in the order of the message.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RequestSlots {
    all: Vec<Slot>,
    fars: [Option<FarId>; MAX_TUNNELS],
    rates: Vec<(QerId, RateSlot)>,
    flows: Vec<(PdrId, usize)>,
}

/// A bit rate IE of a QER.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateSlot {
    /// MBR.
    Maximum,
    /// GBR.
    Guaranteed,
}

/// The values of a request in its slots.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RequestValues {
    /// The IPv4 address of the UE, the same in all PDIs.
    pub ue: Option<Ipv4Addr>,
    /// The TEIDs of the local tunnels that the SMF assigned, each once, in the order of the message.
    pub assigned: [Option<Teid>; MAX_TUNNELS],
    /// The remote tunnels of FARs over IPv4, in the order of [`RequestSlots::fars`].
    pub remotes: [Option<FTeidV4>; MAX_TUNNELS],
    /// The existing local tunnels that a modification refers to, in the order of the message.
    pub locals: [Option<FTeidV4>; MAX_TUNNELS],
    /// The CP F-SEID.
    pub cp: Option<FSeid>,
    /// The Recovery Time Stamp.
    pub recovery: Option<NtpSeconds>,
}

/// The bit rates and flow descriptions of a request in its slots.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PolicyValues<'a> {
    /// In the order of [`RequestSlots::rates`]; GBR has the same coding as MBR.
    pub rates: Vec<Mbr>,
    /// In the order of [`RequestSlots::flows`].
    pub flows: Vec<&'a str>,
}

impl RequestSlots {
    /// The FARs whose remote tunnel has a slot, in the order of the message.
    pub const fn fars(&self) -> &[Option<FarId>; MAX_TUNNELS] {
        &self.fars
    }

    /// The bit rates with a slot, in the order of the message.
    pub fn rates(&self) -> &[(QerId, RateSlot)] {
        &self.rates
    }

    /// The flow descriptions with a slot, in the order of the message: the PDR, and the index of its SDF filter.
    pub fn flows(&self) -> &[(PdrId, usize)] {
        &self.flows
    }

    /// The place of the User ID, of which the first counts; `None`: the requests have none. O(slots).
    pub fn user(&self) -> Option<Range<usize>> {
        self.all.iter().find(|slot| slot.what == SlotKind::User).map(|slot| slot.at.clone())
    }

    /// A bit rate or a flow description has a slot.
    pub const fn has_policy(&self) -> bool {
        !(self.rates.is_empty() && self.flows.is_empty())
    }

    pub(super) fn all(&self) -> &[Slot] {
        &self.all
    }

    /// The slots of an establishment body. `None`: its variable values cannot be found with certainty.
    pub(super) fn establishment(body: &[u8]) -> Option<Self> {
        let mut slots = Self::default();
        let (mut cp, mut stamp) = (None, None);
        each_ie(body, 0, |ie_type, at| {
            match ie_type {
                <CreatePdr<'_> as Ie<'_>>::TYPE => slots.of_pdr(body, at)?,
                <CreateFar<'_> as Ie<'_>>::TYPE => {
                    slots.of_far(body, at, <ForwardingParameters<'_> as Ie<'_>>::TYPE)?;
                }
                <CreateQer<'_> as Ie<'_>>::TYPE => slots.of_qer(body, at)?,
                <CreateTrafficEndpoint<'_> as Ie<'_>>::TYPE => return None,
                FSeid::TYPE => {
                    once(&mut cp, at.clone())?;
                    slots.add(SlotKind::CpFSeid, at);
                }
                RecoveryTimeStamp::TYPE => {
                    once(&mut stamp, at.clone())?;
                    slots.add(SlotKind::RecoveryTimeStamp, at);
                }
                <UserId<'_> as Ie<'_>>::TYPE => slots.add(SlotKind::User, at),
                _ => {}
            }
            Some(())
        })?;
        Some(slots)
    }

    /// The same with the policy as fixed octets.
    pub(super) fn without_policy(&self) -> Self {
        let all = self.all.iter().filter(|slot| !slot.what.is_policy()).cloned().collect();
        Self { all, fars: self.fars, ..Self::default() }
    }

    /// The slots of a modification body that updates FARs and PDRs, names the SMF and does nothing else. `None`: as
    /// for an establishment, or it is another modification.
    pub(super) fn modification(body: &[u8]) -> Option<Self> {
        let mut slots = Self::default();
        let (mut cp, mut node) = (None, None);
        each_ie(body, 0, |ie_type, at| match ie_type {
            <UpdateFar<'_> as Ie<'_>>::TYPE => {
                slots.of_far(body, at, <UpdateForwardingParameters<'_> as Ie<'_>>::TYPE)
            }
            <UpdatePdr<'_> as Ie<'_>>::TYPE => slots.of_updated_pdr(body, at),
            FSeid::TYPE => {
                slots.add(SlotKind::CpFSeid, at.clone());
                once(&mut cp, at)
            }
            <NodeId<'_> as Ie<'_>>::TYPE => once(&mut node, at),
            _ => None,
        })?;
        Some(slots)
    }

    /// The CP F-SEID at its place in a body that is assumed to have these slots.
    pub(super) fn peek_cp_f_seid(&self, body: &[u8]) -> Option<FSeid> {
        let slot = self.all.iter().find(|slot| slot.what == SlotKind::CpFSeid)?;
        f_seid_of(body.get(slot.at.clone())?)
    }

    fn add(&mut self, what: SlotKind, at: Range<usize>) {
        self.all.push(Slot { at, what });
    }

    fn of_pdr(&mut self, body: &[u8], group: Range<usize>) -> Option<()> {
        let pdi = pdi_of(body, group.clone())??;
        self.of_filters(body, group, pdi.clone())?;
        let Some(tunnel) = self.of_pdi(body, pdi)? else { return Some(()) };
        match body.get(tunnel.clone())? {
            [TUNNEL_V4, _, _, _, _, addr @ ..] if addr.len() == 4 => self.of_given_tunnel(body, tunnel),
            [TUNNEL_DUAL, _, _, _, _, addr @ ..] if addr.len() == 20 => self.of_given_tunnel(body, tunnel),
            _ => Some(()),
        }
    }

    /// The flow descriptions of a PDI, except those that other PDRs may refer to.
    fn of_filters(&mut self, body: &[u8], group: Range<usize>, pdi: Range<usize>) -> Option<()> {
        let mut id = None;
        each_ie(body.get(group.clone())?, group.start, |ie_type, at| match ie_type {
            PdrId::TYPE => once(&mut id, at),
            _ => Some(()),
        })?;
        let mut filters = 0..;
        each_ie(body.get(pdi.clone())?, pdi.start, |ie_type, at| {
            if ie_type != <SdfFilter<'_> as Ie<'_>>::TYPE {
                return Some(());
            }
            let number = filters.next()?;
            if let [flags, _, a, b, rest @ ..] = body.get(at.clone())?
                && flags & (FLOW | BIDIRECTIONAL) == FLOW
            {
                let length = usize::from(u16::from_be_bytes([*a, *b]));
                (length <= rest.len()).then_some(())?;
                let id = PdrId::decode(body.get(id.clone()?)?).ok()?;
                self.flows.push((id, number));
                self.add(SlotKind::Flow, at.start + 4..at.start + 4 + length);
            }
            Some(())
        })
    }

    fn of_qer(&mut self, body: &[u8], group: Range<usize>) -> Option<()> {
        let (mut id, mut mbr, mut gbr) = (None, None, None);
        each_ie(body.get(group.clone())?, group.start, |ie_type, at| match ie_type {
            QerId::TYPE => once(&mut id, at),
            Mbr::TYPE => once(&mut mbr, at),
            Gbr::TYPE => once(&mut gbr, at),
            _ => Some(()),
        })?;
        let id = QerId::decode(body.get(id?)?).ok()?;
        for (rate, at) in [(RateSlot::Maximum, mbr), (RateSlot::Guaranteed, gbr)] {
            if let Some(at) = at.filter(|at| at.len() == RATES) {
                self.rates.push((id, rate));
                self.add(SlotKind::Rate, at);
            }
        }
        Some(())
    }

    /// A tunnel that the SMF assigned, at a local address that all assigned tunnels share.
    fn of_given_tunnel(&mut self, body: &[u8], tunnel: Range<usize>) -> Option<()> {
        let (teid, addr) = (tunnel.start + 1..tunnel.start + 5, tunnel.start + 5..tunnel.end);
        let mut all = self.all.iter().filter_map(|slot| match slot.what {
            SlotKind::AssignedTeid(number) => Some((number, slot.at.clone())),
            _ => None,
        });
        let mut next = 0;
        let known = all.find_map(|(number, at)| {
            next = next.max(number + 1);
            let its_addr = at.end..at.end + addr.len();
            // With the flags before it: an address of another length is another address.
            let is_there = body.get(at.start - 1) == body.get(tunnel.start)
                && body.get(its_addr) == body.get(addr.clone());
            match (body.get(at) == body.get(teid.clone()), is_there) {
                (_, false) => Some(None),
                (true, true) => Some(Some(number)),
                (false, true) => None,
            }
        });
        let number = known.unwrap_or(Some(next))?;
        (number < MAX_TUNNELS).then(|| self.add(SlotKind::AssignedTeid(number), teid))
    }

    /// The PDR refers to its existing tunnel.
    fn of_updated_pdr(&mut self, body: &[u8], group: Range<usize>) -> Option<()> {
        let Some(pdi) = pdi_of(body, group)? else { return Some(()) };
        let Some(tunnel) = self.of_pdi(body, pdi)? else { return Some(()) };
        match body.get(tunnel.clone())? {
            [flags, ..] if flags & CHOOSE != 0 => {}
            [TUNNEL_V4, _, _, _, _, _, _, _, _] => self.add(SlotKind::Local, tunnel.start + 1..tunnel.end),
            _ => return None,
        }
        Some(())
    }

    /// Returns the place of the Local F-TEID, if there is one.
    fn of_pdi(&mut self, body: &[u8], pdi: Range<usize>) -> Option<Option<Range<usize>>> {
        let (mut ue, mut tunnel) = (None, None);
        each_ie(body.get(pdi.clone())?, pdi.start, |ie_type, at| match ie_type {
            UeIpAddress::TYPE => once(&mut ue, at),
            FTeid::TYPE => once(&mut tunnel, at),
            _ => Some(()),
        })?;
        let Some(ue) = ue else { return Some(tunnel) };
        // An IPv6 address alone is part of the template. An IPv4 address beside it could equal that of another PDI
        // by chance.
        if let Some([flags, address @ ..]) = body.get(ue.clone())
            && flags & V4 != 0
        {
            (flags & !DESTINATION == V4 && address.len() == 4).then_some(())?;
            self.add(SlotKind::Ue, ue.start + 1..ue.end);
        }
        Some(tunnel)
    }

    fn of_far(&mut self, body: &[u8], group: Range<usize>, parameters: u16) -> Option<()> {
        let (mut id, mut forwarding, mut creation) = (None, None, None);
        each_ie(body.get(group.clone())?, group.start, |ie_type, at| match ie_type {
            FarId::TYPE => once(&mut id, at),
            _ if ie_type == parameters => once(&mut forwarding, at),
            _ => Some(()),
        })?;
        let id = FarId::decode(body.get(id?)?).ok()?;
        let Some(forwarding) = forwarding else { return Some(()) };
        each_ie(body.get(forwarding.clone())?, forwarding.start, |ie_type, at| match ie_type {
            OuterHeaderCreation::TYPE => once(&mut creation, at),
            _ => Some(()),
        })?;
        let Some(creation) = creation else { return Some(()) };
        if let Some([a, b, remote @ ..]) = body.get(creation.clone())
            && [*a, *b] == GTPU_IPV4
            && remote_of(remote).is_some()
        {
            *self.fars.iter_mut().find(|slot| slot.is_none())? = Some(id);
            self.add(SlotKind::Remote, creation.start + 2..creation.end);
        }
        Some(())
    }

    /// The slot values of a request with these slots. `None`: a value is not allowed in its slot.
    pub(super) fn values(&self, body: &[u8]) -> Option<RequestValues> {
        let mut values = RequestValues::default();
        let (mut remotes, mut locals) = (values.remotes.iter_mut(), values.locals.iter_mut());
        for slot in &self.all {
            let value = body.get(slot.at.clone())?;
            match slot.what {
                SlotKind::Ue => {
                    let found = Ipv4Addr::from(<[u8; 4]>::try_from(value).ok()?);
                    (*values.ue.get_or_insert(found) == found).then_some(())?;
                }
                SlotKind::Remote => *remotes.next()? = Some(remote_of(value)?),
                SlotKind::Local => *locals.next()? = Some(remote_of(value)?),
                SlotKind::AssignedTeid(number) => {
                    let found = Teid::new(u32::from_be_bytes(value.try_into().ok()?))?;
                    (*values.assigned.get_mut(number)?.get_or_insert(found) == found).then_some(())?;
                }
                SlotKind::CpFSeid => values.cp = Some(f_seid_of(value)?),
                SlotKind::RecoveryTimeStamp => {
                    values.recovery = Some(RecoveryTimeStamp::decode(value).ok()?.0);
                }
                SlotKind::User => drop(UserId::decode(value).ok()?),
                SlotKind::Rate | SlotKind::Flow => {}
            }
        }
        // Tunnels that differ in one session of a template differ in all of them.
        let [one, other] = values.assigned;
        (one.is_none() || one != other).then_some(values)
    }
}

impl RequestSlots {
    /// The bit rates and flow descriptions of a body with these slots. `None`: a value cannot be decoded.
    pub fn policy<'a>(&self, body: &'a [u8]) -> Option<PolicyValues<'a>> {
        let mut values = PolicyValues::default();
        values.rates.reserve_exact(self.rates.len());
        values.flows.reserve_exact(self.flows.len());
        for slot in self.all.iter().filter(|slot| slot.what.is_policy()) {
            let octets = body.get(slot.at.clone())?;
            match slot.what {
                SlotKind::Flow => values.flows.push(str::from_utf8(octets).ok()?),
                _ => values.rates.push(Mbr::decode(octets).ok()?),
            }
        }
        Some(values)
    }
}

/// The CP F-SEID of an establishment body, without decoding the rest.
pub fn peek_cp_f_seid(body: &[u8]) -> Option<FSeid> {
    let mut ies = RawIes::new(body).map_while(Result::ok);
    ies.find(|ie| ie.ie_type == FSeid::TYPE).and_then(|ie| FSeid::decode(ie.value).ok())
}

/// The place of the PDI of a PDR, if it has one. `None`: it has more than one.
fn pdi_of(body: &[u8], group: Range<usize>) -> Option<Option<Range<usize>>> {
    let mut pdi = None;
    each_ie(body.get(group.clone())?, group.start, |ie_type, at| match ie_type {
        <Pdi<'_> as Ie<'_>>::TYPE => once(&mut pdi, at),
        _ => Some(()),
    })?;
    Some(pdi)
}

/// The Node ID of a request, if it has one. `None`: it is malformed.
pub fn node_id(body: &[u8]) -> Option<Option<causeway_types::NodeId>> {
    let mut node = None;
    each_ie(body, 0, |ie_type, at| match ie_type {
        <NodeId<'_> as Ie<'_>>::TYPE => once(&mut node, at),
        _ => Some(()),
    })?;
    let Some(at) = node else { return Some(None) };
    NodeId::decode(body.get(at)?).ok().map(|node| Some(node.to_owned()))
}

fn remote_of(octets: &[u8]) -> Option<FTeidV4> {
    let [a, b, c, d, addr @ ..] = <[u8; 8]>::try_from(octets).ok()?;
    let (teid, addr) = (Teid::new(u32::from_be_bytes([a, b, c, d]))?, Ipv4Addr::from(addr));
    (!addr.is_unspecified()).then_some(FTeidV4 { teid, addr })
}

fn f_seid_of(octets: &[u8]) -> Option<FSeid> {
    // The common case.
    if let [FSEID_V4, a, b, c, d, e, f, g, h, ip @ ..] = octets
        && let Ok(ip) = <[u8; 4]>::try_from(ip)
    {
        let seid = Seid(u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]));
        return Some(FSeid { seid, addr: Ipv4Addr::from(ip).into() });
    }
    FSeid::decode(octets).ok()
}

/// Only the first of repeated IEs counts: such requests are not cached.
fn once(held: &mut Option<Range<usize>>, at: Range<usize>) -> Option<()> {
    held.replace(at).is_none().then_some(())
}

/// Calls `act` with the type and the place of the value of every IE, counted from `start` on; `None` if an IE
/// exceeds the end, or `act` returns `None`.
fn each_ie(octets: &[u8], start: usize, mut act: impl FnMut(u16, Range<usize>) -> Option<()>) -> Option<()> {
    let (mut rest, mut at) = (octets, start);
    while let Some(([a, b, c, d], after)) = rest.split_first_chunk() {
        let (_, next) = after.split_at_checked(usize::from(u16::from_be_bytes([*c, *d])))?;
        let end = at + 4 + (after.len() - next.len());
        act(u16::from_be_bytes([*a, *b]), at + 4..end)?;
        (rest, at) = (next, end);
    }
    rest.is_empty().then_some(())
}
