//! Ping from every UE.

use std::thread;
use std::time::Duration;

use causeway_types::{Qfi, QfiSet};

use super::attach::QFI;
use crate::LabError;
use crate::demo::environment::DemoEnvironment;
use crate::demo::step::Observer;
use crate::topology::DN;
use crate::traffic::ping::{PingResult, ping};

const COUNT: u32 = 10;

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let network = stage.network()?;
    let ues = network.topology.ue.clone();
    observer.progress(format!("{} UEs in parallel, {COUNT} each", network.ues.len()));
    let results: Vec<Result<PingResult, LabError>> = thread::scope(|scope| {
        let running: Vec<_> =
            network.ues.iter().map(|ue| scope.spawn(|| ping(&ues, &ue.device, DN, COUNT))).collect();
        let joined = running.into_iter().map(|ping| ping.join());
        joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let flow: QfiSet = Qfi::new(QFI).into_iter().collect();
    let mut times = Vec::new();
    for (ue, result) in network.ues.iter().zip(results) {
        let result = result?;
        let tunnel = network.ran.tunnel(ue.gnb, ue.downlink.teid);
        let through =
            tunnel.packets >= u64::from(COUNT) && network.ran.ue(ue.id).uplink_packets >= u64::from(COUNT);
        let marked = tunnel.qfis == flow && tunnel.without_container == 0;
        let seen = format!(
            "{} of {} answered, {:.2} ms; {} packets in tunnel {}",
            result.received,
            result.sent,
            milliseconds(result.round_trip),
            tunnel.packets,
            ue.downlink.teid
        );
        observer.expect(&ue.device, seen, result.is_lossless() && through && marked);
        times.extend(result.round_trip);
    }
    let average = times.iter().sum::<Duration>() / u32::try_from(times.len().max(1)).unwrap_or(1);
    observer.summarise(format!(
        "0 % loss for {} UEs, {} packets, {:.2} ms average",
        network.ues.len(),
        network.ues.len() * COUNT as usize,
        milliseconds(Some(average))
    ));
    Ok(())
}

fn milliseconds(duration: Option<Duration>) -> f64 {
    duration.unwrap_or_default().as_secs_f64() * 1000.0
}
