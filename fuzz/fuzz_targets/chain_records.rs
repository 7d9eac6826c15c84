//! Any octets as records of a chain in N4: an association, a session of it and a response. A session that is restored has the record that it came from,
//! once the data plane has it.

#![no_main]

use std::net::Ipv4Addr;

use causeway_dataplane::Applied;
use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints};
use causeway_n4::{Config, N4, Output};
use causeway_types::{NodeId, NtpSeconds, Time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    let own = Ipv4Addr::new(192, 0, 2, 1);
    let gtpu = vec![LocalEndpoint { addr: Ipv4Addr::new(192, 0, 2, 100).into(), network_instance: None }];
    let endpoints = LocalEndpoints { gtpu, ..LocalEndpoints::default() };
    let config = Config::new(NodeId::Ip(own.into()), own.into());
    let mut n4 = N4::new(config, Capabilities::all(10_000, 16), endpoints, NtpSeconds(1));
    let now = Time::from_secs(1_700_000_000);
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
});
