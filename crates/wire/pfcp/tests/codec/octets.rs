//! IEs octet by octet, as in the figures of clause 8.2.

use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use causeway_pfcp::*;
use causeway_types::{
    BarId, Bitrate, DualIp, FSeid, FarId, MacAddr, NtpSeconds, PdrId, Precedence, QerId, Qfi,
    ReportingTriggers, Seid, UrrId, UsageReportTrigger,
};

use crate::support::octets;

const V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const V6_HEX: &str = "20010db8000000000000000000000001";
const DUAL: DualIp = DualIp { v4: Some(V4), v6: Some(V6) };

/// Encoding gives these octets, type and length included, and decoding them gives the IE.
#[track_caller]
fn same<'a, T: Ie<'a> + PartialEq + Debug>(ie: T, hex: &str) {
    let expected: &'static [u8] = octets(hex).leak();
    let mut out = Vec::new();
    ie.write(&mut out);
    assert_eq!(out, expected);
    assert_eq!(T::decode(&expected[4..]).unwrap(), ie);
}

#[test]
fn rule_and_session_identifiers() {
    same(PdrId(0x0102), "0038 0002 0102");
    same(FarId(0x8000_0001), "006c 0004 80000001");
    same(QerId(2), "006d 0004 00000002");
    same(UrrId(3), "0051 0004 00000003");
    same(BarId(4), "0058 0001 04");
    same(Precedence(255), "001d 0004 000000ff");
    same(LinkedUrrId(7), "0052 0004 00000007");
    same(TrafficEndpointId(9), "0083 0001 09");
    same(UrSeqn(1), "0068 0004 00000001");
    same(FailedRuleId { kind: RuleKind::Pdr, id: 5 }, "0072 0003 00 0005");
    same(FailedRuleId { kind: RuleKind::Urr, id: 5 }, "0072 0005 03 00000005");
    same(FailedRuleId { kind: RuleKind::Bar, id: 5 }, "0072 0002 04 05");
    same(SNssai { sst: 1, sd: 0x0a_0b0c }, "0101 0004 01 0a0b0c");
}

#[test]
fn ends_of_tunnels_and_sessions() {
    same(FTeid::Assigned { teid: 0x0102_0304, addr: V4.into() }, "0015 0009 01 01020304 c0000201");
    same(FTeid::Assigned { teid: 1, addr: V6.into() }, &format!("0015 0015 02 00000001 {V6_HEX}"));
    same(FTeid::Assigned { teid: 0, addr: DUAL }, &format!("0015 0019 03 00000000 c0000201 {V6_HEX}"));
    same(FTeid::Choose { v4: true, v6: false, choose_id: None }, "0015 0001 05");
    same(FTeid::Choose { v4: true, v6: true, choose_id: Some(3) }, "0015 0002 0f 03");
    same(FSeid { seid: Seid(1), addr: V4.into() }, "0039 000d 02 0000000000000001 c0000201");
    same(FSeid { seid: Seid(2), addr: V6.into() }, &format!("0039 0019 01 0000000000000002 {V6_HEX}"));
    same(FSeid { seid: Seid(3), addr: DUAL }, &format!("0039 001d 03 0000000000000003 c0000201 {V6_HEX}"));
    assert!(FTeid::decode(&octets("00 00000001 c0000201")).is_err(), "no address at all");
    assert!(FSeid::decode(&octets("00 0000000000000001")).is_err(), "no address at all");
}

#[test]
fn outer_headers() {
    let gtpu = OuterHeaderCreation::gtpu(0x0a0b_0c0d, V4.into());
    same(gtpu, "0054 000a 0100 0a0b0c0d c0000201");
    let gtpu = OuterHeaderCreation::gtpu(1, DUAL);
    same(gtpu, &format!("0054 001a 0300 00000001 c0000201 {V6_HEX}"));
    let udp = OuterHeaderCreation {
        description: OuterHeaders::UDP_IPV4 | OuterHeaders::N6,
        ipv4: Some(V4),
        port: Some(5000),
        ..Default::default()
    };
    same(udp, "0054 0008 0402 c0000201 1388");
    let tags = OuterHeaderCreation {
        description: OuterHeaders::C_TAG | OuterHeaders::S_TAG,
        c_tag: Some(VlanTag { pcp: Some(5), dei: None, vid: Some(0x123) }),
        s_tag: Some(VlanTag { pcp: None, dei: Some(true), vid: None }),
        ..Default::default()
    };
    same(tags, "0054 0008 c000 051523 020800");
    same(OuterHeaderRemoval::new(RemovedHeader::GtpuIp), "005f 0001 06");
    let extensions = Some(OuterHeaderRemoval::PDU_SESSION_CONTAINER);
    same(OuterHeaderRemoval { header: RemovedHeader::GtpuIpv4, extensions }, "005f 0002 00 01");
}

#[test]
fn nodes() {
    same(NodeId::Ip(V4.into()), "003c 0005 00 c0000201");
    same(NodeId::Ip(V6.into()), &format!("003c 0011 01 {V6_HEX}"));
    same(NodeId::Fqdn(Fqdn::new("smf.example")), "003c 000d 02 03736d66 076578616d706c65");
    same(RecoveryTimeStamp(NtpSeconds(0xe000_0001)), "0060 0004 e0000001");
    same(Cause::MandatoryIeMissing, "0013 0001 42");
    same(OffendingIe(96), "0028 0002 0060");
    same(UpFeatures::FTUP | UpFeatures::EMPU, "002b 0002 1001");
    same(UpFeatures::BUNDL | UpFeatures::UPIDP, "002b 0007 00004000000020");
    same(CpFeatures::LOAD | CpFeatures::OVRL, "0059 0001 03");
    same(CpFeatures::PSUCC, "0059 0002 0001");
    same(SmfSetId(Fqdn::new("set")), "00b4 0005 00 03736574");
    let peer = RemoteGtpuPeer {
        addr: V4.into(),
        interface: Some(DestinationInterface::Core),
        network_instance: Some(NetworkInstance::text("n9")),
    };
    same(peer, "0067 000c 0e c0000201 0001 01 0002 6e39");
    same(GracefulReleasePeriod(CodedTimer::at_least(Duration::from_secs(120))), "0070 0001 22");
    assert!(Cause::decode(&[0]).is_err(), "a cause of 0 is reserved");
    assert_eq!(Cause::decode(&[200]).unwrap(), Cause::Other(200));
    assert!(NodeId::decode(&octets("02 04 736d66")).is_err(), "a label that goes beyond the end");
}

#[test]
fn ue_addresses() {
    let pdi = UeIpAddress { ipv4: Some(V4), destination: true, ..Default::default() };
    same(pdi, "005d 0005 06 c0000201");
    let prefix = UeIpAddress { ipv6: Some(V6), delegated_bits: Some(4), ..Default::default() };
    same(prefix, &format!("005d 0012 09 {V6_HEX} 04"));
    let len = UeIpAddress { ipv6: Some(V6), prefix_len: Some(56), ..Default::default() };
    same(len, &format!("005d 0012 41 {V6_HEX} 38"));
    let choose = UeIpAddress { choose_ipv4: true, choose_ipv6: true, ..Default::default() };
    same(choose, "005d 0001 30");
    assert!(UeIpAddress::decode(&octets("12 c0000201")).is_err(), "given and to be chosen at once");
}

#[test]
fn filters() {
    let rule = "permit out ip from any to assigned";
    let sdf = SdfFilter {
        flow_description: Some(rule.into()),
        traffic_class: Some(TrafficClass { value: 0xb8, mask: 0xfc }),
        security_parameter_index: Some(0x0102_0304),
        flow_label: Some(0x0a_bcde),
        filter_id: Some(9),
    };
    let text: String = rule.bytes().map(|byte| format!("{byte:02x}")).collect();
    same(sdf, &format!("0017 0033 1f00 0022 {text} b8fc 01020304 0abcde 00000009"));
    same(SdfFilter { filter_id: Some(1), ..Default::default() }, "0017 0006 1000 00000001");
    same(SourceInterface::Core, "0014 0001 01");
    same(DestinationInterface::SgiLan, "002a 0001 02");
    same(InterfaceType::N3, "00a0 0001 0b");
    let flow = FlowInformation { direction: FlowDirection::Uplink, description: "any".into() };
    same(flow, "005c 0006 02 0003 616e79");
    let pfd = PfdContents {
        domain_name: Some("a.b".into()),
        additional_urls: Some(CountedList(b"\0\x01x\0\x02yz")),
        ..Default::default()
    };
    same(pfd, "003d 0010 4400 0003 612e62 0007 000178 0002797a");
    let urls: Vec<_> = pfd.additional_urls.unwrap().iter().collect();
    assert_eq!(urls, [Octets(b"x"), Octets(b"yz")]);
}

#[test]
fn forwarding() {
    same(ApplyAction::FORW, "002c 0002 0200");
    same(ApplyAction::BUFF | ApplyAction::NOCP | ApplyAction::DDPN, "002c 0002 0c04");
    same(TransportLevelMarking(TrafficClass::dscp(46)), "001e 0002 b8fc");
    same(ForwardingPolicy("mirror".into()), "0029 0007 06 6d6972726f72");
    same(HeaderEnrichment { header_type: 0, name: "X".into(), value: "1".into() }, "0062 0005 00 0158 0131");
    let url = RedirectInformation {
        kind: RedirectKind::Url,
        server: "http://a".into(),
        other_server: None,
        port: None,
    };
    same(url, "0026 000b 02 0008 687474703a2f2f61");
    let port = RedirectInformation {
        kind: RedirectKind::Ipv4Port,
        server: "10.0.0.1".into(),
        other_server: None,
        port: Some(80),
    };
    same(port, "0026 000f 06 0008 31302e302e302e31 0000 0050");
    same(SessionModificationFlags::SNDEM | SessionModificationFlags::QAURR, "0031 0001 06");
}

#[test]
fn qos() {
    let rate = |kbps| Bitrate::from_kbps(kbps).unwrap();
    same(Mbr { uplink: rate(1), downlink: rate(0x01_0000_0002) }, "001a 000a 0000000001 0100000002");
    same(Gbr { uplink: Bitrate::MAX, downlink: rate(0) }, "001b 000a ffffffffff 0000000000");
    same(GateStatus { uplink_open: false, downlink_open: true }, "0019 0001 04");
    same(GateStatus::OPEN, "0019 0001 00");
    same(Qfi::new(9).unwrap(), "007c 0001 09");
    same(Rqi::RQI, "007b 0001 01");
    same(QerCorrelationId(1), "001c 0004 00000001");
    let uplink = Some(Rate { unit: RateUnit::Hour, packets: 100 });
    same(PacketRate { uplink, ..Default::default() }, "005e 0004 01 020064");
    let status = PacketRateStatus {
        uplink: Some(Remaining { packets: 1, additional: Some(2) }),
        downlink: None,
        valid_until: 0xe000_0000_8000_0000,
    };
    same(status, "00c1 000d 05 0001 0002 e000000080000000");
}

#[test]
fn usage() {
    let volumes = Volumes { total: Some(1 << 40), uplink: None, downlink: Some(2) };
    same(VolumeThreshold(volumes), "001f 0011 05 0000010000000000 0000000000000002");
    same(VolumeQuota(Volumes::default()), "0049 0001 00");
    let packets = Volumes { uplink: Some(7), ..Default::default() };
    same(
        VolumeMeasurement { octets: volumes, packets },
        "0042 0019 15 0000010000000000 0000000000000002 0000000000000007",
    );
    same(ReportingTriggers::VOLTH | ReportingTriggers::UPINT, "0025 0003 020002");
    same(UsageReportTrigger::TERMR | UsageReportTrigger::TEBUR, "003f 0003 000802");
    same(MeasurementMethod::VOLUM, "003e 0001 02");
    same(MeasurementInformation::MNOP, "0064 0001 10");
    same(TimeThreshold(60), "0020 0004 0000003c");
    same(AdditionalUsageReports::Follow, "007e 0002 8000");
    same(AdditionalUsageReports::Count(300), "007e 0002 012c");
    same(Multiplier { digits: -5, exponent: 2 }, "0077 000c fffffffffffffffb 00000002");
    let dropped = DroppedDlTrafficThreshold { packets: Some(3), octets: None };
    same(dropped, "0048 0009 01 0000000000000003");
}

#[test]
fn buffering_and_reports() {
    same(ReportType::DLDR | ReportType::USAR, "0027 0001 03");
    same(DownlinkDataNotificationDelay(3), "002e 0001 03");
    same(SuggestedBufferingPacketsCount(20), "008c 0001 14");
    same(DlBufferingSuggestedPacketCount(200), "0030 0001 c8");
    same(DlBufferingSuggestedPacketCount(300), "0030 0002 012c");
    let info = DownlinkDataServiceInformation { paging_policy: Some(46), qfi: Qfi::new(5) };
    same(info, "002d 0003 03 2e 05");
    same(OciFlags::AOCI, "006e 0001 01");
    same(Metric(90), "0035 0001 5a");
}

#[test]
fn ethernet() {
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    same(MacAddress { source: Some(mac), ..Default::default() }, "0085 0007 01 020000000001");
    same(CTag(VlanTag { pcp: Some(1), dei: Some(true), vid: Some(0xabc) }), "0086 0003 07 a9 bc");
    same(Ethertype(0x0806), "0088 0002 0806");
    let macs = MacList {
        macs: (&[[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]][..]).into(),
        c_tag: None,
        s_tag: Some(VlanTag { vid: Some(1), ..Default::default() }),
    };
    same(MacAddressesDetected(macs), "0090 0012 02 020000000001 020000000002 00 03 040001");
}

#[test]
fn the_long_tail() {
    same(IpMulticastAddress::Any, "00bf 0001 08");
    same(
        IpMulticastAddress::Range { start: V4.into(), end: Ipv4Addr::new(192, 0, 2, 9).into() },
        "00bf 0009 06 c0000201 c0000209",
    );
    same(LocalIngressTunnel::Choose { v4: true, v6: false }, "0134 0001 05");
    same(LocalIngressTunnel::Assigned { port: 2152, addr: V4.into() }, "0134 0007 01 0868 c0000201");
    let ssm =
        SourceSpecificMulticast { group: IpAddr::V4(Ipv4Addr::new(232, 0, 0, 1)), source: IpAddr::V6(V6) };
    same(
        MulticastTransportInformation { common_teid: 7, ssm },
        &format!("0132 001b 00 00000007 04 e8000001 50 {V6_HEX}"),
    );
    let csid =
        FqCsid { address: CsidAddress::Ip(V4.into()), csids: &[[0, 1], [0, 2]], node: Some(CsidNode::PgwC) };
    same(csid, "0041 000a 02 c0000201 0001 0002 02");
    let delays = Delays { downlink: Some(1), uplink: None, round_trip: Some(3) };
    same(QosMonitoringMeasurement { delays, failed: true }, "00f8 0009 0d 00000001 00000003");
    same(LnsAddress(V4.into()), "0118 0004 c0000201");
    same(TunnelPreference(0x01_0203), "0119 0003 010203");
    let pmf = PmfAddressInformation { addr: V4.into(), ports: Some((1, 2)), macs: None };
    same(pmf, "00e6 0009 01 c0000201 0001 0002");
    same(UserId { nai: Some("a@b".into()), ..Default::default() }, "008d 0005 08 03 614062");
    same(OffendingIeInformation { ie_type: 84, value: Octets(&[1]) }, "0112 0003 0054 01");
    same(TimeOffsetThreshold(-1), "00cf 0008 ffffffffffffffff");
}
