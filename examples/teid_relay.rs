//! A data plane: it relays GTP-U from one tunnel into another by TEID alone, as an intermediate UPF on N9 may.
//!
//! A data plane implements two traits. [`Dataplane`] has the calls of the control plane: plans, time, events, counters.
//! [`PacketEngine`] has those of the packet thread. A line each in `config/data_plane.rs` and
//! `data_planes/mod.rs` of `crates/app/upf/src` add it to the daemon.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::task::Poll;

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Disposition, DropReason, Egress, Event,
    HostReachability, Ingress, PacketEngine, Plan, PlanId, PollApplied, Topology, Transmit,
};
use causeway_model::{Applications, Far, Forwarding, Pdi, Pdr, RuleSet, SessionChange};
use causeway_packet::gtpu;
use causeway_types::{DualIp, FTeid, FarId, Interface, PdrId, Seid, Teid, Time, WallClock};

#[derive(Default)]
struct TeidRelay {
    topology: Topology,
    /// The session of each TEID here, and the tunnel that its packets go on into.
    routes: HashMap<Teid, (Seid, FTeid)>,
    counters: Counters,
}

impl TeidRelay {
    fn apply_plan(&mut self, plan: &Plan) -> Result<Applied, ApplyError> {
        // What is not supported is refused, never ignored. Rules that the capabilities exclude do not arrive here.
        let session = match &plan.change {
            SessionChange::Install(session) => session.rules(),
            SessionChange::Remove => {
                self.routes.retain(|_, (owner, _)| *owner != plan.session);
                return Ok(Applied::default());
            }
            _ => return Err(ApplyError::Unsupported("modifications of a session")),
        };
        let route = |pdr: &Pdr| {
            let far = session.fars.get(&pdr.far)?.forwarding.as_ref()?.tunnel()?;
            Some((pdr.pdi.tunnel?.teid, (plan.session, far)))
        };
        // All or nothing: every rule is compiled before the first is written.
        let routes: Option<Vec<_>> = session.pdrs.values().map(route).collect();
        self.routes.extend(routes.ok_or(ApplyError::Unsupported("a PDR or FAR without a tunnel"))?);
        Ok(Applied::default())
    }

    fn relay(&self, ingress: &Ingress, packet: &[u8]) -> Result<(Egress, Vec<u8>), DropReason> {
        let message = gtpu::Packet::parse(packet).map_err(|_| DropReason::MalformedGtpu)?;
        let route = message.header.teid.and_then(|teid| self.routes.get(&teid));
        let (_, FTeid { teid, addr }) = route.ok_or(DropReason::UnknownTeid)?;
        let (Ingress::Gtpu { local, .. }, Some(peer)) = (ingress, addr.v4) else {
            return Err(DropReason::NoEgress);
        };
        let egress = Egress::Gtpu { local: *local, peer: (peer, 2152).into(), tos: 0, hops: None };
        Ok((egress, [&packet[..4], &teid.value().to_be_bytes(), &packet[8..]].concat()))
    }
}

impl Dataplane for TeidRelay {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            outer_ipv4: true,
            max_sessions: 100,
            max_pdrs_per_session: 2,
            ..Capabilities::default()
        }
    }

    // It completes at once. A switch would return `Poll::Pending` here, and the result from `poll_applied`.
    fn submit(&mut self, _: Time, _: PlanId, plan: &Plan) -> PollApplied {
        Poll::Ready(self.apply_plan(plan))
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    // It has no timers and no events, and nothing depends on applications, the host or the wall clock.
    fn set_applications(&mut self, _: &Arc<Applications>) {}
    fn set_host_reachability(&mut self, _: &Arc<HostReachability>) {}
    fn set_wall_clock(&mut self, _: Time, _: WallClock) {}
    fn advance(&mut self, _: Time) {}
    fn next_deadline(&self) -> Option<Time> {
        None
    }
    fn poll_event(&mut self) -> Option<Event> {
        None
    }
}

impl PacketEngine for TeidRelay {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    // Batches arrive here packet by packet. A fast data plane implements `process_batch`, and rewrites frames in place.
    fn process(&mut self, _: Time, ingress: &Ingress, packet: &[u8], out: &mut dyn Transmit) -> Disposition {
        self.counters.gtpu_received.count(packet.len());
        match self.relay(ingress, packet) {
            Ok((egress, packet)) => {
                self.counters.forwarded += 1;
                self.counters.gtpu_sent.count(packet.len());
                out.transmit(&egress, &packet);
                Disposition::Forwarded
            }
            Err(reason) => {
                self.counters.count_drop(reason);
                Disposition::Dropped(reason)
            }
        }
    }

    fn flush(&mut self, _: &mut dyn Transmit) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let [upf, next, previous] = [1, 2, 3].map(|host| Ipv4Addr::new(192, 0, 2, host));
    let tunnel = |teid, address| Teid::new(teid).map(|teid| FTeid { teid, addr: DualIp::from(address) });
    let mut relay = TeidRelay::default();

    // A session with one PDR, of TEID 0x1001 here, and one FAR, to TEID 0x2002 at the next UPF.
    let pdi = Pdi { tunnel: tunnel(0x1001, upf), ..Pdi::new(Interface::Access) };
    let forwarding = Forwarding::into_tunnel(Interface::Core, tunnel(0x2002, next).ok_or("no TEID")?);
    let mut rules = RuleSet::default();
    rules.pdrs.insert(PdrId(1), Pdr::new(PdrId(1), pdi, FarId(1)));
    rules.fars.insert(FarId(1), Far::forward(FarId(1), forwarding));
    relay.apply(Time::default(), &Plan::install(Seid(1), rules))?;

    // A packet in that tunnel, and one in a tunnel that no session has.
    let ingress = Ingress::Gtpu { local: IpAddr::V4(upf), peer: (previous, 2152).into(), tos: 0, hops: None };
    let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
    for teid in [0x1001, 0x1002] {
        let header = gtpu::prefix::without_extensions(Teid::new(teid).ok_or("no TEID")?, 20)?;
        let packet = [&header[..], &[0x45; 20]].concat();
        println!("TEID {teid:#x}: {:?}", relay.process(Time::default(), &ingress, &packet, &mut sent));
    }
    for (egress, packet) in &sent {
        println!("sent: {egress:?}, TEID {:02x?}", &packet[4..8]);
    }
    assert!(sent.len() == 1 && sent[0].1[4..8] == [0, 0, 0x20, 0x02]);
    Ok(())
}

// Input:  the program.
// Output: it succeeds.
#[test]
fn it_runs() {
    main().unwrap();
}
