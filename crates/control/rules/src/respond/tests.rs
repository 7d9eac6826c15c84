use causeway_pfcp::{FTeid as WireFTeid, UsageReportTrigger};
use causeway_types::{PdrId, Time, UrrId, Volume};

use crate::edits::{Changes, UrrDraft};
use crate::testing::{SESSION, World, urr, usual};
use crate::{MeasurementMethod, Reporting, Urr, Usage, UsageReason, delete};

fn world(method: MeasurementMethod, reporting: Reporting) -> World {
    let mut changes = usual();
    changes.urrs.create = vec![UrrDraft { urr: Urr { method, ..urr(1) }, reporting }];
    World::with(changes)
}

/// 3 packets, 700 octets up and 500 down; it began at 1000 s, the first packet came 10 s later, and it
/// ended at 1060 s.
fn usage(reason: UsageReason) -> Usage {
    Usage {
        urr: UrrId(1),
        reason,
        volume: Volume { uplink: 700, downlink: 500, uplink_packets: 2, downlink_packets: 1 },
        start: Time::from_secs(1000),
        end: Time::from_secs(1060),
        first_packet: Some(Time::from_secs(1010)),
        last_packet: Some(Time::from_secs(1059)),
    }
}

const VOLUME: MeasurementMethod = MeasurementMethod { volume: true, duration: false };
const DURATION: MeasurementMethod = MeasurementMethod { volume: false, duration: true };

// Input:  a threshold, a query and the end of the session, one after the other.
// Output: sequence numbers from 0, each with its trigger; octets of all directions, no packets.
#[test]
fn reports_are_numbered_and_say_why() {
    let mut world = world(VOLUME, Reporting::default());
    let first = world.session.usage_report(&usage(UsageReason::VolumeThreshold));
    assert_eq!((first.ur_seqn.0, first.usage_report_trigger), (0, UsageReportTrigger::VOLTH));
    let volume = first.volume_measurement.unwrap();
    assert_eq!(
        (volume.octets.total, volume.octets.uplink, volume.octets.downlink),
        (Some(1200), Some(700), Some(500))
    );
    assert_eq!((volume.packets.total, first.duration_measurement), (None, None));
    assert_eq!(first.start_time.unwrap().0.to_time(), Time::from_secs(1000));
    assert_eq!(first.time_of_last_packet.unwrap().0.to_time(), Time::from_secs(1059));

    let mut change =
        world.modify(Changes { query_all: true, query_reference: Some(77), ..Changes::default() }).unwrap();
    let reports = change.usage_reports(&[usage(UsageReason::Queried)]);
    assert_eq!((reports[0].ur_seqn.0, reports[0].usage_report_trigger), (1, UsageReportTrigger::IMMER));
    assert_eq!(reports[0].query_urr_reference.map(|reference| reference.0), Some(77));
    world.keep(change);

    let mut end = delete(&world.session, SESSION);
    let reports = end.usage_reports(&[usage(UsageReason::SessionEnded)]);
    assert_eq!((reports[0].ur_seqn.0, reports[0].usage_report_trigger), (2, UsageReportTrigger::TERMR));
    assert_eq!(reports[0].query_urr_reference, None);
}

// Input:  MNOP.
// Output: packets of all directions beside the octets.
#[test]
fn packets_are_reported_when_asked_for() {
    let mut world = world(VOLUME, Reporting { packets: true, immediate_start: false });
    let packets =
        world.session.usage_report(&usage(UsageReason::Queried)).volume_measurement.unwrap().packets;
    assert_eq!((packets.total, packets.uplink, packets.downlink), (Some(3), Some(2), Some(1)));
}

// Input:  a duration, with and without ISTM; without any packet.
// Output: seconds since the start; since the first packet; none.
#[test]
fn time_runs_from_the_first_packet_or_at_once() {
    let seconds = |immediate_start, usage: &Usage| {
        let mut world = world(DURATION, Reporting { packets: false, immediate_start });
        let report = world.session.usage_report(usage);
        assert_eq!(report.volume_measurement, None);
        report.duration_measurement.unwrap().0
    };
    let busy = usage(UsageReason::Queried);
    let idle = Usage { first_packet: None, last_packet: None, ..busy.clone() };
    assert_eq!((seconds(true, &busy), seconds(false, &busy)), (60, 50));
    assert_eq!((seconds(true, &idle), seconds(false, &idle)), (60, 0));
}

// Input:  a URR is removed; its final usage comes with the change. Then a URR of the same id is created.
// Output: the report is complete, by the rule that is gone; the new one counts from 0.
#[test]
fn a_removed_urr_has_its_final_report() {
    let mut world = world(VOLUME, Reporting { packets: true, immediate_start: false });
    world.session.usage_report(&usage(UsageReason::VolumeThreshold));
    let mut changes = Changes::default();
    changes.urrs.remove = vec![UrrId(1)];
    let mut change = world.modify(changes).unwrap();
    let reports = change.usage_reports(&[usage(UsageReason::Removed)]);
    assert_eq!((reports[0].ur_seqn.0, reports[0].usage_report_trigger), (1, UsageReportTrigger::TERMR));
    assert!(reports[0].volume_measurement.is_some_and(|volume| volume.packets.total == Some(3)));
    world.keep(change);

    let mut changes = Changes::default();
    changes.urrs.create = vec![UrrDraft { urr: urr(1), reporting: Reporting::default() }];
    let change = world.modify(changes).unwrap();
    world.keep(change);
    let report = world.session.usage_report(&usage(UsageReason::Queried));
    assert_eq!((report.ur_seqn.0, report.volume_measurement.unwrap().packets.total), (0, None));
}

// Input:  a threshold is reached between planning a modification and its being in force.
// Output: the report of the modification has the number after it; none is given twice.
#[test]
fn reports_made_meanwhile_are_counted() {
    let mut world = world(VOLUME, Reporting::default());
    let query = Changes { query_all: true, ..Changes::default() };
    let mut change = world.modify(query).unwrap();
    assert_eq!(world.session.usage_report(&usage(UsageReason::VolumeThreshold)).ur_seqn.0, 0);
    change.catch_up(&world.session);
    assert_eq!(change.usage_reports(&[usage(UsageReason::Queried)])[0].ur_seqn.0, 1);
    world.keep(change);
    assert_eq!(world.session.usage_report(&usage(UsageReason::VolumeThreshold)).ur_seqn.0, 2);
}

// Input:  a session with a chosen and an assigned F-TEID.
// Output: a Created PDR for the chosen one alone.
#[test]
fn created_pdrs_have_the_chosen_tunnel() {
    let change = World::new().establish(usual()).unwrap();
    let created = change.created_pdrs();
    assert_eq!(created.len(), 1);
    assert_eq!(created[0].pdr_id, PdrId(1));
    assert_eq!(created[0].local_f_teid, Some(WireFTeid::from(change.chosen[0].1)));
}
