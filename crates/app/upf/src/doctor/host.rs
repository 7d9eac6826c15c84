//! Privileges, devices, memory and processors.

use std::fs;

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

use super::Finding;
use crate::config::{GtpuMode, N4Mode, N6Mode, Upf};
use crate::open::packet_threads;

/// The memory that the AF_XDP sockets of one receive queue lock, rounded up, in octets.
const XDP_MEMORY: u64 = 64 << 20;

pub(super) fn check(upf: &Upf) -> Vec<Finding> {
    let mut findings = vec![privileges(upf), processors(upf)];
    let uses_tun = upf.session.iter().any(|session| session.mode == N6Mode::Tun) || !upf.ethernet.is_empty();
    if uses_tun && !upf.dataplane.is_switch() || upf.chain.is_on() {
        findings.push(tun_device());
    }
    if uses_xdp(upf) {
        findings.push(locked_memory());
    }
    findings.push(huge_pages());
    findings.push(clock());
    findings
}

fn uses_xdp(upf: &Upf) -> bool {
    let by_n6 = upf.session.iter().any(|session| session.mode == N6Mode::AfXdp);
    !upf.dataplane.is_switch()
        && (by_n6 || upf.gtpu.mode == GtpuMode::AfXdp || upf.pfcp.mode == N4Mode::AfXdp)
}

fn privileges(upf: &Upf) -> Finding {
    const SUBJECT: &str = "privileges";
    let Ok(held) = capabilities(None) else {
        return Finding::warning(
            SUBJECT,
            "the capabilities of this process cannot be read",
            "run this as the user of the UPF",
        );
    };
    let needed = needed(upf);
    let missing: Vec<&str> =
        needed.iter().filter(|(set, _)| !held.effective.contains(*set)).map(|(_, name)| *name).collect();
    if missing.is_empty() {
        return Finding::good(SUBJECT, "as needed");
    }
    let remedy = match upf.chain.is_on() {
        false => "run as root, or as the service of packaging/causeway.service, which has them",
        true => {
            "run as root, or as the service of packaging/causeway.service with the drop-in causeway.service.d/chain.conf, which has them"
        }
    };
    Finding::failure(SUBJECT, format!("{} missing", missing.join(", ")), remedy)
}

/// The capabilities that the UPF needs.
fn needed(upf: &Upf) -> Vec<(CapabilitySet, &'static str)> {
    let mut needed = vec![(CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN")];
    // The primary of a chain announces its addresses.
    if uses_xdp(upf) || upf.gtpu.mode != GtpuMode::Udp || upf.chain.is_on() {
        needed.push((CapabilitySet::NET_RAW, "CAP_NET_RAW"));
    }
    if uses_xdp(upf) {
        needed.push((CapabilitySet::BPF, "CAP_BPF"));
    }
    needed
}

fn processors(upf: &Upf) -> Finding {
    const SUBJECT: &str = "upf.workers";
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = packet_threads(upf, cores);
    let of = |count, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    let state = format!("{}, 1 control thread, {}", of(threads, "packet thread"), of(cores, "core"));
    if threads < cores || (threads == 1 && cores == 1 && !upf.workers.busy_poll) {
        return Finding::good(SUBJECT, state);
    }
    let remedy = "leave one core to the control thread, or responses on N4 wait for packets";
    Finding::warning(SUBJECT, state, remedy)
}

fn tun_device() -> Finding {
    const SUBJECT: &str = "/dev/net/tun";
    match fs::OpenOptions::new().read(true).write(true).open(SUBJECT) {
        Ok(_) => Finding::good(SUBJECT, "can be opened"),
        Err(error) => {
            let remedy = "load the kernel module (`modprobe tun`); in a container, pass the device in";
            Finding::failure(SUBJECT, error.to_string(), remedy)
        }
    }
}

fn locked_memory() -> Finding {
    const SUBJECT: &str = "locked memory";
    let has_lock = capabilities(None).is_ok_and(|held| held.effective.contains(CapabilitySet::IPC_LOCK));
    let limit = getrlimit(Resource::Memlock).current;
    match limit {
        Some(octets) if octets < XDP_MEMORY && !has_lock => Finding::failure(
            SUBJECT,
            format!("{octets} octets at most; AF_XDP needs up to {XDP_MEMORY} for a receive queue"),
            "`ulimit -l unlimited`, LimitMEMLOCK=infinity for systemd, or CAP_IPC_LOCK",
        ),
        _ => Finding::good(SUBJECT, "as needed for AF_XDP"),
    }
}

fn huge_pages() -> Finding {
    const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    const SUBJECT: &str = "transparent huge pages";
    let text = fs::read_to_string(FILE).unwrap_or_default();
    match selected(&text) {
        Some(mode @ ("madvise" | "always")) => Finding::good(SUBJECT, mode),
        other => Finding::warning(
            SUBJECT,
            other.unwrap_or("not supported by the kernel"),
            format!("large tables are slower without them: `echo madvise > {FILE}`"),
        ),
    }
}

/// The word in brackets.
fn selected(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0)
}

fn clock() -> Finding {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    const SUBJECT: &str = "clock";
    let source = fs::read_to_string(FILE).unwrap_or_default();
    match source.trim() {
        source @ ("hpet" | "acpi_pm" | "jiffies" | "refined-jiffies") => Finding::warning(
            SUBJECT,
            format!("the clock source is {source}: each reading is a slow access to a device"),
            format!("choose a faster one if there is any: {FILE} and available_clocksource beside it"),
        ),
        "" => Finding::good(SUBJECT, "its source is not shown here"),
        source => Finding::good(SUBJECT, source),
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::set_capabilities;

    use super::*;

    // Input:  a UPF in its default modes; the same as a member of a chain, without CAP_NET_RAW.
    // Output: the first needs no such right; the second does, and the remedy names the drop-in.
    #[test]
    fn a_member_of_a_chain_needs_to_announce() {
        let names = |upf: &Upf| needed(upf).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        let mut upf = Upf::default();
        assert_eq!(names(&upf), ["CAP_NET_ADMIN"]);
        upf.chain.member = Some(1);
        assert_eq!(names(&upf), ["CAP_NET_ADMIN", "CAP_NET_RAW"]);
        let finding = std::thread::spawn(move || {
            let mut rights = capabilities(None).unwrap();
            rights.effective.remove(CapabilitySet::NET_RAW);
            set_capabilities(None, rights).unwrap();
            privileges(&upf)
        });
        let finding = finding.join().unwrap();
        assert!(finding.state.contains("CAP_NET_RAW"), "{finding:?}");
        assert!(finding.remedy.unwrap().contains("chain.conf"));
    }

    // Input:  the three modes of huge pages, and texts that are none.
    // Output: the mode in brackets.
    #[test]
    fn the_mode_of_huge_pages() {
        assert_eq!(selected("always [madvise] never\n"), Some("madvise"));
        assert_eq!(selected("always madvise [never]\n"), Some("never"));
        assert_eq!(selected(""), None);
        assert_eq!(selected("[broken"), None);
    }
}
