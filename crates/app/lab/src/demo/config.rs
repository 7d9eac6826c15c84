//! The configuration file of the demo's UPF.

use super::environment::METRICS_PORT;
use crate::topology::{POOL, POOL_GATEWAY, UPF_N3, UPF_N4};

/// The name of the data network.
pub(super) const DNN: &str = "internet";

/// `upf.yaml`, with this data plane.
pub(super) fn upf(mtu: u32, dataplane: Option<&str>) -> String {
    let dataplane = dataplane.map(|word| format!("  dataplane: {word}\n")).unwrap_or_default();
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
  metrics:
    server:
      - address: {UPF_N4}
        port: {METRICS_PORT}
"
    )
}
