//! `causeway demo --keep`: the network stays, and the screen says what can be done with it.

use super::console::Console;
use super::environment::{DemoEnvironment, METRICS_PORT, Network};
use super::steps::cast;
use crate::LabError;
use crate::netns::{Namespace, Privilege};
use crate::topology::{DN, DN_V6, UPF_N4};

/// Frames that each capture may still write: a network that stays for days must not fill the disk.
const CAPTURED: u64 = 100_000;

/// Says how to use the network, and waits for a signal.
pub(super) fn wait(
    environment: &mut DemoEnvironment,
    privilege: Privilege,
    console: &Console,
) -> Result<(), LabError> {
    let folder = environment.options.out.display().to_string();
    let program = environment.options.program.display().to_string();
    let is_hybrid = environment.options.is_hybrid();
    let network = environment.network()?;
    for capture in [&network.captures.n3, &network.captures.n4, &network.captures.n6] {
        capture.limit(Some(CAPTURED));
    }
    console.say(&instructions(network, privilege, &folder, &program, is_hybrid));
    environment.timeline.pause();
    environment.cleanup.wait_for_signal();
    environment.timeline.resume();
    console.say("\nReleasing the sessions.");
    Ok(())
}

fn instructions(
    network: &Network,
    privilege: Privilege,
    folder: &str,
    program: &str,
    is_hybrid: bool,
) -> String {
    let topology = &network.topology;
    let inside = |namespace: &Namespace, command: &str| {
        format!("{}ip netns exec {} {command}", entrance(privilege), namespace.name())
    };
    let device = |ue: usize| network.ues.get(ue).map_or("ue1", |ue| ue.device.as_str());
    let ue =
        network.ues.iter().find_map(|ue| ue.addresses.ipv4()).map_or_else(String::new, |ue| ue.to_string());
    let management = format!("http://{UPF_N4}:{METRICS_PORT}");
    let mut commands = vec![
        ("ping from a UE", inside(&topology.ue, &format!("ping -I {} {DN}", device(0)))),
        ("its packets on N3", inside(&topology.gnbs[0], "tcpdump -ni n3 udp port 2152")),
        ("sessions of the UPF", inside(&topology.upf, &format!("{program} sessions"))),
        ("one of them whole", inside(&topology.upf, &format!("{program} session {ue}"))),
        ("its packets and rules", inside(&topology.upf, &format!("{program} capture {ue} -w ue.pcapng"))),
        ("drops with reasons", inside(&topology.upf, &format!("{program} drops"))),
        (
            "counters of the UPF",
            inside(&topology.smf, &format!("curl -s {management}/metrics | grep -v -e '^#' -e ' 0$'")),
        ),
        ("a shell at the UEs", inside(&topology.ue, "bash")),
    ];
    if network.ipv6 {
        let ping = format!("ping -6 -I {} {DN_V6}", device(cast::IPV6_ONLY));
        commands.insert(1, ("ping over IPv6", inside(&topology.ue, &ping)));
    }
    if is_hybrid {
        commands.push(("rules on the switch", inside(&topology.upf, &format!("{program} placement"))));
    }
    let commands: Vec<_> = commands.iter().map(|(what, command)| format!("  {what:<22}{command}")).collect();
    format!(
        "\nThe network stays until Ctrl-C. In another terminal{}:\n\n{}\n\n\
         Captures: {folder}/n3.pcap, n4.pcap and n6.pcap, up to {CAPTURED} further frames each. Log of the UPF: \
         {folder}/causeway.log.\nThe steps so far: {folder}/report.html.",
        if privilege == Privilege::Root { ", as root" } else { "" },
        commands.join("\n")
    )
}

/// What leads into the namespaces from another terminal.
fn entrance(privilege: Privilege) -> String {
    match privilege {
        Privilege::Root => String::new(),
        Privilege::UserNamespace => {
            format!("nsenter -t {} --user --mount --net --preserve-credentials ", std::process::id())
        }
    }
}
