//! The model, without the time that a real switch takes.

use std::net::Ipv4Addr;

use causeway_p4::Reason;
use causeway_switch::Count;
use causeway_switch::driver::{EntryKey, Program, Reply, Request, SwitchDriver, Update};
use causeway_switch::model::upf::Upf;
use causeway_switch::model::{Config, Model, Timing};
use causeway_types::{Span, Time};

use crate::CPU;
use crate::frames::{UNDERLAY, UPF_N3, UPF_N9, underlay_ipv6};

pub(crate) struct Modelled {
    model: Model<Upf>,
    now: Time,
}

impl Modelled {
    pub(crate) fn new(program: &Program) -> Self {
        let mut upf = Upf::new(program, CPU, vec![UPF_N3.into(), UPF_N9.into()]).unwrap();
        upf.set_underlay(vec![Ipv4Addr::from(UNDERLAY).into(), underlay_ipv6(UNDERLAY).into()]);
        let config = Config { timing: Timing::INSTANT, cpu_port: CPU, port_rate: None, queue_room: 1 << 20 };
        Self { model: Model::new(program.clone(), upf, config), now: Time::from_secs(1000) }
    }

    pub(crate) fn write(&mut self, update: &Update) {
        self.model.submit(self.now, Request::Write(vec![update.clone()]));
        let outcome = self.model.poll(self.now).map(|(_, outcome)| outcome);
        assert_eq!(outcome, Some(Ok(Reply::Done)), "{update:?}");
    }

    /// Sends a frame; returns what leaves, by which ports.
    pub(crate) fn send(&mut self, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
        self.now = self.now + Span::from_millis(1);
        if port == CPU {
            self.model.submit(self.now, Request::PacketOut(frame.to_vec()));
        } else {
            self.model.receive(self.now, port, frame);
        }
        while self.model.poll(self.now).is_some() {}
        let sent = std::iter::from_fn(|| self.model.poll_sent()).map(|(_, port, frame)| (port, frame));
        let mut left: Vec<(u16, Vec<u8>)> = sent.collect();
        left.extend(std::iter::from_fn(|| self.model.poll_packet(self.now)).map(|frame| (CPU, frame)));
        left
    }

    /// Packets dropped so far, for the reasons of which there are any.
    pub(crate) fn drops(&self, reasons: &[Reason]) -> Vec<(&'static str, u64)> {
        let counted = reasons.iter().filter(|reason| reason.value != 0);
        let counted = counted.map(|reason| (reason.name, self.indexed("drops", reason.value.into()).packets));
        counted.filter(|(_, packets)| *packets != 0).collect()
    }

    pub(crate) fn indexed(&self, counter: &str, index: u32) -> Count {
        let state = self.model.state();
        let counter = state.program().counters.iter().find(|known| known.name == counter).unwrap();
        state.indexed_count(counter.id, index).unwrap()
    }

    pub(crate) fn direct(&self, key: &EntryKey) -> Count {
        self.model.state().direct_count(key).unwrap()
    }
}
