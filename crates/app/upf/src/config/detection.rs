//! Applications and predefined rules of the configuration, which no SMF provisions.

use causeway_model::{
    ApplicationId, Applications, Domain, DomainProtocol, FlowDescription, Pattern, Pfd, PredefinedRule,
    PredefinedRules,
};
use causeway_types::QfiSet;
use serde::Serialize;

use super::enums::NameIn;
use super::model::Upf;
use super::problem::Problem;
use super::section::Section;
use super::serialize::shown_if_any;
use super::values;

/// One PFD of an application. A packet matches if it matches all given keys. Several items may have the same `id`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Application {
    /// The Application ID that SMFs use.
    pub id: String,
    /// A flow description, for example `permit out 17 from 198.51.100.0/24 to assigned`.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowDescription>,
    /// A URL of plain HTTP, or a regular expression.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub url: Option<Pattern>,
    /// A domain name, or a regular expression.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub domain: Option<Pattern>,
    /// The protocol in which the domain name must appear.
    pub domain_protocol: NameIn,
}

impl Application {
    pub(super) fn read(application: &mut Section<'_>) -> Self {
        let what = "give the Application ID that SMFs use";
        Self {
            id: application.required("id", what, values::text).unwrap_or_default(),
            flow: application.value("flow", values::flow),
            url: application.value("url", values::url),
            domain: application.value("domain", values::domain),
            domain_protocol: application.value("domain_protocol", values::word).unwrap_or_default(),
        }
    }

    /// The error of the item as a whole.
    pub(super) fn problem(&self) -> Option<Problem> {
        let names_nothing = self.flow.is_none() && self.url.is_none() && self.domain.is_none();
        let protocol_alone = self.domain.is_none() && self.domain_protocol != NameIn::Any;
        (names_nothing || protocol_alone).then_some(Problem::Missing("give a `flow`, a `url` or a `domain`"))
    }

    fn pfd(&self) -> Pfd {
        let protocol = match self.domain_protocol {
            NameIn::Any => None,
            NameIn::Dns => Some(DomainProtocol::DnsQname),
            NameIn::Tls => Some(DomainProtocol::TlsSni),
        };
        let domain = self.domain.clone().map(|name| Domain { name, protocol });
        Pfd {
            flows: self.flow.iter().cloned().collect(),
            urls: self.url.iter().cloned().collect(),
            domains: domain.into_iter().collect(),
        }
    }
}

/// All applications, in the form that rules refer to.
pub(crate) fn applications(upf: &Upf) -> Applications {
    let pfd = |item: &Application| (ApplicationId::from(&*item.id), vec![item.pfd()]);
    Applications::configured(upf.applications.iter().map(pfd))
        .with_classes(upf.traffic.classes.loaded.clone())
}

/// A predefined rule. A packet matches if it matches all given keys. Items with the same name form a group that is
/// activated together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Predefined {
    /// The name that SMFs activate.
    pub name: String,
    /// A flow description.
    #[serde(serialize_with = "shown_if_any", skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowDescription>,
    /// An Application ID, from the configuration or provisioned by an SMF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
}

impl Predefined {
    pub(super) fn read(rule: &mut Section<'_>) -> Self {
        Self {
            name: rule.required("name", "give the name that SMFs activate", values::text).unwrap_or_default(),
            flow: rule.value("flow", values::flow),
            application: rule.value("application", values::text),
        }
    }

    /// The error of the item as a whole.
    pub(super) fn problem(&self) -> Option<Problem> {
        let names_nothing = self.flow.is_none() && self.application.is_none();
        names_nothing.then_some(Problem::Missing("give a `flow` or an `application`"))
    }

    fn rule(&self) -> PredefinedRule {
        PredefinedRule {
            filters: self.flow.iter().cloned().map(Into::into).collect(),
            application: self.application.as_deref().map(Into::into),
            qfis: QfiSet::EMPTY,
        }
    }
}

/// All predefined rules, in the form that PDRs activate.
pub(crate) fn predefined_rules(items: &[Predefined]) -> PredefinedRules {
    PredefinedRules::new(items.iter().map(|item| (item.name.as_str().into(), item.rule())))
}
