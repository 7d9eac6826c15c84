//! The switch's drops by reason: read periodically, and added to those of the software.

use causeway_dataplane::Counters;
use causeway_types::{Span, Time};

use crate::backend::drop_reason::reason_of;
use crate::backend::requests::{InFlight, Requests};
use crate::driver::{Link, Outcome, Reply, Request, SwitchDriver};
use crate::model::upf::DropReason;

/// How often a reading is postponed for unwritten changes, by a quarter of the interval each time.
const MAX_POSTPONEMENTS: u8 = 8;

const REASONS: usize = DropReason::ALL.len();

/// The drops of the switch.
#[derive(Debug)]
pub(super) struct DropCounters {
    /// P4Runtime id.
    counter: u32,
    /// `None`: they are not read.
    interval: Option<Span>,
    /// The time of the next reading.
    due: Time,
    /// A reading is in flight.
    is_reading: bool,
    /// How often the reading was postponed.
    put_off: u8,
    /// The last values; `None`: the switch ran before us, and its earlier counts are not the UPF's.
    last: Option<[u64; REASONS]>,
    /// The switch was attached before.
    is_attached: bool,
    counters: Counters,
}

impl DropCounters {
    pub(super) fn new(counter: u32, interval: Option<Span>) -> Self {
        Self {
            counter,
            interval,
            due: Time::default(),
            is_reading: false,
            put_off: 0,
            last: Some([0; REASONS]),
            is_attached: false,
            counters: Counters::default(),
        }
    }

    /// Handles a change of the connection to the switch.
    pub(super) fn handle_link(&mut self, link: Link) {
        let Link::Up { emptied } = link else { return };
        if !emptied && !self.is_attached {
            self.last = None;
        }
        self.is_attached = true;
    }

    /// The switch counts from zero again.
    pub(super) const fn reset(&mut self) {
        self.last = Some([0; REASONS]);
    }

    /// A reading failed.
    pub(super) const fn read_failed(&mut self) {
        self.is_reading = false;
    }

    /// The drops so far.
    pub(super) const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn add(&mut self, now: [u64; REASONS]) {
        let Some(before) = self.last.replace(now) else { return };
        for ((reason, before), now) in DropReason::ALL.into_iter().zip(before).zip(now) {
            // A counter that has decreased has started from zero.
            let more = now.checked_sub(before).unwrap_or(now);
            self.counters.count_drops(reason_of(reason), more);
        }
    }

    /// The time of the next reading.
    pub(super) fn next(&self) -> Option<Time> {
        (self.interval.is_some() && !self.is_reading).then_some(self.due)
    }

    /// Reads the drops if that is due: after waiting changes, unless these do not end.
    pub(super) fn start<D: SwitchDriver>(
        &mut self,
        now: Time,
        has_writes: bool,
        requests: &mut Requests<D>,
    ) -> bool {
        let Some(interval) = self.interval.filter(|_| !self.is_reading && self.due <= now) else {
            return false;
        };
        if has_writes && self.put_off < MAX_POSTPONEMENTS {
            self.put_off += 1;
            self.due = now + (interval / 4).max(Span::from_micros(1));
            return true;
        }
        self.put_off = 0;
        self.is_reading = true;
        self.due = now + interval;
        let indices = DropReason::ALL.map(|reason| reason as u32).to_vec();
        requests.send(now, Request::ReadIndexed { counter: self.counter, indices }, InFlight::Drops);
        true
    }

    /// The drops were read, or the reading failed.
    pub(super) fn ended(&mut self, outcome: Outcome) {
        self.is_reading = false;
        let Ok(Reply::Counts(counts)) = outcome else { return };
        let packets: Vec<u64> = counts.into_iter().map(|count| count.unwrap_or_default().packets).collect();
        if let Ok(packets) = packets.try_into() {
            self.add(packets);
        }
    }
}
