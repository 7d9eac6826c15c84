//! A controller that finds a running switch, in profile `direct`.

use causeway_dataplane::{Dataplane, PacketEngine};
use causeway_model::{Plan, RuleSet};
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{PdrId, Qfi, QfiSet, Seid, Span};

use super::direct::{direct, down, end, establish, up};
use super::fixture::{START, UPF, from_network, reply, session, topology};
use crate::backend::InProcess;
use crate::backend::local_model::{CPU, parts, with_guards};
use crate::driver::{Link, Program, Request, SwitchDriver, Update};
use crate::model::upf::Upf;
use crate::model::{self, Model, Timing};

// Input:  packets of a session; another controller takes over the switch, whose entries are present or removed, and not
//         its counters; the same session and packets again; a session with several QoS flows.
// Output: only later usage is reported, to the octet; the counters are read once for each number.
#[test]
fn a_new_controller_goes_on_from_what_counters_hold() {
    for is_bare in [false, true] {
        let mut old = direct();
        establish(&mut old, 0, &several_flows());
        for _ in 0..5 {
            down(&mut old, 0);
            up(&mut old, 0);
        }
        let driver = std::mem::replace(
            old.switch().driver(),
            parts(&Program::from(&profiles::DIRECT), topology(), Limits::default()).unwrap().0,
        );
        let program = Program::from(&profiles::DIRECT);
        let mut upf = InProcess::with_driver(driver, &program, topology(), Limits::default()).unwrap();
        if is_bare {
            remove_all(&mut upf);
        }
        upf.switch().handle_link(START, Link::Up { emptied: false });
        for rules in [several_flows(), session(0), several_flows()] {
            establish(&mut upf, 0, &rules);
            down(&mut upf, 0);
            up(&mut upf, 0);
            up(&mut upf, 0);
            assert_eq!(end(&mut upf, 0), (200, 200));
        }
        upf.switch().driver().restart(START);
        upf.advance(START);
        establish(&mut upf, 0, &session(0));
        up(&mut upf, 0);
        assert_eq!(end(&mut upf, 0), (100, 0));
    }
}

// Input:  packets of a session wait in the queue of a port, and are counted on transmission; another controller takes
//         over, and establishes the same session immediately; packets of it.
// Output: the counters are read once no packet of the former session can be in flight: only usage of the new one is
//         reported.
#[test]
fn what_was_under_way_is_not_the_new_controllers() {
    let program = Program::from(&profiles::DIRECT);
    let slow = || {
        let program = with_guards(&program);
        let pipeline = Upf::new(&program, CPU, vec![UPF]).unwrap();
        let (timing, port_rate) = (Timing::INSTANT, Some(1_000_000));
        let config = model::Config { timing, cpu_port: CPU, port_rate, queue_room: 1 << 20 };
        let model = Model::new(program.clone(), pipeline, config);
        let mut upf = InProcess::with_driver(model, &program, topology(), Limits::default()).unwrap();
        upf.switch().set_drain(Span::from_millis(10));
        upf
    };
    let (mut old, mut upf) = (slow(), slow());
    establish(&mut old, 0, &session(0));
    for _ in 0..8 {
        down(&mut old, 0);
    }
    std::mem::swap(old.switch().driver(), upf.switch().driver());
    upf.switch().handle_link(START, Link::Up { emptied: false });
    establish(&mut upf, 0, &session(0));
    let later = |millis: u64| START + Span::from_millis(millis);
    for packet in 0..2 {
        upf.process(later(100 + packet), &from_network(), &reply(0, 172), &mut Vec::new());
    }
    let usage = upf.apply(later(200), &Plan::removal(Seid(0))).unwrap().usage;
    assert_eq!(usage.iter().map(|usage| usage.volume.unwrap().total()).sum::<u64>(), 2 * 200);
}

/// A session whose uplink is for two QoS flows.
fn several_flows() -> RuleSet {
    let mut rules = session(0);
    let pdr = rules.pdrs.get_mut(&PdrId(1)).unwrap();
    pdr.pdi.qfis = QfiSet::from_iter([8, 9].into_iter().filter_map(Qfi::new));
    rules
}

/// Removes all entries of the switch.
fn remove_all(upf: &mut InProcess) {
    let switch = upf.switch();
    let (tables, state) = (switch.tables(), switch.driver().state());
    let tables = tables.into_iter().filter_map(|table| state.entries(table));
    let updates = tables.flatten().map(|entry| Update::Delete(entry.key.clone())).collect();
    let ticket = switch.driver().submit(START, Request::Write(updates));
    assert!(switch.driver().poll(START).is_some_and(|(ended, outcome)| ended == ticket && outcome.is_ok()));
}
