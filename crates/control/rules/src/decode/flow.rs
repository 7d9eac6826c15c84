//! SDF filters.

use causeway_model::{FlowDescription, FlowError, SdfFilter, TrafficClass};
use causeway_pfcp::SdfFilter as WireFilter;

use crate::edits::FilterDraft;
use crate::{Reason, ie};

/// A filter, or the id of a bidirectional one that another PDR of the session defines.
pub(super) fn draft(filter: &WireFilter<'_>) -> Result<FilterDraft, Reason> {
    let WireFilter { flow_description, traffic_class, security_parameter_index, flow_label, filter_id } =
        filter;
    let class = traffic_class.map(|class| TrafficClass { value: class.value, mask: class.mask });
    let rest = class.is_some() || security_parameter_index.is_some() || flow_label.is_some();
    let flow = match (flow_description, filter_id) {
        (Some(text), _) => description(text.as_str())?,
        (None, _) if rest => FlowDescription::ANY,
        (None, Some(id)) => return Ok(FilterDraft::Named(*id)),
        (None, None) => return Err(Reason::MalformedFlow(FlowError::NoText)),
    };
    Ok(FilterDraft::Defined(SdfFilter {
        flow,
        traffic_class: class,
        spi: *security_parameter_index,
        flow_label: *flow_label,
        id: *filter_id,
    }))
}

/// A filter outside a PDI, which cannot refer to another one.
pub(super) fn defined(filter: &WireFilter<'_>) -> Result<SdfFilter, Reason> {
    let what = "an exempted filter by the id of a bidirectional one";
    match draft(filter)? {
        FilterDraft::Defined(filter) => Ok(filter),
        FilterDraft::Named(_) => Err(Reason::Unsupported { ie: ie::SDF_FILTER, what }),
    }
}

fn description(text: Option<&str>) -> Result<FlowDescription, Reason> {
    text.ok_or(Reason::MalformedFlow(FlowError::NoText))?.parse().map_err(|error: FlowError| {
        if error.is_unsupported() { Reason::UnsupportedFlow(error) } else { Reason::MalformedFlow(error) }
    })
}
