//! The triggers of usage reports, and the part of the usage that a report contains.
//!
//! Bit 0 is bit 1 of the first octet of the IE.

use bitflags::bitflags;

bitflags! {
    /// The triggers of a URR (TS 29.244 clause 8.2.19).
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    pub struct ReportingTriggers: u32 {
        /// Periodically.
        const PERIO = 1 << 0;
        /// Volume threshold reached.
        const VOLTH = 1 << 1;
        /// Time threshold reached.
        const TIMTH = 1 << 2;
        /// Quota holding time passed without packets.
        const QUHTI = 1 << 3;
        /// Start of traffic.
        const START = 1 << 4;
        /// Stop of traffic.
        const STOPT = 1 << 5;
        /// Threshold of dropped downlink traffic reached.
        const DROTH = 1 << 6;
        /// A linked URR reports.
        const LIUSA = 1 << 7;
        /// Volume quota exhausted.
        const VOLQU = 1 << 8;
        /// Time quota exhausted.
        const TIMQU = 1 << 9;
        /// Envelope closure.
        const ENVCL = 1 << 10;
        /// MAC addresses used.
        const MACAR = 1 << 11;
        /// Event threshold reached.
        const EVETH = 1 << 12;
        /// Event quota exhausted.
        const EVEQU = 1 << 13;
        /// IP multicast joined or left.
        const IPMJL = 1 << 14;
        /// Quota validity time expired.
        const QUVTI = 1 << 15;
        /// End marker received.
        const REEMR = 1 << 16;
        /// User plane inactivity timer expired.
        const UPINT = 1 << 17;
    }

    /// The trigger of a usage report (TS 29.244 clause 8.2.41).
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    pub struct UsageReportTrigger: u32 {
        /// Periodic.
        const PERIO = 1 << 0;
        /// Volume threshold reached.
        const VOLTH = 1 << 1;
        /// Time threshold reached.
        const TIMTH = 1 << 2;
        /// Quota holding time passed without packets.
        const QUHTI = 1 << 3;
        /// Start of traffic.
        const START = 1 << 4;
        /// Stop of traffic.
        const STOPT = 1 << 5;
        /// Threshold of dropped downlink traffic reached.
        const DROTH = 1 << 6;
        /// The CP function queried it.
        const IMMER = 1 << 7;
        /// Volume quota exhausted.
        const VOLQU = 1 << 8;
        /// Time quota exhausted.
        const TIMQU = 1 << 9;
        /// A linked URR reports.
        const LIUSA = 1 << 10;
        /// The session ended, or the URR was removed or lost its last PDR.
        const TERMR = 1 << 11;
        /// Monitoring time reached.
        const MONIT = 1 << 12;
        /// Envelope closure.
        const ENVCL = 1 << 13;
        /// MAC addresses used.
        const MACAR = 1 << 14;
        /// Event threshold reached.
        const EVETH = 1 << 15;
        /// Event quota exhausted.
        const EVEQU = 1 << 16;
        /// The UP function ended the session.
        const TEBUR = 1 << 17;
        /// IP multicast joined or left.
        const IPMJL = 1 << 18;
        /// Quota validity time expired.
        const QUVTI = 1 << 19;
        /// End marker received.
        const EMRRE = 1 << 20;
        /// User plane inactivity timer expired.
        const UPINT = 1 << 21;
    }

    /// The part of the usage in a report (TS 29.244 clause 8.2.59).
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
    pub struct UsageInformation: u8 {
        /// Before the monitoring time.
        const BEF = 1 << 0;
        /// After the monitoring time.
        const AFT = 1 << 1;
        /// After QoS enforcement.
        const UAE = 1 << 2;
        /// Before QoS enforcement.
        const UBE = 1 << 3;
    }
}
