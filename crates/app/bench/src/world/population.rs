//! A data plane full of sessions, set up by the control plane's own code.

use std::time::Duration;

use causeway_model::{Far, Plan, PlanOptions, RuleSet, plan_modification};
use causeway_slowpath::Limits;
use causeway_types::{FTeid, Teid, Time};

use super::choice::Backend;
use super::control::{Control, seid};
use super::shape::{self, Shape};
use super::worker::Worker;
use crate::BenchError;
use crate::kit::{CpuTimer, Progress, available_memory, resident_memory};

/// After so many sessions every page of the tables has been written to, and after twice as many it is clear how much memory all
/// will need.
const PROBE: u32 = 250_000;

/// Octets that a session gains with its first packet, at most, once it rests again.
const WITH_PACKETS: u64 = 1000;

/// Sessions that are asked for before the data plane is given their plans.
const GROUP: u32 = 256;

/// A data plane with its sessions.
pub(crate) struct Population {
    pub(crate) worker: Worker,
    /// The tunnel of each session, by its number.
    pub(crate) teids: Vec<Teid>,
    /// The downlink FAR of the first session, as the data plane has it.
    downlink: Far,
    /// CPU time of the rules: decoding, TEIDs, validation, plans.
    pub(crate) ruling: Duration,
    /// CPU time of the data plane.
    pub(crate) applying: Duration,
    /// Octets of memory that the process had before, if it is known.
    before: Option<u64>,
}

/// How it ended.
pub(crate) enum Populated {
    /// All sessions are there.
    Done(Box<Population>),
    /// There is not enough memory, and why this is clear.
    TooLarge(String),
}

/// Where and when a population is made.
pub(crate) struct Founding<'a> {
    pub(crate) backend: Backend,
    pub(crate) sessions: u32,
    pub(crate) shape: &'a Shape,
    pub(crate) now: Time,
}

impl Founding<'_> {
    /// Sets the sessions up: the requests of the SMF, TEIDs that the UPF chooses, validation, the plans, and the data
    /// plane that carries them out.
    pub(crate) fn populate(&self, progress: &mut Progress) -> Result<Populated, BenchError> {
        let before = resident_memory();
        let mut worker = match self.worker() {
            Err(BenchError::TooLarge(why)) => return Ok(Populated::TooLarge(why)),
            worker => worker?,
        };
        let capabilities = worker.capabilities();
        let mut control = Control::new(&capabilities, self.sessions, self.shape);
        let mut teids = Vec::with_capacity(self.sessions as usize);
        let (mut downlink, mut probe) = (None, None);
        let (mut ruling, mut applying) = (Duration::ZERO, Duration::ZERO);
        let mut plans = Vec::with_capacity(GROUP as usize);
        for first in (0..self.sessions).step_by(GROUP as usize) {
            let numbers = first..self.sessions.min(first + GROUP);
            let requests: Vec<_> =
                numbers.map(|number| (number, Control::request(self.shape, number))).collect();
            let timer = CpuTimer::start();
            for (number, request) in &requests {
                let established = control.establish(*number, request)?;
                teids.push(established.tunnel.teid);
                plans.push(established.plan);
                downlink = downlink.or(established.downlink);
            }
            let ruled = timer.elapsed();
            for plan in &plans {
                worker.apply(self.now, plan)?;
            }
            applying += timer.elapsed() - ruled;
            ruling += ruled;
            plans.clear();
            progress.set_progress(first.into(), self.sessions.into());
            match first {
                at if at == PROBE / GROUP * GROUP => probe = resident_memory(),
                at if at == 2 * PROBE / GROUP * GROUP => {
                    if let Some(why) = self.too_large(probe) {
                        return Ok(Populated::TooLarge(why));
                    }
                }
                _ => {}
            }
        }
        drop(control);
        let downlink = downlink.unwrap_or_else(|| unreachable!("there is at least one session"));
        let population = Population { worker, teids, downlink, ruling, applying, before };
        Ok(Populated::Done(Box::new(population)))
    }

    fn worker(&self) -> Result<Worker, BenchError> {
        let limits = Limits {
            max_sessions: self.sessions,
            max_pdrs_per_session: self.shape.pdrs_of_session(),
            ..Limits::default()
        };
        let mut worker = Worker::new(self.backend, limits, self.shape.pdrs())?;
        worker.set_applications(self.shape.applications());
        Ok(worker)
    }

    /// What the rest of the sessions will need, judged by those since the probe, is more than there is.
    fn too_large(&self, probe: Option<u64>) -> Option<String> {
        let used = resident_memory()?.saturating_sub(probe?);
        let needed = (used / u64::from(PROBE) + WITH_PACKETS) * u64::from(self.sessions - 2 * PROBE);
        let available = available_memory()?;
        let gib = |octets: u64| octets as f64 / f64::from(1 << 30);
        (needed > available / 10 * 9).then(|| {
            format!("it needs {:.0} GiB more, of which {:.0} are there", gib(needed), gib(available))
        })
    }
}

impl Population {
    /// Octets of memory that the process has gained, if it is known.
    pub(crate) fn memory(&self) -> Option<u64> {
        resident_memory().zip(self.before).map(|(now, before)| now.saturating_sub(before))
    }

    /// Ends all sessions.
    pub(crate) fn end(&mut self, now: Time) -> Result<(), BenchError> {
        for number in 0..self.teids.len() as u32 {
            self.worker.apply(now, &Plan::removal(seid(number)))?;
        }
        self.worker.forget_events();
        Ok(())
    }

    /// The plan that hands a session over to another tunnel of its gNB. `turn` makes it differ from the last one.
    pub(crate) fn handover(&self, number: u32, turn: u32) -> Plan {
        let tunnel = |raw: u32| raw | 1 << 31;
        let old = turn.wrapping_mul(2);
        hand_over(&self.downlink, number, tunnel(old), tunnel(old.wrapping_add(1)))
    }
}

/// The plan that hands a session over from one tunnel of its gNB to another. Its downlink FAR is like `downlink`.
pub(crate) fn hand_over(downlink: &Far, number: u32, old: u32, new: u32) -> Plan {
    let with = |raw: u32| {
        let mut far = downlink.clone();
        let teid = Teid::new(raw).unwrap_or_else(|| shape::gnb_teid(number));
        let tunnel = FTeid { teid, addr: shape::gnb(number).into() };
        if let Some(forwarding) = &mut far.forwarding {
            forwarding.outer = Some(causeway_model::OuterHeader::Gtpu(tunnel));
        }
        RuleSet { fars: [(far.id, far)].into_iter().collect(), ..RuleSet::default() }
    };
    plan_modification(seid(number), &with(old), &with(new), &PlanOptions::default())
}
