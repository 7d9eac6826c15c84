//! The stream of events: server-sent events (WHATWG HTML, clause 9.2), as far as the server sends them.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::time::Instant;

use http_body_util::BodyExt;
use hyper::body::Incoming;

use serde::de::DeserializeOwned;
use tokio::time::timeout_at;

use super::{Client, ClientError};

/// Maximum length of one event, in octets.
const EVENT: usize = 64 << 10;

/// The events of a stream, from when it was opened.
pub(crate) struct EventReader<'a, T> {
    client: &'a Client,
    body: Incoming,
    lines: Lines,
    kind: PhantomData<T>,
}

impl<'a, T: DeserializeOwned> EventReader<'a, T> {
    pub(super) fn new(client: &'a Client, body: Incoming) -> Self {
        Self { client, body, lines: Lines::default(), kind: PhantomData }
    }

    /// The next event; `None`: the UPF ended the stream. Blocks until there is one.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) fn next(&mut self) -> Result<Option<T>, ClientError> {
        self.next_by(None)
    }

    /// The same; `None` also at that time.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) fn next_until(&mut self, end: Instant) -> Result<Option<T>, ClientError> {
        self.next_by(Some(end))
    }

    fn next_by(&mut self, end: Option<Instant>) -> Result<Option<T>, ClientError> {
        loop {
            if let Some(data) = self.lines.data.pop_front() {
                return serde_json::from_slice(&data).map(Some).map_err(|_| self.client.foreign());
            }
            let body = &mut self.body;
            let frame = self.client.runtime.block_on(async {
                match end {
                    Some(end) => timeout_at(end.into(), body.frame()).await.ok().flatten(),
                    None => body.frame().await,
                }
            });
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame
                .map_err(|source| ClientError::Broken { address: self.client.address.clone(), source })?;
            if let Ok(octets) = frame.into_data() {
                self.lines.read(&octets);
            }
            if self.lines.rest.len() > EVENT {
                return Err(self.client.foreign());
            }
        }
    }
}

/// The lines of the stream.
#[derive(Default)]
struct Lines {
    /// The begin of a line.
    rest: Vec<u8>,
    /// The data of each event that was read.
    data: VecDeque<Vec<u8>>,
}

impl Lines {
    /// The server writes the data of an event in one line. Other lines name the kind, which the data has too, or are comments.
    fn read(&mut self, octets: &[u8]) {
        self.rest.extend_from_slice(octets);
        while let Some(end) = self.rest.iter().position(|octet| *octet == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            if let Some(data) = line.strip_prefix(b"data:") {
                self.data.push_back(data.trim_ascii().to_vec());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  two events and a comment, in pieces that end anywhere.
    // Output: the data of both.
    #[test]
    fn events_arrive_in_pieces() {
        let stream = b"event: lost\ndata: {\"a\":1}\n\n:\n\nevent: lost\ndata: {\"a\":2}\n\n";
        for size in 1..stream.len() {
            let mut lines = Lines::default();
            stream.chunks(size).for_each(|piece| lines.read(piece));
            assert_eq!(lines.data, [b"{\"a\":1}", b"{\"a\":2}"], "{size}");
        }
    }
}
