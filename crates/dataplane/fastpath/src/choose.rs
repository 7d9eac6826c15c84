//! The stages of plain packets before anything changes: where the line is, and which rule.

use std::ops::Range;

use causeway_dataplane::DropReason;
use causeway_ports::{BATCH, Batch, Meta};

use crate::course::Head;
use crate::engine::FastPath;
use crate::filters::{Block, FilterSets, Gist, SetId};
use crate::guess::{Met, NO_STEP};
use crate::heads::{Heads, MESSAGE, Reading, Skipping, USER};
use crate::key::Key;
use crate::line::Line;
use crate::plain::{Fork, PART, Plain, Plains, flaw};
use crate::program::Programs;
use crate::table::Table;
use crate::work::Odd;

/// Uplink packets, which come in by GTP-U.
pub(crate) const UPLINK: bool = true;
/// Downlink packets, which come in from a data network.
pub(crate) const DOWNLINK: bool = false;

/// What is in hand of the packets of a batch. It is kept, as writing it anew would cost more than reading it.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) heads: Heads,
    pub(crate) plains: Plains,
}

impl Desk {
    /// Of no packets.
    pub(crate) const fn new() -> Self {
        Self { heads: Heads::new(), plains: Plains::new() }
    }

    /// For so many other packets: [`Plains::begin`].
    pub(crate) const fn begin(&mut self, len: usize, is_large: bool) {
        self.heads.clear();
        self.plains.begin(len, is_large);
    }
}

impl FastPath {
    /// The first stage for GTP-U: where the lines are. Fetches those of the first packets.
    #[inline(never)]
    pub(crate) fn find_tunnels(&self, batch: &Batch, desk: &mut Desk, odd: &mut Odd) {
        self.read_messages::<0>(batch, desk);
        self.fetch(&desk.plains, 0..PART);
        if batch.len() > PART {
            self.read_messages::<PART>(batch, desk);
            self.fetch(&desk.plains, PART..desk.plains.ahead);
        } else {
            desk.plains.has_no_second_half();
        }
        if !desk.plains.are_plain() {
            self.look_again::<UPLINK>(None, batch, desk, odd);
        }
    }

    #[inline(always)]
    fn read_messages<const FROM: usize>(&self, batch: &Batch, Desk { heads, plains }: &mut Desk) {
        for (index, (meta, len, head)) in (FROM..FROM + PART).zip(batch.heads::<MESSAGE>(FROM)) {
            if let (Some(head), Some((place, ecn))) = (head, self.place_of(meta)) {
                heads.take_message(index, head, len, (place, ecn));
            }
        }
        self.look::<UPLINK, FROM>(heads, plains);
        // They are compared with the keys later, wherever they lead.
        let Some(keys) = plains.keys[FROM..].first_chunk::<PART>() else { return };
        plains.lines[FROM..FROM + PART].copy_from_slice(&self.table.at_teids(keys));
    }

    /// The first look at half a batch.
    #[inline(always)]
    fn look<const WAY: bool, const FROM: usize>(&self, heads: &mut Heads, plains: &mut Plains) {
        let compare = self.sets.compare();
        if plains.are_unusual::<WAY>() {
            compare.run(Skipping::<WAY, FROM> { heads, plains });
        } else {
            compare.run(Reading::<WAY, FROM> {
                heads,
                plains,
                guess: &self.guess,
                own: self.surroundings.own_v4,
            });
        }
    }

    /// The place of the keys of messages that came in so, and the ECN of their outer header.
    #[inline(always)]
    pub(crate) fn place_of(&self, meta: &Meta) -> Option<(u32, u32)> {
        let Meta::Gtpu { local, tos, .. } = meta else { return None };
        let local = self.surroundings.local(local)?;
        Some((Key::Tunnel(0, local).place(), u32::from(tos & 0x03)))
    }

    /// The first stage for packets of a data network: where the lines are. Fetches those of the first packets.
    #[inline(never)]
    pub(crate) fn find_addresses(&self, network: u16, batch: &Batch, desk: &mut Desk, odd: &mut Odd) {
        self.read_packets::<0>(network, batch, desk);
        self.fetch(&desk.plains, 0..PART);
        if batch.len() > PART {
            self.read_packets::<PART>(network, batch, desk);
            self.fetch(&desk.plains, PART..desk.plains.ahead);
        } else {
            desk.plains.has_no_second_half();
        }
        if !desk.plains.are_plain() {
            self.look_again::<DOWNLINK>(Some(network), batch, desk, odd);
        }
    }

    #[inline(always)]
    fn read_packets<const FROM: usize>(
        &self,
        network: u16,
        batch: &Batch,
        Desk { heads, plains }: &mut Desk,
    ) {
        let place = Key::Ipv4(network, 0).place();
        for (index, (_, len, head)) in (FROM..FROM + PART).zip(batch.heads::<USER>(FROM)) {
            if let Some(head) = head {
                heads.take_packet(index, head, len, place);
            }
        }
        self.look::<DOWNLINK, FROM>(heads, plains);
        // They are compared with the keys later, wherever they lead.
        let Plains { lines, keys, .. } = plains;
        if let Some(keys) = keys[FROM..].first_chunk::<PART>() {
            self.table.at_addresses(keys, &mut lines[FROM..FROM + PART]);
        }
    }

    /// Fetches the lines of some packets.
    #[inline(always)]
    fn fetch(&self, plains: &Plains, packets: Range<usize>) {
        plains.lines.get(packets).unwrap_or_default().iter().for_each(|line| self.table.prefetch(*line));
    }

    /// What some packets need before any is acted on: lines that are not near, and rules with lines of their own.
    #[inline(always)]
    pub(crate) fn look_twice<const WAY: bool>(&self, plains: &mut Plains) {
        let has_far = match WAY {
            UPLINK => self.table.has_far_tunnels(),
            DOWNLINK => self.table.has_far_addresses(),
        };
        if !has_far && !self.programs.has_rule_lines() {
            return;
        }
        self.fetch(plains, plains.ahead..plains.len());
        if has_far {
            self.seek_far(plains);
        }
        if self.programs.has_rule_lines() {
            self.choose_ahead::<WAY>(plains);
        }
    }

    /// Where tables lead to keys that are not near: fetches first what they say of all, then the lines.
    #[inline(never)]
    fn seek_far(&self, plains: &mut Plains) {
        plains.sought().for_each(|index| self.table.prefetch_far(plains.at(index).key()));
        for index in plains.sought() {
            let plain = plains.at(index);
            if self.line_of(&plain).is_none()
                && let Some(far) = self.table.approach(plain.key())
            {
                plains.lines[index] = far;
            }
        }
    }

    /// A stage more where rules have lines of their own: which rule, and fetch its line.
    #[inline(never)]
    fn choose_ahead<const WAY: bool>(&self, plains: &mut Plains) {
        for index in plains.sought() {
            let plain = plains.at(index);
            if plain.flaws & flaw::LOST != 0 {
                continue;
            }
            let head =
                self.line_of(&plain).and_then(|line| Some((line, self.programs.head(line.own_program())?)));
            if let Some((line, head)) = head.filter(|(_, head)| head.has_rule_lines)
                && let Some(fork) = choose_by::<WAY>(self, &plain, line, head)
            {
                plains.send(index, fork);
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

    /// No line has what leads to a packet's: neither is it near nor do tables lead to one.
    pub(crate) fn has_no_line<const WAY: bool>(&self, plain: &Plain) -> bool {
        let has_far = match WAY {
            UPLINK => self.table.has_far_tunnels(),
            DOWNLINK => self.table.has_far_addresses(),
        };
        self.line_of(plain).is_none() && !(has_far && self.table.approach(plain.key()).is_some())
    }

    #[inline(always)]
    fn line_of(&self, plain: &Plain) -> Option<&Line> {
        self.table.line(plain.line).filter(|line| line.id() == plain.id)
    }

    /// The second stage for other plain packets. `None`: they are not for a line that says what is asked here.
    pub(crate) fn choose_otherwise<const WAY: bool>(&self, plain: &Plain) -> Option<Fork> {
        let line = self.line_of(plain)?;
        if plain.flaws & flaw::LOST != 0 {
            let Some(head) = self.programs.head(line.program()) else { return Some(Fork::Ask) };
            // An Ethernet frame is no IP packet, and says nothing of congestion.
            return Some(match plain.flaws & flaw::LOST {
                // Where packets go on into other tunnels, fewer headers have to be understood.
                flaw::STRANGE if head.leads_out => Fork::Strange,
                flaw::BROKEN if !head.is_for_slow_room => Fork::Drop(DropReason::MalformedIp),
                flaw::DOOMED if !head.is_for_slow_room => Fork::Drop(DropReason::Congested),
                _ => Fork::Ask,
            });
        }
        let head = self.programs.head(line.own_program())?;
        choose_by::<WAY>(self, plain, line, head)
    }
}

/// What the second stage asks for most packets.
#[derive(Clone, Copy)]
pub(crate) struct Chooser<'a, F> {
    pub(crate) programs: &'a Programs,
    pub(crate) sets: &'a FilterSets,
    /// As in [`crate::filters::Comparing`].
    pub(crate) fits: &'a F,
    /// The set that is guessed.
    pub(crate) guessed: SetId,
}

impl<F: Fn(&Block, Gist) -> u16> Chooser<'_, F> {
    /// The second stage: which line and which course, where it is as simple as for nearly all. There may be no such course:
    /// it comes from [`crate::guess::NO_STEP`] then.
    #[inline(always)]
    pub(crate) fn choose<'t, const WAY: bool>(
        &self,
        table: &'t mut Table,
        plains: &Plains,
        index: usize,
        met: &mut Met,
    ) -> Option<(&'t mut Line, u32)> {
        let index = index % BATCH;
        let line = table.line_mut(plains.lines[index])?;
        // The remote end is another one, and neither is zero.
        if line.id() != plains.ids[index] || WAY == UPLINK && line.aux != plains.locals[index] {
            return None;
        }
        let head = self.programs.head(line.own_program())?;
        if head.quick == self.guessed {
            return Some((line, head.first.wrapping_add(plains.steps[index])));
        }
        met.note(head.quick);
        let (gist, local) = (|| plains.gist(index), || plains.locals[index]);
        let step = self.sets.first_at_once((head.quick, head.block), gist, local, self.fits)?;
        Some((line, head.first + u32::from(step)))
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
    let step = if head.set == engine.guessed() {
        Some(engine.guess.step(gist)).filter(|step| *step < NO_STEP)
    } else if gist.may_have_spi() {
        return None;
    } else {
        engine.sets.first_match_v4(head.set, gist, plain.local).map(u32::from)
    };
    match step {
        Some(step) if is_local => Some(Fork::Course(head.first + step)),
        _ if !head.is_final || !is_local && head.has_more => None,
        Some(_) if WAY == UPLINK => Some(Fork::Drop(DropReason::SpoofedSource)),
        Some(_) => None,
        None => Some(Fork::Drop(DropReason::NoMatchingPdr)),
    }
}
