//! A rate limit of log lines for each place in the program, independent of their cause.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// The period of the limit.
const PERIOD: Duration = Duration::from_secs(10);

/// Maximum number of lines of one place in a period.
const LINES: u64 = 1000;

/// The same for levels `debug` and `trace`.
const DETAILS: u64 = 5000;

static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

/// Places that have written in this period.
static PLACES: Mutex<Option<Places>> = Mutex::new(None);

/// Lines suppressed since the process started, by this limit or by one that calls [`count_suppressed`].
pub(super) fn suppressed_lines() -> u64 {
    LEFT_OUT.load(Ordering::Relaxed)
}

/// Counts a line that another limit suppressed.
pub(crate) fn count_suppressed() {
    LEFT_OUT.fetch_add(1, Ordering::Relaxed);
}

#[derive(Debug)]
struct Places {
    since: Instant,
    counts: HashMap<Identifier, (&'static Metadata<'static>, u64)>,
}

impl Places {
    fn new() -> Self {
        Self { since: Instant::now(), counts: HashMap::new() }
    }

    /// Whether one more line of this place may be written.
    fn admit(&mut self, place: &'static Metadata<'static>) -> bool {
        let (_, count) = self.counts.entry(place.callsite()).or_insert((place, 0));
        *count += 1;
        *count <= most(place)
    }

    /// The suppressed lines of each place.
    fn over(&self) -> Vec<(&'static Metadata<'static>, u64)> {
        let over = self.counts.values().map(|(place, count)| (*place, count.saturating_sub(most(place))));
        over.filter(|(_, count)| *count > 0).collect()
    }
}

fn most(place: &Metadata<'_>) -> u64 {
    if *place.level() > Level::INFO { DETAILS } else { LINES }
}

fn places() -> MutexGuard<'static, Option<Places>> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports the suppressed lines of a period that has ended.
pub(super) fn summarise() {
    let over = {
        let mut places = places();
        match places.as_ref() {
            Some(known) if known.since.elapsed() >= PERIOD => places.take().map(|known| known.over()),
            _ => None,
        }
    };
    for (place, count) in over.into_iter().flatten() {
        let (file, line) = (place.file().unwrap_or("?"), place.line().unwrap_or(0));
        tracing::warn!("{count} more lines of {file}:{line} were suppressed in the last 10 s");
    }
}

/// The limit, as a layer.
pub(super) struct Limit;

impl<S: Subscriber> Layer<S> for Limit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let admitted = places().get_or_insert_with(Places::new).admit(event.metadata());
        if !admitted {
            count_suppressed();
        }
        admitted
    }
}
