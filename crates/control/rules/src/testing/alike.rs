//! Rule sets as sessions that were asked for in the same words.

use std::sync::Arc;

use crate::change::of_plan;
use crate::{Alike, Moved, Plan, RuleSet, Template};

/// What the sessions of a test have in common.
#[derive(Debug, Default)]
pub struct Templates(Vec<Arc<Template>>);

impl Templates {
    /// The rules as those of a session like one before, or as the first of their kind. `None`: no request for a session with these
    /// rules is remembered.
    pub fn alike(&mut self, rules: &RuleSet) -> Option<Alike> {
        let of_known = |template: &Arc<Template>| {
            let its = Template::of_rules(rules)?;
            let alike = Alike::new(Arc::clone(template), *its.own(), its.policy().cloned());
            (alike.rules() == *rules).then_some(alike)
        };
        if let Some(alike) = self.0.iter().find_map(of_known) {
            return Some(alike);
        }
        let template = Arc::new(Template::of_rules(rules)?);
        self.0.push(Arc::clone(&template));
        Some(Alike::new(Arc::clone(&template), *template.own(), template.policy().cloned()))
    }

    /// A plan that changes nothing but FARs as one that was met before. `None`: it does more, or nobody has changed a session so.
    pub fn moved(&mut self, alike: &Alike, to: &RuleSet, plan: &Plan) -> Option<Moved> {
        let before = alike.rules();
        let changes_fars_alone = RuleSet { fars: before.fars.clone(), ..to.clone() } == before;
        let after = self.alike(to).filter(|_| changes_fars_alone && !plan.ops.is_empty())?;
        of_plan(alike, &after, plan.ops.to_vec())
    }
}
