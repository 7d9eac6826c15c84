//! Drops of the switch, which its controller reports.

use causeway_dataplane::{Dataplane, DropReason};
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{Span, Time};

use super::fixture::{GNBS, START, UPF, reply, request, topology};
use crate::backend::cpu_port::{in_udp, plain_frame};
use crate::backend::local_model::{N3, N6, parts};
use crate::backend::{Config, Switch};
use crate::driver::{Link, Program};
use crate::model::Model;
use crate::model::upf::Upf;

const INTERVAL: Span = Span::from_secs(2);

fn new() -> Switch<Model<Upf>> {
    let (model, program, config) =
        parts(&Program::from(&profiles::HIP4), topology(), Limits::default()).unwrap();
    let config = Config { drop_read_interval: Some(INTERVAL), ..config };
    Switch::new(model, &program, config).unwrap()
}

/// Packets of no session: of a tunnel and for a UE.
fn drop_packets(switch: &mut Switch<Model<Upf>>, now: Time, tunnelled: usize, others: usize) {
    let message = in_udp((GNBS[0], 2152), (UPF, 2152), (0, None), &request(1, 72)).unwrap();
    for _ in 0..tunnelled {
        switch.driver().receive(now, N3, &plain_frame(&message));
    }
    for _ in 0..others {
        switch.driver().receive(now, N6, &plain_frame(&reply(1, 72)));
    }
}

fn told(switch: &Switch<Model<Upf>>) -> [u64; 2] {
    [DropReason::SpoofedSource, DropReason::UnknownUe].map(|reason| switch.counters().dropped(reason))
}

// Input:  packets that the switch drops, for two reasons; time passes; more of them; the switch restarts empty; one
//         more.
// Output: each is reported with its reason when the counters are read, none twice.
#[test]
fn switch_drops_are_counted_by_reason() {
    let mut switch = new();
    switch.run(START);
    drop_packets(&mut switch, START, 2, 1);
    let soon = START + INTERVAL / 2;
    switch.run(soon);
    assert_eq!(told(&switch), [0, 0]);
    assert_eq!(switch.next_deadline(), Some(START + INTERVAL));
    let later = START + INTERVAL;
    switch.run(later);
    assert_eq!(told(&switch), [2, 1]);
    drop_packets(&mut switch, later, 1, 4);
    switch.run(later + INTERVAL);
    assert_eq!(told(&switch), [3, 5]);
    let end = later + INTERVAL * 3;
    switch.driver().restart(later + INTERVAL * 2);
    switch.run(later + INTERVAL * 2);
    drop_packets(&mut switch, end, 0, 1);
    switch.run(end);
    assert_eq!(told(&switch), [3, 6]);
}

// Input:  a switch that has dropped packets before this controller connected, and keeps its state; one packet more.
// Output: only that one is reported.
#[test]
fn what_was_dropped_before_is_not_ours() {
    let mut old = new();
    old.run(START);
    drop_packets(&mut old, START, 3, 3);
    let mut switch = new();
    std::mem::swap(old.driver(), switch.driver());
    switch.handle_link(START, Link::Up { emptied: false });
    switch.run(START + INTERVAL);
    drop_packets(&mut switch, START + INTERVAL, 1, 0);
    switch.run(START + INTERVAL * 2);
    assert_eq!(told(&switch), [1, 0]);
}
