//! The contents of one Session Report Request (TS 29.244 clause 7.5.8).

use causeway_dataplane::{DataStatus, DownlinkData};

use super::Report;

/// The most usage reports in one message: about 100 octets each, to stay below 1400.
pub(crate) const USAGES: usize = 10;

/// The most PDRs, and the most tunnels, in one request.
const OTHERS: usize = 16;

/// Collects reports of every type for one request.
#[derive(Debug, Default)]
pub(super) struct ReportBatch {
    usages: usize,
    tunnels: usize,
    downlink_data: Vec<DownlinkData>,
    others: bool,
}

impl ReportBatch {
    /// Adds a report if it fits the reports already included.
    pub(super) fn try_add(&mut self, report: &Report) -> bool {
        match report {
            _ if self.may_be_refused() && !matches!(report, Report::DownlinkData(_)) => false,
            Report::Usage(parts) => {
                let is_first = self.usages == 0;
                self.usages += parts.len();
                is_first || self.usages <= USAGES
            }
            Report::Additional(_) => {
                self.usages += 1;
                self.usages <= USAGES
            }
            Report::ErrorIndication(_) => {
                self.tunnels += 1;
                self.tunnels <= OTHERS
            }
            Report::DownlinkData(data) => self.try_add_downlink_data(*data),
            Report::Inactivity | Report::Ended => {
                self.others = true;
                true
            }
        }
    }

    /// One Downlink Data Report contains each PDR once, and has one status.
    fn try_add_downlink_data(&mut self, data: DownlinkData) -> bool {
        let status = |data: &DownlinkData| data.status.map(|status| status == DataStatus::Buffered);
        let goes = |held: &DownlinkData| held.pdr != data.pdr && status(held) == status(&data);
        let is_alone = self.usages == 0 && self.tunnels == 0 && !self.others;
        let fits = self.downlink_data.iter().all(goes) && self.downlink_data.len() < OTHERS;
        let taken = fits && (is_alone || !names_policy(&data));
        self.downlink_data.extend(taken.then_some(data));
        taken
    }

    /// An SMF that does not support paging policies may reject the request: no other report must be lost with it.
    fn may_be_refused(&self) -> bool {
        self.downlink_data.iter().any(names_policy)
    }
}

/// The packet requires another paging policy than the default.
pub(super) fn names_policy(data: &DownlinkData) -> bool {
    data.dscp.is_some_and(|dscp| dscp != 0)
}
