//! Applications: the traffic that an Application ID stands for (TS 29.244 clauses 5.2.1A.4 and 6.2.5).

mod manage;
mod pattern;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use pattern::{Pattern, PatternError};

use crate::FlowDescription;

/// Octets of an application, and of a PFD, beside its values: with what the allocator and the tables add.
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

/// The applications that a UPF can detect: those of its configuration, and those provisioned over N4.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Applications(BTreeMap<ApplicationId, Application>);

/// How an application is detected: a packet must match one of its PFDs.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Application {
    pfds: Vec<Pfd>,
    /// It is of the configuration; SMFs cannot change it.
    configured: bool,
}

/// One PFD Contents (TS 29.244 clause 8.2.39). A packet must match each property that has values, by one of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pfd {
    /// Flow descriptions.
    pub flows: Vec<FlowDescription>,
    /// URLs, as [`Seen::url`] writes them.
    pub urls: Vec<Pattern>,
    /// Domain names.
    pub domains: Vec<Domain>,
}

/// A domain name of a PFD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// The names.
    pub name: Pattern,
    /// Where the name must be found; `None`: in any of them, or in an HTTP Host header.
    pub protocol: Option<DomainProtocol>,
}

/// A Domain Name Protocol (TS 29.122 clause 5.14.2.2.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DomainProtocol {
    /// The name that a DNS query asks for.
    DnsQname,
    /// The server name that a TLS client asks for.
    TlsSni,
}

/// What a flow has shown of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// The domain name, in lower case and without port.
    pub name: Option<String>,
    /// Where the name was found; `None`: in an HTTP Host header.
    pub protocol: Option<DomainProtocol>,
    /// The URL of a plain HTTP request, `http://` and host and path with query.
    pub url: Option<String>,
}

impl Applications {
    /// The applications of a configuration. PFDs of one application that come apart are put together.
    pub fn configured(applications: impl IntoIterator<Item = (ApplicationId, Vec<Pfd>)>) -> Self {
        let mut all = BTreeMap::new();
        for (id, pfds) in applications {
            let empty = || Application { pfds: Vec::new(), configured: true };
            all.entry(id).or_insert_with(empty).pfds.extend(pfds);
        }
        Self(all)
    }

    /// There is such an application.
    pub fn knows(&self, id: &ApplicationId) -> bool {
        self.0.contains_key(id)
    }

    /// The applications, with the number of their PFDs.
    pub fn iter(&self) -> impl Iterator<Item = (&ApplicationId, usize)> {
        self.0.iter().map(|(id, application)| (id, application.pfds.len()))
    }

    /// Octets of memory that those take that came over N4, at most: an estimate, which grows with each application and each value.
    pub fn octets(&self) -> usize {
        let provisioned = self.0.iter().filter(|(_, application)| !application.configured);
        provisioned.map(|(id, application)| ENTRY + id.0.len() + application.octets()).sum()
    }

    /// A packet is of this application: `fits` says which flow descriptions it fits, `seen` what its flow has shown.
    pub fn detects(
        &self,
        id: &ApplicationId,
        fits: impl Fn(&FlowDescription) -> bool,
        seen: Option<&Seen>,
    ) -> bool {
        self.0.get(id).is_some_and(|it| it.pfds.iter().any(|pfd| pfd.matches(&fits, seen)))
    }

    /// Something must be looked for in the payload to detect this application.
    pub fn needs_dpi(&self, id: &ApplicationId) -> bool {
        let looks = |pfd: &Pfd| !pfd.urls.is_empty() || !pfd.domains.is_empty();
        self.0.get(id).is_some_and(|it| it.pfds.iter().any(looks))
    }
}

impl Application {
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

#[cfg(test)]
mod tests;
