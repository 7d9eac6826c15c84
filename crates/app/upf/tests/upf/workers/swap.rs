//! Rules that change while packets are under way.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use causeway_dataplane::{DropReason, Op, Plan};
use causeway_model::{ApplyAction, Far, Forwarding, OuterHeader, Pdr, Qer};
use causeway_packet::Meta;
use causeway_ports::memory::MemoryPort;
use causeway_types::{FarId, Interface, QerId, Qfi};

use crate::workers::bench::{GNB, SERVER, bench, establishment, packet, pdr, seid, tunnel, ue};

const OTHER_GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 3);

/// The gNB, TEID and QFI of the downlink after an even and after an odd number of changes.
const SIDES: [(Ipv4Addr, u32, u8); 2] = [(GNB, 0xaaaa, 5), (OTHER_GNB, 0xbbbb, 9)];

/// Leads the downlink of UE `n` to a side: QFI, TEID and peer in one plan.
fn lead(n: u32, side: usize) -> Plan {
    let (gnb, teid, qfi) = SIDES[side];
    let outer = Some(OuterHeader::Gtpu(tunnel(teid + (n << 16), gnb)));
    let far = Far {
        forwarding: Some(Forwarding { outer, ..Forwarding::to(Interface::Access) }),
        ..Far::new(FarId(2), ApplyAction::Forward)
    };
    let qer = Qer { qfi: Qfi::new(qfi), ..Qer::new(QerId(1)) };
    let mut downlink: Pdr = pdr(n, false);
    downlink.qers.push(QerId(1));
    let ops = vec![Op::PutQer(qer.into()), Op::PutFar(far.into()), Op::PutPdr(downlink.into())];
    Plan::update(seid(n), ops)
}

/// Which side a datagram belongs to, and its UE and number; panics where it is a mix.
fn read(meta: Meta, datagram: &[u8]) -> (usize, u32, u32) {
    let Meta::Gtpu { peer, .. } = meta else { panic!("{meta:?}") };
    let word = |at: usize| u32::from_be_bytes(*datagram[at..].first_chunk().unwrap());
    assert_eq!((datagram[1], datagram[11]), (255, 0x85), "a G-PDU with a PDU Session Container");
    let (teid, qfi, inner) = (word(4), datagram[14] & 0x3f, &datagram[16..]);
    let user = u32::from_be_bytes(*inner[16..].first_chunk().unwrap()) - u32::from(ue(0));
    let seen = (peer.ip(), teid - (user << 16), qfi);
    let side = SIDES.iter().position(|(gnb, teid, qfi)| seen == ((*gnb).into(), *teid, *qfi));
    (side.unwrap_or_else(|| panic!("UE {user}: a mix of rules: {seen:x?}")), user, word(datagram.len() - 4))
}

/// Sends to both UEs by one worker, numbered, until told to stop. Returns how many to each.
fn flood(mut server: MemoryPort, first: u32, stop: &AtomicBool) -> (MemoryPort, u32) {
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        // No more than the ways between workers hold.
        for _ in 0..8 {
            for n in 0..2 {
                let payload = (first + sent).to_be_bytes();
                while !server.push(Meta::Ip, &packet(SERVER, ue(n), &payload)) {
                    std::thread::yield_now();
                }
            }
            sent += 1;
        }
        std::thread::yield_now();
    }
    (server, sent)
}

// Input:  packets for a UE of each of two workers, which come in at both without pause, while QFI, TEID and peer of both change
//         together 400 times.
// Output: each packet has all of the old rule or all of the new one; what is sent after the answer to a change has the new one; the
//         packets of a UE that came in at one worker keep their order; none is missing but those that found no room.
#[tokio::test]
async fn a_packet_sees_old_or_new_rules_never_a_mix() {
    let mut bench = bench(2);
    for n in 0..2 {
        bench.apply(establishment(n, vec![])).await.unwrap();
        bench.apply(lead(n, 0)).await.unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let floods: Vec<_> = std::mem::take(&mut bench.servers)
        .into_iter()
        .zip([0_u32, 1 << 30])
        .map(|(server, first)| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || flood(server, first, &stop))
        })
        .collect();
    let mut seen = BTreeMap::<(u32, u32), Vec<u32>>::new();
    let mut sides = [0_u64; 2];
    let mut take = |gnbs: &mut Vec<MemoryPort>| {
        for gnb in gnbs {
            while let Some((meta, datagram)) = gnb.pop() {
                let (side, ue, number) = read(meta, &datagram);
                sides[side] += 1;
                seen.entry((ue, number >> 30)).or_default().push(number);
            }
        }
    };
    for change in 1..=400 {
        for n in 0..2 {
            bench.apply(lead(n, change % 2)).await.unwrap();
        }
        take(&mut bench.gnbs);
    }
    stop.store(true, Ordering::Relaxed);
    let ended: Vec<_> = floods.into_iter().map(|flood| flood.join().unwrap()).collect();
    let sent: u64 = ended.iter().map(|(_, sent)| 2 * u64::from(*sent)).sum();
    let counters = bench.after(sent).await.counters;
    take(&mut bench.gnbs);
    assert!(sides.iter().all(|count| *count > 0), "{sides:?}");
    assert!(seen.values().all(|numbers| numbers.is_sorted_by(|a, b| a < b)), "in order and once");
    let lost = counters.dropped(DropReason::WorkerBusy);
    assert_eq!((counters.forwarded, counters.total_drops()), (sent - lost, lost));
    assert_eq!(sides.iter().sum::<u64>(), counters.forwarded);
    assert_eq!(seen.len(), 4);

    bench.servers = ended.into_iter().map(|(server, _)| server).collect();
    for change in 0..4 {
        for n in 0..2 {
            bench.apply(lead(n, change % 2)).await.unwrap();
            for at in 0..2 {
                bench.downlink(at, n, &[0; 4]);
            }
            bench.after(sent + 4 * change as u64 + 2 * u64::from(n) + 2).await;
            let gnbs = bench.gnbs.iter_mut();
            let after: Vec<_> = gnbs.flat_map(|gnb| std::iter::from_fn(|| gnb.pop())).collect();
            assert_eq!(after.len(), 2);
            assert!(after.iter().all(|(meta, datagram)| read(*meta, datagram).0 == change % 2));
        }
    }
}
