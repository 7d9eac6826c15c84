//! The cost of reception and transmission without a data plane: the ports of N3 and N6, including the kernel.

mod ethernet;
mod options;
mod sockets;

pub use options::Options;

use crate::kit::{Progress, last_core};
use crate::namespaces::BenchNamespaces;
use crate::report::Report;
use crate::{BenchError, Common};

/// Measures ports above IP with the kernel's help and without, and each kind of N3 port on Ethernet.
///
/// # Errors
/// [`BenchError::Needs`] without the right to make network namespaces, or the error of opening a port or socket there.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let options = if common.quick { options.clone().quick() } else { options.clone() };
    options.check()?;
    let core = common.core.map_or_else(last_core, Ok)?;
    let nets = BenchNamespaces::acquire()?;
    let mut progress = Progress::new();
    Ok(vec![
        sockets::run(&options, &nets, &mut progress)?,
        ethernet::run(&options, core, &nets, &mut progress)?,
    ])
}
