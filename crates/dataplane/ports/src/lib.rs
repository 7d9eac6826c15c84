//! Packet ports: TUN, UDP, TPACKET, memory and pcap, with a tracer and a fault injector.
