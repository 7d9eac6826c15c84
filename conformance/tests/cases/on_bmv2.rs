//! The cases on BMv2, where that is installed: one switch, which each case finds as the one before it left it, and the backend empties.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use causeway_conformance::{Backend, Setup, limits};
use causeway_dataplane::{PacketEngine, Topology};
use causeway_p4::{Contract, profiles};
use causeway_switch::Count;
use causeway_switch::backend::{InProcess, WithPorts};
use causeway_switch::driver::{Link, Outcome, Program, Request, SwitchDriver, Ticket};
use causeway_types::Time;

use crate::bmv2::Bmv2;
use crate::bmv2_tools;
use crate::namespace::in_namespace;
use crate::switch::{On, check_all};

/// One switch for all cases.
struct OnBmv2 {
    switch: Rc<RefCell<Bmv2>>,
    contract: &'static Contract,
}

impl Backend for OnBmv2 {
    fn name(&self) -> &'static str {
        "BMv2"
    }

    fn build(&self, topology: Topology, setup: &Setup) -> Box<dyn PacketEngine> {
        self.switch.borrow_mut().settle();
        let driver = Way { switch: Rc::clone(&self.switch), is_new: true };
        let program = Program::from(self.contract);
        let engine = InProcess::with_driver(driver, &program, topology, limits(setup));
        Box::new(engine.unwrap_or_else(|error| panic!("{error}")).with_received_octets())
    }
}

/// A case's use of the switch.
struct Way {
    switch: Rc<RefCell<Bmv2>>,
    /// Nobody knows what is on it.
    is_new: bool,
}

impl SwitchDriver for Way {
    fn submit(&mut self, _: Time, request: Request) -> Ticket {
        self.switch.borrow_mut().submit(request)
    }

    fn poll(&mut self, _: Time) -> Option<(Ticket, Outcome)> {
        self.switch.borrow_mut().poll()
    }

    fn next_event(&self) -> Option<Time> {
        self.switch.borrow().is_busy().then(Time::default)
    }

    fn poll_link(&mut self, _: Time) -> Option<Link> {
        std::mem::take(&mut self.is_new).then_some(Link::Up { emptied: false })
    }

    fn poll_packet(&mut self, _: Time) -> Option<Vec<u8>> {
        self.switch.borrow_mut().packets.pop_front()
    }
}

impl WithPorts for Way {
    fn receive(&mut self, _: Time, port: u16, frame: &[u8]) {
        self.switch.borrow_mut().receive(port, frame);
    }

    fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)> {
        self.switch.borrow_mut().sent.pop_front()
    }

    fn indexed_counts(&mut self, counter: u32, indices: &[u32]) -> Vec<Count> {
        self.switch.borrow_mut().counts(counter, indices)
    }
}

/// The names of the tests.
pub(crate) const HIP4: &str = "bmv2::hip4_passes_what_it_supports";
pub(crate) const DIRECT: &str = "bmv2::direct_passes_what_it_supports";

// Input:  the cases that the model passes, on BMv2 behind P4Runtime.
// Output: each passes, or `bmv2.yaml` says why not; none is there that passes.
pub(crate) fn hip4_passes_what_it_supports() {
    on_bmv2(HIP4, &profiles::HIP4, On::Bmv2);
}

// Input:  the same in profile `direct`, whose counters each case finds as those before it left them.
// Output: the same.
pub(crate) fn direct_passes_what_it_supports() {
    on_bmv2(DIRECT, &profiles::DIRECT, On::Bmv2Direct);
}

fn on_bmv2(name: &'static str, contract: &'static Contract, on: On) {
    if let Some(tool) = bmv2_tools::missing() {
        eprintln!("SKIPPED conformance::{name}: needs {tool} (not on PATH)");
        return;
    }
    in_namespace(name, || {
        let folder = tempfile::tempdir().unwrap();
        let json = bmv2_tools::compile(folder.path(), &contract.profile.to_uppercase());
        let p4info = format!("../p4/p4info/{}.bmv2.txtpb", contract.profile);
        let p4info = Path::new(env!("CARGO_MANIFEST_DIR")).join(p4info);
        let switch = Bmv2::start(&json, &p4info, [192, 0, 2, 1]);
        check_all(&OnBmv2 { switch: Rc::new(RefCell::new(switch)), contract }, on);
    });
}
