// Package readers has the decoders of SMFs read everything that the UPF sent in the conformance cases.
package readers

import (
	"encoding/binary"
	"fmt"
	"os"
)

// What a capture file of raw IP packets begins with, and the port of PFCP.
const (
	fileHeader   = 24
	packetHeader = 16
	magic        = 0xa1b2c3d4
	rawIP        = 101
	pfcpPort     = 8805
)

// readCapture gives the payload of each UDP datagram to or from the PFCP port.
func readCapture(path string) ([][]byte, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var order binary.ByteOrder = binary.BigEndian
	if len(file) >= fileHeader && order.Uint32(file) != magic {
		order = binary.LittleEndian
	}
	if len(file) < fileHeader || order.Uint32(file) != magic || order.Uint32(file[20:]) != rawIP {
		return nil, fmt.Errorf("%s is no capture of raw IP packets", path)
	}
	var payloads [][]byte
	for rest := file[fileHeader:]; len(rest) > 0; {
		if len(rest) < packetHeader {
			return nil, fmt.Errorf("%s ends within a packet", path)
		}
		length := int(order.Uint32(rest[8:]))
		rest = rest[packetHeader:]
		if len(rest) < length {
			return nil, fmt.Errorf("%s ends within a packet", path)
		}
		if payload := pfcpOf(rest[:length]); payload != nil {
			payloads = append(payloads, payload)
		}
		rest = rest[length:]
	}
	return payloads, nil
}

// pfcpOf gives the payload of a datagram of the PFCP port, without looking into extension headers: the cases send none.
func pfcpOf(packet []byte) []byte {
	header := 40
	if packet[0]>>4 == 4 {
		header = int(packet[0]&0x0f) * 4
	}
	if len(packet) < header+8 {
		return nil
	}
	udp := packet[header:]
	if binary.BigEndian.Uint16(udp) != pfcpPort && binary.BigEndian.Uint16(udp[2:]) != pfcpPort {
		return nil
	}
	return udp[8:]
}

// messages splits a datagram at the lengths of its messages.
func messages(datagram []byte) ([][]byte, error) {
	var all [][]byte
	for len(datagram) > 0 {
		if len(datagram) < 8 {
			return nil, fmt.Errorf("%d octets behind the last message", len(datagram))
		}
		length := 4 + int(binary.BigEndian.Uint16(datagram[2:]))
		if length > len(datagram) {
			return nil, fmt.Errorf("a message of %d octets in %d", length, len(datagram))
		}
		all = append(all, datagram[:length])
		datagram = datagram[length:]
	}
	return all, nil
}
