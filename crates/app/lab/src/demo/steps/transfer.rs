//! Bulk TCP in both directions.

use std::net::SocketAddrV4;
use std::time::Duration;

use causeway_types::Direction;

use super::cast;
use crate::LabError;
use crate::demo::environment::{Captures, DemoEnvironment};
use crate::demo::path::Route;
use crate::demo::step::Observer;
use crate::topology::DN;
use crate::traffic::bulk::{Limit, Server, transfer};

const PORT: u16 = 5201;
const LIMIT: Limit = Limit { octets: 1 << 30, time: Duration::from_secs(2), at_least: AT_LEAST };

/// Frames of each direction that the captures store, of hundreds of thousands.
const CAPTURED: u64 = 400;

/// The least octets of a successful transfer.
const AT_LEAST: u64 = 1 << 20;

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let server = SocketAddrV4::new(DN, PORT);
    let _server = Server::start(&stage.network()?.topology.dn, server)?;
    let mut rates = Vec::new();
    let directions =
        [(Direction::Uplink, Route::Uplink, "up"), (Direction::Downlink, Route::Downlink, "down")];
    for (direction, route, name) in directions {
        observer.progress(format!("{name} for {} s", LIMIT.time.as_secs()));
        stage.follow(route, None);
        let network = stage.network()?;
        limit(&network.captures, Some(CAPTURED));
        let (ue, _, _, topology) = network.ue(cast::TRANSFERS)?;
        let done = transfer(&topology.ue, &ue.device, server, direction, LIMIT)?;
        stage.arrived(None);
        let rate = done.bits_per_second() / 1e6;
        let seen = format!("{} octets in {:.2} s, {rate:.0} Mbit/s", done.octets, done.elapsed.as_secs_f64());
        observer.expect(name, seen, done.octets >= AT_LEAST);
        rates.push(format!("{name} {rate:.0} Mbit/s"));
    }
    limit(&stage.network()?.captures, None);
    observer.note("captures", format!("the first {CAPTURED} frames of each direction"));
    observer.summarise(rates.join(", "));
    Ok(())
}

fn limit(captures: &Captures, frames: Option<u64>) {
    captures.n3.limit(frames);
    captures.n6.limit(frames);
}
