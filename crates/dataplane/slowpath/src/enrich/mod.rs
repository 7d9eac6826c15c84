//! HTTP Header Enrichment (TS 29.244 clauses 5.2.3.1 and 8.2.67): adds the fields that the SMF names to the requests
//! of the UE.
//!
//! A request is enriched when it begins a TCP segment, its request line ends in that segment, the start of the
//! connection was observed while the FAR enriched, and the packet stays within the MTU of its route; otherwise it is
//! forwarded unchanged. Connections with options that bind sequence numbers or octets (Multipath TCP, MD5, TCP-AO) or
//! with data in the SYN are not enriched. Usage counts what the UE sent, without the fields; copies of packets (DUPL)
//! have none either. ICMP errors quote numbers as the network received them.

#[cfg(test)]
mod tests;

mod flow;

use std::borrow::Cow;
use std::net::SocketAddr;

use causeway_dataplane::DropReason;
use causeway_model::HttpField;
use causeway_packet::{Flow, Fragment, IpProtocol, TcpFlags, TcpPacket, UserPacket};
use causeway_types::{Span, Time};

use flow::TcpFlow;

/// Connections that a session tracks. Of those without enrichment the one that has been idle longest is discarded
/// first. An enriched connection stays while it is open, and new ones are not enriched.
const MAX_TRACKED_FLOWS: usize = 64;

/// An open connection without packets is discarded after this time (RFC 5382 REQ-5).
const IDLE: Span = Span::from_secs(2 * 3600 + 4 * 60);

/// A connection that has ended may still retransmit its last segments.
const TIME_WAIT: Span = Span::from_secs(60);

/// MD5 signatures, Multipath TCP and the authentication option (RFC 2385, RFC 8684, RFC 5925).
const BINDING_OPTIONS: [u8; 3] = [19, 30, 29];

/// The TCP connections of one session whose requests are enriched.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EnrichedFlows(Vec<(Key, TcpFlow)>);

/// A connection, as the network observes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    ue: SocketAddr,
    server: SocketAddr,
}

impl Key {
    fn of_uplink(flow: &Flow) -> Option<Self> {
        let ports = flow.ports.filter(|_| flow.protocol == IpProtocol::TCP)?;
        Some(Self { ue: (flow.src, ports.src).into(), server: (flow.dst, ports.dst).into() })
    }

    fn of_downlink(flow: &Flow) -> Option<Self> {
        Self::of_uplink(flow).map(|Self { ue, server }| Self { ue: server, server: ue })
    }
}

impl EnrichedFlows {
    /// No connection is tracked.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Processes an uplink packet before transmission, which may grow to `max_payload` octets.
    ///
    /// # Errors
    /// [`DropReason::EnrichedFragment`] for a fragment of a connection with shifted sequence numbers.
    pub(crate) fn uplink<'p>(
        &mut self,
        packet: &'p [u8],
        fields: &[HttpField],
        max_payload: usize,
        now: Time,
    ) -> Result<Cow<'p, [u8]>, DropReason> {
        if fields.is_empty() && self.0.is_empty() {
            return Ok(packet.into());
        }
        let Ok(user) = UserPacket::parse(packet) else { return Ok(packet.into()) };
        let Some(key) = Key::of_uplink(&user.flow) else { return Ok(packet.into()) };
        let Some(mut segment) = TcpPacket::open(&user) else { return self.broken(&key, &user, packet) };
        if segment.flags().contains(TcpFlags::SYN) {
            self.begin(key, &segment, !fields.is_empty(), now);
            return Ok(packet.into());
        }
        let Some(flow) = self.find(&key, now) else { return Ok(packet.into()) };
        let mut lines = Vec::new();
        fields.iter().for_each(|field| field.write(&mut lines));
        flow.uplink(&mut segment, &lines, max_payload);
        if !flow.is_shifted() {
            return Ok(packet.into());
        }
        segment.into_bytes().map(Cow::Owned).ok_or(DropReason::TooBig)
    }

    /// Processes a downlink packet from the network.
    ///
    /// # Errors
    /// As [`EnrichedFlows::uplink`].
    pub(crate) fn downlink<'p>(&mut self, packet: &'p [u8], now: Time) -> Result<Cow<'p, [u8]>, DropReason> {
        if self.0.is_empty() {
            return Ok(packet.into());
        }
        let Ok(user) = UserPacket::parse(packet) else { return Ok(packet.into()) };
        let Some(key) = Key::of_downlink(&user.flow) else { return Ok(packet.into()) };
        let Some(mut segment) = TcpPacket::open(&user) else { return self.broken(&key, &user, packet) };
        let Some(flow) = self.find(&key, now) else { return Ok(packet.into()) };
        let is_shifted = flow.is_shifted();
        flow.downlink(&mut segment);
        if !is_shifted {
            return Ok(packet.into());
        }
        segment.into_bytes().map(Cow::Owned).ok_or(DropReason::TooBig)
    }

    /// A packet whose numbers cannot be changed. One with a wrong checksum is forwarded: no receiver accepts it.
    fn broken<'p>(
        &self,
        key: &Key,
        user: &UserPacket<'_>,
        packet: &'p [u8],
    ) -> Result<Cow<'p, [u8]>, DropReason> {
        let is_shifted = self.0.iter().any(|(known, flow)| known == key && flow.is_shifted());
        let is_fragment = user.flow.fragment != Fragment::Whole;
        if is_shifted && is_fragment { Err(DropReason::EnrichedFragment) } else { Ok(packet.into()) }
    }

    fn find(&mut self, key: &Key, now: Time) -> Option<&mut TcpFlow> {
        let (_, flow) = self.0.iter_mut().find(|(known, _)| known == key)?;
        flow.used = now;
        Some(flow)
    }

    /// A SYN starts a connection and replaces an older one between the same endpoints.
    fn begin(&mut self, key: Key, syn: &TcpPacket, is_enriched: bool, now: Time) {
        if self.0.iter().any(|(known, flow)| *known == key && flow.began_with(syn)) {
            return;
        }
        self.0.retain(|(known, flow)| {
            let limit = if flow.has_ended() { TIME_WAIT } else { IDLE };
            *known != key && now.since(flow.used) < limit
        });
        let is_plain = syn.payload().is_empty() && !BINDING_OPTIONS.iter().any(|kind| syn.has_option(*kind));
        if is_enriched && is_plain && self.has_capacity() {
            self.0.push((key, TcpFlow::new(syn, now)));
        }
    }

    /// There is capacity for one more connection, if necessary by discarding another one.
    fn has_capacity(&mut self) -> bool {
        if self.0.len() < MAX_TRACKED_FLOWS {
            return true;
        }
        let can_go =
            self.0.iter().enumerate().filter(|(_, (_, flow))| !flow.is_shifted() || flow.has_ended());
        let oldest = can_go.min_by_key(|(_, (_, flow))| flow.used).map(|(index, _)| index);
        oldest.map(|index| self.0.remove(index)).is_some()
    }
}
