//! Packets of a generated trace, with figures like those of the captures that the thesis used.
//!
//! Flows come in four kinds: heavy, medium and slow ones with a rate and a life, and short ones of a few packets. A flow sends
//! bursts, paced packets, or packets at random times. Everything follows from the seed.

use std::f64::consts::TAU;

use causeway_types::{Span, Time};

use super::given::Given;

/// The flows of a trace.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Profile {
    /// Its name in tables.
    pub name: &'static str,
    /// The trace of the thesis that it stands for.
    pub like: &'static str,
    /// Flows with a rate: heavy, medium, slow.
    pub populations: [Population; 3],
    /// New flows a second of 1 packet and an exponential number more, of this mean.
    pub short_flows: (f64, f64),
    /// The share of flows that send bursts; of the others, one half is paced and the other sends at random times.
    pub bursty: f64,
    /// The median time between bursts, in seconds.
    pub round_trip: f64,
    /// Hosts that flows come from and go to; a few have most flows.
    pub hosts: u32,
    /// A trace of a user's, which is instead of all this.
    pub given: Option<&'static Given>,
}

/// Concurrent flows of one kind. New ones come at random times; lives are exponential.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Population {
    /// The mean number of concurrent flows.
    pub flows: f64,
    /// The mean life, in seconds.
    pub life: f64,
    /// Packets a second.
    pub rates: Rates,
}

/// A distribution of rates, in packets a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rates {
    /// N(>= x) ~ x^-shape, and what is above `most` is `most`.
    Capped {
        /// The least rate.
        least: f64,
        /// The greatest rate.
        most: f64,
        /// The exponent.
        shape: f64,
    },
    /// N(>= x) ~ x^-shape between both.
    Between {
        /// The least rate.
        least: f64,
        /// The greatest rate.
        most: f64,
        /// The exponent.
        shape: f64,
    },
    /// The logarithm is evenly distributed.
    Logarithmic {
        /// The least rate.
        least: f64,
        /// The greatest rate.
        most: f64,
    },
}

impl Profile {
    /// Like a CAIDA backbone link of 2016.
    pub const BACKBONE: Self = Self {
        name: "backbone",
        like: "CAIDA16",
        populations: [
            Population {
                flows: 1250.0,
                life: 6.0,
                rates: Rates::Capped { least: 125.0, most: 9000.0, shape: 1.7 },
            },
            Population {
                flows: 7000.0,
                life: 4.0,
                rates: Rates::Between { least: 10.0, most: 125.0, shape: 0.65 },
            },
            Population { flows: 45_000.0, life: 10.0, rates: Rates::Logarithmic { least: 0.7, most: 10.0 } },
        ],
        short_flows: (8000.0, 3.0),
        bursty: 0.5,
        round_trip: 0.06,
        hosts: 20_000,
        given: None,
    };

    /// With as many packets and flows a second as the thesis' trace of the WIDE backbone.
    pub const WIDE: Self = Self {
        name: "WIDE",
        like: "MAWI20",
        populations: [
            Population {
                flows: 1300.0,
                life: 6.0,
                rates: Rates::Capped { least: 125.0, most: 20_000.0, shape: 1.3 },
            },
            Population {
                flows: 900.0,
                life: 4.0,
                rates: Rates::Between { least: 10.0, most: 125.0, shape: 0.65 },
            },
            Population { flows: 600.0, life: 10.0, rates: Rates::Logarithmic { least: 0.7, most: 10.0 } },
        ],
        short_flows: (500.0, 3.0),
        hosts: 3000,
        ..Self::BACKBONE
    };

    /// With as many packets and flows a second as the thesis' data centre trace when it is replayed at 3,500 flows a second.
    pub const DATA_CENTRE: Self = Self {
        name: "data centre",
        like: "IMC10",
        populations: [
            Population {
                flows: 550.0,
                life: 6.0,
                rates: Rates::Capped { least: 125.0, most: 9000.0, shape: 1.3 },
            },
            Population {
                flows: 1200.0,
                life: 4.0,
                rates: Rates::Between { least: 10.0, most: 125.0, shape: 0.65 },
            },
            Population { flows: 800.0, life: 10.0, rates: Rates::Logarithmic { least: 0.7, most: 10.0 } },
        ],
        short_flows: (500.0, 3.0),
        bursty: 0.5,
        round_trip: 0.005,
        hosts: 1000,
        given: None,
    };

    /// A trace of a user's. It is in memory as long as the process.
    #[must_use]
    pub fn of(given: Given) -> Self {
        let given: &Given = Box::leak(Box::new(given));
        Self { name: &given.name, like: "none of the thesis", given: Some(given), ..Self::BACKBONE }
    }

    /// The same with this share of bursty flows.
    #[must_use]
    pub const fn with_bursty(self, bursty: f64) -> Self {
        Self { bursty, ..self }
    }

    /// The same with a fraction of the flows.
    #[must_use]
    pub fn scaled(mut self, fraction: f64) -> Self {
        self.populations.iter_mut().for_each(|population| population.flows *= fraction);
        self.short_flows.0 *= fraction;
        self
    }
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Packet {
    /// When it is seen.
    pub time: Time,
    /// Its flow, numbered from 0 in the order of their beginning.
    pub flow: u32,
    /// The host it comes from.
    pub source: u32,
    /// The host it goes to.
    pub destination: u32,
    /// Octets.
    pub octets: u16,
}

/// A trace in progress.
#[derive(Clone, Debug)]
pub struct Trace {
    profile: Profile,
    random: fastrand::Rng,
    flows: Vec<Flow>,
    /// When the next flow of each population begins, and the next short one.
    next: [f64; 4],
    now: f64,
    begun: u32,
    /// Packets of a given trace so far.
    taken: usize,
}

#[derive(Clone, Debug)]
struct Flow {
    packet: Packet,
    rate: f64,
    next: f64,
    end: f64,
    packets: u32,
    pattern: Pattern,
    size: Size,
}

#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Bursts at this rate; so many packets are left of the current one, and it began at this time.
    Bursts { peak: f64, left: u32, begin: f64 },
    /// Gaps of 30 % around the mean.
    Paced,
    /// Exponential gaps.
    Random,
}

#[derive(Clone, Copy, Debug)]
enum Size {
    Bulk,
    Small,
    Between,
}

/// The rate within a short flow, in packets a second.
const SHORT_RATE: f64 = 20.0;
/// The deviation of the logarithm of the time between bursts.
const ROUND_TRIP_DEVIATION: f64 = 0.6;

impl Trace {
    /// A trace with flows that are under way at its beginning.
    pub fn new(profile: &Profile, seed: u64) -> Self {
        let mut trace = Self {
            profile: *profile,
            random: fastrand::Rng::with_seed(seed),
            flows: Vec::new(),
            next: [0.0; 4],
            now: 0.0,
            begun: profile.given.map_or(0, Given::flows),
            taken: 0,
        };
        if profile.given.is_some() {
            return trace;
        }
        for (kind, population) in profile.populations.iter().enumerate() {
            (0..population.flows as u32).for_each(|_| trace.begin(Some(population), 0.0));
            trace.draw_next(kind, 0.0);
        }
        trace.draw_next(3, 0.0);
        trace
    }

    /// Flows that have begun: their numbers are below this.
    pub const fn flows(&self) -> u32 {
        self.begun
    }

    /// Replaces `packets` by those of the next span, in order of time.
    pub fn advance(&mut self, span: Span, packets: &mut Vec<Packet>) {
        packets.clear();
        let until = self.now + span.as_secs_f64();
        if let Some(given) = self.profile.given {
            packets.extend_from_slice(given.before(self.taken, Time::from_nanos((until * 1e9) as u64)));
            self.taken += packets.len();
            self.now = until;
            return;
        }
        for kind in 0..4 {
            while let Some(at) = self.next.get(kind).copied().filter(|at| *at < until) {
                let population = self.profile.populations.get(kind).copied();
                self.begin(population.as_ref(), at);
                self.draw_next(kind, at);
            }
        }
        let Self { flows, random, profile, .. } = self;
        flows.retain_mut(|flow| flow.send(until, profile, random, packets));
        packets.sort_unstable();
        self.now = until;
    }

    /// Draws when the next flow of a kind begins.
    fn draw_next(&mut self, kind: usize, at: f64) {
        let mean = match self.profile.populations.get(kind) {
            Some(population) => population.life / population.flows,
            None => 1.0 / self.profile.short_flows.0,
        };
        let next = at + exponential(&mut self.random, mean);
        self.next.get_mut(kind).into_iter().for_each(|time| *time = next);
    }

    /// Begins a flow of a population, or a short one.
    fn begin(&mut self, population: Option<&Population>, at: f64) {
        let Self { profile, random, .. } = self;
        let (rate, end, packets) = match population {
            Some(Population { life, rates, .. }) => {
                (rates.draw(random), at + exponential(random, *life), u32::MAX)
            }
            None => {
                let more = exponential(random, profile.short_flows.1) as u32;
                (SHORT_RATE, f64::INFINITY, 1 + more)
            }
        };
        let drawn = random.f64();
        let pattern = if drawn < profile.bursty && rate * profile.mean_round_trip() >= 1.0 {
            Pattern::Bursts { peak: rate * (10.0 + 40.0 * random.f64()), left: 0, begin: at }
        } else if drawn < f64::midpoint(profile.bursty, 1.0) && drawn >= profile.bursty {
            Pattern::Paced
        } else {
            Pattern::Random
        };
        let size = match random.f64() {
            drawn if drawn < 0.6 => Size::Bulk,
            drawn if drawn < 0.85 => Size::Small,
            _ => Size::Between,
        };
        let packet = Packet {
            time: Time::default(),
            flow: self.begun,
            source: host(random, profile.hosts),
            destination: host(random, profile.hosts),
            octets: 0,
        };
        let mut flow = Flow { packet, rate, next: at, end, packets, pattern, size };
        flow.wait(profile, random);
        // Flows of the beginning are under way.
        flow.next = at + (flow.next - at) * random.f64();
        if let Pattern::Bursts { begin, .. } = &mut flow.pattern {
            *begin = flow.next;
        }
        self.flows.push(flow);
        self.begun += 1;
    }
}

impl Profile {
    fn mean_round_trip(&self) -> f64 {
        self.round_trip * (ROUND_TRIP_DEVIATION * ROUND_TRIP_DEVIATION / 2.0).exp()
    }
}

impl Flow {
    /// Sends what is due; returns whether the flow goes on.
    fn send(
        &mut self,
        until: f64,
        profile: &Profile,
        random: &mut fastrand::Rng,
        packets: &mut Vec<Packet>,
    ) -> bool {
        while self.next < until {
            if self.next >= self.end || self.packets == 0 {
                return false;
            }
            self.packets -= 1;
            let time = Time::from_nanos((self.next * 1e9) as u64);
            packets.push(Packet { time, octets: self.size.draw(random), ..self.packet });
            self.wait(profile, random);
        }
        self.next < self.end && self.packets > 0
    }

    /// Draws the time of the next packet.
    fn wait(&mut self, profile: &Profile, random: &mut fastrand::Rng) {
        self.next = match &mut self.pattern {
            Pattern::Paced => self.next + (0.7 + 0.6 * random.f64()) / self.rate,
            Pattern::Random => self.next + exponential(random, 1.0 / self.rate),
            Pattern::Bursts { peak, left, .. } if *left > 1 => {
                *left -= 1;
                self.next + 1.0 / *peak
            }
            Pattern::Bursts { left, begin, .. } => {
                let gap = profile.round_trip * (ROUND_TRIP_DEVIATION * normal(random)).exp();
                let mean = self.rate * profile.mean_round_trip();
                *left = mean as u32 + u32::from(random.f64() < mean.fract());
                *begin += gap;
                begin.max(self.next)
            }
        };
    }
}

impl Rates {
    fn draw(&self, random: &mut fastrand::Rng) -> f64 {
        let drawn = random.f64();
        match *self {
            Self::Capped { least, most, shape } => (least * (1.0 - drawn).powf(-1.0 / shape)).min(most),
            Self::Between { least, most, shape } => {
                let (high, low) = (least.powf(-shape), most.powf(-shape));
                (high - drawn * (high - low)).powf(-1.0 / shape)
            }
            Self::Logarithmic { least, most } => least * (most / least).powf(drawn),
        }
    }
}

impl Size {
    fn draw(self, random: &mut fastrand::Rng) -> u16 {
        match self {
            Self::Bulk => random.u16(1300..=1500),
            Self::Small => 60,
            Self::Between => random.u16(60..1300),
        }
    }
}

fn exponential(random: &mut fastrand::Rng, mean: f64) -> f64 {
    -(1.0 - random.f64()).ln() * mean
}

fn normal(random: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}

/// A host: the first of all has a share of one over the cube root of their number.
fn host(random: &mut fastrand::Rng, hosts: u32) -> u32 {
    (random.f64().powi(3) * f64::from(hosts)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a second of each profile with the same seed twice, in one piece and in ten; another seed.
    // Output: packets in order: the same ones, about as many in pieces, and others.
    #[test]
    fn a_seed_gives_the_same_packets() {
        let trace = |seed: u64, pieces: u32| {
            let mut trace = Trace::new(&Profile::BACKBONE.scaled(0.02), seed);
            let (mut all, mut some) = (Vec::new(), Vec::new());
            for _ in 0..pieces {
                trace.advance(Span::from_secs(1) / pieces, &mut some);
                all.append(&mut some);
            }
            all
        };
        let one = trace(1, 1);
        assert!(one.is_sorted() && one.len() > 10_000, "{}", one.len());
        assert!(one == trace(1, 1) && one != trace(2, 1));
        assert!(trace(1, 10).len().abs_diff(one.len()) < one.len() / 10);
    }
}
