//! Memory regions and their protection (IBA clause 10.6).

use std::collections::BTreeMap;
use std::ops::Range;

use causeway_packet::roce::{NakCode, Rkey};

use crate::Place;
use crate::contract::WORD;

bitflags::bitflags! {
    /// What a remote key permits (IBA clause 10.6.3).
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct Rights: u8 {
        /// RDMA READ.
        const READ = 1;
        /// RDMA WRITE.
        const WRITE = 2;
        /// Atomic operations.
        const ATOMIC = 4;
    }
}

/// A region of memory: `length` octets from a virtual address on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// Virtual address of the first octet.
    base: u64,
    /// What its key permits.
    rights: Rights,
    octets: Vec<u8>,
}

impl Region {
    /// A region of zeroes. `None` if its end is beyond the last address.
    pub fn new(base: u64, length: usize, rights: Rights) -> Option<Self> {
        base.checked_add(u64::try_from(length).ok()?)?;
        Some(Self { base, rights, octets: vec![0; length] })
    }

    /// Virtual address of the first octet.
    pub const fn base(&self) -> u64 {
        self.base
    }

    /// What its key permits.
    pub const fn rights(&self) -> Rights {
        self.rights
    }

    /// The memory.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }
}

/// The regions of a responder by their remote keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Regions {
    regions: BTreeMap<Rkey, Region>,
}

impl Regions {
    /// No region.
    pub const fn new() -> Self {
        Self { regions: BTreeMap::new() }
    }

    /// Adds a region; returns the one that had the key.
    pub fn insert(&mut self, rkey: Rkey, region: Region) -> Option<Region> {
        self.regions.insert(rkey, region)
    }

    /// The region of a key.
    pub fn get(&self, rkey: Rkey) -> Option<&Region> {
        self.regions.get(&rkey)
    }

    /// All regions.
    pub fn iter(&self) -> impl Iterator<Item = (Rkey, &Region)> {
        self.regions.iter().map(|(rkey, region)| (*rkey, region))
    }

    /// The memory of a key, to change.
    pub(crate) fn octets_mut(&mut self, rkey: Rkey) -> Option<&mut [u8]> {
        self.regions.get_mut(&rkey).map(|region| region.octets.as_mut_slice())
    }

    /// Sets all memory to zero.
    pub(crate) fn clear(&mut self) {
        self.regions.values_mut().for_each(|region| region.octets.fill(0));
    }

    /// Checks an access. Key, range and right are not checked for an access to no octets (IBA clause 9.7.4).
    ///
    /// # Errors
    /// [`NakCode::RemoteAccessError`].
    pub(crate) fn check(&self, place: Place, length: usize, right: Rights) -> Result<(), NakCode> {
        if length == 0 { Ok(()) } else { self.range(place, length, right).map(|_| ()) }
    }

    fn range(&self, place: Place, length: usize, right: Rights) -> Result<Range<usize>, NakCode> {
        let region = self.regions.get(&place.rkey).filter(|region| region.rights.contains(right));
        let region = region.ok_or(NakCode::RemoteAccessError)?;
        let start = place.address.checked_sub(region.base).and_then(|start| usize::try_from(start).ok());
        let range = start.and_then(|start| Some(start..start.checked_add(length)?));
        range.filter(|range| range.end <= region.octets.len()).ok_or(NakCode::RemoteAccessError)
    }

    /// The octets of a read; none for a read of no octets.
    pub(crate) fn read(&self, place: Place, length: usize) -> Result<&[u8], NakCode> {
        if length == 0 {
            return Ok(&[]);
        }
        let range = self.range(place, length, Rights::READ)?;
        let octets = self.regions.get(&place.rkey).and_then(|region| region.octets.get(range));
        octets.ok_or(NakCode::RemoteAccessError)
    }

    pub(crate) fn write(&mut self, place: Place, data: &[u8]) -> Result<(), NakCode> {
        if data.is_empty() {
            return Ok(());
        }
        let range = self.range(place, data.len(), Rights::WRITE)?;
        let region = self.regions.get_mut(&place.rkey);
        let octets = region.and_then(|region| region.octets.get_mut(range));
        octets.ok_or(NakCode::RemoteAccessError)?.copy_from_slice(data);
        Ok(())
    }

    /// Replaces a word by what `change` makes of it; returns the value before.
    ///
    /// # Errors
    /// [`NakCode::InvalidRequest`] if the address is no multiple of 8 (IBA clause 9.4.5), or [`NakCode::RemoteAccessError`].
    pub(crate) fn atomic(&mut self, place: Place, change: impl FnOnce(u64) -> u64) -> Result<u64, NakCode> {
        if !place.address.is_multiple_of(WORD as u64) {
            return Err(NakCode::InvalidRequest);
        }
        let range = self.range(place, WORD, Rights::ATOMIC)?;
        let region = self.regions.get_mut(&place.rkey);
        let octets = region.and_then(|region| region.octets.get_mut(range));
        let word =
            octets.and_then(|octets| octets.first_chunk_mut::<WORD>()).ok_or(NakCode::RemoteAccessError)?;
        let before = u64::from_le_bytes(*word);
        *word = change(before).to_le_bytes();
        Ok(before)
    }
}
