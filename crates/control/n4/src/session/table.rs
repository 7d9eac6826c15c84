//! The sessions there are, and what each is waiting for.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{Header, PacketRateStatusReport};
use causeway_rules::{Change, Instructions, Plan, SessionRules};
use causeway_types::{FSeid, Seid, Time};

use super::{Membership, Takeover};
use crate::ApplyId;
use crate::association::{Association, AssociationId};
use crate::hash::HashMap;
use crate::report::ReportQueue;
use crate::transaction::RequestKey;

/// One PFCP session (TS 29.244 clause 5.2).
#[derive(Debug)]
pub(crate) struct Session {
    /// Ours.
    pub(crate) seid: Seid,
    /// Whose it is.
    pub(crate) association: AssociationId,
    /// The SMF's end: the SEID of our messages, and where reports go.
    pub(crate) cp: FSeid,
    /// The rules as the data plane has them.
    pub(crate) rules: SessionRules,
    /// What the SMF has to hear.
    pub(crate) reports: ReportQueue,
    /// When it was established.
    pub(crate) since: Time,
    /// The plan that the data plane works on.
    pub(crate) in_flight: Option<Box<InFlight>>,
    /// What came meanwhile, the oldest first.
    pub(crate) waiting: VecDeque<Waiting>,
    /// It will be called when its association may send more reports.
    pub(crate) is_called: bool,
    /// Nobody wants it any more; it goes as soon as the data plane lets it.
    pub(crate) doomed: bool,
    /// We end it, with reports; the data plane is to remove it.
    pub(crate) releasing: bool,
    /// The data plane has removed it; its last reports are on their way.
    pub(crate) ended: bool,
    /// What its QERs let pass until it ended.
    pub(crate) last_rates: Vec<PacketRateStatusReport<'static>>,
    /// The request that established it.
    pub(crate) origin: RequestKey,
    /// The sets of sessions it belongs to.
    pub(crate) membership: Membership,
    /// Where reports go instead of the SMF's end.
    pub(crate) contact: Option<IpAddr>,
    /// Who was given the report that is on its way, beside the SMF's end.
    pub(crate) tried: Vec<IpAddr>,
}

impl Session {
    pub(crate) fn new(
        now: Time,
        seid: Seid,
        association: AssociationId,
        cp: FSeid,
        origin: RequestKey,
    ) -> Self {
        Self {
            seid,
            association,
            cp,
            rules: SessionRules::default(),
            reports: ReportQueue::default(),
            since: now,
            in_flight: None,
            waiting: VecDeque::new(),
            is_called: false,
            doomed: false,
            releasing: false,
            ended: false,
            last_rates: Vec::new(),
            origin,
            membership: Membership::default(),
            contact: None,
            tried: Vec::new(),
        }
    }

    /// It is in the data plane, and so far nothing has ended it.
    pub(crate) fn is_established(&self) -> bool {
        let establishing =
            matches!(self.in_flight.as_deref(), Some(InFlight { work: Work::Establish(_), .. }));
        !self.is_ending() && !establishing
    }

    /// To its SMF it is gone, or about to go without its asking.
    pub(crate) const fn is_ending(&self) -> bool {
        self.doomed || self.releasing || self.ended
    }

    /// Where reports go.
    pub(crate) fn reports_to(&self, association: &Association) -> SocketAddr {
        match self.contact {
            Some(ip) => SocketAddr::new(ip, association.peer.port()),
            None => reports_go_to(&self.cp, association.peer),
        }
    }
}

/// A plan handed to the data plane.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) work: Work,
    /// What it changes; its plan has been handed out.
    pub(crate) change: Change,
}

/// What the plan is for, and whom to answer.
#[derive(Debug)]
pub(crate) enum Work {
    /// A Session Establishment Request.
    Establish(RequestKey),
    /// A Session Modification Request, and what it changes about who controls the session.
    Modify(RequestKey, Box<Takeover>),
    /// A Session Deletion Request.
    Delete(RequestKey),
    /// What the SMF asked for in its answer to a report.
    Instruct,
    /// Nobody's request: the session is to go.
    Purge,
    /// The session is to go, and the SMF to hear of it.
    Release,
}

impl Work {
    /// The request that is to be answered.
    pub(crate) fn request(&self) -> Option<RequestKey> {
        match self {
            Self::Establish(key) | Self::Modify(key, _) | Self::Delete(key) => Some(*key),
            Self::Instruct | Self::Purge | Self::Release => None,
        }
    }
}

/// What waits for its turn.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// A request.
    Request(WaitingRequest),
    /// What an answer to a report asks for.
    Answer(Box<Instructions>),
}

impl Waiting {
    fn octets(&self) -> usize {
        match self {
            Self::Request(request) => request.body.len(),
            Self::Answer(_) => 0,
        }
    }
}

/// A request that waits for its turn.
#[derive(Debug)]
pub(crate) struct WaitingRequest {
    pub(crate) key: RequestKey,
    pub(crate) header: Header,
    pub(crate) body: Vec<u8>,
}

/// All sessions by our SEID, and the plans under way.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_seid: HashMap<Seid, Box<Session>>,
    by_apply: HashMap<ApplyId, Seid>,
    /// By the SMF's end; those that are ending are not among them.
    by_cp: HashMap<(Seid, IpAddr), Seid>,
    last_apply: u64,
    waiting_octets: usize,
}

impl Sessions {
    pub(crate) fn insert(&mut self, session: Session) {
        let seid = session.seid;
        self.by_cp.extend(session.cp.addr.iter().map(|ip| ((session.cp.seid, ip), seid)));
        self.by_seid.insert(seid, Box::new(session));
    }

    /// The session with this end at its SMF.
    pub(crate) fn of_cp(&self, cp: &FSeid) -> Option<Seid> {
        cp.addr.iter().find_map(|ip| self.by_cp.get(&(cp.seid, ip)).copied())
    }

    /// The SMF's end of a session is another one now.
    pub(crate) fn set_cp(&mut self, seid: Seid, cp: FSeid) {
        self.forget_cp(seid);
        if let Some(session) = self.by_seid.get_mut(&seid) {
            session.cp = cp;
            self.by_cp.extend(cp.addr.iter().map(|ip| ((cp.seid, ip), seid)));
        }
    }

    /// The SMF may use the end of this session for another one.
    pub(crate) fn forget_cp(&mut self, seid: Seid) {
        let Some(session) = self.by_seid.get(&seid) else { return };
        for ip in session.cp.addr.iter() {
            if self.by_cp.get(&(session.cp.seid, ip)) == Some(&seid) {
                self.by_cp.remove(&(session.cp.seid, ip));
            }
        }
    }

    pub(crate) fn get(&self, seid: Seid) -> Option<&Session> {
        self.by_seid.get(&seid).map(|session| &**session)
    }

    pub(crate) fn get_mut(&mut self, seid: Seid) -> Option<&mut Session> {
        self.by_seid.get_mut(&seid).map(|session| &mut **session)
    }

    /// Forgets a session that no plan is under way of.
    pub(crate) fn remove(&mut self, seid: Seid) -> Option<Session> {
        self.forget_cp(seid);
        let session = self.by_seid.remove(&seid)?;
        self.waiting_octets -= session.waiting.iter().map(Waiting::octets).sum::<usize>();
        Some(*session)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.by_seid.values().map(|session| &**session)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_seid.len()
    }

    /// How many octets the requests have that wait.
    pub(crate) const fn waiting_octets(&self) -> usize {
        self.waiting_octets
    }

    /// How many plans are under way.
    pub(crate) fn in_flight(&self) -> usize {
        self.by_apply.len()
    }

    /// Notes that a change of the session is under way, and returns what the data plane is to do. There
    /// must be no other.
    pub(crate) fn start(&mut self, work: Work, mut change: Change) -> Option<(ApplyId, Plan)> {
        let seid = change.plan.session;
        let session = self.by_seid.get_mut(&seid)?;
        self.last_apply += 1;
        let id = ApplyId(self.last_apply);
        let plan = std::mem::replace(&mut change.plan, Plan { session: seid, ops: Vec::new() });
        session.in_flight = Some(Box::new(InFlight { work, change }));
        self.by_apply.insert(id, seid);
        Some((id, plan))
    }

    /// The session whose plan this was, and the plan, which is no longer under way.
    pub(crate) fn finish(&mut self, id: ApplyId) -> Option<(Seid, InFlight)> {
        let seid = self.by_apply.remove(&id)?;
        let in_flight = self.by_seid.get_mut(&seid)?.in_flight.take()?;
        Some((seid, *in_flight))
    }

    /// Lets a request wait for its turn. False: too many wait already.
    #[must_use]
    pub(crate) fn wait(
        &mut self,
        seid: Seid,
        waiting: WaitingRequest,
        per_session: usize,
        octets: usize,
    ) -> bool {
        let Some(session) = self.by_seid.get_mut(&seid) else { return false };
        let total = self.waiting_octets + waiting.body.len();
        if session.waiting.len() >= per_session || total > octets {
            return false;
        }
        self.waiting_octets = total;
        session.waiting.push_back(Waiting::Request(waiting));
        true
    }

    /// Lets what an answer asks for wait for its turn. There is never more than one: no report goes out while a
    /// plan is under way.
    pub(crate) fn wait_with(&mut self, seid: Seid, instructions: Instructions) {
        if let Some(session) = self.by_seid.get_mut(&seid) {
            session.waiting.push_back(Waiting::Answer(Box::new(instructions)));
        }
    }

    /// What is next.
    pub(crate) fn next_waiting(&mut self, seid: Seid) -> Option<Waiting> {
        let waiting = self.by_seid.get_mut(&seid)?.waiting.pop_front()?;
        self.waiting_octets -= waiting.octets();
        Some(waiting)
    }
}

/// Where reports of a session go: the address of the SMF's end, of the IP version that its node uses if it
/// has one, and the port that requests to the node go to.
fn reports_go_to(cp: &FSeid, peer: SocketAddr) -> SocketAddr {
    let mut to = peer;
    let same_version = cp.addr.iter().find(|ip| ip.is_ipv4() == peer.is_ipv4());
    let ip = same_version.or(cp.addr.preferred()).unwrap_or(peer.ip());
    if ip != peer.ip() {
        to.set_ip(ip);
    }
    to
}
