//! The configuration file of the demo's UPF.

use super::environment::METRICS_PORT;
use crate::topology::{MEMORY, POOL, POOL_GATEWAY, POOL_GATEWAY_V6, POOL_V6, UPF_N3, UPF_N4};

/// The name of the data network.
pub(super) const DNN: &str = "internet";

/// `upf.yaml`, with this data plane, and a pool of IPv6 prefixes if there is IPv6.
pub(super) fn upf(mtu: u32, dataplane: Option<&str>, ipv6: bool) -> String {
    let memory = if dataplane == Some("xplane") {
        format!("  xplane:\n    server: {MEMORY}\n")
    } else {
        String::new()
    };
    let dataplane = dataplane.map(|word| format!("  dataplane: {word}\n{memory}")).unwrap_or_default();
    let ipv6 = if ipv6 { pool_v6(mtu) } else { String::new() };
    format!(
        "# The UPF of `causeway demo`.
logger:
  level: info
upf:
{dataplane}  pfcp:
    server:
      - address: {UPF_N4}
  gtpu:
    server:
      - address: {UPF_N3}
  session:
    - subnet: {POOL}
      gateway: {POOL_GATEWAY}
      dnn: {DNN}
      dev: cw-{DNN}
      mtu: {mtu}
{ipv6}  metrics:
    server:
      - address: {UPF_N4}
        port: {METRICS_PORT}
      - address: 127.0.0.1
        port: {METRICS_PORT}
  # The users are emulated.
  management:
    capture: everyone
"
    )
}

/// A second pool on the same device, and the answers to Router Solicitations of its UEs.
fn pool_v6(mtu: u32) -> String {
    format!(
        "    - subnet: {POOL_V6}
      gateway: {POOL_GATEWAY_V6}
      dnn: {DNN}
      dev: cw-{DNN}
      mtu: {mtu}
  routing:
    router_advertisement: true
"
    )
}
