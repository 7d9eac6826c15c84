//! UP Function Features that the UPF advertises.

use causeway_model::Capabilities;
use causeway_pfcp::UpFeatures;
use causeway_rules::Catalogue;

/// Features that do not depend on the data plane.
const CONTROL_PLANE_FEATURES: UpFeatures = UpFeatures::FTUP
    .union(UpFeatures::BUNDL)
    .union(UpFeatures::BUCP)
    .union(UpFeatures::PDIU)
    .union(UpFeatures::DPDRA)
    .union(UpFeatures::FRRT)
    .union(UpFeatures::IP6PL)
    .union(UpFeatures::EPFAR);

/// Features that a UPF may advertise only if it allocates UE addresses (clauses 5.22.2 to 5.22.4).
const POOL_FEATURES: UpFeatures =
    UpFeatures::UEIP.union(UpFeatures::SSET).union(UpFeatures::MPAS).union(UpFeatures::RESPS);

/// UP Function Features (TS 29.244 clause 8.2.25): those of N4 itself, and those of the data plane. A request for a
/// feature that is not set here is rejected. `has_pools`: UE address pools are configured.
pub(crate) fn up_features(capabilities: &Capabilities, catalogue: &Catalogue, has_pools: bool) -> UpFeatures {
    let predefined = if catalogue.predefined.is_empty() { UpFeatures::empty() } else { UpFeatures::ADPDP };
    let by_pools = if has_pools { POOL_FEATURES } else { UpFeatures::empty() };
    let by_itself = CONTROL_PLANE_FEATURES;
    let by_data_plane = [
        (capabilities.end_marker, UpFeatures::EMPU),
        (capabilities.notification_delay, UpFeatures::DDND),
        (capabilities.buffering, UpFeatures::UDBC),
        (capabilities.extended_buffering, UpFeatures::DLBD),
        (capabilities.delivery_status, UpFeatures::DDDS),
        (capabilities.volume_measurement, UpFeatures::MNOP),
        (capabilities.application_detection, UpFeatures::PFDM | UpFeatures::PFDE),
        (capabilities.redirection, UpFeatures::TREU.union(UpFeatures::RATP)),
        (capabilities.header_enrichment, UpFeatures::HEEU),
        (capabilities.traffic_steering, UpFeatures::TRST),
        (capabilities.address_replacement, UpFeatures::IPREP),
        (capabilities.usage_control, USAGE_CONTROL),
        (capabilities.packet_rate, UpFeatures::CIOT),
        (capabilities.ethernet, UpFeatures::ETHAR),
        (capabilities.paging_by_dscp, UpFeatures::EPPPI),
    ];
    let there = by_data_plane.into_iter().filter(|(is_there, _)| *is_there);
    there.fold(by_itself | by_pools | predefined, |features, (_, feature)| features | feature)
}

/// Features of a data plane with usage control: quotas with their own FAR and validity time, a number of reports, and
/// inactivity by PDR.
const USAGE_CONTROL: UpFeatures =
    UpFeatures::QUOAC.union(UpFeatures::VTIME).union(UpFeatures::NORP).union(UpFeatures::UPIDP);

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a data plane without any optional capability, and one with all of them.
    // Output: only the features that need no data plane; one more bit for each capability that has one, and for the
    // pools.
    #[test]
    fn only_available_features_are_advertised() {
        let (none, catalogue) = (Capabilities::default(), Catalogue::default());
        assert_eq!(up_features(&none, &catalogue, false), CONTROL_PLANE_FEATURES);
        assert!(up_features(&none, &catalogue, true).contains(POOL_FEATURES));
        let all = Capabilities::all(1, 1);
        let buffering = UpFeatures::DDND | UpFeatures::UDBC | UpFeatures::DLBD | UpFeatures::DDDS;
        let qos = UpFeatures::CIOT | UpFeatures::EPPPI;
        let steering = UpFeatures::TREU | UpFeatures::RATP | UpFeatures::TRST | UpFeatures::IPREP;
        let more = UpFeatures::EMPU | UpFeatures::MNOP | buffering | qos | steering | USAGE_CONTROL;
        let more = more | UpFeatures::ETHAR | UpFeatures::PFDM | UpFeatures::PFDE | UpFeatures::HEEU;
        assert_eq!(up_features(&all, &catalogue, false), CONTROL_PLANE_FEATURES | more);
    }
}
