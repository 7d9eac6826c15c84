//! The messages of `StreamChannel`.

use causeway_switch::driver::Request;
use tonic::{Code, Status};

use super::Host;
use super::arbitration::Stream;
use super::device::ToController;
use crate::convert::Refusal;
use crate::wire::{
    FromSwitch, MasterArbitrationUpdate, Other, PacketOut, PacketOutError, StreamError, StreamMessageRequest,
    ToSwitch,
};

/// The longest frame, longer than any port's.
const MOST_FRAME: usize = 16 * 1024;

/// A controller's stream, from its first message on.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    stream: Option<Stream>,
}

impl Conversation {
    /// Handles a message of the controller.
    ///
    /// # Errors
    /// The stream ends with this status.
    pub(super) fn hear(
        &mut self,
        host: &Host,
        to_controller: &ToController,
        message: StreamMessageRequest,
    ) -> Result<(), Status> {
        if self.stream.is_some_and(|stream| !host.device().is_open(stream)) {
            return Err(Status::resource_exhausted("the controller does not read its stream"));
        }
        match (message.update, self.stream) {
            (Some(ToSwitch::Arbitration(update)), _) => self.arbitrate(host, to_controller, &update),
            (_, None) => Err(Status::failed_precondition("the first message is one of arbitration")),
            (Some(ToSwitch::Packet(packet)), Some(stream)) => {
                if let Err(refusal) = send(host, stream, packet) {
                    let packet_out = Some(PacketOutError {});
                    say(host, stream, &refusal, StreamError { packet_out, ..StreamError::default() });
                }
                Ok(())
            }
            (Some(ToSwitch::DigestAck(_)), Some(stream)) => {
                let digest_ack = Some(Other {});
                let refusal = Refusal::invalid("the program has no digests");
                say(host, stream, &refusal, StreamError { digest_ack, ..StreamError::default() });
                Ok(())
            }
            (Some(ToSwitch::Other(_)) | None, Some(stream)) => {
                let other = Some(Other {});
                let refusal = Refusal::invalid("neither arbitration nor a packet");
                say(host, stream, &refusal, StreamError { other, ..StreamError::default() });
                Ok(())
            }
        }
    }

    fn arbitrate(
        &mut self,
        host: &Host,
        to_controller: &ToController,
        update: &MasterArbitrationUpdate,
    ) -> Result<(), Status> {
        let mut device = host.device();
        let is_default =
            |role: &crate::wire::Role| role.id == 0 && role.name.is_empty() && role.config.is_none();
        if update.role.as_ref().is_some_and(|role| !is_default(role)) {
            return Err(Status::invalid_argument("there is only the default role"));
        }
        device.check_device(update.device_id).map_err(|refusal| match self.stream {
            None => Status::from(refusal),
            Some(_) => Status::failed_precondition("a stream has one device"),
        })?;
        let stream = match self.stream {
            Some(stream) => stream,
            None => *self.stream.insert(device.open(to_controller.clone())),
        };
        let told = device.arbitration.update(stream, update.election_id.map(Into::into));
        device.tell(told.map_err(Status::from)?);
        Ok(())
    }

    /// The stream has ended.
    pub(super) fn end(self, host: &Host) {
        if let Some(stream) = self.stream {
            host.device().close(stream);
        }
    }
}

/// A frame for the CPU port.
fn send(host: &Host, stream: Stream, packet: PacketOut) -> Result<(), Refusal> {
    let mut device = host.device();
    if device.arbitration.primary() != Some(stream) {
        return Err(Refusal::new(Code::PermissionDenied, "only the primary controller sends packets"));
    }
    if !packet.metadata.is_empty() {
        return Err(Refusal::invalid("the program has no headers of packets for controllers"));
    }
    if packet.payload.len() > MOST_FRAME {
        return Err(Refusal::invalid(format!("a frame of {} octets", packet.payload.len())));
    }
    // Its outcome is not needed: a frame has no response.
    drop(device.running()?.submit(host.now(), Request::PacketOut(packet.payload)));
    device.totals.packets_out += 1;
    host.pump(&mut device);
    Ok(())
}

fn say(host: &Host, stream: Stream, refusal: &Refusal, error: StreamError) {
    let canonical_code = refusal.code as i32;
    let error = StreamError { canonical_code, message: refusal.message.clone(), ..error };
    // If the stream is full, the error message is dropped before any packet.
    let _full = host.device().say(stream, FromSwitch::Error(error));
}
