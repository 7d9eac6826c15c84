//! Random rule sets of any kind, moved to where a session stands.

use causeway_model::{HeaderRemoval, OuterHeader, RuleSet};
use causeway_types::{FTeid, Span, Time, WallTime};

use crate::place::Place;
use crate::usage::wall;

/// The rules with the addresses, tunnels and gNB of the place, their times counted from now.
pub(crate) fn settled(rules: &RuleSet, place: &Place, now: Time) -> RuleSet {
    let mut set = rules.clone();
    for pdr in set.pdrs.values_mut() {
        if let Some(tunnel) = pdr.pdi.tunnel {
            pdr.pdi.tunnel = Some(place.tunnel(number(tunnel)));
            pdr.removal = Some(HeaderRemoval::GTPU);
        }
        pdr.pdi.ue = pdr.pdi.ue.and_then(|ue| place.ue(ue.side));
        for time in [&mut pdr.active_from, &mut pdr.active_until] {
            *time = time.map(|time| from(time, now));
        }
    }
    for far in set.fars.values_mut() {
        let way = far.forwarding.as_mut().map(|way| &mut way.outer);
        let copies = far.duplicates.iter_mut().map(|copy| &mut copy.outer);
        for outer in way.into_iter().chain(copies).flatten() {
            if let OuterHeader::Gtpu(tunnel) = outer {
                *tunnel = place.peer(number(*tunnel));
            }
        }
    }
    for urr in set.urrs.values_mut() {
        for monitoring in urr.monitoring.iter_mut().chain(&mut urr.additional_monitoring) {
            monitoring.at = from(monitoring.at, now);
        }
    }
    set
}

fn number(tunnel: FTeid) -> u32 {
    tunnel.teid.value() % 8
}

fn from(time: WallTime, now: Time) -> WallTime {
    wall(now) + Span::from_nanos(time.as_nanos())
}
