//! Figure 41: our tree beside the released one on the same flows and windows, and the time of decisions.

use std::collections::HashMap;

use causeway_show::{Cell, Chart, Column, Curve, Progress, Table};
use causeway_traffic::classes::{
    Classifier, Closed, Model, PairClass, PairWindow, TableLimits, Tree, Verdict,
};
use causeway_types::{Direction, Span, Time};

use super::dataset::{Capture, Dataset};
use super::generator::{GAMES, Game, Packet as GamePacket};
use super::plane::Plane;
use super::{GAMING, SEEDS, SYNTHETIC, WITHOUT_DATA, models, released, seconds};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::spread::Spread;
use crate::training::{Ends, Orientation, Packet, TrainingError};

/// A tree for windows of one length.
#[derive(Clone, Debug)]
struct Contestant {
    name: &'static str,
    window: u32,
    least_packets: u16,
    tree: Tree,
}

/// What a tree said of windows, and verdicts of flows.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    windows: u64,
    gaming_windows: u64,
    flows: u64,
    gaming_flows: u64,
}

/// A capture of a game: its windows are no false ones.
const GAME_CAPTURES: [&str; 1] = ["geforcenow"];

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when data or results cannot be read or written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let models = models()?;
    let contestants = contestants(&models)?;
    progress.stage("reading captures");
    let data = Dataset::of(common);
    let captures = data.as_ref().map(|data| data.captures(progress)).transpose()?.unwrap_or_default();
    let is_game = |name: &str| GAME_CAPTURES.contains(&name);
    let measured: Vec<(Contestant, Said, Said)> = if captures.is_empty() {
        Vec::new()
    } else {
        rows.measure(
            &contestants,
            |contestant| {
                progress.stage(format!("captures: {}, {}", contestant.name, seconds(contestant.window)));
                let (mut others, mut games) = (Said::default(), Said::default());
                for Capture { name, packets } in &captures {
                    let said = if is_game(name) { &mut games } else { &mut others };
                    packets.iter().for_each(|packets| said.observe(packets, contestant));
                }
                Ok((contestant.clone(), others, games))
            },
            table,
        )?
    };
    progress.stage("time of decisions");
    let length = Span::from_secs(if common.quick { 10 } else { 60 });
    let seeds: Vec<u64> = (0..SEEDS).map(|place| common.seed.wrapping_add(place)).collect();
    let times = times(&models, &seeds, length)?;

    let mut goals: Vec<Goal> = measured
        .iter()
        .filter(|(contestant, ..)| contestant.name == OURS)
        .map(|(contestant, others, _)| {
            let goal = format!("windows of captures taken for gaming, {}", seconds(contestant.window));
            Goal::at_most(&goal, 0.3, others.percent(), "%")
        })
        .collect();
    let slowest = |of: fn(&Decided) -> &[f64]| {
        times.iter().map(|time| time.spread(of, 99.0).most()).fold(0.0, f64::max)
    };
    let ways = [
        ("by the next packet", slowest(|decided| &decided.by_packet)),
        ("by the fast path", slowest(|decided| &decided.by_plane)),
    ];
    for (by, found) in ways {
        let goal =
            format!("decision after the end of a window, {by}, 99 % of windows, each game, length and seed");
        goals.push(Goal::at_most(&goal, 5.0, found, "ms, modelled"));
    }
    let slowest = |of: fn(&Decided) -> f64| {
        let short = times.iter().filter(|time| time.window == 300);
        short.map(|time| time.verdicts(of).most()).fold(0.0, f64::max)
    };
    let ways = [
        ("by the next packet", slowest(|decided| decided.verdict)),
        ("by the fast path", slowest(|decided| decided.verdict_of_plane)),
    ];
    for (by, found) in ways {
        let goal = format!("verdict after the first packet, {by}, windows of 0.3 s, each seed");
        goals.push(Goal::at_most(&goal, 1.0, found, "s, modelled"));
    }

    let mut notes = vec![
        "The thesis says 0.03 s for a decision and seconds for a classifier behind the switch (figure 41b). On a switch a window ends with the first packet \
         after it, in either direction, and is decided with that packet: the time is that of waiting for it, and is bounded by the longest gap of frames. \
         The fast path ends it by a timer. It runs here with a session that asks, the packets, and a thread that wakes for a timer at the next whole \
         millisecond."
            .into(),
        "Released with the thesis: its tree on exact means, with its count of packets scaled to the window. Its own filters would add the errors of \
         gaming-fig40."
            .into(),
        SYNTHETIC.into(),
    ];
    let mut details = vec![("Time of decisions of synthetic flows".into(), time_table(&times))];
    if let Some(data) = &data {
        progress.stage("augmented reality");
        details.push((
            "Flows of augmented reality, averages of whole flows".into(),
            augmented(data, &contestants, progress)?,
        ));
        let skipped: Vec<&str> = captures
            .iter()
            .filter(|capture| capture.packets.is_none())
            .map(|capture| capture.name.as_str())
            .collect();
        if !skipped.is_empty() {
            notes.push(format!("Captures without a link of IP packets, left out: {}.", skipped.join(", ")));
        }
    } else {
        notes.push(WITHOUT_DATA.into());
    }
    Ok(Outcome {
        name: "gaming-fig41",
        title: "Our tree beside the released one, and the time of decisions (thesis, figure 41)".into(),
        conditions: vec![
            (
                "captures",
                format!(
                    "{} of other traffic, {} of games",
                    captures.len() - games(&captures),
                    games(&captures)
                ),
            ),
            ("windows", "at least five packets a second in each direction; a flow is a 5-tuple".into()),
            ("verdict", "two of the last three windows".into()),
            (
                "seeds",
                format!(
                    "{} to {}, {} s of each game",
                    common.seed,
                    common.seed.wrapping_add(SEEDS - 1),
                    length.as_secs()
                ),
            ),
        ],
        table: table(&measured),
        goals,
        notes,
        details,
        charts: vec![("delay", chart(&times).into())],
    })
}

const OURS: &str = "Causeway";
const RELEASED: &str = "released with the thesis";

fn games(captures: &[Capture]) -> usize {
    captures.iter().filter(|capture| GAME_CAPTURES.contains(&capture.name.as_str())).count()
}

fn contestants(models: &[(u32, Model)]) -> Result<Vec<Contestant>, ExperimentError> {
    let mut all = Vec::new();
    for (window, model) in models {
        let least_packets = model.least_packets();
        let released = released::tree(*window).map_err(TrainingError::tree)?;
        for (name, tree) in [(OURS, model.tree().clone()), (RELEASED, released)] {
            all.push(Contestant { name, window: *window, least_packets, tree });
        }
    }
    Ok(all)
}

impl Contestant {
    fn class(&self, closed: &Closed) -> u8 {
        if closed.vector.has_packets(self.least_packets) { self.tree.classify(&closed.vector) } else { 0 }
    }
}

impl Said {
    fn percent(&self) -> f64 {
        self.gaming_windows as f64 * 100.0 / self.windows.max(1) as f64
    }

    fn observe(&mut self, packets: &[Packet], contestant: &Contestant) {
        let orientation = Orientation::default();
        let length = Span::from_millis(contestant.window.into());
        let mut flows: HashMap<Ends, (PairWindow, Verdict, bool, bool)> = HashMap::new();
        for packet in packets {
            let is_uplink = orientation.is_uplink(&packet.ends);
            let (direction, ends) = if is_uplink {
                (Direction::Uplink, packet.ends)
            } else {
                (Direction::Downlink, packet.ends.reversed())
            };
            let (window, verdict, is_counted, is_gaming) = flows.entry(ends).or_default();
            let Some(closed) = window.observe(direction, packet.octets, packet.time, length) else {
                continue;
            };
            let class = contestant.class(&closed);
            if closed.vector.has_packets(contestant.least_packets) {
                self.windows += 1;
                self.gaming_windows += u64::from(class == GAMING);
                *is_counted = true;
            }
            verdict.observe(class);
            *is_gaming |= verdict.class() == GAMING;
            (0..closed.empty.min(3)).for_each(|_| {
                verdict.observe(0);
            });
        }
        self.flows += flows.values().filter(|(_, _, is_counted, _)| *is_counted).count() as u64;
        self.gaming_flows += flows.values().filter(|(.., is_gaming)| *is_gaming).count() as u64;
    }
}

fn table(measured: &[(Contestant, Said, Said)]) -> Table {
    let mut table = Table::new(vec![
        Column::new("traffic"),
        Column::of("window", "s"),
        Column::new("tree"),
        Column::new("windows"),
        Column::new("taken for gaming"),
        Column::of("taken for gaming", "%"),
        Column::new("flows"),
        Column::new("verdict gaming"),
    ]);
    for (traffic, of) in [("other", true), ("GeForce Now", false)] {
        for (contestant, others, games) in measured {
            let said = if of { others } else { games };
            table.row([
                traffic.into(),
                Cell::Number(f64::from(contestant.window) / 1e3, 1),
                contestant.name.into(),
                Cell::Count(said.windows),
                Cell::Count(said.gaming_windows),
                Cell::Number(said.percent(), 2),
                Cell::Count(said.flows),
                Cell::Count(said.gaming_flows),
            ]);
        }
    }
    table
}

/// Flows of augmented reality that a tree takes for gaming.
fn augmented(
    data: &Dataset,
    contestants: &[Contestant],
    progress: &mut Progress,
) -> Result<Table, ExperimentError> {
    let flows = data.augmented_reality(progress)?;
    let mut table = Table::new(["tree", "flows", "taken for gaming"].map(Column::new).into());
    for contestant in contestants.iter().filter(|contestant| contestant.window == 1000) {
        let gaming =
            flows.rows.iter().filter(|row| contestant.tree.classify(&row.sample.vector) == GAMING).count();
        table.row([contestant.name.into(), Cell::Count(flows.rows.len() as u64), Cell::Count(gaming as u64)]);
    }
    Ok(table)
}

/// When the windows of a game are decided.
#[derive(Clone, Debug)]
struct Times {
    game: &'static str,
    window: u32,
    /// With each seed.
    decided: Vec<Decided>,
}

/// When the windows of one flow are decided.
#[derive(Clone, Debug)]
struct Decided {
    /// Milliseconds from the end of a window to its decision by the next packet, sorted.
    by_packet: Vec<f64>,
    /// The same in the fast path, sorted.
    by_plane: Vec<f64>,
    /// Windows that were taken for gaming.
    gaming: u64,
    /// Seconds from the first packet to the verdict by the next packet, and to that of the fast path; infinite without one.
    verdict: f64,
    verdict_of_plane: f64,
}

/// A percentile of sorted values.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let place = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
}

fn times(models: &[(u32, Model)], seeds: &[u64], length: Span) -> Result<Vec<Times>, ExperimentError> {
    let mut all = Vec::new();
    for (window, model) in models {
        let classifier = Classifier::new(model, &TableLimits::default()).map_err(TrainingError::from)?;
        for game in GAMES {
            let decided: Result<Vec<_>, _> =
                seeds.iter().map(|seed| Decided::of(&game, *seed, length, (model, &classifier))).collect();
            all.push(Times { game: game.name, window: *window, decided: decided? });
        }
    }
    Ok(all)
}

impl Times {
    /// A percentile of the times, by seed.
    fn spread(&self, of: fn(&Decided) -> &[f64], percent: f64) -> Spread {
        self.decided.iter().map(|decided| percentile(of(decided), percent)).collect()
    }

    fn verdicts(&self, of: fn(&Decided) -> f64) -> Spread {
        self.decided.iter().map(of).collect()
    }

    /// Milliseconds to decisions by the next packet of all seeds, sorted.
    fn by_packet(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.decided.iter().flat_map(|decided| &decided.by_packet).copied().collect();
        all.sort_by(f64::total_cmp);
        all
    }
}

impl Decided {
    fn of(
        game: &Game,
        seed: u64,
        flow: Span,
        (model, classifier): (&Model, &Classifier),
    ) -> Result<Self, ExperimentError> {
        // The end of a flow is no part of it: there is no next packet.
        let packets = game.flow(seed, flow + Span::from_secs(1));
        let first = packets.first().map_or(Time::default(), |packet| packet.time);
        let (by_plane, verdict_of_plane) = in_plane(model, &packets, (first, flow))?;
        let mut decided =
            Self { by_packet: Vec::new(), by_plane, gaming: 0, verdict: f64::INFINITY, verdict_of_plane };
        let (mut pair, mut window) = (PairClass::default(), PairWindow::default());
        let length = classifier.window();
        let mut end = first + length;
        for GamePacket { time, direction, octets } in packets {
            if end > first + flow {
                break;
            }
            if let Some(closed) = window.observe(direction, octets, time, length) {
                decided.by_packet.push(time.since(end).as_secs_f64() * 1e3);
                decided.gaming += u64::from(classifier.class(&closed) == GAMING);
                end = end + length * (closed.empty + 1);
            }
            let change = classifier.observe(&mut pair, direction, octets, time);
            if change.is_some_and(|change| change.to == GAMING) {
                decided.verdict = decided.verdict.min(time.since(first).as_secs_f64());
            }
        }
        decided.by_packet.sort_by(f64::total_cmp);
        Ok(decided)
    }
}

/// Milliseconds from the end of each window of a flow, which begins then and is so long, until the fast path has ended it, sorted; and seconds to
/// its verdict.
fn in_plane(
    model: &Model,
    packets: &[GamePacket],
    (first, flow): (Time, Span),
) -> Result<(Vec<f64>, f64), ExperimentError> {
    let mut plane = Plane::new(model, first)?;
    let (mut delays, mut verdict) = (Vec::new(), f64::INFINITY);
    let mut end = first + model.window();
    let (mut received, game) = (0, model.classes().get(usize::from(GAMING)));
    for packet in packets {
        loop {
            // The thread wakes for a timer, at a whole millisecond, and for the packet.
            let timer = plane.next_deadline().map(next_timer).filter(|timer| *timer < packet.time);
            match timer {
                Some(timer) => plane.advance(timer),
                None => plane.receive(packet)?,
            }
            let now = timer.unwrap_or(packet.time);
            // The next deadline is the end of the window that is measured.
            while plane.next_deadline().is_some_and(|deadline| deadline > end) {
                delays.push(now.since(end).as_secs_f64() * 1e3);
                end = end + model.window();
            }
            if plane.change().as_ref().is_some_and(|class| Some(class) == game) {
                verdict = verdict.min(now.since(first).as_secs_f64());
            }
            if timer.is_none() {
                received += 1;
                break;
            }
        }
        if end > first + flow {
            break;
        }
    }
    if plane.forwarded() != received {
        return Err(ExperimentError::NotForwarded { received, forwarded: plane.forwarded() });
    }
    delays.sort_by(f64::total_cmp);
    Ok((delays, verdict))
}

/// The first whole millisecond from this time on.
fn next_timer(time: Time) -> Time {
    Time::from_nanos(time.as_nanos().div_ceil(1_000_000) * 1_000_000)
}

fn time_table(times: &[Times]) -> Table {
    let mut table = Table::new(vec![
        Column::new("flows"),
        Column::of("window", "s"),
        Column::new("windows"),
        Column::of("decided by a packet after, median", "ms, modelled"),
        Column::of("99 %", "ms, modelled"),
        Column::of("99 %, all seeds", "ms, modelled"),
        Column::of("longest", "ms, modelled"),
        Column::of("by the fast path, 99 %", "ms, modelled"),
        Column::of("by the fast path, 99 %, all seeds", "ms, modelled"),
        Column::of("verdict after the first packet", "s, modelled"),
        Column::of("verdict, all seeds", "s, modelled"),
        Column::of("verdict of the fast path", "s, modelled"),
        Column::of("taken for gaming", "%"),
    ]);
    for time in times {
        let windows: usize = time.decided.iter().map(|decided| decided.by_packet.len()).sum();
        let gaming: u64 = time.decided.iter().map(|decided| decided.gaming).sum();
        let by_packet = |percent: f64| time.spread(|decided| &decided.by_packet, percent);
        let (late, by_plane) = (by_packet(99.0), time.spread(|decided| &decided.by_plane, 99.0));
        let verdicts = time.verdicts(|decided| decided.verdict);
        table.row([
            time.game.into(),
            Cell::Number(f64::from(time.window) / 1e3, 1),
            Cell::Count(windows as u64),
            by_packet(50.0).cell(2),
            late.cell(2),
            late.range(2),
            Cell::Number(by_packet(100.0).most(), 2),
            by_plane.cell(2),
            by_plane.range(2),
            verdicts.cell(3),
            verdicts.range(3),
            time.verdicts(|decided| decided.verdict_of_plane).cell(3),
            Cell::Number(gaming as f64 * 100.0 / windows.max(1) as f64, 1),
        ]);
    }
    table
}

fn chart(times: &[Times]) -> Chart {
    let percents = [1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 100.0];
    let points =
        |sorted: &[f64]| percents.iter().map(|percent| (*percent, percentile(sorted, *percent))).collect();
    let curve = |time: &Times| Curve {
        name: format!("{}, {}", time.game, seconds(time.window)),
        points: points(&time.by_packet()),
        is_dashed: false,
    };
    Chart {
        title: "Time from the end of a window to its decision by the next packet".into(),
        x: "windows, %".into(),
        is_logarithmic: false,
        y: "ms, modelled".into(),
        curves: times.iter().filter(|time| time.window == 300).map(curve).collect(),
    }
}
