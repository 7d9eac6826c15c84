//! The sessions that have the keys of the directory: which worker, how many, and which nets of UEs overlap.

use causeway_collections::PartitionedMap;
use causeway_dataplane::ApplyError;

use super::super::directory::{ALL_WORKERS, Key, Writer};
use super::super::session_keys::SessionKey;
use super::NamedKey;
use super::ue_nets::UeNets;

/// The holders of all keys, with the writer of the directory. It begins a cache line: what is in front of it in memory is read by all parts, while
/// one writes here.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct KeyHolders {
    writer: Writer,
    /// The number of sessions that have a key of the directory, beside the first one.
    further: PartitionedMap<Key, usize>,
    ue_nets: UeNets,
}

impl KeyHolders {
    /// No session has a key yet.
    pub(super) fn new(writer: Writer) -> Self {
        Self { writer, further: PartitionedMap::default(), ue_nets: UeNets::default() }
    }

    /// No session has a key.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.writer.is_empty() && self.further.is_empty() && self.ue_nets.is_empty()
    }

    /// The error when a key has no place.
    pub(super) fn full(&self) -> ApplyError {
        ApplyError::Full { table: "directory of the workers", capacity: self.writer.capacity() as u64 }
    }

    /// Calls `see` with the workers to which this key binds a session. Sessions of several workers may send to one tunnel.
    pub(super) fn visit(&self, key: &NamedKey, mut see: impl FnMut(usize)) {
        let directory = self.writer.directory();
        let mut see =
            |name| directory.owner(name).filter(|owner| *owner != ALL_WORKERS).into_iter().for_each(&mut see);
        match key.key {
            SessionKey::Tunnel(..) => see(key.name),
            SessionKey::Ue(net) => {
                see(key.name);
                let overlapping = self.ue_nets.around(net).chain(self.ue_nets.inside(net));
                overlapping.for_each(|net| see(directory.ue(net)));
            }
            SessionKey::Remote(..) => {}
        }
    }

    /// Adds a session of a worker to these keys. `false`: the directory is full, and nothing has changed.
    pub(super) fn claim(&mut self, worker: usize, keys: &[NamedKey]) -> bool {
        for (at, NamedKey { name, key }) in keys.iter().enumerate() {
            match (self.writer.claim(*name, worker), key) {
                (Some(true), SessionKey::Ue(net)) => {
                    if self.ue_nets.insert(*net) {
                        self.writer.has_prefixes(net.addr().is_ipv4(), net.prefix_len(), true);
                    }
                }
                (Some(true), _) => {}
                (Some(false), _) => *self.further.get_or_insert_with(*name, || 0) += 1,
                (None, _) => {
                    self.release(keys.get(..at).unwrap_or_default());
                    return false;
                }
            }
        }
        true
    }

    /// Removes a session from these keys.
    pub(super) fn release(&mut self, keys: &[NamedKey]) {
        for NamedKey { name, key } in keys {
            if self.has_further(*name) || !self.writer.remove(*name) {
                continue;
            }
            if let SessionKey::Ue(net) = key
                && self.ue_nets.remove(*net)
            {
                self.writer.has_prefixes(net.addr().is_ipv4(), net.prefix_len(), false);
            }
        }
    }

    /// Another session has the key; this removes one.
    fn has_further(&mut self, name: Key) -> bool {
        if self.further.is_empty() {
            return false;
        }
        let Some(further) = self.further.get_mut(&name) else { return false };
        *further -= 1;
        if *further == 0 {
            self.further.remove(&name);
        }
        true
    }
}
