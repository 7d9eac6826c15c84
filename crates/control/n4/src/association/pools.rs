//! UE address pools that the UPF announces to SMFs (TS 29.244 clause 7.4.4.1.1).

use causeway_pfcp::{
    IpVersion, NetworkInstance, Octets, UeIpAddressPoolIdentity, UeIpAddressPoolInformation,
};
use causeway_rules::AddressPool;
use causeway_types::IpNet;

/// One entry for each pool with a name, by which an SMF can select it.
pub(super) fn pool_information(pools: &[AddressPool]) -> Vec<UeIpAddressPoolInformation<'_>> {
    let named = pools.iter().filter_map(|pool| pool.name.as_ref().map(|name| (pool, name)));
    let information = named.map(|(pool, name)| UeIpAddressPoolInformation {
        network_instance: Some(NetworkInstance::from(&pool.network)),
        ip_version: Some(match pool.range {
            IpNet::V4(_) => IpVersion::V4,
            IpNet::V6(_) => IpVersion::V6,
        }),
        ..UeIpAddressPoolInformation::new([UeIpAddressPoolIdentity(Octets(name.as_bytes()))])
    });
    information.collect()
}
