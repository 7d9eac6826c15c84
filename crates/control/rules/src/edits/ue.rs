//! Resolves the UE address of a PDI (TS 29.244 clause 5.21.3).

use causeway_collections::SortedSet;
use causeway_types::{IpNet, Ipv6Net, NetworkInstance, PdrId};

use crate::addresses::{AddressReservation, ChooseError};
use crate::{Reason, SessionRules};
use causeway_model::{LocalEndpoints, UeAddress};

use super::{EndpointId, RequestedChanges, UeChoice};

/// The UE addresses that the UPF chose, by the rule that requested them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ChosenUes {
    pub(crate) created: Vec<(PdrId, UeAddress)>,
    pub(crate) updated: Vec<(PdrId, UeAddress)>,
    pub(crate) endpoints: Vec<(EndpointId, UeAddress)>,
}

/// Chooses UE addresses for the PDIs of one message.
///
/// A session has one chosen address of each IP version (and prefix length) in a data network: every PDR that
/// requests one gets the same, in the same message and later.
pub(super) struct UeResolver<'a, 'b> {
    pub(super) endpoints: &'a LocalEndpoints,
    pub(super) reservation: &'a mut AddressReservation<'b>,
    pub(super) chosen: &'a mut SortedSet<(IpNet, NetworkInstance)>,
    /// The data network of PDIs without a network instance.
    pub(super) home: Option<NetworkInstance>,
}

/// The data network whose pool serves PDIs without a network instance, or with that of the access: that of another
/// PDI of the message, or of an address of the session, or the default.
pub(super) fn home_network(
    changes: &RequestedChanges,
    chosen: &SortedSet<(IpNet, NetworkInstance)>,
    endpoints: &LocalEndpoints,
    reservation: &AddressReservation<'_>,
) -> Option<NetworkInstance> {
    let created = changes.pdrs.create.iter().map(|draft| &draft.pdi);
    let updated = changes.pdrs.update.iter().filter_map(|update| update.pdi.as_ref());
    let choosing = created.chain(updated).filter(|pdi| pdi.ue_choice.is_some());
    let of_pdis = choosing.filter_map(|pdi| pdi.network_instance.as_ref());
    let endpoints_choosing = changes.endpoints.create.iter().filter(|draft| draft.rest.ue.choice.is_some());
    let of_endpoints = endpoints_choosing.filter_map(|draft| draft.rest.network_instance.as_ref());
    let named = of_pdis.chain(of_endpoints);
    let mut pooled = named.filter(|network| reservation.is_pooled(network));
    let current = || chosen.first().map(|(_, network)| network);
    pooled.next().or_else(current).or_else(|| endpoints.networks.first()).cloned()
}

/// The data network that all rules of a session name, after its FARs have changed. `None`: several, or none.
pub(super) fn only_network(
    session: &SessionRules,
    changes: &RequestedChanges,
    endpoints: &LocalEndpoints,
) -> Option<NetworkInstance> {
    let forwardings = session.rules.fars.values().filter_map(|far| far.forwarding.as_ref());
    let of_fars = forwardings.filter_map(|forwarding| forwarding.network_instance.as_ref());
    let created = changes.pdrs.create.iter().map(|draft| &draft.pdi);
    let of_created = created.filter_map(|pdi| pdi.network_instance.as_ref());
    let of_pdrs = session.rules.pdrs.values().filter_map(|pdr| pdr.pdi.network_instance.as_ref());
    let all = of_fars.chain(of_created).chain(of_pdrs);
    let mut named = all.filter(|network| endpoints.networks.contains(network));
    let first = named.next()?;
    named.all(|other| other == first).then(|| first.clone())
}

impl UeResolver<'_, '_> {
    /// The UE address of a PDI that replaces one with `current`. A requested part that exists already stays.
    pub(super) fn resolve(
        &mut self,
        given: Option<UeAddress>,
        choice: Option<&UeChoice>,
        instance: Option<&NetworkInstance>,
        current: Option<UeAddress>,
    ) -> Result<Option<UeAddress>, Reason> {
        let Some(choice) = choice else { return Ok(given) };
        let network = self.network(instance)?;
        let given = given.or(current);
        let mut ue = UeAddress { v4: None, v6: None, side: choice.side };
        (ue.v4, ue.v6) = given.map_or((None, None), |given| (given.v4, given.v6));
        if choice.v4 && ue.v4.is_none() {
            ue.v4 = match self.choose(&network, choice, None)? {
                IpNet::V4(net) => Some(net.addr()),
                IpNet::V6(_) => None,
            };
        }
        if let Some(len) = choice.v6.filter(|_| ue.v6.is_none()) {
            ue.v6 = match self.choose(&network, choice, Some(len))? {
                IpNet::V6(net) => Some(net),
                IpNet::V4(_) => None,
            };
        }
        Ok(Some(ue))
    }

    fn network(&self, instance: Option<&NetworkInstance>) -> Result<NetworkInstance, Reason> {
        match instance {
            Some(network) if self.reservation.is_pooled(network) || self.endpoints.is_network(network) => {
                Ok(network.clone())
            }
            _ => self.home.clone().ok_or(Reason::NoAddressPool),
        }
    }

    /// The session's address if it has one, otherwise a new one. `v6` is the prefix length; `None` means IPv4.
    fn choose(
        &mut self,
        network: &NetworkInstance,
        choice: &UeChoice,
        v6: Option<u8>,
    ) -> Result<IpNet, Reason> {
        let fits = |net: &IpNet| match net {
            IpNet::V4(_) => v6.is_none(),
            IpNet::V6(net) => v6 == Some(net.prefix_len()),
        };
        let current = self.chosen.iter().find(|(net, of)| of == network && fits(net));
        if let Some((net, _)) = current {
            return Ok(*net);
        }
        let names = match (&choice.pools[..], v6) {
            ([v4, _, ..], None) => std::slice::from_ref(v4),
            ([_, v6, ..], Some(_)) => std::slice::from_ref(v6),
            (all, _) => all,
        };
        let net = match v6 {
            None => self.reservation.choose_v4(network, names),
            Some(len) => self.reservation.choose_v6(network, len, names),
        };
        let net = net.map_err(|error| refused(error, network))?;
        self.chosen.insert((net, network.clone()));
        Ok(net)
    }
}

fn refused(error: ChooseError, network: &NetworkInstance) -> Reason {
    match error {
        ChooseError::NoPool => Reason::NoAddressPool,
        ChooseError::UnknownPool => Reason::UnknownPool,
        ChooseError::Occupied => Reason::AddressesOccupied(network.clone()),
    }
}

/// The default prefix length of a UE.
pub(crate) const DEFAULT_PREFIX: u8 = 64;

/// A prefix of another length than the default.
pub(crate) fn is_unusual(net: Ipv6Net) -> bool {
    net.prefix_len() != DEFAULT_PREFIX
}
