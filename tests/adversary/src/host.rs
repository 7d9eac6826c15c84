//! The sockets of attackers.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use causeway_lab::LabError;
use causeway_lab::netns::Namespace;
use causeway_pfcp::{Cause, Header, Message, SessionReportResponse};
use causeway_types::Seid;
use socket2::{Domain, Protocol, Socket, Type};

use crate::message;

/// The longest that an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A UDP socket of an attacker, towards one address of the UPF.
pub(crate) struct Host {
    socket: UdpSocket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Host {
    /// Binds inside the namespace and connects.
    pub(crate) fn open(
        namespace: &Namespace,
        from: SocketAddrV4,
        to: SocketAddrV4,
    ) -> Result<Self, LabError> {
        let open = || {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
            // As large as the system allows.
            let _ = socket.set_recv_buffer_size(4 << 20);
            socket.bind(&from.into())?;
            socket.connect(&to.into())?;
            Ok::<_, io::Error>(UdpSocket::from(socket))
        };
        let socket = namespace.enter(|| open().map_err(LabError::io(format!("attacker's socket {from}"))))?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; 65_535] })
    }

    /// Sends a datagram. A full queue or a refusal of the host is as good as a loss.
    pub(crate) fn send(&self, octets: &[u8]) {
        let _ = self.socket.send(octets);
    }

    /// Sends a PFCP request and does not wait. Returns its sequence number.
    pub(crate) fn send_request(&mut self, message: Message<'_>, seid: Option<Seid>) -> u32 {
        self.sequence += 1;
        self.send(&message::octets(message, seid, self.sequence));
        self.sequence
    }

    /// Sends a PFCP request up to three times, and gives its answer to `read`. Requests of the UPF are accepted meanwhile.
    pub(crate) fn request<T>(
        &mut self,
        message: Message<'_>,
        seid: Option<Seid>,
        read: impl Fn(&Message<'_>) -> Option<T>,
    ) -> Option<T> {
        self.sequence += 1;
        let request = message::octets(message, seid, self.sequence);
        for _ in 0..3 {
            self.send(&request);
            let start = Instant::now();
            while start.elapsed() < TIMEOUT {
                let Some(datagram) = self.receive(Duration::from_millis(100)) else { continue };
                let Some((header, message)) = decode(&datagram) else { continue };
                if header.sequence == self.sequence && !message.message_type().is_request() {
                    return read(&message);
                }
                self.serve(&header, &message);
            }
        }
        None
    }

    /// The cause with which the UPF answers a request.
    pub(crate) fn cause(&mut self, message: Message<'_>, seid: Option<Seid>) -> Option<Cause> {
        self.request(message, seid, cause_of)
    }

    /// The next datagram, if one comes in time.
    pub(crate) fn receive(&mut self, within: Duration) -> Option<Vec<u8>> {
        // A timeout of zero would be none.
        self.socket.set_read_timeout(Some(within.max(Duration::from_millis(1)))).ok()?;
        let length = self.socket.recv(&mut self.buffer).ok()?;
        self.buffer.get(..length).map(<[u8]>::to_vec)
    }

    /// Everything that has come until now, without waiting long for more.
    pub(crate) fn drain(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.receive(Duration::from_millis(20))).take(100_000).collect()
    }

    fn serve(&mut self, header: &Header, message: &Message<'_>) {
        if let Message::SessionReportRequest(_) = message {
            let accepted = SessionReportResponse::new(Cause::RequestAccepted);
            self.send(&message::octets(accepted.into(), header.seid, header.sequence));
        }
    }
}

fn cause_of(message: &Message<'_>) -> Option<Cause> {
    match message {
        Message::AssociationSetupResponse(response) => Some(response.cause),
        Message::AssociationReleaseResponse(response) => Some(response.cause),
        Message::SessionEstablishmentResponse(response) => Some(response.cause),
        Message::SessionModificationResponse(response) => Some(response.cause),
        Message::SessionDeletionResponse(response) => Some(response.cause),
        _ => None,
    }
}

pub(crate) fn decode(datagram: &[u8]) -> Option<(Header, Message<'_>)> {
    let (header, body, _) = Header::decode(datagram).ok()?;
    Message::decode(&header, body).ok().map(|message| (header, message))
}

/// Sends whole IPv4 packets, whatever their source address says.
pub(crate) struct RawHost(Socket);

impl RawHost {
    /// Opens the socket inside the namespace.
    pub(crate) fn open(namespace: &Namespace) -> Result<Self, LabError> {
        let open = || {
            let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255)))?;
            socket.set_header_included_v4(true)?;
            Ok::<_, io::Error>(socket)
        };
        namespace.enter(|| open().map_err(LabError::io("attacker's raw socket"))).map(Self)
    }

    /// Sends a packet towards its destination.
    pub(crate) fn send(&self, to: Ipv4Addr, packet: &[u8]) {
        let _ = self.0.send_to(packet, &SocketAddr::from((to, 0)).into());
    }
}
