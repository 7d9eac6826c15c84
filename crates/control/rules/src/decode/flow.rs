//! SDF filters.

use causeway_pfcp::{Ie, SdfFilter as WireFilter};

use crate::{FlowError, Reason, SdfFilter};

/// A filter by flow description alone.
pub(super) fn filter(filter: &WireFilter<'_>) -> Result<SdfFilter, Reason> {
    let WireFilter { flow_description, traffic_class, security_parameter_index, flow_label, filter_id } =
        filter;
    let unsupported = [
        (traffic_class.is_some(), "a filter by traffic class"),
        (security_parameter_index.is_some(), "a filter by security parameter index"),
        (flow_label.is_some(), "a filter by flow label"),
        (filter_id.is_some(), "a bidirectional filter"),
    ];
    if let Some((_, what)) = unsupported.into_iter().find(|(present, _)| *present) {
        return Err(Reason::Unsupported { ie: WireFilter::TYPE, what });
    }
    let text = flow_description.and_then(|text| text.as_str());
    let text = text.ok_or(Reason::MalformedFlow(FlowError::NoText))?;
    text.parse().map_err(|error: FlowError| {
        if error.is_unsupported() { Reason::UnsupportedFlow(error) } else { Reason::MalformedFlow(error) }
    })
}
