package smf

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// The NGAP transfers that an AMF passes between gNB and SMF (TS 38.413), in aligned PER.

// Tunnel is one end of a GTP-U tunnel.
type Tunnel struct {
	Address netip.Addr
	TEID    uint32
}

// bits writes aligned PER.
type bits struct {
	octets []byte
	used   int // of the last octet
}

func (b *bits) put(value uint64, width int) {
	for width--; width >= 0; width-- {
		if b.used%8 == 0 {
			b.octets = append(b.octets, 0)
			b.used = 0
		}
		b.octets[len(b.octets)-1] |= byte(value>>width&1) << (7 - b.used)
		b.used++
	}
}

// aligned appends whole octets at the next octet boundary.
func (b *bits) aligned(octets []byte) {
	b.octets = append(b.octets, octets...)
	b.used = 0
}

// tunnel writes UPTransportLayerInformation with a GTPTunnel.
func (b *bits) tunnel(t Tunnel) {
	address := t.Address.AsSlice()
	b.put(0, 1)                        // the choice gTPTunnel
	b.put(0, 2)                        // GTPTunnel: no extension, no iE-Extensions
	b.put(0, 1)                        // TransportLayerAddress: no more than 160 bits
	b.put(uint64(len(address)*8-1), 8) // its length, from 1
	b.aligned(address)
	b.aligned(binary.BigEndian.AppendUint32(nil, t.TEID))
}

// flows writes a list of QoS flow identifiers; each item has so many flags of absent parts before it.
func (b *bits) flows(qfis []byte, flags int) {
	b.put(uint64(len(qfis)-1), 6)
	for _, qfi := range qfis {
		b.put(0, flags)
		b.put(0, 1) // a QFI without extension
		b.put(uint64(qfi), 6)
	}
}

// setupResponse builds a PDU Session Resource Setup Response Transfer: the gNB's end of the tunnel.
func setupResponse(gnb Tunnel, qfis []byte) []byte {
	var b bits
	b.put(0, 5) // no extension, none of the four optional parts
	b.put(0, 2) // QosFlowPerTNLInformation: the same
	b.tunnel(gnb)
	b.flows(qfis, 3)
	return b.octets
}

// pathSwitch builds a Path Switch Request Transfer: the new gNB's end of the tunnel.
func pathSwitch(gnb Tunnel, qfis []byte) []byte {
	var b bits
	b.put(0, 4) // no extension, none of the three optional parts
	b.tunnel(gnb)
	b.flows(qfis, 2)
	return b.octets
}

// modifyResponse builds a PDU Session Resource Modify Response Transfer that accepts QoS flows.
func modifyResponse(qfis []byte) []byte {
	var b bits
	b.put(0, 1)        // no extension
	b.put(0b001000, 6) // of the optional parts, qosFlowAddOrModifyResponseList alone
	b.flows(qfis, 2)
	return b.octets
}

// releaseResponse is a PDU Session Resource Release Response Transfer without optional parts.
var releaseResponse = []byte{0}

const (
	ieUplinkTunnel = 139 // UL-NGU-UP-TNLInformation
	ieFlowsToSetUp = 136 // QosFlowSetupRequestList
	ieFlowsToAdd   = 135 // QosFlowAddOrModifyRequestList
)

// protocolIEs reads a transfer that is a container of protocol IEs.
func protocolIEs(transfer []byte) (map[uint16][]byte, error) {
	if len(transfer) < 3 {
		return nil, fmt.Errorf("a transfer of %d octets", len(transfer))
	}
	ies := map[uint16][]byte{}
	count, rest := binary.BigEndian.Uint16(transfer[1:]), transfer[3:]
	for range count {
		if len(rest) < 4 {
			return nil, fmt.Errorf("a transfer that ends in an IE: %x", transfer)
		}
		id, length, header := binary.BigEndian.Uint16(rest), int(rest[3]), 4
		if length&0x80 != 0 && len(rest) > 4 {
			length, header = length&0x3f<<8|int(rest[4]), 5
		}
		if len(rest) < header+length {
			return nil, fmt.Errorf("IE %d of %d octets is cut: %x", id, length, transfer)
		}
		ies[id], rest = rest[header:header+length], rest[header+length:]
	}
	return ies, nil
}

// modifyRequest reads a PDU Session Resource Modify Request Transfer: the first QFI that is added or changed.
func modifyRequest(transfer []byte) (byte, error) {
	ies, err := protocolIEs(transfer)
	if err != nil {
		return 0, err
	}
	flows := ies[ieFlowsToAdd]
	if len(flows) < 3 {
		return 0, fmt.Errorf("no QoS flow in %x", transfer)
	}
	// 6 bits of the number of flows, 4 flags, and one of the QFI itself.
	return byte(binary.BigEndian.Uint16(flows[1:])>>7) & 0x3f, nil
}

// setupRequest reads a PDU Session Resource Setup Request Transfer: the UPF's end of the tunnel and the first QFI.
func setupRequest(transfer []byte) (Tunnel, byte, error) {
	ies, err := protocolIEs(transfer)
	if err != nil {
		return Tunnel{}, 0, err
	}
	tunnel, flows := ies[ieUplinkTunnel], ies[ieFlowsToSetUp]
	if len(tunnel) < 10 || len(flows) < 2 {
		return Tunnel{}, 0, fmt.Errorf("no tunnel or no QoS flow in %x", transfer)
	}
	// 4 flags, 8 bits of length less one, padding to the octet: the address begins in the third octet.
	octets := (int(tunnel[0]&0x0f)<<4 | int(tunnel[1]>>4)) + 1
	octets /= 8
	if len(tunnel) < 2+octets+4 {
		return Tunnel{}, 0, fmt.Errorf("an address of %d octets in %x", octets, tunnel)
	}
	// A dual-stack address is the IPv4 address and then the IPv6 one.
	address, _ := netip.AddrFromSlice(tunnel[2 : 2+min(octets, 4)])
	if octets == 16 {
		address, _ = netip.AddrFromSlice(tunnel[2:18])
	}
	teid := binary.BigEndian.Uint32(tunnel[2+octets:])
	return Tunnel{address, teid}, flows[1] & 0x3f, nil
}
