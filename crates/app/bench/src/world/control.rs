//! The part of the control plane that handles rules.

use std::sync::Arc;

use causeway_dataplane::Capabilities;
use causeway_model::{Far, LocalEndpoints, Plan};
use causeway_pfcp::{Header, Message};
use causeway_rules::{Addresses, Catalogue, Context, Resources, Tunnels, establish};
use causeway_types::{FTeid, Seid, Span};

use super::shape::{self, DOWNLINK_FAR, Shape};
use crate::BenchError;

/// What it knows of sessions is forgotten at once.
pub(crate) struct Control<'a> {
    capabilities: &'a Capabilities,
    endpoints: LocalEndpoints,
    catalogue: Catalogue,
    resources: Resources,
}

/// What came of a request.
pub(crate) struct Established {
    pub(crate) plan: Plan,
    /// The tunnel that was chosen.
    pub(crate) tunnel: FTeid,
    /// The downlink FAR, if the request was decoded: one with a known message template is not.
    pub(crate) downlink: Option<Far>,
}

impl<'a> Control<'a> {
    /// `shape`: what sessions will be like.
    pub(crate) fn new(capabilities: &'a Capabilities, sessions: u32, shape: &Shape) -> Self {
        let tunnels = Tunnels::new(sessions, 0).scrambled(shape::secret());
        Self {
            capabilities,
            endpoints: shape::topology().endpoints(),
            catalogue: Catalogue { applications: Arc::clone(shape.applications()), ..Catalogue::default() },
            resources: Resources::new(tunnels, Addresses::new(Vec::new(), Span::ZERO)),
        }
    }

    /// What an SMF asks for a session with.
    pub(crate) fn request(shape: &Shape, number: u32) -> Vec<u8> {
        let mut datagram = Vec::new();
        let request = Message::from(shape.request(number));
        request
            .encode(Some(Seid(0)), number & 0xff_ffff, &mut datagram)
            .unwrap_or_else(|error| unreachable!("a session of the benchmark fits into a message: {error}"));
        datagram
    }

    /// Does what N4 does with such a request: one in words that were met before is not decoded.
    pub(crate) fn establish(&mut self, number: u32, datagram: &[u8]) -> Result<Established, BenchError> {
        let (header, body, _) = Header::decode(datagram)
            .unwrap_or_else(|error| unreachable!("a message that we have encoded: {error}"));
        let session = seid(number);
        let context = Context {
            capabilities: self.capabilities,
            endpoints: &self.endpoints,
            catalogue: &self.catalogue,
        };
        let profiled = self.resources.recognize(body).and_then(|known| self.resources.take(known, session));
        if let Some(profiled) = profiled.map(|rules| rules.to_session()) {
            let Some(tunnel) = profiled.tunnels().next() else {
                unreachable!("the request asks for a tunnel")
            };
            return Ok(Established {
                plan: Plan { session, change: profiled.into() },
                tunnel,
                downlink: None,
            });
        }
        let Ok(Message::SessionEstablishmentRequest(request)) = Message::decode(&header, body) else {
            unreachable!("a message that we have encoded")
        };
        let change = establish(&request, session, &context, &mut self.resources)
            .map_err(|rejection| BenchError::Refused { number, rejection })?;
        self.resources.commit(change.resources);
        let tunnel = change.chosen.first().map(|(_, tunnel)| *tunnel);
        let Some(tunnel) = tunnel else { unreachable!("the request asks for a tunnel") };
        let downlink = change.session.rules().fars.get(&DOWNLINK_FAR).cloned();
        Ok(Established { plan: change.plan, tunnel, downlink })
    }
}

/// The UPF's SEID of a session.
pub(super) fn seid(number: u32) -> Seid {
    Seid(u64::from(number) + 1)
}
