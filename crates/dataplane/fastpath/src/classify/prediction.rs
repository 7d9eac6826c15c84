//! Predicts the filter set of a batch: the set that all packets of the batch before used.
//!
//! Sessions of the same policy share a set, and most batches use one set only. So all packets are classified together,
//! lane by lane, before any flow entry has arrived from memory; the flow entry then only confirms the set. Where
//! batches use several sets, there is no prediction.

use causeway_packet::BATCH;

use crate::batch::state::{BatchState, HALF_BATCH};
use crate::classify::filters::{FilterSets, PacketKey, ScalarFilter, SetId};
use crate::engine::FastPath;

/// The packet matches no rule. Action numbers from this value on do not exist.
pub(crate) const NO_RULE: u32 = 1 << 31;

/// No flow entry has this set.
const NO_SET: SetId = SetId::from_raw(u32::MAX);

/// The ports of each packet, compared as numbers of 16 bits: twice as many together.
#[inline(always)]
const fn ends(ports: [u32; HALF_BATCH]) -> [u16; 2 * HALF_BATCH] {
    zerocopy::transmute!(ports)
}

/// Lanes to compare before checking whether all packets have matched.
const LANES_PER_CHECK: usize = 32;

/// A set with more lanes is not worth comparing for half a batch with fewer packets than [`FEW_PACKETS`].
const FEW_LANES: usize = 32;

const FEW_PACKETS: usize = 8;

/// The predicted set, lane by lane.
#[derive(Debug)]
pub(crate) struct ClassifierPrediction {
    set: SetId,
    /// [`FilterSets::version`] when this was made.
    version: u64,
    lanes: Vec<ScalarFilter>,
    /// No prediction for this batch.
    is_idle: bool,
    /// No lane requires IPv6, so that IPv6 packets match the same lanes.
    is_for_v6: bool,
}

impl Default for ClassifierPrediction {
    fn default() -> Self {
        Self { set: NO_SET, version: 0, lanes: Vec::new(), is_idle: false, is_for_v6: false }
    }
}

impl ClassifierPrediction {
    /// The prediction of a set in its current state. Empty, if the set uses more than the packet key.
    fn of(set: SetId, sets: &FilterSets) -> Self {
        match sets.scalar_filters(set).filter(|lanes| !lanes.is_empty()) {
            Some(lanes) => {
                let (version, is_for_v6) = (sets.version(), !sets.has_ipv6_filters(set));
                Self { set, version, lanes, is_for_v6, ..Self::default() }
            }
            None => Self::default(),
        }
    }

    /// Prepares for a batch of this many packets.
    #[inline]
    pub(crate) const fn reset(&mut self, len: usize) {
        self.is_idle = len < FEW_PACKETS && self.lanes.len() > FEW_LANES;
    }

    /// The predicted set, if it is unchanged and predicted for this batch; else a set that no flow entry has.
    #[inline]
    pub(crate) const fn set(&self, sets: &FilterSets) -> SetId {
        if self.version == sets.version() && !self.is_idle { self.set } else { NO_SET }
    }

    /// Whether the prediction applies to IPv6 packets, too.
    pub(crate) const fn is_for_v6(&self) -> bool {
        self.is_for_v6
    }

    /// The rule that a packet matches, if the prediction is right.
    pub(crate) fn step(&self, packet_key: PacketKey) -> u32 {
        self.lanes.iter().find(|lane| lane.fits(packet_key)).map_or(NO_RULE, |lane| lane.rule().into())
    }

    /// Finds the rules that [`HALF_BATCH`] packets of a batch match, from the packet `FROM` on, if the prediction is
    /// right.
    ///
    /// Plain loops over plain arrays, so that the compiler vectorizes them.
    #[inline(always)]
    pub(crate) fn choose<const FROM: usize>(&self, state: &mut BatchState) {
        if self.lanes.is_empty() || self.is_idle {
            return;
        }
        let mut steps = [NO_RULE; HALF_BATCH];
        let of = |each: &[u32; BATCH]| *each[FROM..].first_chunk::<HALF_BATCH>().unwrap_or(&[0; HALF_BATCH]);
        let (words, remotes) = (of(&state.words), of(&state.remotes));
        let ports = ends(of(&state.ports));
        for lanes in self.lanes.chunks(LANES_PER_CHECK) {
            let mut found = [NO_RULE; HALF_BATCH];
            // The first lane that matches counts.
            for lane in lanes.iter().rev() {
                let (low, width) = lane.ports();
                let (low, width) = (ends([low; HALF_BATCH]), ends([width; HALF_BATCH]));
                let mut beyond = [0; 2 * HALF_BATCH];
                for (at, beyond) in beyond.iter_mut().enumerate() {
                    *beyond = ports[at].wrapping_sub(low[at]).saturating_sub(width[at]);
                }
                let beyond: [u32; HALF_BATCH] = zerocopy::transmute!(beyond);
                let (lane, rule) = (*lane, u32::from(lane.rule()));
                for (at, found) in found.iter_mut().enumerate() {
                    let difference = lane.difference_but_for_ports(words[at], remotes[at]) | beyond[at];
                    *found = if difference == 0 { rule } else { *found };
                }
            }
            let mut left = 0;
            for (step, found) in steps.iter_mut().zip(found) {
                *step = if *step == NO_RULE { found } else { *step };
                left |= *step;
            }
            if left & NO_RULE == 0 {
                break;
            }
        }
        state.steps[FROM..FROM + HALF_BATCH].copy_from_slice(&steps);
    }
}

/// The sets that packets of a batch used contrary to the prediction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetObservations {
    packets: u64,
    set: SetId,
    is_mixed: bool,
}

impl SetObservations {
    /// None.
    pub(crate) const fn new() -> Self {
        Self { packets: 0, set: NO_SET, is_mixed: false }
    }

    #[inline(always)]
    pub(crate) fn note(&mut self, set: SetId) {
        self.is_mixed |= self.packets > 0 && self.set != set;
        self.packets += 1;
        self.set = set;
    }
}

impl FastPath {
    /// The predicted set.
    #[inline]
    pub(crate) const fn predicted_set(&self) -> SetId {
        self.prediction.set(&self.sets)
    }

    /// Predicts the set of the next batch, after a batch of which this many packets were forwarded in the common case.
    #[inline]
    pub(crate) fn update_prediction(&mut self, sent: u64) {
        if self.observations.packets > 0 && !self.prediction.is_idle {
            self.predict_next(self.observations, sent.saturating_sub(self.observations.packets));
        }
    }

    #[cold]
    #[inline(never)]
    fn predict_next(&mut self, observations: SetObservations, guessed: u64) {
        if guessed > 0 || observations.is_mixed {
            // A few mispredicted packets among many do not matter.
            if guessed < 8 * observations.packets {
                self.prediction = ClassifierPrediction::default();
            }
        } else if self.predicted_set() != observations.set {
            self.prediction = ClassifierPrediction::of(observations.set, &self.sets);
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_model::{FlowDescription, FlowEnd};

    use super::*;
    use crate::classify::filters::Rule;

    /// A set with a filter for each port below `lanes`, four to a rule, and with a rule for all other packets if
    /// `is_open`.
    fn insert(sets: &mut FilterSets, lanes: u16, is_open: bool) -> SetId {
        let of = |port: u16| {
            let remote = FlowEnd { ports: vec![port..=port], ..FlowEnd::ANY };
            FlowDescription { protocol: Some(17), remote, ..FlowDescription::ANY }.into()
        };
        let filters = (0..lanes).step_by(4).map(|first| (first..lanes.min(first + 4)).map(of).collect());
        let open = is_open.then(Vec::new);
        let rules = filters.chain(open).map(|filters| Rule { qfis: Default::default(), filters });
        sets.insert(&rules.collect::<Vec<_>>()).unwrap()
    }

    // Input:  packets to a port for each two lanes, by UDP and some by TCP; predicted sets of 1 to 250 lanes, with and
    //         without an open rule behind them.
    // Output: each packet has the rule that the set yields, or none.
    #[test]
    fn packets_have_the_rules_that_they_match() {
        let mut sets = FilterSets::new(256).unwrap();
        for (lanes, is_open) in [0, 2, 31, 32, 33, 40, 64, 65, 100, 128, 250]
            .into_iter()
            .flat_map(|lanes| [(lanes, true), (lanes.max(1), false)])
        {
            let set = insert(&mut sets, lanes, is_open);
            let packet_key = |at: usize| {
                let port = (at as u32 * 37) % u32::from(2 * lanes).max(1);
                PacketKey::v4(0x0a00_0001, port, if at % 7 < 6 { 17 } else { 6 }, 0)
            };
            let mut state = BatchState::new();
            for at in 0..BATCH {
                (state.words[at], state.ports[at], state.remotes[at]) = packet_key(at).parts();
            }
            let prediction = ClassifierPrediction::of(set, &sets);
            prediction.choose::<0>(&mut state);
            prediction.choose::<HALF_BATCH>(&mut state);
            let wanted = |at| sets.first_match_v4(set, packet_key(at), 0).map_or(NO_RULE, u32::from);
            assert_eq!((prediction.set(&sets), state.steps), (set, std::array::from_fn(wanted)));
            assert!((0..BATCH).all(|at| prediction.step(packet_key(at)) == wanted(at)));
        }
    }

    // Input:  a set of 33 lanes and one of 32, in batches of 7 packets and of 8.
    // Output: the larger one is not predicted for 7 packets.
    #[test]
    fn few_packets_are_not_compared_with_many_lanes() {
        let mut sets = FilterSets::new(16).unwrap();
        for (lanes, of_seven) in [(32, false), (31, true)] {
            let set = insert(&mut sets, lanes, true);
            let mut prediction = ClassifierPrediction::of(set, &sets);
            let mut guessed = |len| {
                prediction.reset(len);
                prediction.set(&sets)
            };
            assert_eq!([7, 8].map(&mut guessed), [if of_seven { set } else { NO_SET }, set]);
        }
    }

    // Input:  a prediction, then a set is added or removed.
    // Output: the prediction is void: another set may have the number.
    #[test]
    fn a_prediction_ends_when_sets_change() {
        let mut sets = FilterSets::new(16).unwrap();
        let [three, two] = [3, 2].map(|lanes| insert(&mut sets, lanes, true));
        let prediction = ClassifierPrediction::of(three, &sets);
        assert_eq!((prediction.set(&sets), ClassifierPrediction::default().set(&sets)), (three, NO_SET));
        sets.remove(two);
        assert_eq!(prediction.set(&sets), NO_SET);
        let prediction = ClassifierPrediction::of(three, &sets);
        insert(&mut sets, 4, true);
        assert_eq!(prediction.set(&sets), NO_SET);
    }

    // Input:  batches of one set, of two, and of none.
    // Output: only two sets make a batch mixed.
    #[test]
    fn several_sets_are_mixed() {
        let observations = |sets: &[u32]| {
            let mut observations = SetObservations::new();
            sets.iter().for_each(|set| observations.note(SetId::from_raw(*set)));
            (observations.packets, observations.set, observations.is_mixed)
        };
        assert_eq!(observations(&[4, 4, 4]), (3, SetId::from_raw(4), false));
        assert_eq!(observations(&[4, 5, 5]), (3, SetId::from_raw(5), true));
        assert_eq!(observations(&[]), (0, NO_SET, false));
    }
}
