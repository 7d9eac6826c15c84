//! A UE, through its own session.

use std::time::Duration;

use causeway_lab::LabError;
use causeway_lab::topology::{DN, GNBS, POOL_GATEWAY, SMF, UPF_N3, UPF_N4, UPF_N6};
use causeway_lab::traffic::sequenced::Sink;
use causeway_packet::{IpProtocol, Ipv4, gtpu};
use causeway_pfcp::NodeId;

use crate::environment::{Environment, GTPU, HOSTILE_UE, MANAGEMENT, PFCP, VICTIM};
use crate::message;
use crate::packet::{fragments, g_pdu, tcp_syn, udp, udp6};
use crate::{Attack, Context};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "ue-sets-up-association",
        about: "a UE sends Association Setup, Release and heartbeats in the SMF's name to N4, whole, in fragments, and to a mapped IPv6 address",
        run: sets_up_association,
    },
    Attack {
        name: "ue-gtpu-in-gtpu",
        about: "a UE sends GTP-U to N3 in the name of another UE: no packet of it may reach the data network",
        run: gtpu_in_gtpu,
    },
    Attack {
        name: "ue-error-indications",
        about: "a UE sends Error Indications about another UE's tunnel to N3",
        run: error_indications,
    },
    Attack {
        name: "ue-reaches-management",
        about: "a UE opens TCP connections to the UPF's addresses: no answer may arrive",
        run: reaches_management,
    },
    Attack {
        name: "ue-spoofs-source",
        about: "a UE sends with the good UE's address: no packet of it may reach the data network",
        run: spoofs_source,
    },
    Attack { name: "ue-flood", about: "a UE without a rate limit sends as fast as it can", run: flood },
];

fn sets_up_association(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let mut sequence = 0;
    while context.has_time_left() {
        let stamp = context.random.u32(1 << 31..);
        let node = || NodeId::Ip(SMF.into());
        let messages =
            [message::setup(node(), stamp), message::heartbeat(stamp, Some(SMF)), message::release(SMF)];
        for message in messages {
            sequence += 1;
            let octets = message::octets(message, None, sequence);
            for source in [HOSTILE_UE, SMF] {
                scene.send_as_ue(&udp((source, PFCP), (UPF_N4, PFCP), &octets));
                for fragment in fragments((source, PFCP), (UPF_N4, PFCP), &octets) {
                    scene.send_as_ue(&fragment);
                }
            }
            let mapped = (UPF_N4.to_ipv6_mapped(), PFCP);
            scene.send_as_ue(&udp6((HOSTILE_UE.to_ipv6_mapped(), PFCP), mapped, &octets));
            context.sent += 7;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let before = |datagram: &Vec<u8>| answer_from(datagram, UPF_N4).is_some();
    let answers = scene.n3.drain().iter().filter(|datagram| before(datagram)).count();
    context.check(&format!("N4 sends nothing to a UE, not {answers} packets"), answers == 0);
    Ok(())
}

/// The protocol of a user packet in a G-PDU, if this address has sent it.
fn answer_from(datagram: &[u8], source: std::net::Ipv4Addr) -> Option<IpProtocol> {
    let packet = gtpu::Packet::parse(datagram).ok()?;
    let gtpu::Message::GPdu(user) = packet.message else { return None };
    let user = Ipv4::parse(user).ok()?;
    (user.src() == source).then(|| user.protocol())
}

/// Lets `send` send numbered packets in the good UE's name, and sees that none arrives in the data network.
fn in_victims_name(
    scene: &mut Environment,
    context: &mut Context,
    send: impl Fn(&Environment, Vec<u8>),
) -> Result<(), LabError> {
    let sink = Sink::open(&scene.topology.dn, std::net::SocketAddrV4::new(DN, 7009))?;
    while context.has_time_left() {
        let number = context.sent.to_be_bytes();
        send(scene, udp((VICTIM, 7009), (DN, 7009), &number));
        context.sent += 1;
        std::thread::sleep(Duration::from_micros(100));
    }
    let arrived = sink.wait_for(1, Duration::from_millis(100)).len();
    context.check(&format!("no packet in another UE's name arrives, not {arrived}"), arrived == 0);
    Ok(())
}

fn gtpu_in_gtpu(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    in_victims_name(scene, context, |scene, packet| {
        let tunnelled = g_pdu(scene.victim.uplink.teid, &packet);
        for source in [HOSTILE_UE, GNBS[0]] {
            scene.send_as_ue(&udp((source, GTPU), (UPF_N3, GTPU), &tunnelled));
        }
        for fragment in fragments((HOSTILE_UE, GTPU), (UPF_N3, GTPU), &tunnelled) {
            scene.send_as_ue(&fragment);
        }
    })
}

fn spoofs_source(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    in_victims_name(scene, context, |scene, packet| scene.send_as_ue(&packet))
}

fn error_indications(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let about = Some(scene.victim_downlink.teid);
    let indication = gtpu::Repr::error_indication(about, GNBS[0].into(), &[]).to_vec().unwrap_or_default();
    while context.has_time_left() {
        for source in [HOSTILE_UE, GNBS[0]] {
            scene.send_as_ue(&udp((source, GTPU), (UPF_N3, GTPU), &indication));
        }
        context.sent += 2;
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

fn reaches_management(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let mut answers = 0;
    scene.n3.drain();
    while context.has_time_left() {
        for address in [UPF_N4, UPF_N3, UPF_N6, POOL_GATEWAY] {
            for port in [MANAGEMENT, 22, 80, 8805] {
                let source = (HOSTILE_UE, context.random.u16(1024..));
                scene.send_as_ue(&tcp_syn(source, (address, port)));
                context.sent += 1;
            }
        }
        let of_ours = |datagram: &Vec<u8>| {
            [UPF_N4, UPF_N3, UPF_N6, POOL_GATEWAY]
                .into_iter()
                .any(|address| answer_from(datagram, address) == Some(IpProtocol::TCP))
        };
        answers += scene.n3.drain().iter().filter(|datagram| of_ours(datagram)).count();
    }
    context.check(&format!("TCP to the UPF is not answered, not {answers} times"), answers == 0);
    Ok(())
}

fn flood(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let packet = g_pdu(scene.hostile.uplink.teid, &udp((HOSTILE_UE, 1000), (DN, 9), &[0; 32]));
    while context.has_time_left() {
        for _ in 0..64 {
            scene.n3.send(&packet);
        }
        context.sent += 64;
    }
    scene.n3.drain();
    Ok(())
}
