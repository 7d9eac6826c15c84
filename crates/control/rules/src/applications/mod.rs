//! PFCP PFD Management Request: replaces the PFDs of whole applications (TS 29.244 clauses 6.2.5 and 7.4.3).

use causeway_pfcp::{ApplicationIdsPfds, CountedList, Octets, PfdContents, PfdManagementRequest};

use causeway_model::{ApplicationId, Applications, Domain, DomainProtocol, FlowDescription, Pattern, Pfd};

use crate::rejection::refuse_if;
use crate::{Reason, ie};

/// Maximum number of applications.
const MAX_APPLICATIONS: usize = 4096;

/// Maximum number of values of all properties of all PFDs: bounds the memory that SMFs can use.
const MAX_VALUES: usize = 16_384;

/// Maximum number of regular expressions of one application. With the size of each and the length of the matched
/// text, this bounds the work for a packet of a PDR that refers to the application.
const MAX_EXPRESSIONS: usize = 16;

/// The applications after a request: those in it have the PFDs of the request only, or are removed if it has none; a
/// request without applications removes everything that the sender provisioned. `is_owned_by_other`: the application
/// was provisioned by another SMF.
///
/// # Errors
/// [`Reason`] for the first PFD that cannot be used, or the first change of another SMF's application. Nothing has
/// changed then.
pub fn manage_pfds(
    applications: &Applications,
    request: &PfdManagementRequest<'_>,
    is_owned_by_other: impl Fn(&ApplicationId) -> bool,
) -> Result<Applications, Reason> {
    let mut next = applications.clone();
    if request.application_ids_pfds.is_empty() {
        for (id, _) in applications.iter().filter(|(id, _)| !is_owned_by_other(id)) {
            next.provision(id.clone(), Vec::new());
        }
        return Ok(next);
    }
    let mut named = Vec::new();
    for group in request.application_ids_pfds.iter() {
        let id = ApplicationId::new(group.application_id.0);
        if named.contains(&id) {
            return incorrect(ie::APPLICATION_ID, "the request contains the application twice");
        }
        replace(&mut next, &id, &group)?;
        if is_owned_by_other(&id) && next.pfds(&id) != applications.pfds(&id) {
            return Err(Reason::OtherSmfApplication(id));
        }
        named.push(id);
    }
    check_limits(&next)?;
    Ok(next)
}

fn replace(
    applications: &mut Applications,
    id: &ApplicationId,
    group: &ApplicationIdsPfds<'_>,
) -> Result<(), Reason> {
    if id.octets().is_empty() {
        return incorrect(ie::APPLICATION_ID, "it is empty");
    }
    if applications.is_configured(id) {
        return incorrect(ie::APPLICATION_ID, "the application is configured in the UPF");
    }
    let contexts = group.pfd_contexts.iter().collect::<Vec<_>>();
    let contents = contexts.iter().flat_map(|context| context.pfd_contents.iter());
    let pfds: Vec<_> = contents.map(|contents| pfd(&contents)).collect::<Result<_, _>>()?;
    let patterns = pfds.iter().flat_map(|pfd| pfd.urls.iter().chain(pfd.domains.iter().map(|it| &it.name)));
    if patterns.filter(|pattern| pattern.is_expression()).count() > MAX_EXPRESSIONS {
        return Err(Reason::TooMany {
            what: "regular expressions of an application",
            limit: MAX_EXPRESSIONS,
        });
    }
    applications.provision(id.clone(), pfds);
    Ok(())
}

fn check_limits(applications: &Applications) -> Result<(), Reason> {
    if applications.iter().count() > MAX_APPLICATIONS {
        return Err(Reason::TooMany { what: "applications", limit: MAX_APPLICATIONS });
    }
    if applications.values() > MAX_VALUES {
        return Err(Reason::TooMany { what: "values in PFDs", limit: MAX_VALUES });
    }
    Ok(())
}

/// # Errors
/// If a property is malformed or not supported, and if there is none: the PFD would match every packet.
fn pfd(contents: &PfdContents<'_>) -> Result<Pfd, Reason> {
    refuse_if(contents.custom.is_some(), ie::PFD_CONTENTS, "custom PFD content")?;
    let flows = values(contents.flow_description, contents.additional_flow_descriptions)?;
    let urls = values(contents.url, contents.additional_urls)?;
    let pfd = Pfd {
        flows: flows.into_iter().map(flow).collect::<Result<_, _>>()?,
        urls: urls.into_iter().map(|url| pattern(url, Pattern::url)).collect::<Result<_, _>>()?,
        domains: domains(contents)?,
    };
    match pfd == Pfd::default() {
        true => incorrect(ie::PFD_CONTENTS, "it has no property"),
        false => Ok(pfd),
    }
}

/// The first value of a property, and the additional ones.
fn values<'a>(first: Option<Octets<'a>>, more: Option<CountedList<'a>>) -> Result<Vec<Octets<'a>>, Reason> {
    let more = more.map(|list| (list.0.len(), list.iter().collect::<Vec<_>>()));
    let (len, more) = more.unwrap_or_default();
    if more.iter().map(|value| value.len() + 2).sum::<usize>() != len {
        return incorrect(ie::PFD_CONTENTS, "an additional value is truncated");
    }
    Ok(first.into_iter().chain(more).collect())
}

fn flow(text: Octets<'_>) -> Result<FlowDescription, Reason> {
    let parsed = text.as_str().and_then(|text| text.parse().ok());
    let reason = "a flow description is malformed or not supported";
    parsed.ok_or(Reason::Incorrect { ie: ie::PFD_CONTENTS, why: reason })
}

fn pattern<E>(text: Octets<'_>, read: impl Fn(&str) -> Result<Pattern, E>) -> Result<Pattern, Reason> {
    let reason = "neither a name or URL nor a regular expression";
    text.as_str()
        .and_then(|text| read(text).ok())
        .ok_or(Reason::Incorrect { ie: ie::PFD_CONTENTS, why: reason })
}

/// The domain names. An additional one is followed by its protocol, which may be empty.
fn domains(contents: &PfdContents<'_>) -> Result<Vec<Domain>, Reason> {
    let mut all = Vec::new();
    match (contents.domain_name, contents.domain_name_protocol) {
        (Some(name), found) => all.push(domain(name, found)?),
        (None, Some(_)) => {
            return incorrect(ie::PFD_CONTENTS, "a domain name protocol without a domain name");
        }
        (None, None) => {}
    }
    let more = values(None, contents.additional_domain_names)?;
    for pair in more.chunks(2) {
        let &[name, found] = pair else {
            return incorrect(ie::PFD_CONTENTS, "an additional domain name without its protocol");
        };
        all.push(domain(name, Some(found).filter(|it| !it.is_empty()))?);
    }
    Ok(all)
}

fn domain(name: Octets<'_>, found: Option<Octets<'_>>) -> Result<Domain, Reason> {
    Ok(Domain { name: pattern(name, Pattern::domain)?, protocol: found.map(protocol).transpose()? })
}

/// By the names of TS 29.122, or by the numbers of TS 29.251.
fn protocol(octets: Octets<'_>) -> Result<DomainProtocol, Reason> {
    let name = octets.to_ascii_uppercase();
    match &*name {
        b"DNS_QNAME" | [0] | [0, 0, 0, 0] => Ok(DomainProtocol::DnsQname),
        b"TLS_SNI" | [1] | [0, 0, 0, 1] => Ok(DomainProtocol::TlsSni),
        b"TLS_SAN" | b"TLS_SCN" | [2 | 3] | [0, 0, 0, 2 | 3] => {
            let what = "domain names in certificates";
            Err(Reason::Unsupported { ie: ie::PFD_CONTENTS, what })
        }
        _ => incorrect(ie::PFD_CONTENTS, "no release defines this domain name protocol"),
    }
}

fn incorrect<T>(ie: u16, reason: &'static str) -> Result<T, Reason> {
    Err(Reason::Incorrect { ie, why: reason })
}

#[cfg(test)]
mod tests;
