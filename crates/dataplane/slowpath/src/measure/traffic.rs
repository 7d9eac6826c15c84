//! Start and stop of traffic: of each application that PDRs of the URR detect, and of all other traffic together (TS
//! 29.244 clause 5.4.11).

use causeway_collections::SortedMap;
use causeway_model::{ApplicationId, Detected, Pdr};
use causeway_types::{PdrId, Span, Time};

/// The current traffic.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Traffic(SortedMap<Option<ApplicationId>, TrafficRun>);

/// The traffic of one application since it started.
///
/// Of packets that arrived at the same time the one with the highest PDR ID counts as the last, so that a data plane need not keep their
/// order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct TrafficRun {
    /// When its last packet arrived.
    last: Time,
    /// The PDR of that packet.
    pdr: PdrId,
}

impl Traffic {
    /// The traffic of this PDR continues: no pause was as long as `pause`.
    pub(super) fn is_continued(&self, pdr: &Pdr, now: Time, pause: Span) -> bool {
        self.0.get(&pdr.pdi.application).is_some_and(|run| now.since(run.last) < pause)
    }

    /// Records packets of this PDR until this time; no effect if its traffic has not started.
    pub(super) fn extend(&mut self, pdr: &Pdr, last: Time) {
        if let Some(run) = self.0.get_mut(&pdr.pdi.application) {
            *run = (*run).max(TrafficRun { last, pdr: pdr.id });
        }
    }

    /// When the last packet of the traffic of this PDR arrived.
    pub(super) fn last(&self, pdr: &Pdr) -> Option<Time> {
        self.0.get(&pdr.pdi.application).map(|run| run.last)
    }

    /// The traffic of this PDR starts, or starts again.
    pub(super) fn start(&mut self, pdr: &Pdr, now: Time) {
        self.0.insert(pdr.pdi.application.clone(), TrafficRun { last: now, pdr: pdr.id });
    }

    /// The last packet without an application.
    pub(super) fn unnamed(&self) -> Option<(Time, PdrId)> {
        self.0.get(&None).map(|run| (run.last, run.pdr))
    }

    /// All of it: the application, when its last packet arrived, and the PDR of that packet.
    pub(super) fn runs(&self) -> impl ExactSizeIterator<Item = (Option<&ApplicationId>, Time, PdrId)> {
        self.0.iter().map(|(application, run)| (application.as_ref(), run.last, run.pdr))
    }

    /// Traffic goes on that has started elsewhere.
    pub(super) fn resume(&mut self, application: Option<ApplicationId>, last: Time, pdr: PdrId) {
        self.0.insert(application, TrafficRun { last, pdr });
    }

    /// When the first traffic will have paused for this long.
    pub(super) fn next_stop(&self, pause: Span) -> Option<Time> {
        self.0.values().map(|run| run.last + pause).min()
    }

    /// Ends the traffic that has paused for this long. Returns its applications.
    pub(super) fn stop(&mut self, now: Time, pause: Span) -> Vec<Detected> {
        let mut stopped = Vec::new();
        self.0.retain(|application, run| {
            let goes_on = run.last + pause > now;
            if let Some(application) = application.as_ref().filter(|_| !goes_on) {
                stopped.push(Detected { application: application.clone(), pdr: run.pdr });
            }
            goes_on
        });
        stopped
    }

    /// Ends all traffic.
    pub(super) fn clear(&mut self) {
        self.0 = SortedMap::new();
    }
}

/// The application of a PDR.
pub(super) fn detected(pdr: &Pdr) -> Option<Detected> {
    pdr.pdi.application.clone().map(|application| Detected { application, pdr: pdr.id })
}
