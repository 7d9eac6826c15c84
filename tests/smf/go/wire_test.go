package smf

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
)

// Input:  the gNB's tunnel and QFI 1.
// Output: the octets that gNBs send in a PDU Session Resource Setup Response Transfer and a Path Switch Request Transfer.
func TestTransfersOfTheGnb(t *testing.T) {
	gnb := Tunnel{netip.MustParseAddr("127.0.0.11"), 0x01020304}
	same(t, hex.EncodeToString(setupResponse(gnb, []byte{1})), "0003e07f00000b010203040001")
	same(t, hex.EncodeToString(pathSwitch(gnb, []byte{1})), "001f7f00000b010203040002")
}

// Input:  a PDU Session Resource Setup Request Transfer with an AMBR, a tunnel, the PDU session type and a QoS flow.
// Output: the UPF's end of the tunnel, and the QFI.
func TestSetupRequest(t *testing.T) {
	octets, _ := hex.DecodeString("0000040082000a0c3b9aca00303b9aca00008b000a01f07f00000700000a010086000100008800070001000009070000")
	tunnel, qfi, err := setupRequest(octets)
	if err != nil {
		t.Fatal(err)
	}
	same(t, tunnel, Tunnel{netip.MustParseAddr("127.0.0.7"), 0x0a01})
	same(t, qfi, 1)
}

// Input:  a PDU Session Establishment Accept with an IPv4 address, one with both kinds, and one that is cut.
// Output: the addresses; an error.
func TestAccepted(t *testing.T) {
	head := "2e0101c2110009010006310101ff010106" + "0603e80603e8"
	for _, c := range []struct{ tail, ipv4, id string }{
		{"59322905010a2d0002", "10.45.0.2", ""},
		{"290d0300000000000000020a2d0003", "10.45.0.3", "0000000000000002"},
	} {
		octets, _ := hex.DecodeString(head + c.tail)
		addresses, err := accepted(octets)
		if err != nil {
			t.Fatal(err)
		}
		same(t, addresses.IPv4.String(), c.ipv4)
		same(t, hex.EncodeToString(addresses.InterfaceID), c.id)
	}
	octets, _ := hex.DecodeString(head + "2905010a2d")
	if _, err := accepted(octets); err == nil {
		t.Error("a cut address was read")
	}
}

// Input:  JSON with two binary parts.
// Output: the same after encoding and decoding.
func TestMultipart(t *testing.T) {
	body, kind := encode(map[string]any{"pduSessionId": 5}, Part{"n1", typeNAS, []byte{0x2e, 0x0d, 0x0a}}, Part{"n2", typeNGAP, []byte{0}})
	data, parts, err := decode(kind, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, data["pduSessionId"].(float64), 5)
	same(t, hex.EncodeToString(parts["n1"]), "2e0d0a")
	same(t, hex.EncodeToString(parts["n2"]), "00")
}

func same[T comparable](t testing.TB, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
