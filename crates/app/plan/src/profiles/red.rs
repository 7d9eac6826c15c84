//! Three PDR tables: the baseline, and the same with FARs and meters merged into them.

use super::common_tables::{self, Before};
use super::fields::{
    DSCP, FIVE_TUPLE, OPERAND_IPV4, OPERAND_METER, OPERAND_OCTET, OPERAND_PDR_ID, OPERAND_TEID, PDR_ID,
    UE_ADDRESS, WHOLE_TUNNEL, encapsulation, key,
};
use super::{Population, Profile, Program, accounting};
use crate::error::PlanError;
use crate::pipeline::Dependency::{Control, Match as Matches};
use crate::pipeline::Pipeline;
use crate::table::Gress::Ingress;
use crate::table::{Match, Table};

/// PDRs of a complex UE.
const COMPLEX_PDRS: u32 = 2;
const PDR: &[(&str, crate::pipeline::Dependency)] =
    &[("pdr_complex", Matches), ("pdr_ul_simple", Matches), ("pdr_dl_simple", Matches)];
const PORT: &[(&str, u32)] = &[("ingress_port", 9)];

pub(super) fn build(program: &Program, population: &Population) -> Result<Pipeline, PlanError> {
    let mut pipeline = Pipeline::default();
    common_tables::echo(&mut pipeline)?;
    pdrs(&mut pipeline, program, population)?;
    let all = population.complex * COMPLEX_PDRS + population.simple * 2;
    let before = match program.profile {
        Profile::Red => {
            headers(&mut pipeline)?;
            Before { pdr: PDR, action: &[("headers", Matches)], meter: PDR }
        }
        _ => {
            by_id(&mut pipeline, all)?;
            Before { pdr: PDR, action: &[("far", Matches)], meter: &[("meter_lookup", Matches)] }
        }
    };
    common_tables::enforcement(&mut pipeline, all, &before)?;
    accounting::add(&mut pipeline, program, all, PDR)?;
    common_tables::delivery(&mut pipeline, &before)?;
    Ok(pipeline)
}

fn pdrs(pipeline: &mut Pipeline, program: &Program, population: &Population) -> Result<(), PlanError> {
    // A PDR's entry names its action only where FARs are merged into it.
    let flags = OPERAND_OCTET;
    let tunnel = [OPERAND_PDR_ID, OPERAND_METER, OPERAND_TEID, OPERAND_IPV4, OPERAND_OCTET, flags];
    let remark = [OPERAND_PDR_ID, OPERAND_METER, OPERAND_OCTET, flags];
    let drop = [OPERAND_PDR_ID, OPERAND_METER, flags];
    let (merged, plain): ([&[u32]; 3], [&[u32]; 1]) = ([&drop, &remark, &tunnel], [&[OPERAND_PDR_ID]]);
    let actions: &[&[u32]] = if program.profile == Profile::Red { &merged } else { &plain };
    let add =
        |pipeline: &mut Pipeline, table: Table, after: &[_]| pipeline.add(table.actions(actions), after);
    if population.complex > 0 {
        let fields = key(&[PORT, WHOLE_TUNNEL, FIVE_TUPLE, DSCP]);
        let complex =
            Table::new("pdr_complex", Ingress, Match::Ternary(fields), population.complex * COMPLEX_PDRS);
        add(pipeline, complex.when("user data", 1), &[])?;
    } else {
        pipeline.add(Table::new("pdr_complex", Ingress, Match::Always, 0).when("user data", 1), &[])?;
    }
    for (way, name, fields) in [(1, "pdr_ul_simple", WHOLE_TUNNEL), (0, "pdr_dl_simple", UE_ADDRESS)] {
        let simple = Table::new(name, Ingress, Match::Exact(key(&[fields])), population.simple);
        add(pipeline, simple.when("user data", 1).when("uplink", way), &[("pdr_complex", Control)])?;
    }
    Ok(())
}

/// The tables that are looked up by PDR_ID.
fn by_id(pipeline: &mut Pipeline, all: u32) -> Result<(), PlanError> {
    let encap = encapsulation(&[OPERAND_IPV4, OPERAND_TEID, OPERAND_OCTET]);
    let decap = [OPERAND_OCTET, OPERAND_OCTET];
    let far = Table::new("far", Ingress, Match::Exact(key(&[PDR_ID])), all);
    pipeline.add(far.actions(&[&[OPERAND_OCTET], &encap, &decap, &[]]).when("user data", 1), PDR)?;
    let meter = Table::new("meter_lookup", Ingress, Match::Exact(key(&[PDR_ID])), all);
    pipeline.add(meter.actions(&[&[OPERAND_METER]]), PDR)
}

/// The constants of a tunnel header, once: entries of PDRs do not contain them.
fn headers(pipeline: &mut Pipeline) -> Result<(), PlanError> {
    let kinds = key(&[&[("encapsulate", 2)]]);
    let constants = encapsulation(&[]);
    let table = Table::new("headers", Ingress, Match::Exact(kinds), 4).actions(&[&constants, &[]]);
    pipeline.add(table.when("user data", 1), PDR)
}
