//! The topology of a whole UPF: three namespaces with cables, and an SMF inside the UPF's.
//!
//! ```text
//!   gnb ── N3 ── upf ── N6 ── dn
//!                 └ N4 on the loopback
//! ```

use std::net::{Ipv4Addr, SocketAddr};

use causeway_lab::netns::{Namespace, Veth, VethEnd, connect, receive_on};
use causeway_lab::smf::{BulkSmf, Downlink, Session, SessionPlan};
use causeway_types::{Bitrate, DualIp, FTeid, NetworkInstance, Qfi, Teid};

use crate::BenchError;
use crate::namespaces::BenchNamespaces;

/// The UPF on N3.
pub const UPF_N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The UPF on N4: the loopback of its namespace.
pub const UPF_N4: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 7);
/// The UPF on N4, over a cable to the SMF.
pub(crate) const UPF_N4_VETH: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// The SMF on that cable.
pub(crate) const SMF_VETH: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
/// The UPF's card on N6.
pub(super) const UPF_N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// The gNB.
pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
/// A server in the data network.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
/// The addresses of the UEs; the first is the UPF's own.
pub const POOL: &str = "10.45.0.0/16";
/// The UPF's address in the pool.
pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

/// The UPF in the VXLAN segment of the data network.
pub(super) const SEGMENT_ADDRESS: Ipv4Addr = Ipv4Addr::new(172, 16, 5, 1);
/// That segment.
pub(super) const VNI: u32 = 5;
/// The MAC address of the data network in it.
pub(super) const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

const SMF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 4);
const DNN: &str = "internet";
/// The one QoS flow of a session.
pub(super) const QFI: u8 = 9;
/// The gNB's tunnel of the first session.
const FIRST_TEID: Teid = match Teid::new(1) {
    Some(teid) => teid,
    None => unreachable!(),
};
/// Bit rate of a session, each way: more than comes.
const RATE_KBPS: u64 = 400_000_000;
/// So far away that no report is due.
const THRESHOLD: u64 = 1 << 50;

/// The namespaces, cabled and routed.
pub struct Field {
    /// The gNB's.
    pub gnb: Namespace,
    /// The UPF's.
    pub upf: Namespace,
    /// The data network's.
    pub dn: Namespace,
}

impl Field {
    /// Makes the namespaces; they go with `nets`. What the UPF sends is received by `far_core`, as if gNB and data network were other
    /// machines.
    ///
    /// # Errors
    /// [`BenchError::Lab`] with what the system said.
    pub fn build(nets: &BenchNamespaces, far_core: usize) -> Result<Self, BenchError> {
        let field =
            Self { gnb: nets.namespace("gnb")?, upf: nets.namespace("upf")?, dn: nets.namespace("dn")? };
        field.cable("n3", UPF_N3, &field.gnb, GNB)?;
        field.cable("n6", UPF_N6, &field.dn, SERVER)?;
        receive_on(&field.gnb, "n3", far_core)?;
        receive_on(&field.dn, "n6", far_core)?;
        field.dn.ip(format!("route add {POOL} via {UPF_N6}"))?;
        // Between a TUN device of the UPF and N6 the kernel forwards.
        field.upf.sysctl("net/ipv4/ip_forward", "1")?;
        Ok(field)
    }

    /// Connects a namespace of an SMF with the UPF, which is at [`UPF_N4_VETH`] there.
    ///
    /// # Errors
    /// [`BenchError::Lab`] with what the system said.
    pub(crate) fn connect_smf(
        &self,
        nets: &BenchNamespaces,
        far_core: usize,
    ) -> Result<Namespace, BenchError> {
        let smf = nets.namespace("smf")?;
        self.cable("n4", UPF_N4_VETH, &smf, SMF_VETH)?;
        receive_on(&smf, "n4", far_core)?;
        Ok(smf)
    }

    /// Makes the data network a VXLAN segment over N6, by the VXLAN device of its kernel.
    pub(super) fn join_segment(&self) -> Result<(), BenchError> {
        let [a, b, c, d, e, f] = ROUTER_MAC;
        let mac = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
        self.dn.ip(format!(
            "link add tenant address {mac} type vxlan id {VNI} dstport 4789 local {SERVER} remote {UPF_N6} dev n6"
        ))?;
        self.dn.ip("address add 172.16.5.9/24 dev tenant")?;
        // Over veth nobody would cut what this kernel has joined.
        self.dn.ip("link set tenant gso_max_segs 1")?;
        self.dn.ip("link set tenant up")?;
        Ok(self.dn.ip(format!("route replace {POOL} via {SEGMENT_ADDRESS}"))?)
    }

    fn cable(
        &self,
        device: &str,
        near: Ipv4Addr,
        far: &Namespace,
        address: Ipv4Addr,
    ) -> Result<(), BenchError> {
        let a = VethEnd { namespace: &self.upf, device, address: near };
        let b = VethEnd { namespace: far, device, address };
        Ok(connect(Veth { a, b, prefix: 24, joined: true })?)
    }

    /// Opens the SMF and associates it with the UPF that runs here.
    ///
    /// # Errors
    /// [`BenchError::Lab`], for example when no UPF answers.
    pub fn associate(&self) -> Result<BulkSmf, BenchError> {
        let open = || BulkSmf::open(SMF, SocketAddr::from((UPF_N4, 8805)));
        let mut smf = self.upf.enter(open)?;
        smf.associate()?;
        Ok(smf)
    }
}

/// The UE of a session, counted from zero.
pub(crate) fn ue(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(GATEWAY).saturating_add(1).saturating_add(number))
}

/// What the SMF asks for, from the first session on.
pub fn plans(sessions: u32) -> Vec<SessionPlan> {
    let plan = |number| SessionPlan {
        ue: ue(number).into(),
        dnn: NetworkInstance::new(DNN),
        qfi: Qfi::from_low_bits(QFI),
        mbr: Bitrate::from_kbps(RATE_KBPS).unwrap_or_default(),
        volume_threshold: THRESHOLD,
    };
    (0..sessions).map(plan).collect()
}

/// The downlink of a session, counted from zero, to the gNB.
pub fn to_gnb(number: usize) -> Downlink {
    // It is below 2^16, so never zero.
    let teid = Teid::new(number as u32 + 1).unwrap_or(FIRST_TEID);
    Downlink::Forward(FTeid { teid, addr: DualIp::from(GNB) })
}

/// Sets up sessions whose downlink goes to the gNB.
///
/// # Errors
/// [`BenchError::Lab`] when the UPF refuses one.
pub fn attach(smf: &mut BulkSmf, sessions: u32) -> Result<Vec<Session>, BenchError> {
    const WINDOW: usize = 32;
    let sessions = smf.establish(&plans(sessions), WINDOW)?;
    smf.set_downlink(&sessions, WINDOW, to_gnb)?;
    Ok(sessions)
}
