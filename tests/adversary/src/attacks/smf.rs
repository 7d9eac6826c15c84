//! An SMF with a separate association.

use std::net::Ipv4Addr;
use std::time::Duration;

use causeway_lab::LabError;
use causeway_lab::topology::{GNBS, SMF, UPF_N3, UPF_N4};
use causeway_packet::gtpu;
use causeway_types::Seid;

use super::n3::inner;
use crate::environment::{Environment, HOSTILE_SMF, HOSTILE_TEID, VICTIM, any_seid};
use crate::host::Host;
use crate::message::{self, SessionRequest};
use crate::packet::mutate;
use crate::{Attack, Context};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "smf-takes-anothers-session",
        about: "a second SMF modifies and deletes the good UE's session by its SEID",
        run: takes_anothers_session,
    },
    Attack {
        name: "smf-takes-anothers-ue-address",
        about: "a second SMF establishes sessions with the good UE's address and a separate tunnel",
        run: takes_anothers_ue_address,
    },
    Attack {
        name: "smf-framed-route-of-victim",
        about: "a second SMF requests framed routes that contain the good UE's address",
        run: framed_route_of_victim,
    },
    Attack {
        name: "smf-framed-route-of-host",
        about: "framed routes of the default route, loopback, the SMF, N3 and N4",
        run: framed_route_of_host,
    },
    Attack {
        name: "smf-many-framed-routes",
        about: "sessions with many framed routes each, in quick succession",
        run: many_framed_routes,
    },
    Attack {
        name: "smf-tunnel-to-the-upf",
        about: "sessions whose downlink tunnel ends at the UPF's N3 address",
        run: tunnel_to_the_upf,
    },
    Attack {
        name: "smf-mutated-requests",
        about: "an associated SMF sends valid requests with up to four defects each",
        run: mutated_requests,
    },
    Attack {
        name: "smf-establishes-and-leaves",
        about: "sessions as fast as possible; then the association is released with all of them",
        run: establishes_and_leaves,
    },
];

fn session_request(number: u32) -> SessionRequest<'static> {
    SessionRequest {
        node: HOSTILE_SMF,
        cp: (HOSTILE_SMF, Seid(u64::from(number) + 1)),
        ue: Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 45, 16, 0)) + number % 0xd000),
        routes: &[],
        tunnel: (HOSTILE_TEID + 1 + number, GNBS[1]),
    }
}

/// Plays against the UPF with an association that is released at the end.
fn with_association(
    scene: &mut Environment,
    context: &mut Context,
    attack: impl FnOnce(&mut Environment, &mut Context, &mut Host),
) -> Result<(), LabError> {
    let mut smf = scene.hostile_smf(&mut context.random)?;
    attack(scene, context, &mut smf);
    smf.drain();
    let released = smf.cause(message::release(HOSTILE_SMF), None);
    context.check(&format!("the association is released: {released:?}"), released.is_some());
    Ok(())
}

fn takes_anothers_session(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    with_association(scene, context, |scene, context, smf| {
        while context.has_time_left() {
            let lead = message::redirect_downlink(scene.victim_downlink.teid, GNBS[1]);
            for message in [lead, message::deletion()] {
                let cause = smf.cause(message, Some(scene.victim.up_seid));
                let refused = !cause.is_some_and(causeway_pfcp::Cause::is_accepted);
                context.check("a request about another SMF's session is not accepted", refused);
                context.sent += 1;
            }
            smf.send_request(message::deletion(), Some(any_seid(&mut context.random)));
        }
    })
}

/// Establishes sessions that could draw the good UE's packets, and looks whether any comes.
fn interception(
    scene: &mut Environment,
    context: &mut Context,
    session_request: impl Fn(u32) -> SessionRequest<'static>,
) -> Result<(), LabError> {
    with_association(scene, context, |scene, context, smf| {
        let mut number = 0;
        scene.n3.drain();
        while context.has_time_left() {
            smf.cause(message::establishment(&session_request(number)), Some(Seid(0)));
            (number, context.sent) = (number + 1, context.sent + 1);
        }
        let caught = scene.n3.drain().iter().filter(|datagram| is_for(datagram, VICTIM)).count();
        context.check(&format!("no packet of the good UE is diverted, not {caught}"), caught == 0);
    })
}

/// It is a G-PDU with a packet to this UE.
fn is_for(datagram: &[u8], ue: Ipv4Addr) -> bool {
    let Ok(packet) = gtpu::Packet::parse(datagram) else { return false };
    matches!(packet.message, gtpu::Message::GPdu(user) if inner(user).is_some_and(|(_, dst)| dst == ue))
}

fn takes_anothers_ue_address(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    interception(scene, context, |number| SessionRequest { ue: VICTIM, ..session_request(number) })
}

fn framed_route_of_victim(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    const ROUTES: [&[&str]; 3] = [&["10.45.0.2/32"], &["10.45.0.0/30"], &["10.45.0.0/24", "10.45.0.2/32"]];
    interception(scene, context, |number| SessionRequest {
        routes: ROUTES[number as usize % 3],
        ..session_request(number)
    })
}

fn framed_route_of_host(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    const ROUTES: [&[&str]; 7] = [
        &["0.0.0.0/0"],
        &["0.0.0.0/1", "128.0.0.0/1"],
        &["127.0.0.0/8"],
        &["10.40.0.2/32"],
        &["10.40.0.0/24", "10.30.0.0/16"],
        &["10.60.0.2/32"],
        &["224.0.0.0/4"],
    ];
    let peers = [SMF, UPF_N3, UPF_N4, GNBS[0], causeway_lab::topology::DN, Ipv4Addr::new(192, 0, 2, 1)];
    let before = peers.map(|peer| scene.device_to(peer));
    with_association(scene, context, |scene, context, smf| {
        let mut number = 0_u32;
        while context.has_time_left() {
            let routes = ROUTES[number as usize % ROUTES.len()];
            let cause = smf.cause(
                message::establishment(&SessionRequest { routes, ..session_request(number) }),
                Some(Seid(0)),
            );
            let refused = !cause.is_some_and(causeway_pfcp::Cause::is_accepted);
            context.check(&format!("framed routes {routes:?} are refused"), refused);
            (number, context.sent) = (number + 1, context.sent + 1);
        }
        for (peer, before) in peers.into_iter().zip(before) {
            let (before, after) = (before.unwrap_or_default(), scene.device_to(peer).unwrap_or_default());
            context
                .check(&format!("packets to {peer} are sent through {before}, not {after}"), before == after);
        }
    })
}

fn many_framed_routes(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let routes: Vec<String> = (0..64).map(|number| format!("198.18.{number}.0/24")).collect();
    let routes: Vec<&str> = routes.iter().map(String::as_str).collect();
    with_association(scene, context, |_, context, smf| {
        let mut number = 0;
        while context.has_time_left() {
            smf.send_request(
                message::establishment(&SessionRequest { routes: &routes, ..session_request(number) }),
                Some(Seid(0)),
            );
            (number, context.sent) = (number + 1, context.sent + 1);
            std::thread::sleep(Duration::from_millis(2));
        }
    })
}

fn tunnel_to_the_upf(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    let own = scene.victim.uplink.teid.value();
    with_association(scene, context, |scene, context, smf| {
        let mut number = 0;
        while context.has_time_left() {
            let wish = SessionRequest { tunnel: (own, UPF_N3), ..session_request(number) };
            let cause = smf.cause(message::establishment(&wish), Some(Seid(0)));
            let refused = !cause.is_some_and(causeway_pfcp::Cause::is_accepted);
            context.check("a tunnel that leads to the UPF itself is refused", refused);
            let packet =
                crate::packet::udp((causeway_lab::topology::DN, 1), (wish.ue, 2), b"round and round");
            scene.dn.send(wish.ue, &packet);
            (number, context.sent) = (number + 1, context.sent + 1);
        }
    })
}

fn mutated_requests(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    with_association(scene, context, |_, context, smf| {
        let mut number = 0;
        while context.has_time_left() {
            let request = match number % 3 {
                0 => (message::establishment(&session_request(number)), Some(Seid(0))),
                1 => (message::deletion(), Some(any_seid(&mut context.random))),
                _ => (message::heartbeat(1, None), None),
            };
            let octets = message::octets(request.0, request.1, number);
            smf.send(&mutate(&mut context.random, &octets));
            (number, context.sent) = (number + 1, context.sent + 1);
            if number % 64 == 0 {
                smf.drain();
            }
        }
    })
}

fn establishes_and_leaves(scene: &mut Environment, context: &mut Context) -> Result<(), LabError> {
    with_association(scene, context, |_, context, smf| {
        let mut number = 0;
        while context.has_time_left() && number < 50_000 {
            smf.send_request(message::establishment(&session_request(number)), Some(Seid(0)));
            (number, context.sent) = (number + 1, context.sent + 1);
            if number % 32 == 0 {
                // As a real SMF, it does not ask for more than it has answers for.
                while smf.receive(Duration::from_millis(1)).is_some() {}
            }
        }
    })
}
