//! An SMF for many sessions: it keeps a number of requests in flight, and has no thread.

mod in_flight;
mod received_requests;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

use causeway_pfcp::{Cause, Header, HeartbeatResponse, Message, RecoveryTimeStamp, SessionReportResponse};
use causeway_types::{NtpSeconds, Seid};
use rustix::net::RecvFlags;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};

use super::model::{Downlink, Session, SessionPlan};
use super::{build, decode};
use crate::LabError;
use in_flight::{RequestsInFlight, T1};
use received_requests::ReceivedRequests;

/// The UDP port of PFCP (TS 29.244 clause 4.2.2).
const PORT: u16 = 8805;
/// Octets of receive buffer to ask for.
const RECEIVE_BUFFER: usize = 8 << 20;
/// Octets of the longest datagram.
const DATAGRAM: usize = 65_535;
/// When this SMF began.
const RECOVERY: NtpSeconds = NtpSeconds(3_900_000_000);

/// An SMF for many sessions, towards one UPF.
///
/// Its SEIDs are 1, 2 and so on in the order of establishment. Requests of the UPF are answered while it waits for
/// responses, and by [`BulkSmf::poll`].
pub struct BulkSmf {
    socket: UdpSocket,
    address: Ipv4Addr,
    sequence: u32,
    /// The UPF's SEIDs, by the SMF's SEID less one.
    up_seids: Vec<Seid>,
    repeated: u64,
    served: ReceivedRequests,
    buffer: Box<[u8]>,
    room: Vec<u8>,
}

/// What the UPF has said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SmfEvent {
    /// It answered the request with this sequence number, and accepted it.
    Response(u32),
    /// It has sent a Session Report Request about the session with this SEID of the SMF, with so many usage reports, which was answered. One
    /// that it sends again is answered again, and not heard again.
    Report(Seid, usize),
}

impl BulkSmf {
    /// Opens the N4 socket in the network namespace of the calling thread. Nothing is sent yet.
    ///
    /// # Errors
    /// [`LabError::Io`], for example when the address is not there or port 8805 is taken.
    pub fn open(address: Ipv4Addr, upf: SocketAddr) -> Result<Self, LabError> {
        let connect = || {
            let socket = UdpSocket::bind(SocketAddrV4::new(address, PORT))?;
            socket.connect(upf)?;
            Ok::<_, std::io::Error>(socket)
        };
        Self::with_socket(connect().map_err(LabError::io(format!("N4 socket {address}")))?, address)
    }

    /// Talks over a connected socket.
    pub(super) fn with_socket(socket: UdpSocket, address: Ipv4Addr) -> Result<Self, LabError> {
        socket.set_read_timeout(Some(T1)).map_err(LabError::io("N4 socket"))?;
        // Without the right to more it is what the system allows.
        let _ = set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER)
            .or_else(|_| set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER));
        let buffer = vec![0; DATAGRAM].into();
        let (up_seids, room) = (Vec::new(), Vec::new());
        let served = ReceivedRequests::default();
        Ok(Self { socket, address, sequence: 0, up_seids, repeated: 0, served, buffer, room })
    }

    /// Sets up the association; a UPF that is only starting has some seconds.
    ///
    /// # Errors
    /// [`LabError::Timeout`], or [`LabError::Peer`] with the cause of a refusal.
    pub fn associate(&mut self) -> Result<(), LabError> {
        let request = build::association(self.address, RECOVERY);
        self.exchange("association", 1, 1, |_| (None, request.clone()), |_, _, _| Ok(()))
    }

    /// Sets up sessions. Their downlink is buffered until [`BulkSmf::set_downlink`].
    ///
    /// # Errors
    /// [`LabError::Timeout`], or [`LabError::Peer`] with the cause of a refusal, or when the UPF chose no tunnel.
    pub fn establish(&mut self, plans: &[SessionPlan], window: usize) -> Result<Vec<Session>, LabError> {
        let (address, first) = (self.address, self.up_seids.len());
        let cp_seid = |number: usize| Seid((first + number) as u64 + 1);
        let mut sessions = vec![None; plans.len()];
        let request = |number: usize| {
            let plan = plans.get(number).unwrap_or_else(|| unreachable!("it is asked for each plan"));
            (Some(Seid(0)), build::establishment(address, cp_seid(number), plan))
        };
        self.exchange("session", plans.len(), window, request, |number, _, message| {
            let Message::SessionEstablishmentResponse(response) = message else {
                return Err(decode::unexpected(&message));
            };
            let no_seid = || LabError::Peer("the UPF gave no F-SEID".into());
            let up_seid = response.up_f_seid.ok_or_else(no_seid)?.seid;
            let uplink = decode::uplink(&response.created_pdrs)?;
            if let Some(session) = sessions.get_mut(number) {
                *session = Some(Session { cp_seid: cp_seid(number), up_seid, uplink });
            }
            Ok(())
        })?;
        let sessions: Vec<_> = sessions.into_iter().flatten().collect();
        self.up_seids.extend(sessions.iter().map(|session| session.up_seid));
        Ok(sessions)
    }

    /// Changes what becomes of the downlink of these sessions.
    ///
    /// # Errors
    /// [`LabError::Timeout`], or [`LabError::Peer`] with the cause of a refusal.
    pub fn set_downlink(
        &mut self,
        sessions: &[Session],
        window: usize,
        downlink: impl Fn(usize) -> Downlink,
    ) -> Result<(), LabError> {
        let request = |number| (up_seid(sessions, number), build::downlink(downlink(number)));
        self.exchange("modification", sessions.len(), window, request, |_, _, _| Ok(()))
    }

    /// Deletes sessions.
    ///
    /// # Errors
    /// [`LabError::Timeout`], or [`LabError::Peer`] with the cause of a refusal.
    pub fn delete(&mut self, sessions: &[Session], window: usize) -> Result<(), LabError> {
        let request = |number| (up_seid(sessions, number), build::deletion());
        self.exchange("deletion", sessions.len(), window, request, |_, _, _| Ok(()))
    }

    /// Asks for another downlink and does not wait. Returns the sequence number that [`SmfEvent::Response`] will have.
    ///
    /// # Errors
    /// [`LabError::Io`] when the socket does not take it.
    pub fn ask_downlink(&mut self, session: &Session, downlink: Downlink) -> Result<u32, LabError> {
        let sequence = self.next_sequence();
        let mut room = std::mem::take(&mut self.room);
        encode(&build::downlink(downlink), Some(session.up_seid), sequence, &mut room)?;
        let sent = self.socket.send(&room).map_err(LabError::io("send on N4"));
        self.room = room;
        sent.map(|_| sequence)
    }

    /// What the UPF has said meanwhile; does not wait.
    ///
    /// # Errors
    /// [`LabError::Peer`] when it has refused a request, or [`LabError::Io`].
    pub fn poll(&mut self) -> Result<Option<SmfEvent>, LabError> {
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            let received = rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT);
            let heard = match received {
                Ok((length, _)) => self.hear(buffer.get(..length).unwrap_or_default()).map(Some),
                Err(rustix::io::Errno::AGAIN) => Ok(None),
                Err(errno) => Err(LabError::io("receive on N4")(errno)),
            };
            self.buffer = buffer;
            match heard? {
                // A heartbeat is of no interest to anybody.
                Some(None) => {}
                Some(heard) => return Ok(heard),
                None => return Ok(None),
            }
        }
    }

    /// Requests that had to be sent again.
    pub fn retransmitted(&self) -> u64 {
        self.repeated
    }

    /// Session Report Requests that the UPF sent again.
    pub fn duplicate_reports(&self) -> u64 {
        self.served.duplicates()
    }

    fn hear(&mut self, datagram: &[u8]) -> Result<Option<SmfEvent>, LabError> {
        let (header, message) = decode::message(datagram)?;
        if message.message_type().is_request() {
            return self.serve(&header, &message);
        }
        check("request", &message)?;
        Ok(Some(SmfEvent::Response(header.sequence)))
    }

    /// Answers a request of the UPF.
    fn serve(&mut self, header: &Header, message: &Message<'_>) -> Result<Option<SmfEvent>, LabError> {
        let (response, seid, heard) = match message {
            Message::HeartbeatRequest(_) => {
                (HeartbeatResponse::new(RecoveryTimeStamp(RECOVERY)).into(), None, None)
            }
            Message::SessionReportRequest(request) => {
                let cp_seid = header.seid.unwrap_or_default();
                let index = usize::try_from(cp_seid.0).ok().and_then(|seid| seid.checked_sub(1));
                let up_seid = index.and_then(|index| self.up_seids.get(index)).copied();
                let response = SessionReportResponse::new(Cause::RequestAccepted);
                let heard = SmfEvent::Report(cp_seid, request.usage_reports.iter().count());
                let heard = self.served.is_new(header.sequence).then_some(heard);
                (response.into(), Some(up_seid.unwrap_or_default()), heard)
            }
            _ => return Ok(None),
        };
        let mut room = std::mem::take(&mut self.room);
        encode(&response, seid, header.sequence, &mut room)?;
        let sent = self.socket.send(&room).map_err(LabError::io("send on N4"));
        self.room = room;
        sent.map(|_| heard)
    }

    /// Sends requests until all are answered: at most `window` of them are in flight.
    fn exchange<'a>(
        &mut self,
        what: &str,
        count: usize,
        window: usize,
        mut request: impl FnMut(usize) -> (Option<Seid>, Message<'a>),
        mut heard: impl FnMut(usize, &Header, Message<'_>) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let mut flights = RequestsInFlight::new(what, window);
        let mut buffer = vec![0; DATAGRAM];
        let mut asked = 0;
        while asked < count || !flights.is_empty() {
            while asked < count && !flights.is_full() {
                let sequence = self.next_sequence();
                let (seid, message) = request(asked);
                let mut octets = Vec::with_capacity(512);
                encode(&message, seid, sequence, &mut octets)?;
                flights.send(&self.socket, sequence, asked, octets);
                asked += 1;
            }
            let received = match self.socket.recv(&mut buffer) {
                Ok(length) => buffer.get(..length).unwrap_or_default(),
                Err(error) => {
                    self.repeated += flights.repeat(&self.socket, &error)?;
                    continue;
                }
            };
            let (header, message) = decode::message(received)?;
            if message.message_type().is_request() {
                self.serve(&header, &message)?;
            } else if let Some(number) = flights.answered(header.sequence) {
                check(what, &message)?;
                heard(number, &header, message)?;
            }
        }
        Ok(())
    }

    /// Sequence numbers have 24 bits.
    const fn next_sequence(&mut self) -> u32 {
        self.sequence = (self.sequence + 1) & 0x00ff_ffff;
        self.sequence
    }
}

fn up_seid(sessions: &[Session], number: usize) -> Option<Seid> {
    sessions.get(number).map(|session| session.up_seid)
}

fn encode(
    message: &Message<'_>,
    seid: Option<Seid>,
    sequence: u32,
    out: &mut Vec<u8>,
) -> Result<(), LabError> {
    out.clear();
    message.encode(seid, sequence, out).map_err(|error| LabError::Peer(error.to_string()))
}

/// The response accepts what was asked for.
fn check(what: &str, message: &Message<'_>) -> Result<(), LabError> {
    let (cause, offending) = match message {
        Message::AssociationSetupResponse(response) => (response.cause, None),
        Message::SessionEstablishmentResponse(response) => (response.cause, response.offending_ie),
        Message::SessionModificationResponse(response) => (response.cause, response.offending_ie),
        Message::SessionDeletionResponse(response) => (response.cause, response.offending_ie),
        other => return Err(decode::unexpected(other)),
    };
    decode::accepted(what, cause, offending)
}
