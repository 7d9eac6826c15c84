//! FARs and BARs: what becomes of packets.

use std::net::Ipv4Addr;

use causeway_model::{
    ApplyAction, Bar, CopyTo, DeliveryStatus, Duplicate, Far, Forwarding, HttpField, NewEnd, OuterHeader,
    PolicyName, Redirect, Replacement, Steering, Url,
};
use causeway_types::{BarId, FTeid, FarId, Interface, NetworkInstance, Span};

use crate::genes::Genes;
use crate::place::Place;
use crate::quality::tos_marking;

pub(crate) fn internet() -> NetworkInstance {
    NetworkInstance::new("internet")
}

/// Towards the data network, mostly.
pub(crate) fn uplink(id: u32, place: &Place, genes: &mut Genes<'_>) -> Far {
    let mut way = Forwarding { network_instance: Some(internet()), ..Forwarding::to(Interface::Core) };
    let odd = if genes.chance(40) { 27 + genes.below(5) } else { 0 };
    match odd {
        27 => way.network_instance = None,
        28 => way.network_instance = Some(NetworkInstance::new("edge")),
        29 => way.outer = Some(OuterHeader::Gtpu(place.peer(6))),
        30 => way.outer = Some(OuterHeader::Udp(([203, 0, 113, 9], 5000).into())),
        31 => way.outer = Some(OuterHeader::Ip(Ipv4Addr::new(203, 0, 113, 9).into())),
        _ => {}
    }
    if genes.chance(16) {
        way.steering = steering(genes);
    }
    if genes.chance(8) {
        way.enrichment = HttpField::new(b"X-UE", b"imsi").into_iter().collect();
    }
    acting(Far::forward(FarId(id), way), genes)
}

/// Towards the access, mostly.
pub(crate) fn downlink(id: u32, tunnel: FTeid, genes: &mut Genes<'_>) -> Far {
    let mut way = Forwarding::into_tunnel(Interface::Access, tunnel);
    if genes.chance(8) {
        way.outer = None;
    }
    acting(Far::forward(FarId(id), way), genes)
}

/// With an action, markings and copies.
fn acting(mut far: Far, genes: &mut Genes<'_>) -> Far {
    if let Some(way) = far.forwarding.as_mut().filter(|_| genes.chance(64)) {
        way.marking = Some(tos_marking(genes));
    }
    if genes.chance(50) {
        act(&mut far, genes);
    }
    if genes.chance(12) {
        far.duplicate = true;
        let tunnel = far.forwarding.as_ref().and_then(Forwarding::tunnel);
        far.duplicates.extend(tunnel.map(|tunnel| Duplicate::into_tunnel(CopyTo::LiFunction, tunnel)));
        if far.duplicates.is_empty() || genes.chance(64) {
            let destination = CopyTo::Side(Interface::Core);
            far.duplicates.push(Duplicate { destination, outer: None, policy: None });
        }
    }
    far
}

/// Another action, which may be the same.
pub(crate) fn act(far: &mut Far, genes: &mut Genes<'_>) {
    far.action = match genes.below(6) {
        0 | 1 => ApplyAction::Forward,
        2 => ApplyAction::Drop,
        3 => ApplyAction::Buffer { notify: false },
        _ => ApplyAction::Buffer { notify: true },
    };
    far.bar = genes.maybe(128, &[BarId(1)]);
    far.delivery_status = DeliveryStatus {
        buffered: far.buffers() && genes.chance(64),
        discarded: far.action != ApplyAction::Forward && genes.chance(64),
    };
}

pub(crate) fn bar(genes: &mut Genes<'_>) -> Bar {
    Bar {
        notification_delay: Span::from_millis(50 * genes.below(4) as u64),
        suggested_packets: genes.maybe(128, &[1, 3, 10]),
        ..Bar::new(BarId(1))
    }
}

fn steering(genes: &mut Genes<'_>) -> Steering {
    let policy = |name: &str| Some(PolicyName::new(name.as_bytes()));
    let v4 = Some(Ipv4Addr::new(203, 0, 113, 80));
    let end = NewEnd { v4, v6: None, port: genes.maybe(128, &[8080]) };
    match genes.below(6) {
        0 => Steering { policy: policy("gold"), ..Steering::default() },
        1 => Steering { policy: policy("void"), ..Steering::default() },
        2 => Steering { policy: policy("portal"), ..Steering::default() },
        3 => Steering { redirect: Some(Redirect::Destination(end)), ..Steering::default() },
        4 => {
            let url = Url::new("http://portal.example/").map(Redirect::Http);
            Steering { redirect: url, ..Steering::default() }
        }
        _ => {
            let replacement = Replacement { source: NewEnd::default(), destination: end };
            Steering { replacement: Some(replacement), ..Steering::default() }
        }
    }
}
