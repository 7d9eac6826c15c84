//! A data plane full of sessions, set up by the control plane's own code.

use causeway_dataplane::{Capabilities, PacketEngine};
use causeway_fastpath::FastPath;
use causeway_reference::{Limits, Reference};
use causeway_rules::{
    Addresses, Catalogue, Context, Extras, Far, LocalEndpoints, Plan, Resources, RuleSet, Scramble, Tunnels,
    establish, plan_modification,
};
use causeway_types::{FTeid, Seid, Span, Teid, Time};

use super::options::Backend;
use super::shape::{self, DOWNLINK_FAR, Shape};
use crate::BenchError;
use crate::kit::{Progress, available_memory, resident_memory};

/// After so many sessions it is clear how much memory all will need.
const PROBE: u32 = 20_000;

/// A data plane with its sessions.
pub(super) struct Population {
    pub(super) backend: Backend,
    pub(super) engine: Box<dyn PacketEngine>,
    /// The tunnel of each session, by its number.
    pub(super) teids: Vec<Teid>,
    /// The downlink FAR of the first session, as the data plane has it.
    downlink: Far,
}

/// How it ended.
pub(super) enum Populated {
    /// All sessions are there.
    Done(Box<Population>),
    /// There is not enough memory, and why this is clear.
    TooLarge(String),
}

/// Where and when a population is made.
pub(super) struct Founding<'a> {
    pub(super) backend: Backend,
    pub(super) sessions: u32,
    pub(super) shape: &'a Shape,
    pub(super) now: Time,
}

impl Founding<'_> {
    /// Sets the sessions up one by one: the request of the SMF, TEIDs that the UPF chooses, validation, the plan,
    /// and the data plane that carries it out.
    pub(super) fn populate(&self, progress: &mut Progress) -> Result<Populated, BenchError> {
        let mut engine = self.engine();
        let capabilities = engine.capabilities();
        let mut control = Control::new(&capabilities, self.sessions);
        let mut teids = Vec::with_capacity(self.sessions as usize);
        let mut downlink = None;
        let before = resident_memory();
        for number in 0..self.sessions {
            let (plan, tunnel, far) = control.establish(self.shape, number)?;
            engine.apply(self.now, &plan)?;
            teids.push(tunnel.teid);
            downlink = downlink.or(Some(far));
            if number % 1024 == 0 {
                progress.at(number.into(), self.sessions.into());
            }
            if number == PROBE
                && let Some(why) = self.too_large(before)
            {
                return Ok(Populated::TooLarge(why));
            }
        }
        let downlink = downlink.unwrap_or_else(|| unreachable!("there is at least one session"));
        Ok(Populated::Done(Box::new(Population { backend: self.backend, engine, teids, downlink })))
    }

    fn engine(&self) -> Box<dyn PacketEngine> {
        let limits = Limits {
            max_sessions: self.sessions,
            max_pdrs_per_session: self.shape.pdrs().saturating_mul(2),
            ..Limits::default()
        };
        match self.backend {
            Backend::Fastpath => Box::new(FastPath::new(shape::topology(), limits)),
            Backend::Reference => Box::new(Reference::new(shape::topology(), limits)),
        }
    }

    /// What the rest of the sessions will need, judged by those there are, is more than there is.
    fn too_large(&self, before: Option<u64>) -> Option<String> {
        let used = resident_memory()?.saturating_sub(before?);
        let needed = used / u64::from(PROBE) * u64::from(self.sessions - PROBE);
        let available = available_memory()?;
        let gib = |octets: u64| octets as f64 / f64::from(1 << 30);
        (needed > available / 10 * 9).then(|| {
            format!("it needs {:.0} GiB more, of which {:.0} are there", gib(needed), gib(available))
        })
    }
}

/// As much of the control plane as decides on rules. What it knows of sessions is forgotten at once.
struct Control<'a> {
    capabilities: &'a Capabilities,
    endpoints: LocalEndpoints,
    catalogue: Catalogue,
    resources: Resources,
}

impl<'a> Control<'a> {
    fn new(capabilities: &'a Capabilities, sessions: u32) -> Self {
        // As the daemon does it: TEIDs show neither slot nor generation.
        let tunnels = Tunnels::new(sessions, 0).scrambled(Scramble::new([1, 2]));
        Self {
            capabilities,
            endpoints: shape::topology().endpoints(),
            catalogue: Catalogue::default(),
            resources: Resources::new(tunnels, Addresses::new(Vec::new(), Span::ZERO)),
        }
    }

    fn establish(&mut self, shape: &Shape, number: u32) -> Result<(Plan, FTeid, Far), BenchError> {
        let request = shape.request(number);
        let context = Context {
            capabilities: self.capabilities,
            endpoints: &self.endpoints,
            catalogue: &self.catalogue,
        };
        let change = establish(&request, seid(number), &context, &mut self.resources)
            .map_err(|rejection| BenchError::Refused { number, rejection })?;
        self.resources.commit(change.resources);
        let tunnel = change.chosen.first().map(|(_, tunnel)| *tunnel);
        let far = change.session.rules().fars.get(&DOWNLINK_FAR).cloned();
        let (Some(tunnel), Some(far)) = (tunnel, far) else {
            unreachable!("the request asks for a tunnel and has a downlink FAR")
        };
        Ok((change.plan, tunnel, far))
    }
}

impl Population {
    /// The plan that hands a session over to another tunnel of its gNB. `turn` makes it differ from the last one.
    pub(super) fn handover(&self, number: u32, turn: u32) -> Plan {
        let with = |raw: u32| {
            let mut far = self.downlink.clone();
            let teid = Teid::new(raw | 1 << 31).unwrap_or_else(|| shape::gnb_teid(number));
            let tunnel = FTeid { teid, addr: shape::gnb(number).into() };
            if let Some(forwarding) = &mut far.forwarding {
                forwarding.outer = Some(causeway_rules::OuterHeader::Gtpu(tunnel));
            }
            RuleSet { fars: [(far.id, far)].into(), ..RuleSet::default() }
        };
        let (old, new) = (with(turn.wrapping_mul(2)), with(turn.wrapping_mul(2) + 1));
        plan_modification(seid(number), &old, &new, &Extras::default())
    }
}

/// The UPF's SEID of a session.
fn seid(number: u32) -> Seid {
    Seid(u64::from(number) + 1)
}
