use causeway_pfcp::FTeid as WireFTeid;
use causeway_types::{
    PdrId, Span, Time, UrrId, UsageInformation, UsageReportTrigger, Volume, WallClock, WallTime,
};

use crate::delete;
use crate::edits::{Measuring, RequestedChanges, UrrDraft};
use crate::testing::{SESSION, TestUpf, urr, usual};
use causeway_model::Usage;

fn world(packets: bool) -> TestUpf {
    let mut changes = usual();
    let mut draft = UrrDraft::of(urr(1));
    draft.settings.measuring = Some(Measuring { packets, ..Measuring::default() });
    changes.urrs.create = vec![draft];
    TestUpf::with(changes)
}

/// 3 packets, 700 octets up and 500 down; start at 1000 s, first packet 10 s later, end at 1060 s.
fn usage(triggers: UsageReportTrigger) -> Usage {
    let (start, end) = (Time::from_secs(1000), Time::from_secs(1060));
    Usage {
        volume: Some(Volume { uplink: 700, downlink: 500, uplink_packets: 2, downlink_packets: 1 }),
        duration: Some(Span::from_millis(50_900)),
        first_packet: Some(Time::from_secs(1010)),
        last_packet: Some(Time::from_secs(1059)),
        ..Usage::new(UrrId(1), triggers, start, end)
    }
}

// Input:  a threshold, a query and the end of the session, one after the other.
// Output: sequence numbers from 0, each with its trigger; octets of all directions, no packets.
#[test]
fn reports_are_numbered_and_say_why() {
    let mut world = world(false);
    let first = world.session.usage_report(&usage(UsageReportTrigger::VOLTH), WallClock::default());
    assert_eq!((first.ur_seqn.0, first.usage_report_trigger), (0, UsageReportTrigger::VOLTH));
    let volume = first.volume_measurement.unwrap();
    assert_eq!(
        (volume.octets.total, volume.octets.uplink, volume.octets.downlink),
        (Some(1200), Some(700), Some(500))
    );
    assert_eq!((volume.packets.total, first.duration_measurement.map(|it| it.0)), (None, Some(50)));
    assert_eq!(first.start_time.unwrap().0.to_wall(), WallTime::from_secs(1000));
    assert_eq!(first.time_of_last_packet.unwrap().0.to_wall(), WallTime::from_secs(1059));

    let mut change = world
        .modify(RequestedChanges {
            query_all: true,
            query_reference: Some(77),
            ..RequestedChanges::default()
        })
        .unwrap();
    let reports = change.usage_reports(&[usage(UsageReportTrigger::IMMER)], WallClock::default());
    assert_eq!((reports[0].ur_seqn.0, reports[0].usage_report_trigger), (1, UsageReportTrigger::IMMER));
    assert_eq!(reports[0].query_urr_reference.map(|reference| reference.0), Some(77));
    world.keep(change);

    let mut end = delete(&world.session, SESSION);
    let reports = end.usage_reports(&[usage(UsageReportTrigger::TERMR)], WallClock::default());
    assert_eq!((reports[0].ur_seqn.0, reports[0].usage_report_trigger), (2, UsageReportTrigger::TERMR));
    assert_eq!(reports[0].query_urr_reference, None);
}

// Input:  MNOP.
// Output: packets of all directions beside the octets.
#[test]
fn packets_are_reported_when_asked_for() {
    let mut world = world(true);
    let packets = world
        .session
        .usage_report(&usage(UsageReportTrigger::IMMER), WallClock::default())
        .volume_measurement
        .unwrap()
        .packets;
    assert_eq!((packets.total, packets.uplink, packets.downlink), (Some(3), Some(2), Some(1)));
}

// Input:  the start of traffic; usage after a monitoring time, before QoS enforcement.
// Output: the time of the event, without start, end and measurement; the flags of the parts.
#[test]
fn reports_say_what_they_are_about() {
    let mut world = world(false);
    let at = Time::from_secs(1010);
    let start = Usage { events: vec![at], ..Usage::new(UrrId(1), UsageReportTrigger::START, at, at) };
    let report = world.session.usage_report(&start, WallClock::default());
    assert_eq!((report.start_time, report.end_time, report.volume_measurement), (None, None, None));
    assert_eq!((report.duration_measurement, report.usage_information), (None, None));
    assert_eq!(
        report.event_time_stamps.iter().map(|stamp| stamp.0.to_wall()).collect::<Vec<_>>(),
        [WallTime::from_nanos(at.as_nanos())]
    );
    let part = UsageInformation::AFT | UsageInformation::UBE;
    let report =
        world.session.usage_report(&Usage { part, ..usage(UsageReportTrigger::VOLTH) }, WallClock::default());
    assert_eq!(report.usage_information, Some(part));
}

// Input:  a URR is removed; its final usage follows the change. Then a URR of the same id is created.
// Output: the report is complete, with the removed rule's settings; the new one counts from 0.
#[test]
fn a_removed_urr_has_its_final_report() {
    let mut world = world(true);
    world.session.usage_report(&usage(UsageReportTrigger::VOLTH), WallClock::default());
    let mut changes = RequestedChanges::default();
    changes.urrs.remove = vec![UrrId(1)];
    let mut change = world.modify(changes).unwrap();
    let reports = change.usage_reports(&[usage(UsageReportTrigger::TERMR)], WallClock::default());
    assert_eq!((reports[0].ur_seqn.0, reports[0].usage_report_trigger), (1, UsageReportTrigger::TERMR));
    assert!(reports[0].volume_measurement.is_some_and(|volume| volume.packets.total == Some(3)));
    world.keep(change);

    let mut changes = RequestedChanges::default();
    changes.urrs.create = vec![UrrDraft::of(urr(1))];
    let change = world.modify(changes).unwrap();
    world.keep(change);
    let report = world.session.usage_report(&usage(UsageReportTrigger::IMMER), WallClock::default());
    assert_eq!((report.ur_seqn.0, report.volume_measurement.unwrap().packets.total), (0, None));
}

// Input:  a session with a chosen and an assigned F-TEID.
// Output: a Created PDR for the chosen one alone.
#[test]
fn created_pdrs_have_the_chosen_tunnel() {
    let change = TestUpf::new().establish(usual()).unwrap();
    let created = change.created_pdrs();
    assert_eq!(created.len(), 1);
    assert_eq!(created[0].pdr_id, PdrId(1));
    assert_eq!(created[0].local_f_teid, Some(WireFTeid::from(change.chosen[0].1)));
}
