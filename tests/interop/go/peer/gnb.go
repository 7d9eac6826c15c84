package peer

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/wmnsk/go-gtp/gtpv1/message"
)

// GNB is a GTP-U peer of the UPF with its own address and socket, on go-gtp's codec.
type GNB struct {
	Address net.IP

	t    *testing.T
	conn *net.UDPConn
	upf  *net.UDPAddr
}

// NewGNB binds a gNB to a loopback address that no other test uses; the end of the test closes it.
func NewGNB(t *testing.T, address string) *GNB {
	t.Helper()
	ip := net.ParseIP(address).To4()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: ip, Port: GTPUPort})
	if err != nil {
		t.Fatalf("cannot be a gNB at %s: %v", address, err)
	}
	t.Cleanup(func() { conn.Close() })
	return &GNB{Address: ip, t: t, conn: conn, upf: &net.UDPAddr{IP: UPF(t), Port: GTPUPort}}
}

// SendRaw sends octets to the UPF's GTP-U port as they are.
func (g *GNB) SendRaw(raw []byte) {
	g.t.Helper()
	if _, err := g.conn.WriteToUDP(raw, g.upf); err != nil {
		g.t.Fatalf("send: %v", err)
	}
}

// Send sends a GTP-U message to the UPF.
func (g *GNB) Send(m message.Message) {
	g.t.Helper()
	raw := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(raw); err != nil {
		g.t.Fatalf("go-gtp cannot encode a %s: %v", m.MessageTypeName(), err)
	}
	g.t.Logf("->  %s, TEID %#x", m.MessageTypeName(), m.TEID())
	g.SendRaw(raw)
}

// Uplink sends a UE's packet into the UPF's tunnel, with the PDU Session Container of that QoS flow.
func (g *GNB) Uplink(teid uint32, qfi uint8, packet []byte) {
	g.t.Helper()
	container := message.NewExtensionHeader(message.ExtHeaderTypePDUSessionContainer,
		[]byte{uplinkInformation, qfi}, message.ExtHeaderTypeNoMoreExtensionHeaders)
	m := message.NewTPDUWithExtentionHeader(teid, packet, container)
	g.Send(m)
}

// uplinkInformation is the PDU type of the container that a gNB sends (TS 38.415 clause 5.5.2.2).
const uplinkInformation = 0x10

// Receive returns the next GTP-U message of the UPF, or nil when none came in time.
func (g *GNB) Receive(limit time.Duration) message.Message {
	g.t.Helper()
	buffer := make([]byte, 65536)
	if err := g.conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		g.t.Fatal(err)
	}
	n, err := g.conn.Read(buffer)
	if err != nil {
		return nil
	}
	parsed, err := message.Parse(buffer[:n])
	if err != nil {
		g.t.Fatalf("go-gtp cannot decode % x: %v", buffer[:n], err)
	}
	g.t.Logf("<-  %s, TEID %#x", parsed.MessageTypeName(), parsed.TEID())
	return parsed
}

// Downlink returns the next message, which must be a G-PDU, and the QFI of its container.
func (g *GNB) Downlink() (teid uint32, qfi uint8, packet []byte) {
	g.t.Helper()
	tpdu, ok := g.Receive(replyTimeout).(*message.TPDU)
	CheckTrue(g.t, "the gNB receives a G-PDU", ok)
	Check(g.t, "number of extension headers", len(tpdu.ExtensionHeaders), 1)
	container := tpdu.ExtensionHeaders[0]
	Check(g.t, "extension header type is PDU Session Container", container.Type, message.ExtHeaderTypePDUSessionContainer)
	Check(g.t, "PDU type is downlink", container.Content[0]>>4, 0)
	return tpdu.TEID(), container.Content[1] & 0x3f, tpdu.Payload
}

// Ping builds an IPv4 ICMP echo request with a payload of the given size.
func Ping(source, destination net.IP, sequence uint16, size int) []byte {
	packet := make([]byte, 28+size)
	packet[0] = 0x45
	binary.BigEndian.PutUint16(packet[2:], uint16(len(packet)))
	packet[8], packet[9] = 64, 1
	copy(packet[12:16], source.To4())
	copy(packet[16:20], destination.To4())
	binary.BigEndian.PutUint16(packet[10:], checksum(packet[:20]))
	packet[20] = 8
	binary.BigEndian.PutUint16(packet[24:], 0xca05)
	binary.BigEndian.PutUint16(packet[26:], sequence)
	binary.BigEndian.PutUint16(packet[22:], checksum(packet[20:]))
	return packet
}

// CheckPong checks that a packet is the answer to the ping with that sequence number.
func CheckPong(t *testing.T, packet []byte, ue net.IP, sequence uint16) {
	t.Helper()
	CheckTrue(t, "the packet is ICMP over IPv4", len(packet) >= 28 && packet[0] == 0x45 && packet[9] == 1)
	Check(t, "destination is the UE", net.IP(packet[16:20]).String(), ue.String())
	Check(t, "it is an echo reply", packet[20], 0)
	Check(t, "ping sequence number", binary.BigEndian.Uint16(packet[26:]), sequence)
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
