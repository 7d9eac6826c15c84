//! Responses to the management server.

use causeway_model::RuleSet;
use causeway_n4::{self as n4, Direction, MessageKey, MessageResult, N4};
use causeway_pfcp::{Cause, MessageType};
use causeway_types::{NodeId, Seid, WallClock};

use crate::management::views::{AssociationView, PoolView, RuleCounts, SessionView, UserView};
use crate::management::{
    EstablishmentStatus, ManagementRequest, MemoryStatus, MessageCount, N4Status, PoolStatus, SessionFilter,
    SessionPart, SessionRules,
};
use crate::memory::{Budget, Reading};

/// The number of session indexes that are read for one request. The control thread does other work between requests.
const INDEXES_PER_REQUEST: u64 = 64;

/// Answers one request. The requester may have dropped the receiver.
pub(super) fn answer(n4: &N4, status: impl FnOnce() -> N4Status, ask: ManagementRequest) {
    match ask {
        ManagementRequest::Status(reply) => drop(reply.send(status())),
        ManagementRequest::Associations(reply) => {
            let views = n4.associations().map(|view| association(view, n4.wall_clock()));
            drop(reply.send(views.collect()));
        }
        // Requests that change state are handled elsewhere.
        ManagementRequest::End { .. }
        | ManagementRequest::Release { .. }
        | ManagementRequest::Drain { .. }
        | ManagementRequest::Subscribe { .. } => {}
        ManagementRequest::Pools(reply) => drop(reply.send(n4.pools().iter().map(pool).collect())),
        ManagementRequest::Sessions { from, most, filter, reply } => {
            drop(reply.send(part(n4, from, most, &filter)));
        }
        ManagementRequest::FindSessions { most, filter, reply } => {
            drop(reply.send(find(n4, most, &filter)));
        }
        ManagementRequest::SessionsOf { seids, reply } => {
            let view = |seid: &Seid| Some((*seid, session(&n4.session(*seid)?, n4.wall_clock())));
            drop(reply.send((n4.wall_clock(), seids.iter().filter_map(view).collect())));
        }
        ManagementRequest::Session { seid, reply } => {
            drop(reply.send(n4.session(seid).map(|view| rules_of(&view, n4.wall_clock()))));
        }
    }
}

/// The figures of N4 itself. O(associations, pools, kinds of messages).
pub(super) fn status(n4: &N4, lost_datagrams: u64) -> N4Status {
    let counters = n4.counters();
    let message = |(key, count): (MessageKey, u64)| MessageCount {
        message_type: key.message_label(),
        direction: key.direction.label(),
        result: key.result.to_string(),
        count,
    };
    let report = |message, direction, result| counters.message(message, direction, result);
    N4Status {
        wall: n4.wall_clock(),
        associations: n4.associations().count() as u64,
        peers_active: n4.associations().filter(|association| association.path_up).count() as u64,
        sessions: n4.session_count() as u64,
        is_draining: n4.is_draining(),
        pools: pools(n4),
        routes: n4.routes() as u64,
        messages: counters.messages().map(message).collect(),
        establishment: establishment(&counters),
        reports_sent: report(MessageType::SessionReportRequest, Direction::Sent, MessageResult::Ok),
        reports_accepted: report(
            MessageType::SessionReportResponse,
            Direction::Received,
            MessageResult::Cause(Cause::RequestAccepted),
        ),
        lost_datagrams,
        late_events: counters.late_events,
        lost_reports: counters.lost_reports,
        failed_plans: counters.failed_plans,
        ..N4Status::default()
    }
}

/// Session Establishment Requests that got a response of their own.
fn establishment(counters: &n4::Counters) -> EstablishmentStatus {
    let mut status = EstablishmentStatus::default();
    for (key, count) in counters.messages() {
        if let (
            Some(MessageType::SessionEstablishmentRequest),
            Direction::Received,
            MessageResult::Cause(cause),
        ) = (key.message, key.direction, key.result)
        {
            status.requests += count;
            if !cause.is_accepted() {
                status.failures.push((cause.code(), count));
            }
        }
    }
    status.failures.sort_unstable();
    status
}

/// The pools of each data network and IP version together, without those that are drained.
fn pools(n4: &N4) -> Vec<PoolStatus> {
    let mut pools: Vec<PoolStatus> = Vec::new();
    for usage in n4.pools().into_iter().filter(|usage| !usage.is_draining) {
        let (dnn, ip_version) = (usage.network.as_str(), if usage.is_v6 { 6 } else { 4 });
        let known = pools.iter_mut().find(|pool| pool.dnn == dnn && pool.ip_version == ip_version);
        match known {
            Some(pool) => {
                pool.addresses = pool.addresses.saturating_add(usage.total);
                pool.used += usage.occupied;
            }
            None => pools.push(PoolStatus {
                dnn: dnn.to_owned(),
                ip_version,
                addresses: usage.total,
                used: usage.occupied,
            }),
        }
    }
    pools
}

/// The memory figures.
pub(super) fn memory(n4: &N4, budget: &Budget, reading: Option<&Reading>) -> MemoryStatus {
    MemoryStatus {
        limit: reading.map_or(0, |reading| reading.limit),
        used: reading.map_or(0, |reading| reading.used),
        for_sessions: budget.sessions() as u64,
        needed: n4.memory_needed() as u64,
        refusals: n4.counters().memory_refusals,
    }
}

fn pool(usage: &n4::PoolUsage) -> PoolView {
    PoolView {
        dnn: usage.network.to_string(),
        identity: usage.name.clone(),
        ip_version: if usage.is_v6 { 6 } else { 4 },
        range: usage.range.to_string(),
        size: usage.total,
        allocated: usage.occupied,
        draining: usage.is_draining,
    }
}

fn association(view: n4::AssociationView<'_>, clock: WallClock) -> AssociationView {
    AssociationView {
        node_id: view.node.to_string(),
        peer: view.peer.to_string(),
        since: clock.at(view.since).as_nanos() / 1_000_000_000,
        path_up: view.path_up,
        sessions: view.sessions as u64,
        left_out_ies: view.left_out().collect(),
    }
}

/// The next sessions that the filter admits, at most `most`, from an index on. O(indexes).
fn part(n4: &N4, from: u64, most: usize, filter: &SessionFilter) -> SessionPart {
    let end = u64::from(n4.session_index_end());
    let last = from.saturating_add(INDEXES_PER_REQUEST).min(end);
    let (mut next, mut sessions) = (from, Vec::new());
    while next < last && sessions.len() < most {
        let index = u32::try_from(next).unwrap_or(u32::MAX);
        let admitted = n4.session_at(index).filter(|view| filter.admits(view));
        sessions.extend(admitted.map(|view| session(&view, n4.wall_clock())));
        next += 1;
    }
    SessionPart { total: n4.session_count() as u64, sessions, next: (next < end).then_some(next) }
}

/// The sessions that the filter admits, if an index finds them. `None`: no index does, or there are more than `most`.
fn find(n4: &N4, most: usize, filter: &SessionFilter) -> Option<SessionPart> {
    let admitted = |views: &mut dyn Iterator<Item = n4::SessionView<'_>>| -> Vec<SessionView> {
        let views = views.filter(|view| filter.admits(view)).take(most.saturating_add(1));
        views.map(|view| session(&view, n4.wall_clock())).collect()
    };
    let sessions = if let Some(seid) = filter.seid {
        admitted(&mut n4.session(seid).into_iter())
    } else if let Some(teid) = filter.teid {
        admitted(&mut n4.sessions_of_teid(teid))
    } else if let Some(cp) = filter.cp_f_seid() {
        admitted(&mut n4.session_of_cp(&cp).into_iter())
    } else {
        // The index does not have UE addresses behind which packets arrive in a tunnel.
        let found = admitted(&mut n4.sessions_of_address(filter.ue?));
        (!found.is_empty()).then_some(found)?
    };
    let total = n4.session_count() as u64;
    (sessions.len() <= most).then_some(SessionPart { total, sessions, next: None })
}

fn rules_of(view: &n4::SessionView<'_>, clock: WallClock) -> Box<SessionRules> {
    Box::new(SessionRules {
        session: session(view, clock),
        waiting_reports: view.waiting_reports,
        rules: view.rules().into_owned(),
        clock,
    })
}

fn session(view: &n4::SessionView<'_>, clock: WallClock) -> SessionView {
    let (node, rules): (&NodeId, _) = (view.node, view.rules());
    SessionView {
        seid: view.seid.to_string(),
        cp_seid: view.cp.seid.to_string(),
        cp_address: view.cp.addr.to_string(),
        node_id: node.to_string(),
        since: clock.at(view.since).as_nanos() / 1_000_000_000,
        user: view.user().map(user_view),
        network_instances: networks(&rules),
        ue: ue_addresses(&rules),
        tunnels: tunnels(&rules),
        peers: peers(&rules),
        class: None,
        rules: RuleCounts {
            pdr: rules.pdrs.len(),
            far: rules.fars.len(),
            qer: rules.qers.len(),
            urr: rules.urrs.len(),
            bar: rules.bars.len(),
        },
    }
}

fn user_view(user: n4::UserIdentities) -> UserView {
    let n4::UserIdentities { imsi, imei, msisdn, nai, supi, gpsi, pei } = user;
    UserView { imsi, imei, msisdn, nai, supi, gpsi, pei }
}

fn ue_addresses(rules: &RuleSet) -> Vec<String> {
    let ues = rules.pdrs.values().filter_map(|pdr| pdr.pdi.ue);
    let texts = ues.flat_map(|ue| {
        let v4 = ue.v4.map(|ip| ip.to_string());
        v4.into_iter().chain(ue.v6.map(|net| net.to_string()))
    });
    distinct(texts)
}

fn networks(rules: &RuleSet) -> Vec<String> {
    let of_pdrs = rules.pdrs.values().filter_map(|pdr| pdr.pdi.network_instance.as_ref());
    let forwarding = rules.fars.values().filter_map(|far| far.forwarding.as_ref());
    let of_fars = forwarding.filter_map(|forwarding| forwarding.network_instance.as_ref());
    distinct(of_pdrs.chain(of_fars).map(ToString::to_string))
}

fn tunnels(rules: &RuleSet) -> Vec<String> {
    let tunnels = rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel);
    distinct(tunnels.map(|tunnel| format!("{}@{}", tunnel.teid, tunnel.addr)))
}

fn peers(rules: &RuleSet) -> Vec<String> {
    let forwarding = rules.fars.values().filter_map(|far| far.forwarding.as_ref());
    let tunnels = forwarding.filter_map(|forwarding| forwarding.tunnel());
    distinct(tunnels.map(|tunnel| format!("{}@{}", tunnel.teid, tunnel.addr)))
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}
