//! Applications: the traffic of an Application ID (TS 29.244 clauses 5.2.1A.4 and 6.2.5).

mod classes;
mod pattern;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use classes::TrafficClasses;
pub use pattern::{Pattern, PatternError};

use crate::FlowDescription;

/// Octets of an application, and of a PFD, beside its values: with the overhead of the allocator and the tables.
const ENTRY: usize = 256;

/// An Application ID (TS 29.244 clause 8.2.6). Cheap to clone; compared octet by octet.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApplicationId(Arc<[u8]>);

impl ApplicationId {
    /// Any octets; most SMFs send text.
    pub fn new(octets: &[u8]) -> Self {
        Self(octets.into())
    }

    /// As the SMF gave it.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for ApplicationId {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes())
    }
}

impl fmt::Display for ApplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

impl fmt::Debug for ApplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApplicationId({self})")
    }
}

/// The applications that a UPF can detect: configured ones, those provisioned over N4, and classes of traffic.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Applications {
    all: BTreeMap<ApplicationId, Application>,
    classes: Option<Arc<TrafficClasses>>,
}

/// The detection of an application: a packet must match one of its PFDs, or be of a session whose traffic has its class.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Application {
    pfds: Vec<Pfd>,
    /// It is configured; SMFs cannot change it.
    configured: bool,
    /// Its class, if it is one.
    class: Option<u8>,
}

/// One PFD Contents (TS 29.244 clause 8.2.39). A packet must match one value of each property that has values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pfd {
    /// Flow descriptions.
    pub flows: Vec<FlowDescription>,
    /// URLs, in the form of [`Seen::url`].
    pub urls: Vec<Pattern>,
    /// Domain names.
    pub domains: Vec<Domain>,
}

/// A domain name of a PFD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// The names.
    pub name: Pattern,
    /// The protocol in which the name must be found; `None`: any of them, or an HTTP Host header.
    pub protocol: Option<DomainProtocol>,
}

/// A Domain Name Protocol (TS 29.122 clause 5.14.2.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DomainProtocol {
    /// The name in a DNS query.
    DnsQname,
    /// The server name that a TLS client sends.
    TlsSni,
}

/// The detected properties of a flow.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// The domain name, in lower case and without port.
    pub name: Option<String>,
    /// The protocol in which the name was found; `None`: an HTTP Host header.
    pub protocol: Option<DomainProtocol>,
    /// The URL of a plain HTTP request, `http://` and host and path with query.
    pub url: Option<String>,
}

impl Applications {
    /// The applications of a configuration. PFDs of one application are merged.
    pub fn configured(applications: impl IntoIterator<Item = (ApplicationId, Vec<Pfd>)>) -> Self {
        let mut all = BTreeMap::new();
        for (id, pfds) in applications {
            all.entry(id).or_insert_with(Application::configured).pfds.extend(pfds);
        }
        Self { all, classes: None }
    }

    /// The applications of a configuration with these classes. One with the same ID as a class has both: its PFDs, and
    /// the class.
    #[must_use]
    pub fn with_classes(mut self, classes: Option<Arc<TrafficClasses>>) -> Self {
        for (id, class) in classes.iter().flat_map(|classes| classes.applications()) {
            self.all.entry(id.clone()).or_insert_with(Application::configured).class = Some(class);
        }
        Self { classes, ..self }
    }

    /// The classes; `None`: there are none.
    pub fn classes(&self) -> Option<&Arc<TrafficClasses>> {
        self.classes.as_ref()
    }

    /// The class of an application, if it is one.
    pub fn class_of(&self, id: &ApplicationId) -> Option<u8> {
        self.all.get(id)?.class
    }

    /// The application is a class, and nothing else.
    pub fn is_class_alone(&self, id: &ApplicationId) -> bool {
        self.all.get(id).is_some_and(|it| it.class.is_some() && it.pfds.is_empty())
    }

    /// The application is known, and its packets are found by other things than a class.
    pub fn has_pfds(&self, id: &ApplicationId) -> bool {
        self.all.get(id).is_some_and(|it| !it.pfds.is_empty())
    }

    /// These applications with another configuration: its applications, and those provisioned over N4 under other IDs.
    #[must_use]
    pub fn with_configured(&self, configuration: &Self) -> Self {
        let provisioned = self.all.iter().filter(|(id, it)| !it.configured && !configuration.knows(id));
        let all = provisioned.chain(&configuration.all).map(|(id, it)| (id.clone(), it.clone())).collect();
        Self { all, classes: configuration.classes.clone() }
    }

    /// The application exists.
    pub fn knows(&self, id: &ApplicationId) -> bool {
        self.all.contains_key(id)
    }

    /// The applications, with the number of their PFDs.
    pub fn iter(&self) -> impl Iterator<Item = (&ApplicationId, usize)> {
        self.all.iter().map(|(id, application)| (id, application.pfds.len()))
    }

    /// Upper estimate of the octets of memory of the applications provisioned over N4; it grows with each
    /// application and each value.
    pub fn octets(&self) -> usize {
        let provisioned = self.all.iter().filter(|(_, application)| !application.configured);
        provisioned.map(|(id, application)| ENTRY + id.0.len() + application.octets()).sum()
    }

    /// The application is configured: SMFs cannot change it.
    pub fn is_configured(&self, id: &ApplicationId) -> bool {
        self.all.get(id).is_some_and(|application| application.configured)
    }

    /// The PFDs of an application; none if it does not exist.
    pub fn pfds(&self, id: &ApplicationId) -> &[Pfd] {
        self.all.get(id).map_or(&[], |application| &application.pfds)
    }

    /// Replaces the PFDs of an application that is provisioned over N4; without PFDs it is removed. A configured one
    /// stays.
    pub fn provision(&mut self, id: ApplicationId, pfds: Vec<Pfd>) {
        if self.is_configured(&id) {
            return;
        }
        if pfds.is_empty() {
            self.all.remove(&id);
        } else {
            self.all.insert(id, Application { pfds, configured: false, class: None });
        }
    }

    /// The number of values of all properties of all PFDs.
    pub fn values(&self) -> usize {
        let pfds = self.all.values().flat_map(|application| &application.pfds);
        pfds.map(|pfd| pfd.flows.len() + pfd.urls.len() + pfd.domains.len()).sum()
    }

    /// A packet belongs to this application: `fits` tests a flow description, `seen` has the detected properties of
    /// its flow, `class` is the class of its session's traffic.
    pub fn detects(
        &self,
        id: &ApplicationId,
        fits: impl Fn(&FlowDescription) -> bool,
        seen: Option<&Seen>,
        class: u8,
    ) -> bool {
        self.all
            .get(id)
            .is_some_and(|it| it.class == Some(class) || it.pfds.iter().any(|pfd| pfd.matches(&fits, seen)))
    }

    /// Detection of this application needs inspection of the payload.
    pub fn needs_dpi(&self, id: &ApplicationId) -> bool {
        let looks = |pfd: &Pfd| !pfd.urls.is_empty() || !pfd.domains.is_empty();
        self.all.get(id).is_some_and(|it| it.pfds.iter().any(looks))
    }
}

impl Application {
    const fn configured() -> Self {
        Self { pfds: Vec::new(), configured: true, class: None }
    }

    fn octets(&self) -> usize {
        self.pfds.iter().map(Pfd::octets).sum()
    }
}

impl Pfd {
    fn octets(&self) -> usize {
        let flows = self.flows.iter().map(FlowDescription::octets).sum::<usize>();
        let names = self.domains.iter().map(|domain| &domain.name);
        let patterns = self.urls.iter().chain(names).map(Pattern::octets).sum::<usize>();
        ENTRY + flows + patterns
    }

    fn matches(&self, fits: impl Fn(&FlowDescription) -> bool, seen: Option<&Seen>) -> bool {
        let url = seen.and_then(|seen| seen.url.as_deref());
        let by_flow = self.flows.is_empty() || self.flows.iter().any(fits);
        let by_url =
            self.urls.is_empty() || url.is_some_and(|url| self.urls.iter().any(|it| it.matches_url(url)));
        let by_domain = self.domains.is_empty()
            || seen.is_some_and(|seen| self.domains.iter().any(|domain| domain.matches(seen)));
        by_flow && by_url && by_domain
    }
}

impl Domain {
    fn matches(&self, seen: &Seen) -> bool {
        let in_place = self.protocol.is_none() || self.protocol == seen.protocol;
        in_place && seen.name.as_deref().is_some_and(|name| self.name.matches_domain(name))
    }
}
