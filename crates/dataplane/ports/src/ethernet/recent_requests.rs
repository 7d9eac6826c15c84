//! The neighbours that the kernel was recently asked for.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The kernel is asked for a neighbour once in this time: a request waits for its response.
pub(super) const REQUEST_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum number of neighbours that are remembered.
const CAPACITY: usize = 256;

/// The neighbours that the kernel was asked for in the last [`REQUEST_INTERVAL`]; of more than [`CAPACITY`], the latest.
#[derive(Default)]
pub(super) struct RecentRequests {
    at: HashMap<IpAddr, Instant>,
    /// The requests in order, also of neighbours that were forgotten.
    order: VecDeque<(Instant, IpAddr)>,
}

impl RecentRequests {
    /// The kernel is to be asked now; this request is remembered.
    pub(super) fn admit(&mut self, neighbour: IpAddr, now: Instant) -> bool {
        let is_over = |at: Instant| now.saturating_duration_since(at) >= REQUEST_INTERVAL;
        if self.at.get(&neighbour).is_some_and(|at| !is_over(*at)) {
            return false;
        }
        let (order, held) = (&mut self.order, &mut self.at);
        while let Some((at, ip)) =
            order.front().copied().filter(|(at, _)| is_over(*at) || order.len() >= CAPACITY)
        {
            order.pop_front();
            if held.get(&ip) == Some(&at) {
                held.remove(&ip);
            }
        }
        order.push_back((now, neighbour));
        held.insert(neighbour, now);
        true
    }

    /// The kernel may be asked at once for those that `ends` is true for.
    pub(super) fn forget(&mut self, ends: impl Fn(IpAddr) -> bool) {
        self.at.retain(|ip, _| !ends(*ip));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(number: u16) -> IpAddr {
        IpAddr::from([10, 1, (number >> 8) as u8, number as u8])
    }

    // Input:  requests for a neighbour at once and after a second; one for another; one that is forgotten.
    // Output: one for each in a second; a forgotten one may be asked for at once.
    #[test]
    fn a_neighbour_is_asked_for_once_a_second() {
        let (mut requests, start) = (RecentRequests::default(), Instant::now());
        let mut admit = |number, millis| requests.admit(ip(number), start + Duration::from_millis(millis));
        assert_eq!([admit(1, 0), admit(1, 999), admit(2, 999), admit(1, 1000)], [true, false, true, true]);
        requests.forget(|found| found == ip(1));
        assert_eq!([1, 2].map(|number| requests.admit(ip(number), start)), [true, false]);
    }

    // Input:  requests for a thousand neighbours, some forgotten between; at last one for the first and one for the
    //         last of them.
    // Output: no more are remembered than the capacity, and these are the latest.
    #[test]
    fn the_latest_are_remembered() {
        let (mut requests, now) = (RecentRequests::default(), Instant::now());
        for number in 0..1000 {
            assert!(requests.admit(ip(number), now));
            requests.forget(|found| number % 3 == 0 && found == ip(number));
            assert!(requests.at.len() <= CAPACITY && requests.order.len() <= CAPACITY);
        }
        assert_eq!([0, 998].map(|number| requests.admit(ip(number), now)), [true, false]);
    }
}
