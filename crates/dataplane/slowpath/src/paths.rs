//! Supervision of the GTP-U paths to the peers of sessions (TS 29.281 clause 7.2.1, TS 23.007 clause 20.3).
//!
//! A path is a local address and one of a peer. Each path in use is sent an Echo Request immediately, then one per
//! interval. A path that no session uses any more is removed when its next request is due.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::ops::Bound;

use causeway_dataplane::{EchoConfig, Egress, Event, PathState, Settings, Topology};
use causeway_model::{Far, RuleSet};
use causeway_packet::gtpu::Repr;
use causeway_types::{Span, Time};

use crate::egress::{GTPU_PORT, to_tunnel};
use crate::engine::SlowPath;

/// A timeout of zero would never let time pass.
const MIN_TIMEOUT: Span = Span::from_millis(1);

/// The local address and the peer's.
type PathKey = (IpAddr, IpAddr);

/// All paths.
#[derive(Debug)]
pub(crate) struct Paths {
    echo: EchoConfig,
    paths: BTreeMap<PathKey, Path>,
    due: BTreeSet<(Time, PathKey)>,
    sequence: u16,
}

#[derive(Debug)]
struct Path {
    /// The number of FARs that use the path.
    users: u64,
    due: Time,
    /// When the current or the last request was first sent.
    asked: Time,
    /// The request without a response so far.
    waiting: Option<PendingEcho>,
    is_down: bool,
}

#[derive(Clone, Copy, Debug)]
struct PendingEcho {
    sequence: u16,
    repetitions_left: u8,
}

/// The action on a path that is due.
enum EchoAction {
    SendEcho(u16),
    Down,
    Unused,
}

impl Paths {
    /// No paths yet.
    pub(crate) fn new(echo: EchoConfig) -> Self {
        Self { echo, paths: BTreeMap::new(), due: BTreeSet::new(), sequence: 0 }
    }

    /// When a path is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Replaces the rules `old` of a session with `new`.
    pub(crate) fn update(&mut self, now: Time, old: &RuleSet, new: &RuleSet, topology: &Topology) {
        if !self.echo.interval.is_zero() && old.fars != new.fars {
            self.follow_ends(now, paths_of(old, topology), paths_of(new, topology));
        }
    }

    /// Follows other settings. Returns the paths that were down and are not supervised any more.
    fn set_echo(&mut self, now: Time, echo: EchoConfig) -> Vec<PathKey> {
        let before = std::mem::replace(&mut self.echo, echo);
        if echo.interval.is_zero() {
            self.due.clear();
            let ended = std::mem::take(&mut self.paths).into_iter();
            return ended.filter(|(_, path)| path.is_down).map(|(of, _)| of).collect();
        }
        if before.interval != echo.interval {
            for (of, path) in self.paths.iter_mut().filter(|(_, path)| path.waiting.is_none()) {
                self.due.remove(&(path.due, *of));
                path.due = (path.asked + echo.interval).max(now);
                self.due.insert((path.due, *of));
            }
        }
        Vec::new()
    }

    fn states(&self, after: Option<PathKey>, most: usize) -> Vec<PathState> {
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        let behind = self.paths.range((first, Bound::Unbounded)).take(most);
        behind.map(|(key, path)| PathState { path: *key, users: path.users, is_up: !path.is_down }).collect()
    }

    fn follow_ends(
        &mut self,
        now: Time,
        old: impl IntoIterator<Item = PathKey>,
        new: impl IntoIterator<Item = PathKey>,
    ) {
        for of in old {
            if let Some(path) = self.paths.get_mut(&of) {
                path.users = path.users.saturating_sub(1);
            }
        }
        for of in new {
            let due = &mut self.due;
            let path = self.paths.entry(of).or_insert_with(|| {
                due.insert((now, of));
                Path { users: 0, due: now, asked: now, waiting: None, is_down: false }
            });
            path.users += 1;
        }
    }

    /// The peer responded. Returns whether the path was down.
    fn answered(&mut self, of: PathKey, sequence: u16) -> bool {
        let Some(path) = self.paths.get_mut(&of) else { return false };
        if path.waiting.is_none_or(|question| question.sequence != sequence) {
            return false;
        }
        path.waiting = None;
        self.due.remove(&(path.due, of));
        path.due = path.asked + self.echo.interval;
        self.due.insert((path.due, of));
        std::mem::replace(&mut path.is_down, false)
    }

    /// Whether a path is due. The call is frequent.
    #[inline]
    fn is_due(&self, now: Time) -> bool {
        self.due.first().is_some_and(|(at, _)| *at <= now)
    }

    /// The next path that is due, and its action.
    fn expire(&mut self, now: Time) -> Option<(PathKey, EchoAction)> {
        let (at, of) = *self.due.first().filter(|(at, _)| *at <= now)?;
        self.due.remove(&(at, of));
        let timeout = self.echo.timeout.max(MIN_TIMEOUT);
        let path = self.paths.get_mut(&of)?;
        let (due, next) = match &mut path.waiting {
            None if path.users == 0 => {
                self.paths.remove(&of);
                return Some((of, EchoAction::Unused));
            }
            None => {
                self.sequence = self.sequence.wrapping_add(1);
                let question = PendingEcho { sequence: self.sequence, repetitions_left: self.echo.retries };
                (path.waiting, path.asked) = (Some(question), now);
                (EchoAction::SendEcho(self.sequence), now + timeout)
            }
            Some(question) if question.repetitions_left > 0 => {
                question.repetitions_left -= 1;
                (EchoAction::SendEcho(question.sequence), now + timeout)
            }
            Some(_) => {
                (path.waiting, path.is_down) = (None, true);
                (EchoAction::Down, (path.asked + self.echo.interval).max(now + MIN_TIMEOUT))
            }
        };
        path.due = next;
        self.due.insert((next, of));
        Some((of, due))
    }
}

/// The paths of the remote tunnels of these rules, once for each FAR.
fn paths_of(rules: &RuleSet, topology: &Topology) -> impl Iterator<Item = PathKey> {
    rules.fars.values().filter_map(|far| path_of(far, topology))
}

/// The path of the remote tunnel of a FAR: the local address and the peer's.
pub fn path_of(far: &Far, topology: &Topology) -> Option<(IpAddr, IpAddr)> {
    let forwarding = far.forwarding.as_ref()?;
    let egress = to_tunnel(forwarding.tunnel()?, forwarding.network_instance.as_ref(), topology).ok()?;
    match egress {
        Egress::Gtpu { local, peer, .. } => Some((local, peer.ip())),
        Egress::Ip { .. } | Egress::Ethernet { .. } => None,
    }
}

impl SlowPath {
    /// Puts settings into force. `dormant` are the paths of sessions that are not in this data plane, each as often as
    /// it is used: they are read only when supervision begins.
    pub fn set_settings(
        &mut self,
        now: Time,
        settings: &Settings,
        dormant: impl Iterator<Item = (IpAddr, IpAddr)>,
    ) {
        let begins = self.topology.routing.echo.interval.is_zero() && !settings.echo.interval.is_zero();
        self.topology.set(settings);
        self.shared.set_slices(&self.topology.slices, now);
        for (local, peer) in self.paths.set_echo(now, settings.echo) {
            self.events.push_back(Event::PathUnused { local, peer });
        }
        if begins {
            for session in self.sessions.values() {
                self.paths.follow_ends(now, [], paths_of(&session.rules, &self.topology));
            }
            self.paths.follow_ends(now, [], dormant);
        }
    }

    /// Supervises the paths `new`, as [`path_of`] names them, for a session of another data plane, in place of `old`,
    /// which an earlier call named for that session.
    pub fn follow_paths(&mut self, now: Time, old: &[(IpAddr, IpAddr)], new: &[(IpAddr, IpAddr)]) {
        if !self.topology.routing.echo.interval.is_zero() {
            self.paths.follow_ends(now, old.iter().copied(), new.iter().copied());
        }
    }

    /// The paths that are supervised, in order, at most `most` of those behind `after`.
    pub fn supervised_paths(&self, after: Option<(IpAddr, IpAddr)>, most: usize) -> Vec<PathState> {
        self.paths.states(after, most)
    }

    /// Sends Echo Requests on the paths that are due, and reports those without a response.
    #[inline]
    pub(crate) fn expire_paths(&mut self, now: Time) {
        if self.paths.is_due(now) {
            self.expire_due_paths(now);
        }
    }

    #[inline(never)]
    fn expire_due_paths(&mut self, now: Time) {
        while let Some(((local, peer), due)) = self.paths.expire(now) {
            match due {
                EchoAction::SendEcho(sequence) => {
                    let to = SocketAddr::new(peer, GTPU_PORT);
                    self.answer(local, to, &Repr::echo_request(sequence));
                }
                EchoAction::Down => self.events.push_back(Event::PathDown { local, peer }),
                EchoAction::Unused => self.events.push_back(Event::PathUnused { local, peer }),
            }
        }
    }

    /// A peer responded to an Echo Request.
    pub(crate) fn receive_echo_response(&mut self, local: IpAddr, peer: IpAddr, sequence: Option<u16>) {
        if sequence.is_some_and(|sequence| self.paths.answered((local, peer), sequence)) {
            self.events.push_back(Event::PathUp { local, peer });
        }
    }
}
