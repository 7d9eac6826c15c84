//! Parts in threads of their own, side by side.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Barrier, Mutex};

use causeway_dataplane::Event;
use causeway_model::Plan;
use causeway_n4::{ApplyId, Config, Limits, N4, Node, Occupancy, Output, Part};
use causeway_pfcp::*;
use causeway_rules::AddressPool;
use causeway_types::{FSeid, NetworkInstance, Seid, Span, Time, UrrId, UsageReportTrigger};

use crate::fixture::{Got, Plane, Smf, TestN4, activation, config, query, used};
use crate::numbers::{part_of, part_of_cp, parts};
use crate::requests::{Ue, Wanted, with};

/// The most datagrams of a thread in one turn.
const TURN: usize = 200;

/// What the threads do.
#[derive(Clone, Copy, Debug)]
struct Course {
    seed: u64,
    /// The datagrams of a thread before it ends its sessions.
    datagrams: usize,
    /// The kinds of requests, of which five are establishments and those from the eighth on deletions.
    kinds: usize,
    /// The limit of sessions.
    most: usize,
    /// What concerns all parts meanwhile.
    events: &'static [NodeEvent],
}

/// What has become of it.
#[derive(Clone, Copy, Default, Debug)]
struct Outcome {
    /// Datagrams that parts decided alone.
    alone: usize,
    /// Turns after which all parts had something to decide.
    by_all: usize,
    refused: usize,
    /// The most sessions at a time.
    peak: usize,
}

/// A thread looks so often, in datagrams, whether another one waits for all parts.
const CHECK_INTERVAL: usize = 16;

/// The most plans in flight of a thread.
const MOST_PLANS: usize = 8;

/// Framed routes, some inside others, and some that contain contested UE addresses.
const ROUTES: [&str; 6] =
    ["172.16.0.0/16", "172.16.1.0/24", "172.16.2.0/24", "172.17.0.0/24", "10.30.0.0/28", "10.30.0.0/24"];

/// A session set of some sessions.
const CSID: FqCsid<'static> = FqCsid { address: CsidAddress::Operator(7), csids: &[[0, 1]], node: None };

/// Everything that concerns all parts.
const EVENTS: &[NodeEvent] = {
    use NodeEvent::*;
    &[
        DeleteSet,
        Restart,
        Release,
        Drain(true),
        Drain(false),
        Restart,
        DeleteSet,
        ShortOfMemory(true),
        ShortOfMemory(false),
        Release,
    ]
};

/// Something that concerns all parts.
#[derive(Clone, Copy, Debug)]
enum NodeEvent {
    /// The second SMF releases its association, and sets up another.
    Release,
    /// It sets its association up again with a later time stamp, which it confirms.
    Restart,
    /// The sessions of a set end.
    DeleteSet,
    Drain(bool),
    /// Memory is short, or not any more.
    ShortOfMemory(bool),
}

/// Does it. The second SMF sends the messages, from its usual port.
fn take(n4: &mut N4, now: Time, event: NodeEvent, smf: &mut Smf, workers: &mut [Worker]) {
    let node = smf.node_id();
    let messages = match event {
        NodeEvent::Release => vec![
            smf.request(None, AssociationReleaseRequest::new(node)),
            smf.request(None, smf.clone().setup()),
        ],
        NodeEvent::Restart => {
            smf.recovery.0 += 1;
            vec![smf.request(None, smf.clone().setup())]
        }
        NodeEvent::DeleteSet => {
            let fq_csids = [CSID].into();
            vec![smf.request(
                None,
                SessionSetDeletionRequest { fq_csids, ..SessionSetDeletionRequest::new(node) },
            )]
        }
        NodeEvent::Drain(is_draining) => return n4.set_draining(is_draining),
        NodeEvent::ShortOfMemory(is_short) => return n4.set_short_of_memory(is_short),
    };
    messages.iter().for_each(|bytes| n4.datagram(now, smf.addr, bytes));
    for bytes in give_outputs(n4, workers, smf.addr) {
        let received = Got::from_bytes(&bytes);
        if received.kind() == MessageType::HeartbeatRequest {
            n4.datagram(now, smf.addr, &smf.heartbeat_response(&received));
        } else {
            assert_eq!(received.cause(), Cause::RequestAccepted);
        }
    }
    if !matches!(event, NodeEvent::DeleteSet) {
        workers.iter_mut().for_each(|worker| worker.forget_sessions_of(1));
    }
}

/// Gives what all parts want to the threads. Returns what is sent to this address.
fn give_outputs(n4: &mut N4, workers: &mut [Worker], addr: SocketAddr) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    while let Some(output) = n4.poll_output() {
        let thread = match &output {
            Output::Send { to, .. } => usize::from(to.port().wrapping_sub(PORTS)),
            Output::Apply { id, .. } => id.part(),
            Output::Applications(_) | Output::Notice(_) => continue,
        };
        match (workers.get_mut(thread), output) {
            (Some(worker), output) => worker.given.push_back(output),
            (None, Output::Send { to, bytes }) => sent.extend((to == addr).then_some(bytes)),
            (None, _) => {}
        }
    }
    sent
}

/// A session as its SMF knows it.
#[derive(Clone, Copy, Debug)]
struct Known {
    seid: Seid,
    smf: usize,
}

/// What a request asked for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Establish,
    Modify,
    Delete,
}

/// Datagrams that other threads have received for each thread.
type Mail = Mutex<Vec<(SocketAddr, Vec<u8>)>>;

/// A thread with a part: the SMFs at ports of its own, and the data plane of the part.
struct Worker {
    number: usize,
    random: fastrand::Rng,
    smfs: [Smf; 2],
    sessions: Vec<Known>,
    /// CP F-SEIDs that were used.
    used: Vec<(usize, FSeid)>,
    asked: BTreeMap<(usize, u32), Asked>,
    /// Responses to reports, to be sent.
    outbox: VecDeque<(SocketAddr, Vec<u8>)>,
    plane: Plane,
    held: Vec<(ApplyId, Plan)>,
    now: Time,
    kinds: usize,
    /// The datagrams still to send, except those that end sessions.
    left: usize,
    /// What the part has left in this turn.
    rest: Option<(SocketAddr, Vec<u8>)>,
    /// What all parts together want of this thread.
    given: VecDeque<Output>,
    decided_alone: usize,
    refused: usize,
}

/// The first port of the threads.
const PORTS: u16 = 9000;

impl Worker {
    fn new(number: usize, course: Course, now: Time) -> Self {
        let at_own_port = |last| {
            let mut smf = Smf::new(last);
            smf.addr.set_port(PORTS + number as u16);
            // SEIDs that no other thread has.
            Smf { next_seid: (number as u64) << 20, ..smf }
        };
        Self {
            number,
            random: fastrand::Rng::with_seed(course.seed * 3 + number as u64),
            smfs: [10, 11].map(at_own_port),
            sessions: Vec::new(),
            used: Vec::new(),
            asked: BTreeMap::new(),
            outbox: VecDeque::new(),
            plane: Plane::new(),
            held: Vec::new(),
            now,
            kinds: course.kinds,
            left: course.datagrams,
            rest: None,
            given: VecDeque::new(),
            decided_alone: 0,
            refused: 0,
        }
    }

    /// Everything is done.
    fn is_done(&self) -> bool {
        self.left == 0
            && self.sessions.is_empty()
            && self.asked.is_empty()
            && self.outbox.is_empty()
            && self.held.is_empty()
            && self.given.is_empty()
    }

    /// Works with the part until another thread waits for all parts, or this one does.
    fn work(&mut self, part: &mut Part, node: &Node, mail: &[Mail], someone_waits: &AtomicBool) {
        self.poll(part, node, mail);
        for at in 0..TURN {
            if at % CHECK_INTERVAL == CHECK_INTERVAL - 1 && someone_waits.load(Relaxed) {
                break;
            }
            let own = mail.get(self.number).expect("each thread has mail");
            let received: Vec<_> = std::mem::take(&mut *own.lock().expect("nobody panics"));
            received.iter().for_each(|(to, bytes)| self.receive(*to, bytes));
            let Some((from, bytes)) = self.next_datagram() else { break };
            let rest = part.datagram(node, self.now, from, &bytes);
            let is_left = !rest.is_empty() || part.is_undecided();
            self.rest = (!rest.is_empty()).then(|| (from, rest.to_vec()));
            if at % Part::MOST_DATAGRAMS == Part::MOST_DATAGRAMS - 1 {
                part.publish(node);
            }
            self.poll(part, node, mail);
            if is_left {
                someone_waits.store(true, Relaxed);
                break;
            }
            self.decided_alone += 1;
            if self.random.usize(..10) == 0 {
                self.measure(part, node);
                self.poll(part, node, mail);
            }
        }
        part.publish(node);
    }

    /// The next datagram to the part.
    fn next_datagram(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        if let Some(response) = self.outbox.pop_front() {
            return Some(response);
        }
        let smf = self.random.usize(..2);
        if self.left == 0 {
            let Known { seid, smf } = self.sessions.pop()?;
            return Some(self.request(smf, Asked::Delete, Some(seid), SessionDeletionRequest::default()));
        }
        self.left -= 1;
        let kind = self.random.usize(..self.kinds);
        if kind < 5 || self.sessions.is_empty() {
            let cp = self.cp(smf);
            let wanted = self.wanted();
            let fq_csids = if self.random.usize(..8) == 0 { [CSID].into() } else { Many::default() };
            let request = with(&self.smfs[smf], cp, wanted);
            let request = SessionEstablishmentRequest { fq_csids, ..request };
            return Some(self.request(smf, Asked::Establish, Some(Seid(0)), request));
        }
        let at = self.random.usize(..self.sessions.len());
        let Known { seid, smf } = self.sessions[at];
        Some(match kind {
            5 => {
                let teid = 1 + self.random.usize(..1000) as u32;
                self.request(smf, Asked::Modify, Some(seid), activation(teid))
            }
            6 if self.random.usize(..4) == 0 => {
                let cp = self.smfs[smf].f_seid();
                self.used.push((smf, cp));
                let request = SessionModificationRequest { cp_f_seid: Some(cp), ..activation(7) };
                self.request(smf, Asked::Modify, Some(seid), request)
            }
            6 => self.request(smf, Asked::Modify, Some(seid), query()),
            _ => {
                self.sessions.swap_remove(at);
                self.request(smf, Asked::Delete, Some(seid), SessionDeletionRequest::default())
            }
        })
    }

    /// A CP F-SEID with which the part of the thread establishes sessions, at times one that was used before; seldom one of
    /// another part.
    fn cp(&mut self, smf: usize) -> FSeid {
        if self.random.usize(..12) == 0 && !self.used.is_empty() {
            let at = self.random.usize(..self.used.len());
            if let Some((_, cp)) = self.used.get(at).filter(|(of, _)| *of == smf) {
                return *cp;
            }
        }
        let is_seldom = self.random.usize(..40) == 0;
        let Self { smfs, number, .. } = self;
        let new = std::iter::repeat_with(|| smfs[smf].f_seid());
        let cp = new.into_iter().find(|cp| is_seldom || part_of_cp(cp) == *number).expect("there are many");
        self.used.push((smf, cp));
        cp
    }

    fn wanted(&mut self) -> Wanted {
        let contested = Ipv4Addr::new(10, 30, 0, self.random.usize(..24) as u8);
        let ue = [Ue::Chosen, Ue::Chosen, Ue::Own, Ue::Own, Ue::At(contested)][self.random.usize(..5)];
        let teid = (self.random.usize(..10) == 0).then(|| 1 + self.random.usize(..16) as u32);
        let route = (self.random.usize(..16) == 0).then(|| ROUTES[self.random.usize(..ROUTES.len())]);
        Wanted { ue, teid, route }
    }

    fn request<'a>(
        &mut self,
        smf: usize,
        asked: Asked,
        seid: Option<Seid>,
        message: impl Into<Message<'a>>,
    ) -> (SocketAddr, Vec<u8>) {
        let by = &mut self.smfs[smf];
        let bytes = by.request(seid, message);
        self.asked.insert((smf, by.sequence), asked);
        (by.addr, bytes)
    }

    /// The data plane reports usage of a session of the part.
    fn measure(&mut self, part: &mut Part, node: &Node) {
        if self.sessions.is_empty() {
            return;
        }
        let at = self.random.usize(..self.sessions.len());
        let session = self.sessions[at].seid;
        if part.has(session) {
            let usage = vec![used(self.now, UrrId(1), 1000, UsageReportTrigger::VOLTH)];
            assert_eq!(part.event(node, self.now, Event::Usage { session, usage }), None);
        }
    }

    /// Does what the part wants: sends, and applies plans, in any order.
    fn poll(&mut self, part: &mut Part, node: &Node, mail: &[Mail]) {
        loop {
            while let Some(output) = self.given.pop_front().or_else(|| part.poll_output()) {
                match output {
                    Output::Send { to, bytes } => {
                        let thread = usize::from(to.port().wrapping_sub(PORTS));
                        match mail.get(thread).filter(|_| thread != self.number) {
                            Some(other) => other.lock().expect("nobody panics").push((to, bytes)),
                            None => self.receive(to, &bytes),
                        }
                    }
                    Output::Apply { id, plan } => {
                        assert_eq!((id.part(), part_of(plan.session)), (self.number, self.number));
                        self.held.push((id, plan));
                    }
                    Output::Applications(_) | Output::Notice(_) => {}
                }
            }
            let most = if self.left == 0 { 0 } else { self.random.usize(..MOST_PLANS) };
            if self.held.len() <= most {
                return;
            }
            let at = self.random.usize(..self.held.len());
            let (id, plan) = self.held.swap_remove(at);
            let result = self.plane.apply(self.now, plan);
            part.applied(node, self.now, id, result);
        }
    }

    /// An SMF has released its association.
    fn forget_sessions_of(&mut self, smf: usize) {
        self.asked.retain(|(of, _), _| *of != smf);
        self.sessions.retain(|session| session.smf != smf);
    }

    /// A message of the UPF to an SMF.
    fn receive(&mut self, to: SocketAddr, bytes: &[u8]) {
        let received = Got::from_bytes(bytes);
        let smf = self.smfs.iter().position(|smf| smf.ip() == to.ip()).expect("one of the SMFs");
        let is_to_thread = self.smfs[smf].addr == to;
        if received.kind() == MessageType::SessionReportRequest {
            let answer = Smf::report_response(&received, Seid(0), Cause::RequestAccepted);
            return self.outbox.push_back((to, answer));
        }
        // Those about the association, and those that were on their way when it was released, are nobody's.
        let number = is_to_thread.then_some((smf, received.header.sequence));
        let Some(asked) = number.and_then(|number| self.asked.remove(&number)) else { return };
        let cause = received.cause();
        self.refused += usize::from(!cause.is_accepted());
        match asked {
            Asked::Establish if cause.is_accepted() => {
                self.sessions.push(Known { seid: received.up_seid(), smf });
            }
            Asked::Establish => assert!(is_conflict(&received), "{:?}", received.message()),
            Asked::Modify | Asked::Delete => {
                assert!(cause.is_accepted() || cause == Cause::SessionContextNotFound, "{cause:?}");
            }
        }
    }
}

/// An establishment is refused since others have what it asks for.
fn is_conflict(received: &Got) -> bool {
    let (cause, _) = received.refusal();
    [
        Cause::RuleCreationModificationFailure,
        Cause::RequestRejected,
        Cause::NoResourcesAvailable,
        Cause::InvalidFTeidAllocationOption,
    ]
    .contains(&cause)
}

/// No UE address and no tunnel is in two sessions; those that N4 finds for an address or a tunnel have it; and routes that contain
/// addresses of other sessions are of the same SMF.
fn check(n4: &N4) {
    let (mut addresses, mut tunnels, mut routes) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for session in n4.sessions() {
        for pdi in session.rules().pdrs.values().map(|pdr| &pdr.pdi) {
            if let Some(tunnel) = pdi.tunnel {
                let other = tunnels.insert(tunnel, session.seid);
                assert!(
                    other.is_none_or(|it| it == session.seid),
                    "{tunnel:?}: {other:?}, {:?}",
                    session.seid
                );
                assert!(n4.sessions_of_teid(tunnel.teid).any(|it| it.seid == session.seid));
            }
            if let Some(ip) = pdi.ue.and_then(|ue| ue.v4) {
                let other = addresses.insert(ip, (session.seid, session.node.clone()));
                assert!(other.is_none_or(|(it, _)| it == session.seid), "{ip} is in two sessions");
                let has = |seid| n4.sessions_of_address(ip.into()).any(|it| it.seid == seid);
                assert!(has(session.seid), "{ip} is in the rules of a session that does not have it");
            }
            routes.extend(pdi.routes.iter().map(|net| (*net, session.seid, session.node.clone())));
        }
    }
    for (net, _, node) in &routes {
        for (ip, (seid, other)) in
            addresses.iter().filter(|(ip, _)| net.contains(&std::net::IpAddr::V4(**ip)))
        {
            assert_eq!(node, other, "{net} takes packets of {ip}: {seid:?}");
        }
        for (inner, seid, other) in routes.iter().filter(|(inner, ..)| net.contains(inner)) {
            assert_eq!(node, other, "{net} takes packets of {inner}: {seid:?}");
        }
    }
}

/// Three threads with random requests, whose sessions all end, and what concerns all parts meanwhile.
fn run(course: Course) -> Outcome {
    let Course { seed, datagrams, most, events, .. } = course;
    let mut outcome = Outcome::default();
    let network = NetworkInstance::new("internet");
    let range = "10.45.0.0/24".parse().expect("a subnet");
    let pool = AddressPool { network, range, name: None, reserved: Vec::new() };
    let config = Config { address_pools: vec![pool], address_rest: Span::ZERO, seed, ..config() };
    let config = Config { limits: Limits { sessions: most, ..Limits::default() }, ..config };
    let mut fixture = TestN4::with(config);
    [10, 11].into_iter().for_each(|last| fixture.associate(&mut Smf::new(last)));
    let TestN4 { mut n4, mut now, .. } = fixture;
    let mut smf = Smf { sequence: 10, ..Smf::new(11) };
    // The next one, when so many datagrams are left.
    let due = |at: usize| (events.len() - at) * datagrams / events.len();
    let mut coming = events.iter().enumerate().map(|(at, event)| (due(at), *event)).peekable();
    let mut workers: Vec<_> = parts().map(|number| Worker::new(number, course, now)).collect();
    let mail: Vec<_> = parts().map(|_| Mail::default()).collect();
    let mut node = n4.vacant_node();
    let mut lent: Vec<_> = parts().map(|_| n4.vacant_part()).collect();
    loop {
        n4.exchange_node(&mut node);
        lent.iter_mut().enumerate().for_each(|(number, part)| n4.exchange_part(number, part));
        let (someone_waits, begin) = (AtomicBool::new(false), Barrier::new(workers.len()));
        std::thread::scope(|scope| {
            let (someone_waits, begin, node, mail) = (&someone_waits, &begin, &*node, &mail[..]);
            for (worker, part) in workers.iter_mut().zip(&mut lent) {
                scope.spawn(move || {
                    begin.wait();
                    worker.work(part, node, mail, someone_waits);
                });
            }
        });
        lent.iter_mut().enumerate().for_each(|(number, part)| n4.exchange_part(number, part));
        n4.exchange_node(&mut node);
        now = now + Span::from_millis(1);
        n4.settle(now);
        for worker in &mut workers {
            if let Some((from, rest)) = worker.rest.take() {
                n4.datagram(now, from, &rest);
            }
            worker.now = now;
        }
        outcome.by_all += usize::from(someone_waits.into_inner());
        let left: usize = workers.iter().map(|worker| worker.left).sum();
        if let Some((_, event)) = coming.next_if(|(due, _)| left < *due) {
            take(&mut n4, now, event, &mut smf, &mut workers);
        }
        n4.timer(now);
        give_outputs(&mut n4, &mut workers, smf.addr);
        outcome.peak = outcome.peak.max(n4.session_count());
        check(&n4);
        let is_left = mail.iter().any(|mail| !mail.lock().expect("nobody panics").is_empty());
        if workers.iter().all(Worker::is_done) && !is_left && n4.session_count() == 0 {
            break;
        }
    }
    assert!(workers.iter().all(|worker| worker.plane.sessions() == 0));
    let occupancy = n4.occupancy();
    let expected = Occupancy {
        associations: 2,
        remembered_requests: occupancy.remembered_requests,
        restarted_hosts: occupancy.restarted_hosts,
        ..Occupancy::default()
    };
    assert_eq!(occupancy, expected);
    assert_eq!((n4.memory_needed(), coming.len()), (0, 0));
    assert!(n4.pools().iter().all(|pool| pool.occupied == 0));
    assert!(n4.associations().all(|association| association.sessions == 0));
    let alone = workers.iter().map(|worker| worker.decided_alone).sum();
    let refused = workers.iter().map(|worker| worker.refused).sum();
    Outcome { alone, refused, ..outcome }
}

// Input:  three threads, each with a part, two SMFs at ports of its own and a data plane: thousands of random establishments,
//         modifications and deletions, with UE addresses of the UPF's pool and others, TEIDs and framed routes that conflict with those
//         of the other threads, and CP F-SEIDs that move; one SMF releases its association and restarts, twice each, and ends a session
//         set; at times no session is accepted; what the parts cannot decide is decided in between.
// Output: no UE address and no tunnel is ever in two sessions; each request gets a response; in the end all is free again. Most is
//         decided by the threads alone.
#[test]
fn parts_work_in_threads() {
    for seed in seeds() {
        let outcome = run(Course { seed, datagrams: 2000, kinds: 11, most: 100_000, events: EVENTS });
        let Outcome { alone, by_all, refused, .. } = outcome;
        assert!(by_all > 50 && refused > 50 && alone > 5 * by_all, "{outcome:?}");
    }
}

/// The seeds: few, unless the environment says how many.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let number = std::env::var("CAUSEWAY_THREAD_SEEDS").ok().and_then(|text| text.parse().ok());
    1..=number.unwrap_or(2)
}

// Input:  the same with a limit of sessions that is reached.
// Output: the same; there are never more sessions.
#[test]
fn threads_keep_to_the_limit_of_sessions() {
    let most = Part::MOST_DATAGRAMS * parts().len() + 20;
    let outcomes = seeds()
        .map(|seed| run(Course { seed, datagrams: 700, kinds: 9, most, events: &[NodeEvent::Release; 2] }));
    let outcomes: Vec<_> = outcomes.collect();
    assert!(outcomes.iter().all(|it| it.peak <= most && it.alone > 50 && it.by_all > 50), "{outcomes:?}");
    assert!(outcomes.iter().any(|it| it.peak == most), "{outcomes:?}");
}
