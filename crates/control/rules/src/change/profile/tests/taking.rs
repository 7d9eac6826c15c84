use super::*;

// Input:  a cached template with the address of another session; with a free one while no TEID is left; then with
// one free TEID.
// Output: nothing is taken in the first two cases; then the session has its address and the TEID.
#[test]
fn template_matches_allocate_all_or_nothing() {
    let mut upf = TestUpf::new();
    let datagram = |ue: u8| Asked { ue, ..USUAL }.octets();
    for ue in 1..=12 {
        upf.ask(&datagram(ue), ue.into(), crate::establish).unwrap();
    }
    assert_eq!(upf.resources.tunnels.available(), 0);
    let ask = |upf: &mut TestUpf, ue: u8| {
        let datagram = datagram(ue);
        let (_, body, _) = Header::decode(&datagram).unwrap();
        let known = upf.resources.recognize(body).unwrap();
        upf.resources.take(known, Seid(50))
    };
    let before = upf.resources.clone();
    assert_eq!(ask(&mut upf, 20), None);
    assert_eq!(upf.resources, before);
    upf.delete(0);
    let before = upf.resources.clone();
    assert_eq!(ask(&mut upf, 12), None);
    assert_eq!(upf.resources, before);
    let taken = ask(&mut upf, 20).unwrap();
    assert_eq!(taken.params().ue, Some(Ipv4Addr::new(10, 45, 0, 20)));
    assert_eq!((upf.resources.tunnels.in_use(), upf.resources.addresses.in_use()), (12, 12));
    assert_eq!(upf.resources.tunnels.available(), 0);
}
