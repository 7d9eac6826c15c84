//! Requests without pad octets and CRC, from a switch that adds nothing behind a packet.

use std::net::SocketAddr;

use causeway_memory::{
    Client, ClientConfig, Description, ExternalMemory, Incarnation, Operation, QueuePair, Region, Regions,
    Rights, Rkey, Server, ServerConfig,
};
use causeway_packet::roce::{NakCode, Packet, Repr, Syndrome, Transport};
use causeway_types::Time;

const RKEY: Rkey = Rkey(7);

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A memory server, and a switch at an address from which requests without a CRC may come, or may not.
struct World {
    server: Server,
    switch: SocketAddr,
    client: Client,
}

impl World {
    fn new(is_bare: bool) -> Self {
        let (local, switch) = (address("192.0.2.66:4791"), address("192.0.2.65:49152"));
        let mut regions = Regions::new();
        regions.insert(RKEY, Region::new(0, 4096, Rights::all()).unwrap());
        let (incarnation, rights) = (Incarnation(1), Rights::all());
        let description =
            Description { incarnation, rkey: RKEY, rights, base: 0, length: 4096, max_length: 4096 };
        let bare = if is_bare { vec![switch.ip()] } else { vec![] };
        let server = Server::new(ServerConfig { bare, ..ServerConfig::new(local, description) }, regions);
        let client = Client::new(ClientConfig::new(switch, local, 1));
        let mut world = Self { server, switch, client };
        // The control plane connects, with a CRC.
        world.client.connect(Time::default());
        let mut datagram = Vec::new();
        while world.client.poll_transmit(Time::default(), &mut datagram).is_some() {
            world.server.receive(Time::default(), switch, &datagram);
            datagram.clear();
            while world.server.poll_transmit(&mut datagram).is_some() {
                world.client.receive(Time::default(), local, &datagram);
                datagram.clear();
            }
        }
        assert!(world.client.description().is_some());
        world
    }

    /// The next requests of the client, without pad octets and CRC.
    fn requests(&mut self) -> Vec<Vec<u8>> {
        let (mut requests, mut datagram) = (Vec::new(), Vec::new());
        while self.client.poll_transmit(Time::default(), &mut datagram).is_some() {
            let pad = usize::from(datagram[1] >> 4 & 3);
            datagram[1] &= 0xcf;
            datagram.truncate(datagram.len() - 4 - pad);
            requests.push(std::mem::take(&mut datagram));
        }
        requests
    }

    /// The response to a request.
    fn ask(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        self.server.receive(Time::default(), self.switch, request);
        let mut response = Vec::new();
        self.server.poll_transmit(&mut response).map(|_| response)
    }

    fn memory(&self) -> &[u8] {
        &self.server.regions().get(RKEY).unwrap().octets()[..8]
    }
}

// Input:  from an address without CRCs: a write of five octets, a read of them; the same read with a CRC; then a write that ends before its
//         length does.
// Output: both are executed, and the response has a CRC; octets behind a read are nothing; the short write is refused, and memory is as before.
#[test]
fn requests_without_a_crc_are_executed_from_where_they_may_come() {
    let mut world = World::new(true);
    let place = world.client.description().unwrap().place(0);
    for operation in [
        Operation::write(place, vec![1, 2, 3, 4, 5]),
        Operation::read(place, 8),
        Operation::read(place, 8),
        Operation::write(place, vec![9; 6]),
    ] {
        world.client.submit(Time::default(), QueuePair(0), operation).unwrap();
    }
    let [write, first, second, short] = world.requests().try_into().unwrap();
    assert!(matches!(Repr::parse_bare(&write).unwrap().transport, Transport::WriteOnly(_, [1, 2, 3, 4, 5])));
    world.ask(&write);
    assert_eq!(world.memory(), [1, 2, 3, 4, 5, 0, 0, 0]);
    let response = world.ask(&first).unwrap();
    let packet = Packet::parse(&response).unwrap();
    assert!(matches!(packet.transport, Transport::ReadResponseOnly(_, [1, 2, 3, 4, 5, 0, 0, 0])));
    assert!(world.ask(&[second, vec![1, 2, 3, 4]].concat()).is_some());
    let refusal = world.ask(&short[..short.len() - 1]).unwrap();
    let Transport::Acknowledge(aeth) = Packet::parse(&refusal).unwrap().transport else { panic!() };
    assert_eq!(aeth.syndrome, Syndrome::Nak(NakCode::InvalidRequest));
    assert_eq!(world.memory(), [1, 2, 3, 4, 5, 0, 0, 0]);
    assert_eq!(world.server.counters().icrc_errors, 0);
}

// Input:  a write without a CRC from where requests have one.
// Output: it is dropped and counted.
#[test]
fn requests_without_a_crc_are_dropped_from_elsewhere() {
    let mut world = World::new(false);
    let place = world.client.description().unwrap().place(0);
    world.client.submit(Time::default(), QueuePair(0), Operation::write(place, vec![1; 8])).unwrap();
    let [write] = world.requests().try_into().unwrap();
    assert_eq!(world.ask(&write), None);
    assert_eq!((world.memory(), world.server.counters().icrc_errors), (&[0; 8][..], 1));
}
