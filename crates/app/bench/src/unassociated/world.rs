//! N4 with an SMF and its sessions, and a data plane that accepts every plan.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::Applied;
use causeway_n4::{Config, N4, Occupancy, Output};
use causeway_types::{DualIp, NodeId, NtpSeconds, Seid, Span, Time};

use crate::BenchError;
use crate::pfcp::requests::{SMF, association, deletion, establishment};
use crate::pfcp::{capabilities, is_accepted, topology, up_seid};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Sessions that are there for a moment only, beside the others.
const PASSING: u32 = 1024;

pub(super) struct Environment {
    n4: N4,
    now: Time,
    seids: Vec<Seid>,
}

impl Environment {
    /// With so many sessions of an SMF.
    pub(super) fn new(sessions: u32) -> Result<Self, BenchError> {
        let mut config = Config::new(NodeId::Ip(IpAddr::V4(UPF)), DualIp::from(UPF));
        config.heartbeat.interval = Span::ZERO;
        config.limits.sessions = (sessions + PASSING) as usize;
        // A microsecond passes for each datagram: answers are kept for the last 5000 of them.
        config.answer_lifetime = Span::from_millis(5);
        let capabilities = capabilities(sessions + PASSING);
        let n4 = N4::new(config, capabilities, topology().endpoints(), NtpSeconds(3_900_000_000));
        let mut world = Self { n4, now: Time::from_secs(1_700_000_000), seids: Vec::new() };
        world.ask(vec![association()]);
        for number in 0..sessions {
            let answers = world.ask(vec![establishment(number, number)]);
            world.seids.extend(answers.iter().filter_map(|answer| up_seid(answer)));
        }
        let accepted = world.seids.len();
        if accepted == sessions as usize {
            return Ok(world);
        }
        Err(BenchError::NotAccepted { what: "establish".into(), accepted, of: sessions as usize })
    }

    /// The SEID of a session.
    pub(super) fn seid(&self, turn: u32) -> Seid {
        let at = turn as usize % self.seids.len().max(1);
        self.seids.get(at).copied().unwrap_or(Seid(0))
    }

    /// Deals with the datagrams as the daemon does, and returns what is sent.
    pub(super) fn serve(&mut self, datagrams: &[(SocketAddr, Vec<u8>)]) -> Vec<Vec<u8>> {
        let mut answers = Vec::new();
        for (from, octets) in datagrams {
            self.now = self.now + Span::from_micros(1);
            self.n4.datagram(self.now, *from, octets);
            while let Some(output) = self.n4.poll_output() {
                match output {
                    // A Heartbeat Request to a new peer is no answer.
                    Output::Send { bytes, .. } if bytes.get(1) == Some(&1) => self.n4.recycle(bytes),
                    Output::Send { bytes, .. } => answers.push(bytes),
                    Output::Apply { id, .. } => self.n4.applied(self.now, id, Ok(Applied::default())),
                    Output::Applications(_) | Output::Notice(_) => {}
                }
            }
        }
        if self.n4.next_timer().is_some_and(|due| due <= self.now) {
            self.n4.timer(self.now);
        }
        answers
    }

    /// Gives the memory of answers back that were sent.
    pub(super) fn recycle(&mut self, answers: Vec<Vec<u8>>) {
        answers.into_iter().for_each(|octets| self.n4.recycle(octets));
    }

    /// Ends the sessions that these answers have accepted.
    pub(super) fn end(&mut self, answers: &[Vec<u8>], sequence: u32) -> Result<(), BenchError> {
        let seids: Vec<_> = answers.iter().filter_map(|answer| up_seid(answer)).collect();
        let ended =
            self.ask((sequence..).zip(&seids).map(|(number, seid)| deletion(*seid, number)).collect());
        let accepted = ended.iter().filter(|answer| is_accepted(answer)).count();
        if accepted > 0 && accepted == answers.len() {
            return Ok(());
        }
        Err(BenchError::NotAccepted { what: "establish and delete".into(), accepted, of: answers.len() })
    }

    /// What there is of everything that could grow.
    pub(super) fn occupancy(&self) -> Occupancy {
        self.n4.occupancy()
    }

    fn ask(&mut self, requests: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let from = SocketAddr::new(IpAddr::V4(SMF), 8805);
        let datagrams: Vec<_> = requests.into_iter().map(|octets| (from, octets)).collect();
        self.serve(&datagrams)
    }
}
