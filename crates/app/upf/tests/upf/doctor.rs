//! What the doctor finds on a host, in a network namespace of its own.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use causeway_upf::config::{GtpuServer, ManagementServer, Session, Upf};
use causeway_upf::doctor::{Finding, Verdict, examine};

use crate::common::namespace::{in_namespace, ip};
use crate::common::{config, loopback};
use crate::tun::nat_tables;

/// The findings on a subject.
fn of(upf: &Upf, subject: &str) -> Vec<Finding> {
    examine(upf).into_iter().filter(|finding| finding.subject == subject).collect()
}

fn states(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.state.as_str()).collect()
}

/// Replaces the rules of nftables by these.
fn nft(rules: &str) {
    let mut nft = Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    nft.stdin.take().unwrap().write_all(format!("flush ruleset\n{rules}").as_bytes()).unwrap();
    assert!(nft.wait().unwrap().success(), "{rules}");
}

// Input:  two pools behind TUN devices; rules of nftables that translate addresses of other networks, of the one and of both; chains of
//         forwarded packets with dropping policies and rules, and with rules that accept packets of the pools before.
// Output: a pool whose addresses nothing translates is named; a chain that drops packets is, with its table and the rule.
#[test]
fn rules_of_nftables_are_read() {
    const TEST: &str = "doctor::rules_of_nftables_are_read";
    in_namespace(TEST, || {
        if nat_tables().is_none() {
            return eprintln!("SKIPPED {TEST}: needs nft (not on PATH)");
        }
        ip("link add eth0 type veth peer name far");
        ip("address add 192.0.2.9/24 dev eth0");
        ip("link set eth0 up");
        ip("route add default via 192.0.2.1");
        let mut upf = config(loopback()).upf;
        let pool = |subnet: &str, dnn: &str| Session {
            subnet: subnet.parse().unwrap(),
            gateway: None,
            dnn: dnn.into(),
            dev: dnn.into(),
            ..Session::default()
        };
        upf.session = vec![pool("10.45.0.0/16", "internet"), pool("10.46.0.0/16", "ims")];
        let translation = |rules: &str| {
            nft(&format!(
                "table ip nat {{ chain post {{ type nat hook postrouting priority srcnat; {rules}\n}}\n}}"
            ));
            let [finding] = &of(&upf, "address translation")[..] else { panic!() };
            assert_eq!(finding.verdict == Verdict::Good, finding.remedy.is_none());
            finding.state.clone()
        };
        let bare = |subnet: &str| format!("{subnet} has private addresses, and no rule translates them");
        assert_eq!(translation(""), bare("10.45.0.0/16"));
        let docker = "ip saddr 172.17.0.0/16 oifname != \"docker0\" masquerade\n";
        assert_eq!(translation(docker), bare("10.45.0.0/16"));
        let first = "ip saddr 10.45.0.0/16 oifname != \"internet\" masquerade\n";
        assert_eq!(translation(&format!("{docker}{first}")), bare("10.46.0.0/16"));
        let both = "table ip nat, chain post translates 10.45.0.0/16; table ip nat, chain post translates 10.46.0.0/16";
        assert_eq!(translation(&format!("{first}oifname \"eth0\" masquerade")), both);
        assert_eq!(translation("ip saddr 10.0.0.0/8 snat to 192.0.2.9"), both);
        assert_eq!(translation("oifname \"ims\" masquerade"), bare("10.45.0.0/16"));

        let drops = |policy: &str, rules: &str| {
            nft(&format!(
                "table inet f {{ chain passing {{ type filter hook forward priority 0; policy {policy}; {rules}\n}}\n}}"
            ));
            let findings = of(&upf, "firewall");
            assert!(
                findings.iter().all(|finding| (finding.verdict == Verdict::Good) == finding.remedy.is_none())
            );
            states(&findings).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let good = ["no chain drops all forwarded packets of a pool"];
        let accepting = "ct state established,related accept\niifname { internet, ims } accept\n";
        assert_eq!(drops("accept", "tcp dport 25 drop"), good);
        assert_eq!(drops("drop", accepting), good);
        let by_policy = |direction: &str, subnet: &str| {
            format!("table inet f, chain passing drops packets {direction} {subnet} by its policy")
        };
        let of_both = [
            ("from", "10.45.0.0/16"),
            ("to", "10.45.0.0/16"),
            ("from", "10.46.0.0/16"),
            ("to", "10.46.0.0/16"),
        ];
        assert_eq!(drops("drop", ""), of_both.map(|(direction, subnet)| by_policy(direction, subnet)));
        assert_eq!(drops("accept", &format!("{accepting}counter reject")), good);
        let rejected =
            drops("accept", "ct state established,related accept\niifname internet accept\ncounter reject");
        let [state] = &rejected[..] else { panic!("{rejected:?}") };
        let start = "table inet f, chain passing rejects packets from 10.46.0.0/16 in the rule with handle ";
        let handle = state.strip_prefix(start).unwrap_or_else(|| panic!("{state}"));
        let listed =
            Command::new("nft").args(["-a", "list", "chain", "inet", "f", "passing"]).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let rule = listed.lines().find(|line| line.ends_with(&format!("# handle {handle}"))).unwrap();
        assert!(rule.contains("reject"), "{rule}");
        nft("");
    });
}

// Input:  access to the management API over a socket whose folder is missing, is made by a service manager, and is there; over one with
//         another file, and a group that is missing; over an address that no interface has, and one that is free; files of TLS and of
//         a token that are missing.
// Output: what keeps the UPF from starting is a failure, each with its key; the rest is not.
#[test]
fn access_to_the_management_api_is_checked() {
    in_namespace("doctor::access_to_the_management_api_is_checked", || {
        let folder = std::env::temp_dir().join(format!("causeway-doctor-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let socket = |path: &str, group: Option<&str>| {
            let mut upf = config(loopback()).upf;
            upf.management.socket.path = Some(path.into());
            upf.management.socket.group = group.map(str::to_owned);
            let [finding] = &of(&upf, "upf.management.socket")[..] else { panic!() };
            (finding.verdict, finding.state.clone())
        };
        let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let missing = at("none/management.sock");
        let state = format!("cannot listen on {missing}: the folder does not exist: create it");
        assert_eq!(socket(&missing, None), (Verdict::Failure, state));
        let (verdict, state) = socket("/run/causeway-that-is-missing/management.sock", None);
        assert!(verdict == Verdict::Warning && state.ends_with("its folder does not exist now"), "{state}");
        let free = at("management.sock");
        assert_eq!(socket(&free, None), (Verdict::Good, format!("{free}, free")));
        let (verdict, state) = socket(&free, Some("no-such-group-here"));
        assert!(verdict == Verdict::Failure && state.contains("no group `no-such-group-here`"), "{state}");
        std::fs::write(&free, "no socket").unwrap();
        assert_eq!(socket(&free, None).0, Verdict::Failure);
        std::fs::remove_file(&free).unwrap();
        let listener = UnixListener::bind(&free).unwrap();
        assert_eq!(socket(&free, None), (Verdict::Warning, format!("{free}, in use")));
        drop(listener);
        assert_eq!(socket(&free, None).0, Verdict::Good);

        let mut upf = config(loopback()).upf;
        let server = |address: &str, port| ManagementServer { address: address.parse().unwrap(), port };
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        upf.management.server = vec![server("192.0.2.77", 9099), server("127.0.0.1", free)];
        let findings = of(&upf, "upf.management.server[0]");
        assert_eq!(states(&findings), ["no interface of this host has 192.0.2.77"]);
        assert_eq!(of(&upf, "upf.management.server[1]")[0].verdict, Verdict::Good);
        upf.management.tls.certificate = Some(folder.join("cert.pem"));
        upf.management.tls.key = Some(folder.join("key.pem"));
        assert_eq!(of(&upf, "upf.management.tls.certificate")[0].verdict, Verdict::Failure);
        std::fs::write(folder.join("cert.pem"), "no certificate").unwrap();
        std::fs::write(folder.join("key.pem"), "no key").unwrap();
        assert_eq!(of(&upf, "upf.management.tls.key")[0].verdict, Verdict::Failure);
        (upf.management.tls.certificate, upf.management.tls.key) = (None, None);
        upf.management.token_file = Some(folder.join("token"));
        assert_eq!(of(&upf, "upf.management.token_file")[0].verdict, Verdict::Failure);
        std::fs::remove_dir_all(&folder).unwrap();
    });
}

// Input:  N3 by the name of its interface, with an MTU that is too small and one that is not; N3 on an interface with strict reverse
//         path filtering, and with the loose kind everywhere.
// Output: a warning with the MTU that is needed, or none; the interface is named, or nothing is wrong.
#[test]
fn the_interface_of_n3_is_examined() {
    in_namespace("doctor::the_interface_of_n3_is_examined", || {
        ip("link add n3 type veth peer name far");
        ip("address add 192.0.2.9/24 dev n3");
        ip("link set n3 up");
        let mut upf = config(loopback()).upf;
        upf.gtpu.server = vec![GtpuServer { dev: Some("n3".into()), ..GtpuServer::default() }];
        upf.session = vec![Session { mtu: 1500, ..Session::default() }];
        let mtu = || {
            let findings = of(&upf, "upf.gtpu.server[0]");
            let found = findings.into_iter().find(|finding| finding.state.starts_with("MTU")).unwrap();
            (found.verdict, found.state)
        };
        let small = "MTU 1500 of n3; an N6 packet of 1500 octets needs 1544 in its tunnel";
        assert_eq!(mtu(), (Verdict::Warning, small.to_owned()));
        ip("link set n3 mtu 1544");
        assert_eq!(mtu().0, Verdict::Good);
        let set = |of: &str, value| {
            std::fs::write(format!("/proc/sys/net/ipv4/conf/{of}/rp_filter"), value).unwrap();
        };
        set("all", "0");
        set("n3", "1");
        let findings = of(&upf, "rp_filter");
        assert!(
            findings[0].verdict == Verdict::Warning && findings[0].state.starts_with("strict on n3: "),
            "{findings:?}"
        );
        set("all", "2");
        assert_eq!(states(&of(&upf, "rp_filter")), ["not strict on n3"]);
    });
}
