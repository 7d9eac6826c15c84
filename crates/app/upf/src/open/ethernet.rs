//! N6 of Ethernet sessions: a TAP device for each Ethernet network.

use causeway_dataplane::EthernetNetwork;
use causeway_ports::Port;
use causeway_ports::tap::{TapOptions, TapPort};
use causeway_types::NetworkInstance;
use tracing::info;

use super::reconnect::reconnecting;
use crate::config::{EthernetNetwork as Configured, UnknownStations, Upf};
use crate::error::StartError;
use crate::worker::PortSet;

/// Opens the TAP devices, in the order of the configuration.
pub(super) fn open(upf: &Upf, set: &mut PortSet) -> Result<(), StartError> {
    upf.ethernet.iter().enumerate().try_for_each(|(n, network)| open_one(n, network, set))
}

fn open_one(n: usize, network: &Configured, set: &mut PortSet) -> Result<(), StartError> {
    let options =
        TapOptions { device: network.dev.clone(), bridge: network.bridge.clone(), mtu: Some(network.mtu) };
    let failed = |source| StartError::Port { key: format!("upf.ethernet[{n}].dev"), source };
    let name = format!("n6-{}", network.dev);
    let port = TapPort::open(&name, &options).map_err(failed)?;
    let again = move || TapPort::open(&name, &options).map(|port| Box::new(port) as Box<dyn Port>);
    let port = reconnecting(port, again);
    let bridge = network.bridge.as_deref().map_or_else(String::new, |bridge| format!(" of bridge {bridge}"));
    info!("N6 of {} on TAP device {}{bridge}, MTU {}", network.dnn, network.dev, network.mtu);
    let instance = NetworkInstance::new(&network.dnn);
    let flood_unknown = network.unknown_stations == UnknownStations::Flood;
    set.add_ethernet(EthernetNetwork { instance, flood_unknown }, port);
    Ok(())
}
