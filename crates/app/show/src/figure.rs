//! A picture of a result.

use crate::{Bars, Chart};

/// A picture of a result, of either kind.
#[derive(Clone, PartialEq, Debug)]
pub enum Figure {
    /// Curves over two axes.
    Chart(Chart),
    /// Grouped bars.
    Bars(Bars),
}

impl Figure {
    /// The picture, for a page or a file of its own.
    pub fn svg(&self) -> String {
        match self {
            Self::Chart(chart) => chart.svg(),
            Self::Bars(bars) => bars.svg(),
        }
    }
}

impl From<Chart> for Figure {
    fn from(chart: Chart) -> Self {
        Self::Chart(chart)
    }
}

impl From<Bars> for Figure {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}
