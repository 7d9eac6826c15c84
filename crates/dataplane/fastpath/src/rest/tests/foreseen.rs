use super::*;

// Input:  sessions foreseen as they come, as others under their numbers, both, or not at all; a packet for each; ends, foreseen or
//         not; and the same again with the UEs the other way round.
// Output: each is found by what is its own, as where nothing is foreseen.
#[test]
fn what_is_foreseen_changes_nothing() {
    let (mut plane, mut templates) = (plane_for(8), Templates::default());
    let mut plan = |seid: u8, ue: u8| {
        let ops = templates.alike(&rules(ue)).unwrap().into();
        Plan { session: Seid(seid.into()), ops }
    };
    for round in 0..2 {
        let ue_of = |seid: u8| if round == 0 { seid } else { 9 - seid };
        for seid in 1..=8 {
            if seid % 4 < 2 {
                plane.foresee(&plan(seid, 9 - ue_of(seid)));
            }
            if seid % 2 == 0 {
                plane.foresee(&plan(seid, ue_of(seid)));
            }
            assert_eq!(plane.apply(at(1), &plan(seid, ue_of(seid))), Ok(Applied::default()));
        }
        assert_eq!(plane.counters().sessions, 8);
        assert!(plane.resting.len() >= 7);
        for seid in 1..=8_u8 {
            assert_eq!(plane.resting.of_ue(Ipv4Addr::new(10, 0, 0, ue_of(seid))).is_some(), {
                let tunnel = (Teid::new(ue_of(seid).into()).unwrap(), UPF.into());
                plane.resting.of_tunnel(tunnel) == Some(Seid(seid.into()))
            });
            assert_eq!(downlink(&mut plane, ue_of(seid), at(2)), Fate::Forwarded);
        }
        assert_eq!(plane.resting.len(), 0);
        for seid in 1..=8_u8 {
            let end = plan_deletion(Seid(seid.into()));
            if seid % 3 == 0 {
                plane.foresee(&end);
            }
            let usage = plane.apply(at(3), &end).unwrap().usage;
            assert_eq!(usage.iter().map(|it| it.volume.unwrap().total()).collect::<Vec<_>>(), [28]);
        }
        assert_eq!((plane.counters().sessions, plane.slow.sessions()), (0, 0));
    }
}
