//! Why a model of a switch has dropped a packet.

use causeway_dataplane::DropReason;
use causeway_p4::names::counter;

use super::drop_reason::reason_of;
use super::in_process::WithPorts;
use crate::driver::Program;
use crate::model::upf;

/// The drop counters of a switch as they were last seen.
#[derive(Clone, Debug)]
pub struct Drops {
    counter: u32,
    seen: Vec<u64>,
}

impl Drops {
    /// Those of a switch with this program that has dropped nothing.
    pub fn of(program: &Program) -> Self {
        let drops = program.counters.iter().find(|known| known.name == counter::DROPS);
        // A program without it is not run.
        Self { counter: drops.map_or(0, |drops| drops.id), seen: vec![0; upf::DropReason::ALL.len()] }
    }

    /// The reason of a drop, of which each is asked for; `None`: there was none. A switch that has restarted counts from zero: it has counted
    /// that drop alone.
    pub fn last(&mut self, driver: &mut impl WithPorts) -> Option<DropReason> {
        let cells = upf::DropReason::ALL.map(|reason| reason as u32);
        let counts = driver.indexed_counts(self.counter, &cells).into_iter().map(|count| count.packets);
        let seen = std::mem::replace(&mut self.seen, counts.collect());
        let grown = seen.iter().zip(&self.seen).position(|(before, now)| now > before);
        let place = grown.or_else(|| self.seen.iter().position(|now| *now > 0))?;
        upf::DropReason::ALL.get(place).map(|reason| reason_of(*reason))
    }
}
