//! Policing on the model's registers.

use std::net::Ipv4Addr;

use fastrand::Rng;

use super::police::BURST;
use super::{Direction, Sessions, Tables};
use crate::driver::Program;
use crate::model::State;

/// A session of 10 Mbit/s downlink, to which packets of so many octets come in a gap of so many units of 256 ns.
struct Stream {
    random: Rng,
    switch: Sessions,
    state: State,
    clock: u32,
    ue: Ipv4Addr,
}

impl Stream {
    const RATE: u64 = 10_000_000;

    fn new(seed: u64) -> Self {
        let mut tables = Tables::new([Ipv4Addr::new(192, 0, 2, 1); 3]);
        tables.add_pool("10.46.0.0/26".parse().unwrap(), 64);
        tables.set_rate(Direction::Downlink, 3, Self::RATE).unwrap();
        let program = Program::default().with_sessions();
        let switch = Sessions::new(&program, tables).unwrap();
        let state = State::new(program);
        Self {
            random: Rng::with_seed(seed),
            switch,
            state,
            clock: 0xffff_0000,
            ue: Ipv4Addr::new(10, 46, 0, 63),
        }
    }

    /// Octets that pass of so many packets.
    fn offered(&mut self, packets: u32, octets: u16, gap: u32) -> u64 {
        let policed = self.switch.policed(Direction::Downlink, self.ue, 3, octets).unwrap();
        let mut passed = 0;
        for _ in 0..packets {
            self.clock = self.clock.wrapping_add(gap);
            let draw = self.random.u8(..);
            let is_over = self.switch.is_over(&mut self.state, policed, self.clock, draw).unwrap();
            passed += if is_over { 0 } else { u64::from(octets) };
        }
        passed
    }

    /// What the rate allows in a time, in octets.
    fn allowed(units: u64) -> u64 {
        units * 256 * Self::RATE / 8 / 1_000_000_000
    }
}

// Input:  a session of 10 Mbit/s; packets of 100 to 1,500 octets at half its rate, then at 1.1 to 20 times its rate, for 20 s each; the clock wraps
//         in between.
// Output: all packets at half the rate pass; of the others as much as the rate allows, within four percent and the burst.
#[test]
fn a_rate_is_kept_in_the_long_run() {
    let mut stream = Stream::new(3);
    for octets in [100, 700, 1500] {
        let time = u32::try_from(u64::from(octets) * 8 * 1_000_000_000 / Stream::RATE / 256).unwrap();
        // 20 s in units.
        let whole = 20 * 3_906_250;
        let slow = stream.offered(whole / (2 * time), octets, 2 * time);
        assert_eq!(slow, u64::from(whole / (2 * time)) * u64::from(octets));
        for (of, in_gaps) in [(11, 10), (2, 1), (20, 1)] {
            let gap = time * in_gaps / of;
            let passed = stream.offered(whole / gap, octets, gap);
            let allowed = Stream::allowed(u64::from(whole));
            let rounded_up = allowed * u64::from(octets) / u64::from(octets + 7);
            assert!(passed * 100 < allowed * 104, "{octets}, {of}/{in_gaps}: {passed} of {allowed}");
            assert!(passed * 100 > rounded_up * 96, "{octets}, {of}/{in_gaps}: {passed} of {allowed}");
        }
    }
}

// Input:  pauses of a session, from 20 ms to 13 minutes, and a burst at 100 times its rate after each; then no pause, and one of 0.14 s.
// Output: what passes of the burst at once is the credit of 20 ms and some packets: no pause makes a debt, or more credit.
#[test]
fn a_pause_gives_a_burst_and_no_more() {
    let mut stream = Stream::new(4);
    let credit = Stream::allowed(BURST.into());
    let mut all = 0;
    let pauses = [78_125, 3_906_250, 1 << 29, 1 << 31, 3 << 30, 5 << 29];
    for pause in pauses.iter().cycle().take(600) {
        stream.clock = stream.clock.wrapping_add(*pause);
        let passed = stream.offered(200, 1500, 47);
        // 200 packets take 2.4 ms. 60 packets without a draw are less likely than one in 3,000.
        let most = credit + Stream::allowed(200 * 47) + 60 * 1500;
        assert!(passed * 10 > credit * 8 && passed < most, "after {pause}: {passed} of {credit}");
        all += passed;
    }
    // A pause of just what the clock counts is none. What is owed then lasts for less than 0.14 s.
    assert!(stream.offered(200, 1500, 0) < 60 * 1500);
    stream.clock = stream.clock.wrapping_add(546_875);
    assert!(stream.offered(200, 1500, 47) * 10 > credit * 8);
    let mean = all / 600;
    assert!(mean < credit + Stream::allowed(200 * 47) + 12 * 1500, "{mean} of {credit}");
}
