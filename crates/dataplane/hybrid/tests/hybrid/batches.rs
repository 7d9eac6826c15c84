//! Batches, of which the switch takes its packets and the software the others.

use causeway_dataplane::{Dataplane, RulePlace};
use causeway_hybrid::{Config, Wish};
use causeway_packet::BATCH;
use causeway_switch::model::Timing;
use causeway_types::{Direction, Span};

use crate::world::{World, rule, session, strict};

const SESSIONS: u8 = 4;
const DIRECTIONS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];

// Input:  2,000 batches of up to 64 packets of four UEs, while random rules move between batches; on a driver that takes no time,
//         and on one that does.
// Output: every packet leaves once, in order; all octets are reported; both sides had thousands, and the sums of both are what
//         came.
#[test]
fn batches_are_divided() {
    for timing in [Timing::INSTANT, Timing::PAPER_ALL_DRIVER] {
        let longest_stay = Span::from_micros(1);
        let mut world = World::with_batches(Config { longest_stay, ..strict() }, timing);
        (0..SESSIONS).for_each(|number| world.establish(number, session(number, None)));
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..2000 {
            let packets: Vec<_> = (0..random.usize(1..=BATCH))
                .map(|_| (random.u8(0..SESSIONS), random.usize(36..1400)))
                .collect();
            world.batch(DIRECTIONS[random.usize(0..2)], &packets);
            if random.u8(..) < 100 {
                let which = rule(random.u8(0..SESSIONS), DIRECTIONS[random.usize(0..2)]);
                let is_there = world.upf.moves().is_on_switch(which);
                world.wish(if is_there { Wish::Demote(which) } else { Wish::Promote(which) });
            }
            world.pass(Span::from_micros(random.u64(1..5000)));
        }
        world.assert_all_arrived();
        let placement = world.upf.rule_placement(world.now).unwrap();
        let (switch, software) = (placement.switch, placement.software);
        assert!(switch.packets > 5000 && software.packets > 5000, "{placement:?}");
        assert!(placement.moves.promoted > 100 && placement.moves.demoted > 100, "{placement:?}");
        let sent: u64 = world.passed.values().map(|passed| passed.sent).sum();
        assert_eq!(switch.packets + software.packets, sent);
        assert_eq!(RulePlace::ALL.map(|place| placement.rules_at(place)).iter().sum::<u64>(), 8);
        world.assert_all_reported(SESSIONS);
    }
}
