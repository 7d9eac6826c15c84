//! A token bucket in exact 64-bit integer arithmetic.

use causeway_types::{Bitrate, Span, Time};

/// Micro-bits in an octet: with this unit, a rate in kbit/s fills a bucket by whole numbers each nanosecond.
const PER_OCTET: i64 = 8_000_000;

/// A token bucket that a packet may overdraw.
///
/// A packet may pass while the bucket is not empty, and takes its size even if that leaves a debt. So the long-term
/// rate is exact at any packet size and any rate, also where a packet exceeds the burst: the capacity is at least the
/// last packet that passed, so that tokens added between two packets are not lost. A rate of zero passes no packet.
///
/// The unit is the micro-bit (kbit/s times nanoseconds), which never rounds. 63 bits hold 9.2 Tbit: 8 milliseconds at
/// the largest rate that PFCP carries, 23 seconds at 400 Gbit/s. A larger burst is limited to that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bucket {
    rate: Bitrate,
    burst: Span,
    tokens: i64,
    /// The size of the last packet that passed.
    last: i64,
    updated: Time,
}

impl Bucket {
    /// A full bucket. `burst` is what may pass together after a pause, as time at the full rate.
    pub(crate) fn new(rate: Bitrate, burst: Span, now: Time) -> Self {
        Self { rate, burst, tokens: volume(rate, burst), last: 0, updated: now }
    }

    /// Changes rate and burst. The tokens stay, up to the new capacity; none stay for a rate of zero.
    pub(crate) fn set(&mut self, rate: Bitrate, burst: Span, now: Time) {
        self.fill(now);
        (self.rate, self.burst) = (rate, burst);
        if rate.kbps() == 0 {
            self.last = 0;
        }
        self.tokens = self.tokens.min(self.capacity());
    }

    /// A packet may pass now.
    pub(crate) fn is_open(&mut self, now: Time) -> bool {
        self.fill(now);
        self.tokens > 0
    }

    /// Takes the size of a packet that passes.
    pub(crate) fn take(&mut self, octets: usize) {
        self.last = size(octets);
        self.tokens = self.tokens.saturating_sub(self.last);
    }

    /// Takes the size of a packet that passes in any case. The debt is at most one burst, so that other packets wait
    /// no longer than that after such packets end.
    pub(crate) fn take_up_to_burst(&mut self, octets: usize) {
        let before = self.tokens;
        self.take(octets);
        self.tokens = self.tokens.max(before.min(-self.capacity()));
    }

    /// The tokens, the size of the last packet, and the time of the last fill.
    pub(crate) const fn level(&self) -> (i64, i64, Time) {
        (self.tokens, self.last, self.updated)
    }

    /// Sets the level that another party has kept.
    pub(crate) const fn set_level(&mut self, tokens: i64, last: i64, updated: Time) {
        (self.tokens, self.last, self.updated) = (tokens, last, updated);
    }

    /// A clock that goes back adds no tokens until it has caught up.
    fn fill(&mut self, now: Time) {
        let gained = volume(self.rate, now.since(self.updated));
        self.updated = self.updated.max(now);
        self.tokens = self.tokens.saturating_add(gained).min(self.capacity());
    }

    fn capacity(&self) -> i64 {
        volume(self.rate, self.burst).max(self.last)
    }
}

fn size(octets: usize) -> i64 {
    i64::try_from(octets).unwrap_or(i64::MAX).saturating_mul(PER_OCTET)
}

/// The volume of a rate over this time, in micro-bits.
fn volume(rate: Bitrate, span: Span) -> i64 {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    i64::try_from(rate.kbps().saturating_mul(nanos)).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
