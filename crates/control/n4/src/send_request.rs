//! Sending requests of the UPF.

use std::net::SocketAddr;

use causeway_pfcp::Message;
use causeway_types::{Seid, Time};

use crate::left_out::LeftOut;
use crate::n4::Purpose;
use crate::transaction::Request;
use crate::{MessageResult, N4, Notice, Output, Retransmission};

impl N4 {
    /// Sends a request and keeps it until its response or its last timeout.
    ///
    /// `seid` is the SMF's SEID, in a session related request. No request is near the maximum message length; one that
    /// exceeded it would cause a notice and not be sent.
    pub(crate) fn send_request(
        &mut self,
        now: Time,
        policy: Retransmission,
        to: SocketAddr,
        seid: Option<Seid>,
        message: &Message<'_>,
        purpose: Purpose,
    ) {
        let left_out = match purpose {
            Purpose::Report { association, .. } => {
                self.associations.get(association).map_or(LeftOut::NONE, |it| it.left_out)
            }
            _ => LeftOut::NONE,
        };
        let request = Request { to, message: message.message_type(), purpose };
        let started = self.outbound.start(now, policy, request, |sequence| {
            let mut bytes = Vec::new();
            message.encode(seid, sequence, &mut bytes)?;
            left_out.take_from(&mut bytes);
            Ok(bytes)
        });
        match started {
            Ok(bytes) => {
                self.counters.sent(message.message_type(), MessageResult::Ok);
                self.push(Output::Send { to, bytes });
            }
            Err(error) => self.notice(Notice::ResponseTooLong { to, octets: error.octets }),
        }
    }
}
