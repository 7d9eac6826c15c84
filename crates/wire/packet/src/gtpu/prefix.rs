//! Headers of fixed size for user data: the octets before the packet, without a vector.

use causeway_types::{Qfi, Teid};

use super::Ppi;
use super::extension_type::PDU_SESSION_CONTAINER;
use crate::{BuildError, Layer};

/// Version 1, protocol type GTP, no optional fields.
const GPDU_WITHOUT_EXTENSIONS: u8 = 0x30;
/// The same as [`GPDU_WITHOUT_EXTENSIONS`], with extension headers.
const GPDU_WITH_EXTENSIONS: u8 = 0x34;
const G_PDU: u8 = 255;

/// The header of user data without a PDU Session Container, as in LTE and some N9 tunnels.
///
/// # Errors
/// [`BuildError::TooLong`] if the length field cannot hold `payload_len`.
pub fn without_extensions(teid: Teid, payload_len: usize) -> Result<[u8; 8], BuildError> {
    let [l0, l1] = length_field(payload_len)?;
    let [t0, t1, t2, t3] = teid.value().to_be_bytes();
    Ok([GPDU_WITHOUT_EXTENSIONS, G_PDU, l0, l1, t0, t1, t2, t3])
}

/// The header of downlink user data: a PDU Session Container with QFI and Reflective QoS Indicator.
///
/// # Errors
/// Those of [`without_extensions`].
pub fn downlink(teid: Teid, qfi: Qfi, rqi: bool, payload_len: usize) -> Result<[u8; 16], BuildError> {
    with_container(teid, [0x00, u8::from(rqi) << 6 | qfi.value()], payload_len)
}

/// The same as [`downlink`], with a Paging Policy Indicator, which needs a second 4-octet unit.
///
/// # Errors
/// Those of [`without_extensions`].
pub fn downlink_paging(
    teid: Teid,
    qfi: Qfi,
    rqi: bool,
    ppi: Ppi,
    payload_len: usize,
) -> Result<[u8; 20], BuildError> {
    let [l0, l1] = length_field(payload_len.saturating_add(12))?;
    let [t0, t1, t2, t3] = teid.value().to_be_bytes();
    let flow = 0x80 | u8::from(rqi) << 6 | qfi.value();
    #[rustfmt::skip]
    let header = [
        GPDU_WITH_EXTENSIONS, G_PDU, l0, l1, t0, t1, t2, t3,
        0, 0, 0, PDU_SESSION_CONTAINER,
        2, 0x00, flow, ppi.value() << 5, 0, 0, 0, 0,
    ];
    Ok(header)
}

/// The header of uplink user data, as a gNB writes it: a PDU Session Container with the QFI.
///
/// # Errors
/// Those of [`without_extensions`].
pub fn uplink(teid: Teid, qfi: Qfi, payload_len: usize) -> Result<[u8; 16], BuildError> {
    with_container(teid, [0x10, qfi.value()], payload_len)
}

fn with_container(teid: Teid, content: [u8; 2], payload_len: usize) -> Result<[u8; 16], BuildError> {
    let [l0, l1] = length_field(payload_len.saturating_add(8))?;
    let [t0, t1, t2, t3] = teid.value().to_be_bytes();
    let [c0, c1] = content;
    Ok([GPDU_WITH_EXTENSIONS, G_PDU, l0, l1, t0, t1, t2, t3, 0, 0, 0, PDU_SESSION_CONTAINER, 1, c0, c1, 0])
}

/// The length field for this many octets after the first eight.
pub(super) fn length_field(length: usize) -> Result<[u8; 2], BuildError> {
    let limit = usize::from(u16::MAX);
    let length =
        u16::try_from(length).map_err(|_| BuildError::TooLong { layer: Layer::Gtpu, length, limit })?;
    Ok(length.to_be_bytes())
}
