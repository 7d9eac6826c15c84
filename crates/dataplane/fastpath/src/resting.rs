//! Sessions that were established as others were, and to which nothing has happened since.
//!
//! All that is to be known of one is what it has in common with others, what is its own, and since when it is there. It has neither
//! lines nor a place in the slow room until a packet comes for it, or a plan: then it is established there as of the time at
//! which it was.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use causeway_reference::lease::Addressee;
use causeway_rules::{Alike, Own, Places, Template};
use causeway_types::{FTeid, Ipv4Net, Seid, Teid, Time};
use foldhash::fast::RandomState;

/// How many templates are known at a time.
const KINDS: usize = 1024;

/// How many sessions rest at most that send to the same tunnel: all of them are passed when one more is entered, and an SMF
/// can name one tunnel for every session.
pub(crate) const MOST_SENDERS: usize = 64;

/// Sessions that rest, found by everything that can wake them.
#[derive(Debug)]
pub(crate) struct Resting {
    kinds: Vec<Kind>,
    /// By the address of the template, which the kind holds.
    by_template: HashMap<usize, u32, RandomState>,
    records: Vec<Record>,
    /// Places of records that are free.
    free: Vec<u32>,
    seids: Places,
    tunnels: Places,
    ues: Places,
    remotes: Places,
}

/// What resting sessions have in common.
#[derive(Debug)]
struct Kind {
    template: Arc<Template>,
    /// The GTP-U paths that each of them uses.
    paths: Arc<[Path]>,
    /// Where its tunnels end: our address of each, and the peer's of each.
    locals: [Option<IpAddr>; 2],
    peers: [Option<IpAddr>; 2],
    users: usize,
}

/// Our address and a peer's.
type Path = (IpAddr, IpAddr);

#[derive(Clone, Copy, Debug)]
struct Record {
    seid: Seid,
    since: Time,
    own: Own,
    kind: u32,
}

/// A session that rests no longer.
pub(crate) struct Woken {
    pub(crate) since: Time,
    pub(crate) alike: Alike,
    pub(crate) paths: Arc<[Path]>,
}

fn both<const N: usize>(
    teids: [Option<Teid>; N],
    addrs: [Option<IpAddr>; N],
) -> impl Iterator<Item = (Teid, IpAddr)> {
    teids.into_iter().zip(addrs).filter_map(|(teid, addr)| teid.zip(addr))
}

impl Resting {
    /// None, and room for so many.
    pub(crate) fn new(sessions: u32) -> Self {
        let places = || Places::with_capacity(sessions as usize);
        Self {
            kinds: Vec::new(),
            by_template: HashMap::default(),
            records: Vec::new(),
            free: Vec::new(),
            seids: places(),
            tunnels: places(),
            ues: places(),
            remotes: places(),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.seids.len()
    }

    /// Sessions like this one can rest.
    pub(crate) fn knows(&self, alike: &Alike) -> bool {
        self.by_template.contains_key(&key_of(alike.template()))
    }

    /// From now on sessions like this one can rest. `paths`: those that it uses.
    pub(crate) fn learn(&mut self, alike: &Alike, paths: Vec<Path>) {
        let addr = |tunnel: Option<FTeid>| tunnel?.addr.v4.map(IpAddr::V4);
        let (mut locals, mut remotes) = (alike.tunnels(), alike.remotes());
        let kind = Kind {
            template: Arc::clone(alike.template()),
            paths: paths.into(),
            locals: [(); 2].map(|()| addr(locals.next())),
            peers: [(); 2].map(|()| addr(remotes.next())),
            users: 0,
        };
        let place = if self.kinds.len() < KINDS {
            self.kinds.push(kind);
            self.kinds.len() - 1
        } else {
            let idle = self.kinds.iter_mut().enumerate().find(|(_, held)| held.users == 0);
            let Some((place, held)) = idle else { return };
            self.by_template.remove(&key_of(&held.template));
            *held = kind;
            place
        };
        self.by_template.insert(key_of(alike.template()), place as u32);
    }

    /// Lets a session rest whose tunnels and address no session has that is awake. Returns the paths that it uses; `None`: sessions
    /// like it cannot rest, or another one that rests has what is its own, or too many rest that send to the same tunnel.
    pub(crate) fn add(&mut self, seid: Seid, since: Time, alike: &Alike) -> Option<Arc<[Path]>> {
        let number = *self.by_template.get(&key_of(alike.template()))?;
        let (locals, peers) = self.kinds.get(number as usize).map(|kind| (kind.locals, kind.peers))?;
        let own = *alike.own();
        let is_taken = |tunnel| self.of_tunnel(tunnel).is_some();
        if own.ue.is_some_and(|ue| self.of_ue(ue).is_some()) || both(own.tunnels, locals).any(is_taken) {
            return None;
        }
        let is_crowded = |remote: (Teid, IpAddr)| self.remotes.all(remote).nth(MOST_SENDERS - 1).is_some();
        if both(own.remotes, peers).any(is_crowded) {
            return None;
        }
        let record = Record { seid, since, own, kind: number };
        let place = self.free.pop().unwrap_or(self.records.len() as u32);
        match self.records.get_mut(place as usize) {
            Some(slot) => *slot = record,
            None => self.records.push(record),
        }
        self.seids.insert(seid, place);
        if let Some(ue) = own.ue {
            self.ues.insert(ue, place);
        }
        for tunnel in both(own.tunnels, locals) {
            self.tunnels.insert(tunnel, place);
        }
        for remote in both(own.remotes, peers) {
            self.remotes.insert(remote, place);
        }
        let kind = self.kinds.get_mut(number as usize)?;
        kind.users += 1;
        Some(Arc::clone(&kind.paths))
    }

    /// A session rests no longer. `None`: it did not.
    pub(crate) fn take(&mut self, seid: Seid) -> Option<Woken> {
        let place = self.seids.find(seid, |place| self.is_of(place, seid))?;
        let Record { since, own, kind, .. } = *self.records.get(place as usize)?;
        let kind = self.kinds.get_mut(kind as usize)?;
        kind.users -= 1;
        self.seids.remove(seid, place);
        if let Some(ue) = own.ue {
            self.ues.remove(ue, place);
        }
        for tunnel in both(own.tunnels, kind.locals) {
            self.tunnels.remove(tunnel, place);
        }
        for remote in both(own.remotes, kind.peers) {
            self.remotes.remove(remote, place);
        }
        self.free.push(place);
        let alike = Alike::new(Arc::clone(&kind.template), own);
        Some(Woken { since, alike, paths: Arc::clone(&kind.paths) })
    }

    /// The session rests.
    pub(crate) fn has(&self, seid: Seid) -> bool {
        self.seids.find(seid, |place| self.is_of(place, seid)).is_some()
    }

    /// The session that a tunnel of ours ends in.
    pub(crate) fn of_tunnel(&self, tunnel: (Teid, IpAddr)) -> Option<Seid> {
        let is_it =
            |record: &Record, kind: &Kind| both(record.own.tunnels, kind.locals).any(|it| it == tunnel);
        self.seid_at(self.tunnels.find(tunnel, |place| self.is_it(place, is_it))?)
    }

    /// The session of a UE.
    pub(crate) fn of_ue(&self, ue: Ipv4Addr) -> Option<Seid> {
        let is_it = |record: &Record, _: &Kind| record.own.ue == Some(ue);
        self.seid_at(self.ues.find(ue, |place| self.is_it(place, is_it))?)
    }

    /// The sessions of whom a packet may be.
    pub(crate) fn of(&self, addressee: Addressee) -> Vec<Seid> {
        match addressee {
            Addressee::Tunnel(teid, local) => self.of_tunnel((teid, local)).into_iter().collect(),
            Addressee::Ue(IpAddr::V4(ue)) => self.of_ue(ue).into_iter().collect(),
            Addressee::Ue(IpAddr::V6(_)) => Vec::new(),
            Addressee::Senders(teid, peer) => {
                let remote = (teid, peer);
                let is_it = |record: &Record, kind: &Kind| {
                    both(record.own.remotes, kind.peers).any(|it| it == remote)
                };
                let places = self.remotes.all(remote);
                let users = places.filter(|place| self.is_it(*place, is_it));
                let mut seids: Vec<_> = users.filter_map(|place| self.seid_at(place)).collect();
                seids.sort_unstable();
                seids
            }
        }
    }

    /// The sessions with an address in a network. O(its addresses) or O(sessions), whichever is less.
    pub(crate) fn within(&self, net: Ipv4Net) -> Vec<Seid> {
        let addresses = 1_u64 << (32 - u32::from(net.prefix_len()));
        if addresses <= self.len() as u64 {
            let all = u32::from(net.network())..=u32::from(net.broadcast());
            return all.filter_map(|ue| self.of_ue(ue.into())).collect();
        }
        let lies_in = |record: &&Record| record.own.ue.is_some_and(|ue| net.contains(&ue));
        let found = self.records.iter().filter(lies_in).map(|record| record.seid);
        // Records that are free still say whose they were.
        found.filter(|seid| self.has(*seid)).collect()
    }

    fn is_of(&self, place: u32, seid: Seid) -> bool {
        self.records.get(place as usize).is_some_and(|record| record.seid == seid)
    }

    fn is_it(&self, place: u32, is_it: impl Fn(&Record, &Kind) -> bool) -> bool {
        let Some(record) = self.records.get(place as usize) else { return false };
        self.kinds.get(record.kind as usize).is_some_and(|kind| is_it(record, kind))
    }

    fn seid_at(&self, place: u32) -> Option<Seid> {
        self.records.get(place as usize).map(|record| record.seid)
    }
}

fn key_of(template: &Arc<Template>) -> usize {
    Arc::as_ptr(template).addr()
}
