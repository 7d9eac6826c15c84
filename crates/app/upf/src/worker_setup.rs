//! Builds the workers of a configuration, each with its ports and an empty data plane.

use causeway_dataplane::Topology;
use causeway_n4::ApplyId;
use causeway_slowpath::Limits;
use causeway_types::Span;

use crate::config::{Config, WhenFull};
use crate::data_planes::{Common, Parts, build};
use crate::error::StartError;
use crate::memory::Budget;
use crate::worker::{PortSet, Schedule, WorkerSetup, cores};

/// Each worker with its ports and an empty data plane. The limits of all sessions are divided among the workers. Only
/// worker 0 sends Echo Requests to GTP-U peers.
pub(crate) fn worker_setups(
    config: &Config,
    topology: &Topology,
    ports: Vec<PortSet>,
    budget: &Budget,
) -> Result<Vec<WorkerSetup<ApplyId>>, StartError> {
    let workers = ports.len().max(1);
    let limits = share(budget.limits(limits(config)), workers);
    let common = Common::new(workers);
    let mut setups = Vec::new();
    for (number, ports) in ports.into_iter().enumerate() {
        let mut own = topology.clone();
        let icmp = own.routing.icmp_errors_per_second;
        own.routing.icmp_errors_per_second = icmp.div_ceil(u32::try_from(workers).unwrap_or(u32::MAX));
        if number > 0 {
            own.routing.echo.interval = Span::ZERO;
        }
        let parts = Parts {
            config,
            topology: own,
            limits,
            address_space: budget.address_space(),
            common: &common,
            number,
            workers,
        };
        let data_plane = build(config.upf.dataplane, &parts)?;
        setups.push(WorkerSetup { data_plane, ports, schedule: schedule(config, number)?, n4: None });
    }
    Ok(setups)
}

/// One worker's share of the limits of all sessions.
fn share(limits: Limits, workers: usize) -> Limits {
    Limits {
        macs: limits.macs.div_ceil(workers),
        buffer_packets: limits.buffer_packets.div_ceil(workers),
        buffer_octets: limits.buffer_octets.div_ceil(workers),
        ..limits
    }
}

/// The core and polling mode of a packet thread.
fn schedule(config: &Config, number: usize) -> Result<Schedule, StartError> {
    let workers = &config.upf.workers;
    let core = workers.pin.get(number).copied();
    let allowed = cores()?;
    if let Some(core) = core.filter(|core| !allowed.contains(core)) {
        return Err(StartError::Core { core, allowed });
    }
    Ok(Schedule { core, busy_poll: workers.busy_poll })
}

/// Octets, limited to the address range of this platform.
fn size(octets: u64) -> usize {
    usize::try_from(octets).unwrap_or(usize::MAX)
}

fn limits(config: &Config) -> Limits {
    let upf = &config.upf;
    Limits {
        max_sessions: upf.max_sessions,
        max_pdrs_per_session: upf.max_pdrs_per_session,
        macs_per_session: upf.max_macs_per_session as usize,
        macs: (upf.max_sessions as usize).saturating_mul(upf.max_macs_per_session as usize),
        buffer_packets_per_session: upf.buffering.packets_per_session as usize,
        buffer_octets_per_session: size(upf.buffering.octets_per_session),
        buffer_packets: upf.buffering.packets as usize,
        buffer_octets: size(upf.buffering.memory),
        buffer_time: Some(upf.buffering.time).filter(|time| !time.is_zero()),
        when_full: match upf.buffering.when_full {
            WhenFull::DropNewest => causeway_slowpath::WhenFull::DropNewest,
            WhenFull::DropOldest => causeway_slowpath::WhenFull::DropOldest,
        },
        notify_again: Some(upf.buffering.notify_again).filter(|span| !span.is_zero()),
        averaging_window: upf.qos.averaging_window,
        ..Limits::default()
    }
}
