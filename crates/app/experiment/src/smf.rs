//! The SMF of the paper: its requests, and their times.

use causeway_types::{Span, Time};

use crate::ExperimentError;
use crate::samples::Latencies;
use crate::simulation::{CompletedOperation, Kind, Simulation};

/// Concurrent requests of the measurement of rates (section 6.2 of HiP4-UPF).
const OUTSTANDING: usize = 10;

/// Concurrent handovers, their interval, and their duration, in the measurement of latency (section 6.2).
const CONCURRENT_HANDOVERS: u32 = 2;
const HANDOVER_INTERVAL: Span = Span::from_millis(10);
const HANDOVER_TIME: Span = Span::from_secs(1);

/// Requests two handovers of random UEs every 10 ms for a second, and waits for all; `runs` times. Returns the duration
/// of each.
///
/// # Errors
/// [`ExperimentError`] when the switch refuses one.
pub fn handovers(
    world: &mut Simulation,
    random: &mut fastrand::Rng,
    times: u32,
    mut progress: impl FnMut(u64, u64),
) -> Result<Latencies, ExperimentError> {
    let mut done: Vec<CompletedOperation> = Vec::new();
    let mut asked = 0;
    for time in 0..times {
        progress(time.into(), times.into());
        let start = world.now();
        for round in 0..(HANDOVER_TIME.as_nanos() / HANDOVER_INTERVAL.as_nanos()) as u32 {
            run_to(world, start + HANDOVER_INTERVAL * round, &mut done)?;
            for _ in 0..CONCURRENT_HANDOVERS {
                let ues = world.setting.ues;
                asked += usize::from((0..100).try_fold(false, |asked, _| {
                    if asked { Ok(true) } else { world.start_operation(Kind::Handover, random.u32(..ues)) }
                })?);
            }
        }
        while done.len() < asked {
            done.extend(world.run(world.now() + HANDOVER_TIME)?);
        }
    }
    Ok(Latencies::new(done.iter().map(CompletedOperation::latency)))
}

/// Advances time without requests.
///
/// # Errors
/// As [`handovers`].
pub fn wait(
    world: &mut Simulation,
    span: Span,
    mut progress: impl FnMut(u64, u64),
) -> Result<(), ExperimentError> {
    let start = world.now();
    while world.now().since(start) < span {
        progress(world.now().since(start).as_millis() as u64, span.as_millis() as u64);
        let next = (world.now() + HANDOVER_INTERVAL).min(start + span);
        run_to(world, next, &mut Vec::new())?;
    }
    Ok(())
}

/// Requests ten operations and waits for all ten, repeatedly for a second, and then for the last ones. Returns their
/// number, and the total time.
///
/// # Errors
/// As [`handovers`].
pub fn rate(
    world: &mut Simulation,
    kind: Kind,
    span: Span,
    mut ues: impl Iterator<Item = u32>,
) -> Result<(usize, Span), ExperimentError> {
    let start = world.now();
    let mut answered = 0;
    while world.now().since(start) < span {
        let mut asked = 0;
        while asked < OUTSTANDING
            && let Some(ue) = ues.next()
        {
            asked += usize::from(world.start_operation(kind, ue)?);
        }
        if asked == 0 {
            break;
        }
        let mut done = 0;
        while done < asked {
            done += world.run(world.now() + HANDOVER_TIME)?.len();
        }
        answered += done;
    }
    Ok((answered, world.now().since(start)))
}

fn run_to(
    world: &mut Simulation,
    until: Time,
    done: &mut Vec<CompletedOperation>,
) -> Result<(), ExperimentError> {
    while world.now() < until {
        done.extend(world.run(until)?);
    }
    Ok(())
}
