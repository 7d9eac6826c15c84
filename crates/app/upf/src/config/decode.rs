//! Decodes the keys of a file into the configuration.

use std::net::IpAddr;

use causeway_types::{IpNet, NodeId};

use super::chain::Chain;
use super::cold_storage::ColdStorage;
use super::detection::{Application, Predefined};
use super::ethernet;
use super::firewall::Firewall;
use super::forwarding::{ForwardingPolicy, N6Tunnel};
use super::framed::FramedRoutes;
use super::host::{AcceptFrom, HostReachability};
use super::hybrid::HybridKeys;
use super::management::ManagementAccess;
use super::memory::Memory;
use super::model::{
    Buffering, Config, DEFAULT_ADDRESS, GTPU_PORT, Gtpu, GtpuServer, Logger, METRICS_PORT, MOST_SESSIONS,
    Metrics, MetricsServer, PFCP_PORT, Session, Upf,
};
use super::pfcp::{Heartbeat, KnownSmf, Pfcp, PfcpClient, PfcpServer, Retransmission, Smf};
use super::qos::qos;
use super::routing::{EchoConfig, Routing};
use super::section::Section;
use super::switch::P4Switch;
use super::traffic::Traffic;
use super::vxlan;
use super::workers::Workers;
use super::xplane::XPlaneKeys;
use super::{quantities, values};

/// The smallest outer MTU that carries an IPv6 packet of 1280 octets with IPv6, UDP and GTP-U headers and the longest
/// container.
const SMALLEST_N3_MTU: u32 = 1348;

/// Reads all keys. A missing or wrong value has its default; wrong values are reported.
pub(super) fn config(root: &mut Section<'_>) -> Config {
    Config { logger: root.section("logger", logger), upf: root.section("upf", upf) }
}

fn logger(logger: &mut Section<'_>) -> Logger {
    Logger {
        level: logger.value("level", values::word).unwrap_or_default(),
        format: logger.value("format", values::word).unwrap_or_default(),
    }
}

fn upf(upf: &mut Section<'_>) -> Upf {
    let default = Upf::default();
    Upf {
        node_id: upf.value("node_id", values::node_id),
        max_sessions: upf
            .value("max_sessions", values::number(1..=MOST_SESSIONS))
            .unwrap_or(default.max_sessions),
        max_pdrs_per_session: upf
            .value("max_pdrs_per_session", values::number(1..=1024))
            .unwrap_or(default.max_pdrs_per_session),
        max_macs_per_session: upf
            .value("max_macs_per_session", values::number(1..=65_535))
            .unwrap_or(default.max_macs_per_session),
        memory: upf.value("memory", Memory::read).unwrap_or_default(),
        interface_timeout: upf
            .value("interface_timeout", quantities::span)
            .unwrap_or(default.interface_timeout),
        pfcp: upf.section("pfcp", pfcp),
        gtpu: upf.section("gtpu", gtpu),
        session: upf.list("session", session).unwrap_or(default.session),
        framed_routes: upf.section("framed_routes", FramedRoutes::read),
        ethernet: upf.list("ethernet", ethernet::network).unwrap_or(default.ethernet),
        vxlan: upf.list("vxlan", vxlan::segment).unwrap_or_default(),
        n6_tunnel: upf.list("n6_tunnel", n6_tunnel).unwrap_or_default(),
        forwarding_policy: upf.list("forwarding_policy", forwarding_policy).unwrap_or_default(),
        firewall: upf.section("firewall", Firewall::read),
        host: upf.section("host", HostReachability::read),
        offload: upf.value("offload", values::flag).unwrap_or(default.offload),
        ue_address_quarantine: upf
            .value("ue_address_quarantine", quantities::span)
            .unwrap_or(default.ue_address_quarantine),
        dataplane: upf.value("dataplane", values::word).unwrap_or_default(),
        switch: upf.section("switch", P4Switch::read),
        hybrid: upf.section("hybrid", HybridKeys::read),
        xplane: upf.section("xplane", XPlaneKeys::read),
        cold_storage: upf.section("cold_storage", ColdStorage::read),
        chain: upf.section("chain", Chain::read),
        workers: upf.section("workers", Workers::read),
        routing: upf.section("routing", Routing::read),
        buffering: upf.section("buffering", buffering),
        applications: upf.list("applications", Application::read).unwrap_or_default(),
        predefined_rules: upf.list("predefined_rules", Predefined::read).unwrap_or_default(),
        qos: upf.section("qos", qos),
        traffic: upf.section("traffic", Traffic::read),
        metrics: upf.section("metrics", metrics),
        management: upf.section("management", ManagementAccess::read),
    }
}

fn pfcp(pfcp: &mut Section<'_>) -> Pfcp {
    let default = Pfcp::default();
    Pfcp {
        mode: pfcp.value("mode", values::word).unwrap_or_default(),
        server: pfcp.list("server", pfcp_server).unwrap_or(default.server),
        accept_from: pfcp.value("accept_from", AcceptFrom::read).unwrap_or_default(),
        client: pfcp
            .section("client", |client| PfcpClient { smf: client.list("smf", smf).unwrap_or_default() }),
        heartbeat: pfcp.section("heartbeat", heartbeat),
        retransmission: pfcp.section("retransmission", retransmission),
        association_retry: pfcp
            .value("association_retry", quantities::positive_span)
            .unwrap_or(default.association_retry),
        release_timeout: pfcp.value("release_timeout", quantities::span).unwrap_or(default.release_timeout),
        path_failure: pfcp.value("path_failure", values::word).unwrap_or_default(),
        request_port: pfcp.value("request_port", values::word).unwrap_or_default(),
        load_control: pfcp.value("load_control", values::word).unwrap_or_default(),
        overload_control: pfcp.value("overload_control", values::word).unwrap_or(default.overload_control),
        overload_mark: pfcp.value("overload_mark", values::number(1..=99)).unwrap_or(default.overload_mark),
        overload_validity: pfcp
            .value("overload_validity", quantities::positive_span)
            .unwrap_or(default.overload_validity),
        smf: pfcp.list("smf", known_smf).unwrap_or_default(),
        allow: pfcp.value("allow", values::prefixes).unwrap_or_default(),
        max_associations: pfcp
            .value("max_associations", values::number(1..=10_000))
            .unwrap_or(default.max_associations),
        accelerate: pfcp.value("accelerate", values::flag).unwrap_or(default.accelerate),
    }
}

/// `address` and `dev` of a server. If both are missing, the address is reported.
fn address_and_dev(server: &mut Section<'_>) -> (Option<IpAddr>, Option<String>) {
    let dev = server.value("dev", values::device);
    let what = "give the `address` of the socket, or the `dev` that has it";
    let address = match dev {
        Some(_) => server.value("address", values::own_address),
        None => server.required("address", what, values::own_address),
    };
    (address, dev)
}

fn pfcp_server(server: &mut Section<'_>) -> PfcpServer {
    let (address, dev) = address_and_dev(server);
    PfcpServer {
        address,
        dev,
        port: server.value("port", values::port).unwrap_or(PFCP_PORT),
        advertise: server.value("advertise", values::advertised).unwrap_or_default(),
    }
}

fn smf(smf: &mut Section<'_>) -> Smf {
    let what = "give the N4 address of the SMF";
    let address = smf.required("address", what, values::own_address);
    Smf {
        address: address.unwrap_or(DEFAULT_ADDRESS),
        port: smf.value("port", values::port).unwrap_or(PFCP_PORT),
    }
}

fn known_smf(smf: &mut Section<'_>) -> KnownSmf {
    let node_id = smf.required("node_id", "give the Node ID of the SMF", values::node_id);
    let address = smf.required("address", "give the addresses of the SMF", values::prefixes);
    KnownSmf {
        node_id: node_id.unwrap_or(NodeId::Ip(DEFAULT_ADDRESS)),
        address: address.unwrap_or_default(),
        set: smf.value("set", values::network),
    }
}

fn heartbeat(heartbeat: &mut Section<'_>) -> Heartbeat {
    let default = Heartbeat::default();
    Heartbeat {
        interval: heartbeat.value("interval", quantities::span).unwrap_or(default.interval),
        timeout: heartbeat.value("timeout", quantities::positive_span).unwrap_or(default.timeout),
        retries: heartbeat.value("retries", values::number(0..=20)).unwrap_or(default.retries),
    }
}

fn retransmission(retransmission: &mut Section<'_>) -> Retransmission {
    let default = Retransmission::default();
    Retransmission {
        timeout: retransmission.value("timeout", quantities::positive_span).unwrap_or(default.timeout),
        retries: retransmission.value("retries", values::number(0..=20)).unwrap_or(default.retries),
    }
}

fn gtpu(gtpu: &mut Section<'_>) -> Gtpu {
    Gtpu {
        mode: gtpu.value("mode", values::word).unwrap_or_default(),
        server: gtpu.list("server", gtpu_server).unwrap_or(Gtpu::default().server),
        accept_from: gtpu.value("accept_from", AcceptFrom::read).unwrap_or_default(),
        echo: gtpu.section("echo", EchoConfig::read),
    }
}

fn gtpu_server(server: &mut Section<'_>) -> GtpuServer {
    let (address, dev) = address_and_dev(server);
    GtpuServer {
        address,
        dev,
        port: server.value("port", values::port).unwrap_or(GTPU_PORT),
        advertise: server.value("advertise", values::advertised).unwrap_or_default(),
        network_instance: server.value("network_instance", values::network),
        mtu: server.value("mtu", values::number(SMALLEST_N3_MTU..=65_535)),
        fragment: server.value("fragment", values::flag).unwrap_or_default(),
    }
}

fn session(session: &mut Section<'_>) -> Session {
    let default = Session::default();
    let what = "give the prefix of the UE addresses, for example 10.45.0.0/16";
    let subnet: Option<IpNet> = session.required("subnet", what, values::subnet);
    Session {
        subnet: subnet.unwrap_or(default.subnet),
        mode: session.value("mode", values::word).unwrap_or_default(),
        gateway: session.value("gateway", values::address),
        nat: session.value("nat", values::flag).unwrap_or_default(),
        dnn: session.value("dnn", values::network).unwrap_or(default.dnn),
        dev: session.value("dev", values::device).unwrap_or(default.dev),
        mtu: session.value("mtu", values::number(576..=9000)).unwrap_or(default.mtu),
        ue_pool: session.value("ue_pool", values::subnet),
        pool_identity: session.value("pool_identity", values::pool_identity),
        framed_routes: session.value("framed_routes", values::prefixes).unwrap_or_default(),
    }
}

fn forwarding_policy(policy: &mut Section<'_>) -> ForwardingPolicy {
    let what = "give the Forwarding Policy Identifier that SMFs send";
    ForwardingPolicy {
        name: policy.required("name", what, values::policy_name).unwrap_or_default(),
        drop: policy.value("drop", values::flag).unwrap_or_default(),
        dnn: policy.value("dnn", values::network),
        dscp: policy.value("dscp", values::number(0..=63)),
        redirect: policy.value("redirect", values::redirect),
    }
}

fn n6_tunnel(tunnel: &mut Section<'_>) -> N6Tunnel {
    let what = "give the address to which the remote endpoints of the tunnels send";
    N6Tunnel {
        dnn: tunnel.value("dnn", values::network).unwrap_or(Session::DEFAULT_DNN.to_owned()),
        address: tunnel.required("address", what, values::own_address).unwrap_or(DEFAULT_ADDRESS),
        port: tunnel.value("port", values::port).unwrap_or(N6Tunnel::DEFAULT_PORT),
    }
}

fn buffering(buffering: &mut Section<'_>) -> Buffering {
    let default = Buffering::default();
    let packets = values::number(0..=65_535);
    Buffering {
        packets_per_session: buffering
            .value("packets_per_session", packets)
            .unwrap_or(default.packets_per_session),
        octets_per_session: buffering
            .value("octets_per_session", quantities::octets)
            .unwrap_or(default.octets_per_session),
        packets: buffering.value("packets", values::number(0..=u32::MAX)).unwrap_or(default.packets),
        memory: buffering.value("memory", quantities::octets).unwrap_or(default.memory),
        time: buffering.value("time", quantities::span).unwrap_or(default.time),
        when_full: buffering.value("when_full", values::word).unwrap_or(default.when_full),
        notify_again: buffering.value("notify_again", quantities::span).unwrap_or(default.notify_again),
    }
}

fn metrics(metrics: &mut Section<'_>) -> Metrics {
    Metrics {
        server: metrics.list("server", metrics_server).unwrap_or(Metrics::default().server),
        qos_flows: metrics.value("qos_flows", values::flag).unwrap_or_default(),
    }
}

fn metrics_server(server: &mut Section<'_>) -> MetricsServer {
    let what = "give the address to listen on, for example 127.0.0.1";
    MetricsServer {
        address: server.required("address", what, values::address).unwrap_or(DEFAULT_ADDRESS),
        port: server.value("port", values::port).unwrap_or(METRICS_PORT),
    }
}
