//! What packets of a door go through, without anything of the session: shared by all sessions that are alike.

use std::sync::Arc;

use causeway_dataplane::DropReason;
use causeway_rules::PartitionedMap;
use causeway_types::Direction;

use crate::compiled_action::{CompiledAction, ProgramHead};
use crate::filters::SetId;
use crate::index_allocator::IndexAllocator;
use crate::topology_index::TopologyIndex;

/// The largest GTP-U header with the extension headers that we put in front.
pub(crate) const MAX_HEADER: usize = 32;

/// A door and its rules.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Program {
    /// Which rule a packet is for.
    pub(crate) set: SetId,
    /// What the rules do, in the order of the set.
    pub(crate) steps: Box<[Step]>,
    /// The direction of all of them.
    pub(crate) direction: Direction,
    /// The rate that they share.
    pub(crate) shared: Option<Rate>,
    /// The index of our address that packets must come to; none for those of a data network.
    pub(crate) local: Option<u8>,
    /// The UE's address is asked for.
    pub(crate) names_ue: bool,
    /// The UE has more addresses than the line has.
    pub(crate) has_more: bool,
    /// A packet that fits no rule is for no other session either.
    pub(crate) is_final: bool,
}

impl Program {
    /// Nothing is decided here.
    pub(crate) fn needs_slow_path(&self) -> bool {
        self.steps.iter().all(|step| step.action == Action::SlowPath)
    }

    /// Some packets leave the tunnels here.
    pub(crate) fn leaves_tunnels(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step.action, Action::Send(CompiledSend { way: Route::Network(_), .. })))
    }

    /// Whatever comes in is for its only rule.
    #[inline]
    pub(crate) fn is_trivial(&self) -> bool {
        self.set == SetId::ANY && !self.steps.is_empty()
    }
}

/// A bit rate, ready to fill a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rate {
    /// In kbit/s, which is micro-bits in a nanosecond.
    pub(crate) kbps: u64,
    /// What the bucket holds, in micro-bits.
    pub(crate) burst: i64,
}

/// What one rule does with a packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// Which line has the account: 0 is the door's own, 1 the first of the rules'.
    pub(crate) account: u8,
    /// The rate of the rule's own.
    pub(crate) rule_rate: Option<Rate>,
    /// The rate that the rules share holds for it.
    pub(crate) is_shared: bool,
    /// Dropped packets are for the slow room.
    pub(crate) reports_drops: bool,
    /// Dropped packets are counted.
    pub(crate) counts_drops: bool,
    /// After so many nanoseconds without a packet, the next is for the slow room.
    pub(crate) idle_limit: u64,
}

/// What becomes of a packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    /// It is for the slow room.
    SlowPath,
    /// It is dropped.
    Drop(DropReason),
    /// It is sent.
    Send(CompiledSend),
}

/// How a packet leaves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CompiledSend {
    /// Where to.
    pub(crate) way: Route,
    /// The largest user packet, in octets.
    pub(crate) max_payload: u32,
    /// It loses a hop.
    pub(crate) is_routed: bool,
    /// What belongs to a link stays there.
    pub(crate) leaves_link: bool,
    /// A gate is closed.
    pub(crate) is_gated: bool,
}

impl CompiledSend {
    /// To a data network, where UEs do not reach every address.
    pub(crate) const fn leaves_network(&self) -> bool {
        matches!(self.way, Route::Network(_))
    }
}

/// The way of a packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Route {
    /// To a data network, by its index.
    Network(u16),
    /// Into a tunnel.
    Tunnel(Tunnel),
}

/// A tunnel but for its TEID.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Tunnel {
    /// The index of our address.
    pub(crate) local: u8,
    /// The other end.
    pub(crate) peer: std::net::SocketAddr,
    /// The header with a length of its own alone, and without the TEID.
    pub(crate) header: [u8; MAX_HEADER],
    /// Octets of it.
    pub(crate) header_len: u8,
    /// The outer type of service, without the ECN, which is that of the packet.
    pub(crate) tos: u8,
}

/// The programs of one worker, each once.
#[derive(Debug)]
pub(crate) struct Programs {
    all: Vec<Option<SharedProgram>>,
    ids: PartitionedMap<Arc<Program>, u32>,
    free: Vec<u32>,
    /// Of each program, by its number.
    program_heads: Vec<ProgramHead>,
    /// Of the steps of all programs; those of one follow one another.
    actions: Vec<CompiledAction>,
    action_indexes: IndexAllocator,
    /// Programs with accounts that are not in the line.
    with_rule_lines: usize,
}

#[derive(Debug)]
struct SharedProgram {
    program: Arc<Program>,
    users: u32,
}

impl Default for Programs {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            ids: PartitionedMap::default(),
            free: Vec::new(),
            program_heads: Vec::new(),
            actions: Vec::new(),
            action_indexes: IndexAllocator::new(0, u32::MAX),
            with_rule_lines: 0,
        }
    }
}

impl Programs {
    /// The number of a program, with one user more. `false`: it was there already.
    pub(crate) fn insert(&mut self, program: Program, topology_index: &TopologyIndex) -> (u32, bool) {
        if let Some(id) = self.ids.get(&program).copied() {
            if let Some(shared) = self.all.get_mut(id as usize).and_then(Option::as_mut) {
                shared.users += 1;
            }
            return (id, false);
        }
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.all.push(None);
                self.program_heads.push(ProgramHead::NOTHING);
                self.all.len() as u32 - 1
            }
        };
        let head = self.lay_out(id, &program, topology_index);
        let program = Arc::new(program);
        if let (Some(slot), Some(place)) =
            (self.all.get_mut(id as usize), self.program_heads.get_mut(id as usize))
        {
            *slot = Some(SharedProgram { program: Arc::clone(&program), users: 1 });
            *place = head;
        }
        self.ids.insert(program, id);
        (id, true)
    }

    /// Writes the courses of a new program.
    fn lay_out(&mut self, id: u32, program: &Program, topology_index: &TopologyIndex) -> ProgramHead {
        let Some(first) = self.action_indexes.take(program.steps.len() as u32) else {
            return ProgramHead::NOTHING;
        };
        let end = first as usize + program.steps.len();
        if self.actions.len() < end {
            self.actions.resize(end, CompiledAction::SLOW_PATH);
        }
        let actions = self.actions.iter_mut().skip(first as usize);
        for ((action, step), index) in actions.zip(&program.steps).zip(0..) {
            *action = CompiledAction::of(step, topology_index).numbered(id, index);
        }
        let head = ProgramHead::of(program, first);
        self.with_rule_lines += usize::from(head.has_rule_lines);
        head
    }

    /// A program has one user less. Returns the set that it used if it was the last.
    pub(crate) fn remove(&mut self, id: u32) -> Option<SetId> {
        let slot = self.all.get_mut(id as usize)?;
        let shared = slot.as_mut()?;
        shared.users -= 1;
        if shared.users > 0 {
            return None;
        }
        let (set, steps) = (shared.program.set, shared.program.steps.len() as u32);
        self.ids.remove(&shared.program);
        *slot = None;
        self.free.push(id);
        if let Some(head) = self.program_heads.get_mut(id as usize) {
            self.action_indexes.give_back(head.first, steps);
            self.with_rule_lines -= usize::from(head.has_rule_lines);
            *head = ProgramHead::NOTHING;
        }
        Some(set)
    }

    /// A program.
    #[inline]
    pub(crate) fn at(&self, id: u32) -> Option<&Program> {
        self.all.get(id as usize)?.as_ref().map(|shared| &*shared.program)
    }

    /// Some program has accounts that are not in the line.
    pub(crate) const fn has_rule_lines(&self) -> bool {
        self.with_rule_lines > 0
    }

    /// The head of a program.
    #[inline(always)]
    pub(crate) fn head(&self, id: u32) -> Option<&ProgramHead> {
        self.program_heads.get(id as usize)
    }

    /// A course.
    #[inline(always)]
    pub(crate) fn compiled_action(&self, number: u32) -> Option<&CompiledAction> {
        self.actions.get(number as usize)
    }
}

impl Step {
    /// The packets are for the slow room.
    pub(crate) const SLOW_PATH: Self = Self {
        action: Action::SlowPath,
        account: 0,
        rule_rate: None,
        is_shared: false,
        reports_drops: false,
        counts_drops: false,
        idle_limit: u64::MAX,
    };
}
