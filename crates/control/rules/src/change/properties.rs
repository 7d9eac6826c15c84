use std::collections::BTreeSet;

use proptest::prelude::*;

use causeway_model::{Plan, PlanOptions, RuleSet, plan_modification};

use crate::addresses::PrefixKind;
use crate::testing::{SESSION, TestUpf, apply, capabilities, changes, endpoints, fit, rule_set};
use crate::{Context, delete, validate};

/// The rules after a plan that is legal at every step.
fn after(old: &RuleSet, plan: &Plan) -> Result<RuleSet, TestCaseError> {
    let mut rules = old.clone();
    apply(&mut rules, plan).map_err(TestCaseError::fail)?;
    Ok(rules)
}

proptest! {
    // Input:  any two legal rule sets.
    // Output: both are valid; the plan from one to the other gives exactly the other, writes nothing that does not
    // change, and leaves no dangling reference after any of its writes.
    #[test]
    fn a_plan_leads_exactly_there(old in rule_set(), new in rule_set()) {
        let (capabilities, endpoints) = (capabilities(), endpoints());
        let context = Context { capabilities: &capabilities, endpoints: &endpoints, catalogue: &crate::Catalogue::default() };
        prop_assert_eq!(validate(&old, &context), Ok(()));
        prop_assert_eq!(validate(&new, &context), Ok(()));
        let created = after(&RuleSet::default(), &Plan::install(SESSION, old.clone()))?;
        prop_assert_eq!(&created, &old);
        let queries = old.urrs.keys().copied().collect();
        let plan = plan_modification(SESSION, &old, &new, &PlanOptions { queries, ..PlanOptions::default() });
        prop_assert_eq!(after(&old, &plan)?, new);
        prop_assert_eq!(after(&old, &Plan::removal(SESSION))?, RuleSet::default());
    }

    // Input:  the same rules twice.
    // Output: no writes.
    #[test]
    fn no_difference_no_write(rules in rule_set()) {
        let plan = plan_modification(SESSION, &rules, &rules, &PlanOptions::default());
        prop_assert_eq!(plan.ops().len(), 0);
    }

    // Input:  any session, and any changes one after the other, legal or not.
    // Output: a legal change gives the rules of its plan, and they stay legal; an illegal one has a cause and
    // leaves rules and tunnels unchanged. In the end every tunnel is released.
    #[test]
    fn changes_are_whole_or_nothing(steps in proptest::collection::vec((changes(), 0..8_u8), 1..8)) {
        let mut upf = TestUpf::with(crate::testing::usual());
        let all = upf.resources.tunnels().available() + 1;
        for (step, luck) in steps {
            let step = if luck == 0 { step } else { fit(step, &upf.session) };
            let (session, tunnels) = (upf.session.clone(), upf.resources.tunnels());
            let addresses = upf.resources.addresses();
            match upf.modify(step) {
                Ok(change) => {
                    let rules = after(session.rules(), &change.plan)?;
                    prop_assert_eq!(&rules, change.session.rules());
                    let context = Context { capabilities: &upf.capabilities, endpoints: &upf.endpoints, catalogue: &crate::Catalogue::default() };
                    prop_assert_eq!(validate(&rules, &context), Ok(()));
                    upf.keep(change);
                    prop_assert_eq!(upf.resources.tunnels().in_use(), upf.session.tunnels().len());
                    let held = |title: PrefixKind| upf.session.addresses.iter().filter(move |held| held.kind == title);
                    let ues = held(PrefixKind::Ue).map(|held| held.net).collect::<BTreeSet<_>>();
                    prop_assert_eq!(upf.resources.addresses().in_use(), ues.len());
                    prop_assert_eq!(upf.resources.addresses().routes(), held(PrefixKind::Route).count());
                }
                Err(rejection) => {
                    prop_assert!(!rejection.cause().is_accepted(), "{}", rejection);
                    prop_assert_eq!(&upf.session, &session);
                    prop_assert_eq!(upf.resources.tunnels().available(), tunnels.available());
                    prop_assert_eq!(upf.resources.tunnels().in_use(), tunnels.in_use());
                    let given_out = |addresses: &crate::Addresses| addresses.pools().map(|pool| pool.occupied).sum::<u64>();
                    prop_assert_eq!(upf.resources.addresses().in_use(), addresses.in_use());
                    prop_assert_eq!(given_out(&upf.resources.addresses()), given_out(&addresses));
                }
            }
        }
        let end = delete(&upf.session, SESSION);
        prop_assert_eq!(&end.plan, &Plan::removal(SESSION));
        upf.keep(end);
        prop_assert_eq!((upf.resources.tunnels().available(), upf.resources.tunnels().in_use()), (all, 0));
        prop_assert_eq!((upf.resources.addresses().in_use(), upf.resources.addresses().routes()), (0, 0));
        prop_assert!(upf.resources.addresses().pools().all(|pool| pool.occupied == 0));
    }

    // Input:  a change that the data plane cannot carry out.
    // Output: after it is abandoned, the tunnels are as before.
    #[test]
    fn an_abandoned_change_leaves_no_trace(step in changes()) {
        let mut upf = TestUpf::with(crate::testing::usual());
        let step = fit(step, &upf.session);
        let (available, in_use) = (upf.resources.tunnels().available(), upf.resources.tunnels().in_use());
        if let Ok(change) = upf.modify(step) {
            upf.resources.abandon(change.resources);
        }
        prop_assert_eq!((upf.resources.tunnels().available(), upf.resources.tunnels().in_use()), (available, in_use));
    }
}
