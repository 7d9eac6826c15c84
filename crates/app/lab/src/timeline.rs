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
pub struct Timeline(Arc<Mutex<Record>>);

struct Record {
    start: Instant,
    /// Set while the time stands still.
    paused_at: Option<Instant>,
    messages: Vec<Message>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Record { start: Instant::now(), paused_at: None, messages: Vec::new() })))
    }
}

impl Record {
    fn now(&self) -> Duration {
        self.paused_at.unwrap_or_else(Instant::now).duration_since(self.start)
    }
}

impl Timeline {
    /// Since the timeline began, pauses left out.
    pub fn now(&self) -> Duration {
        self.lock().now()
    }

    /// The time stands still from now on, and nothing is written down.
    pub fn pause(&self) {
        let mut record = self.lock();
        record.paused_at = record.paused_at.or(Some(Instant::now()));
    }

    /// The time goes on.
    pub fn resume(&self) {
        let mut record = self.lock();
        if let Some(paused_at) = record.paused_at.take() {
            record.start += paused_at.elapsed();
        }
    }

    /// The time stands still.
    pub fn is_paused(&self) -> bool {
        self.lock().paused_at.is_some()
    }

    /// Writes down a message that is sent or received now.
    pub fn message(&self, from: &str, to: &str, label: &str, detail: impl Into<String>) {
        let mut record = self.lock();
        if record.paused_at.is_some() {
            return;
        }
        let message = Message {
            at: record.now(),
            from: from.into(),
            to: to.into(),
            label: label.into(),
            detail: detail.into(),
        };
        record.messages.push(message);
    }

    /// All messages so far, in the order of writing.
    pub fn messages(&self) -> Vec<Message> {
        self.lock().messages.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a duration as a number of seconds.
pub(crate) fn in_seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a message, a pause with another, and a third afterwards.
    // Output: the first and the third, in the order of their times; the time of the pause is left out.
    #[test]
    fn a_pause_is_left_out() {
        let timeline = Timeline::default();
        timeline.message("smf", "upf", "first", "");
        timeline.pause();
        let paused = timeline.now();
        timeline.message("smf", "upf", "second", "");
        assert!(timeline.is_paused() && timeline.now() == paused);
        timeline.resume();
        timeline.message("smf", "upf", "third", "");
        let messages = timeline.messages();
        let labels: Vec<_> = messages.iter().map(|message| message.label.as_str()).collect();
        assert_eq!(labels, ["first", "third"]);
        assert!(messages[0].at <= paused && paused <= messages[1].at);
    }
}
