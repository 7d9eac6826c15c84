//! The measured paths of packets.

use std::time::Duration;

use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::{Port, PortError};

use super::frames::{self, CHUNK, GTPU};
use super::place::Place;
use crate::BenchError;
use crate::kit::CpuTimer;

/// Where packets come in and go out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Way {
    /// In at N3 and out again.
    N3,
    /// In at N6 and out again, turned round.
    N6,
    /// In at N3, out at N6 without the tunnel header.
    Uplink,
    /// In at N6, out at N3 behind a tunnel header.
    Downlink,
}

impl Way {
    pub(super) const ALL: [Self; 4] = [Self::N3, Self::N6, Self::Uplink, Self::Downlink];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::N3 => "N3 echo",
            Self::N6 => "N6 echo",
            Self::Uplink => "N3 to N6",
            Self::Downlink => "N6 to N3",
        }
    }

    /// What the kernel does for the ports on this way.
    pub(super) fn offload(self, place: &Place) -> String {
        let (n3, n6) = (place.n3.offload(), place.n6.offload());
        match self {
            Self::N3 => n3.to_string(),
            Self::N6 => n6.to_string(),
            Self::Uplink | Self::Downlink => format!("{n3}; {n6}"),
        }
    }
}

/// What one chunk has shown.
pub(super) struct Step {
    /// CPU time of the ports.
    pub(super) elapsed: Duration,
    /// Packets that the ports passed on.
    pub(super) passed: usize,
    /// Packets that arrived at the other end.
    pub(super) arrived: usize,
    /// System calls of the ports.
    pub(super) calls: u64,
}

/// Packets of one size on one way.
pub(super) struct Line {
    way: Way,
    frames: Vec<Vec<u8>>,
    header: [u8; GTPU],
}

impl Line {
    pub(super) fn new(way: Way, size: usize, place: u8) -> Result<Self, BenchError> {
        let frames = match way {
            Way::N3 | Way::Uplink => frames::gtpu(place, size)?,
            Way::N6 | Way::Downlink => vec![vec![7; size - frames::USER]; CHUNK],
        };
        Ok(Self { way, frames, header: frames::header(size)? })
    }

    pub(super) const fn way(&self) -> Way {
        self.way
    }

    /// One chunk: sent while the clock stands, passed on while it runs, and counted.
    pub(super) fn step(&self, place: &mut Place) -> Result<Step, BenchError> {
        self.send(place)?;
        let before = place.calls();
        let timer = CpuTimer::start();
        let passed = self.pass(place)?;
        let elapsed = timer.elapsed();
        let calls = place.calls() - before;
        let Place { gnb, server, batch, .. } = place;
        let end: &mut dyn Port = match self.way {
            Way::N3 | Way::Downlink => gnb,
            Way::N6 | Way::Uplink => server,
        };
        let mut arrived = 0;
        while end.receive(batch)? > 0 {
            arrived += batch.len();
        }
        Ok(Step { elapsed, passed, arrived, calls })
    }

    fn send(&self, place: &mut Place) -> Result<(), BenchError> {
        let ue = place.ue();
        let (from, peer) = match self.way {
            Way::N3 | Way::Uplink => (&mut place.gnb, place.n3.local()),
            Way::N6 | Way::Downlink => (&mut place.server, ue),
        };
        let meta = Meta::Gtpu { local: from.local().ip(), peer, tos: 0, hops: None };
        let frames: Vec<_> = self.frames.iter().map(|data| Frame { meta, data }).collect();
        from.send(&frames)?;
        Ok(())
    }

    /// Passes on all that is there.
    fn pass(&self, place: &mut Place) -> Result<usize, PortError> {
        let Place { n3, n6, gnb, batch, .. } = place;
        let gnb = Meta::Gtpu { local: n3.local().ip(), peer: gnb.local(), tos: 0, hops: None };
        let mut passed = 0;
        loop {
            let got = match self.way {
                Way::N3 | Way::Uplink => n3.receive(batch)?,
                Way::N6 | Way::Downlink => n6.receive(batch)?,
            };
            if got == 0 {
                return Ok(passed);
            }
            self.rewrite(batch, gnb);
            passed += match self.way {
                Way::N3 | Way::Downlink => n3.send(&batch.as_frames())?,
                Way::N6 | Way::Uplink => n6.send(&batch.as_frames())?,
            };
        }
    }

    fn rewrite(&self, batch: &mut Batch, gnb: Meta) {
        for index in 0..batch.len().min(BATCH) {
            let Some(mut frame) = batch.frame_mut(index) else { continue };
            match self.way {
                Way::N3 => {}
                Way::N6 => frames::turn_round(frame.data()),
                Way::Uplink => {
                    if frame.trim_front(GTPU) {
                        frame.set_meta(Meta::Ip);
                    }
                }
                Way::Downlink => {
                    if let Some(room) = frame.prepend(GTPU) {
                        room.copy_from_slice(&self.header);
                        frame.set_meta(gnb);
                    }
                }
            }
        }
    }
}
