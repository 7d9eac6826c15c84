//! The state of one session in a data plane, for operators.

use causeway_model::UsageLimits;
use causeway_types::{Span, Time, UrrId, Volume};

use crate::DropReason;

/// The state of a session that its packets have created.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionState {
    /// The usage of each URR.
    pub usage: Vec<UrrState>,
    /// The packets that are buffered.
    pub buffer: BufferState,
    /// When the last packet arrived that matched a PDR with a URR, whatever its disposition. Of other packets no time
    /// is recorded.
    pub last_packet: Option<Time>,
    /// Its drops; `None`: none is known.
    pub drops: Option<SessionDrops>,
}

/// The drops of one session. A data plane keeps them for the sessions that dropped most recently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionDrops {
    /// The first one that is counted here.
    pub since: Time,
    /// The last one.
    pub last: (DropReason, Time),
    /// The number of dropped packets for each reason, the most frequent first.
    pub by_reason: Vec<(DropReason, u64)>,
}

/// The usage that one URR has measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UrrState {
    /// The URR.
    pub urr: UrrId,
    /// When the present report period started.
    pub since: Time,
    /// The usage since then, which the next report contains.
    pub unreported: UsageTotals,
    /// The usage since the URR was created.
    pub total: UsageTotals,
    /// The usage until the next threshold; a limit that is not set is `None`.
    pub until_threshold: UsageLimits,
    /// The usage until a quota is exhausted; a quota that is not granted is `None`.
    pub until_quota: UsageLimits,
    /// A quota is exhausted or void: packets are handled as by the quota's FAR, or dropped.
    pub is_exhausted: bool,
    /// The measurement is neither paused nor at the end of its number of reports.
    pub is_active: bool,
}

/// Measured usage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UsageTotals {
    /// Octets and packets; zero unless volume is measured.
    pub volume: Volume,
    /// Time of use; zero unless time is measured.
    pub time: Span,
    /// Traffic starts; zero unless events are measured.
    pub events: u64,
}

/// The packets of a session that are buffered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BufferState {
    /// The number of packets.
    pub packets: usize,
    /// Their octets, with extension headers.
    pub octets: usize,
    /// When the oldest was received.
    pub oldest: Option<Time>,
}
