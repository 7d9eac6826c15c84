//! Any octets as records of a chain: in N4 an association, a session of it and a response, and snapshots of usage; in the data plane what such a snapshot holds. A session that is
//! restored has the record that it came from, once the data plane has it. A session that goes on with any usage ends as any other.

use std::net::Ipv4Addr;

use causeway_dataplane::{Applied, Dataplane, RestoredUrr, Topology};
use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints, MeasurementMethod, Plan, RuleSet, Urr};
use causeway_n4::{Config, N4, Output, UsageSnapshot};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{NodeId, NtpSeconds, ReportingTriggers, Seid, Span, Time, Transfer, UrrId};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    let own = Ipv4Addr::new(192, 0, 2, 1);
    let gtpu = vec![LocalEndpoint { addr: Ipv4Addr::new(192, 0, 2, 100).into(), network_instance: None }];
    let endpoints = LocalEndpoints { gtpu, ..LocalEndpoints::default() };
    let config = Config::new(NodeId::Ip(own.into()), own.into());
    let mut n4 = N4::new(config, Capabilities::all(10_000, 16), endpoints, NtpSeconds(1));
    let now = Time::from_secs(1_700_000_000);
    if let Some(snapshots) = Vec::<UsageSnapshot>::from_octets(octets) {
        assert_eq!(snapshots.to_octets(), octets);
        for snapshot in snapshots {
            assert!(n4.restored_urrs(&snapshot).is_empty(), "there is no session yet");
            goes_on(now, &snapshot.octets);
        }
    }
    goes_on(now, octets);
    // The association comes first, behind its length in one octet.
    let Some((len, rest)) = octets.split_first() else { return };
    let Some((association, rest)) = rest.split_at_checked(usize::from(*len)) else { return };
    let _ = n4.restore_response(now, rest);
    if n4.restore_association(now, association).is_err() || n4.restore_session(now, rest).is_err() {
        return;
    }
    let mut plan = None;
    while let Some(output) = n4.poll_output() {
        if let Output::Apply { id, .. } = output {
            plan = Some(id);
        }
    }
    let id = plan.expect("a session that is restored has a plan");
    n4.applied(now, id, Ok(Applied::default()));
    let record = n4.session_record(id.session_index()).expect("it is established");
    let mut again = N4::new(
        Config::new(NodeId::Ip(own.into()), own.into()),
        Capabilities::all(10_000, 16),
        LocalEndpoints {
            gtpu: vec![LocalEndpoint { addr: Ipv4Addr::new(192, 0, 2, 100).into(), network_instance: None }],
            ..LocalEndpoints::default()
        },
        NtpSeconds(1),
    );
    for (_, association) in n4.association_records() {
        again.restore_association(now, &association).expect("it was restored before");
    }
    again.restore_session(now, &record).expect("it was restored before");
}

/// A session goes on with this usage, or does not; time passes, and it ends.
fn goes_on(now: Time, octets: &[u8]) {
    let method = MeasurementMethod { volume: true, duration: true, events: true };
    let mut rules = RuleSet::default();
    rules.urrs.extend([
        (UrrId(1), Urr::new(UrrId(1), method)),
        (
            UrrId(2),
            Urr {
                triggers: ReportingTriggers::all(),
                period: Some(Span::from_secs(9)),
                holding_time: Some(Span::from_secs(30)),
                immediate_start: true,
                ..Urr::new(UrrId(2), method)
            },
        ),
    ]);
    let mut plane = SlowPath::new(Topology::default(), Limits::default());
    plane.apply(now, &Plan::install(Seid(1), rules)).expect("a session of URRs alone");
    let goes_on = |urr, is_new| RestoredUrr {
        has_new_thresholds: is_new,
        has_new_quotas: is_new,
        ..RestoredUrr::unchanged(UrrId(urr))
    };
    plane.restore_usage(now, Seid(1), octets, &[goes_on(1, true), goes_on(2, false)]);
    let later = now + Span::from_secs(20);
    plane.advance(later);
    let snapshot = plane.usage_snapshot(later, Seid(1), Time::default());
    let snapshot = snapshot.expect("time of the second URR runs");
    assert!(plane.restore_usage(later, Seid(1), &snapshot, &[goes_on(1, false), goes_on(2, false)]));
    plane.apply(later + Span::from_secs(1), &Plan::removal(Seid(1))).expect("it ends");
    while plane.poll_event().is_some() {}
}
