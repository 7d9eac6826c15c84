use proptest::prelude::*;

use super::*;

const BURST: Span = Span::from_millis(5);
const SECOND: u64 = 1_000_000_000;

fn rate(kbps: u64) -> Bitrate {
    Bitrate::from_kbps(kbps).expect("40 bits")
}

/// Offers packets of one size for a span, `gap` nanoseconds apart, varied by `jitter` per mille; returns the bits
/// that passed.
fn passed(bucket: &mut Bucket, start: Time, span: u64, octets: usize, gap: u64, jitter: &[u16]) -> u64 {
    let mut bits = 0;
    let mut at = 0;
    let mut jitter = jitter.iter().cycle();
    while at < span {
        if bucket.is_open(start + Span::from_nanos(at)) {
            bucket.take(octets);
            bits += octets as u64 * 8;
        }
        let spread = u64::from(*jitter.next().unwrap_or(&1000));
        at += (gap * spread / 1000).max(1);
    }
    bits
}

/// The tolerance of the volume of a second: 1 %, or two packets where that is more.
fn slack(kbps: u64, octets: usize) -> u64 {
    (kbps * 10).max(octets as u64 * 16)
}

proptest! {
    // Input:  a rate from 1 kbit/s to 400 Gbit/s and packets of 64 to 9000 octets at twice the rate, with jitter. A
    //         case of more than 20,000 packets is offered for a part of the second.
    // Output: within 1 % of the rate over one second, or two packets where that is more.
    #[test]
    fn the_rate_holds(
        exponent in 0.0..8.602_f64,
        octets in 64..9000_usize,
        jitter in proptest::collection::vec(500..1500_u16, 1..40),
    ) {
        let kbps = 10_f64.powf(exponent) as u64;
        let bits = octets as u64 * 8;
        let gap = (bits * 1_000_000 / (kbps * 2)).max(1);
        let span = SECOND.min(gap * 20_000);
        let start = Time::from_secs(1);
        let mut bucket = Bucket::new(rate(kbps), BURST, start);
        let requested = kbps * span / 1_000_000;
        let initial = kbps * BURST.as_nanos() as u64 / 1_000_000;
        let passed = passed(&mut bucket, start, span, octets, gap, &jitter);
        let least = requested - (requested / 100).max(bits).min(requested);
        prop_assert!(passed >= least, "{passed} bits passed of {requested}");
        let most = requested + initial + bits;
        prop_assert!(passed <= most, "{passed} bits passed of {requested}");
        if span == SECOND {
            prop_assert!(passed <= requested + slack(kbps, octets), "{passed} bits passed of {requested}");
        }
    }

    // Input:  rates and clocks that jump, forwards and back, with packets of any size in between.
    // Output: at most the largest rate over the whole time, the initial tokens, and a packet for each change pass.
    #[test]
    fn no_jump_of_clock_or_rate_exceeds_the_rate(
        steps in proptest::collection::vec((1..1_000_000_u64, 0..50_000_000_u64, any::<bool>(), 1..9000_usize), 1..60),
    ) {
        let mut now = Time::from_secs(100);
        let (first, mut latest) = (now, now);
        let mut bucket = Bucket::new(rate(1), BURST, now);
        let (mut bits, mut most, mut packets) = (0_u128, 0_u128, 0_u128);
        for (kbps, nanos, back, octets) in steps {
            let span = Span::from_nanos(nanos);
            now = if back { now - span } else { now + span };
            latest = latest.max(now);
            bucket.set(rate(kbps), BURST, now);
            most = most.max(u128::from(kbps));
            while bucket.is_open(now) {
                bucket.take(octets);
                bits += octets as u128 * 8;
            }
            packets += octets as u128 * 8;
        }
        let time = latest.since(first).as_nanos() + BURST.as_nanos();
        prop_assert!(bits <= most * time / 1_000_000 + packets, "{bits} bits passed");
    }
}

// Input:  400 Gbit/s and 1.5 Gbit/s for one whole second at twice the rate, in packets of 9000 and 64 octets.
// Output: within 1 %, above 32 bits of bit/s as below.
#[test]
fn the_rate_holds_for_a_whole_second_at_the_upper_end() {
    for (kbps, octets) in [(400_000_000, 65_535), (10_000_000, 9000), (1_500_000, 9000), (100_000, 64)] {
        let start = Time::from_secs(1);
        let mut bucket = Bucket::new(rate(kbps), BURST, start);
        let gap = (octets as u64 * 8 * 1_000_000 / (kbps * 2)).max(1);
        let passed = passed(&mut bucket, start, SECOND, octets, gap, &[1000]);
        assert!(passed.abs_diff(kbps * 1000) <= slack(kbps, octets), "{kbps} kbit/s: {passed} bits passed");
    }
}

// Input:  an MBR of zero.
// Output: nothing passes, however long the bucket fills.
#[test]
fn a_rate_of_zero_passes_nothing() {
    let mut bucket = Bucket::new(Bitrate::default(), BURST, Time::default());
    assert!(!bucket.is_open(Time::from_secs(1_000_000)));
}

// Input:  the largest rate that PFCP carries with the longest window, after a pause of centuries.
// Output: no overflow, and the bucket is no fuller than its capacity.
#[test]
fn the_largest_rate_does_not_overflow() {
    let mut bucket = Bucket::new(Bitrate::MAX, BURST, Time::default());
    assert!(bucket.is_open(Time::from_nanos(u64::MAX)));
    assert_eq!(bucket.tokens, 1_099_511_627_775 * 5_000_000);
    bucket.set(Bitrate::MAX, Span::from_millis(u32::MAX.into()), Time::from_nanos(u64::MAX));
    bucket.take(usize::MAX);
    bucket.take(usize::MAX);
    assert!(!bucket.is_open(Time::from_nanos(u64::MAX)));
}

// Input:  the rate is lowered while the bucket is full; then a burst of two seconds.
// Output: the tokens are limited to the new capacity; a longer burst fills with time, not immediately.
#[test]
fn a_change_of_the_rate_gives_no_new_burst() {
    let start = Time::from_secs(1);
    let mut bucket = Bucket::new(rate(1_000_000), BURST, start);
    bucket.set(rate(1), BURST, start);
    assert_eq!(bucket.tokens, 5_000_000);
    bucket.set(rate(1000), Span::from_secs(2), start);
    assert_eq!(bucket.tokens, 5_000_000);
    assert!(bucket.is_open(start + Span::from_secs(9)));
    assert_eq!(bucket.tokens, 2_000_000_000_000);
}

// Input:  packets that pass in any case, a hundred times the capacity of the bucket.
// Output: the debt is one burst: after that time it is open again.
#[test]
fn a_debt_of_packets_that_pass_in_any_case_is_bounded() {
    let start = Time::from_secs(1);
    let mut bucket = Bucket::new(rate(1000), BURST, start);
    (0..100).for_each(|_| bucket.take_up_to_burst(500));
    assert!(!bucket.is_open(start + BURST));
    assert!(bucket.is_open(start + BURST + Span::from_micros(1)));
}

// Input:  a packet passes, and the rate becomes zero while the bucket is full; later it becomes what it was.
// Output: no packet passes at a rate of zero; the bucket fills again afterwards.
#[test]
fn a_rate_that_becomes_zero_passes_nothing_more() {
    let start = Time::from_secs(1);
    let mut bucket = Bucket::new(rate(1_000_000), BURST, start);
    bucket.take(100);
    bucket.set(rate(0), BURST, start + Span::from_secs(1));
    assert!(!bucket.is_open(start + Span::from_secs(2)));
    bucket.set(rate(1_000_000), BURST, start + Span::from_secs(2));
    assert!(bucket.is_open(start + Span::from_secs(3)));
}
