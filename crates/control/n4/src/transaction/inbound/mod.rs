//! The inbound transaction table: each request is handled once, a duplicate gets the same response (TS 29.244 clause
//! 6.4).

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use causeway_collections::HashIndex;
use causeway_pfcp::{Header, MessageType, request_digest};
use causeway_types::{Span, Time};

use super::hosts::HostTable;
use super::response_cache::{ResponseCache, ResponseRef};
use crate::slab::Slab;

/// The identity of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestKey {
    /// Its source, port included.
    pub(crate) from: SocketAddr,
    /// Its sequence number.
    pub(crate) sequence: u32,
    /// Its message type.
    pub(crate) message: MessageType,
    /// A hash of its contents: a restarted peer may reuse sequence numbers for other requests.
    digest: u64,
    /// The restart epoch of its sender: the same octets in another epoch are another request.
    pub(crate) epoch: u32,
    /// Its index from [`Inbound::begin`] on.
    hint: IndexHint,
}

/// A hint of the index. It does not distinguish requests.
#[derive(Clone, Copy, Debug)]
struct IndexHint(u32);

impl PartialEq for IndexHint {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for IndexHint {}

impl Hash for RequestKey {
    /// Number and contents distinguish it from nearly all others.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.sequence);
        state.write_u64(self.digest);
    }
}

impl RequestKey {
    /// The identity of a request with this header and body.
    pub(crate) fn new(from: SocketAddr, message: MessageType, header: &Header, body: &[u8]) -> Self {
        let digest = request_digest(header.seid, body);
        Self { from, sequence: header.sequence, message, digest, epoch: 0, hint: IndexHint(u32::MAX) }
    }

    /// The identity of a request that another member of a chain has received.
    pub(crate) const fn restored(from: SocketAddr, sequence: u32, message: MessageType, digest: u64) -> Self {
        Self { from, sequence, message, digest, epoch: 0, hint: IndexHint(u32::MAX) }
    }

    /// The hash of its contents.
    pub(crate) const fn digest(&self) -> u64 {
        self.digest
    }

    /// The same in another restart epoch of its sender.
    pub(crate) const fn in_epoch(self, epoch: u32) -> Self {
        Self { epoch, ..self }
    }

    /// The same request, whatever its source.
    pub(crate) fn is_same_request(&self, other: &Self) -> bool {
        Self { from: other.from, ..*self } == *other
    }
}

/// The state of a received request.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum RequestState<'a> {
    /// New.
    New,
    /// In progress; its response will follow.
    InProgress,
    /// Answered: send this response again.
    Answered(&'a [u8]),
}

/// The most cached responses that expire in one step, and for each received request.
const EXPIRY_BATCH: usize = 256;
const EXPIRY_PER_REQUEST: usize = 4;

/// Octets of memory of an answered request, beside its response: the request, its index, its expiry.
const OF_REQUEST: usize = size_of::<Option<Request>>() + size_of::<(Time, u32)>() + 16;

/// Responses of one host that are discarded before the host with the most is determined again.
const OF_FULLEST: usize = 64;

/// Requests in progress and cached responses, separate for each host, so that no peer evicts another's.
#[derive(Debug)]
pub(crate) struct Inbound {
    hosts: HostTable<Host>,
    lifetime: Span,
    bounds: Bounds,
    /// Octets of memory of all cached responses.
    octets: usize,
    /// The number of changes of the epochs.
    epoch_changes: u64,
    /// The number of the last epoch.
    last_epoch: u32,
    /// The current and the previous epoch of each host that restarted.
    epochs: BTreeMap<IpAddr, [u32; 2]>,
}

/// Limits of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Hosts. A new one evicts the one with the least state.
    pub(crate) hosts: usize,
    /// Octets of the responses to one host. A new response evicts the oldest.
    pub(crate) octets_per_host: usize,
    /// Octets of memory of all responses and their requests. A new response evicts the oldest ones of the host with the
    /// most.
    pub(crate) octets: usize,
    /// Requests in progress of one host.
    pub(crate) in_progress_per_host: usize,
}

#[derive(Debug, Default)]
struct Host {
    requests: Slab<Request>,
    /// Index of the requests.
    places: HashIndex,
    /// The answered ones, oldest first, with their expiry.
    order: VecDeque<(Time, u32)>,
    answers: ResponseCache,
    /// Responses in chunks before this one are void, although still stored: the first ones of `order`.
    valid_from: u32,
    void: usize,
}

#[derive(Debug)]
struct Request {
    key: RequestKey,
    /// `None` while in progress.
    answer: Option<ResponseRef>,
}

impl Host {
    #[inline]
    fn index_of(&self, key: &RequestKey) -> Option<u32> {
        let is_valid = |answer: ResponseRef| !answer.is_before(self.valid_from);
        let is_its = |request: &Request| request.key == *key && request.answer.is_none_or(is_valid);
        let is_it = |index| self.requests.get(index).is_some_and(is_its);
        let IndexHint(hint) = key.hint;
        if is_it(hint) { Some(hint) } else { self.places.find(key, is_it) }
    }

    fn look_up(&self, key: &RequestKey) -> RequestState<'_> {
        let request = self.index_of(key).and_then(|index| self.requests.get(index));
        match request.map(|request| request.answer) {
            None => RequestState::New,
            Some(answer) => answer
                .and_then(|it| self.answers.get(it))
                .map_or(RequestState::InProgress, RequestState::Answered),
        }
    }

    fn in_progress(&self) -> usize {
        self.requests.len() - self.order.len()
    }

    /// Octets of memory of its responses.
    fn octets(&self) -> usize {
        self.answers.octets() + self.order.len() * OF_REQUEST
    }

    fn is_empty(&self) -> bool {
        self.requests.len() == 0
    }

    /// The number of requests, including those in progress.
    fn known(&self) -> usize {
        self.requests.len() - self.void
    }

    #[inline]
    fn begin(&mut self, key: &mut RequestKey) {
        let index = self.requests.insert(Request { key: *key, answer: None });
        self.places.insert(*key, index);
        key.hint = IndexHint(index);
    }

    fn remove(&mut self, index: u32) {
        let Some(request) = self.requests.remove(index) else { return };
        self.places.remove(request.key, index);
        request.answer.into_iter().for_each(|answer| self.answers.forget(answer));
    }

    fn forget_oldest(&mut self) {
        if let Some((_, index)) = self.order.pop_front() {
            self.remove(index);
            self.void = self.void.saturating_sub(1);
        }
    }

    /// Frees the memory of up to this number of void responses.
    fn forget_void(&mut self, most: usize) {
        (0..self.void.min(most)).for_each(|_| self.forget_oldest());
    }
}

impl Inbound {
    /// Caches responses for `lifetime`.
    pub(crate) fn new(lifetime: Span, bounds: Bounds) -> Self {
        Self {
            hosts: HostTable::default(),
            lifetime,
            bounds,
            octets: 0,
            epoch_changes: 0,
            last_epoch: 0,
            epochs: BTreeMap::new(),
        }
    }

    /// The state of this request.
    pub(crate) fn look_up(&self, key: &RequestKey) -> RequestState<'_> {
        self.hosts.get(key.from.ip()).map_or(RequestState::New, |host| host.look_up(key))
    }

    /// The restart epoch of a host. Few hosts have restarted.
    #[inline]
    pub(crate) fn epoch(&self, ip: IpAddr) -> u32 {
        self.epochs.get(&ip).map_or(0, |[epoch, _]| *epoch)
    }

    /// Begins a new restart epoch of these hosts. Returns its number, which is higher than all before.
    pub(crate) fn begin_epoch(&mut self, hosts: &[IpAddr]) -> u32 {
        self.last_epoch = self.last_epoch.saturating_add(1);
        self.epoch_changes += 1;
        for ip in hosts {
            let before = self.epoch(*ip);
            self.epochs.insert(*ip, [self.last_epoch, before]);
        }
        self.last_epoch
    }

    /// Cancels the last epoch of these hosts: no restart was confirmed.
    pub(crate) fn cancel_epoch(&mut self, hosts: &[IpAddr]) {
        self.epoch_changes += 1;
        for host in hosts {
            if let Some([epoch, before]) = self.epochs.get_mut(host) {
                *epoch = *before;
            }
        }
    }

    /// Has the epochs of another part.
    pub(crate) fn follow_epochs(&mut self, other: &Self) {
        if self.epoch_changes != other.epoch_changes {
            self.epochs.clone_from(&other.epochs);
            (self.last_epoch, self.epoch_changes) = (other.last_epoch, other.epoch_changes);
        }
    }

    /// Removes the epochs of these hosts: no peer uses them any more.
    pub(crate) fn forget_epochs(&mut self, hosts: &[IpAddr]) {
        self.epoch_changes += 1;
        for host in hosts {
            self.epochs.remove(host);
        }
    }

    /// The number of hosts with a restart epoch.
    pub(crate) fn restarted_hosts(&self) -> usize {
        self.epochs.len()
    }

    /// Begins a request that is [`RequestState::New`]. It ends with [`Inbound::answer`] or [`Inbound::forget`]. False:
    /// too many are in progress.
    #[must_use]
    #[inline]
    pub(crate) fn begin(&mut self, key: &mut RequestKey) -> bool {
        let ip = key.from.ip();
        if let Some(host) = self.hosts.get_mut(ip) {
            let has_room = host.in_progress() < self.bounds.in_progress_per_host;
            if has_room {
                if host.void > 0 {
                    let before = host.octets();
                    host.forget_void(EXPIRY_PER_REQUEST);
                    self.octets -= before - host.octets();
                }
                host.begin(key);
            }
            return has_room;
        }
        let has_room = self.bounds.in_progress_per_host > 0 && self.make_room();
        if has_room {
            let mut host = Host::default();
            host.begin(key);
            self.hosts.insert(ip, host);
        }
        has_room
    }

    /// Caches the response to a request in progress, and evicts the oldest ones if necessary.
    #[inline]
    pub(crate) fn answer(&mut self, now: Time, key: RequestKey, bytes: &[u8]) {
        let Some(host) = self.hosts.get_mut(key.from.ip()) else { return };
        let Some(index) = host.index_of(&key) else { return };
        let Some(Request { answer: answer @ None, .. }) = host.requests.get_mut(index) else { return };
        *answer = Some(host.answers.put(bytes));
        host.order.push_back((now + self.lifetime, index));
        self.octets += bytes.len() + OF_REQUEST;
        if host.answers.octets() > self.bounds.octets_per_host {
            let before = host.octets();
            while host.answers.octets() > self.bounds.octets_per_host {
                host.forget_oldest();
            }
            self.octets -= before - host.octets();
        }
        if self.octets > self.bounds.octets {
            self.forget_most();
        }
    }

    /// Discards the oldest responses of the host with the most, some at a time, until the total is within its limit.
    #[cold]
    fn forget_most(&mut self) {
        while self.octets > self.bounds.octets {
            let fullest = self.hosts.iter_mut().max_by_key(|(_, host)| host.octets());
            let Some((_, host)) = fullest else { return };
            let before = host.octets();
            for _ in 0..OF_FULLEST.min(host.order.len()) {
                host.forget_oldest();
            }
            if host.octets() == before {
                return;
            }
            self.octets -= before - host.octets();
        }
    }

    /// Ends a request without a response: a duplicate will be new.
    pub(crate) fn forget(&mut self, key: &RequestKey) {
        if let Some(host) = self.hosts.get_mut(key.from.ip())
            && let Some(index) = host.index_of(key)
            && host.requests.get(index).is_some_and(|request| request.answer.is_none())
        {
            host.remove(index);
            self.drop_empty(key.from.ip());
        }
    }

    /// Makes the cached responses to a host void.
    pub(crate) fn forget_answers(&mut self, ip: IpAddr) {
        if let Some(host) = self.hosts.get_mut(ip) {
            let before = host.octets();
            host.void = host.order.len();
            host.valid_from = host.answers.next_piece();
            host.forget_void(EXPIRY_BATCH);
            self.octets -= before - host.octets();
        }
        self.drop_empty(ip);
    }

    /// When the oldest response expires.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.hosts.iter().filter_map(|(_, host)| host.order.front()).map(|(expiry, _)| *expiry).min()
    }

    /// Discards expired responses, a few of each host at a time; [`Inbound::next_deadline`] shows whether there are
    /// more.
    pub(crate) fn expire(&mut self, now: Time) {
        let mut empty = Vec::new();
        for (ip, host) in self.hosts.iter_mut() {
            let before = host.octets();
            for _ in 0..EXPIRY_BATCH {
                if host.order.front().is_none_or(|(expiry, _)| *expiry > now) {
                    break;
                }
                host.forget_oldest();
            }
            self.octets -= before - host.octets();
            if host.is_empty() {
                empty.push(ip);
            }
        }
        for ip in empty {
            self.hosts.remove(ip);
        }
    }

    /// The highest number of requests in progress of one host. O(hosts).
    pub(crate) fn most_in_progress(&self) -> usize {
        self.hosts.iter().map(|(_, host)| host.in_progress()).max().unwrap_or(0)
    }

    /// The number of requests, including those in progress.
    pub(crate) fn len(&self) -> usize {
        self.hosts.iter().map(|(_, host)| host.known()).sum()
    }

    /// Evicts a host if there are too many: the one with the fewest responses among those without a request in
    /// progress.
    fn make_room(&mut self) -> bool {
        if self.hosts.len() < self.bounds.hosts {
            return true;
        }
        let idle = self.hosts.iter().filter(|(_, host)| host.in_progress() == 0);
        let least = idle.min_by_key(|(ip, host)| (host.requests.len(), *ip)).map(|(ip, _)| ip);
        let removed = least.and_then(|ip| self.hosts.remove(ip));
        self.octets -= removed.as_ref().map_or(0, Host::octets);
        removed.is_some()
    }

    fn drop_empty(&mut self, ip: IpAddr) {
        if self.hosts.get(ip).is_some_and(Host::is_empty) {
            self.hosts.remove(ip);
        }
    }
}

#[cfg(test)]
mod tests;
