//! Options of a connection to a switch.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// The switch, its program, and the time limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Host and port of its P4Runtime server: `192.0.2.7:9559`.
    pub address: String,
    /// The device id of the switch.
    pub device_id: u64,
    /// The local election id: of several controllers the one with the highest may write.
    pub election_id: u128,
    /// The P4Info of the program, in text form.
    pub p4info: PathBuf,
    /// The compiler's output for the switch. `None` for a switch that has its program already, or needs none, such as
    /// the model.
    pub device_config: Option<PathBuf>,
    /// Addresses at which GTP-U arrives, for the parser of the program; written when the switch has its program, if
    /// there are any.
    pub local: Vec<Ipv4Addr>,
    /// Addresses at which VXLAN arrives, likewise; those with the IP version of the program's underlay count.
    pub underlay: Vec<IpAddr>,
    /// Clone sessions, if the switch needs them: for copies to the CPU port, and for frames that leave to software; written when it
    /// has its program.
    pub copies: Vec<CopySession>,
    /// The deadline of a response.
    pub deadline: Duration,
    /// The longest pause between two connection attempts.
    pub longest_pause: Duration,
}

/// A clone session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopySession {
    /// Its number in the program.
    pub session: u32,
    /// The port that its copies leave by.
    pub port: u32,
}

impl Options {
    /// The usual port of P4Runtime.
    pub const PORT: u16 = 9559;

    /// A switch at this address with this program, as device 1 and with election id 1, with a deadline of 5 s.
    pub fn new(address: impl Into<String>, p4info: impl Into<PathBuf>) -> Self {
        Self {
            address: address.into(),
            device_id: 1,
            election_id: 1,
            p4info: p4info.into(),
            device_config: None,
            local: Vec::new(),
            underlay: Vec::new(),
            copies: Vec::new(),
            deadline: Duration::from_secs(5),
            longest_pause: Duration::from_secs(5),
        }
    }
}
