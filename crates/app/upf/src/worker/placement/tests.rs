use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use causeway_dataplane::GtpuEndpoint;
use causeway_model::{
    ApplyAction, Far, Forwarding, OuterHeader, Pdi, Pdr, ProfiledSession, SessionChange, UeAddress, UeSide,
    testing::rules_of,
};
use causeway_types::{FarId, Interface, PdrId, Teid};

use super::super::directory::Directory;
use super::*;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// A placement on two workers, with its directory.
struct Office {
    placement: Placement<u32>,
    directory: Arc<Directory>,
    plans: u32,
}

fn office(entries: usize) -> Office {
    office_of(entries, false)
}

fn office_of(entries: usize, is_by_seid: bool) -> Office {
    let topology = Topology { gtpu: vec![GtpuEndpoint::new(UPF.into())], ..Topology::default() };
    let (directory, writer) = Directory::new(entries);
    Office { placement: Placement::new(topology, 1000, (2, is_by_seid), writer), directory, plans: 0 }
}

fn tunnel(teid: u32, at: Ipv4Addr) -> FTeid {
    FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(at) }
}

fn uplink(teid: u32) -> Op {
    let pdi = Pdi { tunnel: Some(tunnel(teid, UPF)), ..Pdi::new(Interface::Access) };
    Op::PutPdr(Pdr::new(PdrId(1), pdi, FarId(1)).into())
}

fn downlink(address: &str, routes: &[&str]) -> Op {
    let ue = UeAddress { v4: address.parse().ok(), v6: None, side: UeSide::Destination };
    let mut pdi = Pdi { ue: Some(ue), ..Pdi::new(Interface::Core) };
    pdi.routes = routes.iter().map(|net| net.parse().unwrap()).collect();
    Op::PutPdr(Pdr::new(PdrId(2), pdi, FarId(2)).into())
}

fn peer(teid: u32) -> Op {
    let outer = Some(OuterHeader::Gtpu(tunnel(teid, GNB)));
    let forwarding = Some(Forwarding { outer, ..Forwarding::to(Interface::Access) });
    Op::PutFar(Far { forwarding, ..Far::new(FarId(2), ApplyAction::Forward) }.into())
}

impl Office {
    /// Places a plan, which its worker applies or refuses.
    fn settle(
        &mut self,
        session: u64,
        change: impl Into<SessionChange>,
        is_done: bool,
    ) -> Result<usize, ApplyError> {
        self.plans += 1;
        let plan = Plan { session: Seid(session), change: change.into() };
        let worker = self.placement.assign_worker(self.plans, &plan)?;
        self.placement.complete(self.plans, is_done);
        Ok(worker)
    }

    fn change(&mut self, session: u64, change: impl Into<SessionChange>) -> Result<usize, ApplyError> {
        self.settle(session, change, true)
    }

    fn create(&mut self, session: u64, ops: Vec<Op>) -> Result<usize, ApplyError> {
        self.change(session, ProfiledSession::unshared(rules_of(ops)))
    }

    fn remove(&mut self, session: u64) {
        self.change(session, SessionChange::Remove).unwrap();
    }

    fn of_tunnel(&self, teid: u32) -> Option<usize> {
        self.directory.owner(self.directory.tunnel(0, teid))
    }

    fn of_ue(&self, address: &str) -> Option<usize> {
        self.directory.owner_of(address.parse().unwrap())
    }

    fn of_peer(&self, teid: u32) -> Option<usize> {
        self.directory.owner(self.directory.remote(IpAddr::V4(GNB), Teid::new(teid).unwrap()))
    }
}

// Input:  four sessions, two of which send to one tunnel; then all are deleted.
// Output: each worker has two; their packets reach them; an Error Indication for the shared tunnel concerns all
//         workers; no entry is left at the end.
#[test]
fn sessions_are_dealt_out_evenly() {
    let mut office = office(100);
    for n in 0..4_u32 {
        let ops = vec![uplink(10 + n), downlink(&format!("10.45.0.{n}"), &[]), peer(20 + n / 3)];
        assert_eq!(office.create(n.into(), ops), Ok(n as usize % 2));
    }
    for n in 0..4 {
        let owner = Some(n as usize % 2);
        assert_eq!((office.of_tunnel(10 + n), office.of_ue(&format!("10.45.0.{n}"))), (owner, owner));
    }
    assert_eq!((office.of_peer(20), office.of_peer(21)), (Some(ALL_WORKERS), Some(1)));
    (0..4).for_each(|n| office.remove(n));
    assert_eq!((office.of_tunnel(10), office.of_ue("10.45.0.3"), office.of_peer(20)), (None, None, None));
}

// Input:  sessions where each worker receives N4; one whose UE has an address of a session of the other worker.
// Output: each is with the worker that its SEID selects, but for the last one.
#[test]
fn sessions_are_where_their_messages_arrive() {
    let mut office = office_of(100, true);
    for seid in [1, 3, 4, 7, 1 << 32] {
        let ops = vec![uplink(10 + seid as u32), downlink(&format!("10.45.0.{}", seid as u8), &[])];
        assert_eq!(office.create(seid, ops), Ok(seid as usize % 2));
    }
    assert_eq!(office.create(8, vec![downlink("10.45.0.7", &[])]), Ok(1));
}

// Input:  a session with a route behind its UE; sessions with addresses in it, one new and one of the other worker that
//         changes.
// Output: the new session is on the first worker; the change is refused and leaves no entry, until the route is
//         removed.
#[test]
fn prefixes_that_overlap_are_with_one_worker() {
    let mut office = office(100);
    assert_eq!(office.create(0, vec![downlink("10.45.0.1", &["10.60.0.0/16"])]), Ok(0));
    assert_eq!(office.create(1, vec![downlink("10.45.0.2", &[])]), Ok(1));
    assert_eq!(office.create(2, vec![downlink("10.60.3.4", &[])]), Ok(0));
    assert_eq!((office.of_ue("10.60.9.9"), office.of_ue("10.61.0.1")), (Some(0), None));
    let join = || vec![downlink("10.45.0.2", &["10.60.9.0/24"])];
    let taken = ApplyError::UeAddressInUse("10.60.9.0/24".parse().unwrap());
    assert_eq!(office.change(1, join()), Err(taken));
    assert_eq!(office.of_ue("10.60.9.9"), Some(0));
    office.remove(0);
    assert_eq!(office.change(1, join()), Ok(1));
    assert_eq!((office.of_ue("10.60.9.9"), office.of_ue("10.60.3.4")), (Some(1), Some(0)));
}

// Input:  a tunnel of a session of the other worker; a change that the worker refuses; a session when the directory is
//         full.
// Output: the error of a single worker; packets have the same owner as before; an error that contains the table.
#[test]
fn what_is_refused_changes_nothing() {
    let mut office = office(32);
    office.create(0, vec![uplink(10), downlink("10.45.0.1", &[])]).unwrap();
    office.create(1, vec![uplink(11), downlink("10.45.0.2", &[])]).unwrap();
    assert_eq!(office.change(1, vec![uplink(10)]), Err(ApplyError::TunnelInUse(tunnel(10, UPF))));
    assert_eq!(office.settle(1, vec![uplink(12)], false), Ok(1));
    assert_eq!([10, 11, 12].map(|teid| office.of_tunnel(teid)), [Some(0), Some(1), None]);
    for n in 2..16 {
        office.create(n, vec![uplink(20 + n as u32), downlink(&format!("10.45.1.{n}"), &[])]).unwrap();
    }
    let full = ApplyError::Full { table: "directory of the workers", capacity: 32 };
    assert_eq!(office.create(16, vec![uplink(99)]), Err(full));
    office.remove(15);
    office.create(16, vec![uplink(99)]).unwrap();
}
