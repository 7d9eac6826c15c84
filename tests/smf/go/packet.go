package smf

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// The packets of a UE. The kernel is the data network: it answers pings, and its sockets send downlink datagrams.

// Ports of the data network: of a flow that no rule is about, and of one that a PCC rule is about.
const (
	plainPort = 7000
	rulePort  = 7001
)

const (
	protocolICMP   = 1
	protocolUDP    = 17
	protocolICMPv6 = 58
)

// packet builds an IP packet around a payload whose checksum is at an offset.
func packet(from, to netip.Addr, protocol byte, hops byte, payload []byte, checksumAt int) []byte {
	var header []byte
	if from.Is4() {
		header = []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, hops, protocol, 0, 0}
		binary.BigEndian.PutUint16(header[2:], uint16(20+len(payload)))
		header = append(append(header, from.AsSlice()...), to.AsSlice()...)
		binary.BigEndian.PutUint16(header[10:], ^sum(0, header))
	} else {
		header = []byte{0x60, 0, 0, 0, 0, 0, protocol, hops}
		binary.BigEndian.PutUint16(header[4:], uint16(len(payload)))
		header = append(append(header, from.AsSlice()...), to.AsSlice()...)
	}
	initial := uint32(0)
	if protocol != protocolICMP {
		initial = uint32(protocol) + uint32(len(payload))
		for _, address := range [][]byte{from.AsSlice(), to.AsSlice()} {
			initial += uint32(sum(0, address))
		}
	}
	binary.BigEndian.PutUint16(payload[checksumAt:], ^sum(initial, payload))
	return append(header, payload...)
}

// sum is the ones' complement sum of an Internet checksum.
func sum(initial uint32, octets []byte) uint16 {
	for len(octets) > 1 {
		initial, octets = initial+uint32(binary.BigEndian.Uint16(octets)), octets[2:]
	}
	if len(octets) == 1 {
		initial += uint32(octets[0]) << 8
	}
	for initial > 0xffff {
		initial = initial>>16 + initial&0xffff
	}
	return uint16(initial)
}

// ping builds an echo request.
func ping(from, to netip.Addr, number uint16) []byte {
	payload := []byte{8, 0, 0, 0, 0xca, 0x05, byte(number >> 8), byte(number)}
	payload = append(payload, "causeway"...)
	if from.Is4() {
		return packet(from, to, protocolICMP, 64, payload, 2)
	}
	payload[0] = 128
	return packet(from, to, protocolICMPv6, 64, payload, 2)
}

// isPong says whether a packet is the answer to a ping with that number.
func isPong(packet []byte, number uint16) bool {
	kind, payload := upper(packet)
	answer := kind == protocolICMP && payload[0] == 0 || kind == protocolICMPv6 && payload[0] == 129
	return answer && len(payload) >= 8 && binary.BigEndian.Uint16(payload[6:]) == number
}

// routerSolicitation builds what a UE sends that wants its prefix.
func routerSolicitation(from netip.Addr) []byte {
	return packet(from, netip.MustParseAddr("ff02::2"), protocolICMPv6, 255, []byte{133, 0, 0, 0, 0, 0, 0, 0}, 2)
}

// advertised reads the prefix of a Router Advertisement.
func advertised(packet []byte) (netip.Addr, bool) {
	kind, payload := upper(packet)
	if kind != protocolICMPv6 || payload[0] != 134 || len(payload) < 16 {
		return netip.Addr{}, false
	}
	for options := payload[16:]; len(options) >= 8 && options[1] > 0 && len(options) >= int(options[1])*8; options = options[int(options[1])*8:] {
		if options[0] == 3 && options[1] == 4 {
			return netip.AddrFrom16([16]byte(options[16:32])), true
		}
	}
	return netip.Addr{}, false
}

// isDatagram says whether a packet is a UDP datagram with that payload.
func isDatagram(packet []byte, payload string) bool {
	kind, rest := upper(packet)
	return kind == protocolUDP && len(rest) >= 8 && bytes.Equal(rest[8:], []byte(payload))
}

// upper gives the protocol above IP, and its octets; an empty packet has protocol 0.
func upper(packet []byte) (byte, []byte) {
	switch {
	case len(packet) > 28 && packet[0]>>4 == 4:
		return packet[9], packet[20:]
	case len(packet) > 48 && packet[0]>>4 == 6:
		return packet[6], packet[40:]
	}
	return 0, nil
}
