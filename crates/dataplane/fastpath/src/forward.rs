//! Plain packets by an ordinary course: what [`crate::deed`] does, written for them alone.

use causeway_dataplane::TrafficCounter;
use causeway_ports::{Batch, FrameMut, Meta};
use causeway_types::Time;

use crate::course::{Course, HEADER, HEADER_AND_CONTAINER};
use crate::engine::FastPath;
use crate::leaving::Leaving;
use crate::line::{Account, PER_OCTET};
use crate::plain::{Plain, flaw};

/// An IPv4 header without options.
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

impl FastPath {
    /// Something is the matter that the course does mind. Hardly ever asked.
    #[inline(never)]
    fn is_flawed(&self, plain: &Plain, course: &Course) -> bool {
        let minds = plain.flaws & course.minds;
        minds != flaw::OURS || self.surroundings.has_gateway_of(plain)
    }

    /// Sends a packet on by a course. `None`: it is not as simple as that, and nothing has changed.
    #[inline(always)]
    pub(crate) fn forward(
        &mut self,
        now: Time,
        frame: (&mut Batch, usize),
        (plain, course): (&Plain, u32),
        (sent, leaving): (&mut Sent, &mut Leaving),
    ) -> Option<()> {
        let (batch, index) = frame;
        let course = self.programs.course(course)?;
        if u32::from(plain.len) > course.room
            || plain.flaws & course.minds != 0 && self.is_flawed(plain, course)
        {
            return None;
        }
        let line = self.table.line_mut(plain.line)?;
        let mut frame = batch.frame_mut(index)?;
        line.account.charge(course, plain.len, now.as_nanos())?;
        if course.loses_hop
            && let Some(header) = frame.chunk_mut(plain.start.into())
        {
            lose_hop(header);
        }
        // That many octets are there: they were looked at.
        let _ = frame.keep(plain.start.into(), plain.len.into());
        let mut octets = u64::from(plain.len);
        if course.is_tunnel {
            wrap(&mut frame, plain, course, line.aux)?;
            octets += u64::from(course.header_len);
        } else {
            frame.set_meta(Meta::Ip);
        }
        sent.count(course.is_tunnel, octets);
        leaving.depart(index, course.exit);
        Some(())
    }
}

/// Puts the header of the tunnel in front. The headroom of a batch's frames has place for it.
#[inline(always)]
fn wrap(frame: &mut FrameMut<'_>, plain: &Plain, course: &Course, teid: u32) -> Option<()> {
    let behind = u16::from(course.header_len - HEADER).wrapping_add(plain.len);
    let first = course.header[0] | u64::from(behind) << 32 | u64::from(teid);
    if course.header_len == HEADER_AND_CONTAINER {
        let whole = u128::from(first) << 64 | u128::from(course.header[1]);
        *frame.prepend_chunk()? = whole.to_be_bytes();
    } else {
        *frame.prepend_chunk()? = first.to_be_bytes();
    }
    *frame.meta_mut() = course.meta;
    if let Meta::Gtpu { tos, .. } = frame.meta_mut() {
        *tos |= plain.gist.tos() & 0x03;
    }
    Some(())
}

/// Takes one from the time to live, which is more than zero, and keeps the checksum right (RFC 1624 equation 3).
#[inline(always)]
fn lose_hop(header: &mut Header) {
    header[8] = header[8].wrapping_sub(1);
    // The sum is the same in either byte order, if the difference of the words has that order too.
    let old = !u16::from_ne_bytes([header[10], header[11]]);
    let (sum, carry) = old.overflowing_add((0xffff_u16 - 0x0100).to_be());
    [header[10], header[11]] = (!sum.wrapping_add(carry.into())).to_ne_bytes();
}

impl Account {
    /// Counts a packet that passes. `None`: the slow room must see it, or the rate does not let it pass.
    #[inline(always)]
    fn charge(&mut self, course: &Course, len: u16, now: u64) -> Option<()> {
        // A time that runs backwards is for [`crate::deed`] as well.
        if self.budget < u64::from(len) || now.wrapping_sub(self.last_pass) >= course.pause {
            return None;
        }
        if course.is_metered {
            let gained = course.rate.kbps.saturating_mul(now.saturating_sub(self.updated));
            let capacity = course.rate.burst.max(i64::from(self.last_size) * PER_OCTET);
            let tokens = self.tokens.saturating_add(gained.min(i64::MAX as u64) as i64).min(capacity);
            if tokens <= 0 {
                return None;
            }
            self.tokens = tokens - i64::from(len) * PER_OCTET;
        }
        self.budget -= u64::from(len);
        (self.updated, self.last_pass) = (now, now);
        (self.last_size, self.packets) = (len.into(), self.packets + 1);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use causeway_packet::rewrite::decrement_hop_limit;
    use causeway_packet::{IpProtocol, Ipv4Repr};

    use super::*;
    use crate::plain::sums_up;

    // Input:  headers of all times to live above one with many identifications, right and with one octet changed.
    // Output: the right ones sum up, and are changed to what the library makes of them; the others do not.
    #[test]
    fn a_header_loses_a_hop_as_it_should() {
        for ttl in 2..=u8::MAX {
            for id in (0..=u16::MAX).step_by(if cfg!(miri) { 8191 } else { 257 }) {
                let repr = Ipv4Repr::new([10, 0, 0, 1].into(), [198, 51, 100, 9].into(), IpProtocol::UDP);
                let mut header = repr.header(100).unwrap();
                [header[4], header[5]] = id.to_be_bytes();
                header[8] = ttl;
                [header[10], header[11]] = [0, 0];
                let sum = causeway_packet::checksum::checksum(&header);
                [header[10], header[11]] = sum.to_be_bytes();
                assert!(sums_up(&header));
                let mut expected = header;
                decrement_hop_limit(&mut expected).unwrap();
                let mut damaged = header;
                damaged[usize::from(ttl) % 20] ^= 1 << (id % 8);
                lose_hop(&mut header);
                assert_eq!((header, sums_up(&header), sums_up(&damaged)), (expected, true, false));
            }
        }
    }
}
