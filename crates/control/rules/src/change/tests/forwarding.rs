//! Service requests and handovers.

use causeway_model::{ApplyAction, Op, OuterHeader};
use causeway_types::{FTeid, Interface};

use super::{far_update, names};
use crate::edits::{FarUpdate, ForwardingUpdate, RequestedChanges, Setting};
use crate::testing::{TestUpf, answer, buffering, gnb, to_gnb, usual};

// Input:  an idle UE is paged: the buffering FAR gets its first forwarding parameters and FORW.
// Output: one write, of that FAR.
#[test]
fn a_service_request_writes_one_far() {
    let mut changes = usual();
    changes.fars.create[1] = buffering(2);
    let mut upf = TestUpf::with(changes);
    let mut changes = RequestedChanges::default();
    let forwarding = ForwardingUpdate {
        destination: Some(Interface::Access),
        outer: Setting::Set(OuterHeader::Gtpu(gnb(0x200))),
        ..ForwardingUpdate::default()
    };
    changes.fars.update =
        vec![FarUpdate { action: Some(ApplyAction::Forward), forwarding: Some(forwarding), ..far_update(2) }];
    let change = upf.modify(changes).unwrap();
    assert_eq!(change.plan.ops()[..], [Op::PutFar(to_gnb(2, gnb(0x200)).into())]);
    assert_eq!(change.chosen, []);
}

/// A handover of FARs to another tunnel, with SNDEM.
fn handover(fars: &[u32], tunnel: FTeid) -> RequestedChanges {
    let outer = Setting::Set(OuterHeader::Gtpu(tunnel));
    let forwarding = ForwardingUpdate { outer, end_marker: true, ..ForwardingUpdate::default() };
    let mut changes = RequestedChanges::default();
    changes.fars.update = fars
        .iter()
        .map(|far| FarUpdate { forwarding: Some(forwarding.clone()), ..far_update(*far) })
        .collect();
    changes
}

// Input:  a handover of two FARs that share a tunnel, both with SNDEM.
// Output: one End Marker to the old tunnel, after the write of the first FAR (open5gs#1514 sent two).
#[test]
fn a_handover_sends_one_end_marker() {
    let mut changes = usual();
    changes.fars.create.push(to_gnb(3, gnb(0x100)));
    let mut upf = TestUpf::with(changes);
    let change = upf.modify(handover(&[2, 3], gnb(0x200))).unwrap();
    assert_eq!(names(&change.plan.ops()), ["put FAR 2", "end marker of FAR 2 to 0x00000100", "put FAR 3"]);
}

// Input:  SNDEM with the same tunnel as before; with a FAR that had none.
// Output: no End Marker.
#[test]
fn no_old_tunnel_no_end_marker() {
    let mut upf = TestUpf::with(usual());
    assert_eq!(upf.modify(handover(&[2], gnb(0x100))).unwrap().plan.ops()[..], []);
    let change = upf.modify(handover(&[1], gnb(0x300))).unwrap();
    assert_eq!(names(&change.plan.ops()), ["put FAR 1"]);
}

// Input:  SNDEM, and a data plane that sends no End Markers.
// Output: Service not supported; not silently ignored.
#[test]
fn end_markers_need_a_data_plane_that_sends_them() {
    let mut upf = TestUpf::with(usual());
    upf.capabilities.end_marker = false;
    let rejection = upf.modify(handover(&[2], gnb(0x200))).unwrap_err();
    assert_eq!(answer(&rejection), (76, Some(49)));
}
