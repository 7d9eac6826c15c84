//! The time that the UPF takes to answer PFCP requests.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use causeway_n4::message_label;
use causeway_pfcp::{Header, MessageType};
use causeway_types::{Span, Time};

use crate::management::HistogramStatus;

/// The requests of SMFs.
const REQUESTS: [MessageType; 10] = [
    MessageType::HeartbeatRequest,
    MessageType::PfdManagementRequest,
    MessageType::AssociationSetupRequest,
    MessageType::AssociationUpdateRequest,
    MessageType::AssociationReleaseRequest,
    MessageType::SessionSetDeletionRequest,
    MessageType::SessionSetModificationRequest,
    MessageType::SessionEstablishmentRequest,
    MessageType::SessionModificationRequest,
    MessageType::SessionDeletionRequest,
];

/// Requests that wait for their response, at most; a power of two. A request of the same place takes that of an earlier
/// one, whose time is then not measured: no peer makes this table larger or slower.
const PLACES: usize = 2048;

/// The upper bounds of the buckets, in microseconds.
const BOUNDS: [u128; 13] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000, 1_000_000];

/// A request that was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Request {
    from: SocketAddr,
    sequence: u32,
    /// Its index in [`REQUESTS`].
    kind: usize,
}

impl Request {
    fn place(&self) -> usize {
        let host = match self.from.ip() {
            IpAddr::V4(ip) => u32::from(ip),
            IpAddr::V6(ip) => u128::from(ip) as u32,
        };
        let mixed = host.wrapping_mul(0x9e37_79b1) >> 16;
        mixed.wrapping_add(self.sequence).wrapping_add(self.from.port().into()) as usize % PLACES
    }
}

/// A request whose response is queued: its kind, and when it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    kind: usize,
    since: Time,
}

/// Measured times. A value counts in the first bucket whose bound is not less.
#[derive(Debug, Default)]
struct Histogram {
    counts: [AtomicU64; BOUNDS.len() + 1],
    /// In nanoseconds.
    sum: AtomicU64,
}

impl Histogram {
    fn record(&self, time: Span) {
        let micros = time.as_nanos().div_ceil(1_000);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.sum.fetch_add(nanos, Ordering::Relaxed);
    }

    fn status(&self) -> HistogramStatus {
        let counts = self.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6).chain([f64::INFINITY]);
        HistogramStatus {
            sum: self.sum.load(Ordering::Relaxed) as f64 / 1e9,
            count: counts.iter().sum(),
            buckets: bounds.zip(counts).collect(),
        }
    }
}

/// The measured times of each type of request, which all threads that send responses count.
#[derive(Debug, Default)]
pub(crate) struct Histograms([Histogram; REQUESTS.len()]);

impl Histograms {
    /// These responses were handed to the kernel, at the time that `now` returns.
    pub(super) fn sent(&self, now: impl FnOnce() -> Time, answers: &mut Vec<Answer>) {
        if answers.is_empty() {
            return;
        }
        let now = now();
        for Answer { kind, since } in answers.drain(..) {
            if let Some(histogram) = self.0.get(kind) {
                histogram.record(now.since(since));
            }
        }
    }

    /// The times of each type of request, by its label.
    fn status(&self) -> Vec<(String, HistogramStatus)> {
        let of = REQUESTS.iter().zip(&self.0);
        of.map(|(message, histogram)| (message_label(Some(*message)), histogram.status())).collect()
    }
}

/// Requests that wait for their response, each with the time at which it came.
type Waiting = Box<[Mutex<Option<(Request, Time)>>]>;

/// Measures the time from each request to its response. O(1) for each message. One thread may answer what another one has received: all have the same
/// requests that wait.
#[derive(Debug)]
pub(super) struct RequestTimes {
    waiting: Arc<Waiting>,
    /// The requests whose responses are queued.
    pub(super) answers: Vec<Answer>,
    histograms: Arc<Histograms>,
}

impl RequestTimes {
    /// Times that are counted here.
    pub(super) fn new(histograms: Arc<Histograms>) -> Self {
        let waiting = (0..PLACES).map(|_| Mutex::default()).collect();
        Self { waiting: Arc::new(waiting), answers: Vec::new(), histograms }
    }

    /// The same times, for another thread.
    pub(super) fn beside(&self) -> Self {
        let (waiting, histograms) = (Arc::clone(&self.waiting), Arc::clone(&self.histograms));
        Self { waiting, answers: Vec::new(), histograms }
    }

    /// The place of a request.
    fn place(&self, request: &Request) -> Option<MutexGuard<'_, Option<(Request, Time)>>> {
        // A panic while it was locked ends the process.
        self.waiting.get(request.place()).map(|place| place.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where the times are counted.
    pub(super) const fn histograms(&self) -> &Arc<Histograms> {
        &self.histograms
    }

    /// A message was received.
    pub(super) fn received(&self, now: Time, from: SocketAddr, header: &Header) {
        let of_type = |message: &MessageType| message.code() == header.message_type;
        let Some(kind) = REQUESTS.iter().position(of_type) else { return };
        let request = Request { from, sequence: header.sequence, kind };
        let Some(mut waiting) = self.place(&request) else { return };
        // A repetition does not make the time of the request shorter.
        if waiting.is_none_or(|(known, _)| known != request) {
            *waiting = Some((request, now));
        }
    }

    /// A message is queued for sending.
    pub(super) fn queued(&mut self, to: SocketAddr, header: &Header) {
        let answers = |message: &MessageType| {
            message.response().is_some_and(|response| response.code() == header.message_type)
        };
        let Some(kind) = REQUESTS.iter().position(answers) else { return };
        let request = Request { from: to, sequence: header.sequence, kind };
        let known = self.place(&request).and_then(|mut place| place.take_if(|(known, _)| *known == request));
        if let Some((_, since)) = known {
            self.answers.push(Answer { kind, since });
        }
    }

    /// The measured times of each type of request, by its label.
    pub(super) fn status(&self) -> Vec<(String, HistogramStatus)> {
        self.histograms.status()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: u64 = 1_000;

    fn at(micros: u64) -> Time {
        Time::from_secs(1_000) + Span::from_nanos(micros * MICRO)
    }

    fn header(message: MessageType, sequence: u32) -> Header {
        Header { message_type: message.code(), sequence, ..Header::default() }
    }

    fn smf(n: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, n], 8805))
    }

    fn of(times: &RequestTimes, label: &str) -> HistogramStatus {
        times.status().into_iter().find(|(message, _)| message == label).unwrap().1
    }

    // Input:  requests of two SMFs with the same sequence number, one of them repeated; answered after 50 us and 51 us; a
    //         response without a request, and a request without a response.
    // Output: both are counted, each in the bucket of its time, the repeated one from its first copy on.
    #[test]
    fn each_request_is_measured_to_its_response() {
        let (request, response) =
            (MessageType::SessionEstablishmentRequest, MessageType::SessionEstablishmentResponse);
        let mut times = RequestTimes::new(Arc::default());
        times.received(at(0), smf(1), &header(request, 7));
        times.received(at(0), smf(2), &header(request, 7));
        times.received(at(40), smf(2), &header(request, 7));
        times.received(at(0), smf(1), &header(MessageType::SessionDeletionRequest, 8));
        times.queued(smf(1), &header(response, 7));
        times.histograms.sent(|| at(50), &mut times.answers);
        times.queued(smf(2), &header(response, 7));
        times.queued(smf(3), &header(response, 7));
        times.histograms.sent(|| at(51), &mut times.answers);
        times.histograms.sent(|| panic!("nothing was queued"), &mut times.answers);
        let measured = of(&times, "session_establishment_request");
        assert_eq!((measured.count, measured.buckets[0].1, measured.buckets[1].1), (2, 1, 1));
        assert!((measured.sum - 101e-6).abs() < 1e-12, "{}", measured.sum);
        assert_eq!(measured.buckets.last().unwrap().0, f64::INFINITY);
        assert_eq!(of(&times, "session_deletion_request").count, 0);
    }

    // Input:  a hundred thousand requests that nobody answers, then one that is answered after two seconds.
    // Output: the table keeps its size; the last one is measured, beyond the largest bound.
    #[test]
    fn requests_without_a_response_take_no_memory() {
        let mut times = RequestTimes::new(Arc::default());
        for n in 0..100_000 {
            times.received(at(0), smf(1), &header(MessageType::HeartbeatRequest, n));
        }
        assert_eq!(times.waiting.len(), PLACES);
        times.queued(smf(1), &header(MessageType::HeartbeatResponse, 99_999));
        times.histograms.sent(|| at(2_000_000), &mut times.answers);
        let measured = of(&times, "heartbeat_request");
        assert_eq!((measured.count, measured.buckets.last().unwrap().1), (1, 1));
    }
}
