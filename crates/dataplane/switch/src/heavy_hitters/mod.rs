//! Heavy hitters on the switch: the registers and tables of `p4/blocks/heavy_hitter.p4`, and what a packet does with them.
//!
//! It is [`SwitchSliding`] with two [ways](WAYS) and three sub-windows of 2^28 ns ([`SUB_WINDOW`])
//! in a window of 805 ms. A program that [has it](Program::with_heavy_hitters) finds nothing until a controller has written the
//! [`entries`] of a configuration. An event is a flow that has become heavy ([`Finding::Report`]); a packet that takes
//! a place passes a second time ([`Finding::Takes`]).
//!
//! ```
//! use causeway_switch::driver::Program;
//! use causeway_switch::heavy_hitters::{Detector, Finding, Packet, config, entries};
//! use causeway_switch::model::State;
//! use causeway_traffic::{Key, SlidingConfig};
//! use causeway_types::Time;
//!
//! let config = SlidingConfig { threshold: 100, ..config() };
//! let program = Program::default().with_heavy_hitters();
//! let detector = Detector::of(&program)?.expect("the program has heavy hitters");
//! let updates = entries(&program, &config)?;
//! let mut state = State::new(program);
//! state.write(Time::default(), &updates)?;
//! // A packet of a flow without a place takes one: it passes once more.
//! let packet = Packet::of(&config, Key(7), 1);
//! let found = detector.observe(&mut state, Time::from_secs(1), &packet, || 0)?;
//! assert_eq!(found, Finding::Takes { way: 0 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use causeway_dataplane::SwitchState;
use causeway_traffic::heavy::Threshold;
use causeway_traffic::sliding::Placement;
use causeway_traffic::{ConfigError, Key, SlidingConfig, SwitchSliding, SwitchSlot};
use causeway_types::{Span, Time};

use crate::driver::{
    Action, Entry, EntryKey, FieldMatch, Key as TableKey, MatchKind, Parameter, Program, Register, Table,
    Update,
};
use crate::model::State;
use crate::model::register::{
    Change, Comparison, Condition, Modification, Operand, RegisterAction, RegisterError, Relation, Returned,
    Word,
};

/// Ways: places that a flow may have.
pub const WAYS: usize = 2;

/// Length of a sub-window: a power of two, so that bits of the time are its number.
pub const SUB_WINDOW: Span = Span::from_nanos(1 << 28);

/// Sub-windows in a window.
const SUB_WINDOWS: u8 = 3;

/// The time over which the packets of a flow are counted: 805 ms.
pub const WINDOW: Span = Span::from_nanos(SUB_WINDOWS as u64 * (1 << 28));

/// The most units of a threshold: a count stops at 255 in each sub-window, so that a steady flow of more never reaches more.
const MOST_THRESHOLD: u64 = 255 * SUB_WINDOWS as u64;

/// The greatest threshold, in packets in a second.
pub const MOST_PACKETS_PER_SECOND: u64 = MOST_THRESHOLD * 1_000_000_000 / (SUB_WINDOWS as u64 * (1 << 28));

/// Arrays of pairs in each way: the sub-windows of a window, and the oldest.
const ARRAYS: usize = SUB_WINDOWS as usize + 1;

/// Places of each way.
pub const PLACES: usize = 4096;

/// Bits of the position in a sub-window.
const POSITION_BITS: u8 = 4;

/// The most units of a packet that takes a place. A heavier one counts in the place that its flow has, and takes none.
const MOST_WEIGHT: u8 = 2;

/// Rows of the chances of a way, for all weights together.
const CHANCES: usize = 2048;

/// The most units in a window.
const MOST_UNITS: u32 = 255 * (SUB_WINDOWS as u32 + 1);

/// Names in the program.
const LIMITS: &str = "heavy_limits";
const GONE: [&str; WAYS] = ["heavy_gone_0", "heavy_gone_1"];
const CHANCE: [&str; WAYS] = ["heavy_chances_0", "heavy_chances_1"];
const FLAGS: &str = "heavy_flags";

/// The tables that a controller fills, and the action of each.
const ACTIONS: [(&str, &str); 5] = [
    (LIMITS, "look_for"),
    (GONE[0], "subtract_gone_0"),
    (GONE[1], "subtract_gone_1"),
    (CHANCE[0], "set_chance_0"),
    (CHANCE[1], "set_chance_1"),
];

/// The tables that a controller fills.
pub(crate) const TABLES: [&str; 5] = [LIMITS, GONE[0], GONE[1], CHANCE[0], CHANCE[1]];

/// The program finds heavy hitters.
pub(crate) fn are_in(program: &Program) -> bool {
    let has_action = |table: &Table, action: &str| {
        let first = program.actions.iter().find(|it| Some(&it.id) == table.actions.first());
        first.is_some_and(|it| it.name == action)
    };
    ACTIONS
        .iter()
        .all(|(name, action)| program.table_named(name).is_some_and(|table| has_action(table, action)))
}

/// A switch with these tables finds heavy hitters.
pub fn are_found_by(switch: &SwitchState) -> bool {
    switch.tables.iter().any(|table| table.name == LIMITS)
}

/// A threshold that the switch cannot have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the switch counts packets, 1 to {MOST_PACKETS_PER_SECOND} in a second: give 1pps to {MOST_PACKETS_PER_SECOND}pps"
)]
pub struct ThresholdRefused;

/// The configuration of a threshold, which becomes one of the switch's window.
///
/// # Errors
/// It is none of packets, zero, or more than a place counts.
pub fn with_threshold(threshold: Threshold) -> Result<SlidingConfig, ThresholdRefused> {
    match threshold {
        Threshold::PacketsPerSecond(packets @ 1..=MOST_PACKETS_PER_SECOND) => {
            let nanos = packets * SUB_WINDOW.as_nanos() as u64 * u64::from(SUB_WINDOWS);
            Ok(SlidingConfig { threshold: nanos.div_ceil(1_000_000_000), ..config() })
        }
        Threshold::PacketsPerSecond(_) | Threshold::BitsPerSecond(_) => Err(ThresholdRefused),
    }
}

/// Ids that no compiled program uses, as those of armed rules.
const TABLE_IDS: u32 = 0x02ff_ffe0;
const ACTION_IDS: u32 = 0x01ff_ffe0;
const REGISTER_IDS: u32 = 0x16ff_ffe0;

fn owners(way: usize) -> String {
    format!("heavy_owners_{way}")
}

fn counts(way: usize, array: usize) -> String {
    format!("heavy_counts_{way}_{array}")
}

/// The configuration of [`SwitchSliding`] that is the one here, with a threshold of 125 packets in a window.
pub const fn config() -> SlidingConfig {
    SlidingConfig {
        ways: WAYS,
        placement: Placement::Apart,
        sub_windows: SUB_WINDOWS,
        sub_window: SUB_WINDOW,
        position_bits: POSITION_BITS,
        ..SlidingConfig::with_slots(WAYS * PLACES)
    }
}

impl Program {
    /// The program, with the tables and registers of heavy hitters.
    #[must_use]
    pub fn with_heavy_hitters(mut self) -> Self {
        let key = |name: &str, width, kind| TableKey { name: name.to_owned(), width, kind };
        let exact = |name, width| key(name, width, MatchKind::Exact);
        let second = || vec![key("is_second", 1, MatchKind::Ternary)];
        let gone = || vec![exact("position", POSITION_BITS), exact("oldest", 8)];
        let chance = || vec![exact("weight", 8), exact("estimate", 16)];
        let rows = 1 << (POSITION_BITS + 8);
        let tables = [
            (LIMITS, 1, second(), "look_for", vec!["full", "half"]),
            (GONE[0], rows, gone(), "subtract_gone_0", vec!["negative"]),
            (GONE[1], rows, gone(), "subtract_gone_1", vec!["negative"]),
            (CHANCE[0], CHANCES, chance(), "set_chance_0", vec!["chance"]),
            (CHANCE[1], CHANCES, chance(), "set_chance_1", vec!["chance"]),
        ];
        for (place, (name, size, keys, action, parameters)) in (0..).zip(tables) {
            let (id, action_id) = (TABLE_IDS + place, ACTION_IDS + place);
            let parameter = |name: &str| Parameter { name: name.to_owned(), width: 16 };
            let parameters = parameters.into_iter().map(parameter).collect();
            self.actions.push(Action { id: action_id, name: action.to_owned(), parameters });
            let actions = vec![action_id];
            self.tables.push(Table { id, name: name.to_owned(), size, keys, actions, is_const: false });
        }
        let of_ways = (0..WAYS).flat_map(|way| {
            let pairs = (0..ARRAYS).map(move |array| (counts(way, array), PLACES, 8, Some(8)));
            std::iter::once((owners(way), PLACES, 16, None)).chain(pairs)
        });
        let all = of_ways.chain([(FLAGS.to_owned(), WAYS * PLACES, 8, None)]);
        let register = |(id, (name, size, first, second))| Register { id, name, size, first, second };
        self.registers.extend((REGISTER_IDS..).zip(all).map(register));
        self
    }
}

/// The entries of a configuration. A packet takes a place only if it has at most two units.
///
/// # Errors
/// The configuration is not one that [`SwitchSliding`] accepts. Its ways, sub-windows, places and position bits are those of
/// [`config`]; nothing is written for a program without heavy hitters.
pub fn entries(program: &Program, config: &SlidingConfig) -> Result<Vec<Update>, ConfigError> {
    SwitchSliding::new(&SlidingConfig { slots: WAYS, ..config.clone() })?;
    let row = |table: &str, fields, priority, parameters| {
        let table = program.table_named(table)?;
        let key = EntryKey { table: table.id, fields, priority };
        Some(Update::Insert(Entry { key, action: *table.actions.first()?, parameters }))
    };
    let exact = |one: u32, other: u32| vec![FieldMatch::Exact(one.into()), FieldMatch::Exact(other.into())];
    let full = config.heavy_units();
    let limits = vec![u128::from(full), u128::from(full.div_ceil(2))];
    let limits = row(LIMITS, vec![FieldMatch::ANY], 1, limits);
    let positions = 0..1_u8 << POSITION_BITS;
    let pairs = positions.flat_map(|position| (0..=u8::MAX).map(move |oldest| (position, oldest)));
    let gone = pairs.flat_map(|(position, oldest)| {
        // The action adds modulo 2^16.
        let gone = u16::from(oldest.saturating_sub(config.part(oldest, position)));
        let negative = u128::from(gone.wrapping_neg());
        GONE.map(|table| row(table, exact(position.into(), oldest.into()), 0, vec![negative]))
    });
    let weights = (1..=MOST_WEIGHT).flat_map(|weight| (0..=MOST_UNITS).map(move |units| (weight, units)));
    let chances = weights.flat_map(|(weight, units)| {
        let chance = SlidingConfig::chance(weight, units).into_iter();
        chance.flat_map(move |chance| {
            CHANCE.map(|table| row(table, exact(weight.into(), units), 0, vec![chance.into()]))
        })
    });
    Ok(std::iter::once(limits).chain(gone).chain(chances).flatten().collect())
}

/// A packet of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// What places have of the flow's key: 15 bits of that of [`SwitchSliding`], the last 16 of a rule's number.
    pub identity: u16,
    /// Its place in each way.
    pub places: [u32; WAYS],
    /// The units that it counts.
    pub weight: u8,
    /// In a second pass, the way whose place it takes.
    pub takes: Option<usize>,
}

impl Packet {
    /// A packet of a rule in its first pass, as the pipeline of `p4/` counts it: one unit, at the places that CRC-32 and CRC-16 of the
    /// rule's number in four octets say. Rules have 24 bits: two of them with the
    /// same last 16 bits have other places in each way, so that no two rules count as one.
    pub fn of_rule(rule: u32) -> Self {
        let (long, short) = (!crc(rule, 0xedb8_8320, u32::MAX), crc(rule, 0xa001, 0));
        let last_bits = PLACES as u32 - 1;
        Self { identity: rule as u16, places: [long & last_bits, short & last_bits], weight: 1, takes: None }
    }

    /// A packet in its first pass, at the places that [`SwitchSliding`] gives the flow.
    pub fn of(config: &SlidingConfig, key: Key, weight: u8) -> Self {
        let places = std::array::from_fn(|way| key.place(way, PLACES) as u32);
        Self { identity: config.identity(key), places, weight, takes: None }
    }
}

/// The hash of a rule by a CRC that begins with the lowest bit.
fn crc(rule: u32, polynomial: u32, initial: u32) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 };
    rule.to_be_bytes().iter().fold(initial, |crc, octet| (0..8).fold(crc ^ u32::from(*octet), step))
}

/// What a packet's pass found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Nothing to be done.
    Nothing,
    /// The flow has become heavy, with so many units in the window.
    Report {
        /// The units.
        units: u16,
    },
    /// The packet takes the place of a way: it is to pass once more.
    Takes {
        /// The way.
        way: usize,
    },
}

/// What packets do with the tables and registers.
#[derive(Clone, Debug)]
pub struct Detector {
    limits: u32,
    chances: [u32; WAYS],
    gone: [u32; WAYS],
    owners: [Owners; WAYS],
    pairs: [[Pairs; ARRAYS]; WAYS],
    /// Sets the flag: what it was.
    raise: RegisterAction,
    /// Sets the flag, whatever it was.
    begin: RegisterAction,
    clear: RegisterAction,
    flags: u32,
}

/// The actions on the owners of a way.
#[derive(Clone, Debug)]
struct Owners {
    find: RegisterAction,
    take: RegisterAction,
}

/// The actions on the pairs of a sub-window.
#[derive(Clone, Debug)]
struct Pairs {
    read: RegisterAction,
    add: RegisterAction,
    begin: RegisterAction,
    reset: RegisterAction,
}

/// The inputs of actions: the number that a word is compared with or becomes, and what is added.
const VALUE: Operand = Operand::Input(0);
const WEIGHT: Operand = Operand::Input(1);

const fn change(word: Word, when: Condition, change: Change) -> Modification {
    Modification { word, when, change }
}

const SAME: [Comparison; 1] = [Comparison { word: Word::First, relation: Relation::Equal, with: VALUE }];

impl Owners {
    fn of(register: &Register) -> Result<Self, RegisterError> {
        let is_same = Returned::Whether(Condition::If(Word::First));
        let set = change(Word::First, Condition::Always, Change::Set(VALUE));
        Ok(Self {
            find: RegisterAction::new(register, &SAME, &[], is_same)?,
            take: RegisterAction::new(register, &[], &[set], Returned::After(Word::First))?,
        })
    }
}

impl Pairs {
    fn of(register: &Register) -> Result<Self, RegisterError> {
        let (epoch, count, always) = (Word::First, Word::Second, Condition::Always);
        let set_epoch = change(epoch, always, Change::Set(VALUE));
        let add = [
            set_epoch,
            change(count, Condition::If(epoch), Change::AddSaturating(WEIGHT)),
            change(count, Condition::Unless(epoch), Change::Set(WEIGHT)),
        ];
        let begin = [set_epoch, change(count, always, Change::Set(WEIGHT))];
        let reset = [change(count, always, Change::Set(Operand::Constant(0)))];
        let read = Returned::BeforeIf(count, Condition::If(epoch));
        Ok(Self {
            read: RegisterAction::new(register, &SAME, &[], read)?,
            add: RegisterAction::new(register, &SAME, &add, Returned::After(count))?,
            begin: RegisterAction::new(register, &[], &begin, Returned::After(count))?,
            reset: RegisterAction::new(register, &[], &reset, Returned::After(count))?,
        })
    }
}

/// The time as pairs have it.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// The array of the current sub-window.
    phase: usize,
    /// The epoch of the current sub-window.
    round: u8,
    /// How much of it has passed, in 16ths.
    position: u8,
}

impl Moment {
    fn of(now: Time) -> Self {
        let time = now.as_nanos();
        let index = time / SUB_WINDOW.as_nanos() as u64;
        let passed = time % SUB_WINDOW.as_nanos() as u64;
        Self {
            phase: (index % ARRAYS as u64) as usize,
            round: (index / ARRAYS as u64) as u8,
            position: (passed >> (28 - POSITION_BITS)) as u8,
        }
    }

    /// The epoch that an array has if its count is worth something.
    const fn epoch(self, array: usize) -> u8 {
        if array <= self.phase { self.round } else { self.round.wrapping_sub(1) }
    }
}

impl Detector {
    /// What packets do with a program's tables and registers; `None`: it has no heavy hitters.
    ///
    /// # Errors
    /// The registers are not those of heavy hitters.
    pub fn of(program: &Program) -> Result<Option<Self>, RegisterError> {
        Self::find(program).transpose()
    }

    fn find(program: &Program) -> Option<Result<Self, RegisterError>> {
        let table = |name: &'static str| Some(program.table_named(name)?.id);
        let owners = |way| program.register_named(&owners(way));
        let pairs = |way, array| program.register_named(&counts(way, array));
        let owners = [owners(0)?, owners(1)?];
        let of_way = |way| Some([pairs(way, 0)?, pairs(way, 1)?, pairs(way, 2)?, pairs(way, 3)?]);
        let pairs = [of_way(0)?, of_way(1)?];
        let of_ways = |[one, other]: [&'static str; WAYS]| Some([table(one)?, table(other)?]);
        let ids = (table(LIMITS)?, of_ways(CHANCE)?, of_ways(GONE)?);
        Some(Self::with(program, ids, owners, pairs, program.register_named(FLAGS)?))
    }

    fn with(
        program: &Program,
        (limits, chances, gone): (u32, [u32; WAYS], [u32; WAYS]),
        [one, other]: [&Register; WAYS],
        pairs: [[&Register; ARRAYS]; WAYS],
        flags: &Register,
    ) -> Result<Self, RegisterError> {
        let of_way = |[a, b, c, d]: [&Register; ARRAYS]| {
            Ok::<_, RegisterError>([Pairs::of(a)?, Pairs::of(b)?, Pairs::of(c)?, Pairs::of(d)?])
        };
        let set = |value| change(Word::First, Condition::Always, Change::Set(Operand::Constant(value)));
        let flag = |value, returned| RegisterAction::new(flags, &[], &[set(value)], returned);
        let detector = Self {
            limits,
            chances,
            gone,
            owners: [Owners::of(one)?, Owners::of(other)?],
            pairs: [of_way(pairs[0])?, of_way(pairs[1])?],
            raise: flag(1, Returned::Before(Word::First))?,
            begin: flag(1, Returned::After(Word::First))?,
            clear: flag(0, Returned::After(Word::First))?,
            flags: flags.id,
        };
        RegisterAction::check_actions(&program.registers, &detector.actions())?;
        Ok(detector)
    }

    fn actions(&self) -> Vec<RegisterAction> {
        let owners = self.owners.iter().flat_map(|it| [&it.find, &it.take]);
        let pairs = self.pairs.iter().flatten().flat_map(|it| [&it.read, &it.add, &it.begin, &it.reset]);
        owners.chain(pairs).chain([&self.raise, &self.begin, &self.clear]).cloned().collect()
    }

    /// A pass of a packet through ingress. `random` gives sixteen random bits, and is called for a packet without a place.
    ///
    /// # Errors
    /// An access that no switch can make; the packet is to be dropped.
    pub fn observe(
        &self,
        state: &mut State,
        now: Time,
        packet: &Packet,
        random: impl FnOnce() -> u16,
    ) -> Result<Finding, RegisterError> {
        // The owners stand in the first stage, beside the limits: they are asked in any case.
        let own = self.own(state, packet)?;
        let Some([full, half]) = parameters(state, self.limits, [u128::from(packet.takes.is_some()), 0], 1)
        else {
            return Ok(Finding::Nothing);
        };
        let moment = Moment::of(now);
        let mut units = [0; WAYS];
        for (way, units) in units.iter_mut().enumerate() {
            *units = self.units(state, packet, moment, way, own == Some(way))?;
        }
        match own.and_then(|way| Some((way, *units.get(way)?))) {
            Some((way, units)) => self.judge(state, packet, way, units, [full, half]),
            None => Ok(self.contend(state, packet.weight, units, random())),
        }
    }

    /// The way of the flow's place. In a second pass the place that the packet takes becomes its own.
    fn own(&self, state: &mut State, packet: &Packet) -> Result<Option<usize>, RegisterError> {
        let inputs = [packet.identity.into(), 0];
        if let Some(way) = packet.takes {
            let owners = self.owners.get(way).zip(packet.places.get(way));
            owners.map(|(it, place)| state.access(&it.take, *place, inputs)).transpose()?;
            return Ok(Some(way));
        }
        let mut own = None;
        for (way, (owners, place)) in self.owners.iter().zip(packet.places).enumerate() {
            let is_own = state.access(&owners.find, place, inputs)? == 1;
            own = own.or(is_own.then_some(way));
        }
        Ok(own)
    }

    /// Reads the counts of a way, and counts the packet if the place is its own: the estimate for the window.
    fn units(
        &self,
        state: &mut State,
        packet: &Packet,
        moment: Moment,
        way: usize,
        is_own: bool,
    ) -> Result<u32, RegisterError> {
        let Some((arrays, place)) = self.pairs.get(way).zip(packet.places.get(way)) else { return Ok(0) };
        let is_second = packet.takes.is_some();
        let oldest = (moment.phase + 1) % ARRAYS;
        let (mut sum, mut last) = (0, 0);
        for (array, pairs) in arrays.iter().enumerate() {
            let action = match (is_second, is_own, array == moment.phase) {
                (true, false, _) => continue,
                (true, true, true) => &pairs.begin,
                (true, true, false) => &pairs.reset,
                (false, true, true) => &pairs.add,
                (false, ..) => &pairs.read,
            };
            let inputs = [moment.epoch(array).into(), packet.weight.into()];
            let count = state.access(action, *place, inputs)?;
            sum += count;
            if array == oldest {
                last = count;
            }
        }
        let keys = [moment.position.into(), last.into()];
        let negative = self.gone.get(way).and_then(|table| parameters(state, *table, keys, 2));
        // Modulo 2^16, as the switch adds.
        Ok(u32::from((sum as u16).wrapping_add(negative.map_or(0, |[negative]| negative as u16))))
    }

    /// Whether a flow with these units is heavy, and has become so.
    fn judge(
        &self,
        state: &mut State,
        packet: &Packet,
        way: usize,
        units: u32,
        [full, half]: [u32; 2],
    ) -> Result<Finding, RegisterError> {
        let place = packet.places.get(way).copied().unwrap_or_default() + (way * PLACES) as u32;
        let is_second = packet.takes.is_some();
        let was_heavy = if units >= full {
            let action = if is_second { &self.begin } else { &self.raise };
            let flag = state.access(action, place, [0; 2])?;
            !is_second && flag == 1
        } else {
            if is_second || units < half {
                state.access(&self.clear, place, [0; 2])?;
            }
            true
        };
        Ok(if was_heavy { Finding::Nothing } else { Finding::Report { units: units as u16 } })
    }

    /// A packet without a place takes the one with the smaller estimate, or none.
    fn contend(&self, state: &mut State, weight: u8, [one, other]: [u32; WAYS], random: u16) -> Finding {
        let (way, least) = if other < one { (1, other) } else { (0, one) };
        // The switch looks up both ways at once, and takes the chance of this one.
        let table = self.chances.get(way);
        let chance = table.and_then(|table| parameters(state, *table, [weight.into(), least.into()], 2));
        let takes = chance.is_some_and(|[chance]| u32::from(random) <= chance);
        if takes { Finding::Takes { way } } else { Finding::Nothing }
    }

    /// What stands at a place of a way, as [`SwitchSliding::slot`] says it; `None` if there is none.
    pub fn slot(&self, state: &State, way: usize, place: usize) -> Option<SwitchSlot> {
        if place >= PLACES {
            return None;
        }
        let cell = |register, place: usize| state.register(register, place as u32);
        let [owner, _] = cell(self.owners.get(way)?.find.register(), place)?;
        let [flag, _] = cell(self.flags, way * PLACES + place)?;
        let mut pairs = [(0, 0); ARRAYS_OF_SLOT];
        for (array, pair) in pairs.iter_mut().take(ARRAYS).enumerate() {
            let [round, count] = cell(self.pairs.get(way)?.get(array)?.read.register(), place)?;
            // A place that was never counted in has epoch zero in each array.
            let epoch = if [round, count] == [0, 0] { 0 } else { round * ARRAYS as u32 + array as u32 };
            *pair = (epoch as u8, count as u8);
        }
        Some(SwitchSlot { owner: owner as u16, pairs, is_heavy: flag == 1 })
    }
}

/// Arrays that a slot of [`SwitchSliding`] can have.
const ARRAYS_OF_SLOT: usize = causeway_traffic::sliding::MOST_SUB_WINDOWS as usize + 1;

/// The parameters of the entry that matches; of `keys` the table has the first so many.
fn parameters<const N: usize>(
    state: &mut State,
    table: u32,
    keys: [u128; 2],
    number: usize,
) -> Option<[u32; N]> {
    let entry = state.apply_table(table, keys.get(..number)?, 0)?;
    let values: [u128; N] = entry.parameters.clone().try_into().ok()?;
    Some(values.map(|value| value as u32))
}

#[cfg(test)]
mod tests;
