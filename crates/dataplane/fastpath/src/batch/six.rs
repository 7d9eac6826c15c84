//! The second and the third stage of IPv6 packets.

use std::net::Ipv6Addr;

use causeway_ports::{BATCH, Batch};

use super::Pass;
use crate::choose::UPLINK;
use crate::engine::FastPath;
use crate::forward::{Forwarding, Sent};
use crate::plain::{Fork, flaw};
use crate::six::{SOURCE, TARGET};
use crate::surroundings::{Exit, Surroundings};

impl<const WAY: bool> Pass<'_, WAY> {
    /// What [`crate::six`] has read goes its way.
    #[inline(never)]
    pub(super) fn finish_six(&mut self, index: usize) {
        let fork = match self.engine.choose_six::<WAY>(self.batch, self.plains, index) {
            Fork::Course(course) if self.forward_six(index, course).is_some() => return,
            fork => fork,
        };
        match fork {
            Fork::Drop(reason) => self.count_drop(reason),
            fork => {
                self.decide(index, fork);
                // The slow room may have changed the sets.
                self.guessed = self.engine.guessed();
            }
        }
    }

    /// Sends a packet on. `None`: as for [`Forwarding::forward`].
    #[inline(always)]
    fn forward_six(&mut self, index: usize, number: u32) -> Option<()> {
        let (now, plains, at) = (self.now.as_nanos(), self.plains, index % BATCH);
        let FastPath { table, programs, surroundings, .. } = &mut *self.engine;
        let course = programs.course(number)?;
        let minds = plains.flaws[at] as u8 & course.minds;
        if minds != 0
            && (minds != flaw::OURS
                || is_ours::<WAY>(self.batch, (index, plains.starts[at]), (surroundings, course.exit)))
        {
            return None;
        }
        let line = table.line_mut(plains.lines[at])?;
        let (mut sent, mut exit) = (Sent::default(), Exit::Network(0));
        let forwarding = Forwarding { now, plains, programs, surroundings };
        let frame = (&mut *self.batch, index);
        forwarding.forward::<{ u8::MAX }, true, WAY>(frame, (line, number), (&mut sent, &mut exit))?;
        self.others += 1;
        self.engine.count_sent(exit, self.batch, index);
        self.leaving.depart(index, exit);
        Some(())
    }
}

/// The far end of a packet that begins there is an address of ours, or one that UEs do not reach.
#[inline(never)]
fn is_ours<const WAY: bool>(
    batch: &Batch,
    (index, start): (usize, u32),
    (surroundings, exit): (&Surroundings, Exit),
) -> bool {
    let offset = start as usize + if WAY == UPLINK { TARGET } else { SOURCE };
    let far = batch.data(index).and_then(|frame| frame.get(offset..)?.first_chunk::<16>());
    far.is_none_or(|far| surroundings.concerns(Ipv6Addr::from(*far).into(), exit))
}
