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

/// Packets of a batch whose lines are fetched while they are found. Those of the others are fetched one by one while the
/// packets that are so many before are acted on: more at once than a core keeps track of would be waited for.
pub(crate) const AHEAD: usize = BATCH / 2;

impl FastPath {
    /// The first stage for GTP-U: where the lines are. Fetches those of the first [`AHEAD`] packets.
    #[inline(never)]
    pub(crate) fn find_tunnels(&self, batch: &Batch, plains: &mut [Plain], odd: &mut Odd) {
        let teids = teids_of(batch);
        let slots = self.table.slots(&teids);
        for (index, (plain, (meta, frame))) in plains.iter_mut().zip(batch.each()).enumerate() {
            let (teid, slot) = (teids[index % BATCH], slots[index % BATCH]);
            if index < AHEAD {
                // It is compared with the key later, wherever it leads.
                self.table.prefetch(slot);
            }
            plain.line = slot;
            plain.id = teid.into();
            if frame.is_some_and(|frame| self.take_tunnelled(plain, meta, frame)) {
                plain.fork = Fork::Sought;
            } else {
                plain.fork = self.find_odd_tunnel(batch, index, odd);
            }
        }
    }

    #[inline(always)]
    fn take_tunnelled(&self, plain: &mut Plain, meta: &Meta, frame: &[u8]) -> bool {
        let Meta::Gtpu { local, tos, .. } = meta else { return false };
        let Some(local) = self.surroundings.local(local) else { return false };
        plain.id |= u64::from(Key::Tunnel(0, local).place()) << 32;
        // Congestion goes on in the user packet, which the slow room sees to.
        tos & 0x01 == 0 && plain.take_message(frame)
    }

    /// The first stage for packets of a data network: where the lines are. Fetches those of the first [`AHEAD`] packets.
    #[inline(never)]
    pub(crate) fn find_addresses(&self, network: u16, batch: &Batch, plains: &mut [Plain], odd: &mut Odd) {
        let place = Key::Ipv4(network, 0).place();
        for (index, (plain, (_, frame))) in plains.iter_mut().zip(batch.each()).enumerate() {
            if frame.is_some_and(|frame| plain.take_packet(frame)) {
                // It is compared with the key later, wherever it leads.
                plain.id = u64::from(place) << 32 | u64::from(plain.local);
                plain.line = self.table.at_address(plain.local).unwrap_or(0);
                plain.fork = Fork::Sought;
                if index < AHEAD {
                    self.table.prefetch(plain.line);
                }
            } else {
                plain.fork = self.find_odd_address(network, batch, index, odd);
            }
        }
    }

    /// What some packets need before any is acted on: lines that are not near, and rules with lines of their own.
    #[inline(always)]
    pub(crate) fn look_twice<const WAY: bool>(&self, plains: &mut [Plain]) {
        let has_far = match WAY {
            UPLINK => self.table.has_far_tunnels(),
            DOWNLINK => self.table.has_far_addresses(),
        };
        if !has_far && !self.programs.has_rule_lines() {
            return;
        }
        plains.iter().skip(AHEAD).for_each(|plain| self.table.prefetch(plain.line));
        if has_far {
            self.seek_far(plains);
        }
        if self.programs.has_rule_lines() {
            self.choose_ahead::<WAY>(plains);
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

    /// A stage more where rules have lines of their own: which rule, and fetch its line.
    #[inline(never)]
    fn choose_ahead<const WAY: bool>(&self, plains: &mut [Plain]) {
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
        self.table.line(plain.line).filter(|line| line.id() == plain.id)
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
        let is_ue = (WAY == DOWNLINK || plain.local == ue) && plain.gist.remote() != ue && ue != 0;
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

/// The TEIDs of the GTP-U messages of a batch; of what is none, whatever is there.
#[inline(always)]
fn teids_of(batch: &Batch) -> [u32; BATCH] {
    let mut teids = [0; BATCH];
    for (teid, octets) in teids.iter_mut().zip(batch.peek(4)) {
        *teid = octets.map_or(0, |octets| u32::from_be_bytes(*octets));
    }
    teids
}
