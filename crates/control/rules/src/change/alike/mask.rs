//! The words of a request, without what is its session's own.

use std::net::Ipv4Addr;

use causeway_pfcp::{
    CreateFar, CreatePdr, CreateTrafficEndpoint, ForwardingParameters, Ie, OuterHeaderCreation, Pdi,
    RecoveryTimeStamp, UeIpAddress, UserId,
};
use causeway_types::{FSeid, FarId, Teid};

/// FARs with a tunnel of their own, at most.
const TUNNELS: usize = 4;

/// The flags of a UE IP Address that holds an IPv4 address and nothing else: V4, and S/D as it may be.
const V4: u8 = 0x02;
const DESTINATION: u8 = 0x04;

/// The description of GTP-U over IPv4 in Outer Header Creation.
const GTPU_IPV4: [u8; 2] = [1, 0];

/// What is a session's own in the request for it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Own {
    /// The IPv4 address of the UE, in all PDIs the same.
    pub(super) ue: Option<Ipv4Addr>,
    /// The TEIDs of tunnels that FARs lead into, in the order of the message.
    pub(super) tunnels: [Option<(FarId, Teid)>; TUNNELS],
}

impl Own {
    /// The tunnel that a FAR leads into.
    pub(super) fn tunnel_of(&self, far: FarId) -> Option<Teid> {
        self.tunnels.iter().flatten().find(|(of, _)| *of == far).map(|(_, teid)| *teid)
    }
}

/// Takes out of the body of a request what is its session's own, and what changes no rules. `None`: it is worded so that
/// this cannot be told apart for certain.
pub(super) fn mask(body: &mut [u8]) -> Option<Own> {
    let mut own = Own::default();
    each_ie(body, |ie_type, value| {
        match ie_type {
            <CreatePdr<'_> as Ie<'_>>::TYPE => mask_pdr(value, &mut own)?,
            <CreateFar<'_> as Ie<'_>>::TYPE => mask_far(value, &mut own)?,
            <CreateTrafficEndpoint<'_> as Ie<'_>>::TYPE => return None,
            // Rules do not depend on them; that they are well-formed was seen to by whoever decoded the message.
            FSeid::TYPE | RecoveryTimeStamp::TYPE | <UserId<'_> as Ie<'_>>::TYPE => value.fill(0),
            _ => {}
        }
        Some(())
    })?;
    Some(own)
}

fn mask_pdr(group: &mut [u8], own: &mut Own) -> Option<()> {
    let mut pdi = None;
    each_ie(group, |ie_type, value| match ie_type {
        <Pdi<'_> as Ie<'_>>::TYPE => once(&mut pdi, value),
        _ => Some(()),
    })?;
    let mut ue = None;
    each_ie(pdi?, |ie_type, value| match ie_type {
        UeIpAddress::TYPE => once(&mut ue, value),
        _ => Some(()),
    })?;
    match ue {
        Some([flags, address @ ..]) if *flags & !DESTINATION == V4 => {
            let octets: [u8; 4] = (&*address).try_into().ok()?;
            let found = Ipv4Addr::from(octets);
            address.fill(0);
            (*own.ue.get_or_insert(found) == found).then_some(())
        }
        // Another kind of address is one of the words.
        _ => Some(()),
    }
}

fn mask_far(group: &mut [u8], own: &mut Own) -> Option<()> {
    let (mut id, mut forwarding, mut creation) = (None, None, None);
    each_ie(group, |ie_type, value| match ie_type {
        FarId::TYPE => once(&mut id, value),
        <ForwardingParameters<'_> as Ie<'_>>::TYPE => once(&mut forwarding, value),
        _ => Some(()),
    })?;
    let id = FarId::decode(id?).ok()?;
    let Some(forwarding) = forwarding else { return Some(()) };
    each_ie(forwarding, |ie_type, value| match ie_type {
        OuterHeaderCreation::TYPE => once(&mut creation, value),
        _ => Some(()),
    })?;
    if let Some([a, b, teid @ .., w, x, y, z]) = creation
        && [*a, *b] == GTPU_IPV4
        && [*w, *x, *y, *z] != [0; 4]
        && let Ok(octets) = <[u8; 4]>::try_from(&*teid)
        && let Some(found) = Teid::new(u32::from_be_bytes(octets))
    {
        // Not zero, which is no TEID and asks for something else.
        teid.fill(0xff);
        *own.tunnels.iter_mut().find(|slot| slot.is_none())? = Some((id, found));
    }
    Some(())
}

/// Of what is there twice only the first counts: such a wording is not worth understanding.
fn once<'a>(held: &mut Option<&'a mut [u8]>, value: &'a mut [u8]) -> Option<()> {
    held.replace(value).is_none().then_some(())
}

/// Does something with every IE, the value to be changed; `None` if an IE goes beyond the end, or nothing is to be done
/// with one.
fn each_ie<'a>(octets: &'a mut [u8], mut act: impl FnMut(u16, &'a mut [u8]) -> Option<()>) -> Option<()> {
    let mut rest = octets;
    while !rest.is_empty() {
        let (head, after) = rest.split_first_chunk_mut()?;
        let [a, b, c, d]: [u8; 4] = *head;
        let (value, next) = after.split_at_mut_checked(usize::from(u16::from_be_bytes([c, d])))?;
        act(u16::from_be_bytes([a, b]), value)?;
        rest = next;
    }
    Some(())
}
