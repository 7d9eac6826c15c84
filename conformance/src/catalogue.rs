//! The configuration of every UPF under test: an application and predefined rules.

use std::sync::Arc;

use causeway_model::{Applications, FlowDescription, Pfd, PredefinedRule, PredefinedRules, TrafficClasses};
use causeway_rules::Catalogue;
use causeway_types::QfiSet;

/// The flows of the application `game`.
const GAME: &str = "permit out 17 from any 7777 to assigned";

/// The flows of the predefined rules of the group `web`.
const WEB: &[&str] = &["permit out 6 from any 80 to assigned", "permit out 6 from any 443 to assigned"];

/// The application `game`, the classes of a model, and the predefined rules `web`, `gaming` and `streaming`.
pub(crate) fn catalogue(classes: Option<Arc<TrafficClasses>>) -> Catalogue {
    let flow = |text: &str| text.parse::<FlowDescription>().ok();
    let game = Pfd { flows: flow(GAME).into_iter().collect(), ..Pfd::default() };
    let rule = |flow: Option<FlowDescription>, application: Option<&str>| PredefinedRule {
        filters: flow.map(Into::into).into_iter().collect(),
        application: application.map(Into::into),
        qfis: QfiSet::EMPTY,
    };
    let web = WEB.iter().map(|text| ("web".into(), rule(flow(text), None)));
    let others = [("gaming", "game"), ("streaming", "video")];
    let others = others.map(|(name, application)| (name.into(), rule(None, Some(application))));
    Catalogue {
        applications: Arc::new(Applications::configured([("game".into(), vec![game])]).with_classes(classes)),
        predefined: Arc::new(PredefinedRules::new(web.chain(others))),
    }
}
