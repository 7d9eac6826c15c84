//! Responses to the management server.

use causeway_model::RuleSet;
use causeway_n4::{self as n4, N4};
use causeway_types::{NodeId, Seid, WallClock};

use super::sockets::Sockets;
use crate::management::{
    AssociationView, ManagementRequest, MemoryStatus, MessageCount, N4Status, RuleCounts, SessionPart,
    SessionView,
};
use crate::memory::{Budget, Reading};

/// Answers one request. The requester may have dropped the receiver.
pub(super) fn answer(n4: &N4, sockets: &mut Sockets, memory: MemoryStatus, ask: ManagementRequest) {
    match ask {
        ManagementRequest::Status(reply) => {
            drop(reply.send(N4Status { memory, ..status(n4, sockets.dropped()) }));
        }
        ManagementRequest::Associations(reply) => {
            let views = n4.associations().map(|view| association(view, n4.wall_clock()));
            drop(reply.send(views.collect()));
        }
        // Requests that change state are handled elsewhere.
        ManagementRequest::End { .. } | ManagementRequest::Release { .. } => {}
        ManagementRequest::Sessions { from, places, reply } => drop(reply.send(part(n4, from, places))),
    }
}

fn status(n4: &N4, lost_datagrams: u64) -> N4Status {
    let counters = n4.counters();
    let message = |(key, count): (n4::MessageKey, u64)| MessageCount {
        message_type: key.message_label(),
        direction: key.direction.label(),
        result: key.result.to_string(),
        count,
    };
    N4Status {
        wall: n4.wall_clock(),
        associations: n4.associations().count() as u64,
        sessions: n4.session_count() as u64,
        routes: n4.routes() as u64,
        messages: counters.messages().map(message).collect(),
        lost_datagrams,
        late_events: counters.late_events,
        lost_reports: counters.lost_reports,
        failed_plans: counters.failed_plans,
        memory: MemoryStatus::default(),
    }
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

/// The sessions in a range of indexes. O(indexes).
fn part(n4: &N4, from: u64, places: usize) -> SessionPart {
    let end = u64::from(n4.session_index_end());
    let next = from.saturating_add(places as u64).min(end);
    let range = u32::try_from(from).unwrap_or(u32::MAX)..u32::try_from(next).unwrap_or(u32::MAX);
    let sessions = n4.sessions_in(range).map(|view| session(&view, n4.wall_clock())).collect();
    SessionPart { total: n4.session_count() as u64, sessions, next: (next < end).then_some(next) }
}

fn hexadecimal(seid: Seid) -> String {
    format!("{:#x}", seid.0)
}

fn session(view: &n4::SessionView<'_>, clock: WallClock) -> SessionView {
    let (node, rules): (&NodeId, _) = (view.node, view.rules());
    SessionView {
        seid: hexadecimal(view.seid),
        cp_seid: hexadecimal(view.cp.seid),
        cp_address: view.cp.addr.to_string(),
        node_id: node.to_string(),
        since: clock.at(view.since).as_nanos() / 1_000_000_000,
        ue: ue_addresses(&rules),
        tunnels: tunnels(&rules),
        rules: RuleCounts {
            pdr: rules.pdrs.len(),
            far: rules.fars.len(),
            qer: rules.qers.len(),
            urr: rules.urrs.len(),
            bar: rules.bars.len(),
        },
    }
}

fn ue_addresses(rules: &RuleSet) -> Vec<String> {
    let ues = rules.pdrs.values().filter_map(|pdr| pdr.pdi.ue);
    let texts = ues.flat_map(|ue| {
        let v4 = ue.v4.map(|ip| ip.to_string());
        v4.into_iter().chain(ue.v6.map(|net| net.to_string()))
    });
    distinct(texts)
}

fn tunnels(rules: &RuleSet) -> Vec<String> {
    let tunnels = rules.pdrs.values().filter_map(|pdr| pdr.pdi.tunnel);
    distinct(tunnels.map(|tunnel| format!("{}@{}", tunnel.teid, tunnel.addr)))
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}
