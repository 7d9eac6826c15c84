//! The hosts of the demo and the cables between them.
//!
//! ```text
//!   ue ── gnb1 ──┐ N3            N6
//!      ── gnb2 ──┴───── upf ────────── dn
//!                        │ N4
//!                       smf
//! ```
//!
//! A UPF with its tables in external memory has a memory server beside it, on a cable of its own.
//!
//! Each host except the UPF has one cable, so that a capture on it contains that cable alone. The UPF's N3
//! address is on its loopback and routed, as of a UPF that is reached over several links.

use std::net::{Ipv4Addr, Ipv6Addr};

use causeway_types::Ipv6Net;

use crate::LabError;
use crate::cleanup::Cleanup;
use crate::netns::{Namespace, Veth, VethEnd, connect};

/// Where the UPF receives GTP-U.
pub const UPF_N3: Ipv4Addr = Ipv4Addr::new(10, 30, 0, 1);
/// Where the UPF receives PFCP, and serves metrics.
pub const UPF_N4: Ipv4Addr = Ipv4Addr::new(10, 40, 0, 1);
/// The UPF's card on N6.
pub const UPF_N6: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 1);
/// The SMF.
pub const SMF: Ipv4Addr = Ipv4Addr::new(10, 40, 0, 2);
/// The gNBs.
pub const GNBS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 30, 1, 2), Ipv4Addr::new(10, 30, 2, 2)];
/// The UPF's card towards its memory server.
pub const UPF_MEMORY: Ipv4Addr = Ipv4Addr::new(10, 50, 0, 1);
/// The memory server.
pub const MEMORY: Ipv4Addr = Ipv4Addr::new(10, 50, 0, 2);
/// The host in the data network.
pub const DN: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 2);
/// The UE address pool; its first address is the UPF's own.
pub const POOL: &str = "10.45.0.0/16";
/// The UPF's address in the pool.
pub const POOL_GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

/// The UPF's IPv6 address on N6.
pub const UPF_N6_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x60, 0, 0, 0, 0, 1);
/// The IPv6 address of the host in the data network.
pub const DN_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x60, 0, 0, 0, 0, 2);
/// The pool of IPv6 prefixes.
pub const POOL_V6: &str = "2001:db8:45::/48";
/// The UPF's address in it.
pub const POOL_GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x45, 0, 0, 0, 0, 1);

/// The IPv6 prefix of the `n`th UE, counted from zero.
pub fn ue_prefix(n: u8) -> Ipv6Net {
    let number = u16::from(n).saturating_add(1);
    Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 0xdb8, 0x45, number, 0, 0, 0, 0), 64)
}

/// The address of the `n`th UE, counted from zero.
pub fn ue_address(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 45, 0, n.saturating_add(2))
}

/// The namespaces, cabled and routed.
pub struct Topology {
    /// The gNBs, with N3.
    pub gnbs: [Namespace; 2],
    /// All UEs: their only way out is their gNB.
    pub ue: Namespace,
    /// The UPF, with N3, N4 and N6.
    pub upf: Namespace,
    /// The data network.
    pub dn: Namespace,
    /// The SMF, with N4.
    pub smf: Namespace,
}

impl Topology {
    /// Makes everything. `cleanup` deletes it.
    ///
    /// # Errors
    /// As [`Namespace::create`] and [`connect`].
    pub fn build(cleanup: &Cleanup) -> Result<Self, LabError> {
        let make = |role| Namespace::create(role, cleanup);
        let gnbs = [make("gnb1")?, make("gnb2")?];
        let topology = Self { gnbs, ue: make("ue")?, upf: make("upf")?, dn: make("dn")?, smf: make("smf")? };
        topology.cable()?;
        topology.route()?;
        Ok(topology)
    }

    /// Adds IPv6 between the UPF and the data network. `false`: the kernel has none, and nothing was changed.
    ///
    /// # Errors
    /// [`LabError`] with what could not be set.
    pub fn add_ipv6(&self) -> Result<bool, LabError> {
        if !std::path::Path::new("/proc/sys/net/ipv6").exists() {
            return Ok(false);
        }
        for (namespace, address, link_local) in
            [(&self.upf, UPF_N6_V6, "fe80::1"), (&self.dn, DN_V6, "fe80::2")]
        {
            // Devices choose no addresses, so that no TUN device sends packets of the kernel. A router needs a
            // link-local one to solicit neighbours for others.
            for device in ["default", "n6"] {
                namespace.sysctl(&format!("net/ipv6/conf/{device}/addr_gen_mode"), "1")?;
                namespace.sysctl(&format!("net/ipv6/conf/{device}/disable_ipv6"), "0")?;
            }
            namespace.ip(format!(
                "address add {link_local}/64 dev n6 nodad\naddress add {address}/64 dev n6 nodad"
            ))?;
        }
        self.dn.ip(format!("route add {POOL_V6} via {UPF_N6_V6}"))?;
        self.upf.sysctl("net/ipv6/conf/all/forwarding", "1")?;
        Ok(true)
    }

    /// Adds a host for a memory server.
    ///
    /// # Errors
    /// As [`Namespace::create`] and [`connect`].
    pub fn add_memory(&self, cleanup: &Cleanup) -> Result<Namespace, LabError> {
        let host = Namespace::create("memory", cleanup)?;
        let a = VethEnd { namespace: &self.upf, device: "memory", address: UPF_MEMORY };
        let b = VethEnd { namespace: &host, device: "memory", address: MEMORY };
        connect(Veth { a, b, prefix: 24, joined: false })?;
        Ok(host)
    }

    fn cable(&self) -> Result<(), LabError> {
        let link = |device, address, far, far_device, far_address| {
            let a = VethEnd { namespace: &self.upf, device, address };
            let b = VethEnd { namespace: far, device: far_device, address: far_address };
            connect(Veth { a, b, prefix: 24, joined: false })
        };
        let [gnb1, gnb2] = &self.gnbs;
        let [n3_1, n3_2] = GNBS;
        link("n3-gnb1", gateway(n3_1), gnb1, "n3", n3_1)?;
        link("n3-gnb2", gateway(n3_2), gnb2, "n3", n3_2)?;
        link("n4", UPF_N4, &self.smf, "n4", SMF)?;
        link("n6", UPF_N6, &self.dn, "n6", DN)
    }

    fn route(&self) -> Result<(), LabError> {
        self.upf.ip(format!("address add {UPF_N3}/32 dev lo"))?;
        for (gnb, address) in self.gnbs.iter().zip(GNBS) {
            gnb.ip(format!("route add {UPF_N3} via {}", gateway(address)))?;
        }
        self.dn.ip(format!("route add {POOL} via {UPF_N6}"))?;
        // Between the TUN device of the UPF and N6 the kernel forwards.
        self.upf.sysctl("net/ipv4/ip_forward", "1")
    }
}

/// The UPF's end of the cable to a machine.
fn gateway(address: Ipv4Addr) -> Ipv4Addr {
    let [a, b, c, _] = address.octets();
    Ipv4Addr::new(a, b, c, 1)
}
