//! Application detection from the flows of a session: server names and URLs (TS 29.244 clause 5.2.1A.4).
//!
//! A flow is identified by its addresses, ports and protocol. What a packet shows applies to that packet and to all
//! later packets of the flow, in both directions. The detector reads DNS queries to port 53, and the first octets
//! that one side of a TCP connection sends: a TLS ClientHello or a plain HTTP request. They may span several
//! segments, in order; a missing segment ends the search. Later fragments have no ports and are not detected.
//!
//! A session tracks a bounded number of flows; beyond it, the flow that has been idle longest is discarded.

use std::collections::BTreeMap;
use std::net::IpAddr;

use causeway_model::{Applications, DomainProtocol, Seen};
use causeway_packet::application::{SearchResult, query_name, request, server_name};
use causeway_packet::{Flow, IpProtocol, Tcp, TcpFlags, Udp, UserPacket};

/// Flows that one session tracks.
const MAX_FLOWS: usize = 256;

/// Octets that are read before the search ends: enough for a ClientHello with post-quantum keys.
const MAX_STREAM: usize = 4096;

/// The longest URL that is kept.
const MAX_URL: usize = 2048;

const DNS_PORT: u16 = 53;

/// One end of a flow.
type FlowEndpoint = (IpAddr, u16);

/// A flow, independent of direction: its endpoints, the lower one first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    low: FlowEndpoint,
    high: FlowEndpoint,
    protocol: u8,
}

/// The detection state of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    /// The start of a stream, and the sequence number of its next octet.
    Searching { from: FlowEndpoint, next: u32, stream: Vec<u8> },
    /// The final result.
    Done(Option<Seen>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    state: State,
    /// The time of the last packet, counted in packets of the session.
    last: u64,
}

/// The flow detection of one session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Detector {
    flows: BTreeMap<Key, Entry>,
    packets: u64,
}

/// The input of application matching for one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detection<'a> {
    pub(crate) applications: &'a Applications,
    /// The detection result of the packet's flow.
    pub(crate) seen: Option<&'a Seen>,
    /// The class of the session's traffic.
    pub(crate) class: u8,
}

impl Detector {
    /// Processes a packet. Returns the detection result of its flow, this packet included.
    pub(crate) fn observe(&mut self, packet: &UserPacket<'_>) -> Option<&Seen> {
        let key = key(&packet.flow)?;
        self.packets += 1;
        match packet.flow.protocol {
            IpProtocol::TCP => self.observe_tcp(key, packet),
            IpProtocol::UDP => self.observe_udp(key, packet),
            _ => {}
        }
        self.flows.get_mut(&key)?.last = self.packets;
        self.seen(&packet.flow)
    }

    /// The detection result of a packet's flow so far.
    pub(crate) fn seen(&self, flow: &Flow) -> Option<&Seen> {
        match &self.flows.get(&key(flow)?)?.state {
            State::Done(seen) => seen.as_ref(),
            State::Searching { .. } => None,
        }
    }

    /// The number of tracked flows.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Each query replaces the result: one socket may query many names.
    fn observe_udp(&mut self, key: Key, packet: &UserPacket<'_>) {
        if packet.flow.ports.is_none_or(|ports| ports.dst != DNS_PORT) {
            return;
        }
        let Ok(udp) = Udp::parse(packet.transport()) else { return };
        if let Some(name) = query_name(udp.payload()) {
            let (name, protocol) = (Some(name.as_str().to_owned()), Some(DomainProtocol::DnsQname));
            self.put(key, State::Done(Some(Seen { name, protocol, url: None })));
        }
    }

    fn observe_tcp(&mut self, key: Key, packet: &UserPacket<'_>) {
        let Ok(tcp) = Tcp::parse(packet.transport()) else { return };
        if tcp.flags().contains(TcpFlags::SYN) {
            // A new connection with the ports of an old one.
            self.flows.remove(&key);
            return;
        }
        let payload = tcp.payload();
        let from = (packet.flow.src, tcp.src_port());
        match self.flows.get_mut(&key).map(|entry| &mut entry.state) {
            _ if payload.is_empty() => {}
            None => {
                let next = tcp.sequence();
                let searching = State::Searching { from, next, stream: Vec::new() };
                self.put(key, search(searching, from, next, payload));
            }
            Some(state @ State::Searching { .. }) => {
                let held = std::mem::replace(state, State::Done(None));
                *state = search(held, from, tcp.sequence(), payload);
            }
            Some(State::Done(_)) => {}
        }
    }

    fn put(&mut self, key: Key, state: State) {
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&key) {
            let oldest = self.flows.iter().min_by_key(|(_, entry)| entry.last).map(|(key, _)| *key);
            oldest.map(|key| self.flows.remove(&key));
        }
        self.flows.insert(key, Entry { state, last: self.packets });
    }
}

/// The flow of a packet; `None` for a packet without ports.
fn key(flow: &Flow) -> Option<Key> {
    let ports = flow.ports?;
    let (src, dst) = ((flow.src, ports.src), (flow.dst, ports.dst));
    Some(Key { low: src.min(dst), high: src.max(dst), protocol: flow.protocol.0 })
}

/// Appends a segment to the stream and parses it. Segments of the other side and retransmissions change nothing.
fn search(state: State, from: FlowEndpoint, sequence: u32, payload: &[u8]) -> State {
    let State::Searching { from: began, next, mut stream } = state else { return state };
    if from != began {
        return State::Searching { from: began, next, stream };
    }
    let known = next.wrapping_sub(sequence) as usize;
    let Some(new) = payload.get(known..) else {
        // The segment is a retransmission, or leaves a gap.
        let is_repeated = known <= i32::MAX as usize;
        return if is_repeated { State::Searching { from, next, stream } } else { State::Done(None) };
    };
    let capacity = MAX_STREAM - stream.len();
    stream.extend_from_slice(new.get(..capacity).unwrap_or(new));
    match inspect(&stream) {
        SearchResult::Found(seen) => State::Done(Some(seen)),
        SearchResult::Incomplete if stream.len() < MAX_STREAM => {
            State::Searching { from, next: next.wrapping_add(new.len() as u32), stream }
        }
        SearchResult::Incomplete | SearchResult::NotFound => State::Done(None),
    }
}

fn inspect(stream: &[u8]) -> SearchResult<Seen> {
    let by_tls = server_name(stream).map(|name| Seen {
        name: Some(name.trim_end_matches('.').to_ascii_lowercase()),
        protocol: Some(DomainProtocol::TlsSni),
        url: None,
    });
    match by_tls {
        SearchResult::NotFound => request(stream).map(|request| {
            let url = match request.target.starts_with('/') {
                true => format!("http://{}{}", request.host, request.target),
                false => request.target.to_owned(),
            };
            let host = request.host.rsplit_once(':').map_or(request.host, |(host, _port)| host);
            Seen {
                name: Some(host.to_ascii_lowercase()),
                protocol: None,
                url: Some(url).filter(|url| url.len() <= MAX_URL),
            }
        }),
        found => found,
    }
}

#[cfg(test)]
mod tests;
