//! Addresses and tunnels of a session beyond those that most sessions have: an IPv6 prefix, and more tunnels than
//! [`SessionParams`] has places for.

use std::net::Ipv6Addr;

use causeway_types::{FTeid, FTeidV4, FarId, Ipv6Net, Teid};

use super::params::{MAX_TUNNELS, SessionParams};
use super::session_profile::RemoteFars;
use crate::RuleSet;

/// Maximum number of further tunnels of each kind. Equal remote tunnels count once.
pub const MAX_FURTHER_TUNNELS: usize = 4;

/// The length of the IPv6 prefix of nearly all UEs, in bits.
pub const UE_PREFIX_BITS: u8 = 64;

/// What [`SessionParams`] has no place for.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct FurtherParams {
    /// The IPv6 prefix of the UE, the same in all PDIs. It has 64 bits.
    pub prefix: Option<Ipv6Net>,
    /// The TEIDs of further local tunnels.
    pub tunnels: Box<[Teid]>,
    /// Further remote tunnels, none of which is equal to another one.
    pub remotes: Box<[FTeid]>,
}

impl FurtherParams {
    /// The upper half of the UE's IPv6 addresses.
    pub fn upper_half(&self) -> Option<u64> {
        self.prefix.map(|prefix| upper_half(prefix.addr()))
    }
}

/// The upper half of an IPv6 address.
pub const fn upper_half(address: Ipv6Addr) -> u64 {
    (address.to_bits() >> 64) as u64
}

/// Where the values of [`FurtherParams`] are in the rules of a profile.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FurtherSlots {
    /// All IPv6 prefixes are that of the UE.
    pub(super) has_prefix: bool,
    /// The number of further local tunnels.
    pub(super) tunnels: usize,
    /// FARs whose tunnel is that of this number: first come those of [`SessionParams::remotes`], then the further ones.
    pub(super) fars: Vec<(FarId, usize)>,
    /// The IP versions of each further remote tunnel.
    forms: Vec<(bool, bool)>,
}

impl FurtherSlots {
    pub(super) const fn is_empty(&self) -> bool {
        !self.has_prefix && self.tunnels == 0 && self.fars.is_empty()
    }

    /// The number of the tunnel of a FAR.
    pub(super) fn number_of(&self, far: FarId) -> Option<usize> {
        self.fars.iter().find(|(id, _)| *id == far).map(|(_, number)| *number)
    }
}

/// All addresses and tunnels of a session as parameters.
pub(super) struct AllParams {
    pub(super) fars: RemoteFars,
    pub(super) params: SessionParams,
    pub(super) tunnels: Vec<FTeid>,
    pub(super) slots: FurtherSlots,
    pub(super) further: Option<Box<FurtherParams>>,
}

impl AllParams {
    /// `None`: there are too many tunnels, or the prefix has another length than 64 bits.
    pub(super) fn of(rules: &RuleSet) -> Option<Self> {
        let ues = || rules.pdrs.values().filter_map(|pdr| pdr.pdi.ue);
        let prefix = ues().find_map(|ue| ue.v6);
        if prefix.is_some_and(|prefix| prefix.prefix_len() != UE_PREFIX_BITS) {
            return None;
        }
        let tunnels = tunnels_of(rules);
        let (fars, remotes, of_fars, further) = remotes_of(rules);
        let params = SessionParams { ue: ues().find_map(|ue| ue.v4), remotes, ..SessionParams::default() };
        let form = |tunnel: &FTeid| (tunnel.addr.v4.is_some(), tunnel.addr.v6.is_some());
        let slots = FurtherSlots {
            has_prefix: prefix.is_some(),
            tunnels: tunnels.len().saturating_sub(MAX_TUNNELS),
            fars: of_fars,
            forms: further.iter().map(form).collect(),
        };
        if slots.tunnels.max(further.len()) > MAX_FURTHER_TUNNELS {
            return None;
        }
        let further = (!slots.is_empty()).then(|| {
            let tunnels = tunnels.iter().skip(MAX_TUNNELS).map(|tunnel| tunnel.teid).collect();
            Box::new(FurtherParams { prefix, tunnels, remotes: further.into() })
        });
        Some(Self { fars, params, tunnels, slots, further })
    }
}

/// The local tunnels of the rules, each once.
pub(super) fn tunnels_of(rules: &RuleSet) -> Vec<FTeid> {
    let mut tunnels = Vec::new();
    for tunnel in rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel) {
        if !tunnels.contains(&tunnel) {
            tunnels.push(tunnel);
        }
    }
    tunnels
}

type Remotes = (RemoteFars, [Option<FTeidV4>; MAX_TUNNELS], Vec<(FarId, usize)>, Vec<FTeid>);

/// The remote tunnels of the rules: the first ones over IPv4 are those of the session parameters.
fn remotes_of(rules: &RuleSet) -> Remotes {
    let (mut fars, mut remotes) = ([None; MAX_TUNNELS], [None; MAX_TUNNELS]);
    let (mut of_fars, mut further) = (Vec::new(), Vec::<FTeid>::new());
    let mut places = fars.iter_mut().zip(&mut remotes);
    for far in rules.fars.values() {
        let Some(tunnel) = far.forwarding.as_ref().and_then(|it| it.tunnel()) else { continue };
        if let Some(v4) = FTeidV4::of(tunnel)
            && let Some((id, remote)) = places.next()
        {
            (*id, *remote) = (Some(far.id), Some(v4));
        } else {
            of_fars.push((far.id, tunnel));
        }
    }
    let mut number_of = |tunnel: FTeid| {
        let usual = remotes.iter().position(|remote| remote.map(FTeid::from) == Some(tunnel));
        usual.unwrap_or_else(|| {
            let known = further.iter().position(|known| *known == tunnel);
            MAX_TUNNELS
                + known.unwrap_or_else(|| {
                    further.push(tunnel);
                    further.len() - 1
                })
        })
    };
    let of_fars = of_fars.into_iter().map(|(far, tunnel)| (far, number_of(tunnel))).collect();
    (fars, remotes, of_fars, further)
}
