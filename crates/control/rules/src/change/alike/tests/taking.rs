use super::*;

// Input:  known words for an address that another session has; for a free one where no TEID is left; then where one is left again.
// Output: nothing is taken, as if nobody had asked; at last the session has its address and the TEID.
#[test]
fn known_words_take_all_or_nothing() {
    let mut world = World::new();
    let datagram = |ue: u8| Asked { ue, ..USUAL }.octets();
    for ue in 1..=12 {
        world.ask(&datagram(ue), ue.into(), crate::establish).unwrap();
    }
    assert_eq!(world.resources.tunnels.available(), 0);
    let ask = |world: &mut World, ue: u8| {
        let datagram = datagram(ue);
        let (_, body, _) = Header::decode(&datagram).unwrap();
        let known = world.resources.known(body).unwrap();
        world.resources.take(known, Seid(50))
    };
    let before = world.resources.clone();
    assert_eq!(ask(&mut world, 20), None);
    assert_eq!(world.resources, before);
    world.delete(0);
    let before = world.resources.clone();
    assert_eq!(ask(&mut world, 12), None);
    assert_eq!(world.resources, before);
    let taken = ask(&mut world, 20).unwrap();
    assert_eq!(taken.own().ue, Some(Ipv4Addr::new(10, 45, 0, 20)));
    assert_eq!((world.resources.tunnels.in_use(), world.resources.addresses.in_use()), (12, 12));
    assert_eq!(world.resources.tunnels.available(), 0);
}
