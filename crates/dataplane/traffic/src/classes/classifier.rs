//! Windows, tables and verdict behind one call for each packet.

use causeway_types::{Direction, Span, Time};

use super::{ClassChange, Closed, Model, PairWindow, TableError, TableLimits, Tables, Verdict};

/// What all rule pairs share: the tables of a model, and the length of its windows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Classifier {
    tables: Tables,
    window: Span,
    least_packets: u16,
}

/// The state of a rule pair: 64 octets, which are one cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(align(64))]
pub struct PairClass {
    window: PairWindow,
    verdict: Verdict,
}

impl PairClass {
    /// The class of the pair.
    pub const fn class(&self) -> u8 {
        self.verdict.class()
    }

    /// The window so far.
    pub const fn window(&self) -> &PairWindow {
        &self.window
    }

    /// Adds packets that were counted elsewhere: see [`PairWindow::add`].
    pub fn add(&mut self, direction: Direction, packets: u64, octets: u64, last: Time) {
        self.window.add(direction, packets, octets, last);
    }
}

const _: () = assert!(size_of::<PairClass>() == 64);

impl Classifier {
    /// The classifier of a model.
    ///
    /// # Errors
    /// [`TableError`] when the tree of the model exceeds the limits.
    pub fn new(model: &Model, limits: &TableLimits) -> Result<Self, TableError> {
        let tables = Tables::new(model.tree(), limits)?;
        Ok(Self { tables, window: model.window(), least_packets: model.least_packets() })
    }

    /// Takes a packet of a rule pair: octets of the IP packet. No allocation.
    ///
    /// A window that has fewer packets in a direction than the model was trained with is of class 0, and so is an empty one.
    pub fn observe(
        &self,
        pair: &mut PairClass,
        direction: Direction,
        octets: u32,
        now: Time,
    ) -> Option<ClassChange> {
        let closed = pair.window.observe(direction, octets, now, self.window)?;
        self.decide(pair, &closed)
    }

    /// Ends the window of a rule pair if its time is over, without a packet: a timer decides earlier than the next packet, and notices
    /// that there are none.
    pub fn expire(&self, pair: &mut PairClass, now: Time) -> Option<ClassChange> {
        let closed = pair.window.expire(now, self.window)?;
        self.decide(pair, &closed)
    }

    fn decide(&self, pair: &mut PairClass, closed: &Closed) -> Option<ClassChange> {
        let before = pair.verdict.class();
        pair.verdict.observe(self.class(closed));
        // Three empty windows leave nothing of the ones before.
        (0..closed.empty.min(3)).for_each(|_| {
            pair.verdict.observe(0);
        });
        let class = pair.verdict.class();
        (class != before).then_some(ClassChange { from: before, to: class })
    }

    /// The class of a window.
    pub fn class(&self, closed: &Closed) -> u8 {
        if closed.vector.has_packets(self.least_packets) { self.tables.classify(&closed.vector) } else { 0 }
    }

    /// The tables.
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The length of windows.
    pub const fn window(&self) -> Span {
        self.window
    }
}
