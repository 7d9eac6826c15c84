//! Header Enrichment: fields for the headers of HTTP requests.

use causeway_model::HttpField;
use causeway_pfcp::{HeaderEnrichment, Ie, Many, UpdateForwardingParameters};

use super::setting;
use crate::Reason;
use crate::edits::Setting;

/// HTTP, the only header type (clause 8.2.67).
const HTTP: u8 = 0;

/// The fields, in the order of the message.
pub(super) fn fields(ies: &Many<'_, HeaderEnrichment<'_>>) -> Result<Vec<HttpField>, Reason> {
    let fields = ies.iter().map(|ie| field(&ie)).collect::<Result<Vec<_>, _>>()?;
    let octets: usize = fields.iter().map(HttpField::line_len).sum();
    if octets > HttpField::MAX_LINES {
        incorrect("more than 1000 octets of header fields")
    } else {
        Ok(fields)
    }
}

/// New fields replace all existing ones; one of null length removes them.
pub(super) fn update(group: &UpdateForwardingParameters<'_>) -> Result<Setting<Vec<HttpField>>, Reason> {
    let fields = fields(&group.header_enrichment)?;
    Ok(setting::<HeaderEnrichment<'_>, _>(Some(fields).filter(|fields| !fields.is_empty()), &group.other))
}

fn field(ie: &HeaderEnrichment<'_>) -> Result<HttpField, Reason> {
    if ie.header_type != HTTP {
        return incorrect("a header type that no release defines");
    }
    HttpField::new(ie.name.0, ie.value.0).map_or_else(|| incorrect("not an HTTP field that may be added"), Ok)
}

fn incorrect<T>(reason: &'static str) -> Result<T, Reason> {
    Err(Reason::Incorrect { ie: HeaderEnrichment::TYPE, why: reason })
}
