package smf

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	upfAddress   = "127.0.0.7"
	dataNetwork4 = "10.99.0.1"
	dataNetwork6 = "2001:db8:99::1"
)

// Received is a user packet from the UPF, or an End Marker, which has none.
type Received struct {
	At        time.Time
	TEID      uint32
	QFI       byte
	Packet    []byte
	EndMarker bool
}

// Gnb is the user plane of a gNB: a GTP-U endpoint.
type Gnb struct {
	Address netip.Addr
	socket  *net.UDPConn

	mu     sync.Mutex
	queues map[uint32]chan Received
	errors []uint32 // the TEIDs that Error Indications named
}

func newGnb(address string) (*Gnb, error) {
	at := netip.MustParseAddr(address)
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, 2152)))
	if err != nil {
		return nil, err
	}
	gnb := &Gnb{Address: at, socket: socket, queues: map[uint32]chan Received{}}
	go gnb.receive()
	return gnb, nil
}

// listen opens a tunnel's end at the gNB.
func (g *Gnb) listen(teid uint32) chan Received {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.queues[teid] == nil {
		g.queues[teid] = make(chan Received, 4096)
	}
	return g.queues[teid]
}

func (g *Gnb) receive() {
	buffer := make([]byte, 1<<16)
	for {
		length, _, err := g.socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		kind, teid, qfi, payload, err := gtpu(buffer[:length])
		if err != nil {
			continue
		}
		received := Received{At: time.Now(), TEID: teid, QFI: qfi, EndMarker: kind == 254}
		switch kind {
		case 26: // Error Indication: its first IE is the TEID
			g.mu.Lock()
			g.errors = append(g.errors, binary.BigEndian.Uint32(payload[1:]))
			g.mu.Unlock()
			continue
		case 255:
			received.Packet = append([]byte(nil), payload...)
		case 254:
		default:
			continue
		}
		g.mu.Lock()
		queue := g.queues[teid]
		g.mu.Unlock()
		if queue != nil {
			select {
			case queue <- received:
			default:
			}
		}
	}
}

// gtpu reads a GTP-U message: its type, its TEID, the QFI of its PDU Session Container, and what follows all headers.
func gtpu(message []byte) (kind byte, teid uint32, qfi byte, rest []byte, err error) {
	if len(message) < 8 || message[0]>>5 != 1 {
		return 0, 0, 0, nil, fmt.Errorf("no GTP-U message")
	}
	kind, teid, rest = message[1], binary.BigEndian.Uint32(message[4:]), message[8:]
	if message[0]&7 != 0 {
		if len(rest) < 4 {
			return 0, 0, 0, nil, fmt.Errorf("a cut header")
		}
		next := rest[3]
		for rest = rest[4:]; next != 0; {
			if len(rest) == 0 || rest[0] == 0 || len(rest) < int(rest[0])*4 {
				return 0, 0, 0, nil, fmt.Errorf("a cut extension header")
			}
			if next == 0x85 {
				qfi = rest[2] & 0x3f
			}
			length := int(rest[0]) * 4
			next, rest = rest[length-1], rest[length:]
		}
	}
	if kind == 26 && len(rest) < 5 {
		return 0, 0, 0, nil, fmt.Errorf("an Error Indication without IEs")
	}
	return kind, teid, qfi, rest, nil
}

// send puts a user packet into a tunnel, with a PDU Session Container of the uplink.
func (g *Gnb) send(to Tunnel, qfi byte, packet []byte) error {
	message := []byte{0x34, 255}
	message = binary.BigEndian.AppendUint16(message, uint16(8+len(packet)))
	message = binary.BigEndian.AppendUint32(message, to.TEID)
	message = append(message, 0, 0, 0, 0x85, 1, 0x10, qfi, 0)
	_, err := g.socket.WriteToUDPAddrPort(append(message, packet...), netip.AddrPortFrom(to.Address, 2152))
	return err
}
