//! A stream of octets that the user may end.

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Client, ClientError};

/// The octets of a stream, from when it was opened.
pub(crate) struct OctetReader<'a> {
    client: &'a Client,
    body: Incoming,
    interrupt: Signal,
    terminate: Signal,
}

/// What a stream has next.
pub(crate) enum Part {
    /// Octets.
    Octets(Bytes),
    /// The UPF ended the stream.
    End,
    /// SIGINT or SIGTERM came.
    Interrupted,
}

impl<'a> OctetReader<'a> {
    /// From now on SIGINT and SIGTERM do not end the program.
    pub(super) fn new(client: &'a Client, body: Incoming) -> Result<Self, ClientError> {
        let _context = client.runtime.enter();
        let on = |kind| signal(kind).map_err(ClientError::Runtime);
        let (interrupt, terminate) = (on(SignalKind::interrupt())?, on(SignalKind::terminate())?);
        Ok(Self { client, body, interrupt, terminate })
    }

    /// The next part. Blocks until there is one.
    ///
    /// # Errors
    /// [`ClientError::Broken`]
    pub(crate) fn next(&mut self) -> Result<Part, ClientError> {
        let Self { client, body, interrupt, terminate } = self;
        client.runtime.block_on(async {
            loop {
                let frame = tokio::select! {
                    biased;
                    _ = interrupt.recv() => return Ok(Part::Interrupted),
                    _ = terminate.recv() => return Ok(Part::Interrupted),
                    frame = body.frame() => frame,
                };
                let Some(frame) = frame else { return Ok(Part::End) };
                let broken = |source| ClientError::Broken { address: client.address.clone(), source };
                if let Ok(octets) = frame.map_err(broken)?.into_data() {
                    return Ok(Part::Octets(octets));
                }
            }
        })
    }
}
