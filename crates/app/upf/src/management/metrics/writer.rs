//! Writes metrics of one kind each, in OpenMetrics text.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

type Label = (&'static str, String);

pub(super) fn label(name: &'static str, value: impl Into<String>) -> Vec<Label> {
    vec![(name, value.into())]
}

fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Writes metrics of one kind each.
pub(super) struct Writer<'a>(pub(super) DescriptorEncoder<'a>);

impl Writer<'_> {
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let gauge = ConstGauge::new(integer(value));
        gauge.encode(self.0.encode_descriptor(name, help, None, gauge.metric_type())?)
    }

    /// The name gets `_total` at its end.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let counter = ConstCounter::new(value);
        counter.encode(self.0.encode_descriptor(name, help, None, counter.metric_type())?)
    }

    /// A counter under a name without `_total`, as other UPFs have it. OpenMetrics does not allow that for a counter.
    pub(super) fn named(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let value = ConstGauge::new(integer(value));
        value.encode(self.0.encode_descriptor(name, help, None, MetricType::Unknown)?)
    }

    /// A gauge for each set of labels.
    pub(super) fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in values {
            let gauge = ConstGauge::new(integer(value));
            gauge.encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// A counter for each set of labels.
    pub(super) fn family<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in values {
            let counter = ConstCounter::new(value);
            counter.encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
