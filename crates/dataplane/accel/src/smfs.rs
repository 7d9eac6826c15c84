//! The associated SMFs, as N4 tells the data plane.

use std::net::Ipv4Addr;

use causeway_types::NtpSeconds;

/// An associated SMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Smf {
    /// Its only host, from which its requests come, and the address of its CP F-SEIDs.
    pub(crate) host: Ipv4Addr,
    /// Its Node ID.
    pub(crate) node: Ipv4Addr,
    /// Unique for ever: another one after each restart.
    pub(crate) generation: u32,
    /// It may establish sessions.
    pub(crate) is_open: bool,
    /// Its Recovery Time Stamp, if it is known.
    pub(crate) recovery: Option<NtpSeconds>,
    /// Its live sessions.
    pub(crate) sessions: u32,
    /// Messages that N4 reads before any later one of the SMF.
    pub(crate) held: u32,
}

/// The table of associated SMFs is full, so this one is served by N4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmfsFull;

/// The table. Few: a host is found by comparing all.
#[derive(Clone, Debug)]
pub(crate) struct Smfs {
    all: Vec<Smf>,
    most: usize,
    last_generation: u32,
    /// Hosts that are associated, and not in the table.
    pub(crate) others: bool,
}

impl Smfs {
    pub(crate) fn new(most: usize) -> Self {
        Self { all: Vec::with_capacity(most), most, last_generation: 0, others: false }
    }

    pub(crate) fn by_host(&self, host: Ipv4Addr) -> Option<&Smf> {
        self.all.iter().find(|smf| smf.host == host)
    }

    /// The SMF of this generation, if it has not restarted since.
    pub(crate) fn of_generation(&self, generation: u32) -> Option<&Smf> {
        self.all.iter().find(|smf| smf.generation == generation)
    }

    fn next_generation(&mut self) -> u32 {
        self.last_generation += 1;
        self.last_generation
    }

    /// An SMF of this node and host is associated. One that was already keeps its sessions.
    pub(crate) fn associate(&mut self, host: Ipv4Addr, node: Ipv4Addr) -> Result<(), SmfsFull> {
        if self.by_host(host).is_some_and(|smf| smf.node == node) {
            return Ok(());
        }
        self.release(host);
        if self.all.len() == self.most {
            return Err(SmfsFull);
        }
        let generation = self.next_generation();
        self.all.push(Smf { host, node, generation, is_open: true, recovery: None, sessions: 0, held: 0 });
        Ok(())
    }

    pub(crate) fn release(&mut self, host: Ipv4Addr) {
        self.all.retain(|smf| smf.host != host);
    }

    /// The SMF has lost its sessions.
    pub(crate) fn restart(&mut self, host: Ipv4Addr) {
        let generation = self.next_generation();
        if let Some(smf) = self.all.iter_mut().find(|smf| smf.host == host) {
            (smf.generation, smf.sessions) = (generation, 0);
        }
    }

    /// An SMF of this generation has one session more or less.
    pub(crate) fn count(&mut self, generation: u32, more: i32) {
        if let Some(smf) = self.all.iter_mut().find(|smf| smf.generation == generation) {
            smf.sessions = smf.sessions.saturating_add_signed(more);
        }
    }

    /// N4 has one message more or less to read before others.
    pub(crate) fn hold(&mut self, host: Ipv4Addr, more: i32) -> bool {
        let smf = self.all.iter_mut().find(|smf| smf.host == host);
        smf.map(|smf| smf.held = smf.held.saturating_add_signed(more)).is_some()
    }

    pub(crate) fn set_recovery(&mut self, host: Ipv4Addr, recovery: NtpSeconds) {
        if let Some(smf) = self.all.iter_mut().find(|smf| smf.host == host) {
            smf.recovery = Some(recovery);
        }
    }

    pub(crate) fn set_open(&mut self, host: Ipv4Addr, is_open: bool) {
        if let Some(smf) = self.all.iter_mut().find(|smf| smf.host == host) {
            smf.is_open = is_open;
        }
    }
}
