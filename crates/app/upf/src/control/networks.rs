//! The data networks of the configuration: the sessions of each, and UE addresses outside their subnets.

use std::collections::BTreeSet;
use std::net::IpAddr;

use causeway_model::{Op, Plan, ProfiledSession, RuleSet, SessionChange};
use causeway_n4::ApplyId;
use causeway_types::{IpNet, NetworkInstance, Qfi};

use crate::config::{Session, Upf};
use crate::management::NetworkStatus;

/// Data networks that are distinguished, at most; sessions of all others count as [`OTHER`].
const MAX_NETWORKS: usize = 100;

/// The name of all other networks in metrics.
const OTHER: &str = "other";

/// A data network of the configuration.
#[derive(Debug)]
struct Network {
    name: NetworkInstance,
    subnets: Vec<IpNet>,
    count: Count,
}

/// What is counted of a data network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Count {
    sessions: u64,
    qos_flows: u64,
}

/// What is known of a session: its network, and its plan in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Absent,
    Installing(u8),
    Present(u8),
    Removing(u8),
}

/// The data networks, with the number of sessions and QoS flows of each. Takes three octets for each session.
#[derive(Debug)]
pub(super) struct Networks {
    networks: Vec<Network>,
    /// Sessions of no network of the configuration.
    others: Count,
    /// By the index of the session.
    sessions: Vec<State>,
    /// The QoS flows of each session, by its index.
    qos_flows: Vec<u8>,
    /// The indices of the sessions whose plan in flight changes QERs.
    changing: BTreeSet<u32>,
}

/// A UE address outside the subnets of its data network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OutsideAddress {
    pub(super) ue: IpAddr,
    pub(super) dnn: NetworkInstance,
}

impl Networks {
    pub(super) fn new(upf: &Upf) -> Self {
        let mut networks: Vec<Network> = Vec::new();
        let ip = upf.session.iter().map(|session| (&session.dnn, Some(session.subnet)));
        let ethernet = upf.ethernet.iter().map(|network| (&network.dnn, None));
        for (dnn, subnet) in ip.chain(ethernet) {
            let name = NetworkInstance::new(dnn);
            let known = networks.iter().position(|network| network.name == name);
            let at = known.unwrap_or_else(|| {
                networks.push(Network { name, subnets: Vec::new(), count: Count::default() });
                networks.len() - 1
            });
            if let Some(network) = networks.get_mut(at) {
                network.subnets.extend(subnet);
            }
        }
        networks.truncate(MAX_NETWORKS);
        Self {
            networks,
            others: Count::default(),
            sessions: Vec::new(),
            qos_flows: Vec::new(),
            changing: BTreeSet::new(),
        }
    }

    /// The subnets are those of these pools from now on. Networks stay.
    pub(super) fn set_pools<'a>(&mut self, sessions: impl Iterator<Item = &'a Session>) {
        self.networks.iter_mut().for_each(|network| network.subnets.clear());
        for session in sessions {
            let name = NetworkInstance::new(&session.dnn);
            if let Some(network) = self.networks.iter_mut().find(|network| network.name == name) {
                network.subnets.push(session.subnet);
            }
        }
    }

    /// The numbers of sessions and QoS flows of each network.
    pub(super) fn status(&self) -> Vec<NetworkStatus> {
        let status = |dnn: &str, Count { sessions, qos_flows }| NetworkStatus {
            dnn: dnn.to_owned(),
            sessions,
            qos_flows,
        };
        let of = |network: &Network| status(network.name.as_str(), network.count);
        self.networks.iter().map(of).chain([status(OTHER, self.others)]).collect()
    }

    /// A plan is submitted to the data plane.
    pub(super) fn submitted(&mut self, id: ApplyId, plan: &Plan) {
        let mut qos_flows = None;
        let next = match &plan.change {
            SessionChange::Install(session) => {
                let rules = session.profile().rules();
                qos_flows = Some(qos_flows_of(rules));
                State::Installing(self.index_of(rules))
            }
            SessionChange::Remove => match self.state(id) {
                State::Present(network) | State::Removing(network) => State::Removing(network),
                State::Installing(_) | State::Absent => State::Absent,
            },
            SessionChange::Update(ops) => {
                if ops.iter().any(|op| matches!(op, Op::PutQer(_) | Op::RemoveQer(_))) {
                    self.changing.insert(id.session_index());
                }
                return;
            }
            SessionChange::Rebind(_) => return,
        };
        self.set(id.session_index(), next, qos_flows);
    }

    /// Sets the state of a session, and its QoS flows if they are given.
    fn set(&mut self, index: u32, next: State, qos_flows: Option<u8>) {
        let index = index as usize;
        if index >= self.sessions.len() {
            self.sessions.resize(index + 1, State::Absent);
            self.qos_flows.resize(index + 1, 0);
        }
        if let Some(state) = self.sessions.get_mut(index) {
            *state = next;
        }
        if let (Some(known), Some(qos_flows)) = (self.qos_flows.get_mut(index), qos_flows) {
            *known = qos_flows;
        }
    }

    /// The data plane has applied a plan, or refused it. `is_gone`: after a removal the session does not exist.
    pub(super) fn applied(&mut self, id: ApplyId, is_applied: bool, is_gone: bool) {
        let next = match self.state(id) {
            State::Installing(network) if is_applied => {
                self.add(network, id.session_index());
                State::Present(network)
            }
            State::Removing(network) if is_gone => {
                let qos_flows = self.qos_flows_at(id.session_index());
                let count = self.count_mut(network);
                count.sessions -= 1;
                count.qos_flows -= qos_flows;
                State::Absent
            }
            State::Installing(_) => State::Absent,
            State::Removing(network) => State::Present(network),
            State::Present(_) | State::Absent => return,
        };
        self.set(id.session_index(), next, None);
    }

    /// A plan that is applied may have changed the QoS flows of its session: [`Networks::set_qos_flows`] follows.
    pub(super) fn take_change(&mut self, id: ApplyId) -> bool {
        self.changing.remove(&id.session_index())
    }

    /// A session has these rules now.
    pub(super) fn set_qos_flows(&mut self, index: u32, rules: &RuleSet) {
        let Some(&(State::Present(network) | State::Removing(network))) = self.sessions.get(index as usize)
        else {
            return;
        };
        let (old, new) = (self.qos_flows_at(index), qos_flows_of(rules));
        let count = self.count_mut(network);
        count.qos_flows = count.qos_flows - old + u64::from(new);
        if let Some(known) = self.qos_flows.get_mut(index as usize) {
            *known = new;
        }
    }

    fn qos_flows_at(&self, index: u32) -> u64 {
        self.qos_flows.get(index as usize).copied().map_or(0, u64::from)
    }

    /// Counts a session that is there.
    fn add(&mut self, network: u8, index: u32) {
        let qos_flows = self.qos_flows_at(index);
        let count = self.count_mut(network);
        count.sessions += 1;
        count.qos_flows += qos_flows;
    }

    /// The first UE address of a new session that no subnet of its network contains.
    pub(super) fn address_outside(&self, session: &ProfiledSession) -> Option<OutsideAddress> {
        let network = self.networks.get(usize::from(self.index_of(session.profile().rules())))?;
        let is_outside =
            |ue: &IpAddr| !network.subnets.iter().any(|subnet| subnet.contains(&IpNet::from(*ue)));
        let ue = ue_addresses(session).find(|ue| !network.subnets.is_empty() && is_outside(ue))?;
        Some(OutsideAddress { ue, dnn: network.name.clone() })
    }

    fn state(&self, id: ApplyId) -> State {
        self.sessions.get(id.session_index() as usize).copied().unwrap_or_default()
    }

    fn count_mut(&mut self, network: u8) -> &mut Count {
        self.networks.get_mut(usize::from(network)).map_or(&mut self.others, |network| &mut network.count)
    }

    /// The index of the network of a session; [`u8::MAX`] for one that is not in the configuration.
    fn index_of(&self, rules: &RuleSet) -> u8 {
        let index = match rules.data_network() {
            Some(name) => self.networks.iter().position(|network| network.name == *name),
            // Without a network instance there is one network, or no answer.
            None => (self.networks.len() == 1).then_some(0),
        };
        index.and_then(|index| u8::try_from(index).ok()).unwrap_or(u8::MAX)
    }
}

/// The sums of the numbers of several parts, each of which counts other sessions and says what [`Networks::status`] does. All are of one
/// configuration, so that they have its networks, in its order; the sums have them, too. Without a part, nothing.
pub(super) fn sum_of_parts(parts: impl IntoIterator<Item = Vec<NetworkStatus>>) -> Vec<NetworkStatus> {
    let add = |mut sums: Vec<NetworkStatus>, part: Vec<NetworkStatus>| {
        for (sum, NetworkStatus { dnn: _, sessions, qos_flows }) in sums.iter_mut().zip(part) {
            sum.sessions += sessions;
            sum.qos_flows += qos_flows;
        }
        sums
    };
    parts.into_iter().reduce(add).unwrap_or_default()
}

/// The number of QFIs of its QERs; at most 64.
fn qos_flows_of(rules: &RuleSet) -> u8 {
    let bit = |bits: u64, qfi: Qfi| bits | 1 << qfi.value();
    let all = rules.qers.values().filter_map(|qer| qer.qfi).fold(0, bit);
    all.count_ones() as u8
}

/// The UE addresses of a new session. For an IPv6 prefix, its first address.
fn ue_addresses(session: &ProfiledSession) -> impl Iterator<Item = IpAddr> {
    let own = session.params().ue.filter(|_| session.is_shared()).map(IpAddr::V4);
    let pdrs = session.profile().rules().pdrs.values().filter_map(|pdr| pdr.pdi.ue);
    let of_rules = pdrs.flat_map(move |ue| {
        let v4 = ue.v4.map(IpAddr::V4).filter(|_| own.is_none());
        [v4, ue.v6.map(|net| IpAddr::V6(net.addr()))].into_iter().flatten()
    });
    own.into_iter().chain(of_rules)
}

#[cfg(test)]
mod tests {
    use causeway_model::{Far, Pdi, Pdr, Qer};
    use causeway_types::{FarId, Interface, PdrId, QerId, Seid};

    use super::*;
    use crate::config::{Config, Overrides};

    fn networks() -> Networks {
        let text = "{upf: {session: [{subnet: 10.45.0.0/16, dnn: internet}, \
                    {subnet: 2001:db8:cafe::/48, gateway: 2001:db8:cafe::1, dnn: internet}, \
                    {subnet: 10.46.0.0/16, gateway: 10.46.0.1, dnn: ims, dev: b}]}}";
        Networks::new(&Config::parse(None, text, &Overrides::default()).unwrap().upf)
    }

    /// A session with this UE address in that network.
    fn session(ue: &str, dnn: &str) -> Plan {
        use causeway_model::{UeAddress, UeSide};
        let (v4, v6) = match ue.parse::<IpAddr>().unwrap() {
            IpAddr::V4(ip) => (Some(ip), None),
            IpAddr::V6(ip) => (None, Some(causeway_types::Ipv6Net::new_assert(ip, 64))),
        };
        let mut rules = RuleSet::default();
        let pdi = Pdi {
            network_instance: Some(NetworkInstance::new(dnn)),
            ue: Some(UeAddress { v4, v6, side: UeSide::Destination }),
            ..Pdi::new(Interface::Core)
        };
        rules.pdrs.insert(PdrId(1), Pdr::new(PdrId(1), pdi, FarId(1)));
        rules.fars.insert(FarId(1), Far::new(FarId(1), causeway_model::ApplyAction::Drop));
        Plan::install(Seid(1), rules)
    }

    fn counts(networks: &Networks) -> Vec<u64> {
        networks.status().iter().map(|status| status.sessions).collect()
    }

    // Input:  sessions of two networks and of an unknown one; one is refused; one is removed, at first without success, and
    //         once more when it is gone.
    // Output: each counts from its success to the success of its removal, under its own network or `other`.
    #[test]
    fn sessions_are_counted_by_network() {
        let mut networks = networks();
        let names: Vec<String> = networks.status().into_iter().map(|status| status.dnn).collect();
        assert_eq!(names, ["internet", "ims", OTHER]);
        let id = ApplyId::of_session;
        for (index, dnn) in ["internet", "INTERNET", "ims", "unknown", "internet"].into_iter().enumerate() {
            networks.submitted(id(index as u32), &session("10.45.0.2", dnn));
            assert_eq!(counts(&networks).iter().sum::<u64>(), index as u64);
            networks.applied(id(index as u32), index < 4, false);
        }
        assert_eq!(counts(&networks), [2, 1, 1]);
        networks.submitted(id(0), &Plan::removal(Seid(1)));
        networks.applied(id(0), false, false);
        assert_eq!(counts(&networks), [2, 1, 1]);
        for _ in 0..2 {
            networks.submitted(id(0), &Plan::removal(Seid(1)));
            networks.applied(id(0), true, true);
            assert_eq!(counts(&networks), [1, 1, 1]);
        }
    }

    /// These rules with QERs of these QFIs.
    fn with_flows(rules: &RuleSet, qfis: &[u8]) -> RuleSet {
        let mut rules = rules.clone();
        for (id, qfi) in (1..).zip(qfis) {
            let qer = Qer { qfi: Some(Qfi::from_low_bits(*qfi)), ..Qer::new(QerId(id)) };
            rules.qers.insert(QerId(id), qer);
        }
        rules
    }

    // Input:  a session with three QERs of two QFIs; one more QER; a change without QERs; the removal of the session.
    // Output: two flows of its network, then three, then none; what changes no QER needs no look at the rules.
    #[test]
    fn qos_flows_follow_the_qers() {
        let (mut networks, id) = (networks(), ApplyId::of_session(3));
        let plain = session("10.45.0.2", "ims").change.installed().unwrap().profile().rules().clone();
        let flows = |networks: &Networks| -> Vec<u64> {
            networks.status().iter().map(|status| status.qos_flows).collect()
        };
        networks.submitted(id, &Plan::install(Seid(1), with_flows(&plain, &[9, 1, 9])));
        assert_eq!(flows(&networks), [0, 0, 0]);
        networks.applied(id, true, true);
        assert_eq!(flows(&networks), [0, 2, 0]);
        networks.submitted(id, &Plan::update(Seid(1), vec![Op::RemoveQer(QerId(7))]));
        networks.applied(id, true, true);
        assert!(networks.take_change(id) && !networks.take_change(id));
        networks.set_qos_flows(3, &with_flows(&plain, &[9, 1, 9, 5]));
        assert_eq!(flows(&networks), [0, 3, 0]);
        networks.submitted(id, &Plan::update(Seid(1), vec![Op::RemoveFar(FarId(7))]));
        assert!(!networks.take_change(id));
        networks.submitted(id, &Plan::removal(Seid(1)));
        networks.applied(id, true, true);
        assert_eq!(flows(&networks), [0, 0, 0]);
    }

    // Input:  sixty sessions of two networks and of an unknown one, with QoS flows; some are refused, some change their QERs, some are removed; one
    //         part is told of all, and each of three of a third of them, under indices of its own.
    // Output: the sums of the three are the numbers of the one; without parts there are no sums.
    #[test]
    fn parts_add_up() {
        let (mut all, mut parts) = (networks(), [networks(), networks(), networks()]);
        for number in 0..60_usize {
            let dnn = ["internet", "ims", "internet", "unknown"][number % 4];
            let plain = session("10.45.0.2", dnn).change.installed().unwrap().profile().rules().clone();
            let flows = |count: usize| with_flows(&plain, &[1, 2, 3, 4, 5][..count]);
            // Neighbours are in different parts.
            let part = &mut parts[number % 3];
            for (networks, index) in [(&mut all, number as u32), (part, number as u32 / 3)] {
                let id = ApplyId::of_session(index);
                networks.submitted(id, &Plan::install(Seid(1), flows(1 + number % 4)));
                networks.applied(id, number % 7 != 0, number % 7 == 0);
                if number % 5 == 0 {
                    networks.set_qos_flows(index, &flows(5));
                }
                if number % 11 == 0 {
                    networks.submitted(id, &Plan::removal(Seid(1)));
                    networks.applied(id, true, true);
                }
            }
        }
        let numbers = |status: Vec<NetworkStatus>| -> Vec<(String, u64, u64)> {
            status.into_iter().map(|it| (it.dnn, it.sessions, it.qos_flows)).collect()
        };
        let sums = numbers(sum_of_parts(parts.iter().map(Networks::status)));
        assert_eq!(sums, numbers(all.status()));
        assert!(
            sums.iter().all(|(_, sessions, qos_flows)| *sessions > 3 && qos_flows > sessions),
            "{sums:?}"
        );
        assert!(parts.iter().all(|part| counts(part).iter().all(|sessions| *sessions > 0)));
        assert!(sum_of_parts([]).is_empty());
    }

    // Input:  UE addresses inside and outside the subnets of their networks, IPv4 and IPv6, and in an unknown network.
    // Output: those outside are found; nothing is said of a network that the configuration does not have.
    #[test]
    fn addresses_outside_the_subnets_are_found() {
        let networks = networks();
        for (ue, dnn, is_outside) in [
            ("10.45.7.7", "internet", false),
            ("10.46.7.7", "internet", true),
            ("10.46.7.7", "ims", false),
            ("2001:db8:cafe:1::", "internet", false),
            ("2001:db8:beef:1::", "internet", true),
            ("2001:db8:cafe:1::", "ims", true),
            ("10.99.0.1", "unknown", false),
        ] {
            let plan = session(ue, dnn);
            let found = networks.address_outside(plan.change.installed().unwrap());
            assert_eq!(found.map(|it| it.ue), is_outside.then(|| ue.parse().unwrap()), "{ue} {dnn}");
        }
    }
}
