//! Scores of classifications, and validations that leave a group out.

use std::collections::BTreeSet;

use causeway_show::Progress;
use causeway_traffic::classes::{Training, Vector};

use super::TrainingError;
use super::data::{Data, Row};

/// For each class, how many of its samples were taken for each class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Confusion(pub Vec<Vec<u64>>);

impl Confusion {
    /// Of so many classes, without samples.
    pub fn new(classes: usize) -> Self {
        Self(vec![vec![0; classes]; classes])
    }

    /// The counts of a classification.
    pub fn of<'a>(
        rows: impl IntoIterator<Item = &'a Row>,
        classes: usize,
        classify: impl Fn(&Vector) -> u8,
    ) -> Self {
        let mut confusion = Self::new(classes);
        rows.into_iter().for_each(|row| confusion.add(row.sample.class, classify(&row.sample.vector)));
        confusion
    }

    /// Adds a sample.
    pub fn add(&mut self, class: u8, taken_for: u8) {
        let row = self.0.get_mut(usize::from(class));
        let cell = row.and_then(|row| row.get_mut(usize::from(taken_for)));
        cell.into_iter().for_each(|cell| *cell += 1);
    }

    fn merge(&mut self, other: &Self) {
        for (row, others) in self.0.iter_mut().zip(&other.0) {
            row.iter_mut().zip(others).for_each(|(cell, other)| *cell += other);
        }
    }

    fn cell(&self, class: usize, taken_for: usize) -> u64 {
        self.0.get(class).and_then(|row| row.get(taken_for)).copied().unwrap_or(0)
    }

    /// The samples of a class.
    pub fn samples(&self, class: usize) -> u64 {
        self.0.get(class).map_or(0, |row| row.iter().sum())
    }

    /// The samples of all classes.
    pub fn all(&self) -> u64 {
        self.0.iter().flatten().sum()
    }

    /// Samples of other classes that were taken for this one.
    pub fn wrong(&self, class: usize) -> u64 {
        (0..self.0.len()).filter(|other| *other != class).map(|other| self.cell(other, class)).sum()
    }

    /// The share of all samples whose class was found.
    pub fn accuracy(&self) -> f64 {
        share((0..self.0.len()).map(|class| self.cell(class, class)).sum(), self.all())
    }

    /// The mean recall of the classes that have samples.
    pub fn balanced_accuracy(&self) -> f64 {
        let present: Vec<usize> = (0..self.0.len()).filter(|class| self.samples(*class) > 0).collect();
        present.iter().map(|class| self.recall(*class)).sum::<f64>() / present.len().max(1) as f64
    }

    /// The share of samples taken for a class that are of it; zero if there are none.
    pub fn precision(&self, class: usize) -> f64 {
        let right = self.cell(class, class);
        share(right, right + self.wrong(class))
    }

    /// The share of a class's samples that were found.
    pub fn recall(&self, class: usize) -> f64 {
        share(self.cell(class, class), self.samples(class))
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self, class: usize) -> f64 {
        let (precision, recall) = (self.precision(class), self.recall(class));
        if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
    }

    /// What the classification "never" gives: all samples are of the first class.
    pub fn never(&self) -> Self {
        let mut never = Self::new(self.0.len());
        for (class, row) in never.0.iter_mut().enumerate() {
            row.first_mut().into_iter().for_each(|cell| *cell = self.samples(class));
        }
        never
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Leaves each value of a group out in turn, trains on the others, and counts what becomes of those left out.
///
/// # Errors
/// [`TrainingError::Argument`] when the group has a single value; [`TrainingError::Train`].
pub fn validate(
    data: &Data,
    group: usize,
    training: &Training,
    progress: &mut Progress,
) -> Result<Confusion, TrainingError> {
    let value = |row: &Row| row.groups.get(group).cloned().unwrap_or_default();
    let values: BTreeSet<String> = data.rows.iter().map(value).collect();
    if values.len() < 2 {
        let name = data.groups.get(group).cloned().unwrap_or_default();
        return Err(TrainingError::Argument(format!(
            "group {name} has {} value: a validation needs two at least",
            values.len()
        )));
    }
    let mut confusion = Confusion::new(data.classes.len());
    for (place, out) in values.iter().enumerate() {
        progress.set_progress(place as u64, values.len() as u64);
        let (left, trained): (Vec<&Row>, Vec<&Row>) = data.rows.iter().partition(|row| value(row) == *out);
        let samples: Vec<_> = trained.iter().map(|row| row.sample).collect();
        let tree = training.train(&samples, data.classes.len())?;
        confusion.merge(&Confusion::of(left, data.classes.len(), |vector| tree.classify(vector)));
    }
    Ok(confusion)
}

#[cfg(test)]
mod tests {
    use causeway_traffic::classes::Sample;

    use super::*;

    // Input:  38 of 39 found, one of 143 others wrong; the same by "never".
    // Output: the shares of the definitions.
    #[test]
    fn shares_follow_from_counts() {
        let confusion = Confusion(vec![vec![142, 1], vec![1, 38]]);
        let near = |one: f64, two: f64| assert!((one - two).abs() < 1e-3, "{one} {two}");
        near(confusion.precision(1), 0.974);
        near(confusion.recall(1), 0.974);
        near(confusion.f1(1), 0.974);
        near(confusion.accuracy(), 0.989);
        near(confusion.balanced_accuracy(), 0.984);
        let never = confusion.never();
        near(never.accuracy(), 0.786);
        near(never.balanced_accuracy(), 0.5);
        assert_eq!((never.precision(1), never.recall(1), never.f1(1)), (0.0, 0.0, 0.0));
        assert_eq!((confusion.all(), confusion.wrong(1)), (182, 1));
    }

    // Input:  three sessions, of which one has its class by chance on the other side.
    // Output: each sample is counted once, by a tree that did not see its session; a group of one value is an error.
    #[test]
    fn each_group_is_left_out() {
        let row = |session: u32, packets: u32, class: u8| Row {
            sample: Sample { vector: Vector::new([0, packets, 0, 0, 0, 0]), class },
            groups: vec![session.to_string(), "same".into()],
        };
        let mut data = Data {
            classes: vec!["other".into(), "game".into()],
            groups: vec!["session".into(), "network".into()],
            ..Data::default()
        };
        for session in 0..3 {
            data.rows.extend((0..10).map(|place| row(session, place, 0)));
            data.rows.extend((0..10).map(|place| row(session, 100 * u32::from(session < 2) + place, 1)));
        }
        let training = Training { min_leaf: 1, max_depth: 1, ..Training::default() };
        let confusion = validate(&data, 0, &training, &mut Progress::new()).unwrap();
        assert_eq!(confusion.all(), 60);
        assert_eq!(confusion.0[1], [10, 20]);
        let error = validate(&data, 1, &training, &mut Progress::new()).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("network"), "{error}");
    }
}
