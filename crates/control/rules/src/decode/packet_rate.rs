//! Packet Rate and Packet Rate Status: decoding and encoding.

use causeway_pfcp as pfcp;
use causeway_types::{NtpSeconds, Span, WallTime};

use crate::{Reason, ie};
use causeway_model::{Allowance, PacketRate, PacketRateStatus, PacketRates, Remaining};

const MINUTE: u64 = 60;

pub(super) fn rates(given: pfcp::PacketRate) -> Result<PacketRates, Reason> {
    let rate = |usual: Option<pfcp::Rate>, additional: Option<pfcp::Rate>| {
        usual.map(|usual| PacketRate { base: allowance(usual), additional: additional.map(allowance) })
    };
    let rates = PacketRates {
        uplink: rate(given.uplink, given.additional_uplink),
        downlink: rate(given.downlink, given.additional_downlink),
    };
    match rates.uplink.or(rates.downlink) {
        Some(_) => Ok(rates),
        None => Err(Reason::Incorrect { ie: ie::PACKET_RATE, why: "it limits neither direction" }),
    }
}

fn allowance(rate: pfcp::Rate) -> Allowance {
    let minutes = match rate.unit {
        pfcp::RateUnit::Minute | pfcp::RateUnit::Spare(_) => 1,
        pfcp::RateUnit::SixMinutes => 6,
        pfcp::RateUnit::Hour => 60,
        pfcp::RateUnit::Day => 24 * 60,
        pfcp::RateUnit::Week => 7 * 24 * 60,
    };
    Allowance { packets: rate.packets, period: Span::from_secs(minutes * MINUTE) }
}

pub(super) fn status(given: pfcp::PacketRateStatus) -> Result<PacketRateStatus, Reason> {
    let remaining = |left: pfcp::Remaining| Remaining { packets: left.packets, additional: left.additional };
    match given.uplink.or(given.downlink) {
        Some(_) => Ok(PacketRateStatus {
            uplink: given.uplink.map(remaining),
            downlink: given.downlink.map(remaining),
            valid_until: time(given.valid_until),
        }),
        None => {
            Err(Reason::Incorrect { ie: ie::PACKET_RATE_STATUS, why: "it has a value for neither direction" })
        }
    }
}

/// The status in its wire form.
pub(crate) fn status_ie(status: &PacketRateStatus) -> pfcp::PacketRateStatus {
    let remaining = |left: Remaining| pfcp::Remaining { packets: left.packets, additional: left.additional };
    pfcp::PacketRateStatus {
        uplink: status.uplink.map(remaining),
        downlink: status.downlink.map(remaining),
        valid_until: ntp(status.valid_until),
    }
}

/// Seconds in the high half, 2^-32 of a second in the low half.
fn time(ntp: u64) -> WallTime {
    let nanos = ((ntp & 0xffff_ffff) * 1_000_000_000) >> 32;
    NtpSeconds((ntp >> 32) as u32).to_wall() + Span::from_nanos(nanos)
}

fn ntp(time: WallTime) -> u64 {
    let nanos = time.as_nanos() % 1_000_000_000;
    let fraction = (nanos << 32) / 1_000_000_000;
    u64::from(time.to_ntp().0) << 32 | fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  whole and half seconds, around the end of the NTP era in 2036.
    // Output: the same time after encoding and decoding.
    #[test]
    fn a_time_survives_the_way_there_and_back() {
        for nanos in [0, 500_000_000, 2_085_978_495_500_000_000, 2_085_978_496_000_000_000] {
            let at = WallTime::from_nanos(nanos);
            assert_eq!(time(ntp(at)), at, "{nanos}");
        }
    }

    // Input:  every unit of time, and one that no release names.
    // Output: its length; the unknown one counts as minutes.
    #[test]
    fn every_unit_has_its_length() {
        let seconds = |code| {
            let unit = pfcp::RateUnit::from_code(code);
            allowance(pfcp::Rate { unit, packets: 1 }).period.as_secs()
        };
        assert_eq!([0, 1, 2, 3, 4, 5].map(seconds), [60, 360, 3600, 86_400, 604_800, 60]);
    }
}
