//! Attributes of a network interface.

use netlink_packet_core::Nla;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoTun, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage,
};

use super::MacAddr;

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its index in the kernel.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// The largest IP packet it carries, in octets.
    pub mtu: u32,
    /// Its Ethernet address, where it has one.
    pub mac: Option<MacAddr>,
    /// It is up, administratively.
    pub up: bool,
    /// The length of its transmit queue, in packets.
    pub queue_length: u32,
    /// Packets that it dropped on transmission.
    pub send_drops: u64,
    /// Its queues, if it is a TUN or TAP device.
    pub tun: Option<TunQueues>,
    /// The VRF, bridge or bond that it belongs to.
    pub controller: Option<u32>,
    /// A loopback or dummy interface: it receives nothing from other hosts, and packets to its addresses arrive by
    /// any other interface.
    pub is_local_only: bool,
}

/// The queues of a TUN device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunQueues {
    /// It can have several.
    pub is_multi_queue: bool,
    /// The descriptors that have a queue now; 0 where it has a single queue.
    pub queues_in_use: u32,
}

/// Attributes of a TUN device (`IFLA_TUN_MULTI_QUEUE` and `IFLA_TUN_NUM_QUEUES` of linux/if_link.h).
const TUN_MULTI_QUEUE: u16 = 7;
const TUN_NUM_QUEUES: u16 = 8;

impl TunQueues {
    fn from_attributes(attributes: &[InfoTun]) -> Self {
        let mut queues = Self::default();
        for attribute in attributes {
            let mut value = [0; 4];
            match (attribute.kind(), attribute.value_len()) {
                (TUN_MULTI_QUEUE, 1) => {
                    attribute.emit_value(&mut value[..1]);
                    queues.is_multi_queue = value[0] != 0;
                }
                (TUN_NUM_QUEUES, 4) => {
                    attribute.emit_value(&mut value);
                    queues.queues_in_use = u32::from_ne_bytes(value);
                }
                _ => {}
            }
        }
        queues
    }
}

impl Link {
    pub(super) fn from_message(message: &LinkMessage) -> Self {
        let ethernet = message.header.link_layer_type == LinkLayerType::Ether;
        let up = message.header.flags.contains(LinkFlags::Up);
        let is_inside = message.header.flags.contains(LinkFlags::Loopback);
        let mut link = Self { index: message.header.index, up, is_local_only: is_inside, ..Self::default() };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::TxQueueLen(length) => link.queue_length = *length,
                LinkAttribute::Stats64(stats) => link.send_drops = stats.tx_dropped,
                LinkAttribute::Address(mac) if ethernet => {
                    link.mac = mac.as_slice().try_into().ok().map(MacAddr);
                }
                LinkAttribute::Controller(index) => {
                    link.controller = Some(*index).filter(|index| *index != 0);
                }
                LinkAttribute::LinkInfo(infos) => {
                    link.is_local_only |=
                        infos.iter().any(|info| matches!(info, LinkInfo::Kind(InfoKind::Dummy)));
                    link.tun = infos.iter().find_map(|info| match info {
                        LinkInfo::Data(InfoData::Tun(tun)) => Some(TunQueues::from_attributes(tun)),
                        _ => None,
                    });
                }
                _ => {}
            }
        }
        link
    }
}
