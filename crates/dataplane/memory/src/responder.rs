//! One queue pair of a memory server as responder (IBA clauses 9.7.3 to 9.7.5).

use std::collections::VecDeque;

use causeway_packet::roce::management::Mtu;
use causeway_packet::roce::{Aeth, Bth, DEFAULT_PKEY, NakCode, Psn, Qpn, Repr, Reth, Syndrome, Transport};

use crate::{Place, Regions, Rights};

/// Attributes of a responder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResponderConfig {
    /// The requester's queue pair, to which responses go.
    pub peer: Qpn,
    /// The first packet sequence number of the requester.
    pub first_psn: Psn,
    /// Payload of a packet.
    pub mtu: Mtu,
    /// Responder resources: reads and atomic operations whose repetition is answered. The requester has at most as many outstanding.
    pub resources: u8,
    /// The longest read, octets. A longer one is an invalid request.
    pub max_read: u32,
}

/// A write whose last packet has not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OpenWrite {
    /// Where the next octets go.
    place: Place,
    remaining: usize,
}

/// A read or an atomic operation that was executed, so that its repetition is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Resource {
    Read { first: Psn, packets: u32, request: Reth },
    Atomic { psn: Psn, msn: Psn, original: u64 },
}

/// A response that was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Response {
    Acknowledge {
        psn: Psn,
        syndrome: Syndrome,
        msn: Psn,
    },
    Atomic {
        psn: Psn,
        msn: Psn,
        original: u64,
    },
    /// The packets of a read from `psn` on; `has_begun`: the first one was sent.
    Read {
        psn: Psn,
        msn: Psn,
        place: Place,
        remaining: usize,
        has_begun: bool,
    },
}

/// What a responder did, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResponderCounters {
    /// Reads that were executed, repetitions not counted.
    pub reads: u64,
    /// Writes that were executed.
    pub writes: u64,
    /// Atomic operations that were executed.
    pub atomics: u64,
    /// Octets read.
    pub octets_read: u64,
    /// Octets written.
    pub octets_written: u64,
    /// Request packets that came again.
    pub duplicates: u64,
    /// NAKs for packets that are missing.
    pub sequence_errors: u64,
    /// NAKs for requests that are refused.
    pub refused: u64,
    /// Packets that are no requests for this queue pair, repetitions that are too old, and what came while too many responses waited.
    pub dropped: u64,
}

impl ResponderCounters {
    /// Adds the numbers of another.
    pub(crate) fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.atomics += other.atomics;
        self.octets_read += other.octets_read;
        self.octets_written += other.octets_written;
        self.duplicates += other.duplicates;
        self.sequence_errors += other.sequence_errors;
        self.refused += other.refused;
        self.dropped += other.dropped;
    }
}

/// A queue pair that executes the requests of one requester on the regions of a server, each once and in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Responder {
    config: ResponderConfig,
    /// The packet sequence number that comes next.
    expected: Psn,
    /// Message sequence number: messages that were completed.
    msn: Psn,
    write: Option<OpenWrite>,
    resources: VecDeque<Resource>,
    responses: VecDeque<Response>,
    /// A gap was reported, and nothing has come since that is not behind it.
    gap_reported: bool,
    /// A request was refused. Nothing is executed any more; the request that was refused is refused again.
    refused: Option<NakCode>,
    counters: ResponderCounters,
}

impl Responder {
    /// A queue pair in the state ready to receive.
    pub const fn new(config: ResponderConfig) -> Self {
        Self {
            config,
            expected: config.first_psn,
            msn: Psn::wrapping(0),
            write: None,
            resources: VecDeque::new(),
            responses: VecDeque::new(),
            gap_reported: false,
            refused: None,
            counters: ResponderCounters { ..ZERO },
        }
    }

    /// What it did.
    pub const fn counters(&self) -> &ResponderCounters {
        &self.counters
    }

    /// Why the queue pair executes nothing any more.
    pub const fn refused(&self) -> Option<NakCode> {
        self.refused
    }

    /// There are responses to send.
    pub fn has_responses(&self) -> bool {
        !self.responses.is_empty()
    }

    /// A packet for this queue pair whose CRC is right.
    pub fn receive(&mut self, regions: &mut Regions, packet: &Repr<'_>) {
        let Repr { bth, transport } = packet;
        // More responses than a requester that follows the rules waits for: what comes now is as good as lost.
        let is_full = self.responses.len() >= 2 * usize::from(self.config.resources) + 2;
        if is_full || bth.pkey != DEFAULT_PKEY || !is_request(transport) {
            self.counters.dropped += 1;
            return;
        }
        if bth.psn == self.expected {
            self.gap_reported = false;
            self.expected_packet(regions, bth, transport);
        } else if bth.psn.is_before(self.expected) {
            self.counters.duplicates += 1;
            self.duplicate(regions, bth, transport);
        } else if self.refused.is_none() && !std::mem::replace(&mut self.gap_reported, true) {
            self.counters.sequence_errors += 1;
            self.respond_nak(NakCode::PsnSequenceError);
        }
    }

    /// The next response packet.
    pub fn poll_transmit<'a>(&mut self, regions: &'a Regions) -> Option<Repr<'a>> {
        let mtu = self.config.mtu.octets();
        let peer = self.config.peer;
        let ack = |msn| Aeth { syndrome: Syndrome::ACK, msn };
        let (psn, transport) = match self.responses.front_mut()? {
            Response::Acknowledge { psn, syndrome, msn } => {
                (*psn, Transport::Acknowledge(Aeth { syndrome: *syndrome, msn: *msn }))
            }
            Response::Atomic { psn, msn, original } => {
                (*psn, Transport::AtomicAcknowledge(ack(*msn), *original))
            }
            Response::Read { psn, msn, place, remaining, has_begun } => {
                let length = mtu.min(*remaining);
                // The range was checked when the request came, and regions do not shrink.
                let octets = regions.read(*place, length).unwrap_or_default();
                let (this, is_first) = (*psn, !std::mem::replace(has_begun, true));
                let is_last = length == *remaining;
                let transport = match (is_first, is_last) {
                    (true, true) => Transport::ReadResponseOnly(ack(*msn), octets),
                    (true, false) => Transport::ReadResponseFirst(ack(*msn), octets),
                    (false, false) => Transport::ReadResponseMiddle(octets),
                    (false, true) => Transport::ReadResponseLast(ack(*msn), octets),
                };
                *psn = psn.plus(1);
                *remaining -= length;
                place.address = place.address.wrapping_add(length as u64);
                if !is_last {
                    return Some(Repr { bth: Bth::new(peer, this), transport });
                }
                (this, transport)
            }
        };
        self.responses.pop_front();
        Some(Repr { bth: Bth::new(peer, psn), transport })
    }

    fn expected_packet(&mut self, regions: &mut Regions, bth: &Bth, transport: &Transport<'_>) {
        let executed = match self.refused {
            Some(code) => Err(code),
            None => self.execute(regions, transport),
        };
        match executed {
            Ok(packets) => {
                self.expected = self.expected.plus(packets);
                if bth.ack_request && is_write(transport) {
                    self.acknowledge();
                }
            }
            Err(code) => {
                self.counters.refused += u64::from(self.refused.is_none());
                self.refused = Some(code);
                self.write = None;
                self.respond_nak(code);
            }
        }
    }

    /// Executes a request packet; returns how many packet sequence numbers it takes.
    fn execute(&mut self, regions: &mut Regions, transport: &Transport<'_>) -> Result<u32, NakCode> {
        let mtu = self.config.mtu.octets();
        match (*transport, self.write) {
            (Transport::WriteFirst(reth, data), None) => {
                let (place, length) = place_and_length(&reth)?;
                if data.len() != mtu || length <= mtu {
                    return Err(NakCode::InvalidRequest);
                }
                regions.check(place, length, Rights::WRITE)?;
                self.write_packet(regions, OpenWrite { place, remaining: length }, data)?;
            }
            (Transport::WriteMiddle(data), Some(open)) if data.len() == mtu && open.remaining > mtu => {
                self.write_packet(regions, open, data)?;
            }
            (Transport::WriteLast(data), Some(open)) if data.len() == open.remaining => {
                self.write_packet(regions, open, data)?;
                self.message_written();
            }
            (Transport::WriteOnly(reth, data), None) => {
                let (place, length) = place_and_length(&reth)?;
                if data.len() != length || length > mtu {
                    return Err(NakCode::InvalidRequest);
                }
                self.write_packet(regions, OpenWrite { place, remaining: length }, data)?;
                self.message_written();
            }
            (Transport::ReadRequest(reth), None) => return self.read(regions, reth),
            (Transport::FetchAdd(atomic), None) => {
                let place = Place { rkey: atomic.rkey, address: atomic.address };
                let original = regions.atomic(place, |word| word.wrapping_add(atomic.swap_or_add))?;
                self.atomic_executed(original);
            }
            (Transport::CompareSwap(atomic), None) => {
                let place = Place { rkey: atomic.rkey, address: atomic.address };
                let swap = |word| if word == atomic.compare { atomic.swap_or_add } else { word };
                let original = regions.atomic(place, swap)?;
                self.atomic_executed(original);
            }
            _ => return Err(NakCode::InvalidRequest),
        }
        Ok(1)
    }

    fn write_packet(&mut self, regions: &mut Regions, open: OpenWrite, data: &[u8]) -> Result<(), NakCode> {
        regions.write(open.place, data)?;
        let address = open.place.address.wrapping_add(data.len() as u64);
        let remaining = open.remaining.saturating_sub(data.len());
        self.counters.octets_written += data.len() as u64;
        let place = Place { address, ..open.place };
        self.write = (remaining > 0).then_some(OpenWrite { place, remaining });
        Ok(())
    }

    fn message_written(&mut self) {
        self.counters.writes += 1;
        self.msn = self.msn.plus(1);
    }

    fn read(&mut self, regions: &Regions, request: Reth) -> Result<u32, NakCode> {
        let (place, length) = place_and_length(&request)?;
        if request.length > self.config.max_read {
            return Err(NakCode::InvalidRequest);
        }
        regions.check(place, length, Rights::READ)?;
        let packets = packets_of(length, self.config.mtu);
        self.msn = self.msn.plus(1);
        self.counters.reads += 1;
        self.counters.octets_read += length as u64;
        self.keep(Resource::Read { first: self.expected, packets, request });
        let (psn, msn) = (self.expected, self.msn);
        self.responses.push_back(Response::Read { psn, msn, place, remaining: length, has_begun: false });
        Ok(packets)
    }

    fn atomic_executed(&mut self, original: u64) {
        self.counters.atomics += 1;
        self.msn = self.msn.plus(1);
        let (psn, msn) = (self.expected, self.msn);
        self.keep(Resource::Atomic { psn, msn, original });
        self.responses.push_back(Response::Atomic { psn, msn, original });
    }

    fn keep(&mut self, resource: Resource) {
        while self.resources.len() >= usize::from(self.config.resources.max(1)) {
            self.resources.pop_front();
        }
        self.resources.push_back(resource);
    }

    /// A packet that was executed before (IBA clause 9.7.5, duplicate requests): a write is acknowledged, a read is executed again, an
    /// atomic operation gets its first response again. What is older than the kept resources has been completed, and is dropped.
    fn duplicate(&mut self, regions: &Regions, bth: &Bth, transport: &Transport<'_>) {
        if is_write(transport) {
            if bth.ack_request {
                self.acknowledge();
            }
            return;
        }
        let found = self
            .resources
            .iter()
            .find_map(|resource| repeated(resource, bth.psn, transport, self.config.mtu));
        let response = match found {
            Some(Response::Read { place, remaining, .. })
                if regions.check(place, remaining, Rights::READ).is_err() =>
            {
                None
            }
            found => found,
        };
        match response {
            Some(Response::Read { psn, place, remaining, has_begun, .. }) => {
                self.responses.push_back(Response::Read { psn, msn: self.msn, place, remaining, has_begun });
            }
            Some(response) => self.responses.push_back(response),
            None => self.counters.dropped += 1,
        }
    }

    /// Acknowledges all that was executed. An acknowledgement that was not sent is replaced.
    fn acknowledge(&mut self) {
        let psn = self.expected.plus(u32::MAX);
        self.respond(psn, Syndrome::ACK);
    }

    fn respond_nak(&mut self, code: NakCode) {
        self.respond(self.expected, Syndrome::Nak(code));
    }

    fn respond(&mut self, psn: Psn, syndrome: Syndrome) {
        if matches!(self.responses.back(), Some(Response::Acknowledge { syndrome: Syndrome::Ack(_), .. })) {
            self.responses.pop_back();
        }
        self.responses.push_back(Response::Acknowledge { psn, syndrome, msn: self.msn });
    }
}

const ZERO: ResponderCounters = ResponderCounters {
    reads: 0,
    writes: 0,
    atomics: 0,
    octets_read: 0,
    octets_written: 0,
    duplicates: 0,
    sequence_errors: 0,
    refused: 0,
    dropped: 0,
};

/// The packets of a response or of a write with so many octets.
pub(crate) const fn packets_of(length: usize, mtu: Mtu) -> u32 {
    let packets = length.div_ceil(mtu.octets());
    if packets == 0 { 1 } else { packets as u32 }
}

/// Longer messages are invalid (IBA clause 9.3.3).
const MAX_MESSAGE: u32 = 1 << 31;

fn place_and_length(reth: &Reth) -> Result<(Place, usize), NakCode> {
    if reth.length > MAX_MESSAGE {
        return Err(NakCode::InvalidRequest);
    }
    Ok((Place { rkey: reth.rkey, address: reth.address }, reth.length as usize))
}

const fn is_write(transport: &Transport<'_>) -> bool {
    matches!(
        transport,
        Transport::WriteFirst(..)
            | Transport::WriteMiddle(_)
            | Transport::WriteLast(_)
            | Transport::WriteOnly(..)
    )
}

/// A request of a reliable connection, also one that is not executed here.
const fn is_request(transport: &Transport<'_>) -> bool {
    match transport {
        Transport::ReadResponseFirst(..)
        | Transport::ReadResponseMiddle(_)
        | Transport::ReadResponseLast(..)
        | Transport::ReadResponseOnly(..)
        | Transport::Acknowledge(_)
        | Transport::AtomicAcknowledge(..)
        | Transport::Datagram(..) => false,
        Transport::Other(opcode, _) => opcode.is_reliable_connection(),
        _ => true,
    }
}

/// The response to a repetition of this operation; the requester may ask for the rest of a read only.
fn repeated(resource: &Resource, psn: Psn, transport: &Transport<'_>, mtu: Mtu) -> Option<Response> {
    match (*resource, transport) {
        (
            Resource::Atomic { psn: kept, msn, original },
            Transport::FetchAdd(_) | Transport::CompareSwap(_),
        ) if kept == psn => Some(Response::Atomic { psn, msn, original }),
        (Resource::Read { first, packets, request }, Transport::ReadRequest(again)) => {
            let skipped = psn.since(first);
            if skipped >= packets {
                return None;
            }
            let offset = skipped as usize * mtu.octets();
            let address = request.address.wrapping_add(offset as u64);
            let remaining = (request.length as usize).checked_sub(offset)?;
            let is_rest =
                again.rkey == request.rkey && again.address == address && again.length as usize == remaining;
            let place = Place { rkey: request.rkey, address };
            is_rest.then_some(Response::Read { psn, msn: Psn::default(), place, remaining, has_begun: false })
        }
        _ => None,
    }
}
