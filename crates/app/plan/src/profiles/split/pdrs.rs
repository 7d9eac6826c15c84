//! The PDR tables, complex before simple and N6 before N9.

use super::{Sizes, direct};
use crate::error::PlanError;
use crate::pipeline::Dependency::{self, Control, Match as Matches};
use crate::pipeline::Pipeline;
use crate::profiles::fields::{
    DSCP, FILTER_ID, FIVE_TUPLE, OPERAND_IPV4, OPERAND_METER, OPERAND_OCTET, OPERAND_PDR_ID, OPERAND_TEID,
    TUNNEL, UE_ADDRESS, key,
};
use crate::profiles::{Filters, Profile, Program};
use crate::table::Gress::Ingress;
use crate::table::{Match, Table};

/// Names of the tables that find PDRs.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Of uplink packets.
    pub(super) uplink: Vec<String>,
    /// Of downlink packets.
    pub(super) downlink: Vec<String>,
}

impl Names {
    /// As dependencies of tables that use the PDRs of both directions.
    pub(super) fn both(names: &Self) -> Vec<(&str, Dependency)> {
        names.uplink.iter().chain(&names.downlink).map(|name| (name.as_str(), Matches)).collect()
    }

    /// As dependencies of tables that use the PDRs of one direction.
    pub(super) fn of(list: &[String]) -> Vec<(&str, Dependency)> {
        list.iter().map(|name| (name.as_str(), Matches)).collect()
    }
}

/// The operands of PDRs for N6, and of those for a tunnel.
struct Operands {
    decap: Vec<u32>,
    encap: Vec<u32>,
}

impl Operands {
    fn of(program: &Program) -> Self {
        let (mut decap, mut encap) =
            (vec![OPERAND_PDR_ID, OPERAND_METER], vec![OPERAND_PDR_ID, OPERAND_METER]);
        encap.push(OPERAND_TEID);
        if program.profile == Profile::RedSpt {
            // Flags and DSCP value; address, QFI and flags.
            decap.extend([OPERAND_OCTET, OPERAND_OCTET]);
            encap.extend([OPERAND_IPV4, OPERAND_OCTET, OPERAND_OCTET]);
        }
        Self { decap, encap }
    }
}

/// A chain of tables of one direction: each is looked up when the previous one misses.
struct Chain<'a> {
    pipeline: &'a mut Pipeline,
    names: Vec<String>,
    /// The dependencies of the next table.
    misses: Vec<(String, Dependency)>,
}

impl Chain<'_> {
    fn add(&mut self, table: Table) -> Result<(), PlanError> {
        let name = table.name.clone();
        self.place(table)?;
        self.misses = vec![(name, Control)];
        Ok(())
    }

    fn place(&mut self, table: Table) -> Result<(), PlanError> {
        let after: Vec<_> = self.misses.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        self.names.push(table.name.clone());
        self.pipeline.add(table, &after)
    }

    /// A table of simple PDRs, by key or as a row of indexed ones.
    fn simple(&mut self, program: &Program, table: Table) -> Result<(), PlanError> {
        if !program.index_simple() {
            return self.add(table);
        }
        let mut last = Vec::new();
        for bank in direct::banks(&table) {
            last.push((bank.name.clone(), Control));
            self.place(bank)?;
        }
        self.misses = last;
        Ok(())
    }
}

pub(super) fn add(pipeline: &mut Pipeline, program: &Program, sizes: &Sizes) -> Result<Names, PlanError> {
    let uplink = uplink(pipeline, program, sizes)?;
    let downlink = downlink(pipeline, program, sizes)?;
    Ok(Names { uplink, downlink })
}

fn uplink(pipeline: &mut Pipeline, program: &Program, sizes: &Sizes) -> Result<Vec<String>, PlanError> {
    let operands = Operands::of(program);
    let under = |table: Table| table.when("user data", 1).when("uplink", 1);
    let mut chain = start(pipeline, program, "filters_ul", under)?;
    let complex = |name: &str, to: &[u32]| {
        under(Table::new(name, Ingress, complex_key(program, TUNNEL), sizes.complex).actions(&[to]))
    };
    let simple = |name: &str, entries, to: &[u32]| {
        under(Table::new(name, Ingress, Match::Exact(key(&[TUNNEL])), entries).actions(&[to]))
    };
    if sizes.complex > 0 {
        chain.add(complex("ul_to_n6_complex", &operands.decap))?;
    }
    chain.simple(program, simple("ul_to_n6_simple", sizes.n6_simple, &operands.decap))?;
    if sizes.complex > 0 {
        chain.add(complex("ul_to_n9_n3_complex", &operands.encap))?;
    }
    if sizes.n9_simple > 0 {
        chain.add(simple("ul_to_n9_n3_simple", sizes.n9_simple, &operands.encap))?;
    }
    Ok(chain.names)
}

fn downlink(pipeline: &mut Pipeline, program: &Program, sizes: &Sizes) -> Result<Vec<String>, PlanError> {
    let operands = Operands::of(program);
    let under = |way| move |table: Table| table.when("user data", 1).when("uplink", 0).when("tunnelled", way);
    let mut names = Vec::new();
    if sizes.dl_n9() > 0 {
        let tunnels = Table::new("dl_from_n9_simple", Ingress, Match::Exact(key(&[TUNNEL])), sizes.dl_n9());
        pipeline.add(under(1)(tunnels.actions(&[&operands.encap])), &[])?;
        names.push("dl_from_n9_simple".to_owned());
    }
    let mut chain = start(pipeline, program, "filters_dl", under(0))?;
    if sizes.complex > 0 {
        let fields = complex_key(program, if program.filters == Filters::Shared { UE_ADDRESS } else { &[] });
        let complex = Table::new("dl_from_n6_complex", Ingress, fields, sizes.complex);
        chain.add(under(0)(complex.actions(&[&operands.encap])))?;
    }
    let addresses = Match::Exact(key(&[UE_ADDRESS]));
    let simple = Table::new("dl_from_n6_simple", Ingress, addresses, sizes.n6_simple);
    chain.simple(program, under(0)(simple.actions(&[&operands.encap])))?;
    names.append(&mut chain.names);
    Ok(names)
}

/// A chain that begins with the shared filters of its direction, if there are any.
fn start<'a>(
    pipeline: &'a mut Pipeline,
    program: &Program,
    filters: &str,
    under: impl Fn(Table) -> Table,
) -> Result<Chain<'a>, PlanError> {
    let mut misses = Vec::new();
    if program.filters == Filters::Shared {
        pipeline.add(under(direct::filters(filters)), &[])?;
        misses.push((filters.to_owned(), Matches));
    }
    Ok(Chain { pipeline, names: Vec::new(), misses })
}

/// The key of complex PDRs, with the tunnel or address for the lookup of a shared filter.
fn complex_key(program: &Program, who: &[(&'static str, u32)]) -> Match {
    match program.filters {
        Filters::Shared => Match::Exact(key(&[who, FILTER_ID])),
        Filters::Unique if program.narrow_keys => Match::Ternary(key(&[who, FIVE_TUPLE])),
        Filters::Unique => Match::Ternary(key(&[who, FIVE_TUPLE, DSCP])),
    }
}
