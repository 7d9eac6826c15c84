//! Stores equal rules of many sessions once.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::fast::FixedState;

use causeway_model::{Far, Qer, RuleSet, Urr};

use crate::change::{RestoredProfiles, TemplateCache};

/// Capacity for each kind of rule.
const CACHE_SIZE: usize = 256;

/// Recently used rules. An SMF gives most sessions of a data network an equal QER and URR, and an equal uplink FAR:
/// they share one.
///
/// The cache changes no result, only memory use; so any two are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interned {
    fars: InternTable<Far>,
    qers: InternTable<Qer>,
    urrs: InternTable<Urr>,
    /// The cache of whole sessions.
    pub(crate) template_cache: TemplateCache,
    /// The same of restored sessions.
    pub(crate) restored: RestoredProfiles,
}

impl PartialEq for Interned {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Interned {}

impl Interned {
    /// Replaces rules with equal recent ones, except those of `old`, which were interned before. O(changed rules).
    pub(crate) fn intern(&mut self, rules: &mut RuleSet, old: &RuleSet) {
        // A tunnel belongs to one session only.
        let has_tunnel = |far: &Far| far.forwarding.as_ref().is_some_and(|it| it.tunnel().is_some());
        let is_held = |far: &Arc<Far>| old.fars.get_shared(&far.id).is_some_and(|old| Arc::ptr_eq(old, far));
        rules.fars.replace(|far| if has_tunnel(&far) || is_held(&far) { far } else { self.fars.known(far) });
        let is_held = |qer: &Arc<Qer>| old.qers.get_shared(&qer.id).is_some_and(|old| Arc::ptr_eq(old, qer));
        rules.qers.replace(|qer| if is_held(&qer) { qer } else { self.qers.known(qer) });
        let is_held = |urr: &Arc<Urr>| old.urrs.get_shared(&urr.id).is_some_and(|old| Arc::ptr_eq(old, urr));
        rules.urrs.replace(|urr| if is_held(&urr) { urr } else { self.urrs.known(urr) });
    }
}

/// Each rule has one place, by its hash, which holds the latest rule.
#[derive(Clone, Debug)]
struct InternTable<R>(Vec<Option<Arc<R>>>);

impl<R> Default for InternTable<R> {
    fn default() -> Self {
        Self(vec![None; CACHE_SIZE])
    }
}

impl<R: Eq + Hash> InternTable<R> {
    fn known(&mut self, rule: Arc<R>) -> Arc<R> {
        let hash = FixedState::with_seed(0).hash_one(&rule);
        let Some(slot) = self.0.get_mut(hash as usize % CACHE_SIZE) else { return rule };
        match slot {
            Some(known) if *known == rule => Arc::clone(known),
            _ => {
                *slot = Some(Arc::clone(&rule));
                rule
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use causeway_model::{ApplyAction, Forwarding, Gate};
    use causeway_types::{DualIp, FTeid, FarId, Interface, QerId, Teid};

    use super::*;

    fn far(forwarding: Forwarding) -> RuleSet {
        let mut rules = RuleSet::default();
        rules.fars.insert(FarId(1), Far::forward(FarId(1), forwarding));
        rules
    }

    // Input:  two sessions with equal QERs and FARs, and a third whose QER differs.
    // Output: the first two share theirs; the third has its own.
    #[test]
    fn equal_rules_are_held_once() {
        let mut recent = Interned::default();
        let mut sessions = [Gate::Open, Gate::Open, Gate::Closed].map(|uplink| {
            let mut rules = far(Forwarding::to(Interface::Core));
            rules.qers.insert(QerId(1), Qer { uplink, ..Qer::new(QerId(1)) });
            rules
        });
        let given = sessions.clone();
        sessions.iter_mut().for_each(|rules| recent.intern(rules, &RuleSet::default()));
        assert_eq!(sessions, given);
        let [one, two, three] = &sessions;
        let qer = |rules: &RuleSet| Arc::clone(rules.qers.get_shared(&QerId(1)).unwrap());
        assert!(Arc::ptr_eq(&qer(one), &qer(two)) && !Arc::ptr_eq(&qer(one), &qer(three)));
        let uplink = |rules: &RuleSet| Arc::clone(rules.fars.get_shared(&FarId(1)).unwrap());
        assert!(Arc::ptr_eq(&uplink(one), &uplink(three)));
    }

    // Input:  a session with a FAR that drops; then a session that shares it changes it.
    // Output: the FAR of the other session stays.
    #[test]
    fn a_shared_rule_changes_for_one_session_alone() {
        let mut recent = Interned::default();
        let (mut one, mut two) = (far(Forwarding::to(Interface::Core)), far(Forwarding::to(Interface::Core)));
        recent.intern(&mut one, &RuleSet::default());
        recent.intern(&mut two, &RuleSet::default());
        two.fars.get_mut(&FarId(1)).unwrap().action = ApplyAction::Drop;
        assert_eq!(one.fars[&FarId(1)].action, ApplyAction::Forward);
    }

    // Input:  FARs to tunnels.
    // Output: none of them replaces a shared rule.
    #[test]
    fn tunnels_are_not_part_of_the_template() {
        let mut recent = Interned::default();
        let mut rules = far(Forwarding::to(Interface::Core));
        recent.intern(&mut rules, &RuleSet::default());
        for teid in 1..1000 {
            let addr = DualIp::from(std::net::Ipv4Addr::LOCALHOST);
            let tunnel = FTeid { teid: Teid::new(teid).unwrap(), addr };
            recent.intern(&mut far(Forwarding::into_tunnel(Interface::Access, tunnel)), &RuleSet::default());
        }
        assert_eq!(recent.fars.0.iter().flatten().count(), 1);
    }
}
