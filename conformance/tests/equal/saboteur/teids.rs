//! Tunnels by their slots alone.

use std::collections::HashMap;

use causeway_dataplane::Plan;
use causeway_model::Op;

/// Bits of a TEID that are its slot; the others are the generation.
const SLOT: u32 = 0x00ff_ffff;

/// Which TEID each slot had last.
#[derive(Default)]
pub(super) struct Teids(HashMap<u32, u32>);

impl Teids {
    /// Tunnels that come with a plan.
    pub(super) fn learn(&mut self, plan: &Plan) {
        for op in plan.ops().iter() {
            if let Op::PutPdr(pdr) = op
                && let Some(tunnel) = pdr.pdi.tunnel
            {
                let teid = tunnel.teid.value();
                self.0.insert(teid & SLOT, teid);
            }
        }
    }

    /// A message to the TEID that has its slot.
    pub(super) fn in_use(&self, message: &[u8]) -> Vec<u8> {
        let mut message = message.to_vec();
        if let Some(octets) = message.get_mut(4..).and_then(<[u8]>::first_chunk_mut::<4>) {
            let teid = u32::from_be_bytes(*octets);
            *octets = self.0.get(&(teid & SLOT)).copied().unwrap_or(teid).to_be_bytes();
        }
        message
    }
}
