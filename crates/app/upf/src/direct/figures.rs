//! What the packet threads count of the requests that they answer.

use std::sync::atomic::Ordering;
use std::time::Duration;

use causeway_accel::{Counters, Reason};
use causeway_n4::{MessageResult, message_label};
use causeway_pfcp::{Cause, MessageType};
use causeway_types::Span;

use super::Direct;
use crate::control::Histogram;
use crate::management::{HistogramStatus, MessageCount};

/// The kinds of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(super) enum Kind {
    Establishment,
    Modification,
    Deletion,
}

impl Kind {
    pub(super) const COUNT: usize = 3;
    const ALL: [Self; Self::COUNT] = [Self::Establishment, Self::Modification, Self::Deletion];

    /// The kind of a message with this type.
    pub(super) fn of(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.message().code() == code)
    }

    const fn message(self) -> MessageType {
        match self {
            Self::Establishment => MessageType::SessionEstablishmentRequest,
            Self::Modification => MessageType::SessionModificationRequest,
            Self::Deletion => MessageType::SessionDeletionRequest,
        }
    }
}

/// The figures of the packet threads together.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadFigures {
    times: [Histogram; Kind::COUNT],
    /// Answers that the kernel did not take, and of which the log does not say so yet.
    pub(super) unsent: u64,
}

impl ThreadFigures {
    /// So many requests of each kind were answered, each within this time, and so many answers not sent.
    pub(super) fn answered(&mut self, counts: [u64; Kind::COUNT], unsent: u64, within: Duration) {
        self.unsent += unsent;
        let within = Span::from_nanos(u64::try_from(within.as_nanos()).unwrap_or(u64::MAX));
        for (times, count) in self.times.iter_mut().zip(counts) {
            times.record_many(within, count);
        }
    }
}

/// The figures of a scrape.
#[derive(Clone, Debug)]
pub(crate) struct DirectFigures {
    /// Requests that the packet threads answered, by kind: also repeated ones.
    pub(crate) answered: u64,
    /// Datagrams that they passed to the control thread, by reason.
    pub(crate) passed: Vec<(&'static str, u64)>,
    /// Datagrams that found no place on the way to the control thread.
    pub(crate) lost: u64,
    /// Sessions that the packet threads have, and that N4 has not adopted.
    pub(crate) sessions: u64,
    /// Sessions that N4 has adopted so far.
    pub(crate) adopted: u64,
}

impl Default for DirectFigures {
    /// Nothing was answered or passed.
    fn default() -> Self {
        let passed = Reason::NAMES.map(|reason| (reason, 0)).into();
        Self { answered: 0, passed, lost: 0, sessions: 0, adopted: 0 }
    }
}

impl Direct {
    /// The figures for a scrape; what N4 counts as well is added there.
    pub(super) fn figures(&self) -> (DirectFigures, Counters, [Histogram; Kind::COUNT]) {
        let (counters, sessions) = {
            let accel = self.tables();
            (accel.counters().clone(), u64::from(accel.len()))
        };
        let figures = DirectFigures {
            answered: counters.answered(),
            passed: Reason::NAMES.into_iter().zip(counters.to_n4).collect(),
            lost: self.lost.load(Ordering::Relaxed),
            sessions,
            adopted: counters.adopted,
        };
        (figures, counters, self.thread_figures().times)
    }
}

/// The messages that the packet threads received and sent, as N4 counts its own.
pub(super) fn messages(counters: &Counters) -> Vec<MessageCount> {
    let Counters { established, modified, deleted, repeated, .. } = *counters;
    let [again_modified, again_deleted] = [counters.repeated_modifications, counters.repeated_deletions];
    let again_established = repeated - again_modified - again_deleted;
    let counts = [(established, again_established), (modified, again_modified), (deleted, again_deleted)];
    let accepted = MessageResult::Cause(Cause::RequestAccepted);
    let mut messages = Vec::new();
    for (kind, (new, again)) in Kind::ALL.into_iter().zip(counts) {
        let response = kind.message().response().unwrap_or(kind.message());
        for (message, direction) in [(kind.message(), "received"), (response, "sent")] {
            for (result, count) in [(accepted, new), (MessageResult::Duplicate, again)] {
                messages.push(MessageCount {
                    message_type: message_label(Some(message)),
                    direction,
                    result: result.to_string(),
                    count,
                });
            }
        }
    }
    messages.retain(|message| message.count > 0);
    messages
}

/// The time to answer each kind of request.
pub(super) fn latencies(times: &[Histogram; Kind::COUNT]) -> Vec<(String, Histogram)> {
    let named = Kind::ALL.into_iter().zip(times);
    named.map(|(kind, times)| (message_label(Some(kind.message())), *times)).collect()
}

/// Adds these times to those of N4.
pub(crate) fn times_of(all: &mut [(String, HistogramStatus)], more: Vec<(String, Histogram)>) {
    for (name, times) in more {
        if let Some((_, known)) = all.iter_mut().find(|(known, _)| *known == name) {
            known.add(&times.status());
        }
    }
}
