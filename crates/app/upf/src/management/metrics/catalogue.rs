//! All metrics. `docs/monitoring.md` lists them in this order.

use super::definition::{Kind, Metric};

macro_rules! metrics {
    ($($id:ident: $kind:ident $name:literal [$($label:literal),*] $unit:literal, $help:literal;)*) => {
        $(pub(super) const $id: Metric =
            Metric { name: $name, kind: Kind::$kind, unit: $unit, labels: &[$($label),*], help: $help };)*

        /// All metrics, in the order of the exposition.
        #[cfg(test)]
        pub(super) const ALL: &[&Metric] = &[$(&$id),*];
    };
}

metrics! {
    BUILD: Info "causeway_build" ["version"] "-", "Version of Causeway";
    START_TIME: Gauge "process_start_time_seconds" [] "seconds", "Start time since the Unix epoch";
    LOG_LINES_SUPPRESSED: Counter "causeway_log_lines_suppressed" [] "lines",
        "Log lines suppressed: beyond the limits of their kind, or the log reader was too slow";

    CONTROL_PAUSE: Gauge "causeway_control_pause_seconds_max" [] "seconds",
        "Longest pause of the control thread since the start";
    CONTROL_PAUSES: Counter "causeway_control_pauses" [] "pauses",
        "Times that the control thread did not respond for 0.1 s or more";
    CONTROL_CPU: Counter "causeway_control_cpu_seconds" [] "seconds", "Time for which the control thread ran on a core";
    CONTROL_CPU_WAIT: Counter "causeway_control_cpu_wait_seconds" [] "seconds",
        "Time for which the control thread was ready to run and waited for a core";
    WORKER_PAUSE: Gauge "causeway_worker_pause_seconds_max" ["worker"] "seconds",
        "Longest pause of each packet thread since the start";
    WORKER_PAUSES: Counter "causeway_worker_pauses" ["worker"] "pauses",
        "Times that each packet thread did not respond for 0.1 s or more";
    WORKER_CPU: Counter "causeway_worker_cpu_seconds" ["worker"] "seconds",
        "Time for which each packet thread ran on a core: its rate is the busy share, unless upf.workers.busy_poll is set";
    WORKER_CPU_WAIT: Counter "causeway_worker_cpu_wait_seconds" ["worker"] "seconds",
        "Time for which each packet thread was ready to run and waited for a core";

    N3_PACKETS_IN: Named "fivegs_ep_n3_gtp_indatapktn3upf" [] "packets", "GTP-U packets received on N3";
    N3_PACKETS_OUT: Named "fivegs_ep_n3_gtp_outdatapktn3upf" [] "packets", "GTP-U packets sent on N3";
    N3_OCTETS_IN: Named "fivegs_ep_n3_gtp_indataoctn3upf" [] "octets", "GTP-U octets received on N3";
    N3_OCTETS_OUT: Named "fivegs_ep_n3_gtp_outdataoctn3upf" [] "octets", "GTP-U octets sent on N3";
    QOS_FLOW_OCTETS_IN: Named "fivegs_ep_n3_gtp_indatavolumeqosleveln3upf" ["qfi"] "octets",
        "GTP-U octets of user data received on N3, by QFI; only if upf.metrics.qos_flows is set";
    QOS_FLOW_OCTETS_OUT: Named "fivegs_ep_n3_gtp_outdatavolumeqosleveln3upf" ["qfi"] "octets",
        "GTP-U octets of user data sent on N3, by QFI; only if upf.metrics.qos_flows is set";
    SESSION_NUMBER: Gauge "fivegs_upffunction_upf_sessionnbr" [] "sessions", "PDU sessions in the data plane";
    QOS_FLOWS: Gauge "fivegs_upffunction_upf_qosflows" ["dnn"] "QoS flows",
        "QFIs of the QERs of each session, by data network";
    ESTABLISHMENTS: Named "fivegs_upffunction_sm_n4sessionestabreq" [] "requests",
        "Session Establishment Requests handled, without duplicates";
    ESTABLISHMENTS_FAILED: Named "fivegs_upffunction_sm_n4sessionestabfail" ["cause"] "requests",
        "Session Establishment Requests refused, by the number of the cause";
    REPORTS: Named "fivegs_upffunction_sm_n4sessionreport" [] "requests",
        "Session Report Requests sent, without retransmissions";
    REPORTS_ACCEPTED: Named "fivegs_upffunction_sm_n4sessionreportsucc" [] "responses",
        "Session Report Responses received that accept the report";
    PEERS_ACTIVE: Gauge "pfcp_peers_active" [] "associations", "PFCP associations whose SMF answers heartbeats";

    RECEIVED_PACKETS: Counter "causeway_received_packets" ["side"] "packets",
        "Packets received, by side of the data plane";
    RECEIVED_OCTETS: Counter "causeway_received_octets" ["side"] "octets",
        "Octets received, counted from the GTP-U header, the IP header or the frame's first address";
    SENT_PACKETS: Counter "causeway_sent_packets" ["side"] "packets", "Packets sent, signalling included";
    SENT_OCTETS: Counter "causeway_sent_octets" ["side"] "octets",
        "Octets sent, counted from the GTP-U header, the IP header or the frame's first address";
    COPIED_PACKETS: Counter "causeway_copied_packets" [] "packets",
        "Additional copies of frames sent to more than one session, and dropped copies of packets that FARs request";
    FORWARDED_PACKETS: Counter "causeway_forwarded_packets" [] "packets", "Packets received and forwarded";
    CONSUMED_PACKETS: Counter "causeway_consumed_packets" [] "packets", "Signalling packets consumed";
    BUFFERED_PACKETS: Gauge "causeway_buffered_packets" [] "packets", "Packets buffered for idle UEs";
    DROP: Counter "causeway_drop" ["reason"] "packets", "Packets dropped, by reason";
    STAGE_PACKETS: Counter "causeway_stage_packets" ["stage"] "packets",
        "Packets by the stage of the data plane that decided them: flow table, slow path, or the switch of hybrid; with xplane also two causes among those of the slow path, flow_collision and local_state_collision";
    UNROUTABLE_PACKETS: Counter "causeway_unroutable_packets" [] "packets",
        "Packets for an address or network without a port";
    HEAVY_HITTERS: Gauge "causeway_heavy_hitters" ["direction"] "flows",
        "Flows that are heavy now, by direction; 0 unless upf.traffic.heavy_hitters.threshold is set";
    HEAVY_HITTER_OCTETS: Gauge "causeway_heavy_hitter_bytes_per_second" ["direction"] "octets/s",
        "The rate of these flows together";
    HEAVY_HITTERS_FOUND: Counter "causeway_heavy_hitters_found" [] "flows",
        "Times that a flow became heavy since heavy hitters are looked for";
    HEAVY_HITTERS_LOST: Counter "causeway_heavy_hitters_lost" ["what"] "flows",
        "Heavy hitters of which something was lost: unlisted, since 1024 were listed; unsaid, since 256 events were in a second";
    CLASS_SESSIONS: Gauge "causeway_application_class_sessions" ["class"] "sessions",
        "Sessions whose traffic is measured, by its application class now; none unless upf.traffic.classes.model is set";
    CLASS_CHANGES: Counter "causeway_application_class_changes" [] "changes", "Changes of the application class of a session";
    CLASS_CHANGES_UNSAID: Counter "causeway_application_class_changes_unsaid" [] "changes",
        "Those of them without an event, since 256 events were in a second";
    PLACED_RULES: Gauge "causeway_hybrid_rules" ["place"] "rules",
        "Directions of sessions by place: software, switch, or moving between; 0 unless upf.dataplane is hybrid";
    RULE_MOVES: Counter "causeway_hybrid_moves" ["move"] "rules",
        "Rules that moved: promoted to the switch; demoted by their rate, returned by a change or quota, or gave up waiting for a gap";
    RULE_EVENTS: Counter "causeway_hybrid_events" ["event"] "events",
        "Promotions refused by the switch; promotions soon after a demotion; moves without budget; rules that flipped after a short gap";
    RULE_WAITS: Histogram "causeway_hybrid_wait_seconds" [] "seconds",
        "Times from the decision to move a rule to the switch until its counters showed that the switch forwards its packets";
    PLACED_PACKETS: Counter "causeway_hybrid_packets" ["side"] "packets",
        "Packets by side: switch, or software behind it; 0 unless upf.dataplane is hybrid";
    PLACED_OCTETS: Counter "causeway_hybrid_bytes" ["side"] "octets",
        "Octets of these packets as received: with the tunnel in the uplink, without it in the downlink";
    SWITCH_EVENTS: Counter "causeway_switch_events" ["event"] "events",
        "Events at the P4 switch, those of GET /api/v1/switch, among them frames that were lost on the way to or from it; none unless upf.dataplane is switch or hybrid";
    STORED_SESSIONS: Gauge "causeway_cold_storage_sessions" ["place"] "sessions",
        "Sessions by the place of their state: memory or cold; 0 unless upf.cold_storage.folder is set";
    STORAGE_EVENTS: Counter "causeway_cold_storage_events" ["event"] "sessions",
        "Sessions that moved to cold storage or were loaded; reads and writes that failed; sessions whose usage was lost by that";
    STORAGE_WAITING: Gauge "causeway_cold_storage_unwritten" [] "sessions",
        "Sessions that have moved to cold storage and are not written yet: they are in memory, too";
    STORAGE_LOADS: Histogram "causeway_cold_storage_load_seconds" [] "seconds",
        "Times of reading the state of a session from cold storage: the first packet waits for that";
    STORAGE_HELD: Gauge "causeway_cold_storage_held_packets" [] "packets",
        "Packets that wait until the state of their session is read from a disk";
    MEMORY_LOSSES: Counter "causeway_external_memory_events" ["event"] "events",
        "Failures of the memory server, restarts among them, session states that only it had, whose usage since their last grant is lost, and flow entries whose place another flow took since they were not used for upf.xplane.flow_age";
    GTPU_PATHS_DOWN: Gauge "causeway_gtpu_paths_down" [] "paths",
        "GTP-U paths of sessions whose peer does not answer Echo Requests; 0 unless upf.gtpu.echo.interval is set";
    GTPU_PATH_FAILURES: Counter "causeway_gtpu_path_failures" [] "failures",
        "Times that a GTP-U peer of sessions stopped answering Echo Requests";

    WORKER_SESSIONS: Gauge "causeway_worker_sessions" ["worker"] "sessions", "PDU sessions of each packet thread";
    WORKER_PACKETS: Counter "causeway_worker_packets" ["worker"] "packets",
        "Packets processed by each packet thread, received by any";
    WORKER_HANDED_PACKETS: Counter "causeway_worker_handed_packets" ["worker"] "packets",
        "Packets that each packet thread received and handed to the owner of their session";
    WORKER_TURNS: Counter "causeway_worker_turns" ["worker", "work"] "turns",
        "Turns of the loop of each packet thread that found packets, or none: the load with upf.workers.busy_poll";

    PORT_PACKETS: Counter "causeway_port_packets" ["port", "event"] "packets", "Packets at a port, by event";
    PORT_OCTETS: Counter "causeway_port_octets" ["port", "event"] "octets", "Octets received or sent by a port";
    PORT_CALLS: Counter "causeway_port_calls" ["port", "event"] "system calls",
        "System calls that received or sent packets at a port, in batches";
    PORT_EVENTS: Counter "causeway_port_events" ["port", "event"] "events",
        "Times that a port was lost, for example with its interface, or reopened";

    MEMORY_LIMIT: Gauge "causeway_memory_limit_bytes" [] "octets",
        "Memory limit with the least space left: upf.memory, a cgroup, the process or the host";
    MEMORY_USED: Gauge "causeway_memory_used_bytes" [] "octets",
        "Memory in use under that limit, by all processes it covers";
    MEMORY_FOR_SESSIONS: Gauge "causeway_memory_for_sessions_bytes" [] "octets", "Memory budget of sessions and PFDs";
    MEMORY_NEEDED: Gauge "causeway_memory_needed_bytes" [] "octets",
        "Estimated memory need of the present sessions and PFDs, from their rules";
    MEMORY_REFUSALS: Counter "causeway_memory_refusals" [] "requests",
        "Session and PFD requests refused because memory was short";

    ASSOCIATIONS: Gauge "pfcp_associations" [] "associations", "PFCP associations";
    SESSIONS: Gauge "pfcp_sessions" [] "sessions", "PFCP sessions";
    SESSION_LIMIT: Gauge "causeway_session_limit" [] "sessions",
        "Maximum number of sessions: upf.max_sessions, or less if the data plane holds less";
    DRAINING: Gauge "causeway_draining" [] "flag", "1 while the UPF is drained and accepts no new sessions, otherwise 0";
    SESSIONS_BY_DNN: Gauge "causeway_sessions" ["dnn"] "sessions",
        "Sessions by data network of the configuration; other: of none of them";
    POOL_ADDRESSES: Gauge "causeway_ue_pool_addresses" ["dnn", "ip"] "addresses",
        "IPv4 addresses or IPv6 /64 prefixes from which the UPF may allocate, by data network";
    POOL_ADDRESSES_USED: Gauge "causeway_ue_pool_addresses_used" ["dnn", "ip"] "addresses",
        "Those of them that are allocated";
    FRAMED_ROUTES: Gauge "causeway_framed_routes" [] "routes",
        "Framed routes of sessions, installed in the kernel or not";
    MESSAGES: Counter "pfcp_messages" ["message_type", "direction", "result"] "messages",
        "PFCP messages, by type, direction and result; the result of a refused request is its cause";
    REQUEST_DURATION: Histogram "pfcp_request_duration_seconds" ["message_type"] "seconds",
        "Time from taking a PFCP request from its socket to handing the response to the kernel";
    N4_ACCELERATED: Counter "causeway_n4_accelerated_datagrams" [] "datagrams",
        "PFCP datagrams that a packet thread handled itself; 0 unless upf.pfcp.accelerate is set";
    CHAIN_MEMBERS: Gauge "causeway_chain_members" [] "members",
        "Members of the chain that have all records, this primary among them; 0 unless upf.chain.member is set";
    CHAIN_EPOCH: Gauge "causeway_chain_epoch" [] "epochs", "The epoch of the chain: it grows with each change of its members";
    CHAIN_RECORDS: Gauge "causeway_chain_records" [] "records",
        "Records of the chain: sessions and associations, also the last of each place that ended, and one of the UPF";
    CHAIN_LAG: Gauge "causeway_chain_unacknowledged" [] "changes", "Changes that the standby has not acknowledged: their responses wait";
    CHAIN_MISSING: Gauge "causeway_chain_missing" [] "records", "Records that a joining member has not acknowledged";
    CHAIN_TAKEOVERS: Counter "causeway_chain_takeovers" [] "times", "Times that this process has become the primary";
    CHAIN_USAGE_RECORDS: Gauge "causeway_chain_usage_records" [] "records",
        "Records of usage that was measured since the last reports, each of up to 16 sessions";
    CHAIN_USAGE_ROUNDS: Counter "causeway_chain_usage_rounds" [] "rounds", "Rounds through the usage of all sessions";
    CHAIN_USAGE_ROUND: Gauge "causeway_chain_usage_round_seconds" [] "seconds",
        "Time of the last round through the usage of all sessions: what was measured in so long, and is not acknowledged, is lost with the primary";
    CHAIN_REACHED: Gauge "causeway_chain_reached" ["what"] "flag",
        "1 while the coordinator, or the other member, was heard within half a second, otherwise 0";
    N4_LOST_DATAGRAMS: Counter "causeway_n4_lost_datagrams" [] "datagrams",
        "Datagrams that were dropped because the buffer of an N4 socket, or a queue between packet threads, was full";
    REFUSED_DATAGRAMS: Counter "causeway_refused_datagrams" ["interface"] "datagrams",
        "Datagrams that the kernel dropped because they came by an interface that upf.pfcp.accept_from (N4) or upf.gtpu.accept_from (N3) does not accept";
    N4_LATE_EVENTS: Counter "causeway_n4_late_events" [] "events",
        "Events of the data plane received after the end of their session";
    N4_LOST_REPORTS: Counter "causeway_n4_lost_reports" [] "reports", "Session reports that were discarded";
    N4_FAILED_PLANS: Counter "causeway_n4_failed_plans" [] "plans", "Plans that the data plane refused";
}
