//! Usage that was taken from the data plane and that the SMF has not acknowledged, for another member of a chain.

use std::net::SocketAddr;

use causeway_model::Usage;
use causeway_types::{Seid, Time, transfer_fields};

use super::{Report, Reports};
use crate::association::AssociationId;
use crate::transaction::{Purpose, Transactions};

/// The reports of a session that another member goes on with.
///
/// Requests keep their numbers and octets: an SMF that has decoded one before takes it for a retransmission (TS 29.244 clause 6.4), and counts no usage
/// twice. Usage that did not fit into a response, and that waits for the SMF, is not among them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct UnacknowledgedReports {
    /// Requests without a response.
    requests: Vec<UnansweredReport>,
    /// Usage that is not in a request yet, one item for each report.
    waiting: Vec<Vec<Usage>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct UnansweredReport {
    to: SocketAddr,
    sequence: u32,
    octets: Vec<u8>,
}

transfer_fields! {
    UnacknowledgedReports { requests, waiting }
    UnansweredReport { to, sequence, octets }
}

impl Reports {
    /// What of a session's usage is not acknowledged.
    pub(crate) fn unacknowledged(&self, seid: Seid, transactions: &Transactions) -> UnacknowledgedReports {
        let Some(held) = self.of(seid) else { return UnacknowledgedReports::default() };
        let request = |sequence| {
            let (to, octets) = transactions.sent_request(sequence)?;
            Some(UnansweredReport { to, sequence, octets: octets.to_vec() })
        };
        UnacknowledgedReports {
            requests: held.queue.sequences().filter_map(request).collect(),
            waiting: held.queue.unsent_usage().cloned().collect(),
        }
    }

    /// Goes on with the reports of a session of another member. They are sent again when their first wait has ended; what waits, when the
    /// session may report.
    pub(crate) fn resume(
        &mut self,
        now: Time,
        (seid, association): (Seid, AssociationId),
        reports: UnacknowledgedReports,
        transactions: &mut Transactions,
    ) {
        let UnacknowledgedReports { requests, waiting } = reports;
        for UnansweredReport { to, sequence, octets } in requests {
            let number = self.of_mut(seid).queue.resume(sequence);
            let purpose = Purpose::Report { session: seid, association, number };
            if transactions.resume_report(now, to, purpose, (sequence, octets)) {
                self.windows.sent(association);
            } else {
                self.with_queue(seid, |queue| queue.done(number));
            }
        }
        let limit = self.queue_limit;
        for parts in waiting {
            // Usage is never refused: above the limit it is added up.
            let _ = self.of_mut(seid).queue.push(Report::Usage(parts), limit);
        }
        self.with_queue(seid, |_| ());
    }
}
