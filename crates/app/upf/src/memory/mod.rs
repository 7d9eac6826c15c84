//! The memory budget of the UPF.
//!
//! The kernel kills a process that exceeds the limit of a cgroup or of the host, and a process without address space
//! fails. So the budget stays below every limit. Memory for buffered packets, cached responses, MAC addresses behind
//! Ethernet sessions and the tables of `upf.xplane` in this process is set aside. The rest is for PFDs and for sessions,
//! of which N4 counts the estimated need. In
//! addition the actual usage is read four times a second. If a limit is near nevertheless, because the estimate is
//! wrong or because other processes use memory under the same limit, new sessions are refused.

mod limit;

use causeway_slowpath::Limits;

use crate::config::{Memory, Upf, octets_text};
use crate::error::StartError;
pub use limit::CgroupMemory;
use limit::{Limit, Source};

const MIB: u64 = 1 << 20;

/// The reserve of each limit, a sixteenth: for uncounted memory, and for the overhead of the allocator.
const RESERVE: u64 = 16;
const LEAST_RESERVE: u64 = 8 * MIB;
const MOST_RESERVE: u64 = 512 * MIB;

/// Of the rest a quarter at most is for buffered packets, and a sixteenth at most for cached responses.
const FOR_BUFFERS: u64 = 4;
const FOR_ANSWERS: u64 = 16;
const MOST_ANSWERS: u64 = 256 * MIB;
const LEAST_ANSWERS: u64 = MIB;

/// With Ethernet networks, a thirty-second at most is for MAC addresses behind sessions.
const FOR_MACS: u64 = 32;

/// Overhead of a buffered packet, in octets.
const OF_PACKET: u64 = 256;

/// Memory of a MAC address, in octets: the place of its station, and its state of reporting to the SMF.
const OF_MAC: u64 = 256;

/// The minimum budget of sessions for a start.
const LEAST_SESSIONS: u64 = 8 * MIB;

/// Address space for threads, beside everything else.
const THREADS: u64 = 64 * MIB;

/// The limits, and the budget below them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Budget {
    limits: Vec<Limit>,
    buffers: u64,
    answers: u64,
    macs: u64,
    /// Tables that take memory with use, and address space at once.
    tables: u64,
    sessions: u64,
    is_short: bool,
}

/// The usage under the limit with the least space left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reading {
    /// The limit in octets, and its source.
    pub(crate) limit: u64,
    pub(crate) source: String,
    /// Octets.
    pub(crate) used: u64,
    /// Memory is short: new sessions are to be refused.
    pub(crate) is_short: bool,
}

impl Limit {
    fn reserve(&self) -> u64 {
        let threads = if self.source == Source::AddressSpace { THREADS } else { 0 };
        (self.octets / RESERVE).clamp(LEAST_RESERVE, MOST_RESERVE) + threads
    }

    /// The memory left under the limit; all of it if the usage cannot be read.
    fn available(&self, used: u64) -> u64 {
        self.octets.saturating_sub(self.reserve()).saturating_sub(used)
    }
}

impl Budget {
    /// Reads the limits of the configuration and of the system, and sets memory aside for buffered packets, cached
    /// responses, MAC addresses and the tables of `upf.xplane` of so many packet threads.
    ///
    /// # Errors
    /// The limit that leaves too little.
    pub(crate) fn new(upf: &Upf, workers: usize) -> Result<Self, StartError> {
        let mut limits = limit::detected();
        if let Memory::Octets(octets) = upf.memory {
            limits.push(Limit { source: Source::Configured, octets });
        }
        let tables = upf.own_xplane_tables(workers);
        let mut budget =
            Self { limits, buffers: 0, answers: 0, macs: 0, tables, sessions: 0, is_short: false };
        budget.available(0, LEAST_SESSIONS)?;
        let available = budget.available_beside_tables(tables.saturating_add(LEAST_SESSIONS), 0)? - tables;
        let buffering = &upf.buffering;
        let wanted = buffering.memory.saturating_add(u64::from(buffering.packets) * OF_PACKET);
        budget.buffers = wanted.min(available / FOR_BUFFERS);
        budget.answers = (available / FOR_ANSWERS).clamp(LEAST_ANSWERS, MOST_ANSWERS);
        if !upf.ethernet.is_empty() {
            let wanted = u64::from(upf.max_sessions) * u64::from(upf.max_macs_per_session);
            budget.macs = wanted.saturating_mul(OF_MAC).min(available / FOR_MACS);
        }
        Ok(budget)
    }

    /// As [`Budget::available`], with an error that names the tables.
    fn available_beside_tables(&self, least: u64, untouched: u64) -> Result<u64, StartError> {
        self.available(untouched, least).map_err(|error| match error {
            StartError::Memory { limit, octets, needed, .. } if self.tables > 0 => {
                StartError::XPlaneMemory { tables: rounded(self.tables), limit, octets, needed }
            }
            error => error,
        })
    }

    /// The memory that the limits leave now, at least so much. `untouched`: memory that was allocated and is not in use yet.
    fn available(&self, untouched: u64, least: u64) -> Result<u64, StartError> {
        let used = |limit: &Limit| {
            let untouched = if limit.source.counts_untouched() { 0 } else { untouched };
            limit.source.used().unwrap_or(0).saturating_add(untouched)
        };
        let with_usage = self.limits.iter().map(|limit| (limit, used(limit)));
        let tightest = with_usage.min_by_key(|(limit, used)| limit.available(*used));
        let Some((limit, used)) = tightest else { return Ok(u64::MAX) };
        let available = limit.available(used);
        if available < least {
            let needed = used.saturating_add(least).saturating_add(LEAST_RESERVE);
            let threads = if limit.source == Source::AddressSpace { THREADS } else { 0 };
            // A sixteenth of it is the reserve.
            let needed = (needed + threads) / (RESERVE - 1) * RESERVE + RESERVE;
            return Err(StartError::Memory {
                limit: limit.source.to_string(),
                octets: rounded(limit.octets),
                used: rounded(used),
                needed: rounded(needed.next_multiple_of(MIB)),
            });
        }
        Ok(available)
    }

    /// The limits of a data plane, reduced so that buffered packets and MAC addresses fit into the memory set aside for
    /// them.
    pub(crate) fn limits(&self, wanted: Limits) -> Limits {
        let size = |octets: u64| usize::try_from(octets).unwrap_or(usize::MAX);
        let wanted = Limits { macs: wanted.macs.min(size(self.macs / OF_MAC)), ..wanted };
        let needed = (wanted.buffer_octets as u64)
            .saturating_add((wanted.buffer_packets as u64).saturating_mul(OF_PACKET));
        if needed <= self.buffers {
            return wanted;
        }
        // Most buffered packets are long.
        let octets = wanted.buffer_octets.min(size(self.buffers / 4 * 3));
        let packets = wanted.buffer_packets.min(size((self.buffers - octets as u64) / OF_PACKET));
        Limits { buffer_octets: octets, buffer_packets: packets, ..wanted }
    }

    /// Determines the budget of sessions, after all memory that does not depend on them was allocated.
    ///
    /// # Errors
    /// The budget is too small.
    pub(crate) fn settle(&mut self) -> Result<(), StartError> {
        let available = self.available_beside_tables(self.set_aside() + LEAST_SESSIONS, self.tables)?;
        self.sessions = available - self.set_aside();
        Ok(())
    }

    /// The memory that is not for sessions and PFDs, without what is allocated already.
    const fn set_aside(&self) -> u64 {
        self.buffers + self.answers + self.macs
    }

    /// Octets for the sessions, and for PFDs.
    pub(crate) fn sessions(&self) -> usize {
        usize::try_from(self.sessions).unwrap_or(usize::MAX)
    }

    /// Octets for the cached responses of N4.
    pub(crate) fn answers(&self) -> usize {
        usize::try_from(self.answers).unwrap_or(usize::MAX)
    }

    /// The limit on address space, if there is one, as a possible cause of a failed allocation.
    pub(crate) fn address_space(&self) -> Option<String> {
        let limit = self.limits.iter().find(|limit| limit.source == Source::AddressSpace)?;
        Some(format!("{} is {}", limit.source, rounded(limit.octets)))
    }

    /// Reads the usage under the limit with the least space left. Once memory is short, it stays so until clearly more
    /// is free.
    pub(crate) fn read(&mut self) -> Option<Reading> {
        self.judge(|source| source.used())
    }

    fn judge(&mut self, used: impl Fn(&Source) -> Option<u64>) -> Option<Reading> {
        let read = self.limits.iter().filter_map(|limit| Some((limit, used(&limit.source)?)));
        let (limit, used) = read.min_by_key(|(limit, used)| {
            let left = limit.octets.saturating_sub(*used);
            // Decided by the free part of the reserve.
            u128::from(left) * 1024 / u128::from(limit.reserve())
        })?;
        let left = limit.octets.saturating_sub(used);
        let short_of = if self.is_short { limit.reserve() / 4 * 3 } else { limit.reserve() / 2 };
        self.is_short = left < short_of;
        Some(Reading { limit: limit.octets, source: limit.source.to_string(), used, is_short: self.is_short })
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [sessions, buffers, answers] = [self.sessions, self.buffers, self.answers].map(rounded);
        write!(f, "{sessions} for sessions, {buffers} for buffered packets, {answers} for cached responses")?;
        if self.macs > 0 {
            write!(f, ", {} for MAC addresses", rounded(self.macs))?;
        }
        if self.tables > 0 {
            write!(f, ", {} for the tables of upf.xplane", rounded(self.tables))?;
        }
        let least = self.limits.iter().min_by_key(|limit| limit.available(limit.source.used().unwrap_or(0)));
        let Some(limit) = least else { return Ok(()) };
        write!(f, ", below {} of {}", rounded(limit.octets), limit.source)
    }
}

/// Octets in whole MiB, for messages.
pub(crate) fn rounded(octets: u64) -> String {
    octets_text(octets / MIB * MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(octets: u64) -> Budget {
        let limits = vec![Limit { source: Source::Configured, octets }];
        Budget { limits, buffers: 0, answers: 0, macs: 0, tables: 0, sessions: 0, is_short: false }
    }

    // Input:  a limit of 160 MiB with an increasing, then a decreasing usage.
    // Output: short when less than half of the reserve of 10 MiB is left, until three quarters are.
    #[test]
    fn the_process_is_short_until_there_is_clearly_more() {
        let mut budget = budget(160 * MIB);
        let mut short = |used: u64| budget.judge(|_| Some(used * MIB)).unwrap().is_short;
        assert_eq!(
            [100, 150, 155, 156, 155, 153, 152, 150].map(&mut short),
            [false, false, false, true, true, true, false, false]
        );
        assert_eq!(budget.judge(|_| None), None);
    }

    // Input:  256 MiB and a million packets for buffers, where there is all of it, a part, and hardly anything.
    // Output: what packets and their records take together is never more than is set aside.
    #[test]
    fn packets_that_wait_have_what_is_set_aside() {
        let wanted = Limits::default();
        for buffers in [0, MIB, 50 * MIB, 511 * MIB, 512 * MIB, 1 << 40] {
            let limits = Budget { buffers, macs: u64::MAX, ..budget(1) }.limits(wanted);
            let taken = limits.buffer_octets as u64 + limits.buffer_packets as u64 * OF_PACKET;
            assert!(taken <= buffers || limits == wanted, "{buffers}: {taken}");
            assert_eq!(limits == wanted, buffers >= 512 * MIB, "{buffers}");
        }
    }

    // Input:  a configuration with an Ethernet network and one without, under a limit that leaves hardly anything,
    //         some, and all.
    // Output: MAC addresses have what is set aside, which is at most a thirty-second, and no more than there can be;
    //         without an Ethernet
    //         network there are none.
    #[test]
    fn mac_addresses_have_what_is_set_aside() {
        let wanted = Limits { macs: 1 << 20, ..Limits::default() };
        for (macs, most) in [(0, 0), (OF_MAC - 1, 0), (100 * OF_MAC + 1, 100), (1 << 40, 1 << 20)] {
            assert_eq!(Budget { macs, ..budget(1) }.limits(wanted).macs, most);
        }
        let mut upf = Upf { memory: Memory::Octets(4 << 40), max_sessions: 1000, ..Upf::default() };
        assert_eq!(Budget::new(&upf, 1).unwrap().macs, 0);
        upf.ethernet.push(crate::config::EthernetNetwork::new("lan"));
        let all = 1000 * u64::from(upf.max_macs_per_session) * OF_MAC;
        assert!((1..=all).contains(&Budget::new(&upf, 1).unwrap().macs));
    }

    // Input:  a limit below what the process has already.
    // Output: an error with the limit and a sufficient value; with that value the start succeeds.
    #[test]
    fn too_little_is_an_error_that_says_how_much_is_enough() {
        let StartError::Memory { limit, octets, needed, .. } =
            budget(9 * MIB).available(0, 8 * MIB).unwrap_err()
        else {
            panic!("another error");
        };
        assert_eq!((&*limit, &*octets), ("upf.memory", "9MiB"));
        let needed: u64 = needed.strip_suffix("MiB").unwrap().parse().unwrap();
        // Other tests of this process allocate memory in the meantime.
        assert!(budget((needed + 512) * MIB).available(0, 8 * MIB).is_ok());
        assert!(Budget { limits: Vec::new(), ..budget(1) }.available(0, u64::MAX).is_ok());
    }

    // Input:  `dataplane: xplane` with two packet threads, over memory of this process and over a memory server, below limits that have
    //         place for the tables; tables of ten million flows.
    // Output: what the tables take is not for sessions; where they do not fit, the start is refused with the keys that make them smaller.
    #[test]
    fn tables_in_this_process_are_in_the_budget() {
        let mut upf = Upf { memory: Memory::Octets(8 << 30), ..Upf::default() };
        upf.dataplane = crate::config::DataPlane::named("xplane").unwrap();
        // So much that what other tests of this process allocate in the meantime does not matter.
        upf.xplane.flows = 400_000;
        let tables = upf.xplane.sizes(2).octets() * 2;
        let settled = |upf: &Upf| {
            let mut budget = Budget::new(upf, 2).unwrap();
            budget.limits.retain(|limit| limit.source == Source::Configured);
            budget.settle().unwrap();
            (budget.tables, budget.sessions + budget.set_aside())
        };
        let (own, of_sessions) = settled(&upf);
        assert_eq!(own, tables);
        upf.xplane.server = Some(([192, 0, 2, 9], 4791).into());
        let (elsewhere, more) = settled(&upf);
        assert_eq!(elsewhere, 0);
        assert!(of_sessions + tables / 2 < more, "{of_sessions} beside the tables, {more} without");
        upf.xplane.server = None;
        upf.xplane.flows = 10_000_000;
        let error = Budget::new(&upf, 2).unwrap_err().to_string();
        let expected = "cannot start: the tables of upf.xplane take 2";
        assert!(error.starts_with(expected) && error.contains("lower upf.xplane.ues, flows"), "{error}");
    }
}
