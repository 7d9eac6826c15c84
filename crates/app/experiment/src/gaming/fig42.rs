//! Figure 42: flows of sessions, games and networks that a tree has not seen.

use causeway_show::{Cell, Chart, Column, Curve, Progress, Table};
use causeway_traffic::classes::{Feature, Training};

use super::dataset::{Dataset, LONGER};
use super::{FEW, GAMING, WITHOUT_DATA, released, training};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::training::{Confusion, Data, TrainingError, validate};

/// Scores with what they are of.
#[derive(Clone, Debug)]
struct Scored {
    flows: &'static str,
    left_out: String,
    tree: &'static str,
    confusion: Confusion,
}

const OURS: &str = "Causeway";
const RELEASED: &str = "released with the thesis";
const LONGER_FLOWS: &str = "longer flows";

/// The goals for F1, by group.
const F1_GOALS: [(&str, f64); 3] = [("session", 0.97), ("game", 0.95), ("network", 0.93)];

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when data or results cannot be read or written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let Some(dataset) = Dataset::of(common) else {
        return Ok(outcome(Vec::new(), None, vec![WITHOUT_DATA.into()]));
    };
    progress.stage("reading flow tables");
    let longer = dataset.flows(true, progress)?;
    let all = dataset.flows(false, progress)?;
    let sets = [(LONGER_FLOWS, &longer), ("all with five packets a second", &all)];
    let scored =
        rows.measure(&sets, |(name, data)| scores(name, data, progress), |scored| table(&scored.concat()))?;
    progress.stage("search");
    let search = search(&longer, progress)?;
    let line = |name: &str, data: &Data| {
        let gaming = data.balance().get(usize::from(GAMING)).copied().unwrap_or(0);
        format!("{name}: {} flows, {gaming} of them gaming.", data.rows.len())
    };
    let notes = vec![
        format!(
            "{} {} A longer flow has {} packets and more from the UE, {} and more to it.",
            line("Longer", &longer),
            line("All", &all),
            LONGER[0],
            LONGER[1]
        ),
        "The thesis says 80 to 97 % accuracy on this laboratory's captures (figure 42), without balance or recall. \"Never\" is a classification that \
         calls no flow gaming. The released tree has seen none of these flows, and is not trained again."
            .into(),
        "The features and the depth of our tree were chosen with these validations: the search is below. Nothing was left for a test after that."
            .into(),
        FEW.into(),
    ];
    Ok(outcome(scored.concat(), Some(search), notes))
}

fn outcome(scored: Vec<Scored>, search: Option<Search>, notes: Vec<String>) -> Outcome {
    let charts = search.as_ref().map(|search| ("depth", search.chart().into())).into_iter().collect();
    Outcome {
        name: "gaming-fig42",
        title: "Sessions, games and networks that were not seen (thesis, figure 42)".into(),
        conditions: vec![
            ("flows", "feature tables of the Leris Lab, Xbox Cloud Gaming over 5G and cable: 27 sessions of three games".into()),
            ("gaming", format!("by the rule '{}', since the tables have no labels", super::dataset::PLATFORM)),
            ("training", "depth 3, classes have equal weight; packets to the UE and both sizes; windows of 1 s".into()),
        ],
        table: table(&scored),
        goals: goals(&scored),
        notes,
        details: search.map(|search| ("Search, longer flows".into(), search.table())).into_iter().collect(),
        charts,
    }
}

fn scores(flows: &'static str, data: &Data, progress: &mut Progress) -> Result<Vec<Scored>, ExperimentError> {
    let classes = data.classes.len();
    let released = released::tree(1000).map_err(TrainingError::tree)?;
    let released = Confusion::of(&data.rows, classes, |vector| released.classify(vector));
    let mut scored = Vec::new();
    for (place, group) in data.groups.iter().enumerate() {
        progress.stage(format!("{flows}: leaving one {group} out"));
        let confusion = validate(data, place, &training(), progress)?;
        scored.push(Scored { flows, left_out: group.clone(), tree: OURS, confusion });
    }
    let never = released.never();
    for (tree, confusion) in [(RELEASED, released), ("never", never)] {
        scored.push(Scored { flows, left_out: "all".into(), tree, confusion });
    }
    Ok(scored)
}

fn table(scored: &[Scored]) -> Table {
    let mut columns: Vec<Column> = ["flows", "left out", "tree", "gaming", "other"].map(Column::new).into();
    let scores = ["missed", "false", "precision", "recall", "F1", "accuracy", "balanced accuracy"];
    columns.extend(scores.map(Column::new));
    let mut table = Table::new(columns);
    let gaming = usize::from(GAMING);
    for Scored { flows, left_out, tree, confusion } in scored {
        let number = |value: f64| Cell::Number(value, 3);
        let found = confusion.0.get(gaming).and_then(|row| row.get(gaming)).copied().unwrap_or(0);
        table.row([
            (*flows).into(),
            left_out.clone().into(),
            (*tree).into(),
            Cell::Count(confusion.samples(gaming)),
            Cell::Count(confusion.samples(0)),
            Cell::Count(confusion.samples(gaming) - found),
            Cell::Count(confusion.wrong(gaming)),
            number(confusion.precision(gaming)),
            number(confusion.recall(gaming)),
            number(confusion.f1(gaming)),
            number(confusion.accuracy()),
            number(confusion.balanced_accuracy()),
        ]);
    }
    table
}

fn goals(scored: &[Scored]) -> Vec<Goal> {
    let gaming = usize::from(GAMING);
    let of = |tree: &str, left_out: &str| {
        let is = |one: &&Scored| one.flows == LONGER_FLOWS && one.tree == tree && one.left_out == left_out;
        scored.iter().find(is).map(|one| &one.confusion)
    };
    let mut goals = Vec::new();
    for (group, goal) in F1_GOALS {
        let Some(ours) = of(OURS, group) else { continue };
        let text = |what: &str| format!("{what}, {LONGER_FLOWS}, one {group} left out");
        goals.push(Goal::at_least(&text("F1"), goal, ours.f1(gaming), ""));
        goals.push(Goal::at_least(&text("recall"), 0.97, ours.recall(gaming), ""));
        if let Some(released) = of(RELEASED, "all") {
            let above = ours.f1(gaming) - released.f1(gaming);
            goals.push(Goal::at_least(&text("F1 above that of the released tree"), 0.0, above, ""));
        }
    }
    goals
}

/// Scores by depth, features and weights.
#[derive(Clone, Debug)]
struct Search {
    tried: Vec<(Training, Vec<(String, Confusion)>)>,
}

/// The features that are tried together.
const FEATURES: [&[Feature]; 5] = [
    &Feature::ALL,
    &[Feature::UplinkPackets, Feature::DownlinkPackets, Feature::UplinkSize, Feature::DownlinkSize],
    &[Feature::DownlinkPackets, Feature::UplinkSize, Feature::DownlinkSize],
    &[Feature::UplinkPackets, Feature::DownlinkPackets],
    &[Feature::UplinkSize, Feature::DownlinkSize],
];

fn search(data: &Data, progress: &mut Progress) -> Result<Search, ExperimentError> {
    let mut tried = Vec::new();
    for features in FEATURES {
        for max_depth in 1..=6 {
            let training = Training { max_depth, features: features.to_vec(), ..training() };
            let mut scores = Vec::new();
            for (place, group) in data.groups.iter().enumerate() {
                scores.push((group.clone(), validate(data, place, &training, progress)?));
            }
            tried.push((training, scores));
        }
    }
    Ok(Search { tried })
}

fn in_words(features: &[Feature]) -> String {
    features.iter().map(|feature| feature.name().replace('_', " ")).collect::<Vec<_>>().join(", ")
}

impl Search {
    fn table(&self) -> Table {
        let mut columns = vec![Column::new("features"), Column::new("depth")];
        columns.extend(F1_GOALS.map(|(group, _)| Column::new(&format!("F1, {group}"))));
        columns.push(Column::new("used"));
        let mut table = Table::new(columns);
        for (tried, scores) in &self.tried {
            let f1 = scores.iter().map(|(_, confusion)| Cell::Number(confusion.f1(usize::from(GAMING)), 3));
            let used = if *tried == training() { "yes" } else { "" };
            let names = [Cell::from(in_words(&tried.features)), Cell::Count(tried.max_depth as u64)];
            table.row(names.into_iter().chain(f1).chain([used.into()]));
        }
        table
    }

    fn chart(&self) -> Chart {
        let ours = training();
        let curve = |(place, (group, _)): (usize, &(&str, f64))| {
            let of = self.tried.iter().filter(|(tried, _)| tried.features == ours.features);
            let point = |(tried, scores): &(Training, Vec<(String, Confusion)>)| {
                let (_, confusion) = scores.get(place)?;
                Some((tried.max_depth as f64, confusion.f1(usize::from(GAMING))))
            };
            Curve {
                name: format!("one {group} left out"),
                points: of.filter_map(point).collect(),
                is_dashed: false,
            }
        };
        Chart {
            title: "F1 of longer flows by the depth of the tree".into(),
            x: "depth".into(),
            is_logarithmic: false,
            y: "F1".into(),
            curves: F1_GOALS.iter().enumerate().map(curve).collect(),
        }
    }
}
