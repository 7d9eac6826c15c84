//! The second look at a batch in which some packets are not plain at the first: which of them are plain all the same, and which
//! way the others go.

use causeway_dataplane::DropReason;
use causeway_ports::{BATCH, Batch};

use crate::choose::{DOWNLINK, Desk, UPLINK};
use crate::engine::FastPath;
use crate::heads::{Heads, Mending, Placing};
use crate::plain::{Fork, PART, Plains, flaw};
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
        let Desk { plains, .. } = desk;
        for index in 0..plains.len() {
            if plains.is_plain[index % BATCH] != 0 || plains.forks[index % BATCH] != Fork::Sought {
                continue;
            }
            let fork = match network {
                None => self.find_odd_tunnel(batch, (index, Some(plains.lines[index % BATCH])), odd),
                Some(network) => self.find_odd_address(network, batch, index, odd),
            };
            plains.send(index, fork);
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
        compare.run(Mending::<WAY, FROM> { heads, plains, guess: &self.guess });
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
        heads.look_at_options(index, frame);
        None
    }
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
