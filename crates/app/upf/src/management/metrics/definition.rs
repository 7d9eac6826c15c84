//! What a metric is: name, type, unit, labels, meaning.

/// A metric that the daemon exports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Metric {
    /// The name of the family. Samples of a [`Kind::Counter`] have `_total` at its end, that of a [`Kind::Info`] `_info`.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What it counts or measures.
    pub(super) unit: &'static str,
    pub(super) labels: &'static [&'static str],
    /// One sentence without its full stop.
    pub(super) help: &'static str,
}

/// The type of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Only grows.
    Counter,
    /// A counter under a name without `_total`, as other UPFs have it. Neither text format permits that for a counter, so
    /// that it is exported without a type.
    Named,
    Gauge,
    Histogram,
    /// Constant text in labels.
    Info,
}

#[cfg(test)]
impl Metric {
    /// The name of its samples. Those of a histogram have `_bucket`, `_sum` and `_count` at its end.
    pub(super) fn sample_name(&self) -> String {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Named | Kind::Gauge | Kind::Histogram => "",
        };
        format!("{}{suffix}", self.name)
    }
}
