//! Measured usage for a usage report.

use causeway_types::{PdrId, Span, Time, UrrId, UsageInformation, UsageReportTrigger, Volume};

use crate::{ApplicationId, MacChanges};

/// One usage report of a URR (TS 29.244 clause 7.5.8.3).
///
/// A data plane yields several in a row if usage is reported in parts: before and after a monitoring time, before
/// and after QoS enforcement. They belong into one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Usage {
    /// The rule.
    pub urr: UrrId,
    /// The triggers of the report; never empty.
    pub triggers: UsageReportTrigger,
    /// The part of the usage; empty for all of it.
    pub part: UsageInformation,
    /// The volume since the last report, exact and without overlap. `None`: volume is not measured, or not reported
    /// with this trigger.
    pub volume: Option<Volume>,
    /// The time measured since the last report, in whole seconds; the fraction is carried into the next report.
    /// `None` as for the volume.
    pub duration: Option<Span>,
    /// The start of this measurement: rule creation or the last report.
    pub start: Time,
    /// Its end.
    pub end: Time,
    /// The time of the first packet counted.
    pub first_packet: Option<Time>,
    /// The time of the last packet counted.
    pub last_packet: Option<Time>,
    /// The times of the reported events.
    pub events: Vec<Time>,
    /// The MAC addresses that are new or removed.
    pub macs: MacChanges,
    /// The application whose traffic started or stopped.
    pub detected: Option<Detected>,
}

/// An application whose traffic started or stopped (TS 29.244 clause 5.4.11).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Detected {
    /// The application.
    pub application: ApplicationId,
    /// The PDR that its packet matched: the first packet after a start, the last one before a stop.
    pub pdr: PdrId,
}

impl Usage {
    /// A report without measurements.
    pub fn new(urr: UrrId, triggers: UsageReportTrigger, start: Time, end: Time) -> Self {
        Self {
            urr,
            triggers,
            part: UsageInformation::empty(),
            volume: None,
            duration: None,
            start,
            end,
            first_packet: None,
            last_packet: None,
            events: Vec::new(),
            macs: MacChanges::default(),
            detected: None,
        }
    }

    /// The SMF queried it (Query URR).
    pub fn is_queried(&self) -> bool {
        self.triggers.contains(UsageReportTrigger::IMMER)
    }
}
