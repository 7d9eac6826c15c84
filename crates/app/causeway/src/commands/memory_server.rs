//! `causeway memory-server`: memory that others read and write over RoCEv2.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use causeway_memory::{
    Description, Incarnation, Region, Regions, Rights, Server, ServerConfig, ServerCounters,
};
use causeway_packet::roce::{Rkey, UDP_PORT};
use causeway_types::Time;
use causeway_upf::CgroupMemory;
use clap::Args;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::address::with_port;
use crate::exit::{self, print};

/// The largest UDP payload.
const LARGEST: usize = 65_535;
/// Signals end a wait for datagrams; one that comes between two waits is seen after this time.
const WAIT: Duration = Duration::from_millis(100);
/// The same while there are tables to sweep.
const SWEEP: Duration = Duration::from_millis(10);
/// The longest read: its response fits the receive buffer of an ordinary socket.
const LONGEST_READ: u32 = 64 << 10;

/// The options of the memory server.
#[derive(Args)]
pub(crate) struct MemoryServerArgs {
    /// Listening address, one that clients send to; port 4791 without another, port 0 selects a free one
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1", value_parser = listen_address)]
    listen: SocketAddr,
    /// Size of the memory in octets, KiB, MiB or GiB
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size)]
    size: usize,
    /// The number of queue pairs, one for each connection of a client
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    queue_pairs: u32,
    /// Take requests without pad octets and CRC from this address, as those of a switch that adds nothing behind a packet; once for each such
    #[arg(long = "requests-without-crc", value_name = "ADDRESS")]
    bare: Vec<IpAddr>,
}

pub(super) fn run(args: &MemoryServerArgs) -> ExitCode {
    match serve(args) {
        Ok(counters) => exit::end(exit::OK, summary(&counters)),
        Err(error) => exit::end(exit::FAILED, error),
    }
}

fn serve(args: &MemoryServerArgs) -> Result<ServerCounters, String> {
    let failed = |error: io::Error| format!("cannot listen on {}: {error}", args.listen);
    let socket = UdpSocket::bind(args.listen).map_err(failed)?;
    let local = socket.local_addr().map_err(failed)?;
    // RoCEv2 has no fragments, and the CRC of a packet covers its identification, which is zero then.
    if local.is_ipv4() {
        set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO).map_err(|error| failed(error.into()))?;
    } else {
        set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO).map_err(|error| failed(error.into()))?;
    }
    socket.set_read_timeout(Some(WAIT)).map_err(failed)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|error| error.to_string())?;
    }
    let description = Description {
        incarnation: Incarnation(random()),
        // Keys of another run do not fit: an old packet does not change this memory.
        rkey: Rkey(random() as u32),
        rights: Rights::all(),
        base: 0,
        length: args.size as u64,
        max_length: LONGEST_READ,
    };
    let mut server = Server::new(config(args, local, description), memory(args.size, description)?);
    print(format_args!(
        "memory server ready: {} octets on {local}, remote key {:#010x}, incarnation {:#018x}",
        args.size, description.rkey.0, description.incarnation.0
    ));
    let began = Instant::now();
    let (mut received, mut sent) = (vec![0; LARGEST], Vec::with_capacity(LARGEST));
    let mut sweeps = false;
    while !stop.load(Ordering::Relaxed) {
        let datagram = socket.recv_from(&mut received);
        let now = Time::from_nanos(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        server.sweep(now);
        let (length, from) = match datagram {
            Ok(datagram) => datagram,
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                if std::mem::replace(&mut sweeps, server.has_aged_tables()) != server.has_aged_tables() {
                    socket.set_read_timeout(Some(if sweeps { SWEEP } else { WAIT })).map_err(failed)?;
                }
                continue;
            }
            Err(error) => return Err(format!("cannot receive on {local}: {error}")),
        };
        server.receive(now, from, received.get(..length).unwrap_or_default());
        while let Some(to) = server.poll_transmit(&mut sent) {
            // What cannot be sent is as good as lost: the client repeats its request.
            let _ = socket.send_to(&sent, to);
            sent.clear();
        }
    }
    Ok(server.counters())
}

fn config(args: &MemoryServerArgs, local: SocketAddr, description: Description) -> ServerConfig {
    let queue_pairs = args.queue_pairs as usize;
    ServerConfig {
        queue_pairs,
        seed: random(),
        bare: args.bare.clone(),
        ..ServerConfig::new(local, description)
    }
}

fn memory(size: usize, description: Description) -> Result<Regions, String> {
    // The kernel promises more than it has, and ends the process that uses it.
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    if let Some(available) = available.filter(|available| size as u64 > *available) {
        return Err(format!(
            "there is no memory of {size} octets: {available} octets are available, swap included; give a smaller --size"
        ));
    }
    if let Some(CgroupMemory { limit, left }) = CgroupMemory::now().filter(|memory| size as u64 > memory.left)
    {
        return Err(format!(
            "there is no memory of {size} octets: {limit} leaves {left} octets; raise it, or give a smaller --size"
        ));
    }
    // Asked first: memory that there is not would end the process.
    Vec::<u8>::new().try_reserve_exact(size).map_err(|_| format!("there is no memory of {size} octets"))?;
    let region = Region::new(description.base, size, description.rights);
    let mut regions = Regions::new();
    regions.insert(description.rkey, region.ok_or("the memory ends beyond the last address")?);
    Ok(regions)
}

/// The octets that /proc/meminfo says can be used, in memory and in swap.
fn available(meminfo: &str) -> Option<u64> {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    field("MemAvailable:")?.checked_add(field("SwapFree:").unwrap_or(0))
}

/// A number that nobody can guess.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let address = with_port(text, UDP_PORT)?;
    if address.ip().is_unspecified() {
        return Err("one address of this host: the checksum of each packet covers it".to_owned());
    }
    Ok(address)
}

fn size(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits);
    let factor = match unit {
        "" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    let size =
        factor.zip(digits.parse::<usize>().ok()).and_then(|(factor, number)| number.checked_mul(factor));
    size.filter(|size| *size > 0)
        .ok_or_else(|| "a number of octets above 0, for example 4096, 64MiB or 1GiB".to_owned())
}

fn summary(counters: &ServerCounters) -> String {
    let ServerCounters {
        received,
        malformed,
        icrc_errors,
        unknown_queue_pair,
        connections,
        rejected,
        sent,
        swept,
        work,
    } = counters;
    format!(
        "stopped: {connections} connections, {rejected} rejected; {} reads ({} octets), {} writes ({} octets), {} atomic operations; \
         {swept} unused rows swept; {} repeated packets, {} gaps, {} requests refused; {received} datagrams in, {sent} out; dropped: {malformed} malformed, \
         {icrc_errors} with a wrong CRC, {unknown_queue_pair} for no queue pair, {} others",
        work.reads,
        work.octets_read,
        work.writes,
        work.octets_written,
        work.atomics,
        work.duplicates,
        work.sequence_errors,
        work.refused,
        work.dropped,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  /proc/meminfo with and without swap, and texts that are none.
    // Output: the memory and swap that can be used, in octets.
    #[test]
    fn available_memory_is_read() {
        let text =
            "MemTotal:  9 kB\nMemFree:   1 kB\nMemAvailable:   2 kB\nSwapTotal: 8 kB\nSwapFree:   3 kB\n";
        assert_eq!(available(text), Some(5 * 1024));
        assert_eq!(available("MemAvailable: 2 kB\n"), Some(2048));
        for none in ["", "MemAvailable:", "MemAvailable: x kB", "MemAvailable: 99999999999999999999 kB"] {
            assert_eq!(available(none), None, "{none}");
        }
    }
}
