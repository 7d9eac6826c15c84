//! A host on N4 without an association.

use std::net::Ipv4Addr;
use std::time::Duration;

use causeway_lab::LabError;
use causeway_lab::topology::SMF;
use causeway_pfcp::{Message, NodeId};
use causeway_types::Seid;

use crate::environment::{Environment, PEER, any_seid};
use crate::message::{self, SessionRequest};
use crate::packet::{mutate, noise};
use crate::{Attack, Context};

pub(super) const ATTACKS: &[Attack] = &[
    Attack { name: "peer-random-octets", about: "datagrams of random octets to N4", run: random_octets },
    Attack {
        name: "peer-mutated-messages",
        about: "valid PFCP requests about the good UE's session with up to four defects each",
        run: mutated_messages,
    },
    Attack {
        name: "peer-deletes-session",
        about: "requests about the good UE's session, with its true SEID",
        run: deletes_session,
    },
    Attack {
        name: "peer-sets-up-in-smfs-name",
        about: "Association Setup and Release with the good SMF's Node ID, from another address",
        run: sets_up_in_smfs_name,
    },
    Attack {
        name: "peer-heartbeat-in-smfs-name",
        about: "heartbeats with the good SMF as Source IP Address and a later time stamp",
        run: heartbeat_in_smfs_name,
    },
    Attack {
        name: "peer-invents-node-ids",
        about: "association setups with ten thousand invented Node IDs",
        run: invents_node_ids,
    },
    Attack {
        name: "peer-bundles-messages",
        about: "datagrams with a thousand bundled messages each: the responses are at most four times as long",
        run: bundles_messages,
    },
];

fn random_octets(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let peer = scene.n4(PEER)?;
    while context.has_time_left() {
        let octets = noise(&mut context.random, 1400);
        peer.send(&octets);
        context.sent += 1;
    }
    Ok(())
}

/// Requests about the good UE's session, and about its association.
fn requests(scene: &Environment) -> Vec<(Message<'static>, Option<Seid>)> {
    const NO_ROUTES: &[&str] = &[];
    const WISH: SessionRequest<'static> = SessionRequest {
        node: SMF,
        cp: (SMF, Seid(1)),
        ue: crate::environment::VICTIM,
        routes: NO_ROUTES,
        tunnel: (crate::environment::HOSTILE_TEID, causeway_lab::topology::GNBS[1]),
    };
    let session = Some(scene.victim.up_seid);
    vec![
        (message::deletion(), session),
        (message::redirect_downlink(scene.victim_downlink.teid, causeway_lab::topology::GNBS[1]), session),
        (message::establishment(&WISH), Some(Seid(0))),
        (message::release(SMF), None),
        (message::heartbeat(u32::MAX, Some(SMF)), None),
        (message::setup(NodeId::Ip(SMF.into()), u32::MAX), None),
    ]
}

fn mutated_messages(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let peer = scene.n4(PEER)?;
    // One that is whole by chance is another attack.
    let requests = &requests(scene)[..3];
    while context.has_time_left() {
        let Some((message, seid)) = context.random.choice(requests).cloned() else { break };
        let sequence = context.random.u32(..);
        peer.send(&mutate(&mut context.random, &message::octets(message, seid, sequence)));
        context.sent += 1;
    }
    Ok(())
}

fn deletes_session(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let mut peer = scene.n4(PEER)?;
    while context.has_time_left() {
        for (message, seid) in requests(scene).into_iter().take(3) {
            let cause = peer.cause(message, seid);
            context.check("a request of a peer without association is not accepted", !accepted(cause));
            context.sent += 1;
        }
        peer.send_request(message::deletion(), Some(any_seid(&mut context.random)));
    }
    Ok(())
}

fn accepted(cause: Option<causeway_pfcp::Cause>) -> bool {
    cause.is_some_and(causeway_pfcp::Cause::is_accepted)
}

fn sets_up_in_smfs_name(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let mut peer = scene.n4(PEER)?;
    while context.has_time_left() {
        let stamp = context.random.u32(1 << 31..);
        peer.send_request(message::setup(NodeId::Ip(SMF.into()), stamp), None);
        peer.send_request(message::release(SMF), None);
        context.sent += 2;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn heartbeat_in_smfs_name(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let mut peer = scene.n4(PEER)?;
    while context.has_time_left() {
        let stamp = context.random.u32(1 << 31..);
        peer.send_request(message::heartbeat(stamp, Some(SMF)), None);
        context.sent += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn invents_node_ids(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let mut peer = scene.n4(PEER)?;
    for number in 0..10_000_u32 {
        let node = Ipv4Addr::from(0xc000_0200 | (number << 8) | 1);
        peer.send_request(message::setup(NodeId::Ip(node.into()), 1), None);
        context.sent += 1;
        if !context.has_time_left() {
            break;
        }
    }
    // Another SMF still finds a place.
    let found = scene.hostile_smf(&mut context.random).and_then(|mut smf| {
        let cause = smf.cause(message::release(crate::environment::HOSTILE_SMF), None);
        if accepted(cause) { Ok(()) } else { Err(LabError::Peer(format!("release: {cause:?}"))) }
    });
    context.check(&format!("a real SMF still finds a place: {found:?}"), found.is_ok());
    Ok(())
}

fn bundles_messages(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let mut peer = scene.n4(PEER)?;
    let (mut sent, mut received) = (0, 0);
    while context.has_time_left() {
        let mut bundle = Vec::new();
        for sequence in 0..1000 {
            // Follow-on flag (TS 29.244 clause 7.2.2.1).
            let mut one = message::octets(message::deletion(), Some(Seid(1)), sequence);
            if let Some(flags) = one.first_mut() {
                *flags |= 4;
            }
            bundle.extend(one);
        }
        peer.send(&bundle);
        sent += bundle.len();
        context.sent += 1000;
        received += peer.drain().iter().map(Vec::len).sum::<usize>();
    }
    context.check(&format!("{sent} octets cause a response of {received}"), received <= 4 * sent);
    Ok(())
}
