//! The problems of single configuration values, with their remedies.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use causeway_ports::MAX_OTHERS;
use causeway_types::{IpNet, SNssai};
use thiserror::Error;

/// A problem of one value.
#[derive(Debug, Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot read the configuration: {0}")]
    Unreadable(std::io::Error),
    /// A FIFO, a device or a directory: reading it might not end.
    #[error("{found}, not a file: give a regular file")]
    NoFile {
        /// The kind of file.
        found: &'static str,
    },
    /// The file is too long for a configuration.
    #[error("larger than {most} octets: this is not a configuration file")]
    TooLong {
        /// The limit.
        most: u64,
    },
    /// A flag or a variable sets an item behind the next one of a list.
    #[error("the list has {items} items, numbered from 0: the next is {items}, not {item}")]
    NoSuchItem {
        /// The number of the item.
        item: usize,
        /// The number of items.
        items: usize,
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
        /// The expected kind.
        expected: &'static str,
        /// The kind in the file.
        found: &'static str,
    },
    /// A value that is not one of those allowed.
    #[error("`{found}` is not {expected}")]
    WrongValue {
        /// The value.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// A required value is missing.
    #[error("missing: {0}")]
    Missing(&'static str),
    /// An address that cannot be announced to a peer.
    #[error("{address} cannot be announced to a peer: give one unicast address of this host")]
    NotUnicast {
        /// The address.
        address: IpAddr,
    },
    /// An IPv6 address of one link: no socket has it without the interface, and a peer does not know which.
    #[error("{address} is a link-local address: give a global or unique local one (of 2000::/3 or fd00::/8)")]
    LinkLocal {
        /// The address.
        address: IpAddr,
    },
    /// An advertised address of another IP version than that of the socket.
    #[error(
        "{advertised} stands for {address}, which is of the other IP version: give an address of the same"
    )]
    AdvertisedVersion {
        /// The advertised address.
        advertised: IpAddr,
        /// The address of the socket.
        address: IpAddr,
    },
    /// An advertised address of a switch.
    #[error("a switch has its addresses in its tables, and advertises no others: remove `advertise`")]
    SwitchAdvertises,
    /// Something that a reload cannot put into force.
    #[error("{0}")]
    NotInForce(String),
    /// Two keys of which only one may be given.
    #[error("give `address` or `dev`, not both")]
    AddressAndDev,
    /// The management API in clear text beyond this host.
    #[error(
        "{address} is reachable from other hosts: give `upf.management.tls` with `certificate` and `key`, or a loopback address"
    )]
    ManagementWithoutTls {
        /// The listening address.
        address: IpAddr,
    },
    /// The management API beyond this host for everyone.
    #[error(
        "{address} is reachable from other hosts: give `upf.management.token_file` or `upf.management.tls.client_ca`, which \
         tell who may call"
    )]
    ManagementForEveryone {
        /// The listening address.
        address: IpAddr,
    },
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
    /// Two forwarding policies with the same name.
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
    /// A network without a UE pool.
    #[error("no item of upf.session has the dnn {dnn}")]
    NoSuchNetwork {
        /// The network.
        dnn: String,
    },
    /// The local endpoint of a tunnel has the address of a UE.
    #[error("{address} is an address of the UE pool {subnet}: give one outside")]
    AddressInPool {
        /// The local endpoint.
        address: IpAddr,
        /// The pool.
        subnet: IpNet,
    },
    /// A pool with addresses that no UE can have.
    #[error(
        "{subnet} holds loopback or multicast addresses: give a prefix for UEs alone, for example 10.45.0.0/16"
    )]
    PoolOfOthers {
        /// The pool.
        subnet: IpNet,
    },
    /// Two UE pools share addresses.
    #[error("{subnet} overlaps {other} of {first}: give each UE address one pool")]
    SubnetsOverlap {
        /// The pool.
        subnet: IpNet,
        /// The earlier pool.
        other: IpNet,
        /// The key of the other one.
        first: String,
    },
    /// Two segments have one VNI at one address.
    #[error("VNI {vni} at {local} is already that of {first}")]
    DuplicateVni {
        /// The VNI.
        vni: causeway_packet::vxlan::Vni,
        /// The local address.
        local: IpAddr,
        /// The key of the other one.
        first: String,
    },
    /// The ends of a segment have different IP versions.
    #[error("{remote} has another IP version than the local address {local}")]
    VxlanFamilies {
        /// The other end.
        remote: IpAddr,
        /// This end.
        local: IpAddr,
    },
    /// No segment has this name.
    #[error("no item of upf.vxlan has the name {dev}: add the segment")]
    NoSuchSegment {
        /// The name.
        dev: String,
    },
    /// Framed routes in a prefix that no UE can serve.
    #[error("{range} holds loopback, link-local, multicast or reserved addresses: give prefixes behind UEs")]
    RangeNotRoutable {
        /// The prefix.
        range: IpNet,
    },
    /// Framed routes of one data network that overlap a prefix of another.
    #[error("{range} overlaps {other} of {first}: give each data network ranges of its own")]
    RangesOverlap {
        /// The prefix.
        range: IpNet,
        /// The prefix of the other network.
        other: IpNet,
        /// The key of the other prefix.
        first: String,
    },
    /// The UE addresses to allocate are not routed to the UPF.
    #[error("{pool} is not inside the subnet {subnet}")]
    PoolOutside {
        /// The pool.
        pool: IpNet,
        /// The subnet.
        subnet: IpNet,
    },
    /// A pool of a switch without room for a UE's prefix.
    #[error(
        "{net} has no room for the /64 that a switch has for each UE: give a /64 or shorter, or use upf.dataplane fastpath"
    )]
    PoolBelowUePrefix {
        /// The pool.
        net: IpNet,
    },
    /// The gateway is not in its subnet.
    #[error("{gateway} is not in {subnet}: give an address of the subnet, for example {example}")]
    GatewayOutside {
        /// The gateway.
        gateway: IpAddr,
        /// The subnet.
        subnet: IpNet,
        /// A valid address.
        example: IpAddr,
    },
    /// One TUN device for two data networks.
    #[error("{dev} already carries `{other}` (of {first}): give `{dnn}` another device")]
    DeviceShared {
        /// The device.
        dev: String,
        /// The network of this key.
        dnn: String,
        /// The network of the other key.
        other: String,
        /// The key of the other one.
        first: String,
    },
    /// One data network on two TUN devices.
    #[error("`{dnn}` is already on {other} (of {first}): put all its pools on one device")]
    NetworkOnTwoDevices {
        /// The network.
        dnn: String,
        /// The device of the other key.
        other: String,
        /// The key of the other one.
        first: String,
    },
    /// Two data networks with the same name.
    #[error("`{dnn}` is already a data network ({first}): give each a unique name")]
    DuplicateNetwork {
        /// The name.
        dnn: String,
        /// The key of the first.
        first: String,
    },
    /// A mode below UDP with another port than that of GTP-U.
    #[error("mode {mode} uses port 2152 only: remove `port`")]
    PortIsFixed {
        /// The mode.
        mode: &'static str,
    },
    /// A mode below IP with `fragment`.
    #[error("mode {mode} sends no fragments: remove `fragment`")]
    NoFragments {
        /// The mode.
        mode: &'static str,
    },
    /// A mode in which the operator configures addresses.
    #[error("mode {mode} gives {dev} no address: remove `gateway` and use `ip address add`")]
    NoGateway {
        /// The mode.
        mode: &'static str,
        /// The interface.
        dev: String,
    },
    /// A mode in which packets bypass the kernel.
    #[error(
        "packets of mode {mode} bypass the kernel, which would translate addresses: remove `nat`, or use mode tun"
    )]
    NoNat {
        /// The mode.
        mode: &'static str,
    },
    /// A device that no rule of nftables can name.
    #[error("rules for {dev} cannot be written: give `dev` a name of letters, digits, `-`, `_` and `.`")]
    NatDevice {
        /// The device.
        dev: String,
    },
    /// One device in two modes.
    #[error("{dev} has mode {other} in {first}: give it one mode")]
    ModeDiffers {
        /// The device.
        dev: String,
        /// The mode of the other key.
        other: &'static str,
        /// The other key.
        first: String,
    },
    /// Several packet threads on ports that have one queue.
    #[error("mode {mode} has one packet thread: set upf.workers.count to 1, or use mode udp or af_xdp")]
    OneWorker {
        /// The mode.
        mode: &'static str,
    },
    /// Several packet threads for one switch.
    #[error("upf.dataplane {dataplane} has one packet thread: set upf.workers.count to 1 or auto")]
    OneSwitch {
        /// The name of the data plane.
        dataplane: &'static str,
    },
    /// The packets of a switch pass elsewhere.
    #[error(
        "upf.dataplane {dataplane} has no packet thread that could answer: remove the key, or use fastpath"
    )]
    AcceleratedSwitch {
        /// The name of the data plane.
        dataplane: &'static str,
    },
    /// A packet thread waits for few sockets.
    #[error(
        "{count} addresses in upf.pfcp.server: a packet thread receives at most {MAX_OTHERS}, half as many in mode af_xdp: remove the key"
    )]
    AcceleratedAddresses {
        /// The number of N4 addresses.
        count: usize,
    },
    /// The control thread has no ports.
    #[error("mode af_xdp is for N4 in a packet thread: add upf.pfcp.accelerate: true, or use mode udp")]
    N4NotInPacketThread,
    /// The P4 program always decrements TTL and hop limit.
    #[error("upf.dataplane {dataplane} always decrements the TTL: remove the key, or use another data plane")]
    SwitchHops {
        /// The name of the data plane.
        dataplane: &'static str,
    },
    /// A rule of the firewall cannot be read.
    #[error("line {line} of the rules, `{text}`: {error}")]
    FirewallRule {
        /// The line within the value, from 1.
        line: usize,
        /// The rule.
        text: String,
        /// Why not.
        error: causeway_dataplane::FirewallRuleError,
    },
    /// A direction has too many rules.
    #[error("{count} rules of one direction; at most 4096 are possible: join prefixes")]
    FirewallRules {
        /// The number of rules.
        count: usize,
    },
    /// A switch takes VXLAN and GTP-U at different addresses.
    #[error(
        "{local} is also an address of upf.gtpu.server: a switch tells VXLAN and GTP-U by their addresses, so give another one"
    )]
    UnderlayOfGtpu {
        /// The address.
        local: IpAddr,
    },
    /// The switch has no way to the other end of a segment.
    #[error("no item of upf.switch.route leads to {remote}: add one `of: underlay`")]
    NoUnderlayRoute {
        /// The other end.
        remote: IpAddr,
    },
    /// The model of a switch has fewer rows.
    #[error(transparent)]
    SwitchFirewall(causeway_switch::backend::FirewallError),
    /// The data plane looks for nothing in the traffic.
    #[error(
        "upf.dataplane {dataplane} looks for no heavy hitters: remove the key, or use another data plane"
    )]
    SwitchTraffic {
        /// The name of the data plane.
        dataplane: &'static str,
    },
    /// The switch has no such threshold.
    #[error("{0}, or use upf.dataplane fastpath")]
    SwitchThreshold(#[from] causeway_switch::heavy_hitters::ThresholdRefused),
    /// The switch looks for heavy hitters in one way.
    #[error(
        "upf.dataplane switch looks for heavy hitters among {has}: remove the key, or use upf.dataplane fastpath"
    )]
    SwitchHeavyHitters {
        /// Its way.
        has: &'static str,
    },
    /// No P4 program has both blocks.
    #[error(
        "a switch finds heavy hitters or application classes, not both: remove this key or upf.traffic.classes.model, or use upf.dataplane fastpath"
    )]
    SwitchTrafficBoth,
    /// A switch in front of the fast path measures no windows.
    #[error(
        "upf.dataplane {dataplane} has no application classes: remove the key, or use fastpath or switch"
    )]
    SwitchClasses {
        /// The name of the data plane.
        dataplane: &'static str,
    },
    /// The model file cannot be used.
    #[error("{}: {why}", path.display())]
    Model {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        why: String,
    },
    /// A detector cannot be made with these numbers.
    #[error("{error}: change `threshold`, `window` or `memory`")]
    HeavyHitters {
        /// The number that is out of range.
        error: causeway_traffic::ConfigError,
    },
    /// A rule would be demoted at the rate that promotes it.
    #[error("above upf.hybrid.promote_at, {promote_at}: give at most that; half of it is usual")]
    ThresholdsReversed {
        /// The rate that promotes a rule.
        promote_at: String,
    },
    /// A member of a chain needs the key.
    #[error("is missing: with upf.chain.member all keys of upf.chain are needed (docs/chain.md)")]
    ChainKeyMissing,
    /// A chain cannot have it.
    #[error("is not possible with upf.chain.member (docs/chain.md): remove one of both")]
    NotInChain,
    /// Another member would not have the address.
    #[error(
        "with upf.chain.member it is one of upf.chain.address, which the primary has on whichever host it is"
    )]
    NotAServiceAddress,
    /// The data plane keeps all its state in memory.
    #[error("upf.dataplane {dataplane} keeps all sessions in memory: remove it, or use fastpath or hybrid")]
    NoColdStorage {
        /// Its name.
        dataplane: &'static str,
    },
    /// A switch that has the UPF's ports has no links to them.
    #[error(
        "links are for a switch in front of the UPF's own ports: remove them, or use upf.dataplane hybrid"
    )]
    LinksWithoutSoftware,
    /// A port of the switch is in two links, or twice in one.
    #[error("port {port} of the switch is in a link already: each port has one")]
    LinkedTwice {
        /// The port.
        port: u16,
    },
    /// A key of ports of the host, with a switch that has ports.
    #[error("the switch (upf.switch.address) provides the ports: remove it")]
    PortKeyWithSwitch,
    /// The P4 programs support tunnels over IPv4 only.
    #[error("the switch supports no tunnels over IPv6: give an IPv4 address")]
    SwitchTunnelsIpv6,
    /// A function that the software behind a switch does not support, as it has no ports.
    #[error("a switch (upf.switch.address) does not support this: remove it")]
    UnsupportedOnSwitch,
    /// The number of cores differs from that of packet threads.
    #[error("cores: {pinned}, packet threads: {count}: give one core for each (upf.workers.count), or none")]
    PinsDiffer {
        /// The number of cores.
        pinned: usize,
        /// The number of packet threads.
        count: usize,
    },
    /// One TUN device with two MTUs.
    #[error("{dev} has MTU {other} in {first}: give it one MTU")]
    MtuDiffers {
        /// The device.
        dev: String,
        /// The other MTU.
        other: u32,
        /// The other key.
        first: String,
    },
    /// An MTU too small for IPv6.
    #[error("IPv6 ({subnet}) needs an MTU of 1280 or more")]
    MtuBelowIpv6 {
        /// The subnet.
        subnet: IpNet,
    },
    /// An SMF that no N4 socket can reach.
    #[error("{address} is {family}, but no upf.pfcp.server has an {family} address: add one")]
    NoServerOfFamily {
        /// The SMF.
        address: IpAddr,
        /// `IPv4` or `IPv6`.
        family: &'static str,
    },
}

/// A hint for an unknown key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hint {
    /// The most similar known key.
    DidYouMean(&'static str),
    /// The replacement of a key that other UPFs have.
    Instead(&'static str),
    /// All known keys of the group.
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
