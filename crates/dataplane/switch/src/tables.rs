//! The tables that the model looks up and the backend fills.

use causeway_p4::names::table;

/// All tables; each profile has some of them.
pub(crate) const TABLES: [&str; 66] = [
    table::SOURCE_GUARD,
    table::SOURCE_GUARD_IPV6,
    table::COMPLEX,
    table::COMPLEX_IPV6,
    table::UL_SIMPLE,
    table::DL_SIMPLE,
    table::DL_SIMPLE_IPV6,
    table::UL_TO_N6_COMPLEX,
    table::UL_TO_N6_COMPLEX_IPV6,
    table::UL_TO_N9_N3_COMPLEX,
    table::UL_TO_N9_N3_COMPLEX_IPV6,
    table::UL_TO_N6_SIMPLE,
    table::UL_TO_N9_N3_SIMPLE,
    table::DL_FROM_N9_SIMPLE,
    table::DL_FROM_N6_COMPLEX,
    table::DL_FROM_N6_COMPLEX_IPV6,
    table::DL_FROM_N6_SIMPLE,
    table::DL_FROM_N6_SIMPLE_IPV6,
    table::UE_POOLS,
    table::UE_POOLS_IPV6,
    table::UL_SESSIONS_LOW,
    variants::UL_SESSIONS_HIGH,
    table::DL_SESSIONS_LOW,
    table::DL_SESSIONS_MIDDLE,
    variants::DL_SESSIONS_HIGH,
    table::FILTERS_UL,
    table::FILTERS_UL_IPV6,
    table::FILTERS_DL,
    table::FILTERS_DL_IPV6,
    table::UL_TO_N6_RULES,
    table::UL_TO_N9_N3_RULES,
    table::DL_FROM_N6_RULES,
    table::FAR,
    table::METER_LOOKUP,
    table::METERED_RULES,
    variants::METERED_RULES_EVEN,
    variants::METERED_RULES_ODD,
    table::UL_TEMPLATE,
    table::UL_TO_N6_TEMPLATE,
    table::UL_TO_N9_N3_TEMPLATE,
    table::DL_TEMPLATE,
    table::PRE_QOS_A,
    table::PRE_QOS_B,
    table::POST_QOS_A,
    table::POST_QOS_B,
    table::QUEUE_ASSIGNMENT,
    table::TUNNEL_EXACT,
    table::TUNNEL_LPM,
    table::NETWORK_EXACT,
    table::NETWORK_LPM,
    table::NETWORK_LPM_IPV6,
    table::CLOSED,
    table::CLOSED_IPV6,
    table::PUNT_PORTS,
    table::VXLAN_ARRIVALS,
    table::VXLAN_DEPARTURES,
    table::FIREWALL_UPLINK,
    table::FIREWALL_DOWNLINK,
    table::FIREWALL_UPLINK_IPV6,
    table::FIREWALL_DOWNLINK_IPV6,
    table::FLOWS,
    table::UE_TUNNELS,
    table::GNB_ADDRESSES,
    table::ARMED_RULES,
    table::SOFTWARE_PORTS,
    table::PACKET_LIMITS,
];

/// Whether packets of the table are from UEs.
pub(crate) fn is_uplink(name: &str) -> bool {
    matches!(
        name,
        table::UL_SIMPLE
            | table::UL_TO_N6_COMPLEX
            | table::UL_TO_N6_COMPLEX_IPV6
            | table::UL_TO_N9_N3_COMPLEX
            | table::UL_TO_N9_N3_COMPLEX_IPV6
            | table::UL_TO_N6_SIMPLE
            | table::UL_TO_N9_N3_SIMPLE
            | table::UL_SESSIONS_LOW
            | variants::UL_SESSIONS_HIGH
            | table::UL_TO_N6_RULES
            | table::UL_TO_N9_N3_RULES
            | table::UL_TEMPLATE
            | table::UL_TO_N6_TEMPLATE
            | table::UL_TO_N9_N3_TEMPLATE
            | table::FILTERS_UL
            | table::FILTERS_UL_IPV6
    )
}

/// Whether the table is for IPv6 packets of users; it has a counterpart for IPv4.
pub(crate) fn is_ipv6(name: &str) -> bool {
    matches!(
        name,
        table::SOURCE_GUARD_IPV6
            | table::COMPLEX_IPV6
            | table::DL_SIMPLE_IPV6
            | table::UL_TO_N6_COMPLEX_IPV6
            | table::UL_TO_N9_N3_COMPLEX_IPV6
            | table::DL_FROM_N6_COMPLEX_IPV6
            | table::DL_FROM_N6_SIMPLE_IPV6
            | table::UE_POOLS_IPV6
            | table::FILTERS_UL_IPV6
            | table::FILTERS_DL_IPV6
            | table::NETWORK_LPM_IPV6
            | table::CLOSED_IPV6
            | table::FIREWALL_UPLINK_IPV6
            | table::FIREWALL_DOWNLINK_IPV6
    )
}

/// Names in programs that are compiled with other sizes: no committed P4Info has them.
pub(crate) mod variants {
    /// More sessions than 2^17 in profile `direct`.
    pub(crate) const UL_SESSIONS_HIGH: &str = "ul_sessions_high";
    pub(crate) const DL_SESSIONS_HIGH: &str = "dl_sessions_high";
    /// More meters than one array holds: the even and the odd ones.
    pub(crate) const RULE_METERS_EVEN: &str = "rule_meters_even";
    pub(crate) const RULE_METERS_ODD: &str = "rule_meters_odd";
    pub(crate) const METERED_RULES_EVEN: &str = "metered_rules_even";
    pub(crate) const METERED_RULES_ODD: &str = "metered_rules_odd";
    pub(crate) const ASK_EVEN: &str = "ask_even";
    pub(crate) const ASK_ODD: &str = "ask_odd";
    /// Entries of UEs that have the gNB's address (method 1 of profile `thesis`).
    pub(crate) const SET_TUNNEL: &str = "set_tunnel";
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  all tables.
    // Output: the direction and the IP version of each are those of its name.
    #[test]
    fn names_say_direction_and_version() {
        for name in TABLES {
            let is_uplink_name = name.starts_with("ul_") || name.starts_with("filters_ul");
            assert_eq!((is_uplink(name), is_ipv6(name)), (is_uplink_name, name.ends_with("_ipv6")), "{name}");
        }
    }

    // Input:  the names of program variants, and the P4 source in `p4/blocks`.
    // Output: each name is in the source.
    #[test]
    fn variants_are_in_the_programs() {
        let blocks = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4/blocks");
        let files = std::fs::read_dir(blocks).unwrap();
        let source: String =
            files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        for name in [
            variants::UL_SESSIONS_HIGH,
            variants::DL_SESSIONS_HIGH,
            variants::RULE_METERS_EVEN,
            variants::RULE_METERS_ODD,
            variants::METERED_RULES_EVEN,
            variants::METERED_RULES_ODD,
            variants::ASK_EVEN,
            variants::ASK_ODD,
            variants::SET_TUNNEL,
        ] {
            assert!(source.split(|letter| !is_word(letter)).any(|word| word == name), "{name}");
        }
    }
}
