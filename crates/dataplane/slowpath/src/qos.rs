//! QoS enforcement: all QERs of a PDR, and the limit of the slice, must let a packet pass.
//!
//! All are checked before any is charged: a packet that one drops costs the others nothing. A buffered packet passes
//! bit rates in any case, since the SMF requested its delivery, and is charged; packet rates and gates apply to it
//! too.

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::{DropReason, SliceLimit};
use causeway_model::{Correlation, Gate, Pdr, Qer, RuleSet};
use causeway_types::{Direction, QerId, SNssai, Seid, Span, Time, WallClock};

use crate::apply_far::Matched;
use crate::bucket::Bucket;
use crate::correlated::Correlated;
use crate::enforcer::QerState;
use crate::lazy::Lazy;
use crate::meter::Colour;
use crate::session::Session;

/// State that sessions share: of correlated QERs, of slices, and the wall clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedLimits {
    /// One state for the QERs of several sessions.
    correlated: Correlated<Correlation, QerState>,
    slices: BTreeMap<(SNssai, Direction), Bucket>,
    /// The burst of rates without an averaging window.
    burst: Span,
    /// Converts the times that SMFs send.
    pub(crate) wall: WallClock,
}

/// The location of the state of a QER.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum QerScope {
    Session(QerId),
    Shared(Correlation),
}

impl SharedLimits {
    /// With these slice limits; `burst` is for rates without an averaging window.
    pub(crate) fn new(limits: &[SliceLimit], burst: Span) -> Self {
        let mut slices = BTreeMap::new();
        for limit in limits {
            for direction in [Direction::Uplink, Direction::Downlink] {
                if let Some(rate) = limit.rate(direction) {
                    slices.insert((limit.slice, direction), Bucket::new(rate, burst, Time::default()));
                }
            }
        }
        Self { correlated: Correlated::default(), slices, burst, wall: WallClock::default() }
    }

    /// Follows other rates of the slices.
    pub(crate) fn set_slices(&mut self, limits: &[SliceLimit], now: Time) {
        for limit in limits {
            for direction in [Direction::Uplink, Direction::Downlink] {
                let of = (limit.slice, direction);
                match (limit.rate(direction), self.slices.get_mut(&of)) {
                    (Some(rate), Some(bucket)) => bucket.set(rate, self.burst, now),
                    (Some(rate), None) => drop(self.slices.insert(of, Bucket::new(rate, self.burst, now))),
                    (None, _) => drop(self.slices.remove(&of)),
                }
            }
        }
    }

    /// The burst of rates without an averaging window.
    pub(crate) const fn burst(&self) -> Span {
        self.burst
    }

    /// Creates the state of a QER that a plan writes into its session; those of a correlation follow with
    /// [`SharedLimits::update`].
    pub(crate) fn provision(&self, session: &mut Session, old: Option<&Qer>, qer: &Qer, now: Time) {
        if qer.correlation.is_some() {
            session.enforcers.remove(&qer.id);
            return;
        }
        match (session.enforcers.get_mut(&qer.id), old) {
            (Some(enforcer), Some(old)) => {
                enforcer
                    .get_or_create(|begin| QerState::new(old, self.burst, begin))
                    .update(qer, self.burst, now);
            }
            _ => drop(session.enforcers.insert(qer.id, Lazy::since(now))),
        }
    }

    /// Applies a change of a session's rules to correlated QERs. The state of a correlation without QERs is removed.
    pub(crate) fn update(&mut self, session: Seid, old: &RuleSet, new: &RuleSet, now: Time) {
        for qer in new.qers.values().filter(|qer| old.qers.get(&qer.id) != Some(qer)) {
            let Some(correlation) = &qer.correlation else { continue };
            let burst = self.burst;
            let update = |enforcer: &mut QerState| enforcer.update(qer, burst, now);
            let create = || QerState::new(qer, burst, now);
            self.correlated.join(correlation, (session, qer.id), update, create);
        }
        for qer in old.qers.values() {
            let Some(correlation) = &qer.correlation else { continue };
            let stays = new.qers.get(&qer.id).is_some_and(|new| new.correlation == qer.correlation);
            if !stays {
                self.correlated.leave(correlation, (session, qer.id));
            }
        }
    }

    /// The state of a QER of a session.
    pub(crate) fn inspect<R>(
        &self,
        session: &Session,
        qer: &Qer,
        inspect: impl FnOnce(&QerState) -> R,
    ) -> Option<R> {
        match &qer.correlation {
            Some(correlation) => self.correlated.get(correlation).map(inspect),
            None => {
                let enforcer = session.enforcers.get(&qer.id)?;
                Some(enforcer.inspect(|begin| QerState::new(qer, self.burst, begin), inspect))
            }
        }
    }

    fn at<'a>(&'a mut self, session: &'a mut Session, place: &QerScope) -> Option<&'a mut QerState> {
        match place {
            QerScope::Session(id) => {
                let (enforcer, qer) = (session.enforcers.get_mut(id)?, session.rules.qers.get(id)?);
                Some(enforcer.get_or_create(|begin| QerState::new(qer, self.burst, begin)))
            }
            QerScope::Shared(correlation) => self.correlated.get_mut(correlation),
        }
    }
}

/// A closed gate of any QER drops the packet (clause 5.4.3).
pub(crate) fn check_gates(session: &Session, pdr: &Pdr, direction: Direction) -> Result<(), DropReason> {
    match session.qers_of(pdr).any(|qer| qer.gate(direction) == Gate::Closed) {
        true => Err(DropReason::GateClosed),
        false => Ok(()),
    }
}

/// Checks gates, packet rates, bit rates and the slice, in this order, and charges them if all pass.
pub(crate) fn enforce(
    session: &mut Session,
    shared: &mut SharedLimits,
    matched: &Matched<'_>,
    direction: Direction,
    now: Time,
) -> Result<(), DropReason> {
    check_gates(session, matched.pdr, direction)?;
    let places = places(session, matched.pdr);
    let wall = shared.wall;
    for place in &places {
        let packets =
            shared.at(session, place).and_then(|enforcer| enforcer.direction_mut(direction).packets.as_ref());
        if packets.is_some_and(|packets| !packets.is_open(now, wall)) {
            return Err(DropReason::PacketRateExceeded);
        }
    }
    let mut colours = BTreeMap::new();
    for place in places {
        if let Some(enforcer) = shared.at(session, &place) {
            colours.insert(place, enforcer.direction_mut(direction).meter.colour(now));
        }
    }
    if colours.values().any(|colour| *colour == Colour::Red) && !matched.was_buffered {
        return Err(DropReason::MbrExceeded);
    }
    let is_guaranteed = matched.was_buffered || colours.values().any(|colour| *colour == Colour::Green);
    pass_slice(session, shared, direction, is_guaranteed, matched.packet.len(), now)?;
    for (place, colour) in colours {
        if let Some(enforcer) = shared.at(session, &place) {
            let state = enforcer.direction_mut(direction);
            state.meter.take(colour, matched.packet.len());
            state.packets.iter_mut().for_each(|packets| packets.take(now, wall));
        }
    }
    Ok(())
}

/// Guaranteed traffic (GBR) passes the limit of the slice and is charged there: other traffic has the remainder.
fn pass_slice(
    session: &Session,
    shared: &mut SharedLimits,
    direction: Direction,
    is_guaranteed: bool,
    octets: usize,
    now: Time,
) -> Result<(), DropReason> {
    let slice = session.rules.slice;
    let Some(bucket) = slice.and_then(|slice| shared.slices.get_mut(&(slice, direction))) else {
        return Ok(());
    };
    match (bucket.is_open(now), is_guaranteed) {
        (false, false) => return Err(DropReason::SliceRateExceeded),
        (_, true) => bucket.take_up_to_burst(octets),
        (true, false) => bucket.take(octets),
    }
    Ok(())
}

/// Each QER once, however often a PDR lists it.
fn places(session: &Session, pdr: &Pdr) -> BTreeSet<QerScope> {
    let place = |qer: &Qer| match &qer.correlation {
        Some(correlation) => QerScope::Shared(correlation.clone()),
        None => QerScope::Session(qer.id),
    };
    session.qers_of(pdr).map(place).collect()
}
