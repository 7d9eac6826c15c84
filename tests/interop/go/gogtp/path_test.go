// Package gogtp meets the UPF's GTP-U port with github.com/wmnsk/go-gtp, as a gNB built on it would.
package gogtp

import (
	"context"
	"net"
	"testing"
	"time"

	"causeway/interop/peer"

	"github.com/wmnsk/go-gtp/gtpv1"
	"github.com/wmnsk/go-gtp/gtpv1/ie"
	"github.com/wmnsk/go-gtp/gtpv1/message"
)

// Input:  go-gtp's own user-plane connection dials the UPF: it sends an Echo Request.
// Output: an Echo Response within its 5 seconds: the path is up.
func TestDial(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
	defer cancel()
	local := &net.UDPAddr{IP: net.ParseIP("127.0.3.1"), Port: peer.GTPUPort}
	remote := &net.UDPAddr{IP: peer.UPF(t), Port: peer.GTPUPort}
	conn, err := gtpv1.DialUPlane(ctx, local, remote)
	if err != nil {
		t.Fatalf("NOT a path: %v", err)
	}
	defer conn.Close()
	peer.CheckTrue(t, "go-gtp's DialUPlane has its Echo Response", true)
}

// Input:  an Echo Request with sequence number 0x1234.
// Output: an Echo Response with TEID 0, the same sequence number and a Recovery of 0.
func TestEcho(t *testing.T) {
	gnb := peer.NewGNB(t, "127.0.3.2")
	gnb.Send(message.NewEchoRequest(0x1234))
	reply, ok := gnb.Receive(2 * time.Second).(*message.EchoResponse)
	peer.CheckTrue(t, "the answer is an Echo Response", ok)
	peer.Check(t, "TEID", reply.TEID(), 0)
	peer.Check(t, "sequence number", reply.Sequence(), 0x1234)
	peer.CheckTrue(t, "Recovery is present", reply.Recovery != nil)
	peer.Check(t, "restart counter", peer.Must[uint8](t)(reply.Recovery.Recovery()), 0)
}

// Input:  a G-PDU for a TEID that no session has.
// Output: an Error Indication with that TEID and the UPF's address.
func TestErrorIndication(t *testing.T) {
	gnb := peer.NewGNB(t, "127.0.3.3")
	const unknown = 0xdead_beef
	gnb.Send(message.NewTPDU(unknown, peer.Ping(net.IPv4(10, 45, 3, 3), peer.Gateway(t), 1, 56)))
	reply, ok := gnb.Receive(2 * time.Second).(*message.ErrorIndication)
	peer.CheckTrue(t, "the answer is an Error Indication", ok)
	peer.Check(t, "TEID of the header", reply.TEID(), 0)
	peer.CheckTrue(t, "TEID Data I is present", reply.TEIDDataI != nil)
	peer.Check(t, "TEID Data I", peer.Must[uint32](t)(reply.TEIDDataI.TEID()), uint32(unknown))
	peer.CheckTrue(t, "GTP-U Peer Address is present", reply.GTPUPeerAddress != nil)
	peer.Check(t, "GTP-U Peer Address", peer.Must[string](t)(reply.GTPUPeerAddress.GSNAddress()), peer.UPF(t).String())
}

// Input:  an Error Indication, an End Marker and an unsolicited Echo Response, each for an unknown TEID.
// Output: silence: none of them is ever answered with an Error Indication.
func TestNoAnswerToUnaskedMessages(t *testing.T) {
	gnb := peer.NewGNB(t, "127.0.3.4")
	gnb.Send(message.NewErrorIndication(0, 1, ie.NewTEIDDataI(0x77), ie.NewGSNAddress("127.0.3.4")))
	marker := message.NewEndMarker()
	marker.Header.TEID = 0x77
	gnb.Send(marker)
	gnb.Send(message.NewEchoResponse(7, ie.NewRecovery(0)))
	peer.CheckTrue(t, "no answer", gnb.Receive(300*time.Millisecond) == nil)
}

// Input:  datagrams that are no GTP-U message, or whose lengths lie.
// Output: no answer but Error Indications, and an Echo Response to the echo behind each of them.
func TestMalformedDatagrams(t *testing.T) {
	gnb := peer.NewGNB(t, "127.0.3.5")
	cases := map[string][]byte{
		"one octet":                                {0x30},
		"a header cut short":                       {0x30, 0xff, 0x00, 0x00, 0, 0},
		"length longer than the datagram":          {0x30, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0x45},
		"length shorter than the options":          {0x32, 0xff, 0x00, 0x01, 0, 0, 0, 1, 0},
		"an extension header of length 0":          {0x34, 0xff, 0x00, 0x08, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0},
		"an extension header past the end":         {0x34, 0xff, 0x00, 0x08, 0, 0, 0, 1, 0, 0, 0, 0x85, 0xff, 0, 0, 0},
		"extension headers without an end":         {0x34, 0xff, 0x00, 0x08, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0x85},
		"GTP version 2":                            {0x48, 0x01, 0x00, 0x04, 0, 0, 0, 0},
		"GTP prime":                                {0x20, 0x01, 0x00, 0x00, 0, 0, 0, 0},
		"a message type that is not there":         {0x30, 0xf0, 0x00, 0x00, 0, 0, 0, 1},
		"an empty G-PDU":                           {0x30, 0xff, 0x00, 0x00, 0, 0, 0, 1},
		"a G-PDU whose packet is of no IP version": {0x30, 0xff, 0x00, 0x01, 0, 0, 0, 1, 0xf0},
		"an Error Indication without IEs":          {0x32, 0x1a, 0x00, 0x04, 0, 0, 0, 0, 0, 1, 0, 0},
	}
	sequence := uint16(0)
	for name, raw := range cases {
		gnb.SendRaw(raw)
		sequence++
		gnb.Send(message.NewEchoRequest(sequence))
		for {
			answer := gnb.Receive(2 * time.Second)
			peer.CheckTrue(t, "answered after "+name, answer != nil)
			if _, harmless := answer.(*message.ErrorIndication); harmless {
				continue
			}
			echo, ok := answer.(*message.EchoResponse)
			peer.CheckTrue(t, "it is the Echo Response", ok && echo.Sequence() == sequence)
			break
		}
	}
}
