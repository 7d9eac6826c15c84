//! The stages of plain packets before anything changes: where the line is, and which rule.

use causeway_dataplane::DropReason;
use causeway_ports::{BATCH, Batch, Meta};

use crate::course::Head;
use crate::engine::FastPath;
use crate::filters::{Block, Gist};
use crate::key::Key;
use crate::line::Line;
use crate::plain::{Fork, Plain};
use crate::work::Odd;

/// Uplink packets, which come in by GTP-U.
pub(crate) const UPLINK: bool = true;
/// Downlink packets, which come in from a data network.
pub(crate) const DOWNLINK: bool = false;

impl FastPath {
    /// The first stage for GTP-U: where the lines are, and fetch them. Returns the octets of all frames.
    #[inline(never)]
    pub(crate) fn find_tunnels(&self, batch: &Batch, plains: &mut [Plain], odd: &mut Odd) -> u64 {
        let mut teids = [0; BATCH];
        let mut octets = 0;
        let frames = plains.iter_mut().zip(&mut teids).zip(batch.each());
        for (index, ((plain, teid), (meta, frame))) in frames.enumerate() {
            octets += frame.map_or(0, <[u8]>::len) as u64;
            if frame.is_some_and(|frame| self.take_tunnelled(plain, meta, frame)) {
                (plain.fork, *teid) = (Fork::Sought, plain.key);
            } else {
                plain.fork = self.find_odd_tunnel(batch, index, odd);
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
        octets
    }

    #[inline(always)]
    fn take_tunnelled(&self, plain: &mut Plain, meta: &Meta, frame: &[u8]) -> bool {
        let Meta::Gtpu { local, tos, .. } = meta else { return false };
        let Some(local) = self.surroundings.local(local) else { return false };
        plain.place = Key::Tunnel(0, local).place();
        // Congestion goes on in the user packet, which the slow room sees to.
        tos & 0x01 == 0 && plain.take_message(frame)
    }

    /// The first stage for packets of a data network. Returns the octets of all frames.
    #[inline(never)]
    pub(crate) fn find_addresses(
        &self,
        network: u16,
        batch: &Batch,
        plains: &mut [Plain],
        odd: &mut Odd,
    ) -> u64 {
        let place = Key::Ipv4(network, 0).place();
        let mut octets = 0;
        for (index, (plain, (_, frame))) in plains.iter_mut().zip(batch.each()).enumerate() {
            octets += frame.map_or(0, <[u8]>::len) as u64;
            plain.place = place;
            if frame.is_some_and(|frame| plain.take_packet(frame)) {
                // It is compared with the key later, wherever it leads.
                plain.line = self.table.at_address(plain.key).unwrap_or(u32::MAX);
                self.table.prefetch(plain.line);
                plain.fork = Fork::Sought;
            } else {
                plain.fork = self.find_odd_address(network, batch, index, odd);
            }
        }
        if self.table.has_far_addresses() {
            self.seek_far(plains);
        }
        octets
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

    /// A stage more where rules have lines of their own: which rule, and fetch its line.
    #[inline(never)]
    pub(crate) fn choose_ahead<const WAY: bool>(&self, plains: &mut [Plain]) {
        for plain in plains.iter_mut().filter(|plain| plain.fork == Fork::Sought) {
            let head =
                self.line_of(plain).and_then(|line| Some((line, self.programs.head(line.own_program())?)));
            if let Some((line, head)) = head.filter(|(_, head)| head.has_rule_lines)
                && let Some(fork) = choose_by::<WAY>(self, plain, line, head)
            {
                plain.fork = fork;
                self.fetch_rule(line, fork);
            }
        }
    }

    fn fetch_rule(&self, line: &Line, fork: Fork) {
        let Fork::Course(course) = fork else { return };
        let account = self.programs.course(course).map_or(0, |course| course.account);
        if account > 0 {
            self.table.prefetch_rule(line.account.budget as u32 + u32::from(account) - 1);
        }
    }

    #[inline(always)]
    fn line_of(&self, plain: &Plain) -> Option<&Line> {
        self.table.line(plain.line).filter(|line| line.key == plain.key && line.place == plain.place)
    }

    /// The second stage: which course, where it is as simple as for nearly all. `fits` is that of
    /// [`crate::filters::Comparing`].
    #[inline(always)]
    pub(crate) fn choose<const WAY: bool>(
        &self,
        plain: &Plain,
        fits: &impl Fn(&Block, Gist) -> u16,
    ) -> Option<u32> {
        if plain.fork != Fork::Sought {
            return None;
        }
        let line = self.line_of(plain)?;
        let head = self.programs.head(line.own_program())?;
        let ue = ue_of::<WAY>(line);
        let is_ue = plain.local == ue && plain.gist.remote() != ue && ue != 0;
        if !(head.is_named && is_ue) {
            return None;
        }
        let step = self.sets.first_of_few(head.set, head.block, plain.gist.with_ue(false, true), fits)?;
        Some(head.first + u32::from(step))
    }

    /// The second stage for other plain packets. `None`: they are not for a line that says what is asked here.
    pub(crate) fn choose_otherwise<const WAY: bool>(&self, plain: &Plain) -> Option<Fork> {
        let line = self.line_of(plain)?;
        let head = self.programs.head(line.own_program())?;
        choose_by::<WAY>(self, plain, line, head)
    }
}

/// The address of the UE that a line has, zero for none.
#[inline(always)]
const fn ue_of<const WAY: bool>(line: &Line) -> u32 {
    match WAY {
        UPLINK => line.aux,
        DOWNLINK => line.key,
    }
}

fn choose_by<const WAY: bool>(engine: &FastPath, plain: &Plain, line: &Line, head: &Head) -> Option<Fork> {
    if !head.is_plain {
        return None;
    }
    let ue = ue_of::<WAY>(line);
    let is_ue = |address| !head.names_ue || ue != 0 && address == ue;
    let is_local = is_ue(plain.local);
    let gist = plain.gist.with_ue(is_ue(plain.gist.remote()), is_local);
    match engine.sets.first_match_v4(head.set, gist, plain.local) {
        Some(step) if is_local => Some(Fork::Course(head.first + u32::from(step))),
        _ if !head.is_final || !is_local && head.has_more => None,
        Some(_) if WAY == UPLINK => Some(Fork::Drop(DropReason::SpoofedSource)),
        Some(_) => None,
        None => Some(Fork::Drop(DropReason::NoMatchingPdr)),
    }
}
