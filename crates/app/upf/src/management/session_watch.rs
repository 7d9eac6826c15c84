//! A session whose packets a client looks at, and the queue to this client.

use std::sync::Arc;
use std::time::Duration;

use causeway_dataplane::Ingress;
use causeway_types::{NetworkInstance, Seid};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout};

use super::connections::StreamMark;
use super::query::seid_of;
use super::refusal::Refusal;
use super::server::{Management, ManagementRequest, in_time};
use crate::worker::{MissedPackets, Observation, Observations, Watch, WatchKeys};

/// The interval in which the keys follow the rules of the session.
const REFRESH: Duration = Duration::from_secs(1);

/// Items that wait for the connection of a client.
const QUEUE: usize = 16;

/// A client that takes nothing for so long has its connection closed.
const STALL: Duration = Duration::from_secs(10);

/// A watch of a session. It counts as one of those that there may be.
pub(super) struct SessionWatch {
    management: Arc<Management>,
    seid: Seid,
    keys: WatchKeys,
    watch: Watch,
    observations: Observations,
    refresh: Interval,
    ends: Instant,
    _permit: OwnedSemaphorePermit,
}

/// What a watch has next.
pub(super) enum Step {
    /// A packet was observed.
    Observation(Arc<Observation>),
    /// A second has passed.
    Refreshed,
    /// The watch has ended.
    Ended(WatchEnd),
}

/// Why a watch has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WatchEnd {
    /// Its time is over.
    Seconds,
    /// The session has ended.
    Session,
}

impl SessionWatch {
    /// Watches the session with the SEID in a text, with up to `snaplen` octets of each packet. The watch is in force when
    /// this returns.
    pub(super) async fn begin(
        management: Arc<Management>,
        text: String,
        snaplen: usize,
        duration: Duration,
    ) -> Result<Self, Refusal> {
        let seid = seid_of(&text).ok_or(Refusal::NoSeid(text))?;
        let permit = management.watches.clone().try_acquire_owned().map_err(|_| Refusal::TooManyWatches)?;
        let keys = keys(&management, seid).await?.ok_or(Refusal::UnknownSession(seid))?;
        if keys.is_empty() {
            return Err(Refusal::NoKeys);
        }
        let (watch, observations) = Watch::new(keys.clone(), snaplen);
        if let Some((_, address)) = management.upf().remote_switch() {
            return Err(Refusal::OnSwitch(address.to_owned()));
        }
        management.workers.watch(&watch);
        // The answers come behind the watch: it is in force now.
        probe(&management).await?;
        let mut refresh = interval(REFRESH);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ends = Instant::now() + duration;
        Ok(Self { management, seid, keys, watch, observations, refresh, ends, _permit: permit })
    }

    /// Whether it is an Ethernet session.
    pub(super) const fn is_ethernet(&self) -> bool {
        self.keys.is_ethernet()
    }

    /// The next step. A call that is cancelled loses no observation.
    pub(super) async fn next(&mut self) -> Step {
        tokio::select! {
            biased;
            () = sleep_until(self.ends) => Step::Ended(WatchEnd::Seconds),
            _ = self.refresh.tick() => match self.follow().await {
                Ok(()) => Step::Refreshed,
                Err(end) => Step::Ended(end),
            },
            observation = self.observations.next() => Step::Observation(observation),
        }
    }

    /// Observes no further packets. What was observed before waits.
    pub(super) fn close(&mut self) {
        self.observations.close();
    }

    /// An observation that is there already.
    pub(super) fn waiting(&mut self) -> Option<Arc<Observation>> {
        self.observations.waiting()
    }

    /// The packets that were missed so far.
    pub(super) fn missed(&self) -> MissedPackets {
        self.observations.missed()
    }

    /// Follows the rules of the session.
    async fn follow(&mut self) -> Result<(), WatchEnd> {
        match keys(&self.management, self.seid).await {
            Ok(None) => return Err(WatchEnd::Session),
            Ok(Some(keys)) if keys != self.keys => {
                self.watch = self.watch.with_keys(keys.clone());
                self.keys = keys;
                self.management.workers.watch(&self.watch);
            }
            // The daemon is busy: the keys stay until the next time.
            Ok(Some(_)) | Err(_) => {}
        }
        Ok(())
    }
}

/// The keys of a session's packets; `None`: there is no such session.
async fn keys(management: &Management, seid: Seid) -> Result<Option<WatchKeys>, Refusal> {
    let found = management.ask(|reply| ManagementRequest::Session { seid, reply }).await?;
    Ok(found.map(|session| WatchKeys::of_rules(seid, &session.rules)))
}

/// Waits until all packet threads have executed what they were told before.
async fn probe(management: &Management) -> Result<(), Refusal> {
    let network = NetworkInstance::new("");
    in_time(management.workers.explain(Ingress::Ip { network }, Vec::new())).await.map(drop)
}

/// The queue to the connection of a client.
pub(super) struct StreamClient<T> {
    queue: mpsc::Sender<T>,
    mark: StreamMark,
    stall: Duration,
}

/// The client has left, or does not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gone;

impl<T> StreamClient<T> {
    /// The queue to the client of a response, and the other end of it.
    pub(super) fn new(mark: StreamMark) -> (Self, mpsc::Receiver<T>) {
        let (queue, items) = mpsc::channel(QUEUE);
        (Self { queue, mark, stall: STALL }, items)
    }

    /// Returns when the client has left.
    pub(super) async fn left(&self) {
        self.queue.closed().await;
    }

    /// Queues an item as soon as the queue has space. Closes the connection of a client that does not read in time.
    pub(super) async fn send(&self, item: T) -> Result<(), Gone> {
        match timeout(self.stall, self.queue.send(item)).await {
            Ok(sent) => sent.map_err(|_| Gone),
            Err(_) => {
                self.mark.close();
                Err(Gone)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a client that reads one item and then none.
    // Output: as many items as the queue holds are sent, then the client counts as gone after a while.
    #[tokio::test]
    async fn a_client_that_does_not_read_is_gone() {
        let (mut client, mut items) = StreamClient::new(StreamMark::default());
        client.stall = Duration::from_millis(20);
        assert_eq!(client.send(0).await, Ok(()));
        assert_eq!(items.recv().await, Some(0));
        for n in 0..QUEUE {
            assert_eq!(client.send(n).await, Ok(()));
        }
        let begin = Instant::now();
        assert_eq!(client.send(0).await, Err(Gone));
        assert!(begin.elapsed() >= client.stall);
        drop(items);
        client.left().await;
    }
}
