//! Numbers in use.

use causeway_p4::names::{counter, table};
use std::collections::{HashSet, VecDeque};

use causeway_dataplane::ApplyError;
use foldhash::fast::RandomState;

use super::templates::Templates;
use super::{DOWNLINK, OWN_ENTRY_BASE, SESSION, SESSIONS};
use crate::SwitchPdr;
use crate::backend::config::{Config, SourceGuardPool};
use crate::backend::layout::Layout;
use crate::backend::segments::Tenant;
use crate::backend::template::Template;
use crate::driver::{Entry, Update};

/// Numbers of sessions, rules and templates.
#[derive(Debug)]
pub(in crate::backend) struct Numbers {
    /// Numbers of rules that have not retired.
    busy: HashSet<SwitchPdr, RandomState>,
    next_session: u32,
    free_sessions: VecDeque<u32>,
    /// Numbers of pools of UEs: the common bits of all numbers of a pool, and its free bits.
    pools: Vec<(u32, u32)>,
    next_own: u32,
    free_own: VecDeque<u32>,
    owns: u32,
    templates: Templates,
}

impl Numbers {
    pub(in crate::backend) fn new(layout: &Layout, guards: &[SourceGuardPool]) -> Self {
        Self {
            busy: HashSet::default(),
            // TEID 0 and PDR_ID 0 are not used.
            next_session: 1,
            free_sessions: VecDeque::new(),
            pools: guards.iter().filter_map(pool).collect(),
            next_own: 0,
            free_own: VecDeque::new(),
            owns: layout.cells.as_ref().map_or(0, crate::indexed_counters::IndexedCounters::rules),
            templates: Templates::new(),
        }
    }

    /// All templates.
    pub(in crate::backend) fn templates(&self, layout: &Layout) -> Vec<Entry> {
        self.templates.entries(layout)
    }

    /// Whether the template has a number, or can get one.
    pub(in crate::backend) fn has_template(&self, template: &Template) -> bool {
        self.templates.has_room(template)
    }

    /// The number of a template for one more rule, and the write that must precede its use.
    pub(in crate::backend) fn take_template(
        &mut self,
        layout: &Layout,
        template: Template,
    ) -> Result<(u16, Option<Update>), ApplyError> {
        self.templates.take(layout, template)
    }

    /// A rule no longer uses the template; the write if it was the last.
    pub(in crate::backend) fn leave_template(
        &mut self,
        layout: &Layout,
        template: Template,
    ) -> Option<Update> {
        self.templates.leave(layout, template)
    }

    /// Whether the number belongs to a rule, or has not had its last reading.
    pub(in crate::backend) fn is_busy(&self, number: SwitchPdr) -> bool {
        self.busy.contains(&number)
    }

    /// Marks the number as in use.
    pub(in crate::backend) fn mark_in_use(&mut self, number: SwitchPdr) {
        self.busy.insert(number);
    }

    /// A number for a rule with an entry of its own.
    pub(in crate::backend) fn allocate_rule_number(&mut self) -> Result<SwitchPdr, ApplyError> {
        let own = match self.free_own.pop_front() {
            Some(own) => own,
            None if self.next_own < self.owns => {
                self.next_own += 1;
                self.next_own - 1
            }
            None => {
                return Err(ApplyError::Full { table: counter::PRE_QOS_RULES_0, capacity: self.owns.into() });
            }
        };
        let number = SwitchPdr(OWN_ENTRY_BASE | own);
        self.busy.insert(number);
        Ok(number)
    }

    /// Releases the number of a rule.
    pub(in crate::backend) fn release(&mut self, number: SwitchPdr) {
        if self.busy.remove(&number) && number.0 >= OWN_ENTRY_BASE {
            self.free_own.push_back(number.0 & !OWN_ENTRY_BASE);
        }
    }

    /// A number for a session whose UE is in no pool.
    pub(in crate::backend) fn allocate_session_number(&mut self) -> Result<u32, ApplyError> {
        if let Some(session) = self.free_sessions.pop_front() {
            return Ok(session);
        }
        let of_pool = |session: u32| {
            self.pools
                .iter()
                .find(|(fixed, free)| session & !free == *fixed)
                .map(|(fixed, free)| fixed | free)
        };
        while let Some(last) = of_pool(self.next_session) {
            self.next_session = last + 1;
        }
        if self.next_session >= SESSIONS {
            return Err(ApplyError::Full {
                table: table::DL_SESSIONS_LOW,
                capacity: u64::from(SESSIONS) - 1,
            });
        }
        self.next_session += 1;
        Ok(self.next_session - 1)
    }

    /// Releases the number of a session.
    pub(in crate::backend) fn release_session_number(&mut self, session: u32) {
        if !self.pools.iter().any(|(fixed, free)| session & !free == *fixed) {
            self.free_sessions.push_back(session);
        }
    }
}

/// The numbers of a pool; `None` if they are not numbers of sessions, or its TEIDs not those of entries by number.
pub(in crate::backend) fn pool(guard: &SourceGuardPool) -> Option<(u32, u32)> {
    let (_, free) = guard.pool()?;
    let fixed = guard.first_teid & SESSION & !free;
    let is_numbered = guard.first_teid < DOWNLINK && free < SESSIONS && (fixed | free) < SESSIONS;
    is_numbered.then_some((fixed, free))
}

/// The number of the session of a tenant's UE, if the UE is in a pool.
pub(in crate::backend) fn of_pool(config: &Config, tenant: Tenant, ue: std::net::Ipv4Addr) -> Option<u32> {
    let ue = u32::from(ue);
    let guards = config.guards.iter().filter(|guard| config.tenant_of_pool(guard) == Some(tenant));
    guards.into_iter().find_map(|guard| {
        let (first, free) = guard.pool()?;
        let (fixed, _) = pool(guard)?;
        (ue & !free == first).then_some(fixed | ue & free)
    })
}
