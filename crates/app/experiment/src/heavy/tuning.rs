//! The search for the numbers of each detector.

use causeway_show::{Cell, Column, Progress, Table};

use super::Size;
use super::contest::{Contest, FlowOf, Score};
use super::design::{Design, Method, Target};
use super::trace::Profile;
use crate::ExperimentError;

/// What is tuned for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose<'a> {
    pub(super) profile: &'a Profile,
    pub(super) flow: FlowOf,
    pub(super) target: Target,
    pub(super) octets: usize,
}

/// All designs that were tried.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    rows: Vec<Tried>,
}

#[derive(Clone, Debug)]
struct Tried {
    purpose: String,
    method: Method,
    design: Design,
    score: Score,
    is_best: bool,
}

impl Search {
    /// Tries all designs of the methods on a trace of the tuning seed, of the medium length; returns each method's design with the best F1.
    pub(super) fn best(
        &mut self,
        name: &str,
        purpose: Purpose<'_>,
        methods: &[Method],
        size: &Size,
        progress: &mut Progress,
    ) -> Result<Vec<Design>, ExperimentError> {
        let Purpose { profile, flow, target, octets } = purpose;
        progress.stage(format!("{name}: search"));
        let tried: Vec<(Method, Design)> = methods
            .iter()
            .flat_map(|method| method.designs().into_iter().map(|design| (*method, design)))
            .collect();
        let seed = size.tuning_seed;
        let detectors: Result<Vec<_>, _> =
            tried.iter().map(|(_, design)| design.build(octets, target, seed)).collect();
        let seconds = [size.seconds[1]];
        let contest = Contest { profile, seed, flow, target, seconds: &seconds };
        let results = contest.run(detectors?, progress);
        let scores: Vec<Score> =
            results.scores.iter().map(|scores| scores.last().copied().unwrap_or_default()).collect();
        let mut best = Vec::new();
        for method in methods {
            let of_method = || tried.iter().zip(&scores).filter(|((known, _), _)| known == method);
            // Of equal ones, the first.
            let winner = of_method().rev().max_by(|(_, a), (_, b)| a.f1().total_cmp(&b.f1()));
            let Some(((_, winner), _)) = winner else { continue };
            self.rows.extend(of_method().map(|((_, design), score)| Tried {
                purpose: name.into(),
                method: *method,
                design: *design,
                score: *score,
                is_best: design == winner,
            }));
            best.push(*winner);
        }
        Ok(best)
    }

    /// All that was tried.
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new(
            ["conditions", "detector", "numbers", "precision", "recall", "F1", "used"]
                .map(Column::new)
                .into(),
        );
        for Tried { purpose, method, design, score, is_best } in &self.rows {
            table.row([
                Cell::Text(purpose.clone()),
                method.name().into(),
                Cell::Text(design.to_string()),
                Cell::Number(score.precision(), 4),
                Cell::Number(score.recall(), 4),
                Cell::Number(score.f1(), 4),
                if *is_best { "yes" } else { "" }.into(),
            ]);
        }
        table
    }
}
