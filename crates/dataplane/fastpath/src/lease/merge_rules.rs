//! Rules of a door that do the same with their packets: for the lines they are one rule.

use crate::filters::Rule;
use crate::program::Step;

/// The rules of a door and their steps, in their order. Neighbours with equal steps are one rule: packets find the same course by
/// whichever of them they fit.
pub(super) fn merge_equal_rules(asked: impl Iterator<Item = (Rule, Step)>) -> (Vec<Rule>, Box<[Step]>) {
    let (mut rules, mut steps) = (Vec::<Rule>::new(), Vec::new());
    for (rule, step) in asked {
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

/// A rule takes what the next one takes, too. Without filters it takes everything.
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
    use causeway_rules::{FlowDescription, SdfFilter};
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

    fn joined(asked: Vec<(Rule, u64)>) -> (Vec<Rule>, Vec<u64>) {
        let (rules, steps) = merge_equal_rules(asked.into_iter().map(|(rule, pause)| (rule, step(pause))));
        (rules, steps.iter().map(|step| step.idle_limit).collect())
    }

    // Input:  rules with steps 1, 1, 2, 1 and 1, of which the second has a filter of the first, and the last has none.
    // Output: the first two are one, with each filter once; the last two are one that takes everything; the order stays.
    #[test]
    fn adjacent_rules_with_equal_actions_merge() {
        let asked = vec![
            (rule(&[6, 17]), 1),
            (rule(&[17, 132]), 1),
            (rule(&[50]), 2),
            (rule(&[1]), 1),
            (rule(&[]), 1),
        ];
        let wanted = (vec![rule(&[6, 17, 132]), rule(&[50]), rule(&[])], vec![1, 2, 1]);
        assert_eq!(joined(asked), wanted);
    }

    // Input:  a rule for everything, then one with a filter, both with the same step; and rules for different QFIs.
    // Output: the first two are the one for everything; rules of other QFIs stay apart.
    #[test]
    fn a_match_all_rule_absorbs_its_neighbours() {
        assert_eq!(joined(vec![(rule(&[]), 1), (rule(&[6]), 1)]), (vec![rule(&[])], vec![1]));
        let qfis = [Qfi::new(5).unwrap()].into_iter().collect();
        let apart = vec![rule(&[6]), Rule { qfis, ..rule(&[6]) }];
        let asked = apart.iter().map(|rule| (rule.clone(), 1)).collect();
        assert_eq!(joined(asked), (apart, vec![1, 1]));
    }
}
