//! A host of the data network.

use std::net::Ipv4Addr;

use causeway_lab::LabError;
use causeway_lab::topology::{DN, GNBS, SMF, UPF_N3, UPF_N4};
use causeway_lab::traffic::sequenced::Sink;
use causeway_packet::gtpu;
use causeway_pfcp::NodeId;

use crate::environment::{Environment, GTPU, HOSTILE_UE, PFCP, VICTIM};
use crate::message;
use crate::packet::{g_pdu, mutate, udp};
use crate::{Attack, Context};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "dn-sets-up-association",
        about: "a host on N6 sends Association Setup and Release to N4, with its own address and with the SMF's",
        run: sets_up_association,
    },
    Attack {
        name: "dn-gtpu-to-n3",
        about: "a host on N6 sends GTP-U to N3 in the good UE's tunnel: no packet of it may return to the data network",
        run: gtpu_to_n3,
    },
    Attack {
        name: "dn-error-indications",
        about: "a host on N6 sends Error Indications in the gNB's name to N3",
        run: error_indications,
    },
    Attack {
        name: "dn-mutated-packets",
        about: "packets to the hostile UE with up to four defects each",
        run: mutated_packets,
    },
    Attack { name: "dn-unknown-ues", about: "packets to invented UE addresses", run: unknown_ues },
    Attack { name: "dn-flood", about: "packets to the hostile UE as fast as possible", run: flood },
];

fn sets_up_association(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let mut sequence = 0;
    while context.has_time_left() {
        let stamp = context.random.u32(1 << 31..);
        for message in [message::setup(NodeId::Ip(SMF.into()), stamp), message::release(SMF)] {
            sequence += 1;
            let octets = message::octets(message, None, sequence);
            for source in [DN, SMF] {
                scene.dn.send(UPF_N4, &udp((source, PFCP), (UPF_N4, PFCP), &octets));
                context.sent += 1;
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(())
}

fn gtpu_to_n3(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let sink = Sink::open(&scene.topology.dn, std::net::SocketAddrV4::new(DN, 7009))?;
    while context.has_time_left() {
        let packet = udp((VICTIM, 7009), (DN, 7009), &context.sent.to_be_bytes());
        let tunnelled = g_pdu(scene.victim.uplink.teid, &packet);
        for source in [DN, GNBS[0]] {
            scene.dn.send(UPF_N3, &udp((source, GTPU), (UPF_N3, GTPU), &tunnelled));
            context.sent += 1;
        }
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    let arrived = sink.wait_for(1, std::time::Duration::from_millis(100)).len();
    context.check(&format!("GTP-U from N6 is not executed, not {arrived} times"), arrived == 0);
    Ok(())
}

fn error_indications(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let about = Some(scene.victim_downlink.teid);
    let indication = gtpu::Repr::error_indication(about, GNBS[0].into(), &[]).to_vec().unwrap_or_default();
    while context.has_time_left() {
        scene.dn.send(UPF_N3, &udp((GNBS[0], GTPU), (UPF_N3, GTPU), &indication));
        context.sent += 1;
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    Ok(())
}

fn mutated_packets(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let packet = udp((DN, 9), (HOSTILE_UE, 9), b"a packet to be mutated");
    while context.has_time_left() {
        let mutant = mutate(&mut context.random, &packet);
        scene.dn.send(HOSTILE_UE, &mutant);
        context.sent += 1;
    }
    scene.n3.drain();
    Ok(())
}

fn unknown_ues(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    while context.has_time_left() {
        let ue = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 45, 128, 0)) + context.random.u32(..0x7fff));
        scene.dn.send(ue, &udp((DN, 9), (ue, 9), &[0; 32]));
        context.sent += 1;
    }
    Ok(())
}

fn flood(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let packet = udp((DN, 9), (HOSTILE_UE, 9), &[0; 32]);
    while context.has_time_left() {
        scene.dn.send(HOSTILE_UE, &packet);
        context.sent += 1;
    }
    scene.n3.drain();
    Ok(())
}
