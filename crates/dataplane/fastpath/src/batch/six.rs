//! The second and the third stage of IPv6 packets.

use causeway_ports::{BATCH, Batch};

use super::Pass;
use crate::engine::FastPath;
use crate::forward::{Forwarding, Sent};
use crate::plain::{Fork, flaw};
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
            Fork::Drop(reason) => self.drop_one(reason),
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
            && (minds != flaw::OURS || has_gateway(self.batch, (index, plains.starts[at]), surroundings))
        {
            return None;
        }
        let line = table.line_mut(plains.lines[at])?;
        let (mut sent, mut exit) = (Sent::default(), Exit::Network(0));
        let forwarding = Forwarding { now, plains, programs, surroundings };
        let frame = (&mut *self.batch, index);
        forwarding.forward::<{ u8::MAX }, true>(frame, (line, number), (&mut sent, &mut exit))?;
        self.others += 1;
        self.engine.count_sent(exit, self.batch, index);
        self.leaving.depart(index, exit);
        Some(())
    }
}

/// One of the ends of a packet that begins there is ours in a data network.
#[inline(never)]
fn has_gateway(batch: &Batch, (index, start): (usize, u32), surroundings: &Surroundings) -> bool {
    let ends = batch.data(index).and_then(|frame| frame.get(start as usize + 8..)?.first_chunk::<32>());
    ends.is_none_or(|ends| {
        ends.as_chunks().0.iter().any(|end| surroundings.is_gateway(u128::from_be_bytes(*end)))
    })
}
