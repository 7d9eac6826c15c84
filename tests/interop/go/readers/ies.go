package readers

import "encoding/binary"

// grouped are the types of grouped IEs that a UPF sends (TS 29.244 table 8.1.2-1).
var grouped = map[uint16]bool{
	8: true, 51: true, 54: true, 58: true, 59: true, 68: true, 78: true, 79: true, 80: true, 83: true, 99: true,
	102: true, 128: true, 143: true, 187: true, 188: true, 252: true, 256: true, 264: true,
}

// headerLen is that of a message's header, with SEID or without.
func headerLen(message []byte) int {
	if message[0]&1 != 0 {
		return 16
	}
	return 8
}

// types are the types of all IEs in some octets, those in groups included.
func types(ies []byte, found map[uint16]bool) {
	for len(ies) >= 4 {
		kind, end := binary.BigEndian.Uint16(ies), 4+int(binary.BigEndian.Uint16(ies[2:]))
		if end > len(ies) {
			return
		}
		found[kind] = true
		if grouped[kind] {
			types(ies[4:end], found)
		}
		ies = ies[end:]
	}
}

// without gives a message without the IEs of some types, wherever they are.
func without(message []byte, gone map[uint16]bool) []byte {
	start := headerLen(message)
	left := append([]byte{}, message[:start]...)
	left = append(left, withoutIEs(message[start:], gone)...)
	binary.BigEndian.PutUint16(left[2:], uint16(len(left)-4))
	return left
}

func withoutIEs(ies []byte, gone map[uint16]bool) []byte {
	var left []byte
	for len(ies) >= 4 {
		kind, end := binary.BigEndian.Uint16(ies), 4+int(binary.BigEndian.Uint16(ies[2:]))
		if end > len(ies) {
			break
		}
		value := ies[4:end]
		if grouped[kind] {
			value = withoutIEs(value, gone)
		}
		if !gone[kind] {
			left = binary.BigEndian.AppendUint16(left, kind)
			left = binary.BigEndian.AppendUint16(left, uint16(len(value)))
			left = append(left, value...)
		}
		ies = ies[end:]
	}
	return left
}
