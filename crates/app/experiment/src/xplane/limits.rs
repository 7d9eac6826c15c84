//! Rates of limited UEs, whose tokens are in external memory: all UEs of a simulation share a link and a local state table.

use causeway_types::Time;
use causeway_xplane::local_state::{LocalStateConfig, LocalStateTable, Ticket, WriteTicket};
use causeway_xplane::state::{Meter, Rate};

use super::figures::percent;
use super::path::{ENTRY, MEAN, PASS, PER_OCTET, Ports, STATE};
use crate::events::{EventQueue, PICOS_PER_MICRO, PICOS_PER_NANO, Picos, time};
use crate::hardware::xplane as hardware;

/// Means of the course are over so many seconds.
const BIN: f64 = 0.5;
/// What may pass together after a pause, in nanoseconds at the rate.
const BURST: u64 = 10_000_000;

/// UEs with the same rate.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) ues: u32,
    /// What comes for each of them, and what may pass, Mbit/s.
    pub(super) offered: f64,
    pub(super) limit: f64,
    /// The limit holds from this second on.
    pub(super) from: f64,
}

/// Rates of the UEs of a group, in Mbit/s a UE.
#[derive(Clone, Debug, Default)]
pub(super) struct Limited {
    /// Before and behind the limit.
    pub(super) before: f64,
    pub(super) behind: f64,
    /// The largest error of a UE behind it, in percent, and its spread over seeds.
    pub(super) worst: f64,
    pub(super) spread: f64,
    /// The mean of each half of a second.
    pub(super) course: Vec<(f64, f64)>,
    /// Of all groups: use of the link from the memory, most entries of the local state table, packets that collided there.
    pub(super) link: f64,
    pub(super) entries: usize,
    pub(super) collided: u64,
}

impl Limited {
    /// The runs of several seeds as one: means, and the worst of all. The course is that of the first.
    pub(super) fn of_seeds(runs: Vec<Vec<Self>>) -> Vec<Self> {
        let many = runs.len().max(1) as f64;
        let mut groups: Vec<Vec<Self>> = Vec::new();
        for (place, found) in runs.into_iter().flat_map(|run| run.into_iter().enumerate()) {
            if groups.len() <= place {
                groups.push(Vec::new());
            }
            groups[place].push(found);
        }
        let of_group = |group: Vec<Self>| {
            let worst = group.iter().map(|found| found.worst).fold(0.0, f64::max);
            let least = group.iter().map(|found| found.worst).fold(f64::MAX, f64::min);
            Self {
                before: group.iter().map(|found| found.before).sum::<f64>() / many,
                behind: group.iter().map(|found| found.behind).sum::<f64>() / many,
                worst,
                spread: worst - least,
                link: group.iter().map(|found| found.link).sum::<f64>() / many,
                entries: group.iter().map(|found| found.entries).max().unwrap_or(0),
                collided: group.iter().map(|found| found.collided).sum(),
                course: group.into_iter().next().unwrap_or_default().course,
            }
        };
        groups.into_iter().map(of_group).collect()
    }
}

enum Event {
    /// A packet of a UE comes.
    Packet(u32),
    /// Its response, with the tokens that memory had.
    Response(u32, Ticket, Meter),
    /// The tokens are written.
    Written(WriteTicket),
}

/// A UE.
struct Ue {
    group: usize,
    /// Its tokens as they are in memory.
    memory: Meter,
    /// When its next packet comes, in nanoseconds.
    next: f64,
    /// Octets that passed before and behind the limit.
    octets: [u64; 2],
}

/// Measures groups of UEs until this second. All are on one link.
pub(super) fn limited(groups: &[Group], until: f64, seed: u64) -> Vec<Limited> {
    const PORT: usize = 0;
    let picos = |nanos: f64| nanos as Picos * PICOS_PER_NANO;
    let begin = |group: &Group| Time::from_nanos((group.from * 1e9) as u64);
    let rate = |group: &Group| {
        let kbps = (group.limit * 1e3) as u64;
        Rate { kbps, burst: (kbps * BURST) as i64 }
    };
    let gap = |group: &Group| MEAN as f64 * 8.0 / group.offered * 1e3;
    let end = until * 1e9;
    let mut events = EventQueue::with_seed(seed);
    let mut table: LocalStateTable<u32, Meter> =
        LocalStateTable::new(LocalStateConfig { seed, ..LocalStateConfig::default() });
    let mut ports = Ports::new();
    let mut ues = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        for _ in 0..group.ues {
            let next = events.random().f64() * gap(group);
            events.push(picos(next), Event::Packet(ues.len() as u32));
            ues.push(Ue { group: number, memory: Meter::default(), next, octets: [0; 2] });
        }
    }
    let mut bins = vec![vec![0_u64; (until / BIN) as usize]; groups.len()];
    let mut collided = 0;
    while let Some((passed, event)) = events.pop() {
        let at = time(passed);
        let written = match event {
            Event::Packet(number) => {
                let Some(ue) = ues.get_mut(number as usize) else { continue };
                let group = &groups[ue.group];
                ue.next += gap(group) * (0.8 + 0.4 * events.random().f64());
                if ue.next < end {
                    events.push(picos(ue.next), Event::Packet(number));
                }
                match table.arrive(at, &number) {
                    Ok(arrived) => {
                        // The packet is written and read back, with its flow's entry and the tokens.
                        ports.write(passed + PASS, PORT, MEAN, false);
                        let there = ports.read(passed + PASS, PORT, MEAN + ENTRY + STATE);
                        let longer = events.random().u64(..hardware::SPREAD.picos());
                        let response = Event::Response(number, arrived.ticket, ue.memory);
                        events.push(there + longer + PASS, response);
                    }
                    Err(_) => {
                        collided += 1;
                        ue.octets[usize::from(at >= begin(group))] += MEAN;
                    }
                }
                None
            }
            Event::Response(number, ticket, read) => {
                let Some(ue) = ues.get_mut(number as usize) else { continue };
                let group = &groups[ue.group];
                let is_metered = at >= begin(group);
                table.load(ticket, read);
                let passes = table.update(ticket, |meter| {
                    if !is_metered {
                        return true;
                    }
                    // The limit begins without tokens.
                    meter.updated = meter.updated.max(begin(group));
                    let is_open = meter.fill(rate(group), at);
                    if is_open {
                        meter.charge(MEAN as u32);
                    }
                    is_open
                });
                if passes == Some(true) {
                    ue.octets[usize::from(is_metered)] += MEAN;
                    let bin = (at.as_nanos() as f64 / 1e9 / BIN) as usize;
                    bins[ue.group].get_mut(bin).into_iter().for_each(|bin| *bin += MEAN);
                }
                table.leave(at, ticket)
            }
            Event::Written(ticket) => table.written(ticket),
        };
        if let Some(write) = written {
            ues[write.key as usize].memory = write.state;
            let there = ports.write(passed, PORT, STATE, true);
            events.push(there, Event::Written(write.ticket));
        }
    }
    let link = (ports.octets_back() * PER_OCTET) as f64 / (until * 1e6 * PICOS_PER_MICRO);
    let of_group = |(number, (group, bins)): (usize, (&Group, &Vec<u64>))| {
        let megabits = |octets: u64, nanos: f64| if nanos > 0.0 { octets as f64 * 8e3 / nanos } else { 0.0 };
        let many = f64::from(group.ues);
        let mut found = Limited { link, entries: table.most_used(), collided, ..Limited::default() };
        for ue in ues.iter().filter(|ue| ue.group == number) {
            let behind = megabits(ue.octets[1], end - group.from * 1e9);
            found.before += megabits(ue.octets[0], group.from * 1e9) / many;
            found.behind += behind / many;
            found.worst = found.worst.max(percent(behind, group.limit.min(group.offered)).abs());
        }
        let mean =
            |(number, octets): (usize, &u64)| (number as f64 * BIN, *octets as f64 * 8.0 / BIN / 1e6 / many);
        found.course = bins.iter().enumerate().map(mean).collect();
        found
    };
    groups.iter().zip(&bins).enumerate().map(of_group).collect()
}
