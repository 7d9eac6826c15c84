//! URRs.

use std::num::NonZeroU16;

use causeway_model::{
    BaseInterval, DirectionalLimit, DroppedLimit, MeasurementMethod, Monitoring, Urr, UsageLimits,
};
use causeway_types::{FarId, ReportingTriggers, Span, Time, UrrId, WallTime};

use crate::genes::Genes;

/// Mostly a volume threshold alone; `now` is what its times lie around.
pub(crate) fn urr(id: u32, now: Time, genes: &mut Genes<'_>) -> Urr {
    use ReportingTriggers as Trigger;
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    let mut urr = Urr { triggers: Trigger::VOLTH, ..Urr::new(UrrId(id), method) };
    urr.thresholds.volume = Some(volume(genes));
    if genes.chance(80) {
        urr.quotas.volume = Some(volume(genes));
        urr.triggers |= Trigger::VOLQU;
        urr.quota_far = genes.maybe(64, &[FarId(1), FarId(2)]);
        if genes.chance(32) {
            urr.validity_time = Some(seconds(genes));
            urr.triggers |= Trigger::QUVTI;
        }
    }
    urr.before_qos = genes.chance(56);
    if genes.chance(64) {
        clockwork(&mut urr, now, genes);
    }
    urr
}

fn clockwork(urr: &mut Urr, now: Time, genes: &mut Genes<'_>) {
    use ReportingTriggers as Trigger;
    urr.method.duration = genes.chance(128);
    urr.method.events = genes.chance(64);
    if urr.method.duration && genes.chance(96) {
        urr.thresholds.time = Some(seconds(genes));
        urr.triggers |= Trigger::TIMTH;
    }
    if urr.method.duration && genes.chance(48) {
        urr.quotas.time = Some(seconds(genes));
        urr.triggers |= Trigger::TIMQU;
    }
    if urr.method.events && genes.chance(128) {
        urr.thresholds.events = Some(1 + genes.below(20) as u32);
        urr.triggers |= Trigger::EVETH;
    }
    if genes.chance(64) {
        (urr.period, urr.triggers) = (Some(seconds(genes)), urr.triggers | Trigger::PERIO);
    }
    if genes.chance(32) {
        (urr.holding_time, urr.triggers) = (Some(seconds(genes)), urr.triggers | Trigger::QUHTI);
    }
    if genes.chance(32) {
        (urr.inactivity_timer, urr.triggers) = (Some(seconds(genes)), urr.triggers | Trigger::UPINT);
    }
    if genes.chance(32) {
        let octets = genes.maybe(64, &[3000]);
        urr.dropped_threshold = Some(DroppedLimit { packets: Some(1 + genes.below(9) as u64), octets });
        urr.triggers |= Trigger::DROTH;
    }
    if genes.chance(64) {
        urr.triggers |= genes.pick(&[Trigger::START | Trigger::STOPT, Trigger::START, Trigger::STOPT]);
    }
    if genes.chance(32) {
        let limits = |genes: &mut Genes<'_>| UsageLimits {
            volume: genes.chance(128).then(|| volume(genes)),
            ..UsageLimits::default()
        };
        let at = wall(now) + seconds(genes);
        urr.monitoring = Some(Monitoring { at, thresholds: limits(genes), quotas: limits(genes) });
    }
    if urr.method.duration && genes.chance(48) {
        let interval = seconds(genes);
        match genes.below(3) {
            0 => urr.inactivity_detection = Some(interval),
            1 => urr.base_interval = Some(BaseInterval::Continuous(interval)),
            _ => urr.base_interval = Some(BaseInterval::Discrete(interval)),
        }
        if genes.chance(96) {
            urr.triggers |= Trigger::ENVCL;
        }
    }
    urr.number_of_reports = genes.maybe(24, &[1, 2, 5]).and_then(NonZeroU16::new);
    urr.immediate_start = genes.chance(64);
    urr.inactive = genes.chance(12);
}

/// From what one packet crosses to what none of a world does.
pub(crate) fn volume(genes: &mut Genes<'_>) -> DirectionalLimit {
    let mut some = || {
        let base: u64 = genes.pick(&[100_000, 1_000_000_000, 1_000, 10_000, 64, 1]);
        base + u64::from(genes.octet())
    };
    let total = Some(some());
    match genes.below(8) {
        5 => DirectionalLimit { uplink: Some(base(genes)), ..DirectionalLimit::default() },
        6 => DirectionalLimit { total, downlink: Some(base(genes)), ..DirectionalLimit::default() },
        _ => DirectionalLimit { total, ..DirectionalLimit::default() },
    }
}

fn base(genes: &mut Genes<'_>) -> u64 {
    500 + u64::from(genes.word())
}

/// What the wall clock says, as long as it was not set.
pub(crate) fn wall(now: Time) -> WallTime {
    WallTime::from_nanos(now.as_nanos())
}

pub(crate) fn seconds(genes: &mut Genes<'_>) -> Span {
    Span::from_secs(genes.pick(&[10, 1, 3, 60, 600]))
}
