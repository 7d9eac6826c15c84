//! Rules as octets, from one member of a chain of UPFs to another.

use causeway_types::{Transfer, put_list, transfer_fields, transfer_variants};

use crate::{
    Allowance, ApplicationId, ApplyAction, Bar, BaseInterval, CopyTo, Correlation, DeliveryStatus, Detected,
    DirectionalLimit, DroppedLimit, Duplicate, EthernetFilter, Far, FlowAddress, FlowDescription, FlowEnd,
    FlowMarking, Forwarding, Gate, HeaderRemoval, MacChanges, MacMatch, MeasurementMethod, Monitoring,
    NewEnd, OuterHeader, PacketRate, PacketRateStatus, PacketRates, PagingPolicy, Pdi, Pdr, PduSessionType,
    PredefinedRule, Proxying, Qer, RateLimit, Redirect, Remaining, RemovedHeader, Replacement, RuleMap,
    RuleSet, SdfFilter, Steering, TagMatch, TrafficClass, UeAddress, UeMac, UeSide, Urr, Usage, UsageLimits,
    VlanRemoval, VlanTags,
};

transfer_fields! {
    RuleSet { pdu_type, pdrs, fars, qers, urrs, bars, slice, paging, inactivity_timer }
    Pdr {
        id, precedence, pdi, removal, vlan_removal, far, qers, urrs, predefined, active_from, active_until,
    }
    Pdi {
        source, tunnel, network_instance, ue, routes, further, qfis, filters, application,
        whole_ethernet_session, ethernet,
    }
    UeAddress { v4, v6, side }
    HeaderRemoval { header, deletes_container }
    PredefinedRule { filters, application, qfis }
    SdfFilter { flow, traffic_class, spi, flow_label, id }
    TrafficClass { value, mask }
    FlowDescription { protocol, remote, local }
    FlowEnd { address, ports }
    EthernetFilter { shared, macs, ether_type, c_tag, s_tag, flows }
    MacMatch { source, destination }
    TagMatch { priority, drop_eligible, vid }
    VlanTags { customer, service }
    Proxying { arp, neighbour_solicitation }
    Far { id, action, forwarding, duplicate, duplicates, bar, delivery_status }
    Forwarding { destination, network_instance, outer, marking, vlan, proxying, steering, enrichment }
    Duplicate { destination, outer, policy }
    DeliveryStatus { buffered, discarded }
    Steering { redirect, replacement, policy }
    Replacement { source, destination }
    NewEnd { v4, v6, port }
    Bar { id, notification_delay, suggested_packets }
    Qer {
        id, correlation, uplink, downlink, mbr, gbr, averaging_window, packet_rate, packet_rate_status,
        reports_packet_rate, qfi, reflective, ppi, flow_marking,
    }
    Correlation { chosen_by, id }
    RateLimit { uplink, downlink }
    PacketRates { uplink, downlink }
    PacketRate { base, additional }
    Allowance { packets, period }
    PacketRateStatus { uplink, downlink, valid_until }
    Remaining { packets, additional }
    FlowMarking { tos, service_class }
    PagingPolicy { qfis, ppis }
    Urr {
        id, method, triggers, thresholds, quotas, dropped_threshold, period, holding_time, validity_time,
        inactivity_timer, mac_inactivity, inactivity_detection, base_interval, monitoring,
        additional_monitoring, linked, quota_far, exempted_filters, number_of_reports, before_qos, inactive,
        immediate_start,
    }
    MeasurementMethod { volume, duration, events }
    UsageLimits { volume, time, events }
    DirectionalLimit { total, uplink, downlink }
    DroppedLimit { packets, octets }
    Monitoring { at, thresholds, quotas }
    Usage {
        urr, triggers, part, volume, duration, start, end, first_packet, last_packet, events, macs, detected,
    }
    Detected { application, pdr }
    MacChanges { detected, removed }
    UeMac { c_vid, s_vid, mac }
}

transfer_variants! {
    PduSessionType { 0 => Ip, 1 => Ethernet }
    UeSide { 0 => Source, 1 => Destination }
    RemovedHeader {
        0 => GtpuIpv4, 1 => GtpuIpv6, 2 => Gtpu, 3 => UdpIpv4, 4 => UdpIpv6, 5 => Ipv4, 6 => Ipv6,
    }
    VlanRemoval { 0 => Pop, 1 => PopPop }
    FlowAddress { 0 => Any, 1 => Assigned, 2 => Net(net) }
    OuterHeader { 0 => Gtpu(tunnel), 1 => Udp(socket), 2 => Ip(ip), 3 => Unknown }
    CopyTo { 0 => Side(side), 1 => LiFunction }
    Redirect { 0 => Http(url), 1 => Destination(end) }
    Gate { 0 => Open, 1 => Closed }
    BaseInterval { 0 => Continuous(interval), 1 => Discrete(interval) }
}

impl Transfer for ApplyAction {
    fn put(&self, out: &mut Vec<u8>) {
        let number: u8 = match self {
            Self::Drop => 0,
            Self::Forward => 1,
            Self::Buffer { notify: false } => 2,
            Self::Buffer { notify: true } => 3,
        };
        number.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        match u8::take(input)? {
            0 => Some(Self::Drop),
            1 => Some(Self::Forward),
            2 => Some(Self::Buffer { notify: false }),
            3 => Some(Self::Buffer { notify: true }),
            _ => None,
        }
    }
}

/// A rule of another session may be the same in memory; here each is written.
impl<I: Transfer + Ord, R: Transfer> Transfer for RuleMap<I, R> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        for (id, rule) in self.iter() {
            id.put(out);
            rule.put(out);
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Vec::<(I, R)>::take(input).map(|rules| rules.into_iter().collect())
    }
}

impl Transfer for ApplicationId {
    fn put(&self, out: &mut Vec<u8>) {
        put_list(self.octets().iter(), out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Vec::take(input).map(|octets: Vec<u8>| Self::new(&octets))
    }
}
