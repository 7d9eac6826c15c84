//! Writes the samples of a metric with its description, in OpenMetrics text.

use std::fmt;

use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::HistogramStatus;
use super::definition::{Kind, Metric};

type Label = (&'static str, String);

pub(super) fn label(name: &'static str, value: impl Into<String>) -> Vec<Label> {
    vec![(name, value.into())]
}

fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Integer(u64),
    Float(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl Value {
    fn encode(self, kind: Kind, encoder: MetricEncoder<'_>) -> fmt::Result {
        match (kind, self) {
            (Kind::Counter, Self::Integer(value)) => ConstCounter::new(value).encode(encoder),
            (Kind::Counter, Self::Float(value)) => ConstCounter::new(value).encode(encoder),
            (_, Self::Integer(value)) => ConstGauge::new(integer(value)).encode(encoder),
            (_, Self::Float(value)) => ConstGauge::new(value).encode(encoder),
        }
    }
}

/// Writes metrics one after the other.
pub(super) struct Writer<'a>(pub(super) DescriptorEncoder<'a>);

impl Writer<'_> {
    fn describe(&mut self, metric: &Metric) -> Result<MetricEncoder<'_>, fmt::Error> {
        let kind = match metric.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Named => MetricType::Unknown,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
            Kind::Info => MetricType::Info,
        };
        self.0.encode_descriptor(metric.name, metric.help, None, kind)
    }

    /// A metric without labels.
    pub(super) fn single(&mut self, metric: &Metric, value: impl Into<Value>) -> fmt::Result {
        value.into().encode(metric.kind, self.describe(metric)?)
    }

    /// A sample for each set of labels.
    pub(super) fn family<L: EncodeLabelSet, V: Into<Value>>(
        &mut self,
        metric: &Metric,
        values: impl IntoIterator<Item = (L, V)>,
    ) -> fmt::Result {
        let mut encoder = self.describe(metric)?;
        for (labels, value) in values {
            value.into().encode(metric.kind, encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// A histogram without labels.
    pub(super) fn histogram(&mut self, metric: &Metric, value: &HistogramStatus) -> fmt::Result {
        let HistogramStatus { sum, count, buckets } = value;
        self.describe(metric)?.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)
    }

    /// A histogram for each set of labels.
    pub(super) fn histograms<'h, L: EncodeLabelSet>(
        &mut self,
        metric: &Metric,
        values: impl IntoIterator<Item = (L, &'h HistogramStatus)>,
    ) -> fmt::Result {
        let mut encoder = self.describe(metric)?;
        for (labels, HistogramStatus { sum, count, buckets }) in values {
            encoder.encode_family(&labels)?.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)?;
        }
        Ok(())
    }

    /// Constant text.
    pub(super) fn info<L: EncodeLabelSet>(&mut self, metric: &Metric, labels: &L) -> fmt::Result {
        self.describe(metric)?.encode_info(labels)
    }
}
