//! A fixture: a UPF's N4 with a data plane, and time that the tests advance by hand.

mod plane;
mod rules;
mod smf;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use causeway_dataplane::{ApplyError, Event};
use causeway_n4::{Config, N4, Notice, Occupancy, Output};
use causeway_pfcp::{Cause, Message};
use causeway_rules::{Applications, Capabilities, LocalEndpoint, LocalEndpoints, UsageReportTrigger};
use causeway_types::{DualIp, NetworkInstance, NodeId, NtpSeconds, Seid, Span, Time, UrrId};

pub(crate) use plane::{Pace, Plane, used};
pub(crate) use rules::*;
pub(crate) use smf::{Got, Smf, encode};

pub(crate) struct TestN4 {
    pub n4: N4,
    pub(crate) plane: Plane,
    pub(crate) now: Time,
    pub(crate) sent: VecDeque<(SocketAddr, Vec<u8>)>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) applications: Arc<Applications>,
}

/// A UPF at 192.0.2.1 without heartbeats; T1 is 1 s, doubling up to 8 s; N1 is 3.
pub(crate) fn config() -> Config {
    let address = Ipv4Addr::new(192, 0, 2, 1);
    let mut config = Config::new(NodeId::Ip(address.into()), address.into());
    config.heartbeat.interval = Span::ZERO;
    config
}

pub(crate) fn capabilities() -> Capabilities {
    Capabilities { outer_ipv6: false, ..Capabilities::all(100_000, 16) }
}

/// The UPF's recovery time stamp.
pub(crate) const RECOVERY: NtpSeconds = NtpSeconds(3_900_000_000);

impl TestN4 {
    pub(crate) fn new() -> Self {
        Self::with(config())
    }

    pub(crate) fn with(config: Config) -> Self {
        let addr = DualIp::from(Ipv4Addr::new(192, 0, 2, 100));
        let endpoints = LocalEndpoints {
            gtpu: vec![LocalEndpoint { addr, network_instance: None }],
            networks: vec![NetworkInstance::new("internet")],
            routable: vec![(
                NetworkInstance::new("internet"),
                ["10.0.0.0/8", "172.16.0.0/12", "192.0.2.0/24"].map(|net| net.parse().unwrap()).into(),
            )],
            ..LocalEndpoints::default()
        };
        Self {
            n4: N4::new(config, capabilities(), endpoints, RECOVERY),
            plane: Plane::new(),
            now: Time::from_secs(1_700_000_000),
            sent: VecDeque::new(),
            notices: Vec::new(),
            applications: Arc::default(),
        }
    }

    /// A fixture with an SMF that has an association.
    pub(crate) fn associated() -> (Self, Smf) {
        Self::associated_with(config())
    }

    pub(crate) fn associated_with(config: Config) -> (Self, Smf) {
        let (mut n4, mut smf) = (Self::with(config), Smf::new(10));
        n4.associate(&mut smf);
        (n4, smf)
    }

    pub(crate) fn associate(&mut self, smf: &mut Smf) {
        let setup = smf.setup();
        assert_eq!(self.ask(smf, None, setup).cause(), Cause::RequestAccepted);
    }

    /// A datagram arrives.
    pub(crate) fn deliver(&mut self, from: SocketAddr, bytes: &[u8]) {
        self.n4.datagram(self.now, from, bytes);
        self.drain();
    }

    /// The SMF sends a request; returns its octets.
    pub(crate) fn send<'a>(
        &mut self,
        smf: &mut Smf,
        seid: Option<Seid>,
        message: impl Into<Message<'a>>,
    ) -> Vec<u8> {
        let bytes = smf.request(seid, message);
        self.deliver(smf.addr, &bytes);
        bytes
    }

    /// The SMF sends a request and gets its response.
    pub(crate) fn ask<'a>(
        &mut self,
        smf: &mut Smf,
        seid: Option<Seid>,
        message: impl Into<Message<'a>>,
    ) -> Got {
        self.send(smf, seid, message);
        // Heartbeats of the UPF may be in flight, too.
        let sequence = smf.sequence;
        let is_it = |(to, bytes): &(SocketAddr, Vec<u8>)| {
            *to == smf.addr && Got::from_bytes(bytes).header.sequence == sequence
        };
        if let Some(at) = self.sent.iter().position(is_it) {
            let (_, bytes) = self.sent.remove(at).expect("it is there");
            let received = Got::from_bytes(&bytes);
            self.n4.recycle(bytes);
            return received;
        }
        let received = self.next(smf.addr);
        assert_eq!(received.header.sequence, smf.sequence, "the answer has the number of the request");
        received
    }

    /// The SMF responds to the heartbeats that the UPF has sent it.
    pub(crate) fn hearts(&mut self, smf: &Smf) {
        let is_heartbeat = |(to, bytes): &(SocketAddr, Vec<u8>)| *to == smf.addr && bytes.get(1) == Some(&1);
        while let Some(at) = self.sent.iter().position(is_heartbeat) {
            let (_, bytes) = self.sent.remove(at).expect("it is there");
            self.deliver(smf.addr, &smf.heartbeat_response(&Got::from_bytes(&bytes)));
        }
    }

    /// The SMF confirms in its responses to heartbeats that it has restarted: its time stamp is the same 2 s later.
    pub(crate) fn shows_its_restart(&mut self, smf: &Smf) {
        self.hearts(smf);
        self.pass(Span::from_secs(2));
        self.hearts(smf);
    }

    /// A session is established; returns the UPF's SEID.
    pub(crate) fn establish(&mut self, smf: &mut Smf) -> Seid {
        let request = establishment(smf.node_id(), smf.f_seid());
        let received = self.ask(smf, Some(Seid(0)), request);
        assert_eq!(received.cause(), Cause::RequestAccepted);
        received.up_seid()
    }

    /// The data plane reports usage of URR 1.
    pub(crate) fn uses(&mut self, session: Seid, octets: u64) {
        let usage = used(self.now, UrrId(1), octets, UsageReportTrigger::VOLTH);
        self.event(Event::Usage { session, usage: vec![usage] });
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.n4.event(self.now, event);
        self.drain();
    }

    /// Time passes; each timer runs when it is due.
    pub(crate) fn pass(&mut self, span: Span) {
        let end = self.now + span;
        while let Some(due) = self.n4.next_timer().filter(|due| *due <= end) {
            assert!(due >= self.now || self.n4.next_timer() != Some(due), "a timer in the past");
            self.now = self.now.max(due);
            self.n4.timer(self.now);
            self.drain();
        }
        self.now = end;
        self.n4.timer(self.now);
        self.drain();
    }

    /// The data plane applies the oldest plan that it holds.
    pub(crate) fn apply_next(&mut self) {
        let (id, plan) = self.plane.held.pop_front().expect("a plan is held");
        let result = self.plane.apply(self.now, plan);
        self.n4.applied(self.now, id, result);
        self.drain();
    }

    /// The oldest plan that it holds fails.
    pub(crate) fn fail_next(&mut self, error: ApplyError) {
        self.plane.failures.push_back(error);
        self.apply_next();
    }

    /// The next message to this address. Those to others stay where they are.
    pub(crate) fn next(&mut self, to: SocketAddr) -> Got {
        self.try_next(to).expect("a message to this address")
    }

    pub(crate) fn try_next(&mut self, to: SocketAddr) -> Option<Got> {
        let at = self.sent.iter().position(|(addr, _)| *addr == to)?;
        let (_, bytes) = self.sent.remove(at)?;
        let received = Got::from_bytes(&bytes);
        // A UPF does so with messages that it has sent.
        self.n4.recycle(bytes);
        Some(received)
    }

    /// Nothing was sent since.
    #[track_caller]
    pub(crate) fn is_quiet(&self) {
        assert!(self.sent.is_empty(), "{:?}", self.sent);
    }

    pub(crate) fn has_notice(&self, is_it: impl Fn(&Notice) -> bool) -> bool {
        self.notices.iter().any(is_it)
    }

    /// The occupancy without associations and cached responses.
    pub(crate) fn rest(&self) -> Occupancy {
        Occupancy { associations: 0, remembered_requests: 0, ..self.n4.occupancy() }
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.n4.poll_output() {
            match output {
                Output::Send { to, bytes } => self.sent.push_back((to, bytes)),
                Output::Apply { id, plan } if self.plane.pace == Pace::Held => {
                    self.plane.held.push_back((id, plan));
                }
                Output::Apply { id, plan } => {
                    let result = self.plane.apply(self.now, plan);
                    self.n4.applied(self.now, id, result);
                }
                Output::Applications(applications) => self.applications = applications,
                Output::Notice(notice) => {
                    assert!(!notice.to_string().is_empty());
                    self.notices.push(notice);
                }
            }
        }
    }
}
