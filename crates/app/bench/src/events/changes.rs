//! The time until a changed rule of an SMF applies to packets.

use std::time::{Duration, Instant};

use crate::BenchError;
use crate::kit::{Progress, Samples};

/// Packets in flight at most: few, so that none waits for others.
const WINDOW: usize = 4;
/// What is not there by then does not come.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A UPF whose sessions' downlink tunnels are changed, and what its packets show.
pub(super) trait TunnelChange {
    /// How many sessions there are.
    fn sessions(&self) -> usize;

    /// Asks for the downlink of a session to go to another tunnel.
    fn change(&mut self, session: usize, teid: u32) -> Result<(), BenchError>;

    /// The change that was asked for last has been carried out, says the UPF.
    fn is_done(&mut self) -> Result<bool, BenchError>;

    /// Sends a packet to the session's UE with a mark in it. `false` when it was not taken.
    fn send_downlink(&mut self, session: usize, mark: u64) -> Result<bool, BenchError>;

    /// Takes what has arrived at the gNB, and tells TEID and mark of each packet.
    fn receive_downlink(&mut self, arrived: impl FnMut(u32, u64)) -> Result<(), BenchError>;
}

/// What was measured of changes one by one.
#[derive(Default)]
pub(super) struct ChangeLatency {
    /// Microseconds from the request to the response.
    pub(super) response: Samples,
    /// Microseconds from the request until the first packet was sent that was treated by the new rule.
    pub(super) visible: Samples,
    /// Packets that were sent after the response and treated by the old rule.
    pub(super) stale: u64,
    /// Changes without a response, or without a packet by the new rule.
    pub(super) missing: u64,
}

/// A change in flight. Times are since its request.
struct PendingChange {
    asked: Instant,
    teid: u32,
    response: Option<Duration>,
    /// When the first packet was sent that was treated by the new rule.
    visible: Option<Duration>,
    under_way: usize,
    stale: u64,
}

impl ChangeLatency {
    /// Changes the downlink tunnel of random sessions, each while packets to its UE go without pause.
    pub(super) fn watch(
        upf: &mut impl TunnelChange,
        count: u64,
        random: &mut fastrand::Rng,
        progress: &mut Progress,
    ) -> Result<Self, BenchError> {
        let mut changes = Self::default();
        for number in 0..count {
            progress.set_progress(number, count);
            let session = random.usize(..upf.sessions());
            let watch = PendingChange::change(upf, session, random.u32(1..))?;
            changes.stale += watch.stale;
            match (watch.response, watch.visible) {
                (Some(response), Some(visible)) => {
                    changes.response.add(response.as_secs_f64() * 1e6);
                    changes.visible.add(visible.as_secs_f64() * 1e6);
                }
                _ => changes.missing += 1,
            }
        }
        Ok(changes)
    }
}

impl PendingChange {
    fn change(upf: &mut impl TunnelChange, session: usize, teid: u32) -> Result<Self, BenchError> {
        let mut watch =
            Self { asked: Instant::now(), teid, response: None, visible: None, under_way: 0, stale: 0 };
        upf.change(session, teid)?;
        while watch.asked.elapsed() < TIMEOUT {
            let done = watch.response.is_some() && watch.visible.is_some();
            if done && watch.under_way == 0 {
                break;
            }
            if !done && watch.under_way < WINDOW {
                let mark = u64::try_from(watch.asked.elapsed().as_nanos()).unwrap_or(u64::MAX);
                watch.under_way += usize::from(upf.send_downlink(session, mark)?);
            }
            upf.receive_downlink(|teid, mark| watch.arrived(teid, Duration::from_nanos(mark)))?;
            if watch.response.is_none() && upf.is_done()? {
                watch.response = Some(watch.asked.elapsed());
            }
            std::thread::yield_now();
        }
        Ok(watch)
    }

    fn arrived(&mut self, teid: u32, sent: Duration) {
        self.under_way = self.under_way.saturating_sub(1);
        if teid == self.teid {
            self.visible = Some(self.visible.map_or(sent, |visible| visible.min(sent)));
        } else if self.response.is_some_and(|response| sent > response) {
            self.stale += 1;
        }
    }
}
