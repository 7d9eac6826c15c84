//! QoS monitoring of flows and of GTP-U paths, direct reporting, trace.

use std::net::IpAddr;

use super::addr;
use super::leaf::{flags_ies, integer_ies, octets_ies};
use super::text::Octets;
use crate::read::{Put, Reader};
use crate::{Ie, IeError};

integer_ies! {
    /// Average delay of a path, milliseconds (clause 8.2.162).
    AveragePacketDelay(u32) = 234, "Average Packet Delay";
    /// Minimum delay of a path, milliseconds (clause 8.2.163).
    MinimumPacketDelay(u32) = 235, "Minimum Packet Delay";
    /// Maximum delay of a path, milliseconds (clause 8.2.164).
    MaximumPacketDelay(u32) = 236, "Maximum Packet Delay";
}

flags_ies! {
    /// Triggers of QoS reports of a path (clause 8.2.165).
    QosReportTrigger(u8; 1) = 237, "QoS Report Trigger" {
        /// Periodically.
        PER = 0;
        /// Threshold exceeded.
        THR = 1;
        /// Immediately.
        IRE = 2;
    }

    /// Monitored paths (clause 8.2.166).
    GtpuPathInterfaceType(u8; 1) = 241, "GTP-U Path Interface Type" {
        /// N9.
        N9 = 0;
        /// N3.
        N3 = 1;
    }

    /// Measured delays (clause 8.2.167).
    RequestedQosMonitoring(u8; 1) = 243, "Requested QoS Monitoring" {
        /// Downlink.
        DL = 0;
        /// Uplink.
        UL = 1;
        /// Round trip.
        RP = 2;
        /// By GTP-U path monitoring.
        GTPUPM = 3;
    }

    /// Triggers of reports of measured delays (clause 8.2.168).
    ReportingFrequency(u8; 1) = 244, "Reporting Frequency" {
        /// Threshold exceeded.
        EVETT = 0;
        /// Periodically.
        PERIO = 1;
        /// When the session is released.
        SESRL = 2;
    }

    /// Form of direct reports (clause 8.2.204).
    ReportingFlags(u8; 1) = 298, "Reporting Flags" {
        /// Over N4 too.
        DUPL = 0;
    }
}

octets_ies! {
    /// The receiver of event notifications (clause 8.2.202).
    EventNotificationUri = 296, "Event Notification URI";
    /// The correlation ID of the receiver of notifications (clause 8.2.203).
    NotificationCorrelationId = 297, "Notification Correlation ID";
}

/// Delays by direction, milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Delays {
    /// UPF to UE.
    pub downlink: Option<u32>,
    /// UE to UPF.
    pub uplink: Option<u32>,
    /// Round trip.
    pub round_trip: Option<u32>,
}

impl Delays {
    fn read(fields: &mut Reader<'_>, flags: u8) -> Result<Self, IeError> {
        Ok(Self {
            downlink: fields.when(flags & 1 != 0, Reader::u32)?,
            uplink: fields.when(flags & 2 != 0, Reader::u32)?,
            round_trip: fields.when(flags & 4 != 0, Reader::u32)?,
        })
    }

    fn flags(&self) -> u8 {
        let present = [self.downlink.is_some(), self.uplink.is_some(), self.round_trip.is_some()];
        present.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag))
    }

    fn put(&self, out: &mut Vec<u8>) {
        let delays = [self.downlink, self.uplink, self.round_trip];
        delays.into_iter().flatten().for_each(|delay| out.put_u32(delay));
    }
}

/// Packet Delay Thresholds (clause 8.2.169).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PacketDelayThresholds(pub Delays);

impl<'a> Ie<'a> for PacketDelayThresholds {
    const TYPE: u16 = 245;
    const NAME: &'static str = "Packet Delay Thresholds";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        Delays::read(&mut fields, flags).map(Self)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.0.flags());
        self.0.put(out);
    }
}

/// QoS Monitoring Measurement (clause 8.2.171).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct QosMonitoringMeasurement {
    /// The measured delays.
    pub delays: Delays,
    /// PLMF: the measurement failed.
    pub failed: bool,
}

impl<'a> Ie<'a> for QosMonitoringMeasurement {
    const TYPE: u16 = 248;
    const NAME: &'static str = "QoS Monitoring Measurement";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let flags = fields.u8()?;
        Ok(Self { delays: Delays::read(&mut fields, flags)?, failed: flags & 8 != 0 })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.delays.flags() | u8::from(self.failed) << 3);
        self.delays.put(out);
    }
}

/// Trace Information (clause 8.2.108).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TraceInformation<'a> {
    /// Trace reference: MCC and MNC digits, then the trace ID.
    pub reference: [u8; 6],
    /// Triggering events (TS 32.422), at most 255 octets.
    pub triggering_events: Octets<'a>,
    /// Session trace depth (TS 32.422).
    pub depth: u8,
    /// List of interfaces (TS 32.422), at most 255 octets.
    pub interfaces: Octets<'a>,
    /// Trace collection entity.
    pub collector: Option<IpAddr>,
}

impl<'a> Ie<'a> for TraceInformation<'a> {
    const TYPE: u16 = 152;
    const NAME: &'static str = "Trace Information";

    fn decode(value: &'a [u8]) -> Result<Self, IeError> {
        let mut fields = Reader::new(value);
        let reference = fields.array()?;
        let triggering_events = Octets(fields.counted8()?);
        let depth = fields.u8()?;
        let interfaces = Octets(fields.counted8()?);
        let mut collector = Reader::new(fields.counted8()?);
        let collector = match collector.remaining() {
            0 => None,
            4 => Some(collector.ipv4()?.into()),
            16 => Some(collector.ipv6()?.into()),
            _ => return Err(IeError::incorrect()),
        };
        Ok(Self { reference, triggering_events, depth, interfaces, collector })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put(&self.reference);
        out.put_counted8(&self.triggering_events);
        out.put_u8(self.depth);
        out.put_counted8(&self.interfaces);
        match self.collector {
            None => out.put_u8(0),
            Some(ip) => {
                out.put_u8(if ip.is_ipv4() { 4 } else { 16 });
                addr::write_ip(ip, out);
            }
        }
    }
}
