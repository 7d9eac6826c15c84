//! The second look at a batch in which some packets are not plain at the first: which of them are plain all the same, and which
//! way the others go.

use causeway_dataplane::DropReason;
use causeway_ports::{BATCH, Batch};

use crate::choose::{DOWNLINK, Desk, UPLINK};
use crate::engine::FastPath;
use crate::heads::{Heads, Mending, Placing};
use crate::key::Key;
use crate::plain::{Fork, PART, Plains, flaw};
use crate::six::{Choosing, Read, read};
use crate::tunnelled::{Tunnelled, Unfit};
use crate::work::Odd;

impl FastPath {
    /// Takes it. `network`: where packets come from that do not come by tunnel.
    #[inline(never)]
    pub(crate) fn look_again<const WAY: bool>(
        &self,
        network: Option<u16>,
        batch: &Batch,
        desk: &mut Desk,
        odd: &mut Odd,
    ) {
        self.mend::<WAY, 0, PART>(batch, desk);
        if batch.len() > PART {
            self.mend::<WAY, PART, BATCH>(batch, desk);
        }
        let Desk { plains, heads } = desk;
        plains.learn::<WAY>(count_unusual(plains, heads));
        let (reads_sixes, mut has_sixes) = (!self.programs.has_rule_lines(), [false; 2]);
        for index in 0..plains.len() {
            if plains.is_plain[index % BATCH] != 0 || plains.forks[index % BATCH] != Fork::Sought {
                continue;
            }
            if reads_sixes && let (Some(place), Some(frame)) = (heads.place_of_v6(index), batch.data(index)) {
                match (read::<WAY>(plains, index, (frame, place), self.surroundings.own_v6), network) {
                    (Read::Six, network) => {
                        has_sixes[usize::from(index >= PART)] = true;
                        let key = network.map(|network| Key::Ipv6(network, plains.prefixes[index % BATCH]));
                        key.into_iter().for_each(|key| self.table.prefetch_far(key));
                        continue;
                    }
                    (Read::Broken, None) => {
                        plains.flaws[index % BATCH] = flaw::BROKEN.into();
                        continue;
                    }
                    (Read::Broken, Some(_)) => {
                        plains.send(index, Fork::Drop(DropReason::MalformedIp));
                        continue;
                    }
                    (Read::Other, _) => {}
                }
            }
            let fork = match network {
                None => self.find_odd_tunnel(batch, (index, Some(plains.lines[index % BATCH])), odd),
                Some(network) => self.find_odd_address(network, batch, index, odd),
            };
            plains.send(index, fork);
        }
        plains.has_sixes = has_sixes != [false; 2];
        let compare = self.sets.compare();
        if has_sixes[0] {
            compare.run(Choosing::<0> { plains, guess: &self.guess });
        }
        if has_sixes[1] {
            compare.run(Choosing::<PART> { plains, guess: &self.guess });
        }
    }

    #[inline(always)]
    fn mend<const WAY: bool, const FROM: usize, const TO: usize>(
        &self,
        batch: &Batch,
        Desk { heads, plains }: &mut Desk,
    ) {
        if plains.are_plain_in::<FROM, TO>() {
            return;
        }
        let compare = self.sets.compare();
        compare.run(Placing::<WAY, FROM> { heads });
        for index in FROM..plains.len().min(TO) {
            if heads.is_unusual(index)
                && let Some(fork) = self.place::<WAY>(batch, index, heads)
            {
                plains.send(index, fork);
            }
        }
        if heads.are_v6::<FROM, TO>(plains) {
            // What was said of them, if anything was, says that they are not plain.
            return;
        }
        let own = self.surroundings.own_v4;
        compare.run(Mending::<WAY, FROM> { heads, plains, guess: &self.guess, own });
        if WAY == DOWNLINK {
            drop_broken::<FROM>(plains);
        }
    }

    /// Finds an unusual packet in its frame. Says which way it goes if it is none.
    #[inline(always)]
    fn place<const WAY: bool>(&self, batch: &Batch, index: usize, heads: &mut Heads) -> Option<Fork> {
        let Some(frame) = batch.data(index) else { return Some(Fork::Ask) };
        if WAY == UPLINK && !heads.has_place(index) {
            match Tunnelled::parse_unusual(frame) {
                Err(Unfit::Ask) => return Some(Fork::Ask),
                Err(Unfit::Drop(reason)) => return Some(Fork::Drop(reason)),
                Ok(_) if batch.meta(index).and_then(|meta| self.place_of(meta)).is_none() => {
                    return Some(Fork::Ask);
                }
                Ok(tunnelled) => heads.move_to(index, frame, &tunnelled),
            }
        }
        heads.move_back(index, frame);
        heads.look_at_options(index, frame);
        None
    }
}

/// How many packets are such that the first look was no use, or would have been none.
fn count_unusual(plains: &Plains, heads: &Heads) -> u32 {
    const UNUSUAL: u32 = (flaw::CARRIES | flaw::CONGESTED | flaw::LOST) as u32;
    let (len, mut unusual) = (plains.len() as u32, 0);
    for at in 0..BATCH {
        let is_other = (plains.is_plain[at] == 0) | (plains.flaws[at] & UNUSUAL != 0);
        unusual += u32::from(is_other | heads.is_unusual(at)) & u32::from((at as u32) < len);
    }
    unusual
}

/// What comes from a data network and is no IP packet goes nowhere.
#[inline(always)]
fn drop_broken<const FROM: usize>(plains: &mut Plains) {
    for index in FROM..plains.len().min(FROM + PART) {
        if plains.flaws[index % BATCH] as u8 & flaw::BROKEN != 0 {
            plains.send(index, Fork::Drop(DropReason::MalformedIp));
        }
    }
}

#[cfg(test)]
mod tests;
