//! Establishments that may conflict with sessions of other parts.

use std::net::Ipv4Addr;

use causeway_pfcp::*;
use causeway_types::{DualIp, FSeid};

use crate::fixture::{Smf, establishment};
use crate::numbers::f_seid_in;

/// The address of a UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ue {
    /// That of [`establishment`], which follows from the CP F-SEID.
    Own,
    /// The UPF chooses it from its pools.
    Chosen,
    /// This one.
    At(Ipv4Addr),
}

/// What a session is to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) ue: Ue,
    /// The TEID of the uplink, if the SMF chooses it.
    pub(crate) teid: Option<u32>,
    /// A framed route of the downlink.
    pub(crate) route: Option<&'static str>,
}

/// A UE with the address that follows from the CP F-SEID, and a TEID that the UPF chooses.
pub(crate) const USUAL: Wanted = Wanted { ue: Ue::Own, teid: None, route: None };

/// An establishment of such a session.
pub(crate) fn with(smf: &Smf, cp: FSeid, wanted: Wanted) -> SessionEstablishmentRequest<'static> {
    let request = establishment(smf.node_id(), cp);
    let change = |pdr: CreatePdr<'static>| {
        let mut pdi = pdr.pdi;
        let of_wanted = |ue: UeIpAddress| match wanted.ue {
            Ue::Own => ue,
            Ue::Chosen => UeIpAddress { ipv4: None, choose_ipv4: true, ..ue },
            Ue::At(ip) => UeIpAddress { ipv4: Some(ip), ..ue },
        };
        pdi.ue_ip_addresses = pdi.ue_ip_addresses.iter().map(of_wanted).collect();
        let addr = DualIp::from(Ipv4Addr::new(192, 0, 2, 100));
        let of_smf = wanted.teid.map(|teid| FTeid::Assigned { teid, addr });
        pdi.local_f_teid = pdi.local_f_teid.map(|chosen| of_smf.unwrap_or(chosen));
        if pdi.source_interface == SourceInterface::Core {
            pdi.framed_routes = wanted.route.iter().map(|route| FramedRoute(route.as_bytes())).collect();
        }
        CreatePdr { pdi, ..pdr }
    };
    SessionEstablishmentRequest { create_pdrs: request.create_pdrs.iter().map(change).collect(), ..request }
}

/// The same with a new CP F-SEID, for a session of this part.
pub(crate) fn new_in(smf: &mut Smf, part: usize, wanted: Wanted) -> SessionEstablishmentRequest<'static> {
    let cp = f_seid_in(smf, part);
    with(smf, cp, wanted)
}
