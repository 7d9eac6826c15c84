//! The server without sockets: encoded messages in, statuses out.

use prost::Message;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tonic::{Code, Status};

use super::service::Service;
use super::stream::Conversation;
use super::{Host, ModelSwitch, Options, ServerError};
use crate::wire::{
    Entity, GetForwardingPipelineConfigRequest, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, StreamMessageResponse, WriteRequest,
};

/// A switch and one controller's stream, without sockets: for a sequence of arbitrary messages.
pub struct Offline {
    runtime: Runtime,
    service: Service,
    conversation: Conversation,
    sender: mpsc::Sender<Result<StreamMessageResponse, Status>>,
    receiver: mpsc::Receiver<Result<StreamMessageResponse, Status>>,
}

/// A method of the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// `Write`.
    Write,
    /// `Read`.
    Read,
    /// `SetForwardingPipelineConfig`.
    SetPipeline,
    /// `GetForwardingPipelineConfig`.
    Pipeline,
    /// A message of `StreamChannel`.
    Stream,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Write, Self::Read, Self::SetPipeline, Self::Pipeline, Self::Stream];
}

impl super::read::Sink for &mut Vec<Entity> {
    async fn take(&mut self, entities: Vec<Entity>) -> bool {
        self.extend(entities);
        true
    }
}

impl Offline {
    /// A switch that runs a program, of a P4Info in text form; the controller has election id 1.
    ///
    /// # Errors
    /// The program cannot run, or this host has no resources for another event queue.
    pub fn new(p4info: &str) -> Result<Self, ServerError> {
        let switch = ModelSwitch::new(Options::default());
        switch.run(p4info)?;
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(ServerError::Runtime)?;
        let (sender, receiver) = mpsc::channel(16);
        let service = Service(switch.host);
        let mut offline = Self { runtime, service, conversation: Conversation::default(), sender, receiver };
        let arbitration = crate::wire::MasterArbitrationUpdate {
            device_id: 1,
            election_id: Some(1.into()),
            ..Default::default()
        };
        let update = Some(crate::wire::ToSwitch::Arbitration(arbitration));
        let hello = StreamMessageRequest { update }.encode_to_vec();
        offline.call(Method::Stream, &hello).map_err(ServerError::Stream)?;
        Ok(offline)
    }

    /// Sends an encoded request; returns the number of entities or messages of the response.
    ///
    /// # Errors
    /// The status of the response. Octets that are not a message are an invalid argument.
    pub fn call(&mut self, method: Method, request: &[u8]) -> Result<usize, Code> {
        let status = match method {
            Method::Write => {
                let request: WriteRequest = decode(request)?;
                self.runtime.block_on(self.service.write_batch(&request)).map(|()| 0)
            }
            Method::Read => {
                let request: ReadRequest = decode(request)?;
                let mut entities = Vec::new();
                let read = self.service.read_into(&request, &mut entities);
                self.runtime.block_on(read).map(|()| entities.len())
            }
            Method::SetPipeline => {
                let request: SetForwardingPipelineConfigRequest = decode(request)?;
                self.host().device().set_pipeline(request).map(|()| 0)
            }
            Method::Pipeline => {
                let request: GetForwardingPipelineConfigRequest = decode(request)?;
                let config = self.host().device().pipeline(&request);
                config.map(|config| usize::from(config.is_some())).map_err(Status::from)
            }
            Method::Stream => self.hear(decode(request)?),
        };
        status.map_err(|status| status.code())
    }

    /// The program's P4Info, encoded; empty without a program.
    pub fn p4info(&self) -> Vec<u8> {
        let device = self.host().device();
        let running = device.running.as_ref();
        running.and_then(|running| running.config.p4info.clone()).unwrap_or_default()
    }

    fn hear(&mut self, message: StreamMessageRequest) -> Result<usize, Status> {
        let heard = self.conversation.hear(&self.service.0, &self.sender, message);
        let mut answers = 0;
        while self.receiver.try_recv().is_ok() {
            answers += 1;
        }
        heard.map(|()| answers)
    }

    fn host(&self) -> &Host {
        &self.service.0
    }
}

fn decode<M: Message + Default>(octets: &[u8]) -> Result<M, Code> {
    M::decode(octets).map_err(|_| Code::InvalidArgument)
}
