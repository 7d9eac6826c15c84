//! Merges adjacent rules of a lookup key that have the same action.

use crate::classify::filters::Rule;
use crate::program::Step;

/// The rules of a lookup key and their steps, in order. Adjacent rules with equal steps become one rule: their packets
/// have the same action.
pub(super) fn merge_equal_rules(
    lookup_rules: impl Iterator<Item = (Rule, Step)>,
) -> (Vec<Rule>, Box<[Step]>) {
    let (mut rules, mut steps) = (Vec::<Rule>::new(), Vec::new());
    for (rule, step) in lookup_rules {
        match rules.last_mut().filter(|last| steps.last() == Some(&step) && last.qfis == rule.qfis) {
            Some(last) => extend_rule(last, rule),
            None => {
                rules.push(rule);
                steps.push(step);
            }
        }
    }
    (rules, steps.into())
}

/// Adds the packets of `next` to a rule. A rule without filters matches all packets.
fn extend_rule(rule: &mut Rule, next: Rule) {
    if next.filters.is_empty() {
        rule.filters.clear();
    } else if !rule.filters.is_empty() {
        rule.filters.extend(
            next.filters.into_iter().filter(|filter| !rule.filters.contains(filter)).collect::<Vec<_>>(),
        );
    }
}

#[cfg(test)]
mod tests {
    use causeway_model::{FlowDescription, SdfFilter};
    use causeway_types::{Qfi, QfiSet};

    use super::*;

    fn protocol(number: u8) -> SdfFilter {
        FlowDescription { protocol: Some(number), ..FlowDescription::ANY }.into()
    }

    fn rule(filters: &[u8]) -> Rule {
        Rule { qfis: QfiSet::default(), filters: filters.iter().map(|number| protocol(*number)).collect() }
    }

    fn step(pause: u64) -> Step {
        Step { idle_limit: pause, ..Step::SLOW_PATH }
    }

    fn joined(rules: Vec<(Rule, u64)>) -> (Vec<Rule>, Vec<u64>) {
        let (rules, steps) = merge_equal_rules(rules.into_iter().map(|(rule, pause)| (rule, step(pause))));
        (rules, steps.iter().map(|step| step.idle_limit).collect())
    }

    // Input:  rules with steps 1, 1, 2, 1 and 1, of which the second has a filter of the first, and the last has none.
    // Output: the first two are merged, with each filter once; the last two become one that matches all packets; the
    //         order stays.
    #[test]
    fn adjacent_rules_with_equal_actions_merge() {
        let rules = vec![
            (rule(&[6, 17]), 1),
            (rule(&[17, 132]), 1),
            (rule(&[50]), 2),
            (rule(&[1]), 1),
            (rule(&[]), 1),
        ];
        let wanted = (vec![rule(&[6, 17, 132]), rule(&[50]), rule(&[])], vec![1, 2, 1]);
        assert_eq!(joined(rules), wanted);
    }

    // Input:  a rule for all packets, then one with a filter, both with the same step; and rules for different QFIs.
    // Output: the first two become the rule for all packets; rules of other QFIs stay separate.
    #[test]
    fn a_match_all_rule_absorbs_its_neighbours() {
        assert_eq!(joined(vec![(rule(&[]), 1), (rule(&[6]), 1)]), (vec![rule(&[])], vec![1]));
        let qfis = [Qfi::new(5).unwrap()].into_iter().collect();
        let apart = vec![rule(&[6]), Rule { qfis, ..rule(&[6]) }];
        let rules = apart.iter().map(|rule| (rule.clone(), 1)).collect();
        assert_eq!(joined(rules), (apart, vec![1, 1]));
    }
}
