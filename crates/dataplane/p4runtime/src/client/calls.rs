//! The gRPC calls of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use causeway_switch::driver::{Outcome, Reply, Request};
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::worker::Shared;
use crate::info::Schema;
use crate::wire::service::p4_runtime_client::P4RuntimeClient;
use crate::wire::{Atomicity, ForwardingPipelineConfig, PipelineAction, Uint128};
use crate::wire::{
    GetForwardingPipelineConfigRequest, ResponseKind, SetForwardingPipelineConfigRequest, Update,
    WriteRequest,
};

/// The time to load a program, in deadlines.
const DEADLINES_TO_LOAD: u32 = 12;

/// The switch of one connection.
#[derive(Clone)]
pub(super) struct Calls {
    pub(super) shared: Arc<Shared>,
    pub(super) client: P4RuntimeClient<Channel>,
    /// The strictest atomicity that the switch is known to support.
    atomicity: Arc<AtomicU8>,
}

impl Calls {
    pub(super) fn new(shared: Arc<Shared>, client: P4RuntimeClient<Channel>) -> Self {
        Self { shared, client, atomicity: Arc::new(AtomicU8::new(Atomicity::DataplaneAtomic as u8)) }
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.shared.info.schema
    }

    /// Carries out a request other than a frame.
    pub(super) async fn carry_out(&self, request: Request) -> Outcome {
        match request {
            Request::Write(updates) => self.write(updates).await.map(|()| Reply::Done),
            Request::ReadDirect(keys) => self.read_direct(&keys).await.map(Reply::Counts),
            Request::ReadIndexed { counter, indices } => {
                self.read_indexed(counter, &indices).await.map(Reply::Counts)
            }
            Request::ReadRegister { register, indices } => {
                self.read_register(register, &indices).await.map(Reply::Registers)
            }
            Request::ReadEntries { table } => self.read_entries(table).await.map(Reply::Entries),
            Request::PacketOut(_) => Ok(Reply::Done),
        }
    }

    pub(super) fn atomicity(&self) -> Atomicity {
        Atomicity::try_from(i32::from(self.atomicity.load(Ordering::Relaxed)))
            .unwrap_or(Atomicity::ContinueOnError)
    }

    pub(super) fn set_atomicity(&self, atomicity: Atomicity) {
        self.atomicity.store(atomicity as u8, Ordering::Relaxed);
    }

    pub(super) fn deadline(&self) -> Duration {
        self.shared.options.deadline
    }

    fn election_id(&self) -> Option<Uint128> {
        Some(self.shared.options.election_id.into())
    }

    /// Sends a batch.
    pub(super) async fn send_batch(&self, updates: Vec<Update>, atomicity: Atomicity) -> Result<(), Status> {
        let request = WriteRequest {
            device_id: self.shared.options.device_id,
            election_id: self.election_id(),
            updates,
            atomicity: atomicity as i32,
            ..Default::default()
        };
        let mut client = self.client.clone();
        within(self.deadline(), client.write(timed(request, self.deadline()))).await.map(|_| ())
    }

    /// The program of the switch: its P4Info and cookie; `None` if it has none.
    pub(super) async fn pipeline(&self) -> Result<Option<ForwardingPipelineConfig>, Status> {
        let request = GetForwardingPipelineConfigRequest {
            device_id: self.shared.options.device_id,
            response_type: ResponseKind::P4InfoAndCookie as i32,
        };
        let mut client = self.client.clone();
        match within(self.deadline(), client.pipeline(timed(request, self.deadline()))).await {
            Ok(answer) => Ok(answer.into_inner().config),
            // Some switches without a program return this.
            Err(status) if status.code() == Code::FailedPrecondition => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Loads a program.
    pub(super) async fn load(&self, config: ForwardingPipelineConfig) -> Result<(), Status> {
        let request = SetForwardingPipelineConfigRequest {
            device_id: self.shared.options.device_id,
            election_id: self.election_id(),
            action: PipelineAction::VerifyAndCommit as i32,
            config: Some(config),
            role: String::new(),
        };
        let mut client = self.client.clone();
        let deadline = self.deadline() * DEADLINES_TO_LOAD;
        within(deadline, client.set_pipeline(timed(request, deadline))).await.map(|_| ())
    }
}

/// A request with the deadline in its metadata.
pub(super) fn timed<T>(message: T, deadline: Duration) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.set_timeout(deadline);
    request
}

/// A response within the deadline.
pub(super) async fn within<T>(
    deadline: Duration,
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let late = |_| Status::deadline_exceeded("no response before the deadline");
    tokio::time::timeout(deadline, call).await.map_err(late)?
}
