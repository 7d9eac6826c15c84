//! The drops of each session: by reason, with the last one, for operators.
//!
//! A drop is recorded under the key of its packet: the tunnel that it came by, or the address of the UE that it goes to.
//! Which session that is, is looked up when somebody asks. So a packet that is not dropped costs nothing, and a dropped
//! one a probe in a small table. The table is bounded: of the keys that share a set, the one whose last drop is the
//! oldest gives way.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_dataplane::{DropReason, SessionDrops};
use causeway_model::ProfiledSession;
use causeway_packet::Meta;
use causeway_types::{Seid, Teid, Time};

use crate::engine::SlowPath;

/// The sets, and the keys of each: 2,048 keys at most, of which a session has one for each tunnel and UE address.
const SETS: usize = 512;
const WAYS: usize = 4;

/// The key of a dropped packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum DropKey {
    /// It came by this local tunnel.
    Tunnel(Teid, IpAddr),
    /// It goes to this address; of an IPv6 address, the first 64 bits.
    Ue(IpAddr),
    /// It was buffered for this session.
    Session(Seid),
}

impl DropKey {
    fn of_ue(address: IpAddr) -> Self {
        Self::Ue(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
        })
    }

    /// The key of a packet as a port received it. `None`: it has none, as an Ethernet frame.
    fn of_packet(meta: &Meta, packet: &[u8]) -> Option<Self> {
        match meta {
            Meta::Gtpu { local, .. } => {
                let teid = u32::from_be_bytes(*packet.get(4..)?.first_chunk()?);
                Some(Self::Tunnel(Teid::new(teid)?, *local))
            }
            Meta::Ip => match packet.first()? >> 4 {
                4 => Some(Self::Ue(Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?).into())),
                6 => {
                    let address = Ipv6Addr::from(*packet.get(24..)?.first_chunk::<16>()?);
                    Some(Self::of_ue(address.into()))
                }
                _ => None,
            },
            Meta::Ethernet => None,
        }
    }
}

/// The drops under one key.
#[derive(Clone, Debug)]
struct Entry {
    key: DropKey,
    /// The address of the last packet to a UE, by which its session is found.
    address: Option<IpAddr>,
    since: Time,
    last: (DropReason, Time),
    counts: [u32; DropReason::ALL.len()],
}

/// The keys with drops. It takes memory with the first drop of a key, 0.7 MiB at most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drops {
    /// Empty, or [`SETS`] times [`WAYS`] places.
    places: Vec<Option<Box<Entry>>>,
    seed: RandomState,
}

/// A session is known when a packet is dropped for this reason.
const fn is_of_session(reason: DropReason) -> bool {
    !matches!(
        reason,
        DropReason::MalformedGtpu
            | DropReason::UnsupportedGtpVersion
            | DropReason::UnsupportedGtpMessage
            | DropReason::UnknownTeid
            | DropReason::UnknownUe
            | DropReason::UnknownMac
            | DropReason::ErrorIndicationMismatch
    )
}

impl Drops {
    /// Records the drop of a packet as a port received it.
    pub(crate) fn record_packet(&mut self, now: Time, meta: &Meta, packet: &[u8], reason: DropReason) {
        if is_of_session(reason)
            && let Some(key) = DropKey::of_packet(meta, packet)
        {
            let address = if let DropKey::Ue(address) = key { Some(address) } else { None };
            self.record(now, key, address, reason);
        }
    }

    fn record(&mut self, now: Time, key: DropKey, address: Option<IpAddr>, reason: DropReason) {
        if self.places.is_empty() {
            self.places.resize(SETS * WAYS, None);
        }
        let Some(set) = self.set_mut(&key) else { return };
        let known = set.iter().position(|place| place.as_ref().is_some_and(|entry| entry.key == key));
        let place = known
            .or_else(|| set.iter().position(Option::is_none))
            .or_else(|| (0..WAYS).min_by_key(|way| set.get(*way)?.as_ref().map(|entry| entry.last.1)));
        let Some(place) = place.and_then(|place| set.get_mut(place)) else { return };
        let fresh = Entry { key, address, since: now, last: (reason, now), counts: [0; _] };
        let entry = match place {
            Some(entry) => {
                if known.is_none() {
                    **entry = fresh;
                }
                entry
            }
            None => place.insert(Box::new(fresh)),
        };
        (entry.last, entry.address) = ((reason, now), address);
        if let Some(count) = entry.counts.get_mut(reason as usize) {
            *count = count.saturating_add(1);
        }
    }

    fn set_mut(&mut self, key: &DropKey) -> Option<&mut [Option<Box<Entry>>]> {
        let set = self.seed.hash_one(key) as usize % SETS;
        self.places.get_mut(set * WAYS..(set + 1) * WAYS)
    }

    fn forget(&mut self, key: &DropKey) {
        for place in self.set_mut(key).unwrap_or_default() {
            if place.as_ref().is_some_and(|entry| entry.key == *key) {
                *place = None;
            }
        }
    }

    /// The sum of the drops under the keys that are those of a session; `None`: there are none.
    fn of(&self, is_its: impl Fn(DropKey, Option<IpAddr>) -> bool) -> Option<SessionDrops> {
        let entries = self.places.iter().flatten().filter(|entry| is_its(entry.key, entry.address));
        let mut sum: Option<SessionDrops> = None;
        for entry in entries {
            let sum = sum.get_or_insert_with(|| SessionDrops {
                since: entry.since,
                last: entry.last,
                by_reason: Vec::new(),
            });
            sum.since = sum.since.min(entry.since);
            if entry.last.1 > sum.last.1 {
                sum.last = entry.last;
            }
            let counts = DropReason::ALL.iter().zip(entry.counts).filter(|(_, count)| *count > 0);
            for (reason, count) in counts {
                match sum.by_reason.iter_mut().find(|(known, _)| known == reason) {
                    Some((_, total)) => *total += u64::from(count),
                    None => sum.by_reason.push((*reason, count.into())),
                }
            }
        }
        if let Some(sum) = &mut sum {
            sum.by_reason.sort_unstable_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        }
        sum
    }
}

impl SlowPath {
    /// Records the drop of a packet as a port received it, for the operators of its session. Packets that
    /// the slow path itself drops are recorded already.
    pub fn record_drop(&mut self, now: Time, meta: &Meta, packet: &[u8], reason: DropReason) {
        self.drops.record_packet(now, meta, packet, reason);
    }

    /// The same for a packet of a session's buffer.
    pub(crate) fn record_buffer_drop(&mut self, now: Time, session: Seid, reason: DropReason) {
        self.drops.record(now, DropKey::Session(session), None, reason);
    }

    /// A new session has no drops yet: those under its keys were of sessions before it.
    #[inline]
    pub fn forget_drops_of(&mut self, seid: Seid, session: &ProfiledSession) {
        if !self.drops.places.is_empty() {
            self.forget_drops(seid, session);
        }
    }

    #[cold]
    fn forget_drops(&mut self, seid: Seid, session: &ProfiledSession) {
        self.drops.forget(&DropKey::Session(seid));
        for tunnel in session.tunnels() {
            tunnel.addr.iter().for_each(|local| self.drops.forget(&DropKey::Tunnel(tunnel.teid, local)));
        }
        let own = session.params().ue.map(IpAddr::V4);
        let of_rules = session.profile().rules().pdrs.values().filter_map(|pdr| pdr.pdi.ue);
        let of_rules =
            of_rules.flat_map(|ue| [ue.v4.map(IpAddr::V4), ue.v6.map(|net| IpAddr::V6(net.addr()))]);
        let all: Vec<IpAddr> = own.into_iter().chain(of_rules.flatten()).collect();
        all.into_iter().for_each(|ue| self.drops.forget(&DropKey::of_ue(ue)));
    }

    /// The drops of a session; `None`: none is known.
    pub(crate) fn drops_of(&self, session: Seid) -> Option<SessionDrops> {
        self.drops.of(|key, address| match key {
            DropKey::Tunnel(teid, local) => self.index.session_of_tunnel(teid, local) == Some(session),
            DropKey::Ue(ip) => self.index.sessions_of_ue(address.unwrap_or(ip)).contains(&session),
            DropKey::Session(seid) => seid == session,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gtpu(teid: u32) -> (Meta, [u8; 8]) {
        let [a, b, c, d] = teid.to_be_bytes();
        let meta = Meta::Gtpu {
            local: [192, 0, 2, 1].into(),
            peer: ([192, 0, 2, 9], 2152).into(),
            tos: 0,
            hops: None,
        };
        (meta, [0x30, 255, 0, 0, a, b, c, d])
    }

    // Input:  drops of packets by a tunnel, to IPv4 and IPv6 addresses, of broken packets, and for reasons that know no
    //         session.
    // Output: keys of the tunnel and the addresses, of which IPv6 addresses of one /64 are one; no others.
    #[test]
    fn a_packet_has_a_key_by_its_first_octets() {
        let mut drops = Drops::default();
        let at = Time::from_secs;
        let (meta, packet) = gtpu(7);
        drops.record_packet(at(1), &meta, &packet, DropReason::UnknownTeid);
        drops.record_packet(at(1), &meta, &packet[..7], DropReason::MalformedIp);
        drops.record_packet(at(1), &Meta::Ip, &[], DropReason::MalformedIp);
        drops.record_packet(at(1), &Meta::Ip, &[0x45; 19], DropReason::MalformedIp);
        drops.record_packet(at(1), &Meta::Ethernet, &[0; 60], DropReason::FarDrop);
        assert!(drops.places.is_empty());
        drops.record_packet(at(1), &meta, &packet, DropReason::FarDrop);
        drops.record_packet(at(2), &meta, &packet, DropReason::GateClosed);
        drops.record_packet(at(3), &meta, &packet, DropReason::FarDrop);
        for last in [1, 2] {
            let mut packet = [0x60; 40];
            packet[24..40].copy_from_slice(&Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last).octets());
            drops.record_packet(at(4), &Meta::Ip, &packet, DropReason::FarDrop);
        }
        let keys: Vec<DropKey> = drops.places.iter().flatten().map(|entry| entry.key).collect();
        assert_eq!(keys.len(), 2, "{keys:?}");
        let of_tunnel = drops.of(|key, _| matches!(key, DropKey::Tunnel(..))).unwrap();
        assert_eq!(of_tunnel.since, at(1));
        assert_eq!(of_tunnel.last, (DropReason::FarDrop, at(3)));
        assert_eq!(of_tunnel.by_reason, [(DropReason::FarDrop, 2), (DropReason::GateClosed, 1)]);
        let all = drops.of(|_, _| true).unwrap();
        assert_eq!((all.last.1, all.by_reason[0]), (at(4), (DropReason::FarDrop, 4)));
    }

    // Input:  drops of 100,000 tunnels, one after the other, and of one tunnel again and again.
    // Output: the table is full and no larger; the one that drops all the time is there with every drop.
    #[test]
    fn the_table_is_bounded() {
        let mut drops = Drops::default();
        for n in 1..=100_000 {
            for teid in [n, 0xffff_ffff] {
                let (meta, packet) = gtpu(teid);
                drops.record_packet(Time::from_secs(n.into()), &meta, &packet, DropReason::FarDrop);
            }
        }
        assert_eq!(drops.places.iter().flatten().count(), SETS * WAYS);
        let busy = |key, _| matches!(key, DropKey::Tunnel(teid, _) if teid.value() == 0xffff_ffff);
        assert_eq!(drops.of(busy).unwrap().by_reason, [(DropReason::FarDrop, 100_000)]);
    }
}
