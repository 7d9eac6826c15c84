//! The stages of plain packets before anything changes: where the line is, and which rule.

use causeway_dataplane::DropReason;
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::Direction;

use crate::course::Head;
use crate::engine::FastPath;
use crate::key::Key;
use crate::line::Line;
use crate::plain::{Fork, Plain};
use crate::work::Odd;

impl FastPath {
    /// The first stage for GTP-U: where the lines are, and fetch them.
    #[inline(never)]
    pub(crate) fn find_tunnels(&self, batch: &Batch, plains: &mut [Plain], odd: &mut Odd) {
        let mut teids = [0; BATCH];
        for (index, (plain, teid)) in plains.iter_mut().zip(&mut teids).enumerate() {
            match self.tunnelled(batch, index) {
                Some(found) => (*plain, *teid) = (found, found.key),
                None => plain.fork = self.find_odd_tunnel(batch, index, odd),
            }
        }
        for (plain, slot) in plains.iter_mut().zip(self.table.slots(&teids)) {
            // It is compared with the key later, wherever it leads.
            plain.line = slot;
            self.table.prefetch(slot);
        }
        if self.table.has_far_tunnels() {
            self.seek_far(plains);
        }
    }

    #[inline(always)]
    fn tunnelled(&self, batch: &Batch, index: usize) -> Option<Plain> {
        let Some(Meta::Gtpu { local, tos, .. }) = batch.meta(index) else { return None };
        // Congestion goes on in the user packet, which the slow room sees to.
        if tos & 0x01 != 0 {
            return None;
        }
        let plain = Plain::of_tunnel(batch.data(index)?)?;
        let local = self.surroundings.local(*local)?;
        Some(Plain { place: Key::Tunnel(0, local).place(), ..plain })
    }

    /// The first stage for packets of a data network.
    #[inline(never)]
    pub(crate) fn find_addresses(&self, network: u16, batch: &Batch, plains: &mut [Plain], odd: &mut Odd) {
        let place = Key::Ipv4(network, 0).place();
        for (index, plain) in plains.iter_mut().enumerate() {
            match batch.data(index).and_then(|frame| Plain::of_network(frame, place)) {
                Some(found) => {
                    let line = self.table.at_address(found.key).unwrap_or(u32::MAX);
                    self.table.prefetch(line);
                    *plain = Plain { line, ..found };
                }
                None => plain.fork = self.find_odd_address(network, batch, index, odd),
            }
        }
        if self.table.has_far_addresses() {
            self.seek_far(plains);
        }
    }

    /// Where tables lead to keys that are not near: fetches first what they say of all, then the lines.
    #[inline(never)]
    fn seek_far(&self, plains: &mut [Plain]) {
        let is_sought = |plain: &&mut Plain| plain.fork == Fork::Sought;
        plains.iter_mut().filter(is_sought).for_each(|plain| self.table.prefetch_far(plain.key()));
        for plain in plains.iter_mut().filter(is_sought) {
            if self.line_of(plain).is_none()
                && let Some(far) = self.table.approach(plain.key())
            {
                plain.line = far;
            }
        }
    }

    #[inline(always)]
    fn line_of(&self, plain: &Plain) -> Option<&Line> {
        self.table.line(plain.line).filter(|line| line.key == plain.key && line.place == plain.place)
    }

    /// The second stage: which rule.
    #[inline(never)]
    pub(crate) fn choose_uplink(&self, batch: &Batch, plains: &mut [Plain], odd: &mut Odd) {
        for (index, plain) in plains.iter_mut().enumerate() {
            if plain.fork == Fork::Sought {
                plain.fork = match self.choose_plain(plain, Direction::Uplink) {
                    Some(fork) => fork,
                    None => self.find_odd_tunnel(batch, index, odd),
                };
            }
        }
    }

    /// The second stage for packets of a data network.
    #[inline(never)]
    pub(crate) fn choose_downlink(&self, network: u16, batch: &Batch, plains: &mut [Plain], odd: &mut Odd) {
        for (index, plain) in plains.iter_mut().enumerate() {
            if plain.fork == Fork::Sought {
                plain.fork = match self.choose_plain(plain, Direction::Downlink) {
                    Some(fork) => fork,
                    None => self.find_odd_address(network, batch, index, odd),
                };
            }
        }
    }

    /// `None`: its line is somewhere else, or it does not say what is asked here.
    #[inline(always)]
    fn choose_plain(&self, plain: &Plain, direction: Direction) -> Option<Fork> {
        let line = self.line_of(plain)?;
        let head = self.programs.head(line.own_program()).filter(|head| head.is_plain)?;
        let ue = match direction {
            Direction::Uplink => line.aux,
            Direction::Downlink => line.key,
        };
        let is_ue = |address| !head.names_ue || ue != 0 && address == ue;
        let is_local = is_ue(plain.local);
        let gist = plain.gist.with_ue(is_ue(plain.gist.remote()), is_local);
        match self.sets.first_match_v4(head.set, gist, plain.local) {
            Some(step) if is_local => {
                let course = head.first + u32::from(step);
                if head.has_rule_lines {
                    self.fetch_rule(line, course);
                }
                Some(Fork::Course(course))
            }
            step => refused(head, step.is_some(), is_local, direction),
        }
    }

    /// Fetches the line of a rule that has one.
    #[inline(never)]
    fn fetch_rule(&self, line: &Line, course: u32) {
        let account = self.programs.course(course).map_or(0, |course| course.account);
        if account > 0 {
            self.table.prefetch_rule(line.account.budget as u32 + u32::from(account) - 1);
        }
    }
}

/// What becomes of a packet that no rule takes. `None`: others must be asked.
#[inline(never)]
fn refused(head: &Head, fits: bool, is_local: bool, direction: Direction) -> Option<Fork> {
    if !head.is_final || !is_local && head.has_more {
        return None;
    }
    match (fits, direction) {
        (true, Direction::Uplink) => Some(Fork::Drop(DropReason::SpoofedSource)),
        (true, Direction::Downlink) => None,
        (false, _) => Some(Fork::Drop(DropReason::NoMatchingPdr)),
    }
}
