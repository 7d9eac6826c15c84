//! The reports of any session: most have none, and take one word.

use causeway_model::Usage;
use causeway_pfcp::{AdditionalUsageReports, UsageReport};
use causeway_types::UrrId;

use super::queue::{Queue, Report, RequestNumber};

/// The reports of one session: few requests in flight at a time, numbered in the order of their events.
#[derive(Debug, Default)]
pub(crate) struct ReportQueue(Option<Box<Queue>>);

impl ReportQueue {
    /// Adds a report. A report that is in flight or queued is not added twice. Above `limit`, usage is added to queued
    /// usage of the same URR, so nothing is lost; other reports are then rejected.
    #[must_use]
    pub(crate) fn push(&mut self, report: Report, limit: usize) -> bool {
        self.0.get_or_insert_default().push(report, limit)
    }

    /// Takes the contents of the next request, and its number: the first reports that fit together. `None` when nothing
    /// may be sent, since the queue is empty or the limit of requests in flight is reached.
    pub(crate) fn next_request(&mut self) -> Option<(RequestNumber, Vec<Report>)> {
        self.with(Queue::next_request).flatten()
    }

    /// This request was rejected for its paging policy: its downlink data is the next to be reported. False if it had
    /// no policy.
    pub(crate) fn again_without_policy(&mut self, number: RequestNumber) -> bool {
        self.with(|queue| queue.again_without_policy(number)).unwrap_or(false)
    }

    /// This request got its response or was given up: another may be sent.
    pub(crate) fn done(&mut self, number: RequestNumber) {
        self.with(|queue| queue.done(number));
    }

    /// A request could be sent now.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.as_ref().is_some_and(|queue| queue.is_ready())
    }

    /// A request is in flight.
    pub(crate) fn is_on_its_way(&self) -> bool {
        self.0.as_ref().is_some_and(|queue| queue.is_on_its_way())
    }

    /// No report is queued or in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|queue| queue.is_empty())
    }

    /// The number of queued reports.
    pub(crate) fn waiting(&self) -> usize {
        self.0.as_ref().map_or(0, |queue| queue.waiting())
    }

    /// Removes all reports.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    /// Puts reports that did not fit into a response first, and returns their number; `None` if there are none.
    pub(crate) fn push_front(
        &mut self,
        additional: Vec<UsageReport<'static>>,
    ) -> Option<AdditionalUsageReports> {
        if additional.is_empty() { None } else { self.0.get_or_insert_default().push_front(additional) }
    }

    /// The session ends: takes the reports that did not fit into an earlier response and were not sent either.
    pub(crate) fn take_additional(&mut self) -> Vec<UsageReport<'static>> {
        self.with(Queue::take_additional).unwrap_or_default()
    }

    /// Takes the usage of removed URRs, for the response to their removal.
    pub(crate) fn take_usage_of(&mut self, gone: impl Fn(UrrId) -> bool) -> Vec<Usage> {
        self.with(|queue| queue.take_usage_of(gone)).unwrap_or_default()
    }

    /// The session ends: takes the usage that was not sent, for the last response.
    pub(crate) fn take_unsent_usage(&mut self) -> Vec<Usage> {
        self.with(Queue::take_unsent_usage).unwrap_or_default()
    }

    /// Runs a function on the queue, if there is one, and frees the queue when it becomes empty.
    fn with<R>(&mut self, act: impl FnOnce(&mut Queue) -> R) -> Option<R> {
        let queue = self.0.as_mut()?;
        let result = act(queue);
        if queue.is_empty() {
            self.0 = None;
        }
        Some(result)
    }
}
