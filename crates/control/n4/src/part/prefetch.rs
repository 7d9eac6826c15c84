//! Prefetch of the state of the next request while the current one is handled.

use causeway_pfcp::MessageType;
use causeway_types::Seid;

use super::Part;

/// The length of a header with SEID, and the offset of the SEID.
const HEADER: usize = 16;
const SEID: usize = 4;

impl Part {
    /// Calls `fetch` with the addresses that a datagram will need, one for each cache line, so that the caller can
    /// prefetch them. It changes no state; a wrong prediction is harmless.
    ///
    /// With very many sessions a request waits for memory most of the time. Call this with the next received datagram
    /// before [`N4::datagram`](crate::N4::datagram) with the current one.
    pub fn prefetch(&self, following: &[u8], fetch: impl Fn(*const u8)) {
        let Some((header, body)) = following.split_first_chunk::<HEADER>() else { return };
        match MessageType::from_code(header[1]) {
            Some(MessageType::SessionEstablishmentRequest) => {
                if let Some(cp) = self.sessions.peek_cp_f_seid(body) {
                    self.sessions.prefetch_new(&cp, fetch);
                }
            }
            Some(MessageType::SessionModificationRequest | MessageType::SessionDeletionRequest) => {
                let seid = header[SEID..].first_chunk().copied().map_or(0, u64::from_be_bytes);
                self.sessions.prefetch(Seid(seid), fetch);
            }
            _ => {}
        }
    }
}
