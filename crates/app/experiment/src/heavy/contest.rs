//! Several detectors on the same trace, and their scores against the truth.

use causeway_show::Progress;
use causeway_traffic::FlowKeys;
use causeway_types::{Span, Time};

use super::design::{Detector, Seen, Target};
use super::trace::{Packet, Profile, Trace};
use super::truth::Truth;

/// What a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowOf {
    /// A transport flow.
    FiveTuple,
    /// Everything from a host.
    Source,
    /// Everything to a host.
    Destination,
}

impl FlowOf {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FiveTuple, Self::Source, Self::Destination];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FiveTuple => "5-tuple",
            Self::Source => "source",
            Self::Destination => "destination",
        }
    }

    const fn of(self, packet: &Packet) -> u32 {
        match self {
            Self::FiveTuple => packet.flow,
            Self::Source => packet.source,
            Self::Destination => packet.destination,
        }
    }
}

/// The conditions of a contest.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    /// The trace.
    pub profile: &'a Profile,
    /// Its seed.
    pub seed: u64,
    /// What a flow is.
    pub flow: FlowOf,
    /// What is heavy.
    pub target: Target,
    /// Seconds after which scores are taken, in ascending order; the trace ends at the last.
    pub seconds: &'a [u32],
}

/// The result of a contest.
#[derive(Clone, Debug)]
pub struct Results {
    /// For each detector, the score after each of the seconds.
    pub scores: Vec<Vec<Score>>,
    /// For each detector, seconds from a flow's becoming heavy to its first report, sorted; flows that are not heavy, or not
    /// reported, are left out.
    pub delays: Vec<Vec<f64>>,
    /// For each detector, reports in all; and those that were the first of their flow.
    pub reports: Vec<(u64, u64)>,
}

/// How the reported flows agree with the heavy ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Score {
    /// Heavy flows that were reported.
    pub found: u32,
    /// Flows that were reported and are not heavy.
    pub wrong: u32,
    /// Heavy flows that were not reported.
    pub missed: u32,
}

impl Score {
    /// The share of reported flows that are heavy.
    pub fn precision(&self) -> f64 {
        share(self.found, self.wrong)
    }

    /// The share of heavy flows that were reported.
    pub fn recall(&self) -> f64 {
        share(self.found, self.missed)
    }

    /// The harmonic mean of both.
    pub fn f1(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
    }
}

/// The share of `part` in both; one of nothing.
fn share(part: u32, rest: u32) -> f64 {
    if part + rest == 0 { 1.0 } else { f64::from(part) / f64::from(part + rest) }
}

/// What a detector has said so far.
struct Said {
    detector: Box<dyn Detector>,
    /// When each flow was reported first.
    first: Vec<Option<Time>>,
    reports: u64,
}

/// How much of the trace is in memory at a time.
const PIECE: Span = Span::from_millis(250);

impl Contest<'_> {
    /// Runs the detectors.
    pub fn run(&self, detectors: Vec<Box<dyn Detector>>, progress: &mut Progress) -> Results {
        let new = |detector| Said { detector, first: Vec::new(), reports: 0 };
        let mut said: Vec<Said> = detectors.into_iter().map(new).collect();
        let mut truth = Truth::new(self.target.amount, self.target.threshold, self.target.window);
        let mut trace = Trace::new(self.profile, self.seed);
        let keys = FlowKeys::with_seed(self.seed);
        let (mut packets, mut seen) = (Vec::new(), Vec::new());
        let mut scores = vec![Vec::new(); said.len()];
        let last = self.seconds.last().copied().unwrap_or(0);
        let mut done = Span::ZERO;
        for end in self.seconds {
            while done < Span::from_secs((*end).into()) {
                progress.set_progress(done.as_millis() as u64, u64::from(last) * 1000);
                trace.advance(PIECE, &mut packets);
                done += PIECE;
                seen.clear();
                seen.extend(packets.iter().map(|packet| {
                    let flow = self.flow.of(packet);
                    Seen {
                        flow,
                        key: keys.rule_pair(flow.into(), 0),
                        octets: packet.octets,
                        time: packet.time,
                    }
                }));
                seen.iter().for_each(|packet| truth.observe(packet.flow, packet.octets, packet.time));
                said.iter_mut().for_each(|said| said.observe(&seen));
            }
            for (said, scores) in said.iter().zip(&mut scores) {
                scores.push(said.score(&truth));
            }
        }
        Results {
            scores,
            delays: said.iter().map(|said| said.delays(&truth)).collect(),
            reports: said
                .iter()
                .map(|said| (said.reports, said.first.iter().flatten().count() as u64))
                .collect(),
        }
    }
}

impl Said {
    fn observe(&mut self, packets: &[Seen]) {
        for packet in packets {
            if !self.detector.observe(packet) {
                continue;
            }
            self.reports += 1;
            let place = packet.flow as usize;
            if place >= self.first.len() {
                self.first.resize(place + 1, None);
            }
            self.first.get_mut(place).into_iter().for_each(|first| *first = first.or(Some(packet.time)));
        }
    }

    /// When a flow was reported first, beside when it became heavy.
    fn beside<'a>(&'a self, truth: &'a Truth) -> impl Iterator<Item = (Option<Time>, Option<Time>)> + 'a {
        let first = self.first.iter().copied().chain(std::iter::repeat(None));
        first.zip(truth.heavy_since())
    }

    fn score(&self, truth: &Truth) -> Score {
        let mut score = Score::default();
        for (reported, heavy) in self.beside(truth) {
            match (reported.is_some(), heavy.is_some()) {
                (true, true) => score.found += 1,
                (true, false) => score.wrong += 1,
                (false, true) => score.missed += 1,
                (false, false) => {}
            }
        }
        score
    }

    fn delays(&self, truth: &Truth) -> Vec<f64> {
        let both = self.beside(truth).filter_map(|(reported, heavy)| Some((reported?, heavy?)));
        let mut delays: Vec<f64> =
            both.map(|(reported, heavy)| reported.since(heavy).as_secs_f64()).collect();
        delays.sort_by(f64::total_cmp);
        delays
    }
}

#[cfg(test)]
mod tests {
    use super::super::design::{Design, Method};
    use super::super::truth::Amount;
    use super::*;

    // Input:  one flow found, one wrong, two missed; nothing at all.
    // Output: precision one half, recall a third; both one.
    #[test]
    fn scores_are_shares() {
        let score = Score { found: 1, wrong: 1, missed: 2 };
        assert!((score.precision() - 0.5).abs() < 1e-9 && (score.recall() - 1.0 / 3.0).abs() < 1e-9);
        assert!((score.f1() - 0.4).abs() < 1e-9);
        assert!((Score::default().f1() - 1.0).abs() < 1e-9);
    }

    // Input:  every method with ample memory on a small trace of six seconds.
    // Output: exact counts report nothing wrong; all that count in seconds find what exact counts find, and all with sliding
    //         windows more, Memento with them.
    #[test]
    fn ample_memory_leaves_windows_only() {
        let target = Target::megabits(Amount::Packets, 1);
        let profile = Profile::BACKBONE.scaled(0.05);
        let contest =
            Contest { profile: &profile, seed: 3, flow: FlowOf::FiveTuple, target, seconds: &[3, 6] };
        let designs: Vec<Design> =
            Method::ALL.iter().filter_map(|method| method.designs().last().copied()).collect();
        let build = |design: &Design| design.build(1 << 20, target, 1).unwrap();
        let results = contest.run(designs.iter().map(build).collect(), &mut Progress::new());
        let score = |method: Method| {
            let place = Method::ALL.iter().position(|known| *known == method).unwrap();
            *results.scores[place].last().unwrap()
        };
        let exact = score(Method::Exact);
        assert!(exact.wrong == 0 && exact.missed > 0 && exact.found > 30, "{exact:?}");
        for method in [
            Method::HeavyKeeper,
            Method::Elastic,
            Method::Precision,
            Method::HashPipe,
            Method::SpaceSaving,
            Method::Waving,
            Method::Salsa,
        ] {
            let found = score(method);
            assert!(
                found.found.abs_diff(exact.found) <= 2 && found.wrong <= 1,
                "{method:?} {found:?} {exact:?}"
            );
        }
        for method in [Method::Sliding, Method::Switch, Method::Block, Method::Memento] {
            assert!(score(method).missed < exact.missed, "{method:?} {:?} {exact:?}", score(method));
        }
        assert!(results.scores.iter().all(|scores| scores.len() == 2));
    }
}
