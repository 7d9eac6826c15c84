use super::*;

fn key(port: u16, sequence: u32) -> RequestKey {
    key_of(port, sequence, b"one")
}

fn key_of(port: u16, sequence: u32, body: &[u8]) -> RequestKey {
    let header = Header { sequence, ..Header::default() };
    let from = SocketAddr::from(([192, 0, 2, 1], port));
    RequestKey::new(from, MessageType::SessionEstablishmentRequest, &header, body)
}

const BOUNDS: Bounds = Bounds { hosts: 2, octets_per_host: 10, octets: usize::MAX, in_progress_per_host: 2 };

fn inbound() -> Inbound {
    Inbound::new(Span::from_secs(30), BOUNDS)
}

// Input:  one request begun, answered after 1 s, and its duplicate in each state.
// Output: new, in progress, the response until 30 s later, then new again and nothing stored.
#[test]
fn a_duplicate_gets_the_same_answer_for_a_while() {
    let mut inbound = inbound();
    assert_eq!(inbound.look_up(&key(1, 7)), RequestState::New);
    assert!(inbound.begin(&mut key(1, 7)));
    assert_eq!(inbound.look_up(&key(1, 7)), RequestState::InProgress);
    inbound.answer(Time::from_secs(1), key(1, 7), b"yes");
    assert_eq!(inbound.look_up(&key(1, 7)), RequestState::Answered(b"yes"));
    assert_eq!(inbound.look_up(&key(2, 7)), RequestState::New);
    assert_eq!(inbound.look_up(&key_of(1, 7, b"other")), RequestState::New);
    assert_eq!(inbound.next_deadline(), Some(Time::from_secs(31)));
    inbound.expire(Time::from_secs(31));
    assert_eq!((inbound.look_up(&key(1, 7)), inbound.len()), (RequestState::New, 0));
    assert_eq!((inbound.hosts.len(), inbound.next_deadline()), (0, None));
}

// Input:  capacity for 10 octets of responses, and three responses of 4.
// Output: the oldest one is evicted.
#[test]
fn the_oldest_answer_makes_room() {
    let mut inbound = inbound();
    for sequence in 1..=3 {
        assert!(inbound.begin(&mut key(1, sequence)));
        inbound.answer(Time::default(), key(1, sequence), b"four");
    }
    assert_eq!(inbound.look_up(&key(1, 1)), RequestState::New);
    assert_eq!(inbound.look_up(&key(1, 2)), RequestState::Answered(b"four"));
    assert_eq!(inbound.len(), 2);
}

// Input:  capacity for two hosts; one with two responses, one with one, then a third, then a fourth while the others
// have requests in progress.
// Output: the one with one response is evicted; the fourth is rejected.
#[test]
fn hosts_are_bounded() {
    let mut inbound = inbound();
    let of = |last: u8, sequence| {
        let from = SocketAddr::from(([192, 0, 2, last], 1));
        RequestKey { from, ..key(1, sequence) }
    };
    for mut key in [of(1, 1), of(1, 2), of(2, 1)] {
        assert!(inbound.begin(&mut key));
        inbound.answer(Time::default(), key, b"yes");
    }
    assert!(inbound.begin(&mut of(3, 1)));
    assert_eq!(inbound.look_up(&of(2, 1)), RequestState::New);
    assert_eq!(inbound.look_up(&of(1, 1)), RequestState::Answered(b"yes"));
    assert!(inbound.begin(&mut of(1, 3)));
    assert!(!inbound.begin(&mut of(4, 1)));
}

// Input:  a limit of two requests in progress, and three; one of them then ends.
// Output: the third is rejected until then.
#[test]
fn open_requests_are_bounded() {
    let mut inbound = inbound();
    assert!(inbound.begin(&mut key(1, 1)) && inbound.begin(&mut key(1, 2)));
    assert!(!inbound.begin(&mut key(1, 3)));
    inbound.forget(&key(1, 1));
    assert!(inbound.begin(&mut key(1, 3)));
    inbound.forget(&key(1, 2));
    inbound.answer(Time::default(), key(1, 3), b"yes");
    inbound.forget_answers(key(1, 3).from.ip());
    assert_eq!(inbound.hosts.len(), 0);
}

// Input:  requests begun in turn; each is answered with its hint, without one, and with a hint that points to another
// request.
// Output: each has its own response.
#[test]
fn an_index_hint_may_be_wrong() {
    let bounds = Bounds { octets_per_host: 1000, in_progress_per_host: 10, ..BOUNDS };
    let mut inbound = Inbound::new(Span::from_secs(30), bounds);
    let mut told = [1, 2, 3].map(|sequence| key(1, sequence));
    assert!(told.iter_mut().all(|key| inbound.begin(key)));
    inbound.forget(&told[0]);
    let mut fourth = key(1, 4);
    assert!(inbound.begin(&mut fourth));
    inbound.answer(Time::default(), told[0], b"none");
    let swapped = RequestKey { hint: told[2].hint, ..told[1] };
    for (key, answer) in [(swapped, b"two"), (key(1, 3), b"san"), (fourth, b"shi")] {
        inbound.answer(Time::default(), key, answer);
    }
    assert_eq!(inbound.look_up(&key(1, 1)), RequestState::New);
    let answers: [&[u8; 3]; 3] = [b"two", b"san", b"shi"];
    for (sequence, answer) in (2..).zip(answers) {
        assert_eq!(inbound.look_up(&key(1, sequence)), RequestState::Answered(answer));
    }
}

// Input:  ten thousand responses to a host, and one request in progress; then the responses become void. The first two
// requests are repeated, and all responses expire.
// Output: no void response is sent, and the request is still in progress; no step frees more than 256 of them, and at
// the end only the later ones are left.
#[test]
fn cached_responses_expire_a_few_at_a_time() {
    let bounds = Bounds { octets_per_host: 1 << 20, ..BOUNDS };
    let mut inbound = Inbound::new(Span::from_secs(30), bounds);
    for sequence in 0..10_000 {
        assert!(inbound.begin(&mut key(1, sequence)));
        inbound.answer(Time::from_secs(1), key(1, sequence), b"no longer so");
    }
    assert!(inbound.begin(&mut key(1, 70_000)));
    let held = |inbound: &Inbound| inbound.hosts.iter().map(|(_, host)| host.requests.len()).sum::<usize>();
    let before = held(&inbound);
    inbound.forget_answers(key(1, 3).from.ip());
    assert!(before == 10_001 && held(&inbound) == before - EXPIRY_BATCH);
    assert!((0..10_000).all(|sequence| inbound.look_up(&key(1, sequence)) == RequestState::New));
    assert_eq!((inbound.look_up(&key(1, 70_000)), inbound.len()), (RequestState::InProgress, 1));
    assert!(inbound.begin(&mut key(1, 9000)));
    inbound.answer(Time::from_secs(2), key(1, 9000), b"so");
    assert_eq!(inbound.look_up(&key(1, 9000)), RequestState::Answered(b"so"));
    inbound.forget(&key(1, 70_000));
    let mut steps = 0;
    while inbound.next_deadline().is_some_and(|due| due <= Time::from_secs(31)) {
        let before = held(&inbound);
        inbound.expire(Time::from_secs(31));
        assert!(before - held(&inbound) <= EXPIRY_BATCH);
        steps += 1;
    }
    assert!(steps > 30, "{steps}");
    assert_eq!((held(&inbound), inbound.len()), (1, 1));
    assert_eq!(inbound.look_up(&key(1, 9000)), RequestState::Answered(b"so"));
    inbound.expire(Time::from_secs(32));
    assert_eq!((held(&inbound), inbound.look_up(&key(1, 9000))), (0, RequestState::New));
}

// Input:  capacity for 40 responses with their requests in all; one host has 30, another reaches 20.
// Output: the oldest of the host with the most are evicted; the total never exceeds the limit, and is zero after their
// expiry.
#[test]
fn answers_of_all_hosts_stay_within_their_memory() {
    let most = 40 * (OF_REQUEST + 4);
    let bounds = Bounds { octets_per_host: 1 << 20, octets: most, ..BOUNDS };
    let mut inbound = Inbound::new(Span::from_secs(30), bounds);
    let of = |last: u8, sequence| RequestKey {
        from: SocketAddr::from(([192, 0, 2, last], 1)),
        ..key(1, sequence)
    };
    for (last, count) in [(1, 30), (2, 20)] {
        for sequence in 1..=count {
            assert!(inbound.begin(&mut of(last, sequence)));
            inbound.answer(Time::default(), of(last, sequence), b"four");
            assert!(inbound.octets <= most);
        }
    }
    let octets: Vec<_> = inbound.hosts.iter().map(|(_, host)| host.octets()).collect();
    assert_eq!(inbound.octets, octets.iter().sum::<usize>());
    assert_eq!(inbound.look_up(&of(1, 1)), RequestState::New);
    assert_eq!(inbound.look_up(&of(2, 20)), RequestState::Answered(b"four"));
    inbound.expire(Time::from_secs(31));
    assert_eq!((inbound.octets, inbound.len()), (0, 0));
}
