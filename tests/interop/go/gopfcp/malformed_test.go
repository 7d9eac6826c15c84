package gopfcp

import (
	"encoding/binary"
	"math/rand"
	"testing"

	"causeway/interop/peer"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Input:  datagrams that are no PFCP message, or whose lengths lie.
// Output: whatever the UPF answers decodes, nothing is accepted, and it answers the heartbeat behind each of them.
func TestMalformedDatagrams(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.30")
	smf.Associate()
	cases := map[string][]byte{
		"one octet":                        {0x20},
		"a header cut after its length":    {0x20, 0x01, 0x00, 0x04},
		"a header with SEID cut short":     {0x21, 0x32, 0x00, 0x0c, 0, 0, 0, 0},
		"length longer than the datagram":  {0x20, 0x05, 0x01, 0x00, 0, 0, 1, 0},
		"length shorter than the header":   {0x20, 0x05, 0x00, 0x01, 0, 0, 1, 0},
		"length zero":                      {0x20, 0x05, 0x00, 0x00, 0, 0, 1, 0},
		"a message type that is not there": {0x20, 0xc8, 0x00, 0x04, 0, 0, 1, 0},
		"an unsolicited response":          {0x20, 0x06, 0x00, 0x04, 0, 0, 1, 0},
		"a session request without SEID":   {0x20, 0x32, 0x00, 0x04, 0, 0, 1, 0},
		"an IE longer than its message":    {0x20, 0x05, 0x00, 0x0a, 0, 0, 1, 0, 0x00, 0x3c, 0xff, 0xff, 0x00, 0x7f},
		"an IE header cut in half":         {0x20, 0x05, 0x00, 0x06, 0, 0, 1, 0, 0x00, 0x3c},
		"an empty Node ID":                 {0x20, 0x05, 0x00, 0x10, 0, 0, 1, 0, 0, 0x3c, 0, 0, 0, 0x60, 0, 4, 1, 2, 3, 4},
		"an association without IEs":       {0x20, 0x05, 0x00, 0x04, 0, 0, 1, 0},
		"a grouped IE inside itself":       nested(200),
	}
	for name, raw := range cases {
		if cause, answered := answerOf(t, smf, raw); answered {
			t.Logf("ok  %s: refused with cause %d", name, cause)
			peer.CheckTrue(t, "not accepted", cause >= ie.CauseRequestRejected)
		} else {
			t.Logf("ok  %s: ignored", name)
		}
	}
}

// Input:  a message of PFCP version 2.
// Output: Version Not Supported Response.
func TestVersionNotSupported(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.31")
	answer := smf.Provoke([]byte{0x40, 0x01, 0x00, 0x04, 0, 0, 7, 0})
	peer.CheckTrue(t, "answered", answer != nil)
	peer.Check(t, "message type", answer[1], message.MsgTypeVersionNotSupportedResponse)
}

// Input:  a valid establishment cut at every octet, its header's length set to what is left.
// Output: each answer decodes; what the UPF accepts is deleted again; it lives.
func TestTruncatedEstablishment(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.32")
	smf.Associate()
	whole := octets(t, smf, 0x1232, "10.45.1.32")
	refused, ignored, accepted := 0, 0, 0
	for size := 16; size < len(whole); size++ {
		raw := append([]byte{}, whole[:size]...)
		binary.BigEndian.PutUint16(raw[2:], uint16(size-4))
		binary.BigEndian.PutUint32(raw[12:], uint32(0x800000+size)<<8)
		answer := smf.Provoke(raw)
		switch {
		case answer == nil:
			ignored++
		case causeOf(t, smf, answer) == ie.CauseRequestAccepted:
			accepted++
			deleteAccepted(t, smf, answer)
		default:
			refused++
		}
	}
	t.Logf("ok  %d refused, %d ignored, %d accepted (cut between two optional IEs)", refused, ignored, accepted)
	peer.CheckTrue(t, "most of them are refused", refused > accepted)
}

// Input:  400 valid establishments, each with some octets changed at random (fixed seed).
// Output: each answer decodes; what the UPF accepts is deleted again; it lives.
func TestChangedOctets(t *testing.T) {
	smf := peer.NewSMF(t, "127.0.1.33")
	smf.Associate()
	whole := octets(t, smf, 0x1233, "10.45.1.33")
	random := rand.New(rand.NewSource(1))
	answered := 0
	for round := range 400 {
		raw := append([]byte{}, whole...)
		for range 1 + random.Intn(4) {
			raw[16+random.Intn(len(raw)-16)] = byte(random.Intn(256))
		}
		binary.BigEndian.PutUint32(raw[12:], uint32(0x900000+round)<<8)
		if answer := smf.Provoke(raw); answer != nil {
			answered++
			if causeOf(t, smf, answer) == ie.CauseRequestAccepted {
				deleteAccepted(t, smf, answer)
			}
		}
	}
	t.Logf("ok  %d of 400 answered", answered)
}

// octets is a valid establishment request as it goes over the wire.
func octets(t *testing.T, smf *peer.SMF, seid uint64, ue string) []byte {
	t.Helper()
	session := peer.NewSession(t, smf, seid, ue)
	request := session.Establishment(session.EstablishmentIEs()...)
	raw := make([]byte, request.MarshalLen())
	if err := request.MarshalTo(raw); err != nil {
		t.Fatal(err)
	}
	return raw
}

// nested is an establishment made of one Create PDR in another, depth times.
func nested(depth int) []byte {
	body := []byte{}
	for range depth {
		body = append([]byte{0x00, 0x01, byte(len(body) >> 8), byte(len(body))}, body...)
	}
	size := len(body) + 12
	return append([]byte{0x21, 0x32, byte(size >> 8), byte(size), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0}, body...)
}

func answerOf(t *testing.T, smf *peer.SMF, raw []byte) (cause uint8, answered bool) {
	t.Helper()
	answer := smf.Provoke(raw)
	if answer == nil {
		return 0, false
	}
	return causeOf(t, smf, answer), true
}

func causeOf(t *testing.T, smf *peer.SMF, answer []byte) uint8 {
	t.Helper()
	var cause *ie.IE
	switch m := smf.Parse(answer).(type) {
	case *message.AssociationSetupResponse:
		cause = m.Cause
	case *message.SessionEstablishmentResponse:
		cause = m.Cause
	default:
		t.Fatalf("NOT an expected answer: %s", m.MessageTypeName())
	}
	return peer.Must[uint8](t)(cause.Cause())
}

func deleteAccepted(t *testing.T, smf *peer.SMF, answer []byte) {
	t.Helper()
	reply, ok := smf.Parse(answer).(*message.SessionEstablishmentResponse)
	if !ok {
		return
	}
	remote := peer.Must[*ie.FSEIDFields](t)(reply.UPFSEID.FSEID())
	smf.Request(message.NewSessionDeletionRequest(0, 0, remote.SEID, 0, 0))
}
