//! A session whole: its rules and its state as the API shows them.

use causeway_dataplane::{DropReason, SessionDrops, SessionState, UrrState, UsageTotals};
use causeway_model::{
    ApplyAction, Bar, DirectionalLimit, Far, Gate, NewEnd, OuterHeader, Pdr, PduSessionType, Qer, RateLimit,
    Redirect, RemovedHeader, RuleSet, Urr, UsageLimits,
};
use causeway_types::{FTeid, Span, Time, WallClock, WallTime};

use super::explain::reason;
use super::views::{
    BarView, BufferView, DirectionalVolume, FarView, Gates, LimitsView, PdrView, QerView, RateView,
    SessionDetail, SessionDropView, SessionDropsView, SessionStateView, SessionView, TunnelView,
    UrrStateView, UrrView, UsageView,
};

/// A session with its rules, as N4 has them.
#[derive(Clone, Debug)]
pub(crate) struct SessionRules {
    pub(crate) session: SessionView,
    pub(crate) waiting_reports: usize,
    pub(crate) rules: RuleSet,
    /// Converts times of the data plane.
    pub(crate) clock: WallClock,
}

impl SessionRules {
    /// As the API shows it, with its state in the data plane, if that can tell, and the number of its packet thread.
    pub(super) fn with_state(self, state: Option<(usize, SessionState)>) -> SessionDetail {
        let Self { session, waiting_reports, rules, clock } = self;
        SessionDetail {
            session,
            pdu_session_type: pdu_session_type(rules.pdu_type).into(),
            slice: rules.slice.map(|slice| slice.to_string()),
            inactivity_timer: rules.inactivity_timer.map(seconds),
            waiting_reports,
            pdrs: rules.pdrs.values().map(pdr).collect(),
            fars: rules.fars.values().map(far).collect(),
            qers: rules.qers.values().map(qer).collect(),
            urrs: rules.urrs.values().map(urr).collect(),
            bars: rules.bars.values().map(bar).collect(),
            state: state.map(|(worker, state)| state_view(worker, &state, clock)),
        }
    }
}

const fn pdu_session_type(kind: PduSessionType) -> &'static str {
    match kind {
        PduSessionType::Ip => "ip",
        PduSessionType::Ethernet => "ethernet",
    }
}

/// Seconds, of which three decimals count.
fn seconds(span: Span) -> f64 {
    span.as_millis() as f64 / 1e3
}

/// Seconds since the Unix epoch, of which three decimals count.
fn epoch(time: Time, clock: WallClock) -> f64 {
    (clock.at(time).as_nanos() / 1_000_000) as f64 / 1e3
}

const fn epoch_seconds(time: WallTime) -> u64 {
    time.as_nanos() / 1_000_000_000
}

fn tunnel(tunnel: FTeid) -> TunnelView {
    let addresses = tunnel.addr.iter().map(|ip| ip.to_string()).collect();
    TunnelView { teid: tunnel.teid.to_string(), addresses }
}

const fn removed(header: RemovedHeader) -> &'static str {
    match header {
        RemovedHeader::Gtpu | RemovedHeader::GtpuIpv4 | RemovedHeader::GtpuIpv6 => "gtpu",
        RemovedHeader::UdpIpv4 | RemovedHeader::UdpIpv6 => "udp",
        RemovedHeader::Ipv4 | RemovedHeader::Ipv6 => "ip",
    }
}

fn pdr(pdr: &Pdr) -> PdrView {
    let pdi = &pdr.pdi;
    let own = pdi.ue.into_iter().flat_map(|ue| {
        let v4 = ue.v4.map(|ip| ip.to_string());
        v4.into_iter().chain(ue.v6.map(|net| net.to_string()))
    });
    PdrView {
        id: pdr.id.0,
        precedence: pdr.precedence.0,
        source: pdi.source.to_string(),
        tunnel: pdi.tunnel.map(tunnel),
        network_instance: pdi.network_instance.as_ref().map(ToString::to_string),
        ue: own.chain(pdi.further_addresses().iter().map(ToString::to_string)).collect(),
        framed_routes: pdi.framed_routes().iter().map(ToString::to_string).collect(),
        qfis: pdi.qfis.iter().map(|qfi| qfi.value()).collect(),
        filters: pdi.filters.iter().map(|filter| filter.flow.to_string()).collect(),
        ethernet_filters: pdi.ethernet.len(),
        application: pdi.application.as_ref().map(ToString::to_string),
        predefined_rules: pdr.predefined.keys().map(ToString::to_string).collect(),
        outer_header_removal: pdr.removal.map(|removal| removed(removal.header).into()),
        far: pdr.far.0,
        qers: pdr.qers.iter().map(|qer| qer.0).collect(),
        urrs: pdr.urrs.iter().map(|urr| urr.0).collect(),
        active_from: pdr.active_from.map(epoch_seconds),
        active_until: pdr.active_until.map(epoch_seconds),
    }
}

pub(super) const fn action(action: ApplyAction) -> &'static str {
    match action {
        ApplyAction::Drop => "drop",
        ApplyAction::Forward => "forward",
        ApplyAction::Buffer { notify: false } => "buffer",
        ApplyAction::Buffer { notify: true } => "buffer_and_notify",
    }
}

fn outer_header(outer: OuterHeader) -> Option<String> {
    match outer {
        OuterHeader::Gtpu(_) => None,
        OuterHeader::Udp(peer) => Some(format!("udp {peer}")),
        OuterHeader::Ip(peer) => Some(format!("ip {peer}")),
        OuterHeader::Unknown => Some("unknown".into()),
    }
}

fn new_end(end: &NewEnd) -> String {
    let addresses = end.v4.map(|ip| ip.to_string()).into_iter().chain(end.v6.map(|ip| ip.to_string()));
    let port = end.port.map(|port| format!("port {port}"));
    addresses.chain(port).collect::<Vec<_>>().join(" ")
}

fn far(far: &Far) -> FarView {
    let forwarding = far.forwarding.as_ref();
    let steering = forwarding.map(|forwarding| &forwarding.steering);
    let redirect = steering.and_then(|steering| steering.redirect.as_ref());
    FarView {
        id: far.id.0,
        action: action(far.action).into(),
        destination: forwarding.map(|forwarding| forwarding.destination.to_string()),
        network_instance: forwarding.and_then(|it| it.network_instance.as_ref()).map(ToString::to_string),
        tunnel: forwarding.and_then(|forwarding| forwarding.tunnel()).map(tunnel),
        outer_header: forwarding.and_then(|forwarding| forwarding.outer).and_then(outer_header),
        forwarding_policy: steering.and_then(|it| it.policy.as_ref()).map(ToString::to_string),
        redirect: redirect.map(|redirect| match redirect {
            Redirect::Http(url) => url.as_str().to_owned(),
            Redirect::Destination(end) => new_end(end),
        }),
        bar: far.bar.map(|bar| bar.0),
        duplicates: far.duplicates.len(),
    }
}

const fn rates(rates: RateLimit) -> RateView {
    RateView { uplink_kbps: rates.uplink.kbps(), downlink_kbps: rates.downlink.kbps() }
}

fn qer(qer: &Qer) -> QerView {
    QerView {
        id: qer.id.0,
        correlation: qer.correlation.as_ref().map(|correlation| correlation.id),
        gates: Gates { uplink_open: qer.uplink == Gate::Open, downlink_open: qer.downlink == Gate::Open },
        mbr: qer.mbr.map(rates),
        gbr: qer.gbr.map(rates),
        limits_packet_rate: qer.packet_rate.is_some(),
        qfi: qer.qfi.map(|qfi| qfi.value()),
        reflective: qer.reflective,
        paging_policy: qer.ppi.map(|ppi| ppi.value()),
    }
}

fn urr(urr: &Urr) -> UrrView {
    let method = urr.method;
    let measures = [("volume", method.volume), ("duration", method.duration), ("events", method.events)];
    UrrView {
        id: urr.id.0,
        measures: measures
            .iter()
            .filter(|(_, is_measured)| *is_measured)
            .map(|(name, _)| (*name).into())
            .collect(),
        triggers: urr.triggers.iter_names().map(|(name, _)| name.into()).collect(),
        thresholds: limits(&urr.thresholds),
        quotas: limits(&urr.quotas),
        period: urr.period.map(seconds),
        quota_holding_time: urr.holding_time.map(seconds),
        quota_far: urr.quota_far.map(|far| far.0),
        linked: urr.linked.iter().map(|urr| urr.0).collect(),
        before_qos: urr.before_qos,
        inactive: urr.inactive,
    }
}

fn limits(limits: &UsageLimits) -> LimitsView {
    let volume = |DirectionalLimit { total, uplink, downlink }| DirectionalVolume { total, uplink, downlink };
    LimitsView { volume: limits.volume.map(volume), seconds: limits.time.map(seconds), events: limits.events }
}

fn bar(bar: &Bar) -> BarView {
    BarView {
        id: bar.id.0,
        notification_delay: seconds(bar.notification_delay),
        suggested_packets: bar.suggested_packets,
    }
}

fn state_view(worker: usize, state: &SessionState, clock: WallClock) -> SessionStateView {
    let buffer = state.buffer;
    SessionStateView {
        worker,
        last_packet: state.last_packet.map(|time| epoch(time, clock)),
        buffer: BufferView {
            packets: buffer.packets,
            octets: buffer.octets,
            oldest: buffer.oldest.map(|time| epoch(time, clock)),
        },
        usage: state.usage.iter().map(|urr| urr_state(urr, clock)).collect(),
        drops: state.drops.as_ref().map(|drops| drops_view(drops, clock)),
    }
}

fn drops_view(drops: &SessionDrops, clock: WallClock) -> SessionDropsView {
    let (last, at) = drops.last;
    let of = |(reason, packets): &(DropReason, u64)| SessionDropView {
        reason: reason.label().to_owned(),
        packets: *packets,
    };
    SessionDropsView {
        since: epoch(drops.since, clock),
        last: epoch(at, clock),
        last_reason: reason(last),
        reasons: drops.by_reason.iter().map(of).collect(),
    }
}

fn urr_state(state: &UrrState, clock: WallClock) -> UrrStateView {
    UrrStateView {
        urr: state.urr.0,
        since: epoch(state.since, clock),
        unreported: usage(&state.unreported),
        total: usage(&state.total),
        until_threshold: limits(&state.until_threshold),
        until_quota: limits(&state.until_quota),
        exhausted: state.is_exhausted,
        active: state.is_active,
    }
}

fn usage(usage: &UsageTotals) -> UsageView {
    UsageView {
        uplink_octets: usage.volume.uplink,
        downlink_octets: usage.volume.downlink,
        uplink_packets: usage.volume.uplink_packets,
        downlink_packets: usage.volume.downlink_packets,
        seconds: seconds(usage.time),
        events: usage.events,
    }
}
