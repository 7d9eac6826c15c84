//! Plain packets that are dropped at a glance: what floods are made of. They are to cost no more than packets that are sent on.
//!
//! What is dropped here, and why, is what [`crate::batch`] would come to by more questions, in the order in which the reference asks
//! them. Whatever is not as simple is left to it.

use causeway_dataplane::DropReason;
use causeway_ports::{BATCH, Batch, Meta};
use causeway_types::Time;

use crate::choose::UPLINK;
use crate::engine::FastPath;
use crate::plain::{Fork, Plains, flaw};
use crate::refusal::Mute;

/// What is the same for all packets of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Glance {
    now: Time,
    /// Lines are where packets look for them, or nowhere.
    are_near: bool,
    /// A tunnel that no line has is nobody's.
    has_all: bool,
}

impl Glance {
    pub(crate) fn of<const WAY: bool>(engine: &FastPath, now: Time) -> Self {
        let table = &engine.table;
        let are_near = if WAY == UPLINK { !table.has_far_tunnels() } else { !table.has_far_addresses() };
        Self { now, are_near, has_all: table.is_complete() && engine.resting.len() == 0 }
    }

    /// Which way a packet goes that its line has not sent on. `course`: it is for this one.
    #[inline(always)]
    pub(crate) fn fork<const WAY: bool>(
        self,
        engine: &mut FastPath,
        (batch, plains): (&Batch, &Plains),
        (index, course): (usize, Option<u32>),
        mute: &Mute,
    ) -> Fork {
        let at = index % BATCH;
        if let Some(course) = course {
            return self.refuse::<WAY>(engine, (plains, at), course).map_or(Fork::Course(course), Fork::Drop);
        }
        let fork = plains.forks[at];
        if fork != Fork::Sought || !self.are_near {
            return fork;
        }
        let id = u64::from(plains.places[at]) << 32 | u64::from(plains.keys[at]);
        if engine.table.line(plains.lines[at]).is_some_and(|line| line.id() == id) {
            return engine.choose_otherwise::<WAY>(&plains.at(at)).unwrap_or(fork);
        }
        let is_silent = |peer| plains.keys[at] == 0 || self.has_all && mute.is(peer);
        match batch.meta(index) {
            Some(Meta::Gtpu { peer, .. }) if WAY == UPLINK && is_silent(peer.ip()) => {
                Fork::Drop(DropReason::UnknownTeid)
            }
            _ => Fork::Unknown,
        }
    }

    /// Why a packet is dropped by its course: its checksum is wrong, or it has no hop to lose. `None`: it is not, or not at a glance.
    #[inline(always)]
    fn refuse<const WAY: bool>(
        self,
        engine: &mut FastPath,
        (plains, at): (&Plains, usize),
        course: u32,
    ) -> Option<DropReason> {
        let FastPath { table, programs, surroundings, slow, .. } = engine;
        let course = programs.course(course).filter(|course| !course.reports_drops)?;
        let minds = plains.flaws[at] as u8 & course.minds;
        if minds & (flaw::LINK | flaw::CARRIES) != 0 {
            return None;
        }
        let reason = if minds & flaw::DAMAGED != 0 {
            DropReason::MalformedIp
        } else if minds & flaw::LAST_HOP != 0 {
            let is_ours = minds & flaw::OURS != 0 && surroundings.has_gateway_of(&plains.at(at));
            let source = plains.source::<WAY>(at);
            if is_ours || surroundings.has_gateway_for(false) && slow.may_tell_sender(source, self.now) {
                return None;
            }
            DropReason::TtlExpired
        } else {
            return None;
        };
        let account = &mut table.line_mut(plains.lines[at])?.account;
        account.pass_over(course, plains.lens[at], self.now.as_nanos()).map(|()| reason)
    }
}
