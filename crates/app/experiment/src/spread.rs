//! A figure of several seeds.

use causeway_show::Cell;

/// Values of one figure, one of each seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spread(pub(crate) Vec<f64>);

impl Spread {
    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    pub(crate) fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn most(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The mean.
    pub(crate) fn cell(&self, digits: usize) -> Cell {
        Cell::Number(self.mean(), digits)
    }

    /// The least and the greatest.
    pub(crate) fn range(&self, digits: usize) -> Cell {
        Cell::Text(format!("{:.digits$} - {:.digits$}", self.least(), self.most()))
    }
}

impl FromIterator<f64> for Spread {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}
