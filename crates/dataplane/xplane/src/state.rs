//! The state of a UE in one direction: what its rules counted, and the tokens of its rates. It is one value in external memory, so that
//! tokens and the time at which they were filled never come apart.

use causeway_types::{Span, Time};

use crate::octets::{Reader, Writer};

/// Micro-bits (kbit/s times nanoseconds) of an octet.
pub(crate) const PER_OCTET: i64 = 8_000_000;

/// The most accounts and meters of a UE in one direction.
pub(crate) const MAX_ACCOUNTS: usize = 6;
pub(crate) const MAX_METERS: usize = 4;
/// Octets of a state in external memory.
pub(crate) const STATE_OCTETS: usize = 8 + MAX_ACCOUNTS * 72 + MAX_METERS * 40;

/// A bit rate with its burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rate {
    /// Kilobits per second.
    pub kbps: u64,
    /// What may pass together after a pause, in micro-bits.
    pub burst: i64,
}

/// A token bucket: it fills with the rate up to the burst, or the size of the last packet if that is more. A packet passes while the
/// bucket is not empty, and takes its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Meter {
    /// The tokens, in micro-bits; negative after a packet larger than the tokens.
    pub tokens: i64,
    /// The size of the last packet that passed, in micro-bits.
    pub last: i64,
    /// When it was last filled.
    pub updated: Time,
}

impl Meter {
    /// Fills the bucket. Returns whether a packet may pass. A time before the last one fills nothing.
    pub fn fill(&mut self, rate: Rate, now: Time) -> bool {
        let gained = rate.kbps.saturating_mul(now.since(self.updated).as_nanos() as u64);
        let tokens = self.tokens.saturating_add(i64::try_from(gained).unwrap_or(i64::MAX));
        self.tokens = tokens.min(rate.burst.max(self.last));
        self.updated = self.updated.max(now);
        self.tokens > 0
    }

    /// Takes the size of a packet that passes.
    pub fn charge(&mut self, octets: u32) {
        self.last = i64::from(octets) * PER_OCTET;
        self.tokens = self.tokens.saturating_sub(self.last);
    }
}

/// What rules with the same action counted since the grant, and what they may still count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Octets that may be counted before the slow path is asked.
    pub budget: u64,
    /// After so long without a packet the slow path is asked.
    pub idle_limit: Span,
    /// Packets that passed.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
    /// Packets that were dropped and counted.
    pub dropped_packets: u64,
    /// Their octets.
    pub dropped_octets: u64,
    /// When the last packet came since the grant, passed or not.
    pub last_arrival: Option<Time>,
    /// When the last packet passed.
    pub last_pass: Time,
}

impl Account {
    /// A packet may be counted without the slow path.
    pub(crate) fn may_count(&self, octets: u32, now: Time) -> bool {
        self.budget >= u64::from(octets) && now.since(self.last_pass) < self.idle_limit
    }

    pub(crate) fn pass(&mut self, octets: u32, now: Time) {
        // What is read from memory may be anything.
        let size = u64::from(octets);
        self.budget = self.budget.saturating_sub(size);
        (self.packets, self.octets) = (self.packets.saturating_add(1), self.octets.saturating_add(size));
        // A packet that was looked up leaves later than others that came behind it.
        (self.last_arrival, self.last_pass) = (self.last_arrival.max(Some(now)), self.last_pass.max(now));
    }

    /// A packet is dropped; it is counted if a volume is measured before QoS enforcement.
    pub(crate) fn drop_packet(&mut self, octets: u32, now: Time, is_counted: bool) {
        self.last_arrival = self.last_arrival.max(Some(now));
        if is_counted {
            self.dropped_packets = self.dropped_packets.saturating_add(1);
            self.dropped_octets = self.dropped_octets.saturating_add(octets.into());
            self.budget = self.budget.saturating_sub(octets.into());
        }
    }
}

/// The state of a UE in one direction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UeState {
    /// At most six.
    pub accounts: Vec<Account>,
    /// At most four, with their rates.
    pub meters: Vec<(Rate, Meter)>,
}

impl UeState {
    /// The state as it is in memory.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::of_size(STATE_OCTETS);
        out.u32(self.accounts.len() as u32).u32(self.meters.len() as u32);
        for account in &self.accounts {
            let idle = u64::try_from(account.idle_limit.as_nanos()).unwrap_or(u64::MAX);
            out.u64(account.budget).u64(idle).u64(account.packets).u64(account.octets);
            out.u64(account.dropped_packets).u64(account.dropped_octets);
            // The largest number is no time.
            out.u64(account.last_arrival.map_or(u64::MAX, Time::as_nanos)).u64(account.last_pass.as_nanos());
        }
        for (rate, meter) in &self.meters {
            out.u64(rate.kbps).u64(rate.burst.cast_unsigned());
            out.u64(meter.tokens.cast_unsigned())
                .u64(meter.last.cast_unsigned())
                .u64(meter.updated.as_nanos());
        }
        out.finish(STATE_OCTETS)
    }

    /// A state from memory. `None`: these are not the octets of a state.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let mut input = Reader::new(octets);
        let (accounts, meters) = (input.u32()? as usize, input.u32()? as usize);
        if accounts > MAX_ACCOUNTS || meters > MAX_METERS {
            return None;
        }
        let mut state = Self::default();
        for _ in 0..accounts {
            state.accounts.push(Account {
                budget: input.u64()?,
                idle_limit: Some(input.u64()?)
                    .filter(|idle| *idle < u64::MAX)
                    .map_or(Span::MAX, Span::from_nanos),
                packets: input.u64()?,
                octets: input.u64()?,
                dropped_packets: input.u64()?,
                dropped_octets: input.u64()?,
                last_arrival: Some(input.u64()?).filter(|nanos| *nanos < u64::MAX).map(Time::from_nanos),
                last_pass: Time::from_nanos(input.u64()?),
            });
        }
        for _ in 0..meters {
            let rate = Rate { kbps: input.u64()?, burst: input.u64()?.cast_signed() };
            let (tokens, last) = (input.u64()?.cast_signed(), input.u64()?.cast_signed());
            state.meters.push((rate, Meter { tokens, last, updated: Time::from_nanos(input.u64()?) }));
        }
        Some(state)
    }
}
