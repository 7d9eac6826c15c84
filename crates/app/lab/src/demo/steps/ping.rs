//! Ping from every UE.

use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use causeway_types::{Qfi, QfiSet};

use super::attach::QFI;
use crate::LabError;
use crate::demo::environment::{DemoEnvironment, Ue};
use crate::demo::path::Route;
use crate::demo::step::Observer;
use crate::topology::{DN, DN_V6};
use crate::traffic::ping::{PingResult, ping};

const COUNT: u32 = 10;

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let pings = stage.network()?.ues.iter().map(|ue| targets(ue).len()).sum::<usize>();
    let packets = pings as u64 * u64::from(COUNT);
    stage.follow(Route::RoundTrip, packets);
    let network = stage.network()?;
    let namespace = network.topology.ue.clone();
    observer.progress(format!("{} UEs in parallel, {COUNT} each", network.ues.len()));
    let results: Vec<Vec<Result<PingResult, LabError>>> = thread::scope(|scope| {
        let start = |ue: &Ue| {
            let (device, namespace) = (ue.device.clone(), namespace.clone());
            let ping = move |to: IpAddr| {
                let (device, namespace) = (device.clone(), namespace.clone());
                scope.spawn(move || ping(&namespace, &device, to, COUNT))
            };
            targets(ue).into_iter().map(ping).collect::<Vec<_>>()
        };
        let running: Vec<_> = network.ues.iter().map(start).collect();
        let join = |ping: thread::ScopedJoinHandle<'_, _>| {
            ping.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        running.into_iter().map(|pings| pings.into_iter().map(join).collect()).collect()
    });
    let flow: QfiSet = Qfi::new(QFI).into_iter().collect();
    let (mut times, mut answered, mut over_ipv6) = (Vec::new(), 0, 0);
    let results = network.ues.iter().zip(results);
    for ((ue, to), result) in
        results.flat_map(|(ue, results)| targets(ue).into_iter().map(move |to| (ue, to)).zip(results))
    {
        let result = result?;
        answered += u64::from(result.received);
        over_ipv6 += u64::from(result.received) * u64::from(to.is_ipv6());
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
        observer.expect(&format!("{} to {to}", ue.device), seen, result.is_lossless() && through && marked);
        times.extend(result.round_trip);
    }
    let average = times.iter().sum::<Duration>() / u32::try_from(times.len().max(1)).unwrap_or(1);
    observer.summarise(format!(
        "0 % loss for {} UEs, {packets} packets, {over_ipv6} of them IPv6, {:.2} ms average",
        network.ues.len(),
        milliseconds(Some(average))
    ));
    stage.arrived(Some(answered));
    Ok(())
}

/// What a UE pings: over each protocol that its session has.
fn targets(ue: &Ue) -> Vec<IpAddr> {
    let v4 = ue.addresses.ipv4().map(|_| DN.into());
    let v6 = ue.addresses.ipv6().map(|_| DN_V6.into());
    v4.into_iter().chain(v6).collect()
}

fn milliseconds(duration: Option<Duration>) -> f64 {
    duration.unwrap_or_default().as_secs_f64() * 1000.0
}
