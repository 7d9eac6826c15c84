//! The UPF under test: N4's state machine and a data plane, without sockets.

use std::net::SocketAddr;

use causeway_dataplane::{Egress, Ingress, PacketEngine, Transmit};
use causeway_n4::{Config, N4, Output};
use causeway_pfcp::{Header, RawIes};
use causeway_types::{NodeId, Span, Time};

use crate::runner::UPF;
use crate::show;
use crate::variables::Variables;

pub(crate) struct Upf {
    n4: N4,
    engine: Box<dyn PacketEngine>,
    now: Time,
    seen: Seen,
    pub(crate) variables: Variables,
}

/// What the UPF sent since it was last asked.
#[derive(Default)]
struct Seen(Vec<String>);

impl Transmit for Seen {
    fn transmit(&mut self, egress: &Egress, packet: &[u8]) {
        self.0.push(show::packet(egress, packet));
    }
}
