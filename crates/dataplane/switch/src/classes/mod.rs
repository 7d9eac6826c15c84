//! Application classes on the switch: the registers and tables of `p4/blocks/application_classes.p4`, and what a packet does with them.
//!
//! A session that is measured has a *place*, which the controller chooses, and [`member`] entries for its rules. Windows are bits of the time
//! ([`WINDOW_MILLIS`]), so that all sessions have the same ones. [`entries`] are those of a model. A packet with which the class of its
//! session changes is an event. The class is that of [`Classifier`](causeway_traffic::classes::Classifier) with the same windows.
//!
//! The switch divides nothing: the mean size of packets is compared with a threshold by the sum of their differences, which is negative
//! exactly if the mean, rounded down, is at most the threshold. It measures no gaps.
//!
//! ```
//! use causeway_switch::classes::{Classes, entries, member};
//! use causeway_switch::driver::{Program, Update};
//! use causeway_switch::model::State;
//! use causeway_traffic::classes::{Feature, Model, Node, Tree};
//! use causeway_types::{Direction, Time};
//!
//! let split = Node::Split { feature: Feature::DownlinkPackets, threshold: 9, below: 1, above: 2 };
//! let tree = Tree::new(vec![split, Node::Leaf { class: 0 }, Node::Leaf { class: 1 }], 2)?;
//! let of = |window| Model::new(vec!["other".into(), "video".into()], window, 1, tree.clone());
//! let program = Program::default().with_application_classes();
//! // The windows of the switch are bits of the time.
//! assert!(entries(&program, &of(300)?).unwrap_err().to_string().contains("--window"));
//! let mut updates = entries(&program, &of(268)?)?;
//! updates.extend(member(&program, 1, Direction::Downlink, 77).map(Update::Insert));
//! let classes = Classes::of(&program)?.expect("the program has application classes");
//! let mut state = State::new(program);
//! state.write(Time::default(), &updates)?;
//! // A packet of rule 1 counts for the session at place 77, whose class it does not change.
//! let window = classes.window(&mut state, Time::from_secs(9));
//! assert_eq!(window, 33);
//! assert_eq!(classes.observe(&mut state, window, 1, 1200)?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use causeway_traffic::classes::{Feature, Model, Vector, blocks};
use causeway_types::{Direction, Span, Time};

use crate::driver::{
    Action, Entry, EntryKey, FieldMatch, Key, MatchKind, Parameter, Program, Register, Table, Update,
};
use crate::model::State;
use crate::model::register::{
    Change, Comparison, Condition, Modification, Operand, RegisterAction, RegisterError, Relation, Returned,
    Word,
};

/// Sessions that are measured at once.
pub const PLACES: usize = 16_384;

/// The most classes of a model, `other` included.
pub const MOST_CLASSES: usize = 8;

/// The lengths of windows, in milliseconds, rounded: 2^28, 2^29 and 2^30 ns. A model's must be one of them.
pub const WINDOW_MILLIS: [u32; 3] = [268, 537, 1074];

/// The least bit of the time that is one of the number of a window, for each length.
const WINDOW_BITS: [u32; 3] = [28, 29, 30];

/// Thresholds of each direction's mean size.
const SIZES: usize = 2;

/// Entries of `class_members`: rules.
const MEMBERS: usize = 4 * PLACES;
/// Rows of the ranges of a packet count; so their codes have eight bits.
const RANGES: usize = 128;
/// Cells with another class than 0.
const CELLS: usize = 2048;
/// Rows of `class_verdicts`.
const VERDICTS: usize = 2048;

const WINDOWS: &str = "class_windows";
pub(crate) const MEMBER: &str = "class_members";
const LIMITS: &str = "class_limits";
const RANGE: [&str; 2] = ["class_ranges_up", "class_ranges_down"];
const CELL: &str = "class_cells";
const VERDICT: &str = "class_verdicts";

/// The tables.
pub(crate) const TABLES: [&str; 7] = [WINDOWS, MEMBER, LIMITS, RANGE[0], RANGE[1], CELL, VERDICT];

/// The register with the class of each place.
const OF_SESSIONS: &str = "class_of_sessions";

/// Ids that no compiled program uses, as those of heavy hitters.
const TABLE_IDS: u32 = 0x02ff_ffc0;
const ACTION_IDS: u32 = 0x01ff_ffc0;
const REGISTER_IDS: u32 = 0x16ff_ffc0;

/// The registers: name, and width of a cell.
const REGISTERS: [(&str, u8); 11] = [
    ("class_closings", 16),
    ("class_last_windows", 16),
    ("class_counts_up", 16),
    ("class_counts_down", 16),
    ("class_sums_up_0", 32),
    ("class_sums_up_1", 32),
    ("class_sums_down_0", 32),
    ("class_sums_down_1", 32),
    ("class_history_even", 8),
    ("class_history_odd", 8),
    (OF_SESSIONS, 8),
];

/// Actions of [`WINDOWS`], [`MEMBER`] and so on: name, parameters, and their width.
const ACTIONS: [(&str, &[&str], u8); 10] = [
    ("window_268", &[], 0),
    ("window_537", &[], 0),
    ("window_1074", &[], 0),
    ("uplink_of", &["place"], 32),
    ("downlink_of", &["place"], 32),
    ("compare_with", &["up_0", "up_1", "down_0", "down_1"], 32),
    ("set_code_up", &["code"], 8),
    ("set_code_down", &["code"], 8),
    ("set_application_class", &["class"], 8),
    ("agree", &["class"], 8),
];

/// Why a model does not fit the switch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModelRefused {
    /// Its windows are not bits of the time.
    #[error(
        "the model has windows of {0} ms: the switch has windows of 268, 537 and 1074 ms \
         (train the model with --window and one of these)"
    )]
    Window(u128),
    /// Its tree compares gaps.
    #[error("the model compares {}, which the switch does not measure: train it without (--features)", .0.name())]
    Gap(Feature),
    /// A mean size has too many thresholds.
    #[error(
        "the model has {thresholds} thresholds of {}: the switch compares with {SIZES}", .feature.name()
    )]
    Sizes {
        /// The feature.
        feature: Feature,
        /// Its thresholds.
        thresholds: usize,
    },
    /// A window without packets of a direction would have a class.
    #[error("the model has no least number of packets: the switch needs at least 1 in each direction")]
    LeastPackets,
    /// It has too many classes.
    #[error("the model has {0} classes: the switch tells at most {MOST_CLASSES} apart")]
    Classes(usize),
    /// A table is too small for it.
    #[error("the model needs {rows} rows of {table}: there are {size}")]
    Rows {
        /// The table.
        table: &'static str,
        /// Rows needed.
        rows: usize,
        /// Rows of the table.
        size: usize,
    },
}

impl Program {
    /// The program, with the tables and registers of application classes.
    #[must_use]
    pub fn with_application_classes(mut self) -> Self {
        let key = |name: &str, width, kind| Key { name: name.to_owned(), width, kind };
        let exact = |name, width| key(name, width, MatchKind::Exact);
        let ternary = |name, width| vec![key(name, width, MatchKind::Ternary)];
        let cell = [("uplink_code", 8), ("downlink_code", 8)].into_iter();
        let signs = ["uplink_0", "uplink_1", "downlink_0", "downlink_1"].map(|name| (name, 1));
        let verdict = [("pause", 8), ("parity", 1), ("class", 8), ("even", 8), ("odd", 8)];
        // Of each table the places of its first action and of that behind its last one.
        let tables = [
            (WINDOWS, 1, ternary("window", 16), 0..3),
            (MEMBER, MEMBERS, vec![exact("rule", 32)], 3..5),
            (LIMITS, 1, ternary("is_counted", 1), 5..6),
            (RANGE[0], RANGES, ternary("packets", 16), 6..7),
            (RANGE[1], RANGES, ternary("packets", 16), 7..8),
            (CELL, CELLS, cell.chain(signs).map(|(name, width)| exact(name, width)).collect(), 8..9),
            (VERDICT, VERDICTS, verdict.map(|(name, width)| exact(name, width)).into(), 9..10),
        ];
        for (id, (name, parameters, width)) in (ACTION_IDS..).zip(ACTIONS) {
            let parameter = |name: &&str| Parameter { name: (*name).to_owned(), width };
            let parameters = parameters.iter().map(parameter).collect();
            self.actions.push(Action { id, name: name.to_owned(), parameters });
        }
        for (id, (name, size, keys, of_it)) in (TABLE_IDS..).zip(tables) {
            let actions = of_it.map(|action| ACTION_IDS + action).collect();
            self.tables.push(Table { id, name: name.to_owned(), size, keys, actions, is_const: false });
        }
        for (id, (name, first)) in (REGISTER_IDS..).zip(REGISTERS) {
            self.registers.push(Register { id, name: name.to_owned(), size: PLACES, first, second: None });
        }
        self
    }
}

/// An entry of a table, with the action of this place among the table's.
fn entry(
    program: &Program,
    table: &str,
    fields: Vec<FieldMatch>,
    action: &str,
    parameters: Vec<u128>,
) -> Option<Entry> {
    let table = program.table_named(table)?;
    let has_priority = fields.iter().any(|field| matches!(field, FieldMatch::Ternary { .. }));
    let named = |id: &&u32| program.actions.iter().any(|it| it.id == **id && it.name == action);
    let action = *table.actions.iter().find(named)?;
    let key = EntryKey { table: table.id, fields, priority: has_priority.into() };
    Some(Entry { key, action, parameters })
}

/// The entry by which packets of a rule count for the session at this place; `None` for a program without application classes.
pub fn member(program: &Program, rule: u32, direction: Direction, place: u32) -> Option<Entry> {
    let action = match direction {
        Direction::Uplink => "uplink_of",
        Direction::Downlink => "downlink_of",
    };
    entry(program, MEMBER, vec![FieldMatch::Exact(rule.into())], action, vec![place.into()])
}

/// The program finds application classes. Without one of the actions entries would be missing.
pub(crate) fn are_in(program: &Program) -> bool {
    let has_action = |name: &str| program.actions.iter().any(|action| action.name == name);
    TABLES.iter().all(|name| program.table_named(name).is_some())
        && ACTIONS.iter().all(|(name, ..)| has_action(name))
}

/// The register with the class of each place; `None`: the P4Info does not have it, as that of Tofino.
pub(crate) fn of_sessions(program: &Program) -> Option<&Register> {
    program.register_named(OF_SESSIONS)
}

/// The table of cells, without which no window has another class than 0.
pub(crate) fn cells_table(program: &Program) -> Option<u32> {
    program.table_named(CELL).map(|table| table.id)
}

/// Whether the switch can decide as a model does.
///
/// # Errors
/// [`ModelRefused`]: what it would need, and what to do.
pub fn check(model: &Model) -> Result<(), ModelRefused> {
    entries(&Program::default().with_application_classes(), model).map(drop)
}

/// The entries of a model; nothing for a program without application classes.
///
/// # Errors
/// [`ModelRefused`]: the switch cannot decide as the model does.
pub fn entries(program: &Program, model: &Model) -> Result<Vec<Update>, ModelRefused> {
    let tree = model.tree();
    let millis = model.window().as_nanos() / 1_000_000;
    let window = WINDOW_MILLIS.iter().position(|known| u128::from(*known) == millis);
    let window = window.ok_or(ModelRefused::Window(millis))?;
    let mut gaps = [Feature::UplinkGap, Feature::DownlinkGap].into_iter();
    if let Some(gap) = gaps.find(|gap| !tree.thresholds(*gap).is_empty()) {
        return Err(ModelRefused::Gap(gap));
    }
    if model.least_packets() == 0 {
        return Err(ModelRefused::LeastPackets);
    }
    if tree.classes() > MOST_CLASSES {
        return Err(ModelRefused::Classes(tree.classes()));
    }
    let sizes = [sizes(model, Feature::UplinkSize)?, sizes(model, Feature::DownlinkSize)?];
    let counts = [Feature::UplinkPackets, Feature::DownlinkPackets].map(|feature| ranges(model, feature));

    let action = ["window_268", "window_537", "window_1074"].get(window).copied().unwrap_or_default();
    let mut all = vec![entry(program, WINDOWS, vec![FieldMatch::ANY], action, vec![])];
    // A mean up to t is one below t + 1. A sum without a threshold is never negative.
    let part = |thresholds: &Vec<u32>, place| {
        thresholds.get(place).map_or(0, |threshold: &u32| (threshold + 1).wrapping_neg())
    };
    let parts = sizes.iter().flat_map(|of_way| (0..SIZES).map(move |place| part(of_way, place).into()));
    all.push(entry(program, LIMITS, vec![FieldMatch::ANY], "compare_with", parts.collect()));
    let actions = ["set_code_up", "set_code_down"];
    for ((table, ranges), action) in RANGE.into_iter().zip(&counts).zip(actions) {
        let codes = (1..).zip(ranges);
        let rows = codes.flat_map(|(code, (begin, end))| blocks(*begin, *end).map(move |it| (code, it)));
        let rows: Vec<(u128, (u32, u32))> = rows.collect();
        fits(program, table, rows.len(), RANGES)?;
        all.extend(rows.into_iter().map(|(code, (value, any))| {
            let mask = u128::from(Feature::UplinkPackets.most() >> any << any);
            let field = FieldMatch::Ternary { value: value.into(), mask };
            entry(program, table, vec![field], action, vec![code])
        }));
    }
    let cells = cells(model, &counts, &sizes);
    fits(program, CELL, cells.len(), CELLS)?;
    all.extend(cells.into_iter().map(|(keys, class)| {
        let fields = keys.into_iter().map(FieldMatch::Exact).collect();
        entry(program, CELL, fields, "set_application_class", vec![class.into()])
    }));
    let verdicts = verdicts(tree.classes() as u8);
    fits(program, VERDICT, verdicts.len(), VERDICTS)?;
    all.extend(verdicts.into_iter().map(|(keys, class)| {
        let fields = keys.map(|key| FieldMatch::Exact(key.into())).into();
        entry(program, VERDICT, fields, "agree", vec![class.into()])
    }));
    Ok(all.into_iter().flatten().map(Update::Insert).collect())
}

/// The table of the program, which may be compiled with another size, has space for these rows, of which there are `most` at most.
fn fits(program: &Program, table: &'static str, rows: usize, most: usize) -> Result<(), ModelRefused> {
    let size = program.table_named(table).map_or(most, |table| table.size.min(most));
    if rows > size { Err(ModelRefused::Rows { table, rows, size }) } else { Ok(()) }
}

/// The thresholds of a mean size.
fn sizes(model: &Model, feature: Feature) -> Result<Vec<u32>, ModelRefused> {
    let all = model.tree().thresholds(feature);
    if all.len() > SIZES {
        return Err(ModelRefused::Sizes { feature, thresholds: all.len() });
    }
    Ok(all)
}

/// The ranges of a packet count, from the least on that says anything.
fn ranges(model: &Model, feature: Feature) -> Vec<(u32, u32)> {
    let mut begin = u32::from(model.least_packets());
    let mut ends = model.tree().thresholds(feature);
    ends.retain(|end| *end >= begin);
    ends.push(feature.most());
    let range = |end: u32| {
        let range = (begin, end);
        begin = end + 1;
        range
    };
    ends.into_iter().map(range).collect()
}

/// The cells with another class than 0: the keys of [`CELL`], and the class.
fn cells(model: &Model, counts: &[Vec<(u32, u32)>; 2], sizes: &[Vec<u32>; 2]) -> Vec<(Vec<u128>, u8)> {
    let mut cells = Vec::new();
    let [up, down] = counts;
    // A mean in each range: its upper end.
    let means = |way: usize, feature: Feature| {
        sizes.get(way).into_iter().flatten().copied().chain([feature.most()]).collect::<Vec<u32>>()
    };
    let [up_sizes, down_sizes] = [means(0, Feature::UplinkSize), means(1, Feature::DownlinkSize)];
    for (up_code, (_, up_packets)) in (1..).zip(up) {
        for (down_code, (_, down_packets)) in (1..).zip(down) {
            for up_size in &up_sizes {
                for down_size in &down_sizes {
                    let vector = Vector::new([*up_packets, *down_packets, *up_size, *down_size, 0, 0]);
                    let class = model.tree().classify(&vector);
                    if class == 0 {
                        continue;
                    }
                    let signs = [(0, up_size), (1, down_size)].into_iter().flat_map(|(way, mean)| {
                        let thresholds: &[u32] = sizes.get(way).map_or(&[], Vec::as_slice);
                        let sign = move |place| thresholds.get(place).is_some_and(|it| mean <= it);
                        (0..SIZES).map(move |place| u128::from(sign(place)))
                    });
                    cells.push(([up_code, down_code].into_iter().chain(signs).collect(), class));
                }
            }
        }
    }
    cells
}

/// The keys of [`VERDICT`] and the class that windows agree about, for all that can be.
fn verdicts(classes: u8) -> Vec<([u8; 5], u8)> {
    let mut rows = Vec::new();
    let all = move || 0..classes;
    for parity in [0, 1] {
        for window in all() {
            rows.push(([3, parity, window, 0, 0], 0));
            for (last, second) in all().flat_map(|last| all().map(move |second| (last, second))) {
                // The last window is of the array that the one that ended is not of. It ended one or two windows before that of now.
                let arrays = |is_even: bool| if is_even { [second, last] } else { [last, second] };
                let mut row = |pause, [even, odd]: [u8; 2], class| {
                    rows.push(([pause, parity, window, even, odd], class));
                };
                let one = agreed(window, last, second);
                if let Some(class) = one {
                    row(1, arrays(parity == 1), class);
                }
                if let Some(class) = agreed(0, window, last).or(one) {
                    row(2, arrays(parity == 0), class);
                }
            }
        }
    }
    rows
}

/// The class of two of three windows, if there is one.
fn agreed(window: u8, last: u8, second: u8) -> Option<u8> {
    if window == last || window == second { Some(window) } else { (last == second).then_some(last) }
}

/// What packets do with the tables and registers.
#[derive(Clone, Debug)]
pub struct Classes {
    windows: u32,
    /// Its actions in the order of [`WINDOW_BITS`].
    window_actions: [u32; 3],
    members: u32,
    uplink_of: u32,
    limits: u32,
    ranges: [u32; 2],
    cells: u32,
    verdicts: u32,
    close: RegisterAction,
    exchange: RegisterAction,
    /// By direction.
    counts: [Sums; 2],
    sums: [[Sums; SIZES]; 2],
    /// Of even and of odd windows.
    history: [History; 2],
    change: RegisterAction,
}

/// The actions of a register that sums over a window.
#[derive(Clone, Debug)]
struct Sums {
    add: RegisterAction,
    begin: RegisterAction,
    end: RegisterAction,
}

/// The actions of a register with classes of windows.
#[derive(Clone, Debug)]
struct History {
    put: RegisterAction,
    look: RegisterAction,
    put_none: RegisterAction,
    clear: RegisterAction,
}

const VALUE: Operand = Operand::Input(0);
const NONE: Operand = Operand::Constant(0);

const fn set(to: Operand) -> [Modification; 1] {
    changed(Change::Set(to))
}

const fn changed(change: Change) -> [Modification; 1] {
    [Modification { word: Word::First, when: Condition::Always, change }]
}

/// What the cell was.
const BEFORE: Returned = Returned::Before(Word::First);

/// Sets the cell, and says whether it was something else.
fn exchange_if_other(register: &Register) -> Result<RegisterAction, RegisterError> {
    let same = [Comparison { word: Word::First, relation: Relation::Equal, with: VALUE }];
    let returned = Returned::Whether(Condition::Unless(Word::First));
    RegisterAction::new(register, &same, &set(VALUE), returned)
}

impl Sums {
    fn of(register: &Register, add: Change, begin: Operand) -> Result<Self, RegisterError> {
        Ok(Self {
            add: RegisterAction::new(register, &[], &changed(add), Returned::After(Word::First))?,
            begin: RegisterAction::new(register, &[], &set(begin), BEFORE)?,
            end: RegisterAction::new(register, &[], &set(NONE), BEFORE)?,
        })
    }

    /// A packet of the register's direction, or of the other one; the sum of the window that has ended.
    fn access(
        &self,
        state: &mut State,
        place: u32,
        is_own: bool,
        is_closed: bool,
        part: u32,
    ) -> Result<u32, RegisterError> {
        let action = match (is_own, is_closed) {
            (true, false) => &self.add,
            (true, true) => &self.begin,
            (false, true) => &self.end,
            (false, false) => return Ok(0),
        };
        state.access(action, place, [part, 0])
    }
}

impl History {
    fn of(register: &Register) -> Result<Self, RegisterError> {
        Ok(Self {
            put: RegisterAction::new(register, &[], &set(VALUE), BEFORE)?,
            look: RegisterAction::new(register, &[], &[], BEFORE)?,
            put_none: RegisterAction::new(register, &[], &set(NONE), BEFORE)?,
            clear: RegisterAction::new(register, &[], &set(NONE), Returned::After(Word::First))?,
        })
    }
}

/// The window of a time, of a length in [`WINDOW_MILLIS`] by its place there.
pub const fn window_of(now: Time, length: usize) -> u16 {
    (now.as_nanos() >> WINDOW_BITS[length]) as u16
}

/// The length of windows as it is on the switch.
pub const fn window_length(length: usize) -> Span {
    Span::from_nanos(1 << WINDOW_BITS[length])
}

impl Classes {
    /// What packets do with a program's tables and registers; `None`: it has no application classes.
    ///
    /// # Errors
    /// The registers are not those of application classes.
    pub fn of(program: &Program) -> Result<Option<Self>, RegisterError> {
        Self::find(program).transpose()
    }

    fn find(program: &Program) -> Option<Result<Self, RegisterError>> {
        let mut ids = [0; 7];
        for (id, name) in ids.iter_mut().zip(TABLES) {
            *id = program.table_named(name)?.id;
        }
        let mut registers = Vec::new();
        for (name, _) in REGISTERS {
            registers.push(program.register_named(name)?);
        }
        let action = |name: &str| Some(program.actions.iter().find(|it| it.name == name)?.id);
        let window_actions = [action("window_268")?, action("window_537")?, action("window_1074")?];
        let registers: [&Register; 11] = registers.try_into().ok()?;
        Some(Self::with(program, ids, window_actions, action("uplink_of")?, registers))
    }

    fn with(
        program: &Program,
        [windows, members, limits, ranges_up, ranges_down, cells, verdicts]: [u32; 7],
        window_actions: [u32; 3],
        uplink_of: u32,
        [closings, last, up, down, up_0, up_1, down_0, down_1, even, odd, of_sessions]: [&Register; 11],
    ) -> Result<Self, RegisterError> {
        let one = Operand::Constant(1);
        let count = |register| Sums::of(register, Change::AddSaturating(one), one);
        let sum = |register| Sums::of(register, Change::AddSaturatingSigned(VALUE), VALUE);
        let classes = Self {
            windows,
            window_actions,
            members,
            uplink_of,
            limits,
            ranges: [ranges_up, ranges_down],
            cells,
            verdicts,
            close: exchange_if_other(closings)?,
            exchange: RegisterAction::new(last, &[], &set(VALUE), BEFORE)?,
            counts: [count(up)?, count(down)?],
            sums: [[sum(up_0)?, sum(up_1)?], [sum(down_0)?, sum(down_1)?]],
            history: [History::of(even)?, History::of(odd)?],
            change: exchange_if_other(of_sessions)?,
        };
        RegisterAction::check_actions(&program.registers, &classes.actions())?;
        Ok(classes)
    }

    fn actions(&self) -> Vec<RegisterAction> {
        let sums = self.counts.iter().chain(self.sums.iter().flatten());
        let sums = sums.flat_map(|it| [&it.add, &it.begin, &it.end]);
        let history = self.history.iter().flat_map(|it| [&it.put, &it.look, &it.put_none, &it.clear]);
        sums.chain(history).chain([&self.close, &self.exchange, &self.change]).cloned().collect()
    }

    /// The number of the window of now, as packets have it from ingress; zero, and for ever, without a model.
    pub fn window(&self, state: &mut State, now: Time) -> u16 {
        let action = state.apply_table(self.windows, &[0], 0).map(|entry| entry.action);
        let length = self.window_actions.iter().position(|known| Some(*known) == action);
        length.map_or(0, |length| window_of(now, length))
    }

    /// A packet of a rule that is forwarded, with the octets of its IP packet, on its way through egress: the class of its session, if it is another one
    /// with this packet.
    ///
    /// # Errors
    /// An access that no switch can make; the packet is to be dropped.
    pub fn observe(
        &self,
        state: &mut State,
        window: u16,
        rule: u32,
        octets: u16,
    ) -> Result<Option<u8>, RegisterError> {
        let Some(entry) = state.apply_table(self.members, &[rule.into()], 0) else { return Ok(None) };
        let is_uplink = entry.action == self.uplink_of;
        let place = entry.parameters.first().map_or(0, |place| *place as u32);
        let limits = state.apply_table(self.limits, &[1], 0).map(|entry| entry.parameters.clone());
        let mut parts =
            limits.into_iter().flatten().map(|part| (u32::from(octets) << 4).wrapping_add(part as u32));

        let is_closed = state.access(&self.close, place, [window.into(), 0])? == 1;
        let last = state.access(&self.exchange, place, [window.into(), 0])?;
        let mut codes = [0; 2];
        let mut signs = [0; 2 * SIZES];
        let mut sign = signs.iter_mut();
        for (way, (counts, sums)) in self.counts.iter().zip(&self.sums).enumerate() {
            let is_own = is_uplink == (way == 0);
            let count = counts.access(state, place, is_own, is_closed, 0)?;
            for sums in sums {
                let part = parts.next().unwrap_or_default();
                let sum = sums.access(state, place, is_own, is_closed, part)?;
                sign.by_ref().take(1).for_each(|it| *it = u128::from(sum >> 31));
            }
            if let (Some(code), Some(table)) = (codes.get_mut(way), self.ranges.get(way)) {
                *code = parameter(state, *table, &[count.into()]).unwrap_or(0);
            }
        }
        if !is_closed {
            return Ok(None);
        }
        let keys: Vec<u128> = codes.into_iter().chain(signs).collect();
        let class = parameter(state, self.cells, &keys).unwrap_or(0);
        let since = window.wrapping_sub(last as u16);
        self.decide(state, place, since, window, class)
    }

    /// The class of a window that ended so many windows ago: the class of the session, if it is another one then.
    fn decide(
        &self,
        state: &mut State,
        place: u32,
        since: u16,
        window: u16,
        class: u128,
    ) -> Result<Option<u8>, RegisterError> {
        let mut history = [0; 2];
        for (array, (actions, found)) in self.history.iter().zip(&mut history).enumerate() {
            let is_of_ended = usize::from(window.wrapping_sub(since) & 1) == array;
            let action = match (since, is_of_ended) {
                (1 | 2, true) => &actions.put,
                (1, false) => &actions.look,
                (2, false) => &actions.put_none,
                _ => &actions.clear,
            };
            *found = state.access(action, place, [class as u32, 0])?;
        }
        let [even, odd] = history.map(u128::from);
        let keys = [since.min(3).into(), u128::from(window & 1), class, even, odd];
        let Some(now) = parameter(state, self.verdicts, &keys) else { return Ok(None) };
        let is_other = state.access(&self.change, place, [now as u32, 0])? == 1;
        Ok(is_other.then_some(now as u8))
    }
}

/// The parameter of the entry that matches.
fn parameter(state: &mut State, table: u32, keys: &[u128]) -> Option<u128> {
    state.apply_table(table, keys, 0)?.parameters.first().copied()
}

#[cfg(test)]
mod tests;
