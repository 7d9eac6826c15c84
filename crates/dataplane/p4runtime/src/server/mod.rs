//! The model of a switch as a P4Runtime server.
//!
//! Any controller can connect to a [`ModelSwitch`]: [`ModelSwitch::serve`] accepts connections,
//! [`ModelSwitch::receive`] and [`ModelSwitch::poll_sent`] are its ports. The model's time is the local clock: with the
//! timing of a real driver, responses are as late as that driver's.

mod arbitration;
mod device;
mod offline;
mod pipeline;
mod read;
mod service;
mod stream;
mod write;

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use causeway_switch::Count;
use causeway_switch::driver::SwitchDriver;
use causeway_switch::model::Timing;
use causeway_types::{Span, Time};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tonic::Status;
use tonic::transport::server::TcpIncoming;

use crate::info::{Info, InfoError};
use crate::wire::service::p4_runtime_server::P4RuntimeServer;
use crate::wire::{ForwardingPipelineConfig, MOST_MESSAGE};
use device::Device;
pub use device::Totals;
pub use offline::{Method, Offline};
use service::Service;
/// The status codes of responses.
pub use tonic::Code;

/// The configuration of a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The id of the device; not zero.
    pub device_id: u64,
    /// The port whose frames go to the controller.
    pub cpu_port: u16,
    /// The addresses at which GTP-U arrives, until a controller sets others.
    pub local: Vec<Ipv4Addr>,
    /// The cost of requests.
    pub timing: Timing,
    /// Whether batches can be all or nothing. This is optional for servers, and BMv2's does not support it.
    pub has_atomic_batches: bool,
    /// Whether registers can be read. BMv2's server does not support it.
    pub reads_registers: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device_id: 1,
            cpu_port: 510,
            local: Vec::new(),
            timing: Timing::INSTANT,
            has_atomic_batches: true,
            reads_registers: true,
        }
    }
}

/// The P4Info of the profiles that the model runs, by name.
pub const PROFILES: [(&str, &str); 15] = [
    ("baseline", include_str!("../../../../../p4/p4info/baseline.bmv2.txtpb")),
    ("red", include_str!("../../../../../p4/p4info/red.bmv2.txtpb")),
    ("red-spt", include_str!("../../../../../p4/p4info/red-spt.bmv2.txtpb")),
    ("hip4", include_str!("../../../../../p4/p4info/hip4.bmv2.txtpb")),
    ("direct", include_str!("../../../../../p4/p4info/direct.bmv2.txtpb")),
    ("hip4-hybrid", include_str!("../../../../../p4/p4info/hip4-hybrid.bmv2.txtpb")),
    ("hip4-vxlan", include_str!("../../../../../p4/p4info/hip4-vxlan.bmv2.txtpb")),
    ("direct-vxlan", include_str!("../../../../../p4/p4info/direct-vxlan.bmv2.txtpb")),
    ("hip4-hybrid-firewall", include_str!("../../../../../p4/p4info/hip4-hybrid-firewall.bmv2.txtpb")),
    ("hip4-hybrid-vxlan", include_str!("../../../../../p4/p4info/hip4-hybrid-vxlan.bmv2.txtpb")),
    ("hip4-classes", include_str!("../../../../../p4/p4info/hip4-classes.bmv2.txtpb")),
    ("direct-classes", include_str!("../../../../../p4/p4info/direct-classes.bmv2.txtpb")),
    ("hip4-heavy-hitters", include_str!("../../../../../p4/p4info/hip4-heavy-hitters.bmv2.txtpb")),
    ("direct-heavy-hitters", include_str!("../../../../../p4/p4info/direct-heavy-hitters.bmv2.txtpb")),
    ("thesis", include_str!("../../../../../p4/p4info/thesis.bmv2.txtpb")),
];

/// Errors of a switch server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The program's P4Info cannot be used.
    #[error("the program's P4Info: {0}")]
    Info(#[from] InfoError),
    /// The model cannot run the program.
    #[error("the program: {}", .0.message())]
    Program(Status),
    /// Listening ended.
    #[error("listening ended: {0}")]
    Listen(tonic::transport::Error),
    /// This host has no resources for another event queue.
    #[error("cannot serve: {0}")]
    Runtime(std::io::Error),
    /// The stream of messages does not open.
    #[error("the stream does not open: {0:?}")]
    Stream(Code),
}

/// The model of a switch, with its controllers.
#[derive(Clone)]
pub struct ModelSwitch {
    host: Arc<Host>,
}

/// The switch, its clock, and its waiters.
struct Host {
    device: Mutex<Device>,
    start: Instant,
    /// The last given time, if the model uses that instead of a clock.
    told: Mutex<Option<Time>>,
    /// The next deadline is earlier than before.
    changed: Notify,
    closing: watch::Sender<bool>,
}

impl ModelSwitch {
    /// A switch without a program: a controller sets it.
    pub fn new(options: Options) -> Self {
        let host = Host {
            device: Mutex::new(Device::new(options)),
            start: Instant::now(),
            told: Mutex::new(None),
            changed: Notify::new(),
            closing: watch::Sender::new(false),
        };
        Self { host: Arc::new(host) }
    }

    /// Runs a program, of a P4Info in text form, with empty tables.
    ///
    /// # Errors
    /// It is not a P4Info, or the model does not support its program.
    pub fn run(&self, p4info: &str) -> Result<(), ServerError> {
        let info = Info::of_text(p4info)?;
        let config = ForwardingPipelineConfig { p4info: Some(info.encoded), ..Default::default() };
        let set = self.host.device().commit(config);
        set.map_err(|refusal| ServerError::Program(refusal.into()))
    }

    /// Serves controllers until [`ModelSwitch::stop`], after which it can be served again with its state.
    ///
    /// # Errors
    /// Listening ends by itself.
    pub async fn serve(&self, listener: TcpListener) -> Result<(), ServerError> {
        let server = P4RuntimeServer::new(Service(Arc::clone(&self.host)))
            .max_decoding_message_size(MOST_MESSAGE)
            .max_encoding_message_size(MOST_MESSAGE);
        let mut closing = self.host.closing();
        let closed = async move {
            // The switch is reachable as long as this runs.
            let _gone = closing.wait_for(|is_closing| *is_closing).await;
        };
        // Responses are small and latency matters.
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let serving = tonic::transport::Server::builder()
            .add_service(server)
            .serve_with_incoming_shutdown(incoming, closed);
        let ended = tokio::select! {
            ended = serving => ended.map_err(ServerError::Listen),
            () = self.host.keep_time() => Ok(()),
        };
        // A stop before the start has stopped this call.
        self.host.closing.send_replace(false);
        ended
    }

    /// Ends all streams and stops serving.
    pub fn stop(&self) {
        self.host.closing.send_replace(true);
        self.host.device().close_all();
    }

    /// From now on the model's time is the one given here, not a clock's. It never goes back.
    pub fn set_time(&self, now: Time) {
        {
            let mut told = self.host.told.lock().unwrap_or_else(PoisonError::into_inner);
            *told = (*told).max(Some(now));
        }
        self.host.pump(&mut self.host.device());
    }

    /// A counter by index; `None` if the program does not have it.
    pub fn indexed_count(&self, counter: u32, index: u32) -> Option<Count> {
        self.host.device().running().ok()?.model.state().indexed_count(counter, index)
    }

    /// Receives a frame on a port.
    pub fn receive(&self, port: u16, frame: &[u8]) {
        let mut device = self.host.device();
        if let Ok(running) = device.running() {
            running.model.receive(self.host.now(), port, frame);
        }
        self.host.pump(&mut device);
    }

    /// Loses the frames for a controller from now on, as if its stream were full; with `false` no longer.
    pub fn lose_packets_in(&self, loses: bool) {
        self.host.device().loses_packets_in = loses;
    }

    /// The next frame that was transmitted on a port other than the CPU port, and the port; a few thousand are kept.
    pub fn poll_sent(&self) -> Option<(u16, Vec<u8>)> {
        self.host.device().poll_sent()
    }

    /// Statistics so far.
    pub fn totals(&self) -> Totals {
        self.host.device().totals
    }

    /// How many entries all tables have together.
    pub fn entries(&self) -> usize {
        self.count_entries(|_| true)
    }

    /// How many entries a table has; none if the program does not have the table.
    pub fn entries_of(&self, table: &str) -> usize {
        self.count_entries(|name| name == table)
    }

    fn count_entries(&self, is_counted: impl Fn(&str) -> bool) -> usize {
        let mut device = self.host.device();
        let Ok(running) = device.running() else { return 0 };
        let (state, program) = (running.model.state(), &running.schema.program);
        let tables = program.tables.iter().filter(|table| is_counted(&table.name));
        tables.filter_map(|table| state.entries(table.id)).map(Iterator::count).sum()
    }
}

impl Host {
    /// The device. A panic leaves it in the state between two steps.
    fn device(&self) -> MutexGuard<'_, Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model's time.
    fn now(&self) -> Time {
        let told = *self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.unwrap_or_else(|| Time::default() + self.start.elapsed())
    }

    fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Advances the model to the present time.
    fn pump(&self, device: &mut Device) {
        device.pump(self.now());
        self.changed.notify_one();
    }

    /// Advances the model at its deadlines.
    async fn keep_time(&self) {
        loop {
            let next = {
                let mut device = self.device();
                device.running().ok().and_then(|running| running.model.next_event())
            };
            let changed = self.changed.notified();
            match next {
                None => changed.await,
                Some(due) => {
                    let left: Span = due.since(self.now());
                    // A little later: a timer that fires too early finds nothing to do and waits again.
                    let sleep = tokio::time::sleep(left + Span::from_micros(1));
                    tokio::select! { () = sleep => {}, () = changed => {} }
                }
            }
            let mut device = self.device();
            device.pump(self.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::Addresses;

    // Input:  each profile; in `thesis` a frame of a VXLAN segment that has no row, before and after the value set of the underlay has the address
    //         that it is for.
    // Output: all run. The frame is a packet to an unknown UE before (reason 7), and of an unknown segment (22) after.
    #[test]
    fn members_of_the_underlay_are_where_vxlan_arrives() {
        let switch = ModelSwitch::new(Options::default());
        for (name, p4info) in PROFILES {
            switch.run(p4info).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let thesis = PROFILES.iter().find(|(name, _)| *name == "thesis").unwrap().1;
        switch.run(thesis).unwrap();
        let (place, drops) = {
            let mut device = switch.host.device();
            let schema = &device.running().unwrap().schema;
            let drops = schema.program.counters.iter().find(|counter| counter.name == "drops").unwrap().id;
            (
                schema.value_sets.iter().position(|set| set.addresses == Some(Addresses::Underlay)).unwrap(),
                drops,
            )
        };
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0, 0, 70, 0, 0, 0, 0, 64, 17, 0xf6, 0xa0, 192, 0, 2, 9, 192, 0, 2, 1]);
        frame.extend([0xc0, 0, 0x12, 0xb5, 0, 50, 0, 0, 8, 0, 0, 0, 0, 0, 5, 0]);
        frame.extend([0; 12]);
        frame.extend([8, 0, 0x45, 0, 0, 20, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let dropped = |reason| switch.indexed_count(drops, reason).map(|count| count.packets);
        switch.receive(1, &frame);
        assert_eq!((dropped(7), dropped(22)), (Some(1), Some(0)));
        switch.host.device().running().unwrap().set_members(place, vec![0xc000_0201]);
        switch.receive(1, &frame);
        assert_eq!((dropped(7), dropped(22)), (Some(1), Some(1)));
    }
}
