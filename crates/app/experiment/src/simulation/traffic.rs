//! The packets of all UEs, counted when a counter is read or a rule changes.

use causeway_switch::Count;
use causeway_switch::driver::{EntryKey, FieldMatch, Update};
use causeway_switch::model::{Access, Output, Pipeline, State};
use causeway_switch::pendulum::{Partition, Side};
use causeway_types::Time;

use super::flow::{Flow, Load};
use super::program::{
    BITS, DOWNLINK, UPLINK, accounting, cell, downlink_keys, number_of, ue_of, uplink_keys,
};

/// The UPF's packet path for traffic without frames. The traffic of a UE since its last evaluation passes through the
/// same tables as its packets would: the PDR's entry gives the rule's number, and the number's entries or counters on
/// both sides count it. A UE without a PDR sends nothing.
#[derive(Debug)]
pub(super) struct Traffic {
    flows: Vec<[Option<Flow>; 2]>,
    /// The time up to which the packets of each flow are counted.
    settled: Vec<[Time; 2]>,
    /// The owner of each number: twice the UE, plus one for its downlink, from two on; zero for none.
    owners: Vec<u32>,
    /// Counters of a bank, if they are by index.
    bank: Option<u32>,
    /// The start of all traffic.
    pub(super) from: Time,
    /// The end of all traffic.
    pub(super) until: Option<Time>,
    /// Octets that passed through a PDR.
    pub(super) sent: Count,
}

impl Traffic {
    pub(super) fn new(ues: u32, load: Load, seed: u64, bank: Option<u32>) -> Self {
        let flows = |ue| [true, false].map(|is_uplink| Flow::new(load, seed, ue, is_uplink));
        Self {
            flows: (0..ues).map(flows).collect(),
            settled: vec![[Time::default(); 2]; ues as usize],
            owners: vec![0; 1 << BITS],
            bank,
            from: Time::from_nanos(u64::MAX),
            until: None,
            sent: Count::ZERO,
        }
    }

    /// The time of the uplink packet of a UE that reached a threshold which is exceeded by `excess` octets at `to`.
    pub(super) fn reached(&self, ue: u32, to: Time, excess: u64) -> Option<Time> {
        let [uplink, _] = self.flows.get(ue as usize)?;
        uplink.as_ref().map(|flow| flow.reached(to, excess))
    }

    fn settle_flow(&mut self, state: &mut State, now: Time, flow: FlowOf) {
        let FlowOf { ue, is_downlink } = flow;
        let until = self.until.map_or(now, |until| now.min(until));
        let Some(settled) = self.settled.get_mut(ue as usize) else { return };
        let settled = &mut settled[usize::from(is_downlink)];
        let from = std::mem::replace(settled, (*settled).max(until)).max(self.from);
        let flows = self.flows.get(ue as usize).filter(|_| from < until);
        let Some(packets) = flows.and_then(|flows| flows[usize::from(is_downlink)]) else { return };
        let packets = packets.between(from, until);
        if is_downlink {
            self.count(state, DOWNLINK, &downlink_keys(ue), packets);
        } else {
            self.count(state, UPLINK, &uplink_keys(ue), packets);
        }
    }

    fn count(&mut self, state: &mut State, table: u32, keys: &[u128], packets: Count) {
        if packets == Count::ZERO {
            return;
        }
        let rule = state.apply_many(table, keys, Count::ZERO).and_then(|entry| entry.parameters.first());
        let Some(rule) = rule.copied() else { return };
        self.sent += packets;
        for side in Side::ALL {
            // Uncounted octets are in no reading, which shows in the balance.
            _ = if let Some(bank) = self.bank {
                let (counter, index) = cell(side, bank, rule as u32);
                state.count_many(counter, index, packets)
            } else {
                let mut partitions = [Partition(0), Partition(1)].into_iter();
                partitions.any(|partition| {
                    state.apply_many(accounting(side, partition), &[rule], packets).is_some()
                })
            };
        }
    }

    fn settle_owner(&mut self, state: &mut State, now: Time, rule: usize) {
        if let Some(flow) = self.owners.get(rule).and_then(|owner| owner.checked_sub(2)) {
            self.settle_flow(state, now, FlowOf { ue: flow / 2, is_downlink: flow % 2 == 1 });
        }
    }

    fn settle_update(&mut self, state: &mut State, now: Time, update: &Update) {
        let (key, parameters): (&EntryKey, &[u128]) = match update {
            Update::Insert(entry) | Update::Modify(entry) => (&entry.key, &entry.parameters),
            Update::Delete(key) => (key, &[]),
            Update::SetMeter { .. } | Update::SetRegister { .. } => return,
        };
        let Some(ue) = ue_of(key) else { return };
        let is_downlink = key.table == DOWNLINK;
        self.settle_flow(state, now, FlowOf { ue, is_downlink });
        let owner = parameters.first().and_then(|rule| self.owners.get_mut(*rule as usize));
        if let Some(owner) = owner {
            *owner = 2 * ue + 2 + u32::from(is_downlink);
        }
    }
}

/// The flow of a UE in one direction.
#[derive(Clone, Copy, Debug)]
struct FlowOf {
    ue: u32,
    is_downlink: bool,
}

impl Pipeline for Traffic {
    type Packet = ();

    fn ingress(&mut self, _: &mut State, _: Time, _: u16, _: &[u8], _: &mut Output<()>) {}

    fn egress(&mut self, _: &mut State, _: Time, _: u16, (): ()) -> Option<Vec<u8>> {
        None
    }

    fn settle(&mut self, state: &mut State, now: Time, touched: Access<'_>) {
        match touched {
            Access::Entry(key) => {
                if let Some(FieldMatch::Exact(rule)) = key.fields.first() {
                    self.settle_owner(state, now, *rule as usize);
                }
            }
            Access::Counter { counter, index } => {
                let number = number_of(self.bank.unwrap_or(u32::MAX), counter, index);
                self.settle_owner(state, now, number as usize);
            }
            Access::Batch(updates) => {
                updates.iter().for_each(|update| self.settle_update(state, now, update));
            }
        }
    }
}
