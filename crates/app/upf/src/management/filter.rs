//! The sessions that a client asks for.

use std::net::IpAddr;

use causeway_n4::SessionView;
use causeway_types::{FSeid, NetworkInstance, NodeId, Seid, Teid};

/// Which sessions a client asks for. Each part that is present must match.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SessionFilter {
    /// The UPF's SEID.
    pub(crate) seid: Option<Seid>,
    /// The SMF's SEID, and the address in its F-SEID.
    pub(crate) cp: Option<(Seid, Option<IpAddr>)>,
    /// A UE address, or one in a prefix or framed route of the UE.
    pub(crate) ue: Option<IpAddr>,
    /// The TEID of a local tunnel.
    pub(crate) teid: Option<Teid>,
    /// A network instance of the rules.
    pub(crate) dnn: Option<NetworkInstance>,
    /// An identity of the user.
    pub(crate) user: Option<String>,
    /// The Node ID of the SMF.
    pub(crate) smf: Option<NodeId>,
    /// The address of a GTP-U peer.
    pub(crate) gnb: Option<IpAddr>,
}

impl SessionFilter {
    /// An index may find the sessions.
    pub(crate) const fn is_indexed(&self) -> bool {
        self.seid.is_some()
            || self.teid.is_some()
            || self.ue.is_some()
            || matches!(self.cp, Some((_, Some(_))))
    }

    /// The CP F-SEID, if it is complete.
    pub(crate) fn cp_f_seid(&self) -> Option<FSeid> {
        let (seid, address) = self.cp?;
        Some(FSeid { seid, addr: address?.into() })
    }

    /// The session has all that is asked for. O(rules).
    pub(crate) fn admits(&self, view: &SessionView<'_>) -> bool {
        let has_cp = |(seid, address): (Seid, Option<IpAddr>)| {
            view.cp.seid == seid && address.is_none_or(|address| view.cp.addr.contains(address))
        };
        self.seid.is_none_or(|seid| view.seid == seid)
            && self.cp.is_none_or(has_cp)
            && self.smf.as_ref().is_none_or(|node| view.node == node)
            && self.admits_user(view)
            && self.admits_rules(view)
    }

    fn admits_user(&self, view: &SessionView<'_>) -> bool {
        let has = |identity: &String| view.user().is_some_and(|user| user.contains(identity));
        self.user.as_ref().is_none_or(has)
    }

    fn admits_rules(&self, view: &SessionView<'_>) -> bool {
        if self.ue.is_none() && self.teid.is_none() && self.dnn.is_none() && self.gnb.is_none() {
            return true;
        }
        let rules = view.rules();
        let pdis = || rules.pdrs.values().map(|pdr| &pdr.pdi);
        let forwardings = || rules.fars.values().filter_map(|far| far.forwarding.as_ref());
        self.ue.is_none_or(|ue| pdis().any(|pdi| pdi.names_ue() && pdi.covers_ue(ue)))
            && self
                .teid
                .is_none_or(|teid| pdis().any(|pdi| pdi.tunnel.is_some_and(|tunnel| tunnel.teid == teid)))
            && self.dnn.as_ref().is_none_or(|dnn| {
                let mut of_pdis = pdis().filter_map(|pdi| pdi.network_instance.as_ref());
                let mut of_fars = forwardings().filter_map(|forwarding| forwarding.network_instance.as_ref());
                of_pdis.any(|network| network == dnn) || of_fars.any(|network| network == dnn)
            })
            && self.gnb.is_none_or(|gnb| {
                let mut tunnels = forwardings().filter_map(|forwarding| forwarding.tunnel());
                tunnels.any(|tunnel| tunnel.addr.contains(gnb))
            })
    }
}
