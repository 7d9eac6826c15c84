//! How a switch is reached.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

/// Where a switch is, what it shall run, and how long it may take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Host and port of its P4Runtime server: `192.0.2.7:9559`.
    pub address: String,
    /// Its id there.
    pub device_id: u64,
    /// Ours: among several controllers the one with the highest may write.
    pub election_id: u128,
    /// The P4Info of the program, in text form.
    pub p4info: PathBuf,
    /// What the compiler made for the switch. `None` for a switch that has its program already, or needs none, as the model.
    pub device_config: Option<PathBuf>,
    /// Addresses at which GTP-U arrives, for the parser of the program; written when the switch has its program, unless there are none.
    pub local: Vec<Ipv4Addr>,
    /// The session by which copies go to the CPU port, where the switch needs one; written when it has its program.
    pub copies: Option<CopySession>,
    /// How long the switch may take for an answer.
    pub deadline: Duration,
    /// The longest pause before the switch is tried again.
    pub longest_pause: Duration,
}

/// A clone session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopySession {
    /// Its number in the program.
    pub session: u32,
    /// The CPU port.
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
            copies: None,
            deadline: Duration::from_secs(5),
            longest_pause: Duration::from_secs(5),
        }
    }
}
