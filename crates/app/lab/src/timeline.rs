//! Messages with sender, receiver and time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};

/// One signalling message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Message {
    /// Since the timeline began.
    #[serde(serialize_with = "in_seconds")]
    pub at: Duration,
    /// Who sent it, for example `smf`.
    pub from: String,
    /// Who it was for.
    pub to: String,
    /// Its name, for example `Heartbeat Request`.
    pub label: String,
    /// What distinguishes it from others of its name; may be empty.
    pub detail: String,
}

/// A record that every part of the lab writes to. Clones share it.
#[derive(Clone)]
pub struct Timeline {
    start: Instant,
    messages: Arc<Mutex<Vec<Message>>>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { start: Instant::now(), messages: Arc::default() }
    }
}

impl Timeline {
    /// Since the timeline began.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Writes down a message that is sent or received now.
    pub fn message(&self, from: &str, to: &str, label: &str, detail: impl Into<String>) {
        let message = Message {
            at: self.now(),
            from: from.into(),
            to: to.into(),
            label: label.into(),
            detail: detail.into(),
        };
        self.lock().push(message);
    }

    /// All messages so far, in the order of writing.
    pub fn messages(&self) -> Vec<Message> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Message>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a duration as a number of seconds.
pub(crate) fn in_seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}
