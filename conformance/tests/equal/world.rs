//! Worlds: some sessions, and what happens to them, as plain data.

use causeway_model::RuleSet;
use causeway_rules::testing::rule_set;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// What decides about a thing.
pub(crate) type Seed = Vec<u8>;

/// A session to be.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// Decides where it stands, and what its rules are if no others are given.
    pub(crate) seed: Seed,
    /// Rules of any kind.
    pub(crate) wild: Option<Box<RuleSet>>,
}

/// A world, from its beginning to its end.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// The topology of the UPF.
    pub(crate) topology: [u8; 4],
    /// The sessions that there are at first.
    pub(crate) sessions: Vec<Session>,
    pub(crate) steps: Vec<Step>,
}

/// One thing that happens. Sessions are named by number; one that there is not is another one.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// These packets come at once.
    Packets(Vec<(u8, [u8; 32])>),
    /// One packet comes many times.
    Again { session: u8, packet: [u8; 32], times: u8 },
    /// The SMF modifies a session.
    Modify(u8, Seed),
    /// The session gets other rules altogether.
    Replace(u8, Session),
    /// The session ends; if it has ended, it begins anew.
    End(u8, Session),
    /// Time passes, with or without the timers being looked at.
    Wait([u8; 4]),
    /// Other applications are known, and other settings are in force, from now on.
    Applications(bool),
}

/// Worlds of up to so many sessions.
pub(crate) fn world(sessions: usize) -> impl Strategy<Value = World> {
    let parts = (any::<[u8; 4]>(), vec(session(), 1..=sessions), vec(step(), 1..24));
    parts.prop_map(|(topology, sessions, steps)| World { topology, sessions, steps })
}

/// In a box, as are the steps: its tree of choices is too large for the stack of a test.
fn session() -> BoxedStrategy<Session> {
    (seed(), option::weighted(0.12, rule_set().prop_map(Box::new).boxed()))
        .prop_map(|(seed, wild)| Session { seed, wild })
        .boxed()
}

fn seed() -> impl Strategy<Value = Seed> {
    // What lies behind the end of a seed is plain.
    prop_oneof![2 => vec(any::<u8>(), 0..64), 1 => vec(any::<u8>(), 64..200)]
}

fn step() -> impl Strategy<Value = Step> {
    let packet = || any::<[u8; 32]>();
    prop_oneof![
        10 => vec((any::<u8>(), packet()), 1..64).prop_map(Step::Packets),
        3 => (any::<u8>(), packet(), any::<u8>())
            .prop_map(|(session, packet, times)| Step::Again { session, packet, times }),
        3 => (any::<u8>(), vec(any::<u8>(), 0..48)).prop_map(|(session, seed)| Step::Modify(session, seed)),
        1 => (any::<u8>(), session()).prop_map(|(at, session)| Step::Replace(at, session)),
        1 => (any::<u8>(), session()).prop_map(|(at, session)| Step::End(at, session)),
        4 => any::<[u8; 4]>().prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Applications),
    ]
}
