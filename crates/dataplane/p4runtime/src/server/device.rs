//! The switch behind the server: its program, its state, and its controllers.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use causeway_switch::driver::{Outcome, Request, SwitchDriver, Ticket};
use causeway_switch::model::upf::Upf;
use causeway_switch::model::{Config, Model};
use causeway_types::Time;
use foldhash::fast::RandomState;
use tokio::sync::{mpsc, oneshot};
use tonic::{Code, Status};
use tracing::warn;

use super::Options;
use super::arbitration::{Arbitration, Stream, Updates};
use crate::convert::Refusal;
use crate::info::{Addresses, Schema, ValueSet};
use crate::wire::{ForwardingPipelineConfig, FromSwitch, PacketIn, StreamMessageResponse, Uint128};

/// The most transmitted frames that are kept.
const MOST_SENT: usize = 4096;

/// The sender of a controller's stream.
pub(super) type ToController = mpsc::Sender<Result<StreamMessageResponse, Status>>;

/// Statistics, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Updates made.
    pub updates: u64,
    /// Updates refused.
    pub refused: u64,
    /// Entities read.
    pub read: u64,
    /// Frames sent to the primary controller.
    pub packets_in: u64,
    /// Frames for a controller that were lost without a primary, or because its stream was full.
    pub packets_in_lost: u64,
    /// Frames received from controllers.
    pub packets_out: u64,
    /// Frames transmitted on a port.
    pub sent: u64,
}

/// A running program.
pub(super) struct Running {
    pub(super) config: ForwardingPipelineConfig,
    pub(super) schema: Arc<Schema>,
    pub(super) model: Model<Upf>,
    /// The members of each value set.
    pub(super) sets: Vec<Vec<u128>>,
    waiting: HashMap<Ticket, oneshot::Sender<Outcome>, RandomState>,
}

pub(super) struct Device {
    pub(super) options: Options,
    pub(super) running: Option<Running>,
    pub(super) arbitration: Arbitration,
    streams: HashMap<Stream, ToController, RandomState>,
    next_stream: Stream,
    sent: VecDeque<(u16, Vec<u8>)>,
    /// Frames for a controller are lost.
    pub(super) loses_packets_in: bool,
    pub(super) totals: Totals,
}

impl Device {
    pub(super) fn new(options: Options) -> Self {
        Self {
            arbitration: Arbitration::new(options.device_id),
            options,
            running: None,
            streams: HashMap::default(),
            next_stream: 0,
            sent: VecDeque::new(),
            loses_packets_in: false,
            totals: Totals::default(),
        }
    }

    /// Checks that a request is for this device.
    pub(super) fn check_device(&self, device_id: u64) -> Result<(), Refusal> {
        if device_id == self.options.device_id {
            return Ok(());
        }
        let ours = self.options.device_id;
        Err(Refusal::new(Code::NotFound, format!("there is no device {device_id}, only {ours}")))
    }

    /// Checks that a request is from the primary controller.
    pub(super) fn check_primary(
        &self,
        device_id: u64,
        role: &str,
        election: Option<Uint128>,
    ) -> Result<(), Refusal> {
        self.check_device(device_id)?;
        if !role.is_empty() {
            return Err(Refusal::new(
                Code::NotFound,
                format!("there is no role {role:?}, only the default one"),
            ));
        }
        if !self.arbitration.is_primary(election.map(Into::into)) {
            return Err(Refusal::new(
                Code::PermissionDenied,
                "the election id is not the primary controller's",
            ));
        }
        Ok(())
    }

    /// The running program.
    pub(super) fn running(&mut self) -> Result<&mut Running, Refusal> {
        self.running.as_mut().ok_or_else(|| Refusal::new(Code::FailedPrecondition, "no program was set"))
    }

    /// Checks that a configuration can run.
    pub(super) fn verify(&self, config: &ForwardingPipelineConfig) -> Result<(Schema, Upf), Refusal> {
        let info = config.p4info.as_ref().ok_or_else(|| Refusal::invalid("the P4Info is missing"))?;
        let schema = Schema::of_encoded(info).map_err(|error| Refusal::invalid(error.to_string()))?;
        let pipeline = Upf::new(&schema.program, self.options.cpu_port, self.options.local.clone());
        Ok((schema, pipeline.map_err(|error| Refusal::invalid(error.to_string()))?))
    }

    /// Runs a configuration. All state is lost, and requests in flight get no response.
    pub(super) fn commit(&mut self, config: ForwardingPipelineConfig) -> Result<(), Refusal> {
        let (schema, pipeline) = self.verify(&config)?;
        let local: Vec<u128> = self.options.local.iter().map(|address| u32::from(*address).into()).collect();
        let set = |set: &ValueSet| match set.addresses {
            Some(Addresses::Gtpu) => local.clone(),
            _ => Vec::new(),
        };
        let sets = schema.value_sets.iter().map(set).collect();
        let Options { cpu_port, timing, .. } = self.options;
        let model_config = Config { timing, cpu_port, port_rate: None, queue_room: 1 << 20 };
        let bounds = pipeline.bounds();
        let model = Model::new(schema.program.clone(), pipeline, model_config).with_bounds(bounds);
        let waiting = HashMap::default();
        self.running = Some(Running { config, schema: Arc::new(schema), model, sets, waiting });
        Ok(())
    }

    /// A stream opens.
    pub(super) fn open(&mut self, to_controller: ToController) -> Stream {
        let stream = self.next_stream;
        self.next_stream += 1;
        self.streams.insert(stream, to_controller);
        stream
    }

    /// A stream ends.
    pub(super) fn close(&mut self, stream: Stream) {
        self.streams.remove(&stream);
        let told = self.arbitration.leave(stream);
        self.tell(told);
    }

    /// Every stream ends.
    pub(super) fn close_all(&mut self) {
        self.streams.clear();
        self.arbitration = Arbitration::new(self.options.device_id);
    }

    /// Sends arbitration messages. A controller that no longer reads is disconnected, and is no longer primary.
    pub(super) fn tell(&mut self, told: Updates) {
        let mut left: VecDeque<_> = told.into();
        while let Some((stream, update)) = left.pop_front() {
            let message = StreamMessageResponse { update: Some(FromSwitch::Arbitration(update)) };
            if self.streams.get(&stream).is_some_and(|to| to.try_send(Ok(message)).is_err()) {
                warn!(stream, "a controller does not read its stream, which is closed");
                self.streams.remove(&stream);
                left.extend(self.arbitration.leave(stream));
            }
        }
    }

    /// Whether the stream is open: messages of its controller are handled.
    pub(super) fn is_open(&self, stream: Stream) -> bool {
        self.streams.contains_key(&stream)
    }

    /// Sends a message on a stream, if it has capacity.
    pub(super) fn say(&self, stream: Stream, message: FromSwitch) -> bool {
        let message = StreamMessageResponse { update: Some(message) };
        self.streams.get(&stream).is_some_and(|to| to.try_send(Ok(message)).is_ok())
    }

    /// Advances the model, and delivers its results.
    pub(super) fn pump(&mut self, now: Time) {
        let Some(running) = self.running.as_mut() else { return };
        while let Some((ticket, outcome)) = running.model.poll(now) {
            if let Some(waiting) = running.waiting.remove(&ticket) {
                // The requester may have disconnected.
                let _gone = waiting.send(outcome);
            }
        }
        while let Some((_, port, frame)) = running.model.poll_sent() {
            self.totals.sent += 1;
            self.sent.push_back((port, frame));
            self.sent.truncate(MOST_SENT);
        }
        while let Some(payload) = self.running.as_mut().and_then(|running| running.model.poll_packet(now)) {
            let primary = self.arbitration.primary().filter(|_| !self.loses_packets_in);
            let packet = FromSwitch::Packet(PacketIn { payload });
            let is_told = primary.is_some_and(|primary| self.say(primary, packet));
            let total = if is_told { &mut self.totals.packets_in } else { &mut self.totals.packets_in_lost };
            *total += 1;
        }
    }

    /// The next frame that was transmitted on a port.
    pub(super) fn poll_sent(&mut self) -> Option<(u16, Vec<u8>)> {
        self.sent.pop_front()
    }
}

impl Running {
    /// Submits a request to the model; its outcome is sent on the channel, which is closed if another program is set
    /// before.
    pub(super) fn submit(&mut self, now: Time, request: Request) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        let ticket = self.model.submit(now, request);
        self.waiting.insert(ticket, sender);
        receiver
    }

    /// Replaces the members of a value set.
    pub(super) fn set_members(&mut self, place: usize, values: Vec<u128>) {
        if let Some(members) = self.sets.get_mut(place) {
            *members = values;
        }
        match self.schema.value_sets.get(place).and_then(|set| set.addresses) {
            Some(Addresses::Gtpu) => {
                let addresses = self.members(Addresses::Gtpu).map(Ipv4Addr::from).collect();
                self.model.pipeline_mut().set_local(addresses);
            }
            Some(_) => {
                let mut addresses: Vec<IpAddr> =
                    self.members(Addresses::Underlay).map(|word| Ipv4Addr::from(word).into()).collect();
                for high in self.members(Addresses::UnderlayHigh) {
                    let address = |low: u32| Ipv6Addr::from(u128::from(high) << 96 | u128::from(low) << 64);
                    addresses
                        .extend(self.members(Addresses::UnderlayLow).map(|low| IpAddr::V6(address(low))));
                }
                self.model.pipeline_mut().set_underlay(addresses);
            }
            None => {}
        }
    }

    /// The members of a value set, if the program has it.
    fn members(&self, of: Addresses) -> impl Iterator<Item = u32> {
        let place = self.schema.value_sets.iter().position(|set| set.addresses == Some(of));
        let members = place.and_then(|place| self.sets.get(place));
        members.into_iter().flatten().map(|value| *value as u32)
    }
}
