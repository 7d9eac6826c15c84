//! How packets come from the switch to the software behind it.

use std::sync::{Arc, OnceLock};
use std::task::Waker;

use causeway_dataplane::{DropReason, Egress, Ingress};
use causeway_switch::backend::{Config, Drops, LocalSwitch, Ports, WithPorts};
use causeway_switch::driver::{Program, SwitchDriver};
use causeway_types::Time;

/// What the switch has done with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passed {
    /// It has left it to the software.
    ForSoftware,
    /// It has forwarded it.
    Forwarded,
    /// It has dropped it, for its rate or by the firewall.
    Dropped(DropReason),
}

/// The way of packets from a switch with this driver to the software.
pub trait Front<D> {
    /// Passes a packet of the UPF through the switch, unless it has passed it already. What the switch forwards is appended to `out`.
    fn pass(
        &mut self,
        driver: &mut D,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut Vec<(Egress, Vec<u8>)>,
    ) -> Passed;

    /// Whether packets that the switch forwards pass here. Otherwise only its counters tell of them.
    fn shows_forwarded(&self) -> bool;

    /// Takes what the switch has transmitted without a packet of [`Front::pass`], if it transmits here.
    fn take_sent(&mut self, driver: &mut D, out: &mut Vec<(Egress, Vec<u8>)>);

    /// Sets what is woken when a response of the switch arrives, if it arrives by itself.
    fn set_waker(&mut self, waker: Waker);
}

/// A switch in this process: each packet of the UPF passes it first.
#[derive(Clone, Debug)]
pub struct InProcessPorts {
    ports: Ports,
    drops: Drops,
}

impl InProcessPorts {
    pub(crate) fn new(switch: &Config, program: &Program) -> Self {
        Self { ports: Ports::new(switch), drops: Drops::of(program) }
    }
}

impl<D: WithPorts> Front<D> for InProcessPorts {
    fn pass(
        &mut self,
        driver: &mut D,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut Vec<(Egress, Vec<u8>)>,
    ) -> Passed {
        let Some((port, frame)) = self.ports.frame_of(ingress, packet) else { return Passed::ForSoftware };
        driver.receive(now, port, &frame);
        let mut is_forwarded = false;
        while let Some((port, frame)) = driver.poll_sent() {
            if port == LocalSwitch::SOFTWARE_PORT {
                return Passed::ForSoftware;
            }
            if let Some(sent) = self.ports.egress_of(port, &frame) {
                out.push(sent);
                is_forwarded = true;
            }
        }
        if is_forwarded {
            return Passed::Forwarded;
        }
        // The switch drops for nothing else.
        Passed::Dropped(self.drops.last(driver).unwrap_or(DropReason::MbrExceeded))
    }

    fn shows_forwarded(&self) -> bool {
        true
    }

    fn take_sent(&mut self, driver: &mut D, out: &mut Vec<(Egress, Vec<u8>)>) {
        self.ports.take_sent(driver, out);
    }

    fn set_waker(&mut self, _: Waker) {}
}

/// A switch outside this process: its packets for the software come to ports of the software.
#[derive(Clone, Debug, Default)]
pub struct OwnPorts {
    waker: Arc<OnceLock<Waker>>,
}

impl OwnPorts {
    /// What the driver of the switch calls when a response arrives: it wakes the packet thread, once that runs.
    pub fn wake(&self) -> impl Fn() + Send + Sync + 'static {
        let waker = Arc::clone(&self.waker);
        move || {
            if let Some(waker) = waker.get() {
                waker.wake_by_ref();
            }
        }
    }
}

impl<D: SwitchDriver> Front<D> for OwnPorts {
    fn pass(&mut self, _: &mut D, _: Time, _: &Ingress, _: &[u8], _: &mut Vec<(Egress, Vec<u8>)>) -> Passed {
        Passed::ForSoftware
    }

    fn shows_forwarded(&self) -> bool {
        false
    }

    fn take_sent(&mut self, _: &mut D, _: &mut Vec<(Egress, Vec<u8>)>) {}

    fn set_waker(&mut self, waker: Waker) {
        // The caller sets it once.
        let _first = self.waker.set(waker);
    }
}
