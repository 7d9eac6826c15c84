//! The steps of the demo, in their order.

mod addresses;
mod attach;
mod handover;
mod idle;
mod ping;
mod placement;
mod release;
mod start;
mod stop;
mod transfer;
mod volume;

use causeway_types::Volume;

use super::environment::{DemoEnvironment, Network, Options};
use super::step::Step;
use crate::LabError;
use crate::ran::UeCounters;

/// The daemon's metrics of sessions, associations, buffered packets, and dropped packets by reason.
const SESSIONS: &str = "fivegs_upffunction_upf_sessionnbr";
const ASSOCIATIONS: &str = "pfcp_associations";
const BUFFERED: &str = "causeway_buffered_packets";
const DROPS: &str = "causeway_drop_total";

/// UEs with a separate step, by number from zero. The others only attach, ping and are released.
pub(super) mod cast {
    pub(in crate::demo) const DUAL_STACK: usize = 6;
    pub(in crate::demo) const IPV6_ONLY: usize = 7;
    pub(super) const TRANSFERS: usize = 9;
    pub(super) const SLEEPS: usize = 2;
    pub(super) const MOVES: usize = 3;
    pub(super) const PAYS: usize = 4;
    pub(super) const PLACED: usize = 5;
}

/// The steps with traffic, from an empty host on.
pub(super) const STORY: &[Step<DemoEnvironment>] = &[
    Step {
        title: "Network and daemon",
        about: "Namespaces and links are created; `causeway run` starts with a real configuration file and responds to \
                a PFCP Heartbeat on N4.",
        play: start::play,
    },
    Step {
        title: "Association and 10 UEs",
        about: "The SMF associates and establishes ten sessions whose uplink tunnels the UPF chooses, eight with IPv4, \
                one with IPv6 and one with both; the gNBs \
                connect their UEs and receive a GTP-U Echo Response.",
        play: attach::play,
    },
    Step {
        title: "IPv6 by Router Advertisement",
        about: "UE 7 (IPv4v6) and UE 8 (IPv6) solicit a router through their tunnels. The UPF advertises the prefix of \
                the session, and the kernel of the UE configures an address from it.",
        play: addresses::play,
    },
    Step {
        title: "Ping through the tunnel",
        about: "The ping of the system runs on every UE's device, through its gNB and the UPF, to the data network: \
                over IPv4, IPv6 or both, as the session has them.",
        play: ping::play,
    },
    Step {
        title: "TCP up and down",
        about: "One UE transfers bulk data over the kernel's TCP, first uplink, then downlink.",
        play: transfer::play,
    },
    Step {
        title: "Idle, paging, service request",
        about: "A UE goes idle. The UPF buffers downlink packets and reports the first to the SMF; after the \
                service request it delivers them first and in order, then new ones.",
        play: idle::play,
    },
    Step {
        title: "Handover with End Marker",
        about: "A UE moves to the second gNB while downlink packets are sent. The old tunnel ends with one End Marker; \
                no packet is lost.",
        play: handover::play,
    },
    Step {
        title: "Volume threshold",
        about: "Packets of known size add up to exactly the threshold of a usage rule; the report contains exactly \
                that volume.",
        play: volume::play,
    },
];

/// The step behind them with the hybrid data plane.
const PLACEMENT: &[Step<DemoEnvironment>] = &[Step {
    title: "Rules move to the switch and back",
    about: "A UE sends and receives until the switch forwards both directions; in silence both return to the software. \
            Every packet arrives once and in order.",
    play: placement::play,
}];

/// The steps behind [`STORY`] that the data plane has of its own.
pub(super) fn own_steps(options: &Options) -> &'static [Step<DemoEnvironment>] {
    if options.is_hybrid() { PLACEMENT } else { &[] }
}

/// The steps that end everything, down to an empty host.
pub(super) const END: &[Step<DemoEnvironment>] = &[
    Step {
        title: "Release",
        about: "All sessions are deleted with their final usage; after that no packet passes, and every packet is \
                counted under its drop reason.",
        play: release::play,
    },
    Step {
        title: "End of association and daemon",
        about: "The SMF releases the association; the daemon ends by itself on SIGTERM with exit status 0.",
        play: stop::play,
    },
];

/// The packets that a gNB has counted for a UE, as usage.
fn counted(ue: UeCounters) -> Volume {
    Volume {
        uplink: ue.uplink_octets,
        downlink: ue.downlink_octets,
        uplink_packets: ue.uplink_packets,
        downlink_packets: ue.downlink_packets,
    }
}

/// Whether the octets of each direction are equal. Packets are compared only if the UPF reports them.
fn same(reported: &Volume, counted: &Volume) -> bool {
    let packets = |volume: &Volume| (volume.uplink_packets, volume.downlink_packets);
    let octets = |volume: &Volume| (volume.uplink, volume.downlink);
    octets(reported) == octets(counted) && [(0, 0), packets(counted)].contains(&packets(reported))
}

fn octets(volume: &Volume) -> String {
    format!("{} octets up, {} down", volume.uplink, volume.downlink)
}

/// The user of a network that stayed has ended the association, for example by `causeway drain --release`.
fn was_released(stays: bool, network: &Network) -> Result<bool, LabError> {
    Ok(stays && network.metrics()?.sum(ASSOCIATIONS, &[]) == 0.0)
}
