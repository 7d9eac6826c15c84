//! A port: IP packets as datagrams of a Unix socket, for example to another process of the same host.
//!
//! A port implements [`Port`]. The daemon would open it in `crates/app/upf/src/open`, where configuration becomes ports.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::{Counter, Counters, Port, PortError, wait};

struct UnixPort {
    name: String,
    socket: UnixDatagram,
    counters: Arc<Counters>,
}

impl UnixPort {
    /// A port on a connected socket.
    fn new(name: &str, socket: UnixDatagram) -> std::io::Result<Self> {
        // The packet thread waits for all ports together, so none may block.
        socket.set_nonblocking(true)?;
        Ok(Self { name: name.to_owned(), socket, counters: Arc::default() })
    }
}

impl Port for UnixPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn mtu(&self) -> u32 {
        1500
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    fn receive(&mut self, batch: &mut Batch) -> Result<usize, PortError> {
        batch.clear();
        // Each datagram is received into the next free buffer of the batch, and committed as a frame.
        loop {
            let Some(buffer) = batch.free().next() else { break };
            match self.socket.recv(buffer) {
                Ok(len) => {
                    batch.commit(len, Meta::Ip);
                    self.counters.received(1, len);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // Only what ends the port is an error. Everything else is counted.
                Err(source) => return Err(PortError::Lost { port: self.name.clone(), source }),
            }
        }
        Ok(batch.len())
    }

    fn send(&mut self, frames: &[Frame<'_>]) -> Result<usize, PortError> {
        let mut sent = 0;
        for Frame { meta, data } in frames {
            match (meta, self.socket.send(data)) {
                (Meta::Ip, Ok(len)) => {
                    self.counters.sent(1, len);
                    sent += 1;
                }
                (Meta::Ip, Err(error)) if error.kind() == ErrorKind::WouldBlock => {
                    self.counters.add(Counter::TxWouldBlock, 1);
                }
                (Meta::Ip, Err(source)) => return Err(PortError::Lost { port: self.name.clone(), source }),
                (Meta::Gtpu { .. } | Meta::Ethernet, _) => self.counters.add(Counter::TxWrongKind, 1),
            }
        }
        Ok(sent)
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (near, far) = UnixDatagram::pair()?;
    let (mut near, mut far) = (UnixPort::new("near", near)?, UnixPort::new("far", far)?);
    let (mut batch, packets) = (Batch::new(), [[0x45; 40], [0x46; 40]]);
    assert_eq!(near.send(&packets.each_ref().map(|data| Frame { meta: Meta::Ip, data }))?, 2);

    let ready = wait([&near as &dyn Port, &far], None, Some(Duration::from_secs(1)))?;
    println!("readable: near {}, far {}", ready.port(0), ready.port(1));
    assert_eq!(far.receive(&mut batch)?, 2);
    for frame in batch.frames() {
        println!("received {} octets that begin with {:#x}", frame.data.len(), frame.data[0]);
    }
    for (counter, value) in far.counters().iter().filter(|(_, value)| *value > 0) {
        println!("far {}: {value}", counter.name());
    }
    Ok(())
}

// Input:  the program.
// Output: it succeeds.
#[test]
fn it_runs() {
    main().unwrap();
}
