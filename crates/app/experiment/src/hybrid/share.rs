//! Placements of rules: the share on the switch, beside the same number of rules chosen with hindsight.

use causeway_hybrid::{AsDetected, ByRate, Config, Detector, Placement, Rule, Thresholds};
use causeway_show::{Cell, Column, Progress, Table};
use causeway_traffic::{FlowKeys, HkIpg, HkIpgConfig, Key};
use causeway_types::{Span, Time};

use super::Size;
use super::simulation::{Conditions, Found, Unit, run as simulate};
use crate::ExperimentError;
use crate::cli::Common;
use crate::hardware::hybrid as hardware;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;

/// Rule changes of the driver in a second.
const CHANGES: u32 = hardware::CHANGES.value as u32;
/// How long a packet stays in software of another host.
pub(super) const STAY: Span = hardware::STAY.span();
/// Slots of the thesis' detector at 144 KB.
const SLOTS: usize = 16_384;

/// How rules are placed.
#[derive(Clone, Copy, Debug)]
enum Policy {
    /// By rate, at this many kbit/s.
    Rate { up: u64, has_hysteresis: bool, is_strict: bool },
    /// By the detector of the thesis, as it is described.
    Thesis { megabits: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    unit: Unit,
    policy: Policy,
}

const fn by_rate(name: &'static str, unit: Unit, up: u64) -> Row {
    Row { name, unit, policy: Policy::Rate { up, has_hysteresis: true, is_strict: true } }
}

const ROWS: [Row; 9] = [
    Row { name: "thesis as written, 2 Mbit/s", unit: Unit::Flow, policy: Policy::Thesis { megabits: 2 } },
    Row { name: "thesis as written, 1 Mbit/s", unit: Unit::Flow, policy: Policy::Thesis { megabits: 1 } },
    by_rate("by rate, 1 Mbit/s", Unit::Flow, 1000),
    Row {
        name: "by rate, 1 Mbit/s, no hysteresis",
        unit: Unit::Flow,
        policy: Policy::Rate { up: 1000, has_hysteresis: false, is_strict: true },
    },
    by_rate("by rate, 0.25 Mbit/s", Unit::Flow, 250),
    by_rate("by rate, 0.1 Mbit/s", Unit::Flow, 100),
    Row {
        name: "by rate, 0.1 Mbit/s, not strict",
        unit: Unit::Flow,
        policy: Policy::Rate { up: 100, has_hysteresis: true, is_strict: false },
    },
    by_rate("by rate, 1 Mbit/s, UEs", Unit::Ue, 1000),
    by_rate("by rate, 0.1 Mbit/s, UEs", Unit::Ue, 100),
];

/// The row by which goals are judged: the one for the throughput, at most 20,000 rules.
const FAST: &str = "by rate, 0.1 Mbit/s, not strict";

/// The detector of the thesis.
#[derive(Debug)]
pub(super) struct ThesisDetector {
    detector: HkIpg,
    keys: FlowKeys,
}

impl ThesisDetector {
    /// With fewer slots at a smaller size.
    pub(super) fn new(megabits: u32, size: &Size) -> Result<Self, ExperimentError> {
        let slots = (SLOTS as f64 * size.scale) as usize;
        let config = HkIpgConfig { threshold: 125 * megabits, ..HkIpgConfig::with_slots(slots) };
        let detector = HkIpg::new(&config)?;
        Ok(Self { detector, keys: FlowKeys::with_seed(1) })
    }
}

impl Detector for ThesisDetector {
    fn is_heavy(&mut self, now: Time, rule: Rule, _: u64) -> bool {
        let key: Key = self.keys.rule_pair(rule.session.0, 0);
        self.detector.observe(key, now).is_report()
    }
}

pub(super) fn config(is_strict: bool, gap: Span) -> Config {
    Config { changes_per_second: CHANGES, longest_stay: gap, strict: is_strict, ..Config::default() }
}

pub(super) fn conditions(unit: Unit, config: Config, size: &Size) -> Conditions {
    Conditions {
        unit,
        config,
        stay: STAY,
        change: Span::from_secs(1) / CHANGES,
        reading: Span::from_millis(100),
        sees_packets: false,
        seconds: size.seconds,
        warm_up: size.seconds / 4,
    }
}

fn measure(row: &Row, size: &Size, progress: &mut Progress) -> Result<Vec<Found>, ExperimentError> {
    let mut found = Vec::new();
    for seed in &size.seeds {
        progress.stage(format!("{}, seed {seed}", row.name));
        let (mut placement, config): (Box<dyn Placement>, Config) = match row.policy {
            Policy::Rate { up, has_hysteresis, is_strict } => {
                let mut thresholds = Thresholds::at(1000 * up);
                if !has_hysteresis {
                    (thresholds.down, thresholds.hold) = (thresholds.up, Span::ZERO);
                }
                (Box::new(ByRate::new(thresholds)), config(is_strict, STAY))
            }
            Policy::Thesis { megabits } => {
                let detector = ThesisDetector::new(megabits, size)?;
                // It has no armed entries.
                (Box::new(AsDetected::new(detector)), config(true, Span::ZERO))
            }
        };
        let sees_packets = matches!(row.policy, Policy::Thesis { .. });
        let conditions = Conditions { sees_packets, ..conditions(row.unit, config, size) };
        let seconds = size.seconds.into();
        let placement = &mut *placement;
        found.push(simulate(&size.profile(), *seed, &conditions, placement, |second| {
            progress.set_progress(second.into(), seconds);
        }));
    }
    Ok(found)
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or the rows cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let size = Size::of(common);
    let selected = common.rows_by_name(&ROWS, |row| row.name)?;
    let measured =
        rows.measure(&selected, |row| measure(row, &size, progress), |measured| table(&selected, measured))?;
    Ok(Outcome {
        name: "hybrid-share",
        title: "Rules on a switch in front of software: placements (thesis, chapter 3)".into(),
        conditions: vec![
            ("trace", size.in_words()),
            ("seeds", size.seeds_in_words()),
            ("rules", "flows, or UEs: all packets for one of 20,000 hosts; 20,000 at most on the switch".into()),
            ("driver", format!("{CHANGES} rule changes a second, one after the other; counters are read each 100 ms")),
            ("software", format!("each packet stays {} µs (thesis, figure 14b)", STAY.as_micros())),
            ("counted", format!("after {} s", size.seconds / 4)),
        ],
        table: table(&selected, &measured),
        goals: goals(&selected, &measured),
        notes: vec![
            "The oracle holds as many rules as the placement did on average in each second, and knows which will have most packets in that second. \
             The factor is packets over those left to the software: how many times as many the same cores carry, if they are what limits."
                .into(),
            "By octets, by the second before: the packets that as many rules would have had, chosen by their octets in that second or in the one before. \
             While armed: packets whose rule had an entry, left to the software for want of a gap."
                .into(),
            "Thesis as written: each report of the detector moves a rule to the switch, and the next packet that is not reported moves it back \
             (section 3.4); its tables give no budget, so the driver's is used. It has no armed entries, so packets overtake."
                .into(),
            "Nothing is lost or doubled by construction here; the property tests of causeway-hybrid check that of the data plane.".into(),
            crate::heavy::GENERATED.into(),
        ],
        details: Vec::new(),
        charts: Vec::new(),
    })
}

pub(super) fn mean(found: &[Found], of: impl Fn(&Found) -> f64) -> f64 {
    found.iter().map(of).sum::<f64>() / found.len().max(1) as f64
}

fn table(rows: &[Row], measured: &[Vec<Found>]) -> Table {
    let mut table = Table::new(vec![
        Column::new("placement"),
        Column::of("packets on the switch", "%"),
        Column::of("least - most", "%"),
        Column::of("octets", "%"),
        Column::of("of the oracle", "%"),
        Column::of("by octets", "% of the oracle"),
        Column::of("by the second before", "% of the oracle"),
        Column::of("while armed", "% of packets"),
        Column::of("factor", "×"),
        Column::of("rules", "mean"),
        Column::of("rules", "most"),
        Column::of("changes", "1/s"),
        Column::of("again within 5 s", "%"),
        Column::of("to hardware", "p50 ms"),
        Column::of("to hardware", "p99 ms"),
        Column::of("overtaken", "packets"),
        Column::of("gave up", "rules"),
    ]);
    for (row, found) in rows.iter().zip(measured) {
        let shares = || found.iter().map(|found| found.share() * 100.0);
        let (least, most) = (shares().fold(100.0, f64::min), shares().fold(0.0, f64::max));
        let mean = |of: &dyn Fn(&Found) -> f64| mean(found, of);
        table.row([
            Cell::Text(row.name.into()),
            Cell::Number(mean(&|it| it.share() * 100.0), 2),
            Cell::Text(format!("{least:.2} - {most:.2}")),
            Cell::Number(mean(&|it| it.octet_share() * 100.0), 1),
            Cell::Number(mean(&|it| it.of_oracle() * 100.0), 1),
            Cell::Number(mean(&|it| it.part_of_oracle(it.by_octets) * 100.0), 1),
            Cell::Number(mean(&|it| it.part_of_oracle(it.by_second_before) * 100.0), 1),
            Cell::Number(mean(&|it| it.while_armed as f64 * 100.0 / it.packets.max(1) as f64), 2),
            Cell::Number(mean(&Found::factor), 2),
            Cell::Number(mean(&|it| it.mean_rules), 0),
            Cell::Number(mean(&|it| it.most_rules as f64), 0),
            Cell::Number(mean(&Found::changes_a_second), 0),
            Cell::Number(mean(&Found::again_percent), 2),
            Cell::Number(mean(&|it| it.wait_millis(50.0)), 1),
            Cell::Number(mean(&|it| it.wait_millis(99.0)), 1),
            Cell::Number(mean(&|it| it.overtaken as f64), 0),
            Cell::Number(mean(&|it| it.gave_up as f64), 0),
        ]);
    }
    table
}

fn goals(rows: &[Row], measured: &[Vec<Found>]) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (row, found) in rows.iter().zip(measured) {
        let Policy::Rate { has_hysteresis: true, is_strict, .. } = row.policy else { continue };
        let name = row.name;
        let least = |of: &dyn Fn(&Found) -> f64| found.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: &dyn Fn(&Found) -> f64| found.iter().map(of).fold(0.0, f64::max);
        goals.push(Goal::at_least(
            &format!("share of the oracle's, {name}"),
            80.0,
            least(&|it| it.of_oracle() * 100.0),
            "%",
        ));
        goals.push(Goal::at_most(
            &format!("again within 5 s, {name}"),
            1.0,
            most(&Found::again_percent),
            "%",
        ));
        if is_strict {
            goals.push(Goal::at_most(
                &format!("overtaken, {name}"),
                0.0,
                most(&|it| it.overtaken as f64),
                "packets",
            ));
        }
        if name.contains("1 Mbit/s") && row.unit == Unit::Flow && is_strict {
            goals.push(Goal::at_most(
                &format!("to hardware p50, {name}"),
                50.0,
                most(&|it| it.wait_millis(50.0)),
                "ms",
            ));
            goals.push(Goal::at_most(
                &format!("to hardware p99, {name}"),
                300.0,
                most(&|it| it.wait_millis(99.0)),
                "ms",
            ));
        }
        if name == FAST {
            goals.push(Goal::at_least(&format!("factor, {name}"), 3.5, least(&Found::factor), "times"));
        }
    }
    goals
}
