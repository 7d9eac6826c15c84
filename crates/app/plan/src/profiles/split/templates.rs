//! Shared data of PDRs: action templates by ranges of PDR_IDs, and constants of tunnel headers.

use super::pdrs::Names;
use crate::error::PlanError;
use crate::pipeline::Dependency::{self, Control, Match as Matches};
use crate::pipeline::Pipeline;
use crate::profiles::fields::{OPERAND_IPV4, OPERAND_OCTET, PDR_ID, encapsulation, key};
use crate::table::Gress::Ingress;
use crate::table::{Match, Table};

/// Entries of the template tables: towards N6, towards N9 and N3, downlink.
const SIZES: [u32; 3] = [2048, 2048, 7168];

/// The three tables of templates.
pub(super) fn add(
    pipeline: &mut Pipeline,
    names: &Names,
) -> Result<Vec<(&'static str, Dependency)>, PlanError> {
    let [to_n6, to_n9, downlink] = SIZES;
    let encap = encapsulation(&[OPERAND_IPV4, OPERAND_OCTET]);
    let table = |name: &str, entries, uplink| {
        let by_id = Match::Ternary(key(&[PDR_ID]));
        Table::new(name, Ingress, by_id, entries).when("user data", 1).when("uplink", uplink)
    };
    let uplink = Names::of(&names.uplink);
    let decap = [OPERAND_OCTET, OPERAND_OCTET];
    pipeline.add(table("ul_to_n6_template", to_n6, 1).actions(&[&decap, &[]]), &uplink)?;
    let after: Vec<_> = uplink.into_iter().chain([("ul_to_n6_template", Control)]).collect();
    pipeline.add(table("ul_to_n9_n3_template", to_n9, 1).actions(&[&encap]), &after)?;
    let template = table("dl_template", downlink, 0).actions(&[&encap, &[]]);
    pipeline.add(template, &Names::of(&names.downlink))?;
    Ok(["ul_to_n6_template", "ul_to_n9_n3_template", "dl_template"].map(|name| (name, Matches)).to_vec())
}

/// Only the constants of tunnel headers, once.
pub(super) fn headers(
    pipeline: &mut Pipeline,
    pdr: &[(&str, Dependency)],
) -> Result<Vec<(&'static str, Dependency)>, PlanError> {
    let kinds = key(&[&[("encapsulate", 2)]]);
    let constants = encapsulation(&[]);
    let table = Table::new("headers", Ingress, Match::Exact(kinds), 4).actions(&[&constants, &[]]);
    pipeline.add(table.when("user data", 1), pdr)?;
    Ok(vec![("headers", Matches)])
}
