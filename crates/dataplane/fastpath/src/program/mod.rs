//! Programs: the treatment of the packets of a lookup key, without session parameters. Sessions of the same profile
//! share them.

use std::sync::Arc;

use causeway_collections::PartitionedMap;
use causeway_dataplane::DropReason;
use causeway_types::Direction;

use crate::classify::filters::SetId;
use crate::program::compiled_action::{CompiledAction, ProgramHead};
use crate::table::index_allocator::IndexAllocator;
use crate::topology_index::TopologyIndex;

pub(crate) mod compiled_action;

/// The size of the largest GTP-U header with extension headers that the UPF adds.
pub(crate) const MAX_HEADER: usize = 32;

/// A lookup key with its rules.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Program {
    /// The filter set of the packets.
    pub(crate) set: SetId,
    /// The steps of the rules, in the order of the set.
    pub(crate) steps: Box<[Step]>,
    /// The direction of all rules.
    pub(crate) direction: Direction,
    /// The rate that they share.
    pub(crate) shared: Option<Rate>,
    /// The index of the local address that packets are sent to; `None` for packets from a data network.
    pub(crate) local: Option<u8>,
    /// Whether the UE's address is checked.
    pub(crate) names_ue: bool,
    /// Whether the UE has more addresses than the flow entry holds.
    pub(crate) has_more: bool,
    /// Whether a packet that matches no rule can match no other session.
    pub(crate) is_final: bool,
}

impl Program {
    /// Whether all packets go to the slow path.
    pub(crate) fn needs_slow_path(&self) -> bool {
        self.steps.iter().all(|step| step.action == Action::SlowPath)
    }

    /// Whether some packets are sent to a data network.
    pub(crate) fn sends_to_network(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step.action, Action::Send(CompiledSend { route: Route::Network(_), .. })))
    }

    /// Whether all packets match its only rule.
    #[inline]
    pub(crate) fn is_trivial(&self) -> bool {
        self.set == SetId::ANY && !self.steps.is_empty()
    }
}

/// A bit rate, in the units of a token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rate {
    /// In kbit/s, which is micro-bits per nanosecond.
    pub(crate) kbps: u64,
    /// The capacity of the bucket, in micro-bits.
    pub(crate) burst: i64,
}

/// The treatment of packets by one rule.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// The entry with the account: 0 is the flow entry, 1 the first rule entry.
    pub(crate) account: u8,
    /// The rate of this rule alone.
    pub(crate) rule_rate: Option<Rate>,
    /// Whether the shared rate applies to it.
    pub(crate) is_shared: bool,
    /// Whether the slow path must see dropped packets.
    pub(crate) reports_drops: bool,
    /// Dropped packets are counted.
    pub(crate) counts_drops: bool,
    /// After this many nanoseconds without a packet, the next packet is for the slow path.
    pub(crate) idle_limit: u64,
}

/// The compiled action of a rule.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    /// To the slow path.
    SlowPath,
    /// Drop.
    Drop(DropReason),
    /// Send.
    Send(CompiledSend),
}

/// How a packet is sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CompiledSend {
    /// The route.
    pub(crate) route: Route,
    /// The size of the largest user packet, in octets.
    pub(crate) max_payload: u32,
    /// Whether the hop limit is decremented.
    pub(crate) is_routed: bool,
    /// Whether link-local packets are excluded.
    pub(crate) leaves_link: bool,
    /// Whether a gate is closed.
    pub(crate) is_gated: bool,
}

impl CompiledSend {
    /// Whether packets are sent to a data network, where some addresses are blocked.
    pub(crate) const fn is_to_network(&self) -> bool {
        matches!(self.route, Route::Network(_))
    }
}

/// The route of a packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Route {
    /// To a data network, by its index.
    Network(u16),
    /// Into a tunnel.
    Tunnel(Tunnel),
}

/// A tunnel without its TEID.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Tunnel {
    /// The index of the local address.
    pub(crate) local: u8,
    /// The remote address and port.
    pub(crate) peer: std::net::SocketAddr,
    /// The header, with the length of its own octets, and without the TEID.
    pub(crate) header: [u8; MAX_HEADER],
    /// The number of its octets.
    pub(crate) header_len: u8,
    /// The outer type of service, without the ECN, which is copied from the packet.
    pub(crate) tos: u8,
}

/// The programs of one worker, each stored once.
#[derive(Debug)]
pub(crate) struct Programs {
    all: Vec<Option<SharedProgram>>,
    ids: PartitionedMap<Arc<Program>, u32>,
    free: Vec<u32>,
    /// The head of each program, by program number.
    program_heads: Vec<ProgramHead>,
    /// The steps of all programs; those of one program are consecutive.
    actions: Vec<CompiledAction>,
    action_indexes: IndexAllocator,
    /// The number of programs with rule entries.
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
    /// The number of a program, with one more user. `false`: it existed already.
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
        let head = self.compile_actions(id, &program, topology_index);
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

    /// Writes the compiled actions of a new program.
    fn compile_actions(&mut self, id: u32, program: &Program, topology_index: &TopologyIndex) -> ProgramHead {
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

    /// Removes one user of a program. Returns its filter set if it was the last user.
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

    /// Whether a program has rule entries.
    pub(crate) const fn has_rule_lines(&self) -> bool {
        self.with_rule_lines > 0
    }

    /// The head of a program.
    #[inline(always)]
    pub(crate) fn head(&self, id: u32) -> Option<&ProgramHead> {
        self.program_heads.get(id as usize)
    }

    /// A compiled action.
    #[inline(always)]
    pub(crate) fn compiled_action(&self, number: u32) -> Option<&CompiledAction> {
        self.actions.get(number as usize)
    }
}

impl Step {
    /// A step that sends packets to the slow path.
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
