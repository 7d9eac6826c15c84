//! Plain packets by an ordinary course: what [`crate::deed`] does, written for them alone.

use std::net::Ipv4Addr;
use std::num::NonZeroU8;

use causeway_dataplane::{TrafficCounter, hops_of_relayed};
use causeway_ports::{BATCH, Batch, FrameMut, Meta};

use crate::choose::UPLINK;
use crate::course::{Course, HEADER_AND_CONTAINER};
use crate::line::{Account, Line, PER_OCTET};
use crate::plain::{Plain, Plains, flaw};
use crate::program::{Programs, Rate};
use crate::surroundings::{Exit, Surroundings};

/// An IPv4 header without options, or the beginning of one of IPv6.
type Header = [u8; 20];

/// What a batch has sent, to data networks and into tunnels.
#[derive(Default)]
pub(crate) struct Sent {
    packets: [u64; 2],
    octets: [u64; 2],
}

impl Sent {
    /// All packets.
    pub(crate) const fn all(&self) -> u64 {
        self.packets[0] + self.packets[1]
    }

    /// What went to data networks.
    pub(crate) const fn by_ip(&self) -> TrafficCounter {
        TrafficCounter { packets: self.packets[0], octets: self.octets[0] }
    }

    /// What went into tunnels.
    pub(crate) const fn by_gtpu(&self) -> TrafficCounter {
        TrafficCounter { packets: self.packets[1], octets: self.octets[1] }
    }

    #[inline(always)]
    const fn count(&mut self, is_tunnel: bool, octets: u64) {
        let way = is_tunnel as usize;
        self.packets[way] += 1;
        self.octets[way] += octets;
    }
}

/// Something is the matter that the course does mind. Hardly ever asked.
#[inline(never)]
fn is_flawed<const BUT: u8>(plain: &Plain, course: &Course, surroundings: &Surroundings) -> bool {
    let minds = plain.flaws & course.minds & !BUT;
    minds != flaw::OURS || surroundings.concerns(Ipv4Addr::from_bits(plain.gist.remote()).into(), course.exit)
}

/// What packets of a batch are sent on with.
pub(crate) struct Forwarding<'a> {
    /// In nanoseconds.
    pub(crate) now: u64,
    pub(crate) plains: &'a Plains,
    pub(crate) programs: &'a Programs,
    pub(crate) surroundings: &'a Surroundings,
}

impl Forwarding<'_> {
    /// Sends a packet on by a course, and says by which exit, whether it has the flaws `BUT` or not. `None`: it is not as simple as that,
    /// and nothing has changed. `SIX`: the packet is IPv6. `WAY`: it came by GTP-U.
    #[inline(always)]
    pub(crate) fn forward<const BUT: u8, const SIX: bool, const WAY: bool>(
        &self,
        (batch, index): (&mut Batch, usize),
        (line, course): (&mut Line, u32),
        (sent, exit): (&mut Sent, &mut Exit),
    ) -> Option<()> {
        let (plains, at) = (self.plains, index % BATCH);
        let course = self.programs.course(course)?;
        let (len, flaws) = (plains.lens[at], plains.flaws[at] as u8 & !BUT);
        if len > course.room
            || flaws & course.minds != 0 && is_flawed::<BUT>(&plains.at(index), course, self.surroundings)
        {
            return None;
        }
        if WAY == UPLINK && course.is_tunnel {
            let octets = relay::<SIX>((batch, index), (line, course), plains, self.now)?;
            sent.count(true, octets);
            *exit = course.exit;
            return Some(());
        }
        line.account.charge(course, len, self.now)?;
        // The frame is there, what is kept of it was looked at, and the headroom of a batch's frames has place for any header.
        let mut frame = batch.frame_mut(index)?;
        let start = plains.starts[at] as usize;
        let mut octets = u64::from(len);
        if course.is_tunnel {
            wrap::<SIX>(&mut frame, (start, len), (plains, at), course, line.aux)?;
            octets += u64::from(course.header_len);
        } else {
            take_hop::<SIX>(frame.recut::<0, 20>(start, len as usize)?, (plains, at), course);
            frame.set_meta(Meta::Ip);
        }
        sent.count(course.is_tunnel, octets);
        *exit = course.exit;
        Some(())
    }
}

/// Sends a packet that came in a tunnel on in another one, with one hop less outside, and says how many octets it has there. `None`: as for
/// [`Forwarding::forward`]. By itself, so that those that leave to a data network are not asked about their hops.
#[inline(never)]
fn relay<const SIX: bool>(
    (batch, index): (&mut Batch, usize),
    (line, course): (&mut Line, &Course),
    plains: &Plains,
    now: u64,
) -> Option<u64> {
    let at = index % BATCH;
    let (start, len) = (plains.starts[at] as usize, plains.lens[at]);
    let mut frame = batch.frame_mut(index)?;
    let left = hops_left(frame.meta_mut())?;
    line.account.charge(course, len, now)?;
    wrap::<SIX>(&mut frame, (start, len), (plains, at), course, line.aux)?;
    if let Meta::Gtpu { hops, .. } = frame.meta_mut() {
        *hops = left;
    }
    Some(u64::from(len) + u64::from(course.header_len))
}

/// The TTL with which a packet that came so goes on in another tunnel. `None`: with none, which the slow room says.
#[inline(always)]
pub(crate) fn hops_left(meta: &Meta) -> Option<Option<NonZeroU8>> {
    match meta {
        Meta::Gtpu { hops, .. } => hops_of_relayed(*hops).ok(),
        Meta::Ip | Meta::Ethernet => Some(None),
    }
}

/// Puts the header of the tunnel in front of one of the packets: where it begins, and its octets.
#[inline(always)]
fn wrap<const SIX: bool>(
    frame: &mut FrameMut<'_>,
    (start, len): (usize, u32),
    (plains, at): (&Plains, usize),
    course: &Course,
    teid: u32,
) -> Option<()> {
    // The length of the packet adds to that of what else is behind the header, and there is room for both.
    let first = course.header[0].wrapping_add(u64::from(len) << 32) | u64::from(teid);
    let user = if course.header_len == HEADER_AND_CONTAINER {
        let (header, user) = frame.recut::<16, 36>(start, len as usize)?.split_first_chunk_mut::<16>()?;
        *header = (u128::from(first) << 64 | u128::from(course.header[1])).to_be_bytes();
        user
    } else {
        let (header, user) = frame.recut::<8, 28>(start, len as usize)?.split_first_chunk_mut::<8>()?;
        *header = first.to_be_bytes();
        user
    };
    take_hop::<SIX>(user.first_chunk_mut()?, (plains, at), course);
    *frame.meta_mut() = course.meta;
    if let Meta::Gtpu { tos: outer, .. } = frame.meta_mut() {
        *outer |= plains.gist(at).tos() & 0x03;
    }
    Some(())
}

/// What is routed loses a hop.
#[inline(always)]
const fn take_hop<const SIX: bool>(header: &mut Header, (plains, at): (&Plains, usize), course: &Course) {
    if course.loses_hop {
        let [a, b, c, d] = plains.hops[at % BATCH].to_le_bytes();
        if SIX {
            [header[4], header[5], header[6], header[7]] = [a, b, c, d];
        } else {
            [header[8], header[9], header[10], header[11]] = [a, b, c, d];
        }
    }
}

impl Account {
    /// Counts a packet that passes. `None`: the slow room must see it, or the rate does not let it pass.
    #[inline(always)]
    fn charge(&mut self, course: &Course, len: u32, now: u64) -> Option<()> {
        // A time that runs backwards is for [`crate::deed`] as well.
        if self.budget < u64::from(len) || now.wrapping_sub(self.last_pass) >= course.pause {
            return None;
        }
        if course.is_metered {
            let passed = now.wrapping_sub(self.updated).cast_signed();
            if passed < 0 {
                return None;
            }
            let tokens = self.filled(course.rate, passed);
            if tokens <= 0 {
                return None;
            }
            self.tokens = tokens - i64::from(len) * PER_OCTET;
        }
        self.budget -= u64::from(len);
        (self.updated, self.last_pass) = (now, now);
        (self.last_size, self.packets) = (len, self.packets + 1);
        Some(())
    }

    /// Goes on without a packet that is dropped whatever the account says. `None`: the slow room must see it.
    #[inline(always)]
    pub(crate) fn pass_over(&mut self, course: &Course, len: u32, now: u64) -> Option<()> {
        if self.budget < u64::from(len) || now.saturating_sub(self.last_pass) >= course.pause {
            return None;
        }
        if course.is_metered {
            // What the rate has gained until now is not lost.
            let passed = now.saturating_sub(self.updated).cast_signed();
            self.tokens = self.filled(course.rate, passed);
        }
        self.updated = now;
        Some(())
    }

    /// What is in the bucket after so many nanoseconds.
    #[inline(always)]
    fn filled(&self, rate: Rate, passed: i64) -> i64 {
        let capacity = rate.burst.max(i64::from(self.last_size) * PER_OCTET);
        // Bit rates have 40 bits.
        let Some(gained) = rate.kbps.cast_signed().checked_mul(passed) else {
            return self.tokens.saturating_add(i64::MAX).min(capacity);
        };
        // Nothing is gained that is less than zero.
        match self.tokens.overflowing_add(gained) {
            (_, true) => capacity,
            (tokens, false) => tokens.min(capacity),
        }
    }
}
