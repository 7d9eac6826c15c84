//! Which sessions went to cold storage in the worlds, and came back.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use causeway_cold::{ColdStore, MemoryStore, ReadError, StoreState};
use causeway_model::{RuleSet, Urr};
use causeway_types::{FTeid, Seid};

/// Records that were written and read, in their order.
pub(crate) type Moves = Arc<Mutex<Vec<Move>>>;

/// A record of the store, by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// That of this session is written.
    Out(u32, Seid),
    /// It is read.
    Back(u32),
}

/// A store in memory that writes down what it is asked for.
#[derive(Debug)]
pub(crate) struct WatchedStore(pub(crate) MemoryStore, pub(crate) Moves);

impl WatchedStore {
    fn note(&self, what: Move) {
        self.1.lock().expect("one thread").push(what);
    }
}

impl ColdStore for WatchedStore {
    fn has_room(&self) -> bool {
        self.0.has_room()
    }

    fn put(&mut self, number: u32, record: Vec<u8>) {
        // Behind the version.
        let seid = record.get(1..).and_then(|rest| rest.first_chunk()).expect("the SEID");
        self.note(Move::Out(number, Seid(u64::from_le_bytes(*seid))));
        self.0.put(number, record);
    }

    fn read(&mut self, number: u32) -> Result<Vec<u8>, ReadError> {
        self.note(Move::Back(number));
        self.0.read(number)
    }

    fn forget(&mut self, number: u32) {
        self.0.forget(number);
    }

    fn state(&self) -> StoreState {
        self.0.state()
    }
}

/// A kind of sessions, of which the tally counts the loads.
type Kind = &'static str;

pub(crate) const ALL: Kind = "loads";
pub(crate) const WITH_PREFIX: Kind = "loads of sessions with an IPv6 prefix";
pub(crate) const WITH_TUNNELS: Kind = "loads of sessions with more tunnels";
pub(crate) const WITH_TIMERS: Kind = "loads of sessions with timers";
/// While nothing happens but that time passes.
pub(crate) const BY_TIMERS: Kind = "loads by timers";

/// What kinds of sessions are in the store.
#[derive(Debug, Default)]
pub(crate) struct Stored(HashMap<u32, Vec<Kind>>);

impl Stored {
    /// Follows the moves. Returns the kinds of the sessions that were loaded.
    pub(crate) fn follow<'r>(
        &mut self,
        moves: &Moves,
        rules_of: impl Fn(Seid) -> Option<&'r RuleSet>,
    ) -> Vec<Kind> {
        let mut loaded = Vec::new();
        for what in moves.lock().expect("one thread").drain(..) {
            match what {
                Move::Out(number, seid) => {
                    let kinds = rules_of(seid).map(kinds_of).unwrap_or_default();
                    self.0.insert(number, kinds);
                }
                Move::Back(number) => {
                    loaded.push(ALL);
                    loaded.extend(self.0.get(&number).into_iter().flatten());
                }
            }
        }
        loaded
    }
}

fn kinds_of(rules: &RuleSet) -> Vec<Kind> {
    let has_prefix = rules.pdrs.values().any(|pdr| pdr.pdi.ue.is_some_and(|ue| ue.v6.is_some()));
    let locals: BTreeSet<FTeid> = rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel).collect();
    let tunnel_of = |far: &causeway_model::Far| far.forwarding.as_ref()?.tunnel();
    let remotes: Vec<FTeid> = rules.fars.values().filter_map(tunnel_of).collect();
    let has_more =
        locals.len() > 2 || remotes.len() > 2 || remotes.iter().any(|tunnel| tunnel.addr.v6.is_some());
    let has_timers = rules.inactivity_timer.is_some() || rules.urrs.values().any(has_timer);
    let all = [(WITH_PREFIX, has_prefix), (WITH_TUNNELS, has_more), (WITH_TIMERS, has_timers)];
    all.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect()
}

fn has_timer(urr: &Urr) -> bool {
    let spans = [urr.period, urr.holding_time, urr.validity_time, urr.inactivity_timer];
    let times = [urr.thresholds.time, urr.quotas.time];
    spans.iter().chain(&times).any(Option::is_some) || urr.monitoring.is_some()
}
