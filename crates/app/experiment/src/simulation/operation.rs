//! Operations of the SMF.

use causeway_switch::SwitchPdr;
use causeway_switch::driver::Update;
use causeway_switch::pendulum::{Command, Side};
use causeway_switch::pulling::{Limit, Urr};
use causeway_types::{Span, Time};

use super::Simulation;
use super::numbers::GNBS;
use super::program::{downlink, uplink};
use crate::ExperimentError;

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// One establishment: two PDRs and FARs, a QER and a URR.
    Register,
    /// One deletion.
    Deregister,
    /// One modification: a FAR with another gNB.
    Handover,
}

/// A completed operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompletedOperation {
    /// Its kind.
    pub kind: Kind,
    /// Its UE.
    pub ue: u32,
    /// The time of the request.
    pub asked: Time,
    /// The time of the response.
    pub answered: Time,
}

impl CompletedOperation {
    /// Its duration, in model time.
    pub const fn latency(&self) -> Span {
        self.answered.since(self.asked)
    }
}

/// The controller's state of a UE.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ue {
    /// Its uplink and downlink rules.
    pub(super) rules: Option<[SwitchPdr; 2]>,
    /// An operation is in flight.
    pub(super) is_busy: bool,
    /// Its last session's usage is not complete yet.
    pub(super) is_ending: bool,
}

/// An operation in flight, with its writes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Operation {
    /// `None`: template tables only.
    pub(super) of: Option<(Kind, u32)>,
    pub(super) asked: Time,
    pub(super) updates: Vec<Update>,
    /// The rules after it.
    pub(super) rules: Option<[SwitchPdr; 2]>,
}

impl Simulation {
    /// Starts an operation. False if it is invalid for that UE now: it has a session or has none, or another operation
    /// is in flight.
    ///
    /// # Errors
    /// [`ExperimentError`] when there is no number for it.
    pub fn start_operation(&mut self, kind: Kind, ue: u32) -> Result<bool, ExperimentError> {
        let Some(Ue { rules, is_busy: false, is_ending: false }) = self.ues.get(ue as usize).copied() else {
            return Ok(false);
        };
        let command = match (kind, rules) {
            (Kind::Register, None) => self.registration(ue)?,
            (Kind::Deregister, Some(rules)) => self.deregistration(ue, rules),
            (Kind::Handover, Some(rules)) => self.handover(ue, rules)?,
            _ => return Ok(false),
        };
        self.access.submit(self.now, command)?;
        if let Some(ue) = self.ues.get_mut(ue as usize) {
            ue.is_busy = true;
        }
        Ok(true)
    }

    fn registration(&mut self, ue: u32) -> Result<Command<Operation>, ExperimentError> {
        let gnb = self.random.u32(..GNBS);
        let ((up, mut updates), (down, more)) = (self.numbers.uplink(ue)?, self.numbers.downlink(ue, gnb)?);
        updates.extend(more);
        let teid = self.random.u32(..);
        updates.extend([Update::Insert(uplink(ue, up)), Update::Insert(downlink(ue, down, teid))]);
        let rules = Some([up, down]);
        Ok(self.command(vec![up, down], vec![], Kind::Register, ue, updates, rules))
    }

    fn deregistration(&self, ue: u32, [up, down]: [SwitchPdr; 2]) -> Command<Operation> {
        let updates = vec![Update::Delete(uplink(ue, up).key), Update::Delete(downlink(ue, down, 0).key)];
        self.command(vec![], vec![up, down], Kind::Deregister, ue, updates, None)
    }

    fn handover(
        &mut self,
        ue: u32,
        [up, down]: [SwitchPdr; 2],
    ) -> Result<Command<Operation>, ExperimentError> {
        let (gnb, teid) = (self.random.u32(..GNBS), self.random.u32(..));
        let (new, mut updates) =
            if self.numbers.are_keys() { self.numbers.downlink(ue, gnb)? } else { (down, Vec::new()) };
        updates.push(Update::Modify(downlink(ue, new, teid)));
        let moved = |number| if new == down { vec![] } else { vec![number] };
        Ok(self.command(moved(new), moved(down), Kind::Handover, ue, updates, Some([up, new])))
    }

    fn command(
        &self,
        add: Vec<SwitchPdr>,
        expire: Vec<SwitchPdr>,
        kind: Kind,
        ue: u32,
        updates: Vec<Update>,
        rules: Option<[SwitchPdr; 2]>,
    ) -> Command<Operation> {
        Command { add, expire, writes: Operation { of: Some((kind, ue)), asked: self.now, updates, rules } }
    }

    /// The URR of a UE: an uplink volume threshold of 400 kB to 2.8 MB, counted after QoS enforcement.
    pub(super) fn urr(&self, ue: u32) -> Urr {
        let drawn = fastrand::Rng::with_seed(self.setting.seed ^ (u64::from(ue) << 20)).u64(..2_400_000);
        let limit = Limit { uplink: Some(400_000 + drawn), ..Limit::default() };
        Urr { volume_threshold: Some(limit), ..Urr::new(Side::Egress) }
    }
}
