//! A page with all results, and notes for their interpretation.

use std::path::Path;

use causeway_show::{Cell, Column, Table, page};
use causeway_switch::model::Timing;
use maud::{Markup, PreEscaped, html};

use crate::ExperimentError;
use crate::measure::Costs;
use crate::outcome::{Outcome, save};
use crate::variant::{GLOSSARY, GlossaryEntry};

/// The subject of a page: it decides on the introduction, and on the explanation of names below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// HiP4-UPF.
    Hip4,
    /// Heavy hitters.
    HeavyHitters,
    /// X-PLANE.
    Xplane,
    /// AccelUPF.
    Accel,
    /// Cloud gaming.
    Gaming,
    /// The hybrid UPF.
    Hybrid,
    /// The UE table of a stateless UPF.
    UeTable,
}

impl Subject {
    const fn about(self) -> &'static str {
        match self {
            Self::Hip4 => HIP4,
            Self::HeavyHitters => HEAVY_HITTERS,
            Self::Xplane => XPLANE,
            Self::Accel => ACCEL,
            Self::Gaming => GAMING,
            Self::Hybrid => HYBRID,
            Self::UeTable => UE_TABLE,
        }
    }
}

const UE_TABLE: &str = "The UE table of a stateless UPF in three shapes, by the planner, beside chapter 2 of S. K. Singh's thesis. docs/planner.md \
describes the model.";

const HYBRID: &str = "A switch in front of software, on generated traces in simulated time: which rules are on the switch, beside chapter 3 of \
S. K. Singh's thesis. docs/hybrid.md describes the data plane, the placements and the simulation.";

const HEAVY_HITTERS: &str = "Detectors of heavy hitters on generated traces: those of Causeway, the one of chapter 4 of S. K. Singh's thesis, and \
those of others, with the same memory on the same packets. docs/heavy-hitters.md describes the detectors and the traces.";

const XPLANE: &str = "The memory path of X-PLANE (MobiCom '23) with models of its links and adapters, and the packets of RoCEv2: the paper's design, \
and Causeway's. Times are model time; those of the paper were measured. docs/experiments.md (xplane-memory) and docs/xplane.md say what is modelled.";
const ACCEL: &str = "PFCP session messages that the data plane answers itself, as AccelUPF (SOSR '22) does: messages and answers are those of \
causeway-accel, in a model of a switch. Times of Causeway are model time; those of the paper were measured. docs/experiments.md and docs/accel.md \
say what is modelled.";
const GAMING: &str = "Cloud gaming by the shape of its packets: a tree trained here beside the one that was released with chapter 5 of S. K. Singh's \
thesis, on the same flows and windows. docs/application-classes.md describes the features, the training and the data.";

const HIP4: &str = "The mechanisms of the switch backend over a modelled switch, whose driver has the request times of the paper's. \
Times of Causeway are model time and do not depend on the host; those of the paper were measured on its switch. docs/experiments.md \
describes the model, and the sources of the driver's costs.";

/// What a quick run is good for.
const QUICK: &str = "It shows that the experiments work: few UEs or flows, for a short time. Its figures, and whether they are reached, \
say little; run the command below without --quick for those.";

/// Writes a page with all of these; `command` reproduces it. The page of a quick run says so.
///
/// # Errors
/// [`ExperimentError::Io`].
pub(crate) fn write_page(
    subject: Subject,
    outcomes: &[Outcome],
    command: &str,
    is_quick: bool,
    path: &Path,
) -> Result<(), ExperimentError> {
    let (reached, all) = reached(outcomes);
    let body = html! {
        header {
            h1 { "Causeway experiments" }
            @if is_quick { p.banner role="note" { b { "Quick run. " } (QUICK) } }
            p.verdict.good[reached == all].bad[reached != all] { (reached) " of " (all) " figures reached" }
            p { (subject.about()) }
            p { "This command reproduces the page exactly: " code { (command) }
                " of Causeway " (env!("CARGO_PKG_VERSION")) "." }
        }
        @if outcomes.len() > 1 { (contents(subject, outcomes)) }
        @for outcome in outcomes { (section(outcome)) }
        @if subject == Subject::Hip4 { (glossary()) }
    };
    save(path, &page("Causeway experiments", &body).into_string())
}

/// The number of goals reached, and of all goals.
fn reached(outcomes: &[Outcome]) -> (usize, usize) {
    let goals = || outcomes.iter().flat_map(|outcome| &outcome.goals);
    (goals().filter(|goal| goal.is_reached).count(), goals().count())
}

fn contents(subject: Subject, outcomes: &[Outcome]) -> Markup {
    html! {
        section {
            h2 { "On this page" }
            ul {
                @for outcome in outcomes {
                    @let (reached, all) = reached(std::slice::from_ref(outcome));
                    li { a href={ "#" (outcome.name) } { (outcome.title) } ": " (reached) " of " (all) " figures reached" }
                }
                @if subject == Subject::Hip4 { li { a href="#compared" { "Names of the rows, and costs of the switch driver" } } }
            }
        }
    }
}

fn section(outcome: &Outcome) -> Markup {
    html! {
        section id=(outcome.name) {
            h2 { (outcome.title) }
            dl { @for (what, how) in &outcome.conditions { dt { (what) } dd { (how) } } }
            div.wide { (outcome.table) }
            @for (_, chart) in &outcome.charts { (PreEscaped(chart.svg())) }
            @for goal in &outcome.goals {
                p { span.mark.good[goal.is_reached].bad[!goal.is_reached] {
                    (if goal.is_reached { "✔ " } else { "✘ " })
                } (goal.goal) "; found " (goal.found) }
            }
            @for note in &outcome.notes { p.hint { (note) } }
            @for (subject, table) in &outcome.details {
                details { summary.more { (subject) } div.wide { (table) } }
            }
        }
    }
}

/// The names of rows, and the model's costs.
fn glossary() -> Markup {
    html! {
        section id="compared" {
            h2 { "Names of the rows" }
            dl { @for GlossaryEntry { name, about } in GLOSSARY { dt { (name) } dd { (about) } } }
            h2 { "Costs of the switch driver" }
            div.wide { (costs()) }
            p.hint { "A table is read or written, not both at the same time; requests for different tables run concurrently." }
        }
    }
}

fn costs() -> Table {
    let us = |name| Column::of(name, "µs, modelled");
    let mut table = Table::new(vec![
        Column::new("driver"),
        us("a call that reads"),
        us("an entry that is read"),
        us("a batch that is written"),
        us("an entry"),
        us("a modification"),
    ]);
    for Costs { name, timing } in [Costs::PAPER, Costs::SLOW] {
        let Timing { read_call, read_entry, write_call, write_entry, modify_entry } = timing;
        let [a, b, c, d, e] = [read_call, read_entry, write_call, write_entry, modify_entry]
            .map(|span| Cell::Number(span.as_secs_f64() * 1e6, 1));
        table.row([name.into(), a, b, c, d, e]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Goal;

    fn outcome(name: &'static str, found: f64) -> Outcome {
        let mut table = Table::new(vec![Column::new("row"), Column::of("found", "ms, modelled")]);
        table.row(["first".into(), Cell::Number(found, 1)]);
        Outcome {
            name,
            title: format!("Title of {name}"),
            conditions: vec![("seed", "7".into())],
            table,
            goals: vec![Goal::at_most("found", 1.0, found, "ms")],
            notes: vec!["A note.".into()],
            details: vec![("More of it".into(), Table::new(Vec::new()))],
            charts: Vec::new(),
        }
    }

    // Input:  two experiments, of which one reaches its goal; one alone.
    // Output: a page with links to both, with the command, the names of rows and the costs of both drivers; no contents
    //         for one, and no drivers for another subject; the page of a quick run
    //         says so.
    #[test]
    fn a_page_says_what_it_is_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        write_page(
            Subject::Hip4,
            &[outcome("a", 0.5), outcome("b", 2.0)],
            "causeway experiment --seed 7",
            false,
            &path,
        )
        .unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for part in
            ["1 of 2 figures", "href=\"#a\"", "id=\"b\"", "--seed 7", "Causeway, keyed", "7400.0", "141.0"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("Quick run."));
        write_page(Subject::HeavyHitters, &[outcome("a", 0.5)], "causeway experiment", true, &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("Quick run."));
        assert!(!text.contains("On this page") && text.contains("1 of 1 figures"));
        assert!(text.contains("More of it") && !text.contains("Causeway, keyed"));
    }
}
