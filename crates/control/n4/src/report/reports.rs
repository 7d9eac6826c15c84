//! The reports of any session: most have none, and take one word.

use causeway_pfcp::{AdditionalUsageReports, UsageReport};
use causeway_rules::Usage;
use causeway_types::UrrId;

use super::queue::{Queue, Report, RequestNumber};

/// The reports of one session: few of them on their way at a time, numbered in the order in which they happened.
#[derive(Debug, Default)]
pub(crate) struct ReportQueue(Option<Box<Queue>>);

impl ReportQueue {
    /// Adds a report. What the SMF is being told of is not said twice. Above `limit`, usage is added to what waits
    /// of the same URR, so nothing is lost; other reports are then refused.
    #[must_use]
    pub(crate) fn push(&mut self, report: Report, limit: usize) -> bool {
        self.0.get_or_insert_default().push(report, limit)
    }

    /// Takes what goes into the next request, and its number: the first reports that go together. `None` when nothing may
    /// go, since there is nothing or enough is on its way.
    pub(crate) fn next_request(&mut self) -> Option<(RequestNumber, Vec<Report>)> {
        self.with(Queue::next_request).flatten()
    }

    /// This request was refused for its paging policy: its downlink data is the next to be told. False if it named
    /// no policy.
    pub(crate) fn again_without_policy(&mut self, number: RequestNumber) -> bool {
        self.with(|queue| queue.again_without_policy(number)).unwrap_or(false)
    }

    /// This request is answered or given up: another may go.
    pub(crate) fn done(&mut self, number: RequestNumber) {
        self.with(|queue| queue.done(number));
    }

    /// A request could go out now.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.as_ref().is_some_and(|queue| queue.is_ready())
    }

    /// A request was sent and is not answered.
    pub(crate) fn is_on_its_way(&self) -> bool {
        self.0.as_ref().is_some_and(|queue| queue.is_on_its_way())
    }

    /// There is nothing, waiting or on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|queue| queue.is_empty())
    }

    /// How many reports wait to be sent.
    pub(crate) fn waiting(&self) -> usize {
        self.0.as_ref().map_or(0, |queue| queue.waiting())
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    /// Puts what a response had no room for before all else, and says how much that is; `None` if it is nothing.
    pub(crate) fn push_front(
        &mut self,
        additional: Vec<UsageReport<'static>>,
    ) -> Option<AdditionalUsageReports> {
        if additional.is_empty() { None } else { self.0.get_or_insert_default().push_front(additional) }
    }

    /// The session ends: what an earlier response had no room for and was not sent either.
    pub(crate) fn take_additional(&mut self) -> Vec<UsageReport<'static>> {
        self.with(Queue::take_additional).unwrap_or_default()
    }

    /// Takes the usages of URRs that are gone, to go into the response that says so.
    pub(crate) fn take_usage_of(&mut self, gone: impl Fn(UrrId) -> bool) -> Vec<Usage> {
        self.with(|queue| queue.take_usage_of(gone)).unwrap_or_default()
    }

    /// The session ends: the usages that were not sent, to go into the last response.
    pub(crate) fn take_unsent_usage(&mut self) -> Vec<Usage> {
        self.with(Queue::take_unsent_usage).unwrap_or_default()
    }

    /// Does something with the queue, if there is one, which goes when nothing is left in it.
    fn with<R>(&mut self, act: impl FnOnce(&mut Queue) -> R) -> Option<R> {
        let queue = self.0.as_mut()?;
        let result = act(queue);
        if queue.is_empty() {
            self.0 = None;
        }
        Some(result)
    }
}
