//! The template of a response: its octets are constant except few values.

use causeway_types::{FSeid, NtpSeconds, Seid, Teid, Volume};

use crate::{
    Cause, CreatedPdr, DurationMeasurement, EndTime, FTeid, Header, Ie, NodeId, RawIe, RawIes, StartTime,
    TimeOfFirstPacket, TimeOfLastPacket, UrSeqn, VolumeMeasurement,
};

/// The offsets of SEID and sequence number in the header of a session message.
const SEID: usize = 4;
const SEQUENCE: usize = 12;

/// Usage Report in a deletion response (TS 29.244 table 8.1.2-1).
const USAGE_REPORT: u16 = 79;

/// The bits of Volume Measurement for packet counts.
const PACKETS: u8 = 0b11_1000;

/// The response to an establishment, a modification or a deletion, with the offsets of its values.
#[derive(Clone, Debug)]
pub struct ResponseTemplate {
    octets: Vec<u8>,
    /// The offset of the UPF's SEID.
    up_seid: Option<usize>,
    /// The offsets of TEIDs of Created PDRs, and the index in [`ResponseValues::tunnels`] of each.
    teids: Vec<(usize, usize)>,
    /// The offsets of the values of each usage report.
    usage: Vec<UsageOffsets>,
}

/// The values of a response beside its usage reports.
#[derive(Clone, Copy, Default, Debug)]
pub struct ResponseValues<'a> {
    /// The SMF's SEID, in the header.
    pub cp: Seid,
    /// The sequence number of the request.
    pub sequence: u32,
    /// The UPF's SEID, in the UP F-SEID of an establishment response.
    pub up: Seid,
    /// The TEIDs that the UPF chose, in Created PDRs.
    pub tunnels: &'a [Option<Teid>],
}

/// The values of a usage report in a deletion response. One without a place in the template is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct UsageValues {
    /// UR-SEQN.
    pub sequence: u32,
    /// Start Time.
    pub start: Option<NtpSeconds>,
    /// End Time.
    pub end: Option<NtpSeconds>,
    /// Time of First Packet.
    pub first_packet: Option<NtpSeconds>,
    /// Time of Last Packet.
    pub last_packet: Option<NtpSeconds>,
    /// Duration Measurement, in seconds.
    pub duration: Option<u32>,
    /// Volume Measurement, in octets, and packets where the template has them.
    pub volume: Option<Volume>,
}

/// The offsets of the values of a usage report, if present.
#[derive(Clone, Copy, Default, Debug)]
struct UsageOffsets {
    sequence: usize,
    start: Option<usize>,
    end: Option<usize>,
    /// And whether it has packet counts.
    volume: Option<(usize, bool)>,
    duration: Option<usize>,
    first_packet: Option<usize>,
    last_packet: Option<usize>,
}

impl ResponseTemplate {
    /// Learns the template of an encoded response with these values. `None`: it contains an IE whose values have no
    /// place in a template, or the template with the same values does not give the same octets.
    pub fn learn(response: &[u8], values: &ResponseValues<'_>, usage: &[UsageValues]) -> Option<Self> {
        let (_, body, _) = Header::decode(response).ok()?;
        let offset = |part: &[u8]| part.as_ptr().addr().checked_sub(response.as_ptr().addr());
        let mut template =
            Self { octets: response.to_vec(), up_seid: None, teids: Vec::new(), usage: Vec::new() };
        for ie in RawIes::new(body) {
            let ie = ie.ok()?;
            match ie.ie_type {
                Cause::TYPE | <NodeId<'_> as Ie<'_>>::TYPE => {}
                FSeid::TYPE => template.up_seid = Some(offset(ie.value)? + 1),
                <CreatedPdr<'_> as Ie<'_>>::TYPE => {
                    for inner in RawIes::new(ie.value) {
                        let inner = inner.ok()?;
                        if inner.ie_type == FTeid::TYPE {
                            let teid = FTeid::decode(inner.value).ok()?.assigned()?.teid;
                            let index = values.tunnels.iter().position(|tunnel| *tunnel == Some(teid))?;
                            template.teids.push((offset(inner.value)? + 1, index));
                        }
                    }
                }
                USAGE_REPORT => template.usage.push(UsageOffsets::of(response, ie)?),
                _ => return None,
            }
        }
        let is_complete = template.usage.len() == usage.len();
        let again = template.encode(values, usage.iter().copied(), Vec::new());
        (is_complete && again.as_deref() == Some(response)).then_some(template)
    }

    /// The response with these values, written into `octets`, which are empty. `None`: a value is missing.
    #[inline]
    pub fn encode(
        &self,
        values: &ResponseValues<'_>,
        usage: impl IntoIterator<Item = UsageValues>,
        mut octets: Vec<u8>,
    ) -> Option<Vec<u8>> {
        octets.extend_from_slice(&self.octets);
        let [_, sequence @ ..] = values.sequence.to_be_bytes();
        put(&mut octets, SEID, &values.cp.0.to_be_bytes())?;
        put(&mut octets, SEQUENCE, &sequence)?;
        if let Some(at) = self.up_seid {
            put(&mut octets, at, &values.up.0.to_be_bytes())?;
        }
        for (at, index) in &self.teids {
            let teid = values.tunnels.get(*index).copied().flatten()?;
            put(&mut octets, *at, &teid.value().to_be_bytes())?;
        }
        for (offsets, usage) in self.usage.iter().zip(usage) {
            offsets.put(&mut octets, &usage)?;
        }
        Some(octets)
    }
}

impl UsageOffsets {
    fn of(response: &[u8], report: RawIe<'_>) -> Option<Self> {
        let mut offsets = Self::default();
        for ie in RawIes::new(report.value) {
            let ie = ie.ok()?;
            let at = ie.value.as_ptr().addr().checked_sub(response.as_ptr().addr())?;
            match ie.ie_type {
                UrSeqn::TYPE => offsets.sequence = at,
                StartTime::TYPE => offsets.start = Some(at),
                EndTime::TYPE => offsets.end = Some(at),
                VolumeMeasurement::TYPE => {
                    offsets.volume = Some((at + 1, ie.value.first()? & PACKETS != 0));
                }
                DurationMeasurement::TYPE => offsets.duration = Some(at),
                TimeOfFirstPacket::TYPE => offsets.first_packet = Some(at),
                TimeOfLastPacket::TYPE => offsets.last_packet = Some(at),
                _ => {}
            }
        }
        Some(offsets)
    }

    fn put(&self, octets: &mut [u8], usage: &UsageValues) -> Option<()> {
        put(octets, self.sequence, &usage.sequence.to_be_bytes())?;
        put_seconds(octets, self.start, usage.start.map(|time| time.0))?;
        put_seconds(octets, self.end, usage.end.map(|time| time.0))?;
        put_seconds(octets, self.first_packet, usage.first_packet.map(|time| time.0))?;
        put_seconds(octets, self.last_packet, usage.last_packet.map(|time| time.0))?;
        put_seconds(octets, self.duration, usage.duration)?;
        let Some(((at, has_packets), volume)) = self.volume.zip(usage.volume) else { return Some(()) };
        let Volume { uplink, downlink, uplink_packets, downlink_packets } = volume;
        let packets = [volume.total_packets(), uplink_packets, downlink_packets];
        let values = [volume.total(), uplink, downlink].into_iter().chain(packets);
        let places = octets.get_mut(at..at + if has_packets { 48 } else { 24 })?.as_chunks_mut().0;
        places.iter_mut().zip(values).for_each(|(place, value)| *place = value.to_be_bytes());
        Some(())
    }
}

fn put_seconds(octets: &mut [u8], at: Option<usize>, seconds: Option<u32>) -> Option<()> {
    match at.zip(seconds) {
        Some((at, seconds)) => put(octets, at, &seconds.to_be_bytes()),
        None => Some(()),
    }
}

fn put(octets: &mut [u8], at: usize, value: &[u8]) -> Option<()> {
    octets.get_mut(at..at + value.len())?.copy_from_slice(value);
    Some(())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use causeway_types::{DualIp, PdrId};

    use super::*;
    use crate::{Message, SessionEstablishmentResponse};

    fn response(cp: u64, sequence: u32, up: u64, teids: [u32; 2]) -> Vec<u8> {
        let upf = Ipv4Addr::new(192, 0, 2, 1);
        let pdr = |id, teid| CreatedPdr {
            local_f_teid: Some(FTeid::Assigned { teid, addr: DualIp::from(upf) }),
            ..CreatedPdr::new(PdrId(id))
        };
        let response = SessionEstablishmentResponse {
            up_f_seid: Some(FSeid { seid: Seid(up), addr: upf.into() }),
            created_pdrs: vec![pdr(1, teids[0]), pdr(3, teids[1])].into(),
            ..SessionEstablishmentResponse::new(NodeId::Ip(upf.into()), Cause::RequestAccepted)
        };
        let mut octets = Vec::new();
        Message::from(response).encode(Some(Seid(cp)), sequence, &mut octets).unwrap();
        octets
    }

    // Input:  an establishment response with two tunnels; the values of another session.
    // Output: the template writes what the encoder writes for these values; without a TEID it writes nothing.
    #[test]
    fn a_template_writes_what_the_encoder_writes() {
        let tunnels = [11, 12].map(Teid::new);
        let first = ResponseValues { cp: Seid(1), sequence: 7, up: Seid(2), tunnels: &tunnels };
        let template = ResponseTemplate::learn(&response(1, 7, 2, [11, 12]), &first, &[]).unwrap();
        let tunnels = [21, 22].map(Teid::new);
        let next = ResponseValues { cp: Seid(3), sequence: 0x0080_0001, up: Seid(4), tunnels: &tunnels };
        let encoded = template.encode(&next, [], Vec::new());
        assert_eq!(encoded, Some(response(3, 0x0080_0001, 4, [21, 22])));
        let missing = ResponseValues { tunnels: &tunnels[..1], ..next };
        assert_eq!(template.encode(&missing, [], Vec::new()), None);
    }

    // Input:  a response whose TEID is not among the values; one that is cut at each octet.
    // Output: no template, and no panic.
    #[test]
    fn an_unknown_value_gives_no_template() {
        let tunnels = [Teid::new(11), None];
        let values = ResponseValues { cp: Seid(1), sequence: 7, up: Seid(2), tunnels: &tunnels };
        let whole = response(1, 7, 2, [11, 12]);
        assert!(ResponseTemplate::learn(&whole, &values, &[]).is_none());
        for end in 0..whole.len() {
            assert!(ResponseTemplate::learn(&whole[..end], &values, &[]).is_none());
        }
    }
}
