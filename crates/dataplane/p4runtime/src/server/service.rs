//! The gRPC service.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::Host;
use super::read::{Reading, Sink};
use super::stream::Conversation;
use super::write::status_of;
use crate::wire::service::p4_runtime_server::P4Runtime;
use crate::wire::{
    CapabilitiesRequest, CapabilitiesResponse, Entity, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigResponse, StreamMessageRequest, StreamMessageResponse, WriteRequest,
    WriteResponse,
};

/// The implemented version of P4Runtime.
const VERSION: &str = "1.5.0";

/// The most messages that wait for a controller to read them.
const QUEUE: usize = 4096;

/// The most messages of a response that wait.
const ANSWERS: usize = 4;

pub(super) struct Service(pub(super) Arc<Host>);

type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Sink for mpsc::Sender<Result<ReadResponse, Status>> {
    async fn take(&mut self, entities: Vec<Entity>) -> bool {
        self.send(Ok(ReadResponse { entities })).await.is_ok()
    }
}

impl Service {
    /// Carries out a batch.
    pub(super) async fn write_batch(&self, request: &WriteRequest) -> Result<(), Status> {
        let batch = {
            let mut device = self.0.device();
            let batch = device.begin_write(self.0.now(), request)?;
            self.0.pump(&mut device);
            batch
        };
        let ends = batch.end().await?;
        let refused = ends.iter().filter(|end| end.is_err()).count();
        {
            let totals = &mut self.0.device().totals;
            totals.refused += refused as u64;
            totals.updates += (ends.len() - refused) as u64;
        }
        status_of(&ends)
    }

    /// Reads into a sink.
    pub(super) async fn read_into(&self, request: &ReadRequest, sink: impl Sink) -> Result<(), Status> {
        let reading = Reading::new(&self.0, request.device_id, &request.role, sink)?;
        status_of(&reading.read(&request.entities).await?)
    }
}

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = Messages<ReadResponse>;
    type StreamChannelStream = Messages<StreamMessageResponse>;

    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        self.write_batch(request.get_ref()).await?;
        Ok(Response::new(WriteResponse {}))
    }

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let (sender, receiver) = mpsc::channel(ANSWERS);
        let service = Self(Arc::clone(&self.0));
        tokio::spawn(async move {
            if let Err(status) = service.read_into(request.get_ref(), sender.clone()).await {
                // The requester may have disconnected.
                let _gone = sender.send(Err(status)).await;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn set_pipeline(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        self.0.device().set_pipeline(request.into_inner())?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn pipeline(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, Status> {
        let config = self.0.device().pipeline(request.get_ref())?;
        Ok(Response::new(GetForwardingPipelineConfigResponse { config }))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(converse(Arc::clone(&self.0), request.into_inner(), sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn capabilities(
        &self,
        request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        let asked = request.get_ref().device_id;
        if asked != 0 {
            self.0.device().check_device(asked)?;
        }
        Ok(Response::new(CapabilitiesResponse { version: VERSION.to_owned() }))
    }
}

/// Serves a controller's stream until either side ends it.
async fn converse(
    host: Arc<Host>,
    mut messages: Streaming<StreamMessageRequest>,
    sender: mpsc::Sender<Result<StreamMessageResponse, Status>>,
) {
    let mut closing = host.closing();
    let mut conversation = Conversation::default();
    let end = loop {
        let heard = tokio::select! {
            _ = closing.wait_for(|is_closing| *is_closing) => break Some(Status::unavailable("the switch stops")),
            () = sender.closed() => break None,
            heard = messages.message() => heard,
        };
        match heard {
            Ok(Some(message)) => {
                if let Err(status) = conversation.hear(&host, &sender, message) {
                    break Some(status);
                }
            }
            Ok(None) | Err(_) => break None,
        }
    };
    conversation.end(&host);
    if let Some(status) = end {
        // The controller may have disconnected.
        let _gone = sender.send(Err(status)).await;
    }
}
