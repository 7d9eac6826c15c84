//! Ordering: requests for the same resource one after the other, others concurrently.

use std::collections::{HashMap, VecDeque};

use causeway_switch::driver::{Request, Resource, Ticket};
use foldhash::fast::RandomState;

/// Requests that wait for earlier ones, in the order of submission.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Requests for each resource, earliest first: the first one uses it.
    queues: HashMap<Resource, VecDeque<Ticket>, RandomState>,
    waiting: HashMap<Ticket, Waiting, RandomState>,
    ready: VecDeque<Ticket>,
}

#[derive(Debug)]
struct Waiting {
    /// `None` once it is in flight.
    request: Option<Request>,
    resources: Vec<Resource>,
    /// The number of resources for which it waits.
    blocked: usize,
}

impl Order {
    /// Adds a request.
    pub(super) fn add(&mut self, ticket: Ticket, request: Request) {
        let resources = request.resources();
        let mut blocked = 0;
        for resource in &resources {
            let queue = self.queues.entry(*resource).or_default();
            blocked += usize::from(!queue.is_empty());
            queue.push_back(ticket);
        }
        if blocked == 0 {
            self.ready.push_back(ticket);
        }
        self.waiting.insert(ticket, Waiting { request: Some(request), resources, blocked });
    }

    /// The next request that can be carried out.
    pub(super) fn next(&mut self) -> Option<(Ticket, Request)> {
        let ticket = self.ready.pop_front()?;
        let request = self.waiting.get_mut(&ticket)?.request.take()?;
        Some((ticket, request))
    }

    /// A request that was handed out has ended.
    pub(super) fn finish(&mut self, ticket: Ticket) {
        let Some(waiting) = self.waiting.remove(&ticket) else { return };
        for resource in waiting.resources {
            let Some(queue) = self.queues.get_mut(&resource) else { continue };
            queue.pop_front();
            match queue.front() {
                None => _ = self.queues.remove(&resource),
                Some(next) => {
                    let Some(waiting) = self.waiting.get_mut(next) else { continue };
                    waiting.blocked -= 1;
                    if waiting.blocked == 0 {
                        self.ready.push_back(*next);
                    }
                }
            }
        }
    }

    /// Removes all requests: those that were not handed out, and the tickets of those that were.
    pub(super) fn clear(&mut self) -> Vec<(Ticket, Option<Request>)> {
        self.queues.clear();
        self.ready.clear();
        let mut all: Vec<_> =
            self.waiting.drain().map(|(ticket, waiting)| (ticket, waiting.request)).collect();
        all.sort_unstable_by_key(|(ticket, _)| *ticket);
        all
    }
}

#[cfg(test)]
mod tests {
    use causeway_switch::driver::{EntryKey, Update};
    use proptest::prelude::*;

    use super::*;

    fn write(tables: &[u32]) -> Request {
        let key = |table: &u32| EntryKey { table: *table, fields: Vec::new(), priority: 0 };
        Request::Write(tables.iter().map(|table| Update::Delete(key(table))).collect())
    }

    fn handed_out(order: &mut Order) -> Vec<u64> {
        std::iter::from_fn(|| order.next()).map(|(ticket, _)| ticket.0).collect()
    }

    // Input:  writes of tables 1, 1 and 2, 2, 3, and a frame.
    // Output: those that share no resource with earlier ones are sent immediately; the others when those have ended.
    #[test]
    fn the_same_table_waits() {
        let mut order = Order::default();
        for (ticket, tables) in [(0, &[1][..]), (1, &[1, 2]), (2, &[2]), (3, &[3])] {
            order.add(Ticket(ticket), write(tables));
        }
        order.add(Ticket(4), Request::PacketOut(Vec::new()));
        assert_eq!(handed_out(&mut order), [0, 3, 4]);
        order.finish(Ticket(3));
        assert_eq!(handed_out(&mut order), [0; 0]);
        order.finish(Ticket(0));
        assert_eq!(handed_out(&mut order), [1]);
        let given_up = order.clear().into_iter().map(|(ticket, request)| (ticket.0, request.is_some()));
        assert_eq!(given_up.collect::<Vec<_>>(), [(1, false), (2, true), (4, false)]);
    }

    proptest! {
        // Input:  many requests for few tables, which end in any order.
        // Output: each is carried out once; no two concurrent ones use the same table, and those for the same table
        //         keep their order.
        #[test]
        fn nothing_is_lost_and_nothing_overtakes(
            requests in prop::collection::vec(prop::collection::vec(0_u32..5, 0..4), 1..60), seed: u64,
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut order = Order::default();
            let mut under_way: Vec<u64> = Vec::new();
            let mut begun: Vec<u64> = Vec::new();
            let mut added = 0;
            while begun.len() < requests.len() || !under_way.is_empty() {
                if added < requests.len() && random.bool() {
                    order.add(Ticket(added as u64), write(&requests[added]));
                    added += 1;
                }
                for ticket in handed_out(&mut order) {
                    let tables = &requests[ticket as usize];
                    let is_free = under_way.iter().all(|other| {
                        requests[*other as usize].iter().all(|table| !tables.contains(table))
                    });
                    let is_first = (0..ticket).all(|other| {
                        begun.contains(&other) || requests[other as usize].iter().all(|table| !tables.contains(table))
                    });
                    prop_assert!(is_free && is_first, "{} too early", ticket);
                    under_way.push(ticket);
                    begun.push(ticket);
                }
                if !under_way.is_empty() && random.bool() {
                    let ended = under_way.swap_remove(random.usize(0..under_way.len()));
                    order.finish(Ticket(ended));
                }
            }
            prop_assert!(order.clear().is_empty());
        }
    }
}
