//! A cache of recently used compiled profiles.

use std::sync::Arc;

use causeway_slowpath::SlowPath;
use causeway_slowpath::lease::{ProfileParams, ProfileRules};
use causeway_types::Seid;
use foldhash::fast::RandomState;

use super::CompiledProfile;

/// The number of profiles in the cache.
const CACHE_SIZE: usize = 1024;

/// Cached profiles of sessions that share rules with others; the hash of a profile determines its slot.
#[derive(Debug)]
pub(crate) struct ProfileCache {
    hasher: RandomState,
    places: Vec<Option<CachedProfile>>,
}

#[derive(Debug)]
struct CachedProfile {
    hash: u64,
    profile_rules: ProfileRules,
    profile: Arc<CompiledProfile>,
}

/// A session whose profile others may share.
pub(crate) struct ProfileCandidate {
    pub(crate) params: ProfileParams,
    hash: u64,
}

impl Default for ProfileCache {
    fn default() -> Self {
        let mut places = Vec::new();
        places.resize_with(CACHE_SIZE, || None);
        Self { hasher: RandomState::default(), places }
    }
}

impl ProfileCache {
    /// `None`: the session cannot share a profile. The caller has checked that no other session has its UE addresses.
    pub(crate) fn candidate(&self, slow: &SlowPath, seid: Seid) -> Option<ProfileCandidate> {
        if slow.asks_for_class(seid) {
            return None;
        }
        slow.profile_params(seid, &self.hasher).map(|(params, hash)| ProfileCandidate { params, hash })
    }

    /// The cached profile that matches this session.
    pub(crate) fn find(
        &self,
        slow: &SlowPath,
        seid: Seid,
        candidate: &ProfileCandidate,
    ) -> Option<Arc<CompiledProfile>> {
        let kind = self.places.get(candidate.hash as usize % CACHE_SIZE)?.as_ref()?;
        let is_it = kind.hash == candidate.hash && slow.has_profile(seid, &kind.profile_rules);
        if is_it {
            let renewed = || kind.profile.offload_spec().with_params(&candidate.params);
            debug_assert_eq!(slow.offload_spec(seid), Some(renewed()));
        }
        is_it.then(|| Arc::clone(&kind.profile))
    }

    /// Forgets all profiles, and returns them.
    pub(crate) fn clear(&mut self) -> Vec<Arc<CompiledProfile>> {
        self.places.iter_mut().filter_map(Option::take).map(|held| held.profile).collect()
    }

    /// Stores the profile of a session. Returns the profile that it replaces.
    pub(crate) fn insert(
        &mut self,
        slow: &SlowPath,
        seid: Seid,
        candidate: &ProfileCandidate,
        profile: &Arc<CompiledProfile>,
    ) -> Option<Arc<CompiledProfile>> {
        let place = self.places.get_mut(candidate.hash as usize % CACHE_SIZE)?;
        let likeness = slow.profile_rules(seid)?;
        let kind =
            CachedProfile { hash: candidate.hash, profile_rules: likeness, profile: Arc::clone(profile) };
        place.replace(kind).map(|held| held.profile)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use causeway_dataplane::{Dataplane, GtpuEndpoint, Network, Topology};
    use causeway_model::{
        Far, Forwarding, HeaderRemoval, Pdi, Pdr, Plan, RemovedHeader, RuleSet, UeAddress, UeSide,
    };
    use causeway_slowpath::Limits;
    use causeway_types::{DualIp, FTeid, FarId, Interface, NetworkInstance, PdrId, Precedence, Teid, Time};

    use super::*;
    use crate::FastPath;

    const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

    fn plane() -> FastPath {
        let pools = "10.0.0.0/8".parse().into_iter().collect();
        let topology = Topology {
            gtpu: vec![GtpuEndpoint::new(DualIp::from(UPF))],
            networks: vec![Network::new(NetworkInstance::new("internet"), pools)],
            ..Topology::default()
        };
        FastPath::new(topology, Limits { max_sessions: 8, ..Limits::default() }).unwrap()
    }

    fn tunnel(teid: u32, ip: Ipv4Addr) -> FTeid {
        FTeid { teid: Teid::new(teid).unwrap(), addr: DualIp::from(ip) }
    }

    /// Uplink to the data network, downlink to a gNB.
    fn rules(ue: u8, precedence: u32, gnb: u8) -> RuleSet {
        let address = |side| Some(UeAddress { v4: Some(Ipv4Addr::new(10, 0, 0, ue)), v6: None, side });
        let mut rules = RuleSet::default();
        let removal = HeaderRemoval { header: RemovedHeader::GtpuIpv4, deletes_container: false };
        let uplink = Pdi {
            tunnel: Some(tunnel(ue.into(), UPF)),
            ue: address(UeSide::Source),
            ..Pdi::new(Interface::Access)
        };
        let downlink = Pdi { ue: address(UeSide::Destination), ..Pdi::new(Interface::Core) };
        let precedence = Precedence(precedence);
        let uplink = Pdr { removal: Some(removal), precedence, ..Pdr::new(PdrId(1), uplink, FarId(1)) };
        rules.pdrs.extend([
            (PdrId(1), uplink),
            (PdrId(2), Pdr { precedence, ..Pdr::new(PdrId(2), downlink, FarId(2)) }),
        ]);
        let gnb = tunnel(0x100 + u32::from(ue), Ipv4Addr::new(198, 51, 100, gnb));
        rules.fars.extend([
            (FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core))),
            (FarId(2), Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, gnb))),
        ]);
        rules
    }

    // Input:  two sessions that differ in UE address and TEIDs, others with another precedence and gNB; all are
    //         removed.
    // Output: the first two use one profile, the others their own; each frees its flow entries.
    #[test]
    fn sessions_of_one_profile_share_its_compilation() {
        let mut plane = plane();
        let cases = [(1, rules(1, 7, 1)), (2, rules(2, 7, 1)), (3, rules(3, 8, 1)), (4, rules(4, 7, 2))];
        let to_network = Arc::clone(cases[0].1.fars.get_shared(&FarId(1)).unwrap());
        let patterns = cases.map(|(seid, mut rules)| {
            // As the control plane shares rules without session parameters.
            rules.fars.insert(FarId(1), Arc::clone(&to_network));
            plane.apply(Time::from_secs(1), &Plan::install(Seid(seid), rules.clone())).unwrap();
            plane.profile_of(Seid(seid)).unwrap()
        });
        let [one, two, three, four] = &patterns;
        assert!(Arc::ptr_eq(one, two));
        assert!(!Arc::ptr_eq(one, three) && !Arc::ptr_eq(one, four) && !Arc::ptr_eq(three, four));
        drop(patterns);
        for seid in 1..=4 {
            plane.apply(Time::from_secs(2), &Plan::removal(Seid(seid))).unwrap();
            assert!(plane.profile_of(Seid(seid)).is_none());
        }
        assert!(!plane.slow_path.has_destination(IpAddr::from([10, 0, 0, 1])));
    }
}
