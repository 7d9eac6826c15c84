//! Where the packets of a step were counted on their way, and where those that are lost were last seen.

use std::collections::BTreeMap;

use serde::Serialize;

use super::environment::Network;
use crate::LabError;
use crate::metrics::Metrics;
use crate::netns::Namespace;
use causeway_ports::{Counter, CounterUnit};

/// The way of the packets of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
    /// From a UE to the data network.
    Uplink,
    /// From the data network to a UE.
    Downlink,
    /// From a UE to the data network and back.
    RoundTrip,
}

/// A place that counts packets, on the way up and then on the way down.
const STATIONS: [&str; 10] = [
    "read from the UE's device by the gNB emulator",
    "sent on N3 by the gNB emulator",
    "received on N3 by the UPF",
    "forwarded to N6 by the UPF",
    "received by the data network",
    "sent by the data network",
    "received on N6 by the UPF",
    "forwarded to N3 by the UPF",
    "received on N3 by the gNB emulator",
    "written to the UE's device by the gNB emulator",
];

/// How many of them are on the way up.
const UPLINK_STATIONS: usize = 5;

impl Route {
    fn stations(self) -> std::ops::Range<usize> {
        match self {
            Self::Uplink => 0..UPLINK_STATIONS,
            Self::Downlink => UPLINK_STATIONS..STATIONS.len(),
            Self::RoundTrip => 0..STATIONS.len(),
        }
    }

    /// The ends, as the sender and the receiver.
    const fn ends(self) -> (&'static str, &'static str) {
        match self {
            Self::Uplink => ("sent by the UE", "received by the host in the data network"),
            Self::Downlink => ("sent by the host in the data network", "received by the UE"),
            Self::RoundTrip => ("sent by the UE", "answered, as seen by the UE"),
        }
    }
}

/// Packets that a place has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct PlaceCount {
    /// What happened to them there, for example `received on N3 by the UPF`.
    pub place: &'static str,
    /// Their number.
    pub packets: u64,
}

/// A counter of lost packets that has grown meanwhile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LossCount {
    /// Whose it is and what it counts.
    pub counter: String,
    /// By how much it has grown.
    pub packets: u64,
}

/// The way of the packets of a step, as everything on it has counted them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PacketPath {
    /// The number of packets that were sent, or were to be sent; where the sender does not count, as with TCP, those
    /// that the first place has counted.
    pub packets: u64,
    /// The places in their order. Signalling of the kernel may add a few packets to a count.
    pub places: Vec<PlaceCount>,
    /// Every counter of lost packets on the way that has grown, those of the kernel included.
    pub losses: Vec<LossCount>,
    /// Where the lost packets were last seen, in a sentence. `None`: no place has counted too few.
    pub last_seen: Option<String>,
}

/// Packets that are being followed.
pub(super) struct FollowedPackets {
    route: Route,
    packets: Option<u64>,
    before: Counts,
}

/// All counters of the way at one moment.
#[derive(Clone, Debug, Default)]
struct Counts {
    places: [Option<u64>; STATIONS.len()],
    losses: BTreeMap<String, u64>,
}

impl FollowedPackets {
    /// From now on, that many packets, or an unknown number.
    pub(super) fn begin(network: &Network, route: Route, packets: Option<u64>) -> Self {
        Self { route, packets, before: Counts::read(network) }
    }

    /// The way so far. `arrived`: packets at the end of it, where that is known.
    pub(super) fn end(self, network: &Network, arrived: Option<u64>) -> PacketPath {
        path(self.route, self.packets, &self.before, &Counts::read(network), arrived)
    }
}

fn path(
    route: Route,
    packets: Option<u64>,
    before: &Counts,
    after: &Counts,
    arrived: Option<u64>,
) -> PacketPath {
    let (first, last) = route.ends();
    let mut places: Vec<_> =
        packets.map(|packets| PlaceCount { place: first, packets }).into_iter().collect();
    for station in route.stations() {
        let count = |counts: &Counts| counts.places.get(station).copied().flatten();
        if let (Some(place), Some(before), Some(after)) = (STATIONS.get(station), count(before), count(after))
        {
            places.push(PlaceCount { place, packets: after.saturating_sub(before) });
        }
    }
    let packets = places.first().map_or(0, |first| first.packets);
    places.extend(arrived.map(|packets| PlaceCount { place: last, packets }));
    let grown = |(counter, after): (&String, &u64)| {
        let packets = after.saturating_sub(before.losses.get(counter).copied().unwrap_or(0));
        (packets > 0).then(|| LossCount { counter: counter.clone(), packets })
    };
    let losses: Vec<_> = after.losses.iter().filter_map(grown).collect();
    let last_seen = last_seen(packets, &places, &losses);
    PacketPath { packets, places, losses, last_seen }
}

/// The first place that has counted too few, in a sentence.
fn last_seen(packets: u64, places: &[PlaceCount], losses: &[LossCount]) -> Option<String> {
    let (before, after) =
        places.iter().zip(places.iter().skip(1)).find(|(_, after)| after.packets < packets)?;
    let mut sentence = format!(
        "{} of {packets} packets were last seen when {}: only {} were {}",
        packets - after.packets,
        before.place,
        after.packets,
        after.place
    );
    let counted: Vec<_> = losses.iter().map(|loss| format!("{} {}", loss.counter, loss.packets)).collect();
    match counted.is_empty() {
        true => sentence.push_str("; no counter of losses has grown"),
        false => sentence.push_str(&format!("; counted as lost: {}", counted.join(", "))),
    }
    Some(sentence)
}

impl Counts {
    /// What cannot be read, as from a UPF that has ended, is left out.
    fn read(network: &Network) -> Self {
        let mut losses = BTreeMap::new();
        // The UPF first: what it has forwarded by now, the others have had some time to receive.
        let metrics = network.metrics().ok();
        if let Some(metrics) = &metrics {
            upf_losses(metrics, &mut losses);
        }
        let mut internet = [0, 0];
        let topology = &network.topology;
        let [gnb1, gnb2] = &topology.gnbs;
        for namespace in [gnb1, gnb2, &topology.ue, &topology.upf, &topology.dn] {
            let kernel = KernelCounts::read(namespace).unwrap_or_default();
            kernel.losses(namespace.role(), &mut losses);
            if namespace.role() == topology.dn.role() {
                internet = [kernel.received(), kernel.sent()];
            }
        }
        losses.insert("packets dropped in a receive queue of this machine's kernel".into(), backlog_drops());
        let [dn_in, dn_out] = internet.map(Some);
        let sum =
            |name: &str, labels: &[&str]| metrics.as_ref().map(|metrics| metrics.sum(name, labels) as u64);
        let signalling = network.ran.signalling();
        let total = network.ran.total();
        emulator_losses(network, &mut losses);
        let devices = |counter: Counter| {
            let ports = network.ran.port_counters().filter(|(name, _)| name.starts_with("ue"));
            Some(ports.map(|(_, counters)| counters.value(counter)).sum())
        };
        let places = [
            devices(Counter::Rx),
            Some(total.uplink_packets),
            sum("fivegs_ep_n3_gtp_indatapktn3upf", &[]).map(|count| count.saturating_sub(signalling.sent)),
            sum("causeway_sent_packets_total", &["side=\"ip\""]),
            dn_in,
            dn_out,
            sum("causeway_received_packets_total", &["side=\"ip\""]),
            sum("fivegs_ep_n3_gtp_outdatapktn3upf", &[])
                .map(|count| count.saturating_sub(signalling.received)),
            Some(total.downlink_packets),
            devices(Counter::Tx),
        ];
        Self { places, losses }
    }
}

/// Drops of the data plane by reason, and everything that a port of the UPF did not carry.
fn upf_losses(metrics: &Metrics, losses: &mut BTreeMap<String, u64>) {
    for (series, value) in metrics.iter().filter(|(_, value)| *value > 0.0) {
        let label = |name: &str| {
            let (_, rest) = series.split_once(&format!("{name}=\""))?;
            rest.split('"').next()
        };
        let name = if series.starts_with("causeway_drop_total") {
            label("reason").map(|reason| format!("UPF drop reason {reason}"))
        } else if series.starts_with("causeway_port_packets_total") {
            let event = label("event").filter(|event| !["rx", "tx"].contains(event));
            event.zip(label("port")).map(|(event, port)| format!("UPF port {port} {event}"))
        } else {
            None
        };
        losses.extend(name.map(|name| (name, value as u64)));
    }
}

fn emulator_losses(network: &Network, losses: &mut BTreeMap<String, u64>) {
    for (port, counters) in network.ran.port_counters() {
        let carried = [Counter::Rx, Counter::Tx];
        let lost = counters.iter().filter(|(counter, value)| {
            counter.unit() == CounterUnit::Packets && !carried.contains(counter) && *value > 0
        });
        losses.extend(
            lost.map(|(counter, value)| (format!("gNB emulator port {port} {}", counter.name()), value)),
        );
    }
    let total = network.ran.total();
    for (what, value) in [
        ("packets of a UE that is not connected", total.not_connected),
        ("packets that the N3 socket of a gNB did not accept", total.unsent),
        ("packets that the device of a UE did not accept", total.undelivered),
    ] {
        losses.insert(what.into(), value);
    }
}

/// The text of some files of the kernel about one namespace.
#[derive(Debug, Default)]
struct KernelCounts {
    interfaces: String,
    ipv4: String,
    ipv6: String,
}

/// Counters of /proc/net/snmp whose packets are lost.
const LOSSES_OF_IPV4: [(&str, &str); 8] = [
    ("Ip", "InDiscards"),
    ("Ip", "OutDiscards"),
    ("Ip", "OutNoRoutes"),
    ("Ip", "InAddrErrors"),
    ("Udp", "RcvbufErrors"),
    ("Udp", "SndbufErrors"),
    ("Udp", "NoPorts"),
    ("Udp", "InErrors"),
];

impl KernelCounts {
    fn read(namespace: &Namespace) -> Result<Self, LabError> {
        // A thread in the namespace has its own entry in /proc; that of the process is in another.
        let read = |file: &str| {
            let path = format!("/proc/thread-self/net/{file}");
            std::fs::read_to_string(&path).map_err(LabError::io(path))
        };
        namespace.enter(|| {
            let ipv6 = read("snmp6").unwrap_or_default();
            Ok(Self { interfaces: read("dev")?, ipv4: read("snmp")?, ipv6 })
        })
    }

    fn received(&self) -> u64 {
        self.v4("Ip", "InReceives") + self.v6("Ip6InReceives")
    }

    fn sent(&self) -> u64 {
        self.v4("Ip", "OutRequests") + self.v6("Ip6OutRequests")
    }

    /// A value of /proc/net/snmp, where each group has a line of names and one of values.
    fn v4(&self, group: &str, name: &str) -> u64 {
        let mut lines = self.ipv4.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(": "));
        let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
        let mut both = names.split(' ').zip(values.split(' '));
        both.find(|(this, _)| *this == name).and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
    }

    /// A value of /proc/net/snmp6, which has one line for each.
    fn v6(&self, name: &str) -> u64 {
        let value = |line: &str| {
            let (this, value) = line.split_once(char::is_whitespace)?;
            (this == name).then(|| value.trim().parse().ok()).flatten()
        };
        self.ipv6.lines().find_map(value).unwrap_or(0)
    }

    fn losses(&self, role: &str, losses: &mut BTreeMap<String, u64>) {
        for (group, name) in LOSSES_OF_IPV4 {
            losses.insert(format!("kernel of {role} {group}{name}"), self.v4(group, name));
        }
        for name in ["Ip6InDiscards", "Ip6OutDiscards", "Ip6OutNoRoutes", "Ip6InAddrErrors"] {
            losses.insert(format!("kernel of {role} {name}"), self.v6(name));
        }
        for line in self.interfaces.lines() {
            let Some((device, values)) = line.split_once(':') else { continue };
            let values: Vec<u64> = values.split_ascii_whitespace().map(|v| v.parse().unwrap_or(0)).collect();
            // Octets, packets, errors and drops of reception, four others, and the same of transmission.
            for (at, what) in
                [(2, "receive errors"), (3, "receive drops"), (10, "send errors"), (11, "send drops")]
            {
                let value = values.get(at).copied().unwrap_or(0);
                losses.insert(format!("interface {} of {role} {what}", device.trim()), value);
            }
        }
    }
}

/// Packets that the kernel has dropped because the receive queue of a processor was full, of all namespaces.
fn backlog_drops() -> u64 {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
    let dropped = text.lines().filter_map(|line| {
        let second = line.split_ascii_whitespace().nth(1)?;
        u64::from_str_radix(second, 16).ok()
    });
    dropped.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(places: [u64; STATIONS.len()], losses: &[(&str, u64)]) -> Counts {
        let losses = losses.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Counts { places: places.map(Some), losses }
    }

    // Input:  100 packets down, of which the UPF forwarded all and the gNB received 97; a counter that grew by 3.
    // Output: a sentence that names both places, the numbers and the counter.
    #[test]
    fn the_last_place_is_named() {
        let before = counts([5; STATIONS.len()], &[("gnb1 rx_overrun", 1), ("others", 7)]);
        let after =
            counts([5, 5, 5, 5, 5, 105, 105, 106, 102, 102], &[("gnb1 rx_overrun", 4), ("others", 7)]);
        let seen = path(Route::Downlink, Some(100), &before, &after, Some(97));
        assert_eq!(
            seen.last_seen.unwrap(),
            "3 of 100 packets were last seen when forwarded to N3 by the UPF: only 97 were received on N3 by the \
             gNB emulator; counted as lost: gnb1 rx_overrun 3"
        );
        assert_eq!(seen.places.len(), 7);
    }

    // Input:  40 packets up that every place has counted, and a UPF whose counters could not be read.
    // Output: nothing is lost; the places of the UPF are left out.
    #[test]
    fn a_place_that_cannot_be_read_is_left_out() {
        let mut after = counts([40; STATIONS.len()], &[]);
        (after.places[2], after.places[3]) = (None, None);
        let seen = path(Route::Uplink, Some(40), &counts([0; STATIONS.len()], &[]), &after, Some(40));
        assert_eq!((seen.last_seen, seen.places.len()), (None, 5));
    }

    // Input:  40 packets up, all received by the data network, of which the application got 30.
    // Output: they were lost at the very end, and no counter has grown.
    #[test]
    fn packets_that_the_receiver_lacks_were_received_by_its_kernel() {
        let after = counts([40; STATIONS.len()], &[]);
        let seen = path(Route::Uplink, Some(40), &counts([0; STATIONS.len()], &[]), &after, Some(30));
        let sentence = seen.last_seen.unwrap();
        assert!(
            sentence.contains("10 of 40 packets were last seen when received by the data network"),
            "{sentence}"
        );
        assert!(sentence.ends_with("no counter of losses has grown"), "{sentence}");
    }

    // Input:  packets of an unknown number, of which the UE's device gave 1000 and the UPF received 990.
    // Output: ten were last seen when the gNB emulator sent them.
    #[test]
    fn packets_that_nobody_counted_first_are_compared_with_the_first_place() {
        let after = counts([1000, 1000, 990, 990, 990, 0, 0, 0, 0, 0], &[]);
        let seen = path(Route::Uplink, None, &counts([0; STATIONS.len()], &[]), &after, None);
        assert_eq!((seen.packets, seen.places.len()), (1000, 5));
        let sentence = seen.last_seen.unwrap();
        assert!(sentence.starts_with("10 of 1000 packets were last seen when sent on N3"), "{sentence}");
    }

    // Input:  files of the kernel.
    // Output: the values of a group, of IPv6, and the drops of an interface.
    #[test]
    fn the_files_of_the_kernel_are_understood() {
        let kernel = KernelCounts {
            interfaces: "Inter-| Receive | Transmit\n face |bytes packets\n    n6: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"
                .into(),
            ipv4: "Ip: Forwarding InReceives OutRequests\nIp: 2 10 20\nUdp: InDatagrams RcvbufErrors\nUdp: 9 3\n".into(),
            ipv6: "Ip6InReceives                   \t5\nIp6OutRequests \t6\n".into(),
        };
        assert_eq!((kernel.received(), kernel.sent()), (15, 26));
        let mut losses = BTreeMap::new();
        kernel.losses("dn", &mut losses);
        assert_eq!(losses["kernel of dn UdpRcvbufErrors"], 3);
        assert_eq!(losses["interface n6 of dn receive drops"], 4);
        assert_eq!(losses["interface n6 of dn send drops"], 8);
    }
}
