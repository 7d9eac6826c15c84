//! The configuration file of the demo's UPF.

use super::stage::METRICS_PORT;
use crate::topology::{POOL, POOL_GATEWAY, UPF_N3, UPF_N4};

/// The name of the data network.
pub(super) const DNN: &str = "internet";

/// `upf.yaml`.
pub(super) fn upf(mtu: u32) -> String {
    format!(
        "# The UPF of `causeway demo`.
logger:
  level: info
upf:
  pfcp:
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
