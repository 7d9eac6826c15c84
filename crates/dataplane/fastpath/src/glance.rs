//! Plain packets that are dropped at a glance: what floods are made of. They are to cost no more than packets that are sent on.
//!
//! What is dropped here, and why, is what [`crate::batch`] would come to by more questions, in the order in which the reference asks
//! them. Whatever is not as simple is left to it.

use std::net::Ipv4Addr;

use causeway_dataplane::DropReason;
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::Time;

use crate::choose::UPLINK;
use crate::engine::FastPath;
use crate::forward::hops_left;
use crate::plain::{Fork, Plain, Plains, flaw, unknown};
use crate::refusal::Mute;
use crate::surroundings::Exit;

/// No router may cut a packet with this bit into fragments.
const DO_NOT_FRAGMENT: u16 = 0x4000;

/// Up to here what a course has room for is what its way has.
const LARGEST: u32 = 65_000;

/// What is the same for all packets of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Glance {
    now: Time,
    /// Lines are where packets look for them, or nowhere.
    are_near: bool,
}

impl Glance {
    pub(crate) fn of<const WAY: bool>(engine: &FastPath, now: Time) -> Self {
        let table = &engine.table;
        let are_near = if WAY == UPLINK { !table.has_far_tunnels() } else { !table.has_far_addresses() };
        Self { now, are_near }
    }

    /// Which way a packet goes that its line has not sent on. `course`: it is for this one.
    #[inline(always)]
    pub(crate) fn fork<const WAY: bool>(
        self,
        engine: &mut FastPath,
        (batch, plains): (&Batch, &Plains),
        (index, course): (usize, Option<u32>),
        mute: &mut Mute,
    ) -> Fork {
        let at = index % BATCH;
        if let Some(course) = course {
            let dropped = self.refuse::<WAY>(engine, (batch, plains), (index, course), mute);
            return dropped.map_or(Fork::Course(course), Fork::Drop);
        }
        let fork = plains.forks[at];
        if fork != Fork::Sought || !self.are_near {
            return fork;
        }
        let id = u64::from(plains.places[at]) << 32 | u64::from(plains.keys[at]);
        let is_muted = match batch.meta(index) {
            Some(Meta::Gtpu { peer, .. }) if WAY == UPLINK => {
                mute.is(peer.ip()) || engine.silence.is_on(peer.ip(), self.now)
            }
            _ => false,
        };
        if engine.table.line(plains.lines[at]).is_some_and(|line| line.id() == id) {
            return match engine.choose_otherwise::<WAY>(&plains.at(at)) {
                Some(Fork::Strange) if is_muted => Fork::Drop(DropReason::UnsupportedExtension),
                chosen => chosen.unwrap_or(fork),
            };
        }
        if WAY != UPLINK {
            let is_unknown = engine.is_for_nobody::<WAY>((batch, plains), index);
            return if is_unknown { Fork::Drop(DropReason::UnknownUe) } else { Fork::Ask };
        }
        let is_dropped = plains.keys[at] == 0
            || is_muted && engine.table.is_complete() && engine.is_for_nobody::<WAY>((batch, plains), index);
        if is_dropped { Fork::Drop(unknown(plains.flaws[at] as u8)) } else { Fork::Unknown }
    }

    /// Why a packet is dropped by its course: its checksum is wrong, it has no hop to lose, or it is too large. `None`: it is not, or not at a glance.
    #[inline(always)]
    fn refuse<const WAY: bool>(
        self,
        engine: &mut FastPath,
        (batch, plains): (&Batch, &Plains),
        (index, number): (usize, u32),
        mute: &mut Mute,
    ) -> Option<DropReason> {
        let at = index % BATCH;
        let course = engine.programs.course(number).filter(|course| !course.reports_drops)?;
        if WAY == UPLINK
            && course.is_tunnel
            && batch.meta(index).is_some_and(|meta| hops_left(meta).is_none())
        {
            return None;
        }
        let minds = plains.flaws[at] as u8 & course.minds;
        if minds & (flaw::LINK | flaw::CARRIES) != 0 {
            return None;
        }
        if minds & flaw::OURS != 0
            && let Exit::Network(network) = course.exit
            && let Some(reason) = engine.closes(network, &plains.at(at))
        {
            let course = engine.programs.course(number)?;
            let account = &mut engine.table.line_mut(plains.lines[at])?.account;
            return account.pass_over(course, plains.lens[at], self.now.as_nanos()).map(|()| reason);
        }
        let is_too_large = plains.lens[at] > course.room && course.room <= LARGEST;
        let reason = if minds & flaw::DAMAGED != 0 {
            DropReason::MalformedIp
        } else if minds & flaw::LAST_HOP != 0 || is_too_large && minds & flaw::CONGESTED == 0 {
            let is_last = minds & flaw::LAST_HOP != 0;
            let fragment = fragment_of((batch, plains), index);
            if !is_last && fragment & DO_NOT_FRAGMENT == 0 {
                return None;
            }
            if minds & flaw::OURS != 0 && engine.surroundings.is_with_gateway(&plains.at(at)) {
                return None;
            }
            if hears_of_it::<WAY>(plains, (index, fragment))
                && engine.may_tell(self.now, plains.source::<WAY>(at), mute)
            {
                return None;
            }
            if is_last { DropReason::TtlExpired } else { DropReason::MtuExceeded }
        } else {
            return None;
        };
        let course = engine.programs.course(number)?;
        let account = &mut engine.table.line_mut(plains.lines[at])?.account;
        account.pass_over(course, plains.lens[at], self.now.as_nanos()).map(|()| reason)
    }
}

impl FastPath {
    /// Why a packet may not leave to a data network.
    #[inline(never)]
    fn closes(&self, network: u16, plain: &Plain) -> Option<DropReason> {
        let far = Ipv4Addr::from_bits(plain.gist.remote()).into();
        self.surroundings.egress_drop_reason(network, far, plain.gist.protocol())
    }
}

/// What the header of a packet says of fragments.
#[inline(always)]
fn fragment_of((batch, plains): (&Batch, &Plains), index: usize) -> u16 {
    let offset = plains.starts[index % BATCH] as usize + 6;
    let field = batch.data(index).and_then(|frame| frame.get(offset..)?.first_chunk());
    field.map_or(0, |field| u16::from_be_bytes(*field))
}

/// The sender of an IPv4 packet may hear of an error that it leads to, as far as its ends and its place in a larger packet say: no ICMP
/// errors are for groups, nor for what is no host (RFC 1122 clause 3.2.2).
#[inline(always)]
fn hears_of_it<const WAY: bool>(plains: &Plains, (index, fragment): (usize, u16)) -> bool {
    let at = index % BATCH;
    let (source, target) = match WAY {
        UPLINK => (plains.locals[at], plains.remotes[at]),
        _ => (plains.remotes[at], plains.locals[at]),
    };
    let is_host = |address: u32| !matches!(address >> 24, 127 | 224..);
    let is_group = target >> 28 == 0xe || target == u32::MAX;
    let is_later = fragment & 0x1fff != 0;
    source != 0 && is_host(source) && !is_group && !is_later
}
