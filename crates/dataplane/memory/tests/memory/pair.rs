//! One requester and one responder; the test carries each packet.

use std::collections::VecDeque;

use causeway_memory::{
    OperationId, QueuePair, Region, Regions, Requester, RequesterConfig, Responder, ResponderConfig, Rights,
};
use causeway_packet::roce::management::Mtu;
use causeway_packet::roce::{Outer, Packet, Psn, Qpn, Repr, Rkey, Transport};
use causeway_types::{Span, Time};

pub(crate) const RKEY: Rkey = Rkey(0x77);
pub(crate) const BASE: u64 = 0x1000;
pub(crate) const LENGTH: usize = 4096;

pub(crate) struct Pair {
    pub(crate) now: Time,
    pub(crate) requester: Requester,
    pub(crate) responder: Responder,
    pub(crate) regions: Regions,
}

fn outer() -> Outer {
    Outer::of_socket("192.0.2.1:49152".parse().unwrap(), "192.0.2.2:4791".parse().unwrap())
}

pub(crate) fn octets_of(repr: &Repr<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    repr.write(&outer(), &mut out).unwrap();
    out
}

/// What a packet is: operation code and packet sequence number.
pub(crate) fn what(octets: &[u8]) -> (u8, u32) {
    let packet = Packet::parse(octets).unwrap();
    (packet.transport.opcode().0, packet.bth.psn.value())
}

impl Pair {
    /// Packets of 256 octets, a window of 8 packets, two reads, ten operations, 1 ms and three retries; the first packet sequence
    /// number is the last but one.
    pub(crate) fn new() -> Self {
        let first_psn = Psn::wrapping(0xff_fffe);
        let requester = RequesterConfig {
            peer: Qpn::wrapping(0x22),
            first_psn,
            mtu: Mtu::M256,
            window: 8,
            initiator_depth: 2,
            queue: 10,
            max_length: 8192,
            timeout: Span::from_millis(1),
            retries: 3,
        };
        let responder = ResponderConfig {
            peer: Qpn::wrapping(0x11),
            first_psn,
            mtu: Mtu::M256,
            resources: 2,
            max_read: 2048,
        };
        let mut regions = Regions::new();
        regions.insert(RKEY, Region::new(BASE, LENGTH, Rights::all()).unwrap());
        Self {
            now: Time::default(),
            requester: Requester::new(requester, QueuePair(0), OperationId(0)),
            responder: Responder::new(responder),
            regions,
        }
    }

    /// All packets that the requester sends now.
    pub(crate) fn requests(&mut self) -> VecDeque<Vec<u8>> {
        std::iter::from_fn(|| Some(octets_of(&self.requester.poll_transmit(self.now)?))).collect()
    }

    /// The responder gets a packet; what it sends.
    pub(crate) fn request(&mut self, octets: &[u8]) -> VecDeque<Vec<u8>> {
        self.responder.receive(&mut self.regions, &Packet::parse(octets).unwrap().repr());
        std::iter::from_fn(|| Some(octets_of(&self.responder.poll_transmit(&self.regions)?))).collect()
    }

    /// The responder gets a packet that the test made; the response.
    pub(crate) fn made(&mut self, repr: &Repr<'_>) -> Option<Vec<u8>> {
        self.request(&octets_of(repr)).pop_front()
    }

    /// The requester gets a packet.
    pub(crate) fn respond(&mut self, octets: &[u8]) {
        self.requester.receive(self.now, &Packet::parse(octets).unwrap());
    }

    /// Carries everything until nobody sends any more.
    pub(crate) fn carry(&mut self) {
        loop {
            let requests = self.requests();
            if requests.is_empty() {
                return;
            }
            for request in requests {
                for response in self.request(&request) {
                    self.respond(&response);
                }
            }
        }
    }

    /// The time-out of the requester passes.
    pub(crate) fn time_out(&mut self) {
        self.now = self.requester.next_timer().expect("a timer");
        self.requester.tick(self.now);
    }

    pub(crate) fn memory(&self) -> &[u8] {
        self.regions.get(RKEY).unwrap().octets()
    }

    pub(crate) fn results(
        &mut self,
    ) -> Vec<Result<causeway_memory::Outcome, causeway_memory::OperationError>> {
        std::iter::from_fn(|| Some(self.requester.poll()?.result)).collect()
    }
}

/// The syndrome of an acknowledgement.
pub(crate) fn syndrome(octets: &[u8]) -> causeway_packet::roce::Syndrome {
    match Packet::parse(octets).unwrap().transport {
        Transport::Acknowledge(aeth) => aeth.syndrome,
        other => panic!("{other:?}"),
    }
}
