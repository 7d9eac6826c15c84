//! What may be wrong at one place of a configuration, and what would be right.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use causeway_types::{IpNet, SNssai};
use thiserror::Error;

/// What is wrong at one place.
#[derive(Debug, Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot read the configuration: {0}")]
    Unreadable(std::io::Error),
    /// A FIFO, a device, a directory or the like, which may have no end or never begin.
    #[error("{found}, not a file: give a regular file")]
    NoFile {
        /// What it is.
        found: &'static str,
    },
    /// The file is longer than any configuration is.
    #[error("larger than {most} octets: this is no configuration file")]
    TooLong {
        /// The limit.
        most: u64,
    },
    /// The text is not UTF-8.
    #[error("not UTF-8 text")]
    NotText,
    /// The text is not YAML.
    #[error("not YAML: {0}")]
    NotYaml(String),
    /// An anchor, an alias or a tag.
    #[error("anchors, aliases and tags have no meaning here: write the value out")]
    AnchorOrTag,
    /// A second YAML document in one file.
    #[error("a second document begins here: one file holds one configuration")]
    SecondDocument,
    /// A list or mapping as a key.
    #[error("a key must be a plain word")]
    KeyIsNoText,
    /// Lists and mappings too deep inside each other.
    #[error("more than {most} levels deep")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// A key twice in one mapping.
    #[error("`{key}` is given twice, first in line {first}: remove one")]
    DuplicateKey {
        /// The key.
        key: String,
        /// The line of the first one.
        first: usize,
    },
    /// A key that does not exist.
    #[error("unknown key, {0}")]
    UnknownKey(Hint),
    /// A list where a value is expected, or the like.
    #[error("expected {expected}, found {found}")]
    WrongKind {
        /// What belongs here.
        expected: &'static str,
        /// What is here.
        found: &'static str,
    },
    /// A value that is not one of those allowed.
    #[error("`{found}` is not {expected}")]
    WrongValue {
        /// The value.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// Something that must be given.
    #[error("missing: {0}")]
    Missing(&'static str),
    /// An address that cannot be ours.
    #[error("{address} cannot be told to a peer as our address: give one address of this machine")]
    NotUnicast {
        /// The address.
        address: IpAddr,
    },
    /// Two keys of which only one may be given.
    #[error("give `address` or `dev`, not both")]
    AddressAndDev,
    /// The same address and port twice.
    #[error("{socket} is given twice, first as {first}")]
    DuplicateEndpoint {
        /// Address and port.
        socket: SocketAddr,
        /// The key of the first.
        first: String,
    },
    /// The same interface twice.
    #[error("interface {dev} is given twice, first as {first}")]
    DuplicateDevice {
        /// The interface.
        dev: String,
        /// The key of the first.
        first: String,
    },
    /// Two forwarding policies of one name.
    #[error("policy {name} is given twice, first as {first}")]
    DuplicatePolicy {
        /// The name.
        name: String,
        /// The key of the first.
        first: String,
    },
    /// The same network slice twice.
    #[error("slice {slice} is given twice, first as {first}")]
    DuplicateSlice {
        /// The slice.
        slice: SNssai,
        /// The key of the first.
        first: String,
    },
    /// A network that no UE pool is on.
    #[error("no item of upf.session has the dnn {dnn}")]
    NoSuchNetwork {
        /// The network.
        dnn: String,
    },
    /// Our end of a tunnel has a UE's address.
    #[error("{address} is an address of the UE pool {subnet}: give one outside")]
    AddressInPool {
        /// Our end.
        address: IpAddr,
        /// The pool.
        subnet: IpNet,
    },
    /// Two UE pools share addresses.
    #[error("{subnet} overlaps {other} of {first}: give each UE address one pool")]
    SubnetsOverlap {
        /// The pool.
        subnet: IpNet,
        /// The pool before it.
        other: IpNet,
        /// The key of that one.
        first: String,
    },
    /// Framed routes into a prefix that no UE can have behind it.
    #[error("{range} holds loopback, link-local, multicast or reserved addresses: give prefixes behind UEs")]
    RangeNotRoutable {
        /// The prefix.
        range: IpNet,
    },
    /// Framed routes of one data network into what another has.
    #[error("{range} overlaps {other} of {first}: give each data network ranges of its own")]
    RangesOverlap {
        /// The prefix.
        range: IpNet,
        /// What the other network has.
        other: IpNet,
        /// The key of that.
        first: String,
    },
    /// The UE addresses to give out are not routed here.
    #[error("{pool} is not inside the subnet {subnet}")]
    PoolOutside {
        /// What is to be given out.
        pool: IpNet,
        /// What is routed here.
        subnet: IpNet,
    },
    /// The gateway is not in its subnet.
    #[error("{gateway} is not in {subnet}: give an address of the subnet, for example {example}")]
    GatewayOutside {
        /// The gateway.
        gateway: IpAddr,
        /// The subnet.
        subnet: IpNet,
        /// An address that would be right.
        example: IpAddr,
    },
    /// One TUN device for two data networks.
    #[error("{dev} carries `{other}` (of {first}) already: give `{dnn}` a device of its own")]
    DeviceShared {
        /// The device.
        dev: String,
        /// The network here.
        dnn: String,
        /// The network there.
        other: String,
        /// The key of that one.
        first: String,
    },
    /// One data network on two TUN devices.
    #[error("`{dnn}` is on {other} (of {first}) already: put all its pools on one device")]
    NetworkOnTwoDevices {
        /// The network.
        dnn: String,
        /// The device there.
        other: String,
        /// The key of that one.
        first: String,
    },
    /// Two data networks of one name.
    #[error("`{dnn}` is a data network already ({first}): give each its own name")]
    DuplicateNetwork {
        /// The name.
        dnn: String,
        /// The key of the first.
        first: String,
    },
    /// Another port than GTP-U's own, below UDP.
    #[error("mode {mode} uses port 2152 only: remove `port`")]
    PortIsFixed {
        /// The mode.
        mode: &'static str,
    },
    /// A mode below IP that is to send fragments.
    #[error("mode {mode} sends no fragments: remove `fragment`")]
    NoFragments {
        /// The mode.
        mode: &'static str,
    },
    /// A mode that leaves addresses to the operator.
    #[error("mode {mode} gives {dev} no address: remove `gateway` and use `ip address add`")]
    NoGateway {
        /// The mode.
        mode: &'static str,
        /// The interface.
        dev: String,
    },
    /// One device in two modes.
    #[error("{dev} has mode {other} in {first}: give it one mode")]
    ModeDiffers {
        /// The device.
        dev: String,
        /// The mode there.
        other: &'static str,
        /// Where that is said.
        first: String,
    },
    /// Several packet threads on ports that have one queue.
    #[error("mode {mode} has one packet thread: set upf.workers.count to 1, or use mode udp or af_xdp")]
    OneWorker {
        /// How packets are received.
        mode: &'static str,
    },
    /// Several packet threads for one switch.
    #[error("upf.dataplane switch has one packet thread: set upf.workers.count to 1 or auto")]
    OneSwitch,
    /// The P4 program always takes a hop.
    #[error("upf.dataplane switch takes a hop from packets: leave it out, or use another data plane")]
    SwitchHops,
    /// A key of ports that would be this machine's.
    #[error("the ports are those of the switch (upf.switch.address): remove it")]
    PortKeyWithSwitch,
    /// The P4 programs have tunnels over IPv4.
    #[error("tunnels over IPv6 are not on the switch: give an IPv4 address")]
    SwitchTunnelsIpv6,
    /// What the software behind a switch cannot do, as it has no ports.
    #[error("a switch (upf.switch.address) has none of these: remove it")]
    UnsupportedOnSwitch,
    /// Cores are named for more or fewer packet threads than there are.
    #[error("cores: {pinned}, packet threads: {count}: name one core for each (upf.workers.count), or none")]
    PinsDiffer {
        /// Cores that are named.
        pinned: usize,
        /// Packet threads.
        count: usize,
    },
    /// One TUN device with two MTUs.
    #[error("{dev} has MTU {other} in {first}: give it one MTU")]
    MtuDiffers {
        /// The device.
        dev: String,
        /// The other MTU.
        other: u32,
        /// Where that is said.
        first: String,
    },
    /// An MTU that IPv6 cannot live with.
    #[error("IPv6 ({subnet}) needs an MTU of 1280 or more")]
    MtuBelowIpv6 {
        /// The subnet.
        subnet: IpNet,
    },
    /// An SMF that none of our sockets can reach.
    #[error("{address} is {family}, but no upf.pfcp.server has an {family} address: add one")]
    NoServerOfFamily {
        /// The SMF.
        address: IpAddr,
        /// `IPv4` or `IPv6`.
        family: &'static str,
    },
}

/// What would be right instead of an unknown key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hint {
    /// The nearest key that exists.
    DidYouMean(&'static str),
    /// What to do about a key that other UPFs have.
    Instead(&'static str),
    /// All keys that exist there.
    Known(Vec<&'static str>),
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DidYouMean(key) => write!(f, "did you mean `{key}`?"),
            Self::Instead(text) => f.write_str(text),
            Self::Known(keys) => write!(f, "known here: {}", keys.join(", ")),
        }
    }
}
