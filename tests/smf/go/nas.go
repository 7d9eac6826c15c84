package smf

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// The session management messages of a UE (TS 24.501) that an SMF needs to see.

// PDU session types, as NAS numbers them.
const (
	IPv4   = 1
	IPv6   = 2
	IPv4v6 = 3
)

// establishmentRequest builds a PDU Session Establishment Request.
func establishmentRequest(session, transaction, pduType byte) []byte {
	return []byte{0x2e, session, transaction, 0xc1, 0xff, 0xff, 0x90 | pduType, 0xa1}
}

// complete builds what a UE answers to a PDU Session Modification Command or Release Command.
func complete(command []byte) []byte {
	answer := map[byte]byte{0xcb: 0xcc, 0xd3: 0xd4}
	return []byte{0x2e, command[1], command[2], answer[command[3]]}
}

// Addresses are what the network gives a UE: an IPv4 address, the interface identifier of its IPv6 address, or both.
type Addresses struct {
	IPv4        netip.Addr
	InterfaceID []byte
}

// accepted reads the addresses of a PDU Session Establishment Accept.
func accepted(message []byte) (Addresses, error) {
	if len(message) < 7 || message[3] != 0xc2 {
		return Addresses{}, fmt.Errorf("no PDU Session Establishment Accept but %x", message)
	}
	rest := message[5:]
	rules := int(binary.BigEndian.Uint16(rest))
	if len(rest) < 2+rules+7 {
		return Addresses{}, fmt.Errorf("QoS rules of %d octets in %x", rules, message)
	}
	rest = rest[2+rules+7:] // the Session-AMBR has seven octets
	for len(rest) >= 2 {
		tag, header, length := rest[0], 2, int(rest[1])
		switch {
		case tag&0x80 != 0:
			header, length = 1, 0
		case tag == 0x59 || tag == 0x56:
			length = 0
		case tag == 0x75 || tag == 0x78 || tag == 0x79 || tag == 0x7b:
			if len(rest) < 3 {
				return Addresses{}, fmt.Errorf("IE %#x is cut", tag)
			}
			header, length = 3, int(binary.BigEndian.Uint16(rest[1:]))
		}
		if len(rest) < header+length {
			return Addresses{}, fmt.Errorf("IE %#x of %d octets is cut", tag, length)
		}
		if tag == 0x29 {
			return pduAddress(rest[header : header+length])
		}
		rest = rest[header+length:]
	}
	return Addresses{}, fmt.Errorf("no PDU address in %x", message)
}

func pduAddress(value []byte) (Addresses, error) {
	var addresses Addresses
	sizes := map[byte]int{IPv4: 5, IPv6: 9, IPv4v6: 13}
	if len(value) == 0 || len(value) < sizes[value[0]&7] || sizes[value[0]&7] == 0 {
		return addresses, fmt.Errorf("PDU address %x", value)
	}
	kind, rest := value[0]&7, value[1:]
	if kind != IPv4 {
		addresses.InterfaceID, rest = rest[:8], rest[8:]
	}
	if kind != IPv6 {
		addresses.IPv4 = netip.AddrFrom4([4]byte(rest[:4]))
	}
	return addresses, nil
}
