//! When each counter is needed, and the deadlines of URRs without counters.

use std::hash::Hash;

use causeway_types::{Direction, Time};

use super::banks::Cause;
use super::config::PullingPolicy;
use super::limit::Flow;
use super::state_machine::Pulling;
use crate::SwitchPdr;
use crate::pendulum::Side;

impl<K: Copy + Eq + Hash> Pulling<K> {
    /// Computes when a URR needs its counters, and reschedules them if that has changed.
    pub(super) fn estimate(&mut self, now: Time, index: u32) {
        let needed = self.ends(index, now);
        let Some(state) = self.state_mut(index) else { return };
        let before = std::mem::replace(&mut state.needed, needed);
        if before == needed {
            return;
        }
        let (side, numbers) = (state.urr.side, state.numbers.clone());
        for number in numbers {
            let direction = self.rules.get(&number).map(|rule| rule.direction as usize);
            if direction.is_some_and(|direction| before[direction] != needed[direction]) {
                self.schedule(now, side, number);
            }
        }
    }

    /// Reschedules a counter: for any of its URRs, and not too long after its last reading.
    pub(super) fn schedule(&mut self, now: Time, side: Side, number: SwitchPdr) {
        self.unschedule(side, number);
        let Some((needed, cause)) = self.needed(side, number) else { return };
        let Some(rule) = self.rules.get_mut(&number).filter(|rule| !rule.is_expired) else { return };
        let (partition, bank) = (rule.partitions[side as usize], rule.banks[side as usize]);
        if let Some(watch) = &mut rule.watches[side as usize]
            && let Some(banks) = self.banks[side as usize].get_mut(usize::from(partition.0))
        {
            watch.place = Some(banks.insert(number, bank, cause, now, needed));
        }
    }

    /// Removes a counter from those that can be picked.
    pub(super) fn unschedule(&mut self, side: Side, number: SwitchPdr) {
        let Some(rule) = self.rules.get_mut(&number) else { return };
        let partition = rule.partitions[side as usize];
        let Some(index) = rule.watches[side as usize].as_mut().and_then(|watch| watch.place.take()) else {
            return;
        };
        let banks = self.banks[side as usize].get_mut(usize::from(partition.0));
        if let Some(moved) = banks.and_then(|banks| banks.remove(index))
            && let Some(moved) =
                self.rules.get_mut(&moved).and_then(|rule| rule.watches[side as usize].as_mut())
        {
            moved.place = Some(index);
        }
    }

    /// Adds a URR without rules by its next deadline, or removes one that has rules.
    pub(super) fn list(&mut self, index: u32) {
        self.unlist(index);
        let Some(state) = self.state_mut(index).filter(|state| state.numbers.is_empty()) else { return };
        state.listed = state.next_end();
        if let Some(end) = state.listed {
            self.bare.insert((end, index));
        }
    }

    pub(super) fn unlist(&mut self, index: u32) {
        if let Some(end) = self.state_mut(index).and_then(|state| state.listed.take()) {
            self.bare.remove(&(end, index));
        }
    }

    /// When a counter is needed, and why. Without a policy only the time matters.
    fn needed(&self, side: Side, number: SwitchPdr) -> Option<(Time, Cause)> {
        let rule = self.rules.get(&number)?;
        let latest = rule.watch(side)?.latest(number, &self.config);
        let urrs = rule.urrs.iter().filter_map(|index| self.state(*index));
        let urrs = urrs.filter(|state| state.urr.side == side);
        let for_urrs = urrs.filter_map(|state| state.needed[rule.direction as usize]).min();
        Some(match for_urrs.filter(|needed| *needed < latest) {
            Some(needed) => (needed, Cause::Urr),
            None if self.config.care.is_some() => (latest, Cause::Age),
            None => (latest, Cause::Urr),
        })
    }

    /// When packets of either direction are likely to reach a volume limit of a URR, or one of its times ends.
    fn ends(&self, index: u32, now: Time) -> [Option<Time>; 2] {
        let Some(state) = self.state(index) else { return [None; 2] };
        let flow = |wanted: Option<Direction>| {
            let rules = state.numbers.iter().filter_map(|number| self.rules.get(number));
            let rules = rules.filter(|rule| wanted.is_none_or(|wanted| wanted == rule.direction));
            let watches = || rules.clone().filter_map(|rule| rule.watch(state.urr.side));
            let flow = Flow::sum(watches().map(|watch| {
                let ahead = watch.read.since(now).as_secs_f64();
                (watch.rate(), ahead - now.since(watch.read).as_secs_f64())
            }));
            let packet = watches().map(|watch| watch.packet).fold(0.0, f64::max);
            Flow { packet: if self.config.care.is_some() { packet } else { 0.0 }, ..flow }
        };
        let flows = [flow(None), flow(Some(Direction::Uplink)), flow(Some(Direction::Downlink))];
        let care = PullingPolicy::of(&self.config);
        [Direction::Uplink, Direction::Downlink].map(|direction| {
            let direction = self.config.care.map(|_| direction);
            let volume = state.volume_end(now, &flows, direction, care);
            [volume, state.next_end()].into_iter().flatten().min()
        })
    }
}
