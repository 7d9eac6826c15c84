//! The cost of decoding and of the rules alone, for requests that N4 processes in one call.

use std::hint::black_box;

use causeway_model::LocalEndpoints;
use causeway_pfcp::{Header, Message};
use causeway_rules::{Addresses, Catalogue, Context, Resources, SessionRules, Tunnels, establish, modify};
use causeway_types::{Seid, Span};

use super::environment::{capabilities, topology};
use crate::kit::CpuTimer;

/// Decodes requests and plans what they ask for, without N4.
pub(super) struct DecodeOnly {
    endpoints: LocalEndpoints,
    catalogue: Catalogue,
    resources: Resources,
    session: SessionRules,
}

/// Nanoseconds per request.
#[derive(Clone, Copy, Default)]
pub(super) struct Costs {
    pub(super) decode: f64,
    /// With what decoding costs again while the rules are read.
    pub(super) rules: f64,
}

impl DecodeOnly {
    /// With an established session, of which modifications are planned.
    pub(super) fn new(establishment: &[u8]) -> Self {
        let mut alone = Self {
            endpoints: topology().endpoints(),
            catalogue: Catalogue::default(),
            resources: Resources::new(Tunnels::new(1000, 0), Addresses::new(Vec::new(), Span::ZERO)),
            session: SessionRules::default(),
        };
        if let Some(Message::SessionEstablishmentRequest(request)) = decoded(establishment) {
            let Self { endpoints, catalogue, resources, .. } = &mut alone;
            let context = Context { capabilities: &capabilities(1000), endpoints, catalogue };
            if let Ok(change) = establish(&request, Seid(1), &context, resources) {
                alone.session = change.session;
                alone.resources.abandon(change.resources);
            }
        }
        alone
    }

    /// The mean over these requests.
    pub(super) fn measure(&mut self, requests: &[Vec<u8>]) -> Costs {
        let each = 1e9 / requests.len().max(1) as f64;
        let timer = CpuTimer::start();
        for request in requests {
            black_box(decoded(black_box(request)));
        }
        let decode = timer.elapsed().as_secs_f64() * each;
        let messages: Vec<_> = requests.iter().filter_map(|request| decoded(request)).collect();
        let capabilities = capabilities(1000);
        let Self { endpoints, catalogue, resources, session } = self;
        let context = Context { capabilities: &capabilities, endpoints, catalogue };
        let timer = CpuTimer::start();
        for message in &messages {
            let planned = match message {
                Message::SessionEstablishmentRequest(request) => {
                    establish(request, Seid(2), &context, resources)
                }
                Message::SessionModificationRequest(request) => {
                    modify(session, request, Seid(1), &context, resources)
                }
                _ => continue,
            };
            if let Ok(change) = planned {
                black_box(&change.plan);
                resources.abandon(change.resources);
            }
        }
        Costs { decode, rules: timer.elapsed().as_secs_f64() * each }
    }
}

fn decoded(request: &[u8]) -> Option<Message<'_>> {
    let (header, body, _) = Header::decode(request).ok()?;
    Message::decode(&header, body).ok()
}
