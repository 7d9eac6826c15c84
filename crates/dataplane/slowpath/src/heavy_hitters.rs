//! Heavy hitters among the packets that are forwarded.

use std::net::IpAddr;

use causeway_dataplane::{Event, FiveTuple, FlowKind, HeavyFlow, HeavyHitterList, HeavyHitterSettings};
use causeway_model::{Pdr, PduSessionType};
use causeway_packet::{Flow, UserPacket};
use causeway_traffic::heavy::{Change, HeavyHitters};
use causeway_types::{Direction, IpNet, Seid, Time};

use crate::engine::SlowPath;
use crate::session::direction_of;

/// The detector with its list.
pub type HeavyFlows = HeavyHitters<HeavyFlow>;

/// The addresses, ports and protocol of a packet.
pub fn five_tuple(flow: &Flow) -> FiveTuple {
    let ports = flow.ports.map_or((0, 0), |ports| (ports.src, ports.dst));
    FiveTuple { addresses: (flow.src, flow.dst), ports, protocol: flow.protocol.0 }
}

/// The flow of a packet, as it is shown.
fn heavy_flow(kind: FlowKind, session: Option<Seid>, direction: Direction, packet: &FiveTuple) -> HeavyFlow {
    let address = packet.ue(direction);
    let bits = if address.is_ipv4() { 32 } else { 64 };
    let ue = IpNet::new(address, bits).unwrap_or_else(|_| address.into());
    HeavyFlow { session, direction, ue, transport: (kind == FlowKind::FiveTuple).then_some(*packet) }
}

impl SlowPath {
    /// Whether somebody looks for heavy hitters: [`SlowPath::observe_packets`] has an effect.
    #[inline]
    pub const fn has_heavy_hitters(&self) -> bool {
        self.heavy_hitters.is_some()
    }

    /// The detector with its list, for tests.
    pub fn heavy_flows(&self) -> Option<&HeavyFlows> {
        self.heavy_hitters.as_deref()
    }

    /// Takes packets of so many octets that were forwarded, in order. `flow` gives direction, addresses and ports of the one at a
    /// position. `elsewhere` finds the session of a UE address outside the slow path, `fetch` may prefetch memory.
    #[inline]
    pub fn observe_packets(
        &mut self,
        now: Time,
        octets: &[u32],
        flow: impl Fn(usize) -> (Direction, FiveTuple),
        elsewhere: impl Fn(IpAddr) -> Option<Seid>,
        fetch: impl Fn(*const u8),
    ) {
        let Self { heavy_hitters, index, .. } = self;
        let Some(heavy) = heavy_hitters else { return };
        let keys = heavy.keys();
        let key = |position| {
            let (direction, packet) = flow(position);
            keys.key(direction, &packet)
        };
        let describe = |position| {
            let (direction, packet) = flow(position);
            let ue = packet.ue(direction);
            // An address that two sessions have is of neither.
            let session = match elsewhere(ue) {
                Some(seid) => Some(seid).filter(|_| index.users(IpNet::from(ue)).next().is_none()),
                None => index.only_session_of_ue(ue),
            };
            heavy_flow(keys.kind(), session, direction, &packet)
        };
        heavy.observe_all(now, octets, key, describe, fetch);
    }

    /// Takes a packet that a PDR of a session has matched and that was forwarded. Ethernet frames have no UE address,
    /// and are not looked at.
    pub(crate) fn observe_forwarded(&mut self, now: Time, seid: Seid, pdr: &Pdr, packet: &[u8]) {
        if self.applications.classes().is_some() {
            let octets = u32::try_from(packet.len()).unwrap_or(u32::MAX);
            self.observe_class_of(now, seid, direction_of(pdr), octets);
        }
        if self.heavy_hitters.is_none() {
            return;
        }
        let is_ip = self.sessions.get(&seid).is_some_and(|it| it.rules.pdu_type == PduSessionType::Ip);
        let user = UserPacket::parse(packet);
        if let (true, Ok(user)) = (is_ip, user) {
            let octets = u32::try_from(user.len()).unwrap_or(u32::MAX);
            let flow = |_| (direction_of(pdr), five_tuple(&user.flow));
            self.observe_packets(now, &[octets], flow, |_| None, |_| ());
        }
    }

    pub(crate) fn look_for_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        if self.heavy_hitters.as_ref().map(|heavy| heavy.settings()) == settings {
            return;
        }
        if let Some(mut former) = self.heavy_hitters.take() {
            former.end_all(now);
            let ended = std::iter::from_fn(|| former.poll_change());
            self.events.extend(ended.map(event));
        }
        self.heavy_hitters = settings.and_then(|settings| HeavyHitters::new(settings).ok()).map(Box::new);
    }

    pub(crate) fn heavy_hitter_list(&self, now: Time) -> Option<HeavyHitterList> {
        let heavy = self.heavy_hitters.as_ref()?;
        Some(HeavyHitterList { flows: heavy.listed(now).collect(), counts: heavy.counts() })
    }

    pub(crate) fn heavy_hitter_event(&mut self) -> Option<Event> {
        self.heavy_hitters.as_mut()?.poll_change().map(event)
    }
}

fn event(change: Change<HeavyFlow>) -> Event {
    match change {
        Change::Began(hitter) => Event::HeavyHitter { hitter: Box::new(hitter), is_over: false },
        Change::Ended(hitter) => Event::HeavyHitter { hitter: Box::new(hitter), is_over: true },
    }
}
