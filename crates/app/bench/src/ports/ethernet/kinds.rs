//! The kinds of N3 ports.

use std::net::Ipv4Addr;

use causeway_lab::LabError;
use causeway_ports::Port;
use causeway_ports::tpacket::{EthernetGtpu, EthernetOptions};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::xdp::{XdpGtpu, XdpOptions};

/// A port, and how it works.
pub(super) type Opened = (Box<dyn Port>, String);

/// A kind of port: its name, and how to open it on an interface with an address.
pub(super) type Kind = (&'static str, fn(&str, Ipv4Addr) -> Result<Opened, LabError>);

/// All of them.
pub(super) const KINDS: &[Kind] = &[
    ("udp", |_, address| udp(address)),
    ("tpacket", tpacket),
    ("af_xdp", |dev, address| xdp(dev, address, true)),
    ("af_xdp, generic", |dev, address| xdp(dev, address, false)),
];

/// One by one, as the frames arrive.
fn udp(address: Ipv4Addr) -> Result<Opened, LabError> {
    let options = UdpOptions { offload: false, ..UdpOptions::default() };
    let port = UdpPort::bind("upf", (address, 2152).into(), &options)?;
    let how = port.offload().to_string();
    Ok((Box::new(port), how))
}

fn tpacket(dev: &str, address: Ipv4Addr) -> Result<Opened, LabError> {
    let options = EthernetOptions::on(dev);
    Ok((Box::new(EthernetGtpu::open("upf", &[address.into()], &options)?), "packet rings".into()))
}

fn xdp(dev: &str, address: Ipv4Addr, native: bool) -> Result<Opened, LabError> {
    let options = XdpOptions { native, ..XdpOptions::on(dev) };
    let port = XdpGtpu::open("upf", &[address.into()], &options)?;
    let how = port.description();
    Ok((Box::new(port), how))
}

/// The gNB's port: frames one by one, past the queueing discipline. Its own ring is the smallest and never read.
pub(super) fn gnb(address: Ipv4Addr) -> Result<Box<dyn Port>, LabError> {
    let options = EthernetOptions { ring: 0, bypass_queue: true, ..EthernetOptions::on("n3") };
    Ok(Box::new(EthernetGtpu::open("gnb", &[address.into()], &options)?))
}
