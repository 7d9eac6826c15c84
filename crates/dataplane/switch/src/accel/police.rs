//! Policing of a bit rate for each session (`p4/blocks/police.p4`).
//!
//! A session has a word in each direction, the time up to which its rate is used up. A packet is over the rate if that is ahead of the
//! clock by [`BURST`]; otherwise it adds its step. One packet of eight, drawn at random, brings a word that lags behind the clock to it
//! instead.

use super::{Sessions, tables::Direction};
use crate::model::State;
use crate::model::register::{RegisterError, Side};

/// Nanoseconds in a unit of the clock, and in a second.
const UNIT: u64 = 256;
const SECOND: u64 = 1_000_000_000;

/// The credit that a session may have, in units.
pub(super) const BURST: u32 = 78_125;

/// Ahead of the clock by so many units: that is behind it, since times wrap.
pub(super) const FAR: u32 = 524_288;

/// The longest step: 0.1 s.
const LONGEST: u64 = 390_625;

/// The bits of the draw that decide whether a packet renews the word.
const DRAW: u8 = 7;

/// A packet that is policed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policed {
    /// Its direction.
    pub direction: Direction,
    /// The index of its session.
    pub index: u32,
    /// What it takes at its rate, in units of 256 ns ([`step`]).
    pub step: u32,
}

/// What a packet of so many octets takes at a rate, in units of 256 ns: 8/7 of its time, for one packet of eight adds nothing.
/// `None`: the rate is 0, or the packet takes longer than 0.1 s.
pub fn step(octets: u16, bits_per_second: u64) -> Option<u32> {
    let unit = bits_per_second.checked_mul(7 * UNIT).filter(|unit| *unit != 0)?;
    let units = ((u64::from(octets) * 64 * SECOND + unit / 2) / unit).max(1);
    u32::try_from(units).ok().filter(|_| units <= LONGEST)
}

impl Sessions {
    /// A packet that leaves, at this time of a clock of 256 ns, with its random number: whether it is over the rate of its session.
    ///
    /// # Errors
    /// An access that no switch can make: never.
    pub fn is_over(
        &self,
        state: &mut State,
        Policed { direction, index, step }: Policed,
        clock: u32,
        draw: u8,
    ) -> Result<bool, RegisterError> {
        state.begin_pass(Side::Egress);
        let [charge, renew] = match direction {
            Direction::Uplink => &self.actions.police_uplink,
            Direction::Downlink => &self.actions.police_downlink,
        };
        let action = if draw & DRAW == 0 { renew } else { charge };
        Ok(state.access(action, index, [clock, step])? == 1)
    }
}
